// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

/*
Package workqueue has the interfaces of client-go's package workqueue, over queues of kwq. A controller changes its
import and where it makes its queue:

	queue := workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.DefaultTypedControllerRateLimiter[string](),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: "hosts"},
	)

A queue with a name is shared by all processes that name it. It stays when they end, and it hands the items of a dead process to
another. A queue without a name belongs to its process. The package imports nothing but package kwq.

A controller of controller-runtime, whose queue has priorities, sets one option:

	options.NewQueue = workqueue.NewPriorityQueue[priorityqueue.AddOpts]

# Differences from client-go

docs/go.md explains what sharing changes for a controller, and docs/client-go.md has the differences of kwq. In short:

  - ShutDown ends the work of this process only: Get returns shutdown at once, and ready items stay for other processes. Adds still
    reach the queue. With Options.ShutDownAll it shuts the queue down for all.
  - An add that fails, for example because the queue is full, panics, unless Options.OnError takes the error.
  - A Done of an item that this process does not have does nothing.
  - The clock is a number, not an object. The order of a queue cannot be replaced: kwq has priorities.
  - Metrics are differences of the queue's statistics each 500 ms. With several processes each reports the whole queue.
  - A queue that is no longer needed wants a Close.

In a queue with leases one goroutine may lose an item, and another one of its process may get it. A Done cannot tell them apart. So
use package kwq there, whose items have tickets.
*/
package workqueue
