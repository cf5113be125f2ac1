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
 * after a delay. A handler may also take several items in one call: see &struct kwq_handler.
 * A driver may instead use threads of its own, which call kwq_get() and kwq_done(), or
 * kwq_done_and_get().
 *
 * kwq_queue_init() and DEFINE_KWQ_QUEUE() make a small queue, of 256 bytes at most. It suits
 * a queue for each device. For thousands of items, priorities or metrics, take a &struct
 * kwq_large_queue (K6). A large queue may also let groups of items take turns, and limit how many
 * items of a group are processed at once: see kwq_queue_group_items().
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
 * spinlock_t. No function may be called from an NMI.
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
#include <linux/kcov.h>
#include <linux/kwq_backoff.h>
#include <linux/kwq_types.h>
#include <linux/ktime.h>
#include <linux/prandom.h>
#include <linux/rbtree_types.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <uapi/linux/kwq.h>

struct kwq_item;
struct kwq_timer;
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
 * - the caller's context: kwq_done(), kwq_remove() and kwq_shut_down(). It is an interrupt
 *   only if the driver makes one of these calls in an interrupt.
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
 * @KWQ_CLOCK_MANUAL: for tests; starts at 0 and moves only by kwq_queue_advance().
 */
enum kwq_clock {
	KWQ_CLOCK_MONOTONIC,
	KWQ_CLOCK_BOOTTIME,
	KWQ_CLOCK_MANUAL,
};

/* &kwq_queue.stamps of a queue that measures no durations. */
#define KWQ_CLOCK_NONE	0xff

/**
 * struct kwq_round - progress of the wake-up of a queue's pollers
 *
 * Its members are private. kmod/queue/pollers.h has the KWQ_TELL_* bits.
 */
struct kwq_round {
	/* private: protected by the queue's lock */
	wait_queue_entry_t bookmark;	/* marks the next poller while the lock is free */
	u32 nr_ended;			/* number of ended rounds; wraps */
	u8 telling;			/* KWQ_TELL_* bits of this round; 0 between rounds */
	u8 to_tell;			/* KWQ_TELL_* bits for later rounds */
};

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
 * T: written under @lock and the timer's own lock; read under either.
 * W: the wait list's own lock.
 *
 * Both other locks are taken under @lock.
 *
 * A getter is a task that sleeps in a get. A drainer is a task that sleeps until a drain, a
 * flush, or a run of an item ends. A poller is an entry of poll(), select(), epoll or
 * io_uring. Getters and drainers join and leave their lists under @lock, so every holder of
 * @lock sees all of them. Pollers join without it, see kwq_unlock().
 *
 * A turn is one hold of @lock by the timer's callback: see kmod/queue/timer.h.
 */
struct kwq_queue {
	/* private: */
	spinlock_t lock;		/* these three first: see KWQ_BEFORE_CORE */
	u32 woken;			/* L: unlocks wake for @core.readied - @woken; wraps */
	struct kwq_core core;		/* L */
	u32 woken_ends;			/* L: nr_ends() of unlock.c when drainers were last woken */
	u32 shut_downs;			/* L: number of shut downs without drain; wraps */
	struct kwq_holder holder;	/* L: holder of the items that kwq_get() hands out */
	u32 nr_getters;			/* L: getters, asleep or on their way back to @lock */
	u32 nr_drainers;		/* L: drainers, asleep or on their way back to @lock */
	u32 wake_getters;		/* L: getters still to be woken */
	u32 wake_drainers;		/* L: drainers still to be woken */
	u8 woken_phase;			/* L: the phase that all waiters were last woken for */
	u8 clock;			/* I: enum kwq_clock */
	u8 timer;			/* I: number of its timer */
	u8 stamps;			/* I: @clock, or KWQ_CLOCK_NONE without durations */
	ktime_t wake_at;		/* L: when the timer wakes them; 0: now, KTIME_MAX: never */
	ktime_t paused_until;		/* L: end of the timed pause, perhaps past; 0: none */
	ktime_t armed;			/* L: time of the next turn on @clock; KTIME_MAX: none */
	ktime_t not_before;		/* L: time of the last turn; @armed is never earlier */
	ktime_t manual_now;		/* L: time of KWQ_CLOCK_MANUAL */
	struct rb_node place;		/* T: in the timer's tree of armed queues */
	ktime_t due;			/* T: its time in that tree; KTIME_MAX if not in it */
	wait_queue_head_t getters;	/* W */
	struct list_head drainers;	/* L */
	const char *name;		/* I: for tracing */
	struct kwq_workers *workers;	/* L: the workers that call the handler; NULL without one */
	const struct kwq_ref_ops *refs;	/* L: set once; NULL if the queue owns no references */
};

