// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package kwq

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// The operations of this file, as Error.Op names them.
const (
	opChanges = "read the changes of"
	opFollow  = "follow"
	opSync    = "sync"
)

// A Follower reads the keys of a queue that have changed. It follows until its handle is closed. The queue must have been created
// with [CreateOptions.Changes].
//
// The queue does not store changes, but which keys have changed since they were read. So a slow follower costs no memory, and sees
// the last state of each key. A key that is gone counts in [Stat.Items] until the follower has read that.
//
// To know all keys: Follow, then [Queue.List] with [AllStates], then Changes again and again. A key that changes during the list
// comes again.
type Follower struct {
	q       *Queue
	reading atomic.Bool // a call of Changes is under way
	page    *listPage
	values  bool // page has room for values and notes

	mu      sync.Mutex
	next    uint64 // the next call has used everything up to here
	last    uint64 // the same of the call before
	kept    uint64
	ofQueue uint64
}

// Changes are the result of a call of a [Follower].
type Changes struct {
	// Keys that have changed, in the order of their first changes since they were read. The State of a key that is gone is 0.
	Keys []*Listed
	// Number is that of the last change that was read: see [Follower.Keep].
	Number uint64
	// OfQueue says that the queue itself may have changed: its configuration, or by a pause, a resume or a shut down. Then
	// [Queue.Config] and [Queue.Stat] tell more. The end of a timed pause is no change.
	OfQueue bool
}

// Follow lets the handle follow the changes of the queue from now on. It needs the rights to read and to manage. A queue has one
// follower at a time: the error of a second one is [ErrFollowed].
func (q *Queue) Follow() (*Follower, error) {
	args := new(followArgs)
	args.size = uint32(unsafe.Sizeof(*args))
	if _, err := q.request(opFollow, "", iocFollow, unsafe.Pointer(args)); err != nil {
		return nil, err
	}
	return &Follower{q: q, next: args.number, last: args.number}, nil
}

// Changes returns the keys that have changed, and waits for a change until the context ends. A goroutine that waits takes no
// thread. The call says that the caller has used what the last one returned. One goroutine may call it at a time.
func (f *Follower) Changes(ctx context.Context) (*Changes, error) {
	return f.read(ctx, false)
}

// ChangesWithValues does the same, and also reads the values and the notes.
func (f *Follower) ChangesWithValues(ctx context.Context) (*Changes, error) {
	return f.read(ctx, true)
}

// Again lets the next call return once more what the last one returned, or what has become of it.
func (f *Follower) Again() {
	f.mu.Lock()
	f.next = f.last
	f.mu.Unlock()
}

// Keep says that all changes up to a number are kept somewhere else, for example in a file: see [Queue.Sync]. The number is a
// [Changes.Number], or one before it. The next call of Changes tells the queue.
func (f *Follower) Keep(number uint64) {
	f.mu.Lock()
	if number > f.kept {
		f.kept = number
	}
	f.mu.Unlock()
}

func (f *Follower) read(ctx context.Context, values bool) (*Changes, error) {
	if !f.reading.CompareAndSwap(false, true) {
		return nil, f.q.refuse(opChanges, "", &namedError{"another goroutine reads the changes", syscall.EBUSY, nil})
	}
	defer f.reading.Store(false)
	if f.page == nil || f.values != values {
		room := 0
		if values {
			room = ValueMax + NoteMax
		}
		f.page, f.values = newListPage(256, room), values
		if values {
			f.page.args.flags = listBoth
		}
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		changes, errno, closed := f.try()
		switch {
		case closed:
			return nil, f.q.refuse(opChanges, "", ErrClosed)
		case errno == 0:
			return changes, nil
		case errno != syscall.EAGAIN:
			return nil, f.q.fail(opChanges, "", errno)
		}
		if err := f.q.news.sleep(ctx); err != nil {
			return nil, err
		}
	}
}

// try reads without a wait.
func (f *Follower) try() (*Changes, syscall.Errno, bool) {
	f.mu.Lock()
	args := &changesArgs{flags: changesNonblock, after: f.next, kept: f.kept, ofQueue: f.ofQueue, batch: f.page.args.batch}
	f.mu.Unlock()
	args.size = uint32(unsafe.Sizeof(*args))
	if f.values {
		args.flags |= changesValues | changesNotes
	}
	// After a call of Again.
	if args.kept > args.after {
		args.kept = args.after
	}
	before := *args
	n, errno, closed := f.q.try(iocChanges, unsafe.Pointer(args))
	runtime.KeepAlive(f.page)
	if closed || errno != 0 {
		return nil, errno, closed
	}
	changes := &Changes{
		Keys:    make([]*Listed, n),
		Number:  args.after,
		OfQueue: args.ofQueue != before.ofQueue,
	}
	data := f.page.room
	for i := range changes.Keys {
		changes.Keys[i], data = f.page.at(i, data)
	}
	f.mu.Lock()
	f.last, f.next, f.ofQueue = before.after, args.after, args.ofQueue
	f.mu.Unlock()
	return changes, 0, false
}

// Sync waits until all changes so far are kept: until the follower has said so by [Follower.Keep]. Without a follower it waits for
// one. This is fsync for a queue.
//
// The kernel tells only a call that waits. So a sync that has to wait takes a thread.
func (q *Queue) Sync(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	args := new(syncArgs)
	args.size = uint32(unsafe.Sizeof(*args))
	// Its deadline is over, so it does not wait.
	_, errno, closed := q.try(iocSync, unsafe.Pointer(args))
	switch {
	case closed:
		return q.refuse(opSync, "", ErrClosed)
	case errno == 0:
		return nil
	case errno != syscall.ETIMEDOUT:
		return q.fail(opSync, "", errno)
	}
	args.deadline = noDeadline
	return q.waitInKernel(ctx, opSync, iocSync, &args.size)
}

// The goroutine that waits for changes of one handle.
//
// The poller watches while it sleeps. If there is something to read when it begins to watch, that is an event at once. An event
// that comes after the end of the wait stays in wake, and costs the next wait one look in vain.
type news struct {
	queue *Queue
	wake  chan struct{} // has room for one

	mu     sync.Mutex
	poller *poller
	id     uint64
	armed  bool // the poller watches
	ended  bool // the handle is closed
}

func (n *news) sleep(ctx context.Context) error {
	n.mu.Lock()
	err := n.arm()
	n.mu.Unlock()
	if err != nil {
		return n.queue.pollError(opChanges, err)
	}
	select {
	case <-n.wake:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// arm lets the poller watch. The lock is held.
func (n *news) arm() error {
	if n.ended {
		return ErrClosed
	}
	if n.armed {
		return nil
	}
	// Close takes this lock before it closes the descriptor, so the number is right.
	fd := n.queue.descriptor()
	if fd < 0 {
		return ErrClosed
	}
	if n.poller == nil {
		p, err := newsPoller()
		if err != nil {
			return err
		}
		id, err := p.add(fd, pollPri|oneShot, n)
		if err != nil {
			return err
		}
		n.poller, n.id = p, id
	} else if err := n.poller.rearm(fd, pollPri|oneShot, n.id); err != nil {
		return err
	}
	n.armed = true
	return nil
}

func (n *news) event() {
	n.mu.Lock()
	n.armed = false
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// end wakes the goroutine, because the handle is closed. fd is the descriptor, which is still open.
func (n *news) end(fd int) {
	n.mu.Lock()
	n.ended = true
	if n.poller != nil {
		n.poller.remove(fd, n.id)
	}
	n.mu.Unlock()
	n.event()
}
