// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package workqueue

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"
	"sync/atomic"
	"time"

	"kwq.example/kwq"
)

// Typed is a queue of items of type T. It has the methods of all of client-go's interfaces.
type Typed[T comparable] struct {
	name    string
	queue   *kwq.Queue
	keys    keys[T]
	text    *textCodec[T]       // the same translation without the interface; nil for items of other types
	limiter TypedRateLimiter[T] // nil: the kernel's
	metrics *metrics            // nil: none
	onError func(error)
	owned   bool    // Close closes the queue
	local   bool    // ShutDown ends only the work of this process
	levels  *levels // nil unless it is a priority queue

	// Ends waiting Gets at a local shut down and at Close.
	context context.Context
	cancel  context.CancelFunc

	// Calls of Get and Done under way.
	busy atomic.Int32
	// A local shut down has begun. Then ends of calls are told to drains, which wait for them.
	down atomic.Bool

	// Protects all that follows.
	mutex sync.Mutex
	// Tells drains that one of these, or busy, has changed.
	changed *sync.Cond
	// Items that this process has got and not yet finished.
	held heldItems[T]
	// How many local ShutDowns there were.
	downs int
}

func newTyped[T comparable](config TypedRateLimitingQueueConfig[T], queue *kwq.Queue, codec Codec[T],
	limiter TypedRateLimiter[T], levels *levels, shared bool) (*Typed[T], error) {
	q := &Typed[T]{
		queue:   queue,
		limiter: limiter,
		onError: config.Options.OnError,
		owned:   config.Options.Queue == nil,
		local:   shared && !config.Options.ShutDownAll,
		levels:  levels,
	}
	q.changed = sync.NewCond(&q.mutex)
	q.context, q.cancel = context.WithCancel(context.Background())
	if codec != nil {
		q.keys = codecKeys[T]{codec, config.Options.Codec != nil}
		q.text, _ = codec.(*textCodec[T])
	} else {
		q.keys = newTable[T](queueStore{queue})
	}
	if provider := providerOrGlobal(config.MetricsProvider); provider != nil && config.Name != "" {
		var err error
		if q.metrics, err = newMetrics(provider, config.Name, queue.Stat, q.depths()); err != nil {
			return nil, err
		}
		go q.metrics.run()
	}
	q.name = config.Name
	if q.name != "" {
		noteOpen(q.name, q)
	}
	return q, nil
}

// Queue returns the queue of package kwq, which has everything that client-go lacks: priorities, dead letters, lists and so on.
func (q *Typed[T]) Queue() *kwq.Queue {
	return q.queue
}

// Holding returns the hand-out of an item that this process has got: its ticket, its requeues, and a way to extend its lease. It
// is nil for another item.
func (q *Typed[T]) Holding(item T) *kwq.Item {
	mustHash(item)
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return q.held.get(item)
}

// Add says that the item needs processing. A queue that is shut down ignores it.
func (q *Typed[T]) Add(item T) {
	if q.text != nil {
		if err := q.addText(&item); err != nil {
			q.notAdded(item, err)
		}
		return
	}
	key, _, err := q.keys.pin(item, true)
	if err != nil {
		q.lost(item, err)
		return
	}
	_, err = q.queue.Add(key)
	q.added(item, key, stays, err)
}

// addText adds an item that textCodec translates. A key that is ready needs no memory.
func (q *Typed[T]) addText(item *T) error {
	if q.text.isOne() {
		_, err := q.queue.Add(q.text.one(item))
		return err
	}
	var room textRoom
	_, err := q.queue.AddBytes(q.text.key(&room, item))
	return err
}

// AddAfter adds the item when the duration has passed.
func (q *Typed[T]) AddAfter(item T, duration time.Duration) {
	key, _, err := q.keys.pin(item, true)
	if err != nil {
		q.lost(item, err)
		return
	}
	_, err = q.queue.AddAfter(key, notNegative(duration))
	q.added(item, key, stays, err)
}

// AddRateLimited adds the item after the delay that the limiter chooses.
func (q *Typed[T]) AddRateLimited(item T) {
	if q.limiter != nil {
		q.AddAfter(item, q.limiter.When(item))
		return
	}
	key, _, err := q.keys.pin(item, true)
	if err != nil {
		q.lost(item, err)
		return
	}
	result, err := q.queue.AddRateLimited(key)
	q.added(item, key, counted, err)
	q.checkDead(item, result)
}

// checkDead reports an add that left a dead letter as it is, because its event would be lost.
func (q *Typed[T]) checkDead(item T, result kwq.AddResult) {
	if result == kwq.Dead && q.Holding(item) == nil {
		q.failed(fmt.Errorf("rate-limited add of %v: it is a dead letter, and stays one", item))
	}
}

