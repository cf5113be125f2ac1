/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kwq: a keyed work queue for kernel code.
 *
 * Use it for work on an object that must be redone when the object changes. One worker at a
 * time processes an object, however often it is added. An add can have a delay. The object
 * embeds a struct kwq_item, and is the key:
 *
 *	struct port {
 *		struct kwq_item item;
 *		...
 *	};
 *	static struct kwq_queue ports;
 *
 *	static struct kwq_result handle_port(struct kwq_queue *queue, struct kwq_item *item)
 *	{
 *		return kwq_result_of(reconcile(container_of(item, struct port, item)));
 *	}
 *
 *	static const struct kwq_handler port_handler = {
 *		.handle = handle_port,
 *		.max_active = 4,
 *		.wq_flags = WQ_UNBOUND,
 *	};
 *
 *	kwq_queue_init(&ports, "ports", KWQ_CLOCK_MONOTONIC);		init
 *	err = kwq_start_handler(&ports, &port_handler);
 *
 *	kwq_item_init(&port->item);					probe
 *	kwq_add(&ports, &port->item);				interrupt; coalesces
 *	kwq_disable_sync(&ports, &port->item);				remove
 *	kfree(port);
 *
 *	kwq_queue_destroy(&ports);					exit
 *
 * The last column says where each call belongs, and that adds coalesce.
 *
 * If reconcile() returns 0, the item is done. After a negative errno kwq calls it again, by
 * default after 5 ms, 10 ms, 20 ms and so on. kwq_result_again_after() asks for another call
 * after a delay. kwq_result_later() says that the answer comes in another context, as that of a
 * request to a device does. A handler may also take several items in one call: see &struct
 * kwq_handler.
 * A driver may instead use threads of its own, which call kwq_get() and kwq_done(), or
 * kwq_done_and_get().
 *
 * kwq_queue_init() and DEFINE_KWQ_QUEUE() make a small queue, of 256 bytes at most. It suits
 * a queue for each device. For thousands of items, priorities or metrics, take a &struct
 * kwq_large_queue (K6). A large queue may also let groups of items take turns, and limit how many
 * items of a group are processed at once: see kwq_queue_group_items().
 *
 * One delayed_work does as well for one object whose work rarely fails. A queue does what a driver
 * otherwise writes around it:
 *
 *				delayed_work			kwq
 *	an event in a run	one more run			one more run
 *	an event in a delay	replaces the delay		a run now; the delay goes on,
 *								unless KWQ_ADD_END_WAIT
 *	a failure		a count, a pause, a limit	the handler's result
 *	a later attempt		queue_delayed_work(): it makes	the handler's result: an event
 *				an event wait, too		meanwhile runs at once
 *	thousands of objects	all may run at once		@max_active at once, by
 *								priority, in turns by groups
 *	an object that ends	cancel_delayed_work_sync(),	kwq_disable_sync(), or nothing:
 *				which waits for the run		the queue owns a reference
 *	what happens		workqueue:* events		kwq:* events, metrics
 *
 * Do not use it for work without an identity, which needs no deduplication: use
 * queue_work(). Do not use it for data that must not be merged: use a kfifo or a list.
 *
 * An add allocates nothing. After a shut down of the queue or a cancel of the item it fails
 * with -ESHUTDOWN. With KWQ_ADD_KICK it fails with -ENOENT unless the item is dead.
 * kwq_add_with() refuses invalid options with -EINVAL.
 *
 * Unless its comment says otherwise, a function may be called from any context that may
 * take a spinlock with interrupts off. On PREEMPT_RT that is any context that may take a
 * spinlock_t. Only kwq_add() may be called from an NMI.
 *
 * Free an item only while it is idle. kwq_disable_sync() makes an item idle for good, and
 * kwq_cancel_sync() makes it idle until the next add. kwq_cancel_all_sync() does so for all
 * items of a queue, and so does kwq_queue_destroy() of a queue with a handler.
 *
 * Objects with a reference count do not need this. After kwq_queue_own_references() the
 * queue owns one reference to each item that is ready, processing, waiting or dead (K5). It
 * takes it when the item stops being idle, and drops it when the item is idle again:
 * - From a successful add on, the queue owns it. Further adds take none.
 * - During the handler, and from kwq_get() to kwq_done(), the queue still owns it. So the
 *   handler may drop all references of its driver.
 * - After the last run, remove, cancel, shut down or destroy, the queue drops it, perhaps as
 *   the last one. Afterwards kwq does not touch the item.
 * - A dead item is not idle. It keeps the reference until it is removed, cancelled or
 *   dropped, or added again and done.
 *
 * The caller of a function with an item needs a reference of its own, or a lock that keeps
 * the object. Getters and handlers have the queue's until the item is done. A cancel may
 * return before the worker has dropped the queue's reference. So the caller drops its own
 * reference after a cancel, and does not free the object.
 *
 * Letters and numbers such as L11 in comments name the rules of kwq(7).
 */
#ifndef _LINUX_KWQ_H
#define _LINUX_KWQ_H

#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/hrtimer.h>
#include <linux/kwq_backoff.h>
#include <linux/kwq_types.h>
#include <linux/ktime.h>
#include <linux/llist.h>
#include <linux/rbtree_types.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <uapi/linux/kwq.h>

struct kwq_item;
struct kwq_workers;

/**
 * struct kwq_ref_ops - how a queue counts its references to items (K5)
 * @get: takes a reference to the object of an item; for example calls kref_get()
 * @put: drops that reference, perhaps the last one; for example calls kref_put()
 *
 * kwq calls @get under the queue's lock, with interrupts off. On PREEMPT_RT, the lock leaves
 * them on, and @get may take a spinlock_t. It must not sleep, and must not call kwq. That holds
 * for other queues, too, and for calls under a lock that @get takes: to lockdep, the locks of
 * all queues are one, except that each DEFINE_KWQ_QUEUE() has one of its own.
 *
 * kwq calls @put without any lock, in the context of the call that made the item idle:
 * - process context, may sleep: the end of a handler; kwq_run_sync(), kwq_cancel_sync(),
 *   kwq_disable_sync(), kwq_cancel_all_sync(), kwq_shut_down_with_drain(),
 *   kwq_queue_destroy() and kwq_done_and_get()
 * - the caller's context: kwq_done(), kwq_item_done(), kwq_bury(), kwq_give_back(), kwq_remove()
 *   and kwq_shut_down(). It is an interrupt only if the driver makes one of these calls in an
 *   interrupt.
 *
 * On PREEMPT_RT interrupt handlers that may call kwq are threads. So @put never runs in a hard
 * interrupt there, and may always take a spinlock_t. It may sleep only if its caller may.
 *
 * The timer makes no item idle, so it calls neither.
 *
 * @put may call any function of the queue that its context allows, but must not destroy the
 * queue or free an object that embeds it. The call that made the item idle may still use the
 * queue. So another context does that, such as a work item. The item is idle at that
 * time unless another task has added it again. So a @put may add the item once more before
 * it drops the reference; the queue takes a new one. After the last reference is dropped, the
 * item must not be used. kwq_cancel_sync() of an idle item returns at once. If the item was
 * added again, that cancel calls @put itself, once more.
 *
 * A worker takes no other item before its @put has returned. So kwq_flush(),
 * kwq_shut_down_with_drain() and kwq_queue_destroy() may wait for it. Their callers must not hold
 * a lock that @put takes.
 */
