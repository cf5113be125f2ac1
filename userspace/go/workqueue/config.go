// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package workqueue

import (
	"errors"
	"fmt"
	"reflect"

	"kwq.example/kwq"
)

// TypedQueueConfig has the settings of NewTypedWithConfig.
type TypedQueueConfig[T comparable] struct {
	// Name is the name of the queue. All processes that name it share it, and it stays when they end. Without a name the
	// queue belongs to this process, and has no metrics.
	Name string
	// MetricsProvider takes the place of the one of SetProvider.
	MetricsProvider MetricsProvider
	// Clock is the queue's clock, for example kwq.ClockManual in tests. 0 means CLOCK_MONOTONIC in a new queue, and leaves the
	// clock of one that exists. Open fails if one that exists has another clock.
	Clock kwq.Clock
	// Options are those that client-go lacks.
	Options Options[T]
}

// TypedDelayingQueueConfig has the settings of NewTypedDelayingQueueWithConfig.
type TypedDelayingQueueConfig[T comparable] TypedQueueConfig[T]

// TypedRateLimitingQueueConfig has the settings of NewTypedRateLimitingQueueWithConfig.
type TypedRateLimitingQueueConfig[T comparable] TypedQueueConfig[T]

// Options are settings that client-go lacks.
type Options[T comparable] struct {
	// Private makes Name a name for the metrics only, as it is in client-go. The queue then belongs to this process.
	Private bool
	// Queue is a queue that exists already, for example one that another process passed on. It counts as shared. Name then
	// is for the metrics only, and Close does not close this queue.
	Queue *kwq.Queue
	// Create has the mode, the limits and so on of a queue that does not exist yet.
	Create *kwq.CreateOptions
	// Codec translates items to keys; nil for CodecFor.
	Codec Codec[T]
	// ShutDownAll lets ShutDown and ShutDownWithDrain shut a shared queue down for all processes. Without it they end
	// only the work of this process.
	ShutDownAll bool
	// OnError gets errors that the methods of client-go's interfaces cannot return: an add fails because the queue is full,
	// a key has no item, another process has taken an item back. Without it, an add that fails panics, because an
	// event would be lost. The other errors are logged.
	OnError func(error)
}

// NewTyped returns a queue that belongs to this process. It panics if there is no /dev/kwq, as all functions whose names begin
// with New. Open returns the error.
func NewTyped[T comparable]() *Typed[T] {
	return NewTypedWithConfig(TypedQueueConfig[T]{})
}

// NewTypedWithConfig returns a queue.
func NewTypedWithConfig[T comparable](config TypedQueueConfig[T]) *Typed[T] {
	return must(Open[T](nil, TypedRateLimitingQueueConfig[T](config)))
}

// NewTypedDelayingQueue returns a queue with delays that belongs to this process.
func NewTypedDelayingQueue[T comparable]() TypedDelayingInterface[T] {
	return NewTypedDelayingQueueWithConfig(TypedDelayingQueueConfig[T]{})
}

// NewTypedDelayingQueueWithConfig returns a queue with delays.
func NewTypedDelayingQueueWithConfig[T comparable](config TypedDelayingQueueConfig[T]) TypedDelayingInterface[T] {
	return must(Open[T](nil, TypedRateLimitingQueueConfig[T](config)))
}

// NewTypedRateLimitingQueue returns a queue with limiters that belongs to this process.
func NewTypedRateLimitingQueue[T comparable](limiter TypedRateLimiter[T]) TypedRateLimitingInterface[T] {
	return NewTypedRateLimitingQueueWithConfig(limiter, TypedRateLimitingQueueConfig[T]{})
}

// NewTypedRateLimitingQueueWithConfig returns a queue with limiters. See Open for the limiter.
func NewTypedRateLimitingQueueWithConfig[T comparable](limiter TypedRateLimiter[T],
	config TypedRateLimitingQueueConfig[T]) TypedRateLimitingInterface[T] {
	return must(Open(limiter, config))
}

// NewQueue returns the queue with that name. With Go 1.21 and newer, it can be assigned to the option NewQueue of
// controller-runtime's controllers as it stands: Q becomes client-go's TypedRateLimitingInterface.
//
//	options.NewQueue = workqueue.NewQueue
//
// The limiter is the one that controller-runtime passes, and works in this process. A nil limiter works in the kernel.
func NewQueue[T comparable, L TypedRateLimiter[T], Q TypedRateLimitingInterface[T]](name string, limiter L) Q {
	q := must(Open(limiterOf[T](limiter), TypedRateLimitingQueueConfig[T]{Name: name}))
	as, ok := any(q).(Q)
	if !ok {
		panic(fmt.Sprintf("kwq: NewQueue cannot return %v: ask for TypedRateLimitingInterface or *Typed",
			reflect.TypeOf((*Q)(nil)).Elem()))
	}
	return as
}