// added ends an add.
func (q *Typed[T]) added(item T, key string, what outcome, err error) {
	if err == nil {
		q.keys.unpin(key, what)
		return
	}
	q.keys.unpin(key, unsure)
	q.notAdded(item, err)
}

// notAdded reports an add that failed. client-go ignores adds after a shut down, too.
func (q *Typed[T]) notAdded(item T, err error) {
	if !errors.Is(err, kwq.ErrShutDown) && !errors.Is(err, kwq.ErrClosed) {
		q.lost(item, err)
	}
}

// Forget sets the item's count of requeues to zero. The item still needs its Done.
func (q *Typed[T]) Forget(item T) {
	if q.limiter != nil {
		q.limiter.Forget(item)
		return
	}
	key, known, err := q.keys.pin(item, false)
	if known {
		_, err = q.queue.Forget(key)
		q.keys.unpin(key, forgotten)
	}
	q.failed(err)
}

// NumRequeues returns how often the item was rate-limited since it was last forgotten.
func (q *Typed[T]) NumRequeues(item T) int {
	if q.limiter != nil {
		return q.limiter.NumRequeues(item)
	}
	n := 0
	key, known, err := q.keys.pin(item, false)
	if known {
		n, err = q.queue.NumRequeues(key)
		q.keys.unpin(key, stays)
	}
	q.failed(err)
	return n
}

// Len returns how many items are ready.
func (q *Typed[T]) Len() int {
	n, err := q.queue.Len()
	q.failed(err)
	return n
}

// Get waits for an item. It returns shutdown when the queue is shut down and empty. After a shut down of this process alone, and
// after Close, it does so at once. It does so, too, if this handle lacks the right to get. Any other error goes to OnError, and Get
// tries again after a second.
//
// A key that is no item's becomes a dead letter, and OnError gets an ErrKey.
func (q *Typed[T]) Get() (item T, shutdown bool) {
	item, _, shutdown = q.take()
	return item, shutdown
}

// take is Get, and returns the hand-out, too.
func (q *Typed[T]) take() (item T, got *kwq.Item, shutdown bool) {
	for q.begin() {
		item, got, err := q.get()
		q.end(item, got)
		// OnError may drain, which waits for the calls under way. So it is called after the end of this one.
		switch {
		case err == nil:
			return item, got, false
		case errors.Is(err, kwq.ErrShutDown), errors.Is(err, context.Canceled), errors.Is(err, kwq.ErrClosed):
			var zero T
			return zero, nil, true
		case errors.Is(err, kwq.ErrRights):
			var zero T
			q.failed(err)
			return zero, nil, true
		}
		q.failed(err)
		if !errors.Is(err, ErrKey) {
			q.pause(time.Second)
		}
	}
	return item, nil, true
}

// get returns an item with its hand-out. With an error there is no hand-out.
func (q *Typed[T]) get() (item T, got *kwq.Item, err error) {
	if got, err = q.queue.Get(q.context); err != nil {
		return item, nil, err
	}
	if q.text != nil {
		item, err = q.text.Decode(got.Key)
	} else {
		item, err = q.keys.item(got.Key)
	}
	if err == nil {
		return item, got, nil
	}
	if _, buried := got.Bury(); buried != nil {
		err = fmt.Errorf("%w, and %v", err, buried)
	}
	return item, nil, err
}

// pause ends early with the work of this process.
func (q *Typed[T]) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-q.context.Done():
	}
}

// begin counts a Get. It returns false after a local shut down, and after Close.
func (q *Typed[T]) begin() bool {
	q.busy.Add(1)
	if q.down.Load() {
		q.endCall()
		return false
	}
	return true
}

// end ends a Get, which has got the item if there is a hand-out.
func (q *Typed[T]) end(item T, got *kwq.Item) {
	if got != nil {
		q.mutex.Lock()
		q.held.put(item, got)
		q.mutex.Unlock()
	}
	q.endCall()
}

// endCall ends a Get or a Done. A drain sets down before it looks at busy. So either it sees this end, or this end sees it.
func (q *Typed[T]) endCall() {
	q.busy.Add(-1)
	if q.down.Load() {
		q.mutex.Lock()
		q.changed.Broadcast()
		q.mutex.Unlock()
	}
}

