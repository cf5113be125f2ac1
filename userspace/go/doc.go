// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

/*
Package kwq uses the keyed work queues of the Linux kernel module kwq, through /dev/kwq.

A queue holds the keys of things that need attention: files, hosts, users. When a thing has changed, a program adds its key. A
worker gets the key, looks at the thing, and says that the key is done. The queue holds each key once, hands it to one worker at a
time, among all processes, and misses no add: a key that is added while a worker has it is handed out once more. Package workqueue
of Kubernetes' client-go promises the same within one process.

	q, err := kwq.Create("hosts", &kwq.CreateOptions{OrOpen: true})
	if err != nil {
		log.Fatal(err)
	}
	defer q.Close()
	for {
		item, err := q.Get(ctx)
		if err != nil {
			return err
		}
		if err := check(item.Key); err != nil {
			item.Retry()
		} else {
			item.DoneAndForget()
		}
	}

The manual pages kwq(7) and kwq(4) define the terms and the rules.

# Keys, values and groups

A key is a string of 1 to KeyMax bytes of any value. In a queue that was created with Values a key may have a value, up to ValueMax
bytes. The last one counts. It may also have a note of up to NoteMax bytes, in which a worker says why its last run has failed, so
that whoever lists the queue learns it: see [Item.Note]. In a queue that was created with Groups a key may belong to a group. Groups
take turns.

# Waiting

Get, GetMany, DoneAndGet, AddWait, AddManyWait and a Follower's Changes wait until their context ends. A goroutine that waits takes no thread, and ten
thousand of them share three descriptors, which Go's poller watches. Each item that becomes ready wakes one of a handle's goroutines.
Each process that waits for the queue is woken. ShutDownWithDrain and Sync take a thread while
they wait.

# Handles

A handle holds the items that were got through it. When it is closed, or its process ends, the queue hands these items to others.
So each process needs a handle of its own, and the goroutines of a process share one. A handle that is not closed is not freed.

# Time

Delays, leases and ages are durations on the queue's clock. A time on that clock is a duration, too: since the clock's zero. Now
returns the present one.

# Errors

Every error but that of a context is an [*Error]. It is one of the errors of this package, for [errors.Is], and a
[syscall.Errno] as well.

	if errors.Is(err, kwq.ErrShutDown) { ... }
	if errors.Is(err, syscall.ESHUTDOWN) { ... }
*/
package kwq