struct kwq_ref_ops {
	void (*get)(struct kwq_item *item);
	void (*put)(struct kwq_item *item);
};

/**
 * enum kwq_clock - the clock of a queue
 * @KWQ_CLOCK_MONOTONIC: CLOCK_MONOTONIC; time asleep does not count.
 * @KWQ_CLOCK_BOOTTIME: CLOCK_BOOTTIME; time asleep counts.
 */
enum kwq_clock {
	KWQ_CLOCK_MONOTONIC,
	KWQ_CLOCK_BOOTTIME,
	/* private: of <linux/kwq_test.h> */
	KWQ_CLOCK_MANUAL,
};

/* &kwq_queue.stamps of a queue that measures no durations. */
#define KWQ_CLOCK_NONE	0xff

/**
 * struct kwq_queue - a queue
 *
 * Alone it is a small queue, as kwq_queue_init() and DEFINE_KWQ_QUEUE() make them. In a
 * &struct kwq_large_queue it is the handle of a large one. All functions take both.
 *
 * Its members are private. The letters say what protects a member:
 *
 * I: set before the queue is used, then constant.
 * L: @lock.
 * atomic: changed by atomic operations, with @lock or without.
 * W: the wait list's own lock, taken under @lock.
 *
 * A getter is a task that sleeps in a get. A drainer is a task that sleeps until a drain, a
 * flush, or a run of an item ends. A poller is an entry of poll(), select(), epoll or
 * io_uring. Getters and drainers join and leave their lists under @lock, so every holder of
 * @lock sees all of them. Pollers join without it, see kwq_unlock().
 */
struct kwq_queue {
	/* private: */
	struct kwq_core core;		/* L; first, as in struct kwq_large_core */
	spinlock_t lock;
	u32 woken;			/* L: unlocks wake for @core.readied - @woken; wraps */
	struct kwq_holder holder;	/* L: holder of the items that kwq_get() hands out */
	u8 woken_phase : 2;		/* L: the phase that all waiters were last woken for */
	u8 has_timer : 1;		/* L: @timer was set up */
	u8 clock;			/* I: enum kwq_clock */
	u8 stamps;			/* I: @clock, or KWQ_CLOCK_NONE without durations */
	bool is_behind;			/* atomic; the work item sees to it: see timer.c */
	ktime_t paused_until;		/* L: end of the timed pause, perhaps past; 0: none */
	union {
		struct hrtimer timer;	/* L: started, with @has_timer */
		ktime_t manual_now;	/* L: time of KWQ_CLOCK_MANUAL, which has no timer */
	};
	struct llist_node behind;	/* of the queues with @is_behind */
	unsigned long posts;		/* atomic; the item posted last, and KWQ_POSTS_*: post.c */
	wait_queue_head_t getters;	/* W */
	struct hlist_head drainers;	/* L */
	const char *name;		/* I: for tracing */
	struct kwq_workers *workers;	/* L: the workers that call the handler; NULL without one */
	const struct kwq_ref_ops *refs;	/* L: set once; NULL if the queue owns no references */
};

/* Bits of @posts. */
#define KWQ_POSTS_OPEN	0x1	/* the holder of @lock takes what is posted */
#define KWQ_POSTS_ENDED	0x2	/* the queue is shut down */

/*
 * K6: a driver may have one for each of its devices. Debugging options enlarge the locks. The
 * largest hrtimer is that of Linux 7.3, with 80 bytes, for which any other kernel leaves room.
 */
#if defined(CONFIG_X86_64) && !defined(CONFIG_DEBUG_SPINLOCK) && \
	!defined(CONFIG_DEBUG_LOCK_ALLOC) && !defined(CONFIG_PREEMPT_RT)
static_assert(sizeof(struct kwq_queue) - sizeof(struct hrtimer) <= 256 - 80);
#endif

/**
 * struct kwq_key_ops - what a queue asks of the owner of its keys
 * @key_of: for tracing: gets an item's key
 * @end_leases: at @lease_end: takes back a bounded number of items whose lease ended, or whose
 *	queue's term is over; true if there may be more
 * @waited: the wait of an item has ended; NULL if nobody wants to know
 */
struct kwq_key_ops {
	const u8 *(*key_of)(const struct kwq_item *item, size_t *len);
	bool (*end_leases)(struct kwq_queue *queue, ktime_t now);
	void (*waited)(struct kwq_queue *queue, struct kwq_item *item);
};

/**
 * struct kwq_queue_bulk - what only a large queue has
 *
 * Its members are private. The letters are those of &struct kwq_queue.
 */
struct kwq_queue_bulk {
	/* private: */
	u32 nr_getters;			/* L: getters, asleep or on their way back to @lock */
	wait_queue_head_t pollers;	/* W */
	ktime_t lease_end;		/* L: no lease or term ends earlier; KTIME_MAX for never */
	u64 id;				/* I: for tracing */
	const struct kwq_key_ops *key_ops;	/* I: NULL where the object is the key */
};

/**
 * struct kwq_large_queue - a large queue (K6)
 * @queue: what all functions take
 *
 * It has 64 priorities, metrics, an id for tracepoints, and delays whose start costs the same
 * however many items wait. Take it for a queue of thousands of items. It has some 7 KiB.
 */
struct kwq_large_queue {
	/* private: */
	struct kwq_queue_bulk of_queue;
	struct kwq_bulk of_core;	/* with the core of @queue a struct kwq_large_core */
	/* public: */
	struct kwq_queue queue;
};

/* Also initialises @queue to a small queue that exists from the start. */
#define KWQ_QUEUE_INITIALIZER(queue, of_name) {				\
	.core = KWQ_SMALL_CORE((queue).core),				\
	.lock = __SPIN_LOCK_UNLOCKED((queue).lock),			\
	.clock = KWQ_CLOCK_MONOTONIC,					\
	.stamps = KWQ_CLOCK_MONOTONIC,					\
	.getters = __WAIT_QUEUE_HEAD_INITIALIZER((queue).getters),	\
	.name = (of_name),						\
}

