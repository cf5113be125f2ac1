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
 *	static s64 handle_port(struct kwq_queue *queue, struct kwq_item *item)
 *	{
 *		return reconcile(container_of(item, struct port, item));
 *	}
 *
 *	kwq_queue_init(&ports, "ports", KWQ_CLOCK_MONOTONIC);		init
 *	err = kwq_start_handler(&ports, handle_port, 4, WQ_UNBOUND);
 *
 *	kwq_item_init(&port->item);					probe
 *	kwq_add(&ports, &port->item);				interrupt; coalesces
 *	kwq_cancel_sync(&ports, &port->item);				remove
 *	kfree(port);
 *
 *	kwq_queue_destroy(&ports);					exit
 *
 * The last column says where each call belongs, and that adds coalesce.
 *
 * If reconcile() returns 0, the item is done. After a negative errno kwq calls it again, by
 * default after 5 ms, 10 ms, 20 ms and so on. kwq_again_after() asks for another call after
 * a delay. A driver may instead use threads of its own, which call kwq_get() and kwq_done(),
 * or kwq_done_and_get().
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
 * Free an item only while it is idle. kwq_cancel_sync() makes an item idle for good.
 * kwq_cancel_all_sync() does so for all items of a queue, and so does kwq_queue_destroy()
 * of a queue with a handler.
 *
 * Letters and numbers such as L11 in comments name the rules of kwq(7).
 */
#ifndef _LINUX_KWQ_H
#define _LINUX_KWQ_H

#include <linux/atomic.h>
#include <linux/bits.h>
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

struct kwq_timer;
struct kwq_workers;

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
 * Its members are private. The letters say what protects a member:
 *
 * I: set before the queue is used, then constant.
 * L: @lock.
 * T: written under @lock and @timer's own lock; read under either.
 * W: the wait list's own lock.
 *
 * Both other locks are taken under @lock.
 *
 * A getter is a task that sleeps in a get. A drainer is a task that sleeps in a drain or a
 * cancel. A poller is an entry of poll(), select(), epoll or io_uring. Getters and drainers
 * join and leave their lists under @lock, so every holder of @lock sees all of them. Pollers
 * join without it, see kwq_unlock().
 *
 * A turn is one hold of @lock by @timer's callback: see kmod/queue/timer.h.
 */
struct kwq_queue {
	/* private: */
	spinlock_t lock;
	struct kwq_core core;		/* L */
	struct kwq_holder holder;	/* L: holder of the items that kwq_get() hands out */
	u64 woken;			/* L: waiters were woken for this many of @core.readied */
	u64 shut_downs;			/* L: number of shut downs without drain */
	enum kwq_phase woken_phase;	/* L: the phase that all waiters were last woken for */
	u64 woken_cancelled_runs;	/* L: @core.cancelled_runs when drainers were last woken */
	u32 nr_getters;			/* L: getters, asleep or on their way back to @lock */
	u32 nr_drainers;		/* L: drainers, asleep or on their way back to @lock */
	u32 wake_getters;		/* L: getters still to be woken */
	u32 wake_drainers;		/* L: drainers still to be woken */
	u32 wake_pollers;		/* L: exclusive pollers still to be woken, one per item */
	ktime_t wake_at;		/* L: when @timer wakes these; 0: now, KTIME_MAX: never */
	struct kwq_round round;		/* L: progress of the pollers' wake-up */
	atomic64_t coalesced;		/* adds that coalesced without @lock */
	ktime_t armed;			/* L: time of the next turn on @clock; KTIME_MAX: none */
	ktime_t not_before;		/* L: time of the last turn; @armed is never earlier */
	ktime_t lease_end;		/* L: no lease ends earlier; KTIME_MAX for never */
	ktime_t manual_now;		/* L: time of KWQ_CLOCK_MANUAL */
	struct rnd_state manual_random;	/* L: jitter of KWQ_CLOCK_MANUAL */
	struct kwq_timer *timer;	/* I */
	struct rb_node place;		/* T: in @timer's tree of armed queues */
	ktime_t due;			/* T: its time in that tree; KTIME_MAX if not in it */
	wait_queue_head_t getters;	/* W */
	wait_queue_head_t drainers;	/* W */
	wait_queue_head_t pollers;	/* W */
	enum kwq_clock clock;		/* I */
	u64 id;				/* I: for tracing */
	const char *name;		/* I: for tracing */
	/* I: for tracing: gets an item's key; NULL where the object is the key */
	const u8 *(*key_of)(const struct kwq_item *item, size_t *len);
	/* I: takes back a bounded number of items whose lease ended; true if there may be more */
	bool (*end_leases)(struct kwq_queue *queue, ktime_t now);
	struct kwq_workers *workers;	/* the handler's workers, or NULL; written under @lock */
	/* I: the KCOV handle of the task that made the queue; a u64 before Linux 7.2 */
	typeof(kcov_common_handle()) kcov_handle;
};

