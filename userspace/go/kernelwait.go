// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package kwq

import (
	"context"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// kernelWaits are the calls of a handle that wait in the kernel, each in a thread: drains and syncs.
type kernelWaits struct {
	mu  sync.Mutex
	set map[*kernelWait]struct{}
}

// A kernelWait is a call that waits in the kernel, and keeps the state of the wait in its structure.
type kernelWait struct {
	number uintptr
	size   *uint32 // the structure, which begins with its size
	tid    int
	began  chan struct{} // closed once tid is set
	over   chan struct{} // closed once errno is set
	errno  syscall.Errno
}

// waitInKernel carries out a request that waits, until the context ends.
func (q *Queue) waitInKernel(ctx context.Context, op string, number uintptr, size *uint32) error {
	w, err := q.beginWait(op, number, size)
	if err != nil {
		return err
	}
	select {
	case <-w.over:
	case <-ctx.Done():
		w.cancel()
		return ctx.Err()
	}
	switch {
	case w.errno == 0:
		return nil
	case w.canceled():
		return q.refuse(op, "", ErrClosed)
	}
	return q.fail(op, "", w.errno)
}

func (q *Queue) beginWait(op string, number uintptr, size *uint32) (*kernelWait, error) {
	// The call has a descriptor of its own, so that its number stays right after a Close.
	q.mu.RLock()
	defer q.mu.RUnlock()
	if q.fd < 0 {
		return nil, q.refuse(op, "", ErrClosed)
	}
	fd, errno := duplicate(q.fd)
	if errno != 0 {
		return nil, q.fail(op, "", errno)
	}
	w := &kernelWait{
		number: number,
		size:   size,
		began:  make(chan struct{}),
		over:   make(chan struct{}),
	}
	q.waits.mu.Lock()
	if q.waits.set == nil {
		q.waits.set = map[*kernelWait]struct{}{}
	}
	q.waits.set[w] = struct{}{}
	q.waits.mu.Unlock()
	go func() {
		w.run(fd)
		q.waits.mu.Lock()
		delete(q.waits.set, w)
		q.waits.mu.Unlock()
		close(w.over)
	}()
	return w, nil
}

func (w *kernelWait) run(fd int) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	w.tid = syscall.Gettid()
	close(w.began)
	for {
		_, _, w.errno = syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), w.number, uintptr(unsafe.Pointer(w.size)))
		// The kernel keeps the state of the wait in the structure.
		if w.errno != syscall.EINTR || w.canceled() {
			break
		}
	}
	syscall.Close(fd)
}

// cancel ends the wait. Go's handlers of signals let the kernel restart the call that a signal interrupts. The restarted call reads
// the structure again, and finds a size that is wrong. SIGURG does no harm: Go's scheduler sends it to threads all the time.
func (w *kernelWait) cancel() {
	atomic.StoreUint32(w.size, 0)
	<-w.began
	select {
	case <-w.over:
		// The thread may be gone.
	default:
		_, _, _ = syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(os.Getpid()), uintptr(w.tid), uintptr(syscall.SIGURG))
	}
}

func (w *kernelWait) canceled() bool {
	return atomic.LoadUint32(w.size) == 0
}

// end ends all waits of a handle that is closed, and waits until their descriptors are closed, too.
func (s *kernelWaits) end() {
	s.mu.Lock()
	var all []*kernelWait
	for w := range s.set {
		all = append(all, w)
	}
	s.mu.Unlock()
	for _, w := range all {
		w.cancel()
		<-w.over
	}
}