/**
 * DEFINE_KWQ_QUEUE() - define a small queue on CLOCK_MONOTONIC
 * @queue: name of the variable, and of the queue in traces; static may precede the macro
 *
 * The queue can be used at once, even before any initcall has run. A module destroys it by
 * kwq_queue_destroy() when it is unloaded.
 */
#define DEFINE_KWQ_QUEUE(queue)						\
	struct kwq_queue queue = KWQ_QUEUE_INITIALIZER(queue, #queue)

/**
 * struct kwq_add_options - options of an add
 * @flags: KWQ_ADD_* bits, in the combinations that &struct kwq_add_entry allows
 * @priority: with KWQ_ADD_PRIORITY, KWQ_PRIORITY_MIN to KWQ_PRIORITY_MAX; else 0
 * @time: ns; with KWQ_ADD_AFTER a delay, with KWQ_ADD_AT an absolute time; else 0
 * @at_most: with KWQ_ADD_AT_MOST, ns from the first add of this wait; else 0
 * @group: with KWQ_ADD_GROUP the item's group from now on, or NULL for none, as for
 *	kwq_set_group(); else NULL. Without KWQ_ADD_GROUP the item stays in its group
 */
struct kwq_add_options {
	u32 flags;
	s32 priority;
	u64 time;
	u64 at_most;
	struct kwq_group *group;
	/* private: with KWQ_ADD_RESTORED of queue.h */
	const struct kwq_restored *restored;
};

/**
 * kwq_queue_init() - initialise a small queue (K6)
 * @queue: the queue; not on a stack, because it has a timer
 * @name: name for traces; must outlive the queue
 * @clock: the clock that all times of this queue are on
 *
 * Allocates nothing. See also DEFINE_KWQ_QUEUE().
 *
 * Context: any.
 */
void kwq_queue_init(struct kwq_queue *queue, const char *name,
		    enum kwq_clock clock);

/**
 * kwq_large_queue_init() - initialise a large queue (K6)
 * @large: the queue; its @queue is the argument of all other functions
 * @name: as for kwq_queue_init()
 * @clock: as for kwq_queue_init()
 *
 * Context: any.
 */
void kwq_large_queue_init(struct kwq_large_queue *large, const char *name,
			  enum kwq_clock clock);

/**
 * kwq_queue_destroy() - destroy a queue
 * @queue: the queue
 *
 * A queue with a handler is cancelled first, as by kwq_cancel_all_sync(). Without a handler
 * the queue forgets its items. It does not touch them unless it owns references, or an NMI has
 * just added some. With references all items become idle, even those that were got and not
 * finished, and it drops its references.
 *
 * The caller makes sure that no call on this queue is running or will follow. There is one
 * exception: the kwq_done() or kwq_item_done() that ended the caller's drain, or the last attempt,
 * may not have returned yet. Its put may still follow (K5), and must not use the queue. All other
 * puts have returned.
 *
 * Context: process; may sleep. The caller must not hold a lock that is taken to process items or
 * to drop their references.
 * Return: 0; -EDEADLK in any handler of this queue, with nothing changed.
 */
int kwq_queue_destroy(struct kwq_queue *queue);

/**
 * kwq_queue_own_references() - let a queue own a reference to each item in use (K5)
 * @queue: the queue; none of its items is in use
 * @refs: the callbacks; must outlive the queue
 *
 * Call it once, before the first add. The comment at the top of this header says who owns
 * which reference when.
 *
 * Return: 0. With nothing changed: -EINVAL (a callback is missing), -EBUSY (an item is in
 * use, or the queue owns references already).
 */
int kwq_queue_own_references(struct kwq_queue *queue, const struct kwq_ref_ops *refs);

/**
 * kwq_queue_group_items() - let groups of items take turns (Q16)
 * @queue: the queue; large, and none of its items is in use
 * @limit: most items of one group that are processed at once; 0 for no limit
 *
 * Call it once, before the first add. From then on each item of the queue is a &struct
 * kwq_grouped_item. An item may belong to a group, for example to that of its device or user.
 * Within a priority, groups with ready items take turns, one item at a time. Items of one group
 * keep their order, and higher priorities go first, as always. Items without a group are one more
 * group, to which the limit does not apply.
 *
 * A group at its limit is passed over until one of its items is done, or loses its holder.
 * kwq_try_get_item() and kwq_run_sync() name an item, and take it in spite of the limit. A drain, a
 * flush and kwq_len() count the items of such groups as ready. After a shut down, kwq_get() waits
 * for them as for items that others process.
 *
 * Return: 0. With nothing changed: -EINVAL (the queue is small), -EBUSY (an item is in use, or
 * the queue has groups already).
 */
int kwq_queue_group_items(struct kwq_queue *queue, u32 limit);

/**
 * kwq_queue_set_aging() - let ready items age, so that none starves (Q17)
 * @queue: the queue; large
 * @aging: after this time in ns an item counts as one priority higher, and so on up to
 *	KWQ_PRIORITY_MAX; 0 for never, with which every queue starts
 *
 * The time counts from the moment when the item became dirty. An item that loses its holder starts
 * over. Of items that count as equal, the one goes first that has been dirty longest. A hand-out
 * then looks at the first item of each priority in use. The item keeps its own priority.
 *
 * With groups, the item that has its turn next in its band stands for its group. If the turn is
 * a group's, the items of that group are compared in the same way.
 *
 * May be called at any time. If more than 30 priorities are in use, or with groups, a batch
 * handler may get less than its @max_batch at once.
 *
 * Return: 0; -EINVAL with nothing changed if the queue is small, or measures no durations.
 */
int kwq_queue_set_aging(struct kwq_queue *queue, u64 aging);

/**
 * kwq_queue_measure_no_durations() - let a queue do without reading the clock (M1)
 * @queue: the queue; none of its items is in use
 *
 * Call it before the first add. From then on an add without options, a hand-out and a done read
 * no clock. The queue does not know for how long an item was ready or processing, and its
 * histograms of these durations stay empty. Delays, limiters and deadlines are as before.
 *
 * The queue refuses what needs these times: aging (Q17), and requeues that are forgotten after a
 * time (L10). kwq_pause_sync() also waits for items that kwq_run_sync() or kwq_try_get_item()
 * took out of the paused queue.
 *
 * Return: 0. With nothing changed: -EBUSY (an item is in use), -EINVAL (the queue has aging, or
 * its &kwq_limiter_config.forget_after is not 0).
 */
int kwq_queue_measure_no_durations(struct kwq_queue *queue);

/**
 * kwq_set_group() - move an item to another group (Q16)
 * @queue: the queue; after kwq_queue_group_items()
 * @item: the item, of a &struct kwq_grouped_item
 * @group: its group from now on; NULL for none. It stays valid while items belong to it, and
 *	until the last run that began in it has ended
 *
 * A ready item goes to the tail of its priority in the new group. If the item is being processed,
 * that run stays counted in its old group, and the next one counts in the new group. KWQ_ADD_GROUP
 * of kwq_add_with() does this and adds the item.
 *
 * Return: 0; -EINVAL with nothing changed if the queue has no groups.
 */
int kwq_set_group(struct kwq_queue *queue, struct kwq_item *item, struct kwq_group *group);

/**
 * kwq_queue_now() - the time on the queue's clock
 * @queue: the queue
 *
 * Return: the time, in ns.
 */
ktime_t kwq_queue_now(struct kwq_queue *queue);

/* The kinds of a result. A result that nobody wrote is of the kind 0, and never a success. */
enum kwq_result_kind {
	KWQ_RESULT_NONE,
	KWQ_RESULT_FAILED,
	KWQ_RESULT_DONE,
	KWQ_RESULT_DONE_UNFORGOTTEN,
	KWQ_RESULT_AGAIN,
	KWQ_RESULT_AGAIN_AT,
	KWQ_RESULT_GIVE_UP,
	KWQ_RESULT_LATER,
};

/**
 * struct kwq_result - the result of a handler for one item (K2)
 *
 * A handler gets one from a function below, whose name begins with kwq_result_. It fits into two
 * registers. After a shut down or a cancel, the item is done whatever the result, unless that is
 * kwq_result_later().
 */
struct kwq_result {
	/* private: */
	u32 kind;	/* enum kwq_result_kind */
	s32 err;	/* with KWQ_RESULT_FAILED; below 0, or the handler made a mistake */
	u64 time;	/* ns; with KWQ_RESULT_AGAIN a delay, with KWQ_RESULT_AGAIN_AT a time */
};

/**
 * kwq_result_done() - the item is done, and its requeues are forgotten
 *
 * Return: the result.
 */
static inline struct kwq_result kwq_result_done(void)
{
	return (struct kwq_result){ .kind = KWQ_RESULT_DONE };
}

/**
 * kwq_result_done_without_forget() - the item is done, and keeps its requeues
 *
 * For an attempt that is over, but proves nothing. If a later one fails, the limiters go on from
 * the failures before.
 *
 * Return: the result.
 */
static inline struct kwq_result kwq_result_done_without_forget(void)
{
	return (struct kwq_result){ .kind = KWQ_RESULT_DONE_UNFORGOTTEN };
}

/**
 * kwq_result_of() - the result of a function that returns 0 or a negative errno
 * @err: 0: as kwq_result_done(). Negative: the item failed, and is tried again after the
 *	limiters' delay. Positive: a mistake, which kwq logs and takes for -EINVAL.
 *
 * Return: the result.
 */
static inline struct kwq_result kwq_result_of(int err)
{
	return (struct kwq_result){
		.kind = err ? KWQ_RESULT_FAILED : KWQ_RESULT_DONE,
		.err = err,
	};
}

/**
 * kwq_result_again_after() - the item is done, but is to be handled again
 * @delay: in ns from the handler's end. 0: the item is ready at once, behind others of its
 *	priority. It saturates at the end of the clock's range (D7).
 *
 * The item's requeues are forgotten. If it is waiting already, it keeps the earlier of the two
 * times. If it was added meanwhile, it is handled at once, and again at that time, as after
 * kwq_add_after(). A delay of 0 is as kwq_add(), and leaves its waiting as it is.
 *
 * Return: the result.
 */
static inline struct kwq_result kwq_result_again_after(u64 delay)
{
	return (struct kwq_result){ .kind = KWQ_RESULT_AGAIN, .time = delay };
}

/**
 * kwq_result_again_at() - as kwq_result_again_after(), with an absolute time
 * @time: on the queue's clock: see kwq_queue_now(). If it has passed, the item is ready at
 *	once.
 *
 * For objects that keep a deadline. A delay that is computed from one may be negative.
 *
 * Return: the result.
 */
static inline struct kwq_result kwq_result_again_at(ktime_t time)
{
	return (struct kwq_result){
		.kind = KWQ_RESULT_AGAIN_AT,
		.time = max_t(s64, time, 0),
	};
}

/**
 * kwq_result_give_up() - the item becomes dead unless it is dirty or waiting (L11)
 *
 * Return: the result.
 */
static inline struct kwq_result kwq_result_give_up(void)
{
	return (struct kwq_result){ .kind = KWQ_RESULT_GIVE_UP };
}

/**
 * kwq_result_later() - the attempt goes on, and kwq_item_done() ends it (K14)
 *
 * For a handler that starts something, such as a request to a device, whose answer comes in another
 * context. The item stays processing, so no handler gets it meanwhile. The worker goes on to
 * other items, so @max_active of &struct kwq_handler does not limit such attempts.
 *
 * Return: the result.
 */
static inline struct kwq_result kwq_result_later(void)
{
	return (struct kwq_result){ .kind = KWQ_RESULT_LATER };
}

/**
 * typedef kwq_handle_fn - called for each item of a queue (K2)
 * @queue: the queue
 * @item: the item; it is being processed until the handler returns, or until kwq_item_done() after
 *	kwq_result_later()
 *
 * kwq never calls the handler twice at once for one item. If the item is added meanwhile,
 * kwq calls the handler again, whatever the handler returned.
 *
 * Context: process; may sleep. It is called in a work item of a kernel workqueue, or by
 * kwq_run_sync() in the context of its caller. For its own queue, kwq_queue_destroy(),
 * kwq_cancel_all_sync(), kwq_shut_down_with_drain() and kwq_flush() return -EDEADLK with
 * nothing changed. So do kwq_cancel_sync(), kwq_disable_sync() and kwq_run_sync() for this
 * item. The handler must not call kwq_done() for this item, which would return -EPERM. It
 * must not free the item: the driver frees it after a cancel or after the queue's
 * destruction. If the queue owns references, the handler may drop all others, and the
 * queue frees it (K5).
 *
 * Return: a result, which decides what happens to the item: see &struct kwq_result.
 */
typedef struct kwq_result (*kwq_handle_fn)(struct kwq_queue *queue, struct kwq_item *item);

/**
 * typedef kwq_handle_batch_fn - called for several items of a queue at once (K10)
 * @queue: the queue
 * @items: the items, in the order in which a get would hand them out; they are being
 *	processed until the handler returns, or longer after kwq_result_later()
 * @results: an array for the results of the items, in the same order. An item whose result
 *	is not written has failed. kwq logs that and takes it for -EINVAL
 * @nr: number of items; 1 to @max_batch of &struct kwq_handler
 *
 * The items were ready at the same time. kwq does not wait for more. All results take
 * effect when the handler returns. Otherwise, each item is handled as by &typedef
 * kwq_handle_fn. A cancel of an item waits for the end of the whole batch.
 *
 * Context: as &typedef kwq_handle_fn. A cancel of any item of the batch returns -EDEADLK.
 */
typedef void (*kwq_handle_batch_fn)(struct kwq_queue *queue, struct kwq_item *const *items,
				    struct kwq_result *results, unsigned int nr);

/* Highest @max_batch of &struct kwq_handler. */
#define KWQ_HANDLER_BATCH_MAX	32

/**
 * struct kwq_handler - how the items of a queue are handled
 * @handle: called for each item; NULL with @handle_batch
 * @handle_batch: called for up to @max_batch items; NULL with @handle
 * @max_active: how many calls may run at once, 1 to WQ_MAX_ACTIVE
 * @max_batch: with @handle_batch 1 to KWQ_HANDLER_BATCH_MAX; otherwise 0
 * @wq: the workqueue on which they run (K7): the driver's own, or one of the system's, such
 *	as system_unbound_wq or system_wq. Since 6.17 those two are called system_dfl_wq and
 *	system_percpu_wq, and the kernel warns of the old names. NULL for a private workqueue.
 * @wq_flags: flags of the private workqueue, as listed below; 0 with @wq
 *
 * These flags of alloc_workqueue() are allowed:
 * - WQ_UNBOUND: not bound to the processor that added the item
 * - WQ_FREEZABLE: not while the system sleeps
 * - WQ_MEM_RECLAIM: one worker can always run, even when memory is short
 * - WQ_HIGHPRI, WQ_CPU_INTENSIVE, WQ_POWER_EFFICIENT
 * - since 6.17 WQ_PERCPU, the default without WQ_UNBOUND
 *
 * A borrowed workqueue (@wq) must outlive the queue and must not be a WQ_BH one. Its own
 * max_active limits the handlers, too. kwq neither flushes nor destroys it. A cancel waits
 * only for handlers that are running, and never for the workqueue. So it may be called in
 * another work item of that workqueue, even of an ordered one. So may kwq_run_sync().
 * kwq_shut_down_with_drain() and kwq_flush() wait for handlers that have yet to begin, as
 * flush_work() does. In a work item of the same workqueue they deadlock if the workqueue is
 * ordered, or if all that its max_active allows wait in this way. Lockdep does not see that.
 */
struct kwq_handler {
	kwq_handle_fn handle;
	kwq_handle_batch_fn handle_batch;
	unsigned int max_active;
	unsigned int max_batch;
	struct workqueue_struct *wq;
	unsigned int wq_flags;
};

/**
 * kwq_start_handler() - call a function for the items of a queue (K2, K7, K10)
 * @queue: the queue; without a handler
 * @handler: the function, and where it runs; not used after the call
 *
 * It is also called for items that are ready already. After kwq_shut_down_with_drain() it
 * is called for all remaining items; after kwq_cancel_all_sync() or kwq_queue_destroy() it
 * is not. The driver may call kwq_get() as well. Each item goes to only one of the two.
 *
 * Context: process; may sleep. The caller serialises it with itself and with
 * kwq_queue_destroy().
 * Return: 0. With nothing changed: -EINVAL, -EBUSY (the queue has a handler) or -ENOMEM.
 */
int kwq_start_handler(struct kwq_queue *queue, const struct kwq_handler *handler);

/**
 * kwq_item_done() - end an attempt whose handler returned kwq_result_later() (K14)
 * @queue: the queue
 * @item: the item
 * @result: any other result that a handler may have; its time counts from this call
 *
 * Each attempt has one end. It may come before the handler returns, as an interrupt may; then it
 * takes effect when the handler returns kwq_result_later(), or anything else.
 *
 * Until this call the item is processing. So kwq_cancel_sync(), kwq_disable_sync(), kwq_run_sync(),
 * kwq_flush(), kwq_pause_sync(), a drain and kwq_queue_destroy() wait for it. A driver that cancels
 * makes sure that the end comes: it first stops what it started.
 *
 * Context: any.
 * Return: 0. With nothing changed: -ENOENT if the item is not processing; -EPERM if its attempt
 * has ended already, or if kwq_get() handed it out; -EINVAL for a result that no attempt may end
 * with, or if the queue has no handler.
 */
int kwq_item_done(struct kwq_queue *queue, struct kwq_item *item, struct kwq_result result);

/**
 * kwq_add() - mark an item for processing
 * @queue: the queue
 * @item: the item
 *
 * Takes no lock if the item is dirty already. If the item is idle and another processor has the
 * lock, it may leave the add to that one, instead of waiting (K13).
 *
 * In an NMI it takes no lock, and the item is ready soon afterwards. The result is true at the
 * moment of the call, except that an add which comes while another one of the same item is
 * under way has the fate of that one.
 *
 * Context: any; an NMI as well, unless the queue owns references (K5).
 * Return: KWQ_ADDED, KWQ_COALESCED, KWQ_DIRTIED or KWQ_DIRTY; -ESHUTDOWN; -EOPNOTSUPP in an NMI
 * if the queue owns references.
 */
int kwq_add(struct kwq_queue *queue, struct kwq_item *item);

/**
 * kwq_add_after() - add an item after a delay
 * @queue: the queue
 * @item: the item
 * @delay: in ns; 0 is kwq_add(); saturates at the end of the clock's range
 *
 * A waiting item keeps the earlier of the two times. A ready item stays ready and waits as well,
 * so it is handled twice, unless its time comes before it is handed out.
 *
 * Return: KWQ_WAITING, KWQ_COALESCED (was waiting already), or as kwq_add().
 */
int kwq_add_after(struct kwq_queue *queue, struct kwq_item *item, u64 delay);

/**
 * kwq_add_unless_pending() - add an item unless it is ready, dirty or waiting
 * @queue: the queue
 * @item: the item
 * @delay: in ns; 0 for none; saturates at the end of the clock's range
 *
 * Changes nothing if the item is ready, waiting, or dirty while it is processing.
 * queue_delayed_work() does the same for a work item. kwq_add_after() instead keeps the
 * earlier of two times, and lets a ready item wait as well.
 *
 * Return: KWQ_ADDED, KWQ_DIRTIED or KWQ_WAITING, as kwq_add_with(). With nothing changed:
 * KWQ_COALESCED, KWQ_DIRTY or -ESHUTDOWN.
 */
int kwq_add_unless_pending(struct kwq_queue *queue, struct kwq_item *item, u64 delay);

/**
 * kwq_add_debounced() - add an item after the last of several events (D9)
 * @queue: the queue
 * @item: the item
 * @after: delay after this add, in ns; it postpones a waiting item
 * @at_most: the longest wait, in ns from its first add; at least 1
 *
 * For events that come in bursts. The item becomes ready when none has come for @after, but
 * at the latest @at_most after the first. Both saturate at the end of the clock's range. In a
 * small queue a wait that begins while the item is processing counts from the hand-out.
 *
 * Return: as kwq_add_after(); -EINVAL if @at_most is 0.
 */
int kwq_add_debounced(struct kwq_queue *queue, struct kwq_item *item, u64 after, u64 at_most);

/**
 * kwq_expedite() - make a waiting item ready now (K9)
 * @queue: the queue
 * @item: the item
 *
 * The item gets the priority that it would have got at its time.
 *
 * Return: KWQ_ADDED, KWQ_COALESCED, KWQ_DIRTIED or KWQ_DIRTY, as kwq_add(). With nothing
 * changed: -ENOENT if it is not waiting; -ESHUTDOWN.
 */
int kwq_expedite(struct kwq_queue *queue, struct kwq_item *item);

/**
 * kwq_add_with() - add an item with options
 * @queue: the queue
 * @item: the item; it belongs to the queue until it is idle again
 * @options: the options
 *
 * Return:
 * - KWQ_ADDED: the item is ready now.
 * - KWQ_COALESCED: it was ready already. For a delayed add: it was waiting already.
 * - KWQ_DIRTIED: it is processing, and will be ready again at its done.
 * - KWQ_DIRTY: as KWQ_DIRTIED, but it had been added during the processing before.
 * - KWQ_WAITING: it waits for its time from now on.
 * - KWQ_DEAD: a rate-limited add of an item that is dead now, or will be at its done.
 *
 * With nothing changed, one of these errors:
 * - -ESHUTDOWN: the queue is shut down or the item cancelled.
 * - -ENOENT: KWQ_ADD_KICK, but the item is not dead.
 * - -EINVAL: the options have an unknown flag, flags that exclude each other, or a priority
 *   out of range, which of a small queue is only 0. Or they name a group, but the queue has none,
 *   or KWQ_ADD_GROUP is missing.
 */
int kwq_add_with(struct kwq_queue *queue, struct kwq_item *item,
		 const struct kwq_add_options *options);

/**
 * kwq_get() - get the first ready item, and wait for one if necessary
 * @queue: the queue
 * @deadline: when to stop waiting, on the queue's clock; KTIME_MAX for never
 *
 * The item is processing until kwq_done(). Nobody else gets it meanwhile.
 *
 * All callers of kwq_get() on a queue share one holder. Each worker of a handler has a
 * holder of its own. So after a shut down, kwq_get() does not wait for an item that another
 * caller of kwq_get() is still processing. Call kwq_get() once more after each kwq_done(), to
 * find items that became ready at that done.
 *
 * Context: process; sleeps.
 * Return: the item, or an ERR_PTR() and never NULL: -ESHUTDOWN (shut down and nothing is ready),
 * -ETIMEDOUT, or -ERESTARTSYS (a signal).
 */
struct kwq_item *kwq_get(struct kwq_queue *queue, ktime_t deadline);

/**
 * kwq_try_get() - get the first ready item without waiting
 * @queue: the queue
 *
 * Return: the item, or an ERR_PTR() and never NULL: -EAGAIN or -ESHUTDOWN.
 */
struct kwq_item *kwq_try_get(struct kwq_queue *queue);

/**
 * kwq_try_get_item() - get this very item, if it is ready or waiting (K9)
 * @queue: the queue
 * @item: the item
 *
 * The item is processing until kwq_done(), as after kwq_get(). A waiting item need not wait
 * any longer. If it is ready as well, one hand-out serves both. This works in a paused
 * queue, too (Q14), and if its group is at its limit (Q16).
 *
 * Return: 0. With nothing changed: -EBUSY if it is being processed; -ENOENT if it is idle or
 * dead.
 */
int kwq_try_get_item(struct kwq_queue *queue, struct kwq_item *item);

/**
 * kwq_done() - finish an item
 * @queue: the queue
 * @item: an item from kwq_get(), kwq_try_get() or kwq_try_get_item()
 *
 * Return: KWQ_FINISHED, or one or both of these bits: KWQ_REQUEUED if it was added
 * meanwhile and is ready again, KWQ_STILL_WAITING if it is waiting for a time. With nothing
 * changed: -ENOENT if it is not being processed, -EPERM if a handler processes it.
 */
int kwq_done(struct kwq_queue *queue, struct kwq_item *item);

/**
 * kwq_bury() - finish an item, and make it dead (L11)
 * @queue: the queue
 * @item: an item from kwq_get(), kwq_try_get() or kwq_try_get_item()
 *
 * The item is dead, however often it was tried, and whether or not the queue has a bound for
 * that. It stays dead until it is added or removed. An add or a time that came while it was
 * processing is a new event. Then the item does not die, and gets that run. A queue that is shut
 * down keeps no dead items, so this is a kwq_done() there.
 *
 * Context: any in which kwq_done() may be called.
 * Return: KWQ_BURIED if it is dead. Else as kwq_done(), whose errors it has, too.
 */
int kwq_bury(struct kwq_queue *queue, struct kwq_item *item);

/**
 * kwq_give_back() - return an item to the queue as if it had not been handed out (O2)
 * @queue: the queue
 * @item: an item from kwq_get(), kwq_try_get() or kwq_try_get_item()
 *
 * The item is ready at the head of its priority. An add that came meanwhile is served by the same
 * run, and can raise the priority. Its time and its requeues stay as they are, and it does not
 * count as lost. Of several items that are given back, the last one comes first.
 *
 * Context: any in which kwq_done() may be called.
 * Return: KWQ_RETURNED, and the bit KWQ_STILL_WAITING if it is waiting for a time, too.
 * KWQ_FINISHED if the item or the queue was cancelled. With nothing changed: the errors of
 * kwq_done().
 */
int kwq_give_back(struct kwq_queue *queue, struct kwq_item *item);

/**
 * kwq_done_and_get() - finish an item and get the next one
 * @queue: the queue
 * @done: an item from kwq_get(), kwq_try_get() or this function
 * @deadline: as for kwq_get()
 *
 * Does the same as kwq_done() and then kwq_get(), at little more than the cost of one.
 *
 * Context: process; sleeps.
 * Return: the next item, or an ERR_PTR(). -ENOENT and -EPERM are those of kwq_done(), with
 * nothing changed. Other errors are those of kwq_get(), with @done finished.
 */
struct kwq_item *kwq_done_and_get(struct kwq_queue *queue, struct kwq_item *done,
				  ktime_t deadline);

/**
 * kwq_remove() - take an item out
 * @queue: the queue
 * @item: the item
 *
 * A ready, waiting or dead item is idle afterwards. A processing item loses its dirty mark
 * and its time, and kwq_done() makes it idle. Its requeues are reset.
 *
 * Return: KWQ_WAS_* bits of what it was; -ENOENT if it was idle.
 */
int kwq_remove(struct kwq_queue *queue, struct kwq_item *item);

/**
 * kwq_run_sync() - handle an item now, in the caller's context (K9)
 * @queue: the queue; with a handler
 * @item: the item
 *
 * If the item is ready or waiting, calls the handler for it, and does what its result asks
 * for. A batch handler gets a batch of one. A waiting item need not wait any longer. If it
 * is ready as well, one call serves both. If the item is being processed, waits for the end
 * of that and looks again. So when kwq_run_sync() returns, all adds before it have been
 * handled. flush_delayed_work() does the same for a work item.
 *
 * The caller counts as one more worker, even beyond the @max_active of &struct kwq_handler.
 * The handler never runs twice at once for one item, and a cancel waits for this call, too.
 * A paused queue runs the item nevertheless (Q14), and so does a group at its limit (Q16). The
 * caller keeps the item's object alive.
 *
 * Context: process; may sleep. The caller must not hold a lock that the handler takes. A
 * handler may run another item of its queue, if no other handler does the reverse.
 * Return: 1 if this call has called the handler; 0 if others have, or if the item was
 * neither ready nor waiting. With nothing changed: -EDEADLK in the item's own handler;
 * -EINVAL without a handler.
 */
int kwq_run_sync(struct kwq_queue *queue, struct kwq_item *item);

/**
 * kwq_flush() - wait until everything is done that was queued before (K9)
 * @queue: the queue
 *
 * Waits for each item that is ready or processing, and for the next run of one that was
 * added while it is processing. It does not wait for later adds, nor for waiting items, not
 * even if they become ready meanwhile. A remove, a cancel or a death ends the wait for an
 * item as a done does. An item that was lost or handed out in vain is still waited for.
 *
 * Items of a higher priority go first, as always. If they are added without a pause, items of
 * a lower priority and their flush have to wait. The flush of a paused queue waits for the
 * end of the pause.
 *
 * Context: process; sleeps, and signals do not end that. The caller must not hold a lock
 * that is taken to process items or to drop their references (K5). It must not hold an item of
 * this queue itself.
 * Return: 0; -EDEADLK in any handler of this queue, with nothing changed.
 */
int kwq_flush(struct kwq_queue *queue);

/**
 * kwq_cancel_sync() - take an item out, and wait until nobody processes it (K8)
 * @queue: the queue
 * @item: the item
 *
 * When it returns, the item is idle, and can be added again. Until then adds get
 * -ESHUTDOWN, even those of the item's own handler. cancel_work_sync() does the same for a
 * work item.
 *
 * A caller that wants to free the item uses kwq_disable_sync().
 *
 * Context: process; sleeps while a handler or another holder processes the item. The caller
 * must not hold a lock that is taken to process the item. In the item's own handler the call
 * would wait for itself, and returns -EDEADLK with nothing changed.
 * Return: KWQ_WAS_* bits of what it was; 0 if it was idle; -EDEADLK.
 */
int kwq_cancel_sync(struct kwq_queue *queue, struct kwq_item *item);

/**
 * kwq_disable_sync() - take an item out for good, and wait until nobody processes it (K3)
 * @queue: the queue
 * @item: the item
 *
 * Afterwards the item is idle and stays idle. Nobody processes it, and no time or handler
 * makes it ready again. Adds get -ESHUTDOWN until kwq_item_init() initialises the item again.
 * So the caller may free the object at once. If others may still be about to add the item, the
 * caller first waits for them, for example for an RCU grace period.
 *
 * Several callers may cancel or disable one item at once. Each waits, and looks at the item
 * once more. So the item may be freed or initialised only after the last of them has
 * returned.
 *
 * Context: as kwq_cancel_sync().
 * Return: as kwq_cancel_sync().
 */
int kwq_disable_sync(struct kwq_queue *queue, struct kwq_item *item);

/**
 * kwq_cancel_all_sync() - shut down, take out all items, and wait until nobody processes
 * them
 * @queue: the queue
 *
 * Afterwards all items are idle and stay idle. They may be freed as after kwq_disable_sync().
 * Every drain's wait ends.
 *
 * Context: as kwq_disable_sync(); -EDEADLK in any handler of this queue.
 * Return: 0; -EDEADLK with nothing changed.
 */
int kwq_cancel_all_sync(struct kwq_queue *queue);

/**
 * kwq_forget() - reset an item's requeues to 0 (L8)
 * @queue: the queue
 * @item: the item
 *
 * Return: the number of requeues before.
 */
u32 kwq_forget(struct kwq_queue *queue, struct kwq_item *item);

/**
 * kwq_num_requeues() - how often an item was rate-limited (L9)
 * @queue: the queue
 * @item: the item
 *
 * Return: the number since it was last forgotten.
 */
u32 kwq_num_requeues(struct kwq_queue *queue, const struct kwq_item *item);

/**
 * kwq_first_dead() - the item that has been dead longest (L11)
 * @queue: the queue
 *
 * The item stays dead until an add revives it, or a remove, a cancel or a shut down ends
 * that. A rate-limited add does not revive it.
 *
 * Return: the item; NULL if none is dead. The caller makes sure that nobody frees the item
 * while the caller uses it.
 */
struct kwq_item *kwq_first_dead(struct kwq_queue *queue);

/**
 * kwq_configure() - configure how a queue limits retries
 * @queue: the queue
 * @config: the configuration; NULL for the default, with which every queue starts: 5 ms, 10 ms and
 *	so on up to 1000 s for each item, however many fail
 *
 * Computes the pauses of backoff limiters into a table without the lock. Adds only look
 * them up (O8). Limiters take 512 bytes, and 8 more for each of these pauses.
 *
 * Context: process; may sleep.
 * Return: 0. With nothing changed: -ENOMEM; -EINVAL, also for a @forget_after of a queue without
 * durations.
 */
int kwq_configure(struct kwq_queue *queue, const struct kwq_limiter_config *config);

/**
 * kwq_read_config() - read how a queue limits retries
 * @queue: the queue
 * @config: filled in
 */
void kwq_read_config(struct kwq_queue *queue, struct kwq_limiter_config *config);

/**
 * kwq_len() - the number of ready items (Q7)
 * @queue: the queue
 *
 * Return: the number. Items that are only waiting or processing do not count.
 */
unsigned long kwq_len(struct kwq_queue *queue);

/**
 * kwq_pause() - hand out nothing until kwq_resume() (Q14)
 * @queue: the queue
 *
 * Adds and dones go on, and delays end. kwq_get() waits, kwq_try_get() returns -EAGAIN, and
 * no handler is called. kwq_try_get_item() and kwq_run_sync() name an item, and take it in
 * spite of the pause. Items that are being processed are not affected.
 *
 * Pauses nest: each needs a kwq_resume(). A queue with 16,383 pauses at once, a timed one
 * included, stays paused for good. A shut down does not end them, so a drain waits for
 * the resume, and so does kwq_get() while items are ready. A cancel and
 * kwq_queue_destroy() of a queue with a handler do not wait for it.
 */
void kwq_pause(struct kwq_queue *queue);

/**
 * kwq_pause_sync() - kwq_pause(), and wait until nothing is processing (Q14)
 * @queue: the queue
 *
 * When it returns, no handler runs, and no item is handed out until kwq_resume(). Adds are
 * kept meanwhile, so a driver may suspend or reset its device. A queue that is shut down is
 * paused like any other.
 *
 * The pause comes first, so at most what is processing then has to end. Items that callers of
 * kwq_get() hold are among that, until their kwq_done(). kwq_run_sync() and kwq_try_get_item()
 * take items in spite of the pause. If such a call of another task comes after the pause, this
 * function does not wait for its item. So it always ends, but the driver has to keep such
 * callers away from its device itself. If the queue owns references, the put of an item may
 * follow a little later (K5).
 *
 * Context: process; sleeps, and signals do not end that. The caller must not hold a lock that
 * is taken to process items. It must not hold an item of this queue itself.
 * Return: 0; -EDEADLK in any handler of this queue, with nothing changed.
 */
int kwq_pause_sync(struct kwq_queue *queue);

/**
 * kwq_pause_for() - hand out nothing for some time, to keep a pace (Q14)
 * @queue: the queue
 * @ns: for how long, from now; if a timed pause is running, from its end. It saturates at the
 *	end of the clock's range (D7)
 *
 * The pause is as that of kwq_pause(), but ends by itself, and never early (D5). Then the queue
 * wakes as many waiters as items are ready, and calls the handler for them.
 *
 * The pauses of several calls add up, also if several handlers call it at once. So a handler
 * calls it with what its work costs at the wanted rate: with NSEC_PER_SEC / 16 for 64 KiB at
 * 1 MiB/s, or with NSEC_PER_SEC / 100 for at most 100 calls a second. At the begin of a handler
 * the pause covers the handler's own time, and at its end it comes after that. Handlers that run
 * already are not stopped.
 *
 * Timed pauses and those of kwq_pause() do not know of each other. The queue hands items out
 * while neither holds. A shut down does not end a timed pause. A drain and a flush wait for it,
 * but a cancel and kwq_queue_destroy() do not.
 */
void kwq_pause_for(struct kwq_queue *queue, u64 ns);

/**
 * kwq_pause_until() - hand out nothing until a time (Q14)
 * @queue: the queue
 * @until: on the queue's clock: see kwq_queue_now(); KTIME_MAX for no end; 0 to end the pause
 *
 * As kwq_pause_for(), but pauses do not add up: this one takes the place of a timed pause that
 * is running. If the time has come already, it only ends that pause, for example because a limit
 * changed, or to handle all ready items at once.
 */
void kwq_pause_until(struct kwq_queue *queue, ktime_t until);

/**
 * kwq_resume() - undo one kwq_pause() or kwq_pause_sync() (Q14)
 * @queue: the queue
 *
 * The last resume wakes as many waiters as items are ready, and calls the handler for them. If
 * a timed pause is running, its end does so.
 *
 * Return: 0; -EINVAL if the queue is not paused by such a call, with nothing changed.
 */
int kwq_resume(struct kwq_queue *queue);

/**
 * kwq_shut_down() - refuse adds, drop waiting times and dead items, wake everyone
 * @queue: the queue
 *
 * Get continues to hand out ready items, and items that become ready at a done. A paused
 * queue does so after the end of the pause. Every drain's wait ends.
 *
 * Context: any. Takes time in proportion to the number of waiting and dead items.
 */
void kwq_shut_down(struct kwq_queue *queue);

/**
 * kwq_shut_down_with_drain() - shut down, and wait until all work is done
 * @queue: the queue
 * @deadline: when to stop waiting, on the queue's clock; KTIME_MAX for never
 *
 * A paused queue is drained only after the end of the pause.
 *
 * Context: process; sleeps. The caller must not hold a lock that is taken to process items or to
 * drop their references (K5). In the queue's own handler the call would wait for itself.
 * Return: The queue is shut down except after -EDEADLK.
 * - 0: nothing is ready, and nothing is being processed.
 * - -ECANCELED: somebody called kwq_shut_down().
 * - -ETIMEDOUT: the deadline passed.
 * - -ERESTARTSYS: a signal. A call that continues the wait must use the same deadline.
 * - -EDEADLK: called in a handler of this queue. Nothing has changed.
 */
int kwq_shut_down_with_drain(struct kwq_queue *queue, ktime_t deadline);

/**
 * kwq_shutting_down() - was the queue shut down
 * @queue: the queue
 *
 * Return: true since the first shut down.
 */
bool kwq_shutting_down(struct kwq_queue *queue);

/**
 * kwq_add_rate_limited() - add an item after the limiters' delay (L1)
 * @queue: the queue
 * @item: the item
 *
 * Raises the item's requeues. kwq_forget() resets them to 0.
 *
 * Return: as kwq_add_after(), or KWQ_DEAD: the item is dead, or will be at its done. It was
 * rate-limited or lost more often than the queue allows, or it was given up.
 */
static inline int kwq_add_rate_limited(struct kwq_queue *queue,
				       struct kwq_item *item)
{
	return kwq_add_with(queue, item, &(struct kwq_add_options){
		.flags = KWQ_ADD_RATE_LIMITED,
	});
}

/**
 * kwq_item_pending() - will an item be handed out
 * @item: the item
 *
 * Takes no lock. The answer was true at one moment and may be out of date. A queue's shut
 * down may still drop the item's time.
 *
 * Return: true if it is ready, waiting, or was added while it is processing. An item that is
 * only processing is not pending. work_pending() and delayed_work_pending() say the same of
 * a work item.
 */
static inline bool kwq_item_pending(const struct kwq_item *item)
{
	/* Pairs with the end of a claim in post.c: an item that is not posted any more is dirty. */
	const struct kwq_item *post = smp_load_acquire(&item->post);

	if (post && post != KWQ_POST_HELD)
		return true;
	return READ_ONCE(item->state) & (KWQ_ITEM_DIRTY | KWQ_ITEM_WAITING);
}

/**
 * kwq_backoff_until() - run a function repeatedly until it returns false (B3)
 * @fn: the function; returns true to be run again
 * @arg: its argument
 * @manager: the pauses
 * @sliding: count a pause from the end of the function, else from its start
 *
 * Without @sliding, a function that took longer than its pause is run again at once. The loop
 * also ends when kthread_stop() is called for the current thread, even during a pause. The
 * clock is CLOCK_MONOTONIC.
 *
 * Context: a kthread; sleeps.
 */
void kwq_backoff_until(bool (*fn)(void *arg), void *arg,
		       struct kwq_backoff_manager *manager, bool sliding);

#endif /* _LINUX_KWQ_H */
