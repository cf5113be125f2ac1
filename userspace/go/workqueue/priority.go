// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package workqueue

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"kwq.example/kwq"
)

// AddOpts are the options of [PriorityQueue.AddWithOpts]. They have the shape of controller-runtime's.
type AddOpts struct {
	// After is how long the item waits.
	After time.Duration
	// RateLimited lets the item wait as long as the limiter says or, with After, the shorter of the two times.
	RateLimited bool
	// Priority of the item: higher ones come first. nil means 0.
	Priority *int
}

// AnyAddOpts are types of that shape, such as priorityqueue.AddOpts of controller-runtime.
type AnyAddOpts interface {
	~struct {
		After       time.Duration
		RateLimited bool
		Priority    *int
	}
}

// PriorityQueue is a queue of items of type T with priorities. It has the methods of controller-runtime's interface of that name,
// if O is its AddOpts.
//
// An item is ready or waits, but not both: an add without a delay ends the wait, and a delay for an item that is ready changes only
// its priority. Of two delays the shorter one counts, and of two priorities the higher one. kwq(7) compares the two queues, case by
// case (C1 to C13).
//
// Priorities are any integers. Up to 64 different ones keep their order. See docs/go.md for more than these.
type PriorityQueue[T comparable, O AnyAddOpts] struct {
	*Typed[T]

	// A delayed add looks at its key first, and no other add of this process may come in between.
	adds sync.RWMutex
}

// NewPriorityQueue returns the queue with that name. With Go 1.21 and newer, it can be assigned to the option NewQueue of
// controller-runtime's controllers, which then use priorities:
//
//	options.NewQueue = workqueue.NewPriorityQueue[priorityqueue.AddOpts]
//
// The limiter is the one that controller-runtime passes, and works in this process. A nil limiter works in the kernel.
func NewPriorityQueue[O AnyAddOpts, T comparable, L TypedRateLimiter[T], Q TypedRateLimitingInterface[T]](name string,
	limiter L) Q {
	q := must(OpenPriorityQueue[O](limiterOf[T](limiter), TypedRateLimitingQueueConfig[T]{Name: name}))
	as, ok := any(q).(Q)
	if !ok {
		panic(fmt.Sprintf("kwq: NewPriorityQueue cannot return %v: ask for TypedRateLimitingInterface or *PriorityQueue",
			reflect.TypeOf((*Q)(nil)).Elem()))
	}
	return as
}

// OpenPriorityQueue returns a queue, or why there is none: see [Open].
//
// A new queue allows values, because kwq keeps unusual priorities there. One that exists without values reports the nearest usual
// priority in their place.
func OpenPriorityQueue[O AnyAddOpts, T comparable](limiter TypedRateLimiter[T],
	config TypedRateLimitingQueueConfig[T]) (*PriorityQueue[T, O], error) {
	if config.Options.Queue == nil {
		var create kwq.CreateOptions
		if config.Options.Create != nil {
			create = *config.Options.Create
		}
		create.Values = true
		config.Options.Create = &create
	}
	q, err := openWith(limiter, config, &levels{})
	if err != nil {
		return nil, err
	}
	return &PriorityQueue[T, O]{Typed: q}, nil
}

// Add says that the item needs processing, with priority 0.
func (q *PriorityQueue[T, O]) Add(item T) {
	q.add(AddOpts{}, item)
}

// AddAfter adds the item, with priority 0, when the duration has passed.
func (q *PriorityQueue[T, O]) AddAfter(item T, duration time.Duration) {
	q.add(AddOpts{After: duration}, item)
}

// AddRateLimited adds the item, with priority 0, after the delay that the limiter chooses.
func (q *PriorityQueue[T, O]) AddRateLimited(item T) {
	q.add(AddOpts{RateLimited: true}, item)
}

// AddWithOpts adds the items.
func (q *PriorityQueue[T, O]) AddWithOpts(o O, items ...T) {
	for _, item := range items {
		q.add(AddOpts(o), item)
	}
}

func (q *PriorityQueue[T, O]) add(o AddOpts, item T) {
	if !q.local && q.down.Load() {
		return
	}
	// A limiter of the kernel counts and delays in one.
	kernel := o.RateLimited && q.limiter == nil
	if o.RateLimited && q.limiter != nil {
		if delay := q.limiter.When(item); o.After == 0 || delay < o.After {
			o.After = delay
		}
	}
	priority := 0
	if o.Priority != nil {
		priority = *o.Priority
	}
	key, _, err := q.keys.pin(item, true)
	if err != nil {
		q.lost(item, err)
		return
	}
	result, err := q.addKey(key, o.After, priority, kernel)
	what := stays
	if kernel {
		what = counted
	}
	q.added(item, key, what, err)
	q.checkDead(item, result)
}

