// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package kwq

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// A poller is an epoll instance that watches handles, and that Go's own poller watches in turn. So a goroutine that waits takes
// no thread. If Go's poller watched the handles themselves, each item would wake all of them, because Go's poller does not use
// EPOLLEXCLUSIVE or EPOLLONESHOT.
type poller struct {
	epfd    int
	raw     syscall.RawConn
	mu      sync.Mutex
	watched map[uint64]waitingRoom
	last    uint64
}

// A waitingRoom has the goroutines that wait for an event of a handle.
type waitingRoom interface {
	event()
}

// Three pollers serve all handles of the process. An entry for a descriptor has one mode, and the events need different ones.
var pollers struct {
	mu    sync.Mutex
	ready *poller // for gets, with EPOLLONESHOT
	room  *poller // for adds, with EPOLLET
	news  *poller // for followers, with EPOLLONESHOT
}

// readyPoller makes the poller for gets at the first wait.
func readyPoller() (*poller, error) {
	return startedPoller(&pollers.ready)
}

// roomPoller does the same for adds that wait for room.
func roomPoller() (*poller, error) {
	return startedPoller(&pollers.room)
}

// newsPoller does the same for followers. Go's poller does not see EPOLLPRI, but an epoll instance that watches for it is readable.
func newsPoller() (*poller, error) {
	return startedPoller(&pollers.news)
}

func startedPoller(p **poller) (*poller, error) {
	pollers.mu.Lock()
	defer pollers.mu.Unlock()
	if *p != nil {
		return *p, nil
	}
	started, err := startPoller()
	if err == nil {
		*p = started
	}
	return started, err
}

func startPoller() (*poller, error) {
	epfd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	// Only a descriptor with O_NONBLOCK goes to Go's poller.
	if err := syscall.SetNonblock(epfd, true); err != nil {
		syscall.Close(epfd)
		return nil, err
	}
	file := os.NewFile(uintptr(epfd), "kwq-poller")
	// An error here means that Go's poller does not watch it.
	if err := file.SetReadDeadline(time.Time{}); err != nil {
		file.Close()
		return nil, &namedError{"the process can poll no more descriptors", syscall.ENOSPC, nil}
	}
	raw, err := file.SyscallConn()
	if err != nil {
		file.Close()
		return nil, err
	}
	p := &poller{epfd: epfd, raw: raw, watched: map[uint64]waitingRoom{}}
	go p.run()
	return p, nil
}

// run hands out the events, for as long as the process lives.
func (p *poller) run() {
	var events [64]syscall.EpollEvent
	for {
		n := 0
		err := p.raw.Read(func(fd uintptr) bool {
			var err error
			// Go's poller reports an edge once, so an interrupted call is made again at once.
			for n, err = -1, syscall.EINTR; err == syscall.EINTR; {
				n, err = syscall.EpollWait(int(fd), events[:], 0)
			}
			return n != 0
		})
		if err != nil || n < 0 {
			// Only a broken program closes this descriptor.
			panic("kwq: the descriptor of the poller is gone")
		}
		for i := range events[:n] {
			p.mu.Lock()
			room := p.watched[idOf(&events[i])]
			p.mu.Unlock()
			if room != nil {
				room.event()
			}
		}
	}
}

// An event carries 64 bits of the caller's. They hold a number that no other entry has had, because numbers of descriptors are
// used again. The number is stored as a whole: for s390x, Go 1.19 compiles two stores of its halves into one that swaps them.
func idOf(e *syscall.EpollEvent) uint64 {
	return *(*uint64)(unsafe.Pointer(&e.Fd))
}

func eventOf(events uint32, id uint64) *syscall.EpollEvent {
	e := &syscall.EpollEvent{Events: events}
	*(*uint64)(unsafe.Pointer(&e.Fd)) = id
	return e
}

// add begins to watch a descriptor.
func (p *poller) add(fd int, events uint32, room waitingRoom) (uint64, error) {
	p.mu.Lock()
	p.last++
	id := p.last
	p.watched[id] = room
	p.mu.Unlock()
	if err := syscall.EpollCtl(p.epfd, syscall.EPOLL_CTL_ADD, fd, eventOf(events, id)); err != nil {
		p.forget(id)
		return 0, err
	}
	return id, nil
}

// rearm asks for the next event. If it is there already, it is reported at once.
func (p *poller) rearm(fd int, events uint32, id uint64) error {
	return syscall.EpollCtl(p.epfd, syscall.EPOLL_CTL_MOD, fd, eventOf(events, id))
}

// remove ends the watch. An event may be under way.
func (p *poller) remove(fd int, id uint64) {
	_ = syscall.EpollCtl(p.epfd, syscall.EPOLL_CTL_DEL, fd, &syscall.EpollEvent{})
	p.forget(id)
}

func (p *poller) forget(id uint64) {
	p.mu.Lock()
	delete(p.watched, id)
	p.mu.Unlock()
}

// pollError is the error of a wait that could not begin.
func (q *Queue) pollError(op string, err error) error {
	var errno syscall.Errno
	switch {
	case err == ErrClosed || !errors.As(err, &errno):
		return q.refuse(op, "", err)
	case errno == syscall.ENOSPC:
		return q.refuse(op, "", &namedError{"too many descriptors are polled: raise fs.epoll.max_user_watches", errno, nil})
	}
	return q.refuse(op, "", errno)
}

const (
	pollIn  = syscall.EPOLLIN
	pollOut = syscall.EPOLLOUT
	pollPri = syscall.EPOLLPRI
	// The constant of package syscall is negative.
	edge    = 1 << 31
	oneShot = syscall.EPOLLONESHOT
)

// A waiter is a goroutine that waits, in a list.
type waiter struct {
	prev, next *waiter
	listed     bool
	wake       chan struct{} // has room for one
	turn       uint64        // adders only: its place in the order
	size       int           // adders only: bytes of what it adds
	limit      int           // adders only: see adders.pass
}

var waiters = sync.Pool{New: func() interface{} { return &waiter{wake: make(chan struct{}, 1)} }}

// A waitList has waiters in order. Its zero value is empty.
type waitList struct {
	root waiter
}

func (l *waitList) first() *waiter {
	if l.root.next == nil || l.root.next == &l.root {
		return nil
	}
	return l.root.next
}

func (l *waitList) after(w *waiter) *waiter {
	if w.next == &l.root {
		return nil
	}
	return w.next
}

func (l *waitList) insertBehind(w, at *waiter) {
	w.prev, w.next = at, at.next
	w.prev.next, w.next.prev = w, w
	w.listed = true
}

func (l *waitList) init() {
	if l.root.next == nil {
		l.root.prev, l.root.next = &l.root, &l.root
	}
}

func (l *waitList) pushFront(w *waiter) {
	l.init()
	l.insertBehind(w, &l.root)
}

func (l *waitList) pushBack(w *waiter) {
	l.init()
	l.insertBehind(w, l.root.prev)
}

// insert puts a waiter at its turn. Most belong near the end.
func (l *waitList) insert(w *waiter) {
	l.init()
	at := l.root.prev
	for at != &l.root && at.turn > w.turn {
		at = at.prev
	}
	l.insertBehind(w, at)
}

func (l *waitList) remove(w *waiter) {
	w.prev.next, w.next.prev = w.next, w.prev
	w.prev, w.next = nil, nil
	w.listed = false
}