// Done says that the work on the item is finished. It does nothing for an item that this process does not have. If the queue has
// taken the item back, because its lease ended, OnError gets kwq.ErrStale.
func (q *Typed[T]) Done(item T) {
	if q.text == nil {
		mustHash(item)
	}
	q.mutex.Lock()
	got := q.held.take(item)
	if got == nil {
		q.mutex.Unlock()
		return
	}
	q.busy.Add(1)
	q.mutex.Unlock()

	if q.text != nil {
		_, err := got.Done()
		q.endCall()
		q.failed(err)
		return
	}
	q.keys.pinKey(got.Key)
	result, err := got.Done()
	switch {
	case err != nil:
		q.keys.unpin(got.Key, unsure)
	case result == kwq.Finished:
		q.keys.unpin(got.Key, gone)
	default:
		q.keys.unpin(got.Key, stays)
	}
	q.endCall()
	q.failed(err)
}

// ShutDown ends the queue: adds are ignored, delays are dropped, and Get returns shutdown once nothing is ready.
//
// In a shared queue it ends the work of this process: Get returns shutdown at once, and ready items stay for the others. Adds
// still reach the queue, so an item that fails now is tried again by another process.
func (q *Typed[T]) ShutDown() {
	if !q.local {
		err := q.queue.ShutDown()
		q.keys.sweep()
		q.metrics.endWhenEmpty()
		if !errors.Is(err, kwq.ErrRights) {
			q.failed(err)
			return
		}
		// The work of this process can end nevertheless.
		q.failed(fmt.Errorf("shut down of this process only: %w", err))
	}
	q.endHere()
}

// endHere ends the work of this process: Get returns shutdown from now on, and drains of this process end.
func (q *Typed[T]) endHere() {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.down.Store(true)
	q.downs++
	q.cancel()
	q.changed.Broadcast()
}

// ShutDownWithDrain does what ShutDown does, and waits until no item is ready or held. In a shared queue it waits until this
// process holds none. A ShutDown ends the wait.
func (q *Typed[T]) ShutDownWithDrain() {
	if !q.local {
		err := q.queue.ShutDownWithDrain(context.Background())
		q.keys.sweep()
		q.metrics.endWhenEmpty()
		if !errors.Is(err, kwq.ErrRights) {
			if !errors.Is(err, kwq.ErrDrainEnded) {
				q.failed(err)
			}
			return
		}
		q.failed(fmt.Errorf("drain of this process only: %w", err))
	}
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.down.Store(true)
	q.cancel()
	for downs := q.downs; (q.busy.Load() > 0 || q.held.count() > 0) && q.downs == downs; {
		q.changed.Wait()
	}
}

// ShuttingDown tells whether the queue was shut down, for all processes or for this one.
func (q *Typed[T]) ShuttingDown() bool {
	if q.down.Load() {
		return true
	}
	down, err := q.queue.ShuttingDown()
	q.failed(err)
	return down || err != nil
}

// Close ends the work of this process and closes the queue. Items that it still holds go back to the queue, which a queue of this
// process alone does not outlive. A queue that was given by Options.Queue stays open.
func (q *Typed[T]) Close() error {
	noteClosed(q.name, q)
	q.metrics.stop()
	q.endHere()
	if !q.owned {
		return nil
	}
	return q.queue.Close()
}

// ReportMetrics tells the provider of metrics what has changed. It is told each half second anyway.
func (q *Typed[T]) ReportMetrics() {
	if q.metrics != nil {
		q.metrics.update(true)
	}
}

// depths returns a function that counts the ready items of each priority, or nil if this is no priority queue.
func (q *Typed[T]) depths() func() (map[int]int, error) {
	if q.levels == nil {
		return nil
	}
	return func() (map[int]int, error) {
		depths := map[int]int{}
		list := q.queue.List
		if q.levels.carries() {
			list = q.queue.ListWithValues
		}
		err := list(kwq.IsReady|kwq.IsDirty, func(l *kwq.Listed) error {
			depths[q.levels.priorityOf(pendingOf(l).level, l.Value)]++
			return nil
		})
		return depths, err
	}
}

// lost reports an add that failed: its event is lost.
func (q *Typed[T]) lost(item T, err error) {
	err = fmt.Errorf("add of %v: %w", item, err)
	if q.onError == nil {
		panic(err)
	}
	q.onError(err)
}

// failed reports another error.
func (q *Typed[T]) failed(err error) {
	switch {
	case err == nil, errors.Is(err, kwq.ErrClosed):
	case q.onError != nil:
		q.onError(err)
	default:
		log.Print(err)
	}
}

// queueStore tells a table of a queue's keys.
type queueStore struct {
	queue *kwq.Queue
}

const anyState = kwq.IsReady | kwq.IsWaiting | kwq.IsProcessing | kwq.IsDirty | kwq.IsDead | kwq.IsRemembered

func (s queueStore) has(key string) (bool, error) {
	_, err := s.queue.Find(key)
	if errors.Is(err, kwq.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (s queueStore) each(found func(string)) error {
	return s.queue.List(anyState, func(l *kwq.Listed) error {
		found(l.Key)
		return nil
	})
}
