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

// ShutDownWithDrain shuts the queue down, and waits until nothing is ready and nothing is being processed. The queue stays shut
// down, however the wait ends: if the context ends it, the error is the context's, and if somebody's [Queue.ShutDown] ends it, the
// error is [ErrDrainEnded].
//
// The kernel tells only a call that waits of such a shut down. So a drain takes a thread until it ends. Waiting gets and adds take
// none.
func (q *Queue) ShutDownWithDrain(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d, err := q.beginDrain()
	if err != nil {
		return err
	}
	select {
	case <-d.over:
	case <-ctx.Done():
		d.cancel()
		return ctx.Err()
	}
	switch {
	case d.errno == 0:
		return nil
	case d.canceled():
		return q.refuse(opDrain, "", ErrClosed)
	}
	return q.fail(opDrain, "", d.errno)
}

// drains are the drains of a handle that are under way.
type drains struct {
	mu  sync.Mutex
	set map[*drain]struct{}
}

// A drain is a call that waits in the kernel.
type drain struct {
	args  drainArgs
	tid   int
	began chan struct{} // closed once tid is set
	over  chan struct{} // closed once errno is set
	errno syscall.Errno
}

func (q *Queue) beginDrain() (*drain, error) {
	// The drain has a descriptor of its own, so that its number stays right after a Close.
	q.mu.RLock()
	defer q.mu.RUnlock()
	if q.fd < 0 {
		return nil, q.refuse(opDrain, "", ErrClosed)
	}
	fd, errno := duplicate(q.fd)
	if errno != 0 {
		return nil, q.fail(opDrain, "", errno)
	}
	d := &drain{
		args:  drainArgs{deadline: noDeadline},
		began: make(chan struct{}),
		over:  make(chan struct{}),
	}
	d.args.size = uint32(unsafe.Sizeof(d.args))
	q.drains.mu.Lock()
	if q.drains.set == nil {
		q.drains.set = map[*drain]struct{}{}
	}
	q.drains.set[d] = struct{}{}
	q.drains.mu.Unlock()
	go func() {
		d.run(fd)
		q.drains.mu.Lock()
		delete(q.drains.set, d)
		q.drains.mu.Unlock()
		close(d.over)
	}()
	return d, nil
}

func (d *drain) run(fd int) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d.tid = syscall.Gettid()
	close(d.began)
	for {
		_, _, d.errno = syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), iocDrain, uintptr(unsafe.Pointer(&d.args)))
		// The kernel keeps the state of the wait in the structure.
		if d.errno != syscall.EINTR || d.canceled() {
			break
		}
	}
	syscall.Close(fd)
}

// cancel ends the wait. Go's handlers of signals let the kernel restart the call that a signal interrupts. The restarted call reads
// the structure again, and finds a size that is wrong. SIGURG does no harm: Go's scheduler sends it to threads all the time.
func (d *drain) cancel() {
	atomic.StoreUint32(&d.args.size, 0)
	<-d.began
	select {
	case <-d.over:
		// The thread may be gone.
	default:
		_, _, _ = syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(os.Getpid()), uintptr(d.tid), uintptr(syscall.SIGURG))
	}
}

func (d *drain) canceled() bool {
	return atomic.LoadUint32(&d.args.size) == 0
}

// end ends all drains of a handle that is closed, and waits until their descriptors are closed, too.
func (s *drains) end() {
	s.mu.Lock()
	var all []*drain
	for d := range s.set {
		all = append(all, d)
	}
	s.mu.Unlock()
	for _, d := range all {
		d.cancel()
		<-d.over
	}
}