/* K6: a driver may have one for each of its devices. Debugging options enlarge the locks. */
#if defined(CONFIG_X86_64) && !defined(CONFIG_DEBUG_SPINLOCK) && \
	!defined(CONFIG_DEBUG_LOCK_ALLOC) && !defined(CONFIG_PREEMPT_RT)
static_assert(sizeof(struct kwq_queue) <= 256);
#endif

/**
 * struct kwq_key_ops - what a queue asks of the owner of its keys
 * @key_of: for tracing: gets an item's key
 * @end_leases: at @lease_end: takes back a bounded number of items whose lease ended, or all whose
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
	u32 wake_pollers;		/* L: exclusive pollers still to be woken, one per item */
	struct kwq_round round;		/* L: progress of the pollers' wake-up */
	wait_queue_head_t pollers;	/* W */
	atomic64_t coalesced;		/* adds that coalesced without @lock */
	ktime_t lease_end;		/* L: no lease or term ends earlier; KTIME_MAX for never */
	struct rnd_state manual_random;	/* L: jitter of KWQ_CLOCK_MANUAL */
	u64 id;				/* I: for tracing */
	const struct kwq_key_ops *key_ops;	/* I: NULL where the object is the key */
	/* I: the KCOV handle of the task that made the queue; a u64 before Linux 7.2 */
	typeof(kcov_common_handle()) kcov_handle;
};

/**
 * struct kwq_large_queue - a large queue (K6)
 * @queue: what all functions take
 *
 * It has 64 priorities, metrics, an id for tracepoints, and delays whose start costs the same
 * however many items wait. Take it for a queue of thousands of items. It has some 7 KiB.
 */
struct kwq_large_queue {
	/* private: right before @queue, where the core finds them */
	struct kwq_queue_bulk of_queue;
	struct kwq_bulk of_core;
	/* public: */
	struct kwq_queue queue;
	/* private: only a driver's queue has it here */
	struct kwq_order of_order;
};

/* Also initialises @queue to a small queue that exists from the start. */
#define KWQ_QUEUE_INITIALIZER(queue, of_name) {				\
	.core = KWQ_SMALL_CORE((queue).core),				\
	.lock = __SPIN_LOCK_UNLOCKED((queue).lock),			\
	.clock = KWQ_CLOCK_MONOTONIC,					\
	.stamps = KWQ_CLOCK_MONOTONIC,					\
	.timer = __LINE__ % KWQ_NR_TIMERS,				\
	.wake_at = KTIME_MAX,						\
	.armed = KTIME_MAX,						\
	.due = KTIME_MAX,						\
	.getters = __WAIT_QUEUE_HEAD_INITIALIZER((queue).getters),	\
	.drainers = LIST_HEAD_INIT((queue).drainers),			\
	.name = (of_name),						\
}

/* Number of timers of each clock. Queues share them: see kmod/queue/timer.h. */
#define KWQ_NR_TIMERS	8

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

void kwq_queue_init(struct kwq_queue *queue, const char *name,
		    enum kwq_clock clock);
void kwq_large_queue_init(struct kwq_large_queue *large, const char *name,
			  enum kwq_clock clock);
int kwq_queue_destroy(struct kwq_queue *queue);
int kwq_queue_own_references(struct kwq_queue *queue, const struct kwq_ref_ops *refs);
int kwq_queue_group_items(struct kwq_queue *queue, u32 limit);
int kwq_queue_set_aging(struct kwq_queue *queue, u64 aging);
int kwq_queue_measure_no_durations(struct kwq_queue *queue);
int kwq_set_group(struct kwq_queue *queue, struct kwq_item *item, struct kwq_group *group);
ktime_t kwq_queue_now(struct kwq_queue *queue);
void kwq_queue_advance(struct kwq_queue *queue, ktime_t now);
void kwq_queue_advance_by(struct kwq_queue *queue, u64 ns);

