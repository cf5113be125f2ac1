// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package kwq

import (
	"context"
	"sync"
)

// The goroutines that wait for an item of one handle.
//
// While any of them sleeps, either the poller watches the handle, or one of them is awake and holds the baton. The event of the
// poller ends its watch, and gives the baton to the first sleeper. The holder of the baton tries to get. Then it gives the baton
// back, with or without an item, and even if its context has ended: the poller watches again if others sleep. An item that is ready
// at that moment makes the next event at once. So each item wakes one goroutine, and no item stays ready while a goroutine
// sleeps. A goroutine that finds an item without a wait has no baton, and owes nothing.
type getters struct {
	queue *Queue

	mu     sync.Mutex
	list   waitList
	poller *poller
	id     uint64
	armed  bool // the poller watches
	ended  bool // the handle is closed
}

// sleep waits for the baton or the end of the context. front says that the caller has just had the baton.
func (g *getters) sleep(ctx context.Context, front bool) error {
	w := waiters.Get().(*waiter)
	g.mu.Lock()
	if err := g.arm(); err != nil {
		if front {
			g.wakeFirst()
		}
		g.mu.Unlock()
		waiters.Put(w)
		return g.queue.pollError(opGet, err)
	}
	if front {
		g.list.pushFront(w)
	} else {
		g.list.pushBack(w)
	}
	g.mu.Unlock()

	var err error
	select {
	case <-w.wake:
	case <-ctx.Done():
		err = ctx.Err()
		g.mu.Lock()
		if w.listed {
			g.list.remove(w)
			g.mu.Unlock()
		} else {
			// The baton came meanwhile.
			g.mu.Unlock()
			<-w.wake
			g.passOn()
		}
	}
	waiters.Put(w)
	return err
}

// arm lets the poller watch. The lock is held.
func (g *getters) arm() error {
	if g.ended {
		return ErrClosed
	}
	if g.armed {
		return nil
	}
	// Close takes this lock before it closes the descriptor, so the number is right.
	fd := g.queue.descriptor()
	if fd < 0 {
		return ErrClosed
	}
	if g.poller == nil {
		p, err := readyPoller()
		if err != nil {
			return err
		}
		id, err := p.add(fd, pollIn|oneShot, g)
		if err != nil {
			return err
		}
		g.poller, g.id = p, id
	} else if err := g.poller.rearm(fd, pollIn|oneShot, g.id); err != nil {
		return err
	}
	g.armed = true
	return nil
}

// event gives the baton to the first sleeper.
func (g *getters) event() {
	g.mu.Lock()
	g.armed = false
	g.wakeFirst()
	g.mu.Unlock()
}

func (g *getters) wakeFirst() {
	if w := g.list.first(); w != nil {
		g.list.remove(w)
		w.wake <- struct{}{}
	}
}

// passOn gives the baton back.
func (g *getters) passOn() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.list.first() == nil {
		return
	}
	if err := g.arm(); err != nil {
		// The next sleeper meets the same error, and reports it.
		g.wakeFirst()
	}
}

// wakeAll lets everybody look: the queue is shut down.
func (g *getters) wakeAll() {
	g.mu.Lock()
	for g.list.first() != nil {
		g.wakeFirst()
	}
	g.mu.Unlock()
}

// end wakes everybody, because the handle is closed. fd is the descriptor, which is still open.
func (g *getters) end(fd int) {
	g.mu.Lock()
	g.ended = true
	if g.poller != nil {
		g.poller.remove(fd, g.id)
	}
	g.mu.Unlock()
	g.wakeAll()
}
