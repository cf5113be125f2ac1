// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package kwq

import (
	"context"
	"math"
	"sync"
)

// The goroutines that wait for room, through one handle.
//
// The poller reports each time when the queue has got room (EPOLLET). The event wakes the first sleeper, and each goroutine that
// was woken wakes the next one when it has tried. One that still found no room lets only those try that need less. So an event
// wakes as many as find room, and one more. An event that comes while a goroutine tries, and so does not sleep, raises the
// number of events, and the goroutine tries again.
//
// A handle that nobody waits with is not watched, because room comes and goes often.
type adders struct {
	queue *Queue

	mu     sync.Mutex
	list   waitList
	poller *poller // not nil while the handle is watched
	id     uint64
	users  int // goroutines between join and leave
	turns  uint64
	events uint64
	ended  bool // the handle is closed
}

// join begins to watch the handle, and gives the caller its place in the order.
func (a *adders) join(w *waiter, size int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.poller == nil {
		if err := a.watch(); err != nil {
			return a.queue.pollError(opAdd, err)
		}
	}
	a.users++
	a.turns++
	w.turn, w.size, w.limit = a.turns, size, 0
	return nil
}

func (a *adders) watch() error {
	// Close takes this lock before it closes the descriptor, so the number is right.
	fd := a.queue.descriptor()
	if fd < 0 || a.ended {
		return ErrClosed
	}
	p, err := roomPoller()
	if err != nil {
		return err
	}
	id, err := p.add(fd, pollOut|edge, a)
	if err != nil {
		return err
	}
	a.poller, a.id = p, id
	return nil
}

// leave ends the caller's wait, however it ended, and lets the next one try.
func (a *adders) leave(w *waiter) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pass(w)
	a.users--
	if a.users > 0 || a.ended {
		return
	}
	// Close takes this lock before it closes the descriptor.
	if fd := a.queue.descriptor(); fd >= 0 {
		a.poller.remove(fd, a.id)
		a.poller = nil
	}
}

// seen returns the number of events until now, for sleep.
func (a *adders) seen() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.events
}

// sleep waits for room or the end of the context, unless there was an event since seen. size is what the caller found no room for.
func (a *adders) sleep(ctx context.Context, w *waiter, size int, seen uint64) error {
	a.mu.Lock()
	if a.ended || a.events != seen {
		a.mu.Unlock()
		return nil
	}
	w.size = size
	if w.limit > size {
		w.limit = size
	}
	a.pass(w)
	a.list.insert(w)
	a.mu.Unlock()

	select {
	case <-w.wake:
		return nil
	case <-ctx.Done():
	}
	a.mu.Lock()
	if w.listed {
		a.list.remove(w)
		a.mu.Unlock()
	} else {
		// It was woken meanwhile. leave wakes the next one.
		a.mu.Unlock()
		<-w.wake
	}
	return ctx.Err()
}

// pass wakes the next goroutine after w that needs less than w.limit. The limit is 0 if w was not woken. The lock is held.
func (a *adders) pass(w *waiter) {
	limit := w.limit
	w.limit = 0
	if limit == 0 {
		return
	}
	for next := a.list.first(); next != nil; next = a.list.after(next) {
		if next.turn > w.turn && next.size < limit {
			a.wake(next, limit)
			return
		}
	}
}

func (a *adders) wake(w *waiter, limit int) {
	a.list.remove(w)
	w.limit = limit
	w.wake <- struct{}{}
}

// event wakes the first sleeper.
func (a *adders) event() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.events++
	if w := a.list.first(); w != nil {
		a.wake(w, math.MaxInt)
	}
}

// end wakes everybody, because the handle is closed. fd is the descriptor, which is still open.
func (a *adders) end(fd int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	if a.poller != nil {
		a.poller.remove(fd, a.id)
	}
	for w := a.list.first(); w != nil; w = a.list.first() {
		a.wake(w, math.MaxInt)
	}
}