/* The kinds of a result. A result that nobody wrote is of the kind 0, and never a success. */
enum kwq_result_kind {
	KWQ_RESULT_NONE,
	KWQ_RESULT_FAILED,
	KWQ_RESULT_DONE,
	KWQ_RESULT_AGAIN,
	KWQ_RESULT_AGAIN_AT,
	KWQ_RESULT_GIVE_UP,
};

/**
 * struct kwq_result - the result of a handler for one item (K2)
 *
 * A handler gets one from kwq_result_done(), kwq_result_of(), kwq_result_again_after(),
 * kwq_result_again_at() or kwq_result_give_up(). It fits into two registers. After a shut down
 * or a cancel, the item is done whatever the result.
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
 * times. A delay of 0 is as kwq_add(), and leaves its waiting as it is.
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
 * typedef kwq_handle_fn - called for each item of a queue (K2)
 * @queue: the queue
 * @item: the item; it is being processed until the handler returns
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
 *	processed until the handler returns
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

int kwq_start_handler(struct kwq_queue *queue, const struct kwq_handler *handler);

int kwq_add(struct kwq_queue *queue, struct kwq_item *item);
int kwq_add_after(struct kwq_queue *queue, struct kwq_item *item, u64 delay);
int kwq_add_unless_pending(struct kwq_queue *queue, struct kwq_item *item, u64 delay);
int kwq_add_debounced(struct kwq_queue *queue, struct kwq_item *item, u64 after, u64 at_most);
int kwq_expedite(struct kwq_queue *queue, struct kwq_item *item);
int kwq_add_with(struct kwq_queue *queue, struct kwq_item *item,
		 const struct kwq_add_options *options);
struct kwq_item *kwq_get(struct kwq_queue *queue, ktime_t deadline);
struct kwq_item *kwq_try_get(struct kwq_queue *queue);
int kwq_try_get_item(struct kwq_queue *queue, struct kwq_item *item);
int kwq_done(struct kwq_queue *queue, struct kwq_item *item);
int kwq_bury(struct kwq_queue *queue, struct kwq_item *item);
int kwq_give_back(struct kwq_queue *queue, struct kwq_item *item);
struct kwq_item *kwq_done_and_get(struct kwq_queue *queue, struct kwq_item *done,
				  ktime_t deadline);
int kwq_remove(struct kwq_queue *queue, struct kwq_item *item);
int kwq_run_sync(struct kwq_queue *queue, struct kwq_item *item);
int kwq_flush(struct kwq_queue *queue);
int kwq_cancel_sync(struct kwq_queue *queue, struct kwq_item *item);
int kwq_disable_sync(struct kwq_queue *queue, struct kwq_item *item);
int kwq_cancel_all_sync(struct kwq_queue *queue);
u32 kwq_forget(struct kwq_queue *queue, struct kwq_item *item);
u32 kwq_num_requeues(struct kwq_queue *queue, const struct kwq_item *item);
struct kwq_item *kwq_first_dead(struct kwq_queue *queue);
int kwq_configure(struct kwq_queue *queue, const struct kwq_limiter_config *config);
void kwq_read_config(struct kwq_queue *queue, struct kwq_limiter_config *config);
unsigned long kwq_len(struct kwq_queue *queue);
void kwq_pause(struct kwq_queue *queue);
int kwq_pause_sync(struct kwq_queue *queue);
void kwq_pause_for(struct kwq_queue *queue, u64 ns);
void kwq_pause_until(struct kwq_queue *queue, ktime_t until);
void kwq_end_timed_pause(struct kwq_queue *queue);
int kwq_resume(struct kwq_queue *queue);
void kwq_shut_down(struct kwq_queue *queue);
int kwq_shut_down_with_drain(struct kwq_queue *queue, ktime_t deadline);
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
	return READ_ONCE(item->state) & (KWQ_ITEM_DIRTY | KWQ_ITEM_WAITING);
}

void kwq_backoff_until(bool (*fn)(void *arg), void *arg,
		       struct kwq_backoff_manager *manager, bool sliding);

#endif /* _LINUX_KWQ_H */
