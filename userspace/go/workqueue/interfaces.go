// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package workqueue

import "time"

// TypedInterface is client-go's interface of a queue.
type TypedInterface[T comparable] interface {
	// Add says that the item needs processing.
	Add(item T)
	// Len returns how many items are ready.
	Len() int
	// Get waits for an item. With shutdown the caller should end. Each other item needs a Done.
	Get() (item T, shutdown bool)
	// Done says that the work on the item is finished. An item that was added meanwhile is ready again.
	Done(item T)
	// ShutDown ends the queue. Items that are ready can still be got.
	ShutDown()
	// ShutDownWithDrain does what ShutDown does, and waits until all items are done.
	ShutDownWithDrain()
	// ShuttingDown tells whether the queue was shut down.
	ShuttingDown() bool
}

// TypedDelayingInterface is client-go's interface of a queue with delays.
type TypedDelayingInterface[T comparable] interface {
	TypedInterface[T]
	// AddAfter adds the item when the duration has passed.
	AddAfter(item T, duration time.Duration)
}

// TypedRateLimitingInterface is client-go's interface of a queue with limiters.
type TypedRateLimitingInterface[T comparable] interface {
	TypedDelayingInterface[T]
	// AddRateLimited adds the item after the delay that the limiter chooses.
	AddRateLimited(item T)
	// Forget sets the count of requeues to zero. The item still needs its Done.
	Forget(item T)
	// NumRequeues returns how often the item was rate-limited since it was last forgotten.
	NumRequeues(item T) int
}

// TypedRateLimiter is client-go's interface of a limiter. Limiters of client-go have it, too.
type TypedRateLimiter[T comparable] interface {
	// When returns how long the item should wait, and counts a requeue.
	When(item T) time.Duration
	// Forget sets the count of requeues to zero.
	Forget(item T)
	// NumRequeues returns the count of requeues.
	NumRequeues(item T) int
}

var (
	_ TypedRateLimitingInterface[string] = (*Typed[string])(nil)
	_ TypedRateLimiter[string]           = (*Limiter[string])(nil)
)