// limiterOf returns nil for a nil limiter of any type of interface.
func limiterOf[T comparable, L TypedRateLimiter[T]](limiter L) TypedRateLimiter[T] {
	if any(limiter) == nil {
		return nil
	}
	return limiter
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Open returns a queue, or why there is none.
//
// A nil limiter leaves the limiters as they are: those of Options.Create or, in a new queue, client-go's default. A *Limiter
// replaces them, also in a queue that exists. Any other limiter works in this process: its counts are not shared, and end with
// the process.
//
// A type of items without a codec (ErrNoCodec) is possible in a queue that belongs to this process.
func Open[T comparable](limiter TypedRateLimiter[T], config TypedRateLimitingQueueConfig[T]) (*Typed[T], error) {
	return openWith(limiter, config, nil)
}

// openWith returns a queue; with levels, one for priorities.
func openWith[T comparable](limiter TypedRateLimiter[T], config TypedRateLimitingQueueConfig[T],
	levels *levels) (*Typed[T], error) {
	o := config.Options
	shared := o.Queue != nil || config.Name != "" && !o.Private
	if o.Queue != nil && (o.Create != nil || config.Clock != 0) {
		return nil, errors.New("kwq: Options.Queue exists, so Options.Create and Clock must be empty")
	}
	codec := o.Codec
	if codec == nil {
		var err error
		codec, err = CodecFor[T]()
		if strings, ok := any(anyCodec{}).(Codec[T]); ok && shared {
			codec, err = strings, nil
		}
		if err != nil && shared {
			return nil, fmt.Errorf("kwq: a shared queue: %w", err)
		}
	}
	kernel, _ := limiter.(*Limiter[T])
	queue := o.Queue
	if queue == nil {
		var err error
		if queue, err = create(config, shared, kernel); err != nil {
			return nil, err
		}
	}
	err := hasClock(queue, config.Clock)
	if err == nil {
		err = configure(queue, kernel)
	}
	if err == nil && levels != nil {
		levels.values, err = hasValues(queue)
	}
	if err != nil {
		if o.Queue == nil {
			queue.Close()
		}
		return nil, err
	}
	if kernel != nil {
		limiter = nil
	}
	q, err := newTyped(config, queue, codec, limiter, levels, shared)
	if err != nil && o.Queue == nil {
		queue.Close()
	}
	return q, err
}

func create[T comparable](config TypedRateLimitingQueueConfig[T], shared bool, limiter *Limiter[T]) (*kwq.Queue, error) {
	var create kwq.CreateOptions

	if config.Options.Create != nil {
		create = *config.Options.Create
	}
	if config.Clock != 0 {
		create.Clock = config.Clock
	}
	if limiter != nil {
		var c kwq.Config
		if create.Config != nil {
			c = *create.Config
		}
		c.Limiters, c.MaxWait = limiter.limiters, limiter.maxWait
		create.Config = &c
	}
	if !shared {
		return kwq.New(&create)
	}
	create.OrOpen = true
	return kwq.Create(config.Name, &create)
}

// hasClock fails if a queue that existed has another clock than the one that was asked for.
func hasClock(queue *kwq.Queue, clock kwq.Clock) error {
	if clock == 0 {
		return nil
	}
	stat, err := queue.Stat()
	if err == nil && stat.Clock != clock {
		err = fmt.Errorf("kwq: the queue %s exists, and has another clock: leave Clock out, or remove the queue (kwq rm)",
			queue.Name())
	}
	return err
}

func hasValues(queue *kwq.Queue) (bool, error) {
	stat, err := queue.Stat()
	return err == nil && stat.HasValues, err
}

// configure gives a queue that existed the limiter.
func configure[T comparable](queue *kwq.Queue, limiter *Limiter[T]) error {
	if limiter == nil {
		return nil
	}
	c, err := queue.Config()
	if err != nil {
		return err
	}
	if reflect.DeepEqual(c.Limiters, limiter.limiters) && c.MaxWait == limiter.maxWait {
		return nil
	}
	c.Limiters, c.MaxWait = limiter.limiters, limiter.maxWait
	return queue.Configure(c)
}