/**
 * struct kwq_add_options - options of an add
 * @flags: KWQ_ADD_* bits, in the combinations that &struct kwq_add_entry allows
 * @priority: with KWQ_ADD_PRIORITY, KWQ_PRIORITY_MIN to KWQ_PRIORITY_MAX; else 0
 * @time: ns; with KWQ_ADD_AFTER a delay, with KWQ_ADD_AT an absolute time; else 0
 */
struct kwq_add_options {
	u32 flags;
	s32 priority;
	u64 time;
};

void kwq_queue_init(struct kwq_queue *queue, const char *name,
		    enum kwq_clock clock);
int kwq_queue_destroy(struct kwq_queue *queue);
ktime_t kwq_queue_now(struct kwq_queue *queue);
void kwq_queue_advance(struct kwq_queue *queue, ktime_t now);
void kwq_queue_advance_by(struct kwq_queue *queue, u64 ns);

/* Return value of a handler: the item becomes dead unless it is dirty or waiting (L11). */
#define KWQ_GIVE_UP	S64_MIN

/* This bit tells a result of kwq_again_after() from a number returned by mistake. */
#define KWQ_AGAIN	BIT_ULL(62)

/**
 * kwq_again_after() - a handler's return value that asks for another call
 * @delay: in ns from the handler's end; 0 for at once. 2^62 - 1 (146 years) or more means
 *	the end of the clock's range.
 *
 * Return: the value that the handler has to return.
 */
static inline s64 kwq_again_after(u64 delay)
{
	return KWQ_AGAIN | clamp_t(u64, delay, 1, KWQ_AGAIN - 1);
}

/**
 * typedef kwq_handler_fn - called for each item of a queue (K2)
 * @queue: the queue
 * @item: the item; it is being processed until the handler returns
 *
 * kwq never calls the handler twice at once for one item. If the item is added meanwhile,
 * kwq calls the handler again, whatever the handler returned.
 *
 * Context: process, in a work item of a kernel workqueue; may sleep. For its own queue,
 * kwq_queue_destroy(), kwq_cancel_all_sync() and kwq_shut_down_with_drain() return -EDEADLK
 * with nothing changed. So does kwq_cancel_sync() for this item. The handler must not call
 * kwq_done() for this item, which would return -EPERM. It must not free the item: the driver
 * frees it after a cancel or after the queue's destruction.
 *
 * Return: The result decides what happens to the item. After a shut down or a cancel, the
 * item is done whatever the result.
 *
 * - 0: the item is done, and its requeues are forgotten.
 * - A negative errno: it failed, and is tried again after the limiters' delay.
 * - kwq_again_after(): it is done, its requeues are forgotten, and the handler is called
 *   again after the delay.
 * - KWQ_GIVE_UP: it becomes dead unless it is dirty or waiting (L11).
 * - Any other positive number is a mistake. kwq logs it and counts it as a failure.
 */
typedef s64 (*kwq_handler_fn)(struct kwq_queue *queue, struct kwq_item *item);

int kwq_start_handler(struct kwq_queue *queue, kwq_handler_fn handler,
		      unsigned int max_active, unsigned int wq_flags);

int kwq_add(struct kwq_queue *queue, struct kwq_item *item);
int kwq_add_after(struct kwq_queue *queue, struct kwq_item *item, u64 delay);
int kwq_add_with(struct kwq_queue *queue, struct kwq_item *item,
		 const struct kwq_add_options *options);
struct kwq_item *kwq_get(struct kwq_queue *queue, ktime_t deadline);
struct kwq_item *kwq_try_get(struct kwq_queue *queue);
int kwq_done(struct kwq_queue *queue, struct kwq_item *item);
struct kwq_item *kwq_done_and_get(struct kwq_queue *queue, struct kwq_item *done,
				  ktime_t deadline);
int kwq_remove(struct kwq_queue *queue, struct kwq_item *item);
int kwq_cancel_sync(struct kwq_queue *queue, struct kwq_item *item);
int kwq_cancel_all_sync(struct kwq_queue *queue);
u32 kwq_forget(struct kwq_queue *queue, struct kwq_item *item);
u32 kwq_num_requeues(struct kwq_queue *queue, const struct kwq_item *item);
struct kwq_item *kwq_first_dead(struct kwq_queue *queue);
int kwq_configure(struct kwq_queue *queue, const struct kwq_limiter_config *config);
void kwq_read_config(struct kwq_queue *queue, struct kwq_limiter_config *config);
unsigned long kwq_len(struct kwq_queue *queue);
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

void kwq_backoff_until(bool (*fn)(void *arg), void *arg,
		       struct kwq_backoff_manager *manager, bool sliding);

#endif /* _LINUX_KWQ_H */
