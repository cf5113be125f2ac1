// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

//go:build go1.21

package workqueue

import "time"

// The names that client-go had before its queues had types of items. client-go has deprecated them. The type any is a type of items
// since Go 1.20, and a file can ask for a newer Go than its module since Go 1.21.
//
// A queue that belongs to this process takes items of any comparable type. A shared queue takes strings.
type (
	// Type is a queue.
	Type = Typed[any]
	// Interface is the interface of a queue.
	Interface = TypedInterface[any]
	// DelayingInterface is that of a queue with delays.
	DelayingInterface = TypedDelayingInterface[any]
	// RateLimitingInterface is that of a queue with limiters.
	RateLimitingInterface = TypedRateLimitingInterface[any]
	// RateLimiter is the interface of a limiter.
	RateLimiter = TypedRateLimiter[any]
	// QueueConfig has the settings of NewWithConfig.
	QueueConfig = TypedQueueConfig[any]
	// DelayingQueueConfig has the settings of NewDelayingQueueWithConfig.
	DelayingQueueConfig = TypedDelayingQueueConfig[any]
	// RateLimitingQueueConfig has the settings of NewRateLimitingQueueWithConfig.
	RateLimitingQueueConfig = TypedRateLimitingQueueConfig[any]
)

// New is NewTyped.
//
// Deprecated: use NewTyped.
func New() *Type { return NewTyped[any]() }

// NewWithConfig is NewTypedWithConfig.
//
// Deprecated: use NewTypedWithConfig.
func NewWithConfig(config QueueConfig) *Type { return NewTypedWithConfig(config) }

// NewNamed returns the shared queue of that name.
//
// Deprecated: use NewTypedWithConfig.
func NewNamed(name string) *Type { return NewTypedWithConfig(QueueConfig{Name: name}) }

// NewDelayingQueue is NewTypedDelayingQueue.
//
// Deprecated: use NewTypedDelayingQueue.
func NewDelayingQueue() DelayingInterface { return NewTypedDelayingQueue[any]() }

// NewDelayingQueueWithConfig is NewTypedDelayingQueueWithConfig.
//
// Deprecated: use NewTypedDelayingQueueWithConfig.
func NewDelayingQueueWithConfig(config DelayingQueueConfig) DelayingInterface {
	return NewTypedDelayingQueueWithConfig(config)
}

// NewNamedDelayingQueue returns the shared queue of that name.
//
// Deprecated: use NewTypedDelayingQueueWithConfig.
func NewNamedDelayingQueue(name string) DelayingInterface {
	return NewTypedDelayingQueueWithConfig(DelayingQueueConfig{Name: name})
}

// NewRateLimitingQueue is NewTypedRateLimitingQueue.
//
// Deprecated: use NewTypedRateLimitingQueue.
func NewRateLimitingQueue(limiter RateLimiter) RateLimitingInterface {
	return NewTypedRateLimitingQueue(limiter)
}

// NewRateLimitingQueueWithConfig is NewTypedRateLimitingQueueWithConfig.
//
// Deprecated: use NewTypedRateLimitingQueueWithConfig.
func NewRateLimitingQueueWithConfig(limiter RateLimiter, config RateLimitingQueueConfig) RateLimitingInterface {
	return NewTypedRateLimitingQueueWithConfig(limiter, config)
}

// NewNamedRateLimitingQueue returns the shared queue of that name.
//
// Deprecated: use NewTypedRateLimitingQueueWithConfig.
func NewNamedRateLimitingQueue(limiter RateLimiter, name string) RateLimitingInterface {
	return NewTypedRateLimitingQueueWithConfig(limiter, RateLimitingQueueConfig{Name: name})
}

// DefaultControllerRateLimiter is DefaultTypedControllerRateLimiter.
//
// Deprecated: use DefaultTypedControllerRateLimiter.
func DefaultControllerRateLimiter() RateLimiter { return DefaultTypedControllerRateLimiter[any]() }

// DefaultItemBasedRateLimiter is DefaultTypedItemBasedRateLimiter.
//
// Deprecated: use DefaultTypedItemBasedRateLimiter.
func DefaultItemBasedRateLimiter() RateLimiter { return DefaultTypedItemBasedRateLimiter[any]() }

// NewItemExponentialFailureRateLimiter is NewTypedItemExponentialFailureRateLimiter.
//
// Deprecated: use NewTypedItemExponentialFailureRateLimiter.
func NewItemExponentialFailureRateLimiter(base, max time.Duration) RateLimiter {
	return NewTypedItemExponentialFailureRateLimiter[any](base, max)
}

// NewItemFastSlowRateLimiter is NewTypedItemFastSlowRateLimiter.
//
// Deprecated: use NewTypedItemFastSlowRateLimiter.
func NewItemFastSlowRateLimiter(fast, slow time.Duration, maxFast int) RateLimiter {
	return NewTypedItemFastSlowRateLimiter[any](fast, slow, maxFast)
}

// NewMaxOfRateLimiter is NewTypedMaxOfRateLimiter.
//
// Deprecated: use NewTypedMaxOfRateLimiter.
func NewMaxOfRateLimiter(limiters ...RateLimiter) RateLimiter {
	return NewTypedMaxOfRateLimiter(limiters...)
}

// NewWithMaxWaitRateLimiter is NewTypedWithMaxWaitRateLimiter.
//
// Deprecated: use NewTypedWithMaxWaitRateLimiter.
func NewWithMaxWaitRateLimiter(limiter RateLimiter, max time.Duration) RateLimiter {
	return NewTypedWithMaxWaitRateLimiter(limiter, max)
}