// addKey adds a key. kernel asks for the delay of the kernel's limiters.
func (q *PriorityQueue[T, O]) addKey(key string, after time.Duration, priority int, kernel bool) (kwq.AddResult, error) {
	level, carry := q.levels.of(priority)
	if after <= 0 && !kernel && !carry {
		q.adds.RLock()
		defer q.adds.RUnlock()
		return q.queue.AddWith(key, &kwq.AddOptions{EndWait: true, Priority: &level})
	}
	q.adds.Lock()
	defer q.adds.Unlock()
	found, err := q.queue.Find(key)
	if err != nil && !errors.Is(err, kwq.ErrNotFound) {
		return 0, err
	}
	now := pendingOf(found)
	o := kwq.AddOptions{Priority: &level}
	if carry {
		level, o.Value = now.with(q.levels, priority, level)
	}
	if kernel {
		return q.addLimited(key, o, after, now.ready)
	}
	if after > 0 && !now.ready {
		o.Delay = after
	} else {
		o.EndWait = true
		if after > 0 {
			// It counts as the retry that it would have been.
			q.metrics.retry()
		}
	}
	return q.queue.AddWith(key, &o)
}

// addLimited adds a key after the delay of the kernel's limiters or, if that is shorter, after this one. Of a key that is ready it
// counts, and leaves the key ready.
func (q *PriorityQueue[T, O]) addLimited(key string, o kwq.AddOptions, after time.Duration, ready bool) (kwq.AddResult, error) {
	o.RateLimited = true
	result, err := q.queue.AddWith(key, &o)
	if err != nil || result == kwq.Dead {
		return result, err
	}
	o.RateLimited = false
	switch {
	case ready || after < 0 || result == kwq.Added || result == kwq.Dirtied: // the limiters may choose no delay
		o.EndWait = true
	case after > 0:
		o.Delay = after
	default:
		return result, nil
	}
	return q.queue.AddWith(key, &o)
}

// pending is what adds have asked for, and no get has taken yet.
type pending struct {
	any, ready bool
	level      int
	value      []byte
}

// pendingOf returns what is pending of a key, which may be nil.
func pendingOf(l *kwq.Listed) pending {
	p := pending{level: kwq.PriorityMin}
	if l == nil {
		return p
	}
	p.value = l.Value
	raise := func(level int) {
		p.any = true
		if level > p.level {
			p.level = level
		}
	}
	if l.State&kwq.IsReady != 0 {
		p.ready = true
		raise(l.Priority)
	}
	if l.State&kwq.IsDirty != 0 {
		p.ready = true
		raise(l.NextPriority)
	}
	if l.State&kwq.IsWaiting != 0 && l.WaitPriority != nil {
		raise(*l.WaitPriority)
	}
	return p
}

// with returns the level and the value of an add with this priority. The number of a higher priority has to stay. Levels may have
// moved since the pending add, and the kernel raises them only.
func (p pending) with(l *levels, priority, level int) (int, []byte) {
	switch {
	case p.any && priority <= l.priorityOf(p.level, p.value):
		return p.level, nil
	case p.any && level < p.level:
		level = p.level
	}
	return level, number(priority, level)
}

// Get waits for an item: see [Typed.Get].
func (q *PriorityQueue[T, O]) Get() (item T, shutdown bool) {
	item, _, shutdown = q.GetWithPriority()
	return item, shutdown
}

// GetWithPriority waits for an item, and returns its priority, too.
func (q *PriorityQueue[T, O]) GetWithPriority() (item T, priority int, shutdown bool) {
	item, got, shutdown := q.take()
	if shutdown {
		return item, 0, true
	}
	priority = q.levels.priorityOf(got.Priority, got.Value)
	q.levels.meet(priority, got.Priority)
	return item, priority, false
}

// Len returns how many items are ready. An item that was added while it is processed counts, too.
func (q *PriorityQueue[T, O]) Len() int {
	stat, err := q.queue.Stat()
	q.failed(err)
	if err != nil {
		return 0
	}
	return int(stat.Ready + stat.Dirty)
}

// ShutDown ends the work of this process: Get returns shutdown at once. A queue of this process alone also ignores adds from now on.
func (q *PriorityQueue[T, O]) ShutDown() {
	q.endHere()
	q.Typed.ShutDown()
}
