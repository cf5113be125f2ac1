/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kwq: a keyed work queue for kernel code.
 *
 * For: work that is named by an object and must be done again whenever the
 * object changed, however often it was told, by one consumer at a time, perhaps
 * after a while. The object embeds a struct kwq_item, and is the key:
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
 * reconcile() returns 0, or a negative errno and is called again, after the default
 * limiter's 5 ms, 10 ms, 20 ms, ...; kwq_again_after() makes a time of it. Threads of the
 * driver's own can do the same with kwq_get() and kwq_done(), or kwq_done_and_get().
 *
 * Not for: work that has no identity and needs no deduplication (that is
 * queue_work()), or data that must not be merged (that is a kfifo or a list).
 *
 * Adding needs no memory and fails for one reason only: the queue was shut
 * down, or the item cancelled. kwq_add_with() refuses wrong options, too. Unless it
 * says otherwise a function may be called from any context that may take a spinlock
 * with interrupts off; on PREEMPT_RT, from any that may take a spinlock_t. None may be
 * called from an NMI.
 *
 * An item that is not idle must not be freed. After kwq_cancel_sync() it is idle, and
 * stays so; after kwq_cancel_all_sync() and, with a handler, kwq_queue_destroy() all
 * of a queue's are.
 */
#ifndef _LINUX_KWQ_H
#define _LINUX_KWQ_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/hrtimer.h>
#include <linux/kcov.h>
#include <linux/kwq_backoff.h>
#include <linux/kwq_core.h>
#include <linux/prandom.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <uapi/linux/kwq.h>

struct kwq_workers;

/**
 * enum kwq_clock - what a queue's times are measured on
 * @KWQ_CLOCK_MONOTONIC: CLOCK_MONOTONIC; time asleep does not count.
 * @KWQ_CLOCK_BOOTTIME: CLOCK_BOOTTIME; time asleep counts.
 * @KWQ_CLOCK_MANUAL: starts at 0 and goes on when kwq_queue_advance() says so,
 *	for tests that need no sleeping.
 */
enum kwq_clock {
	KWQ_CLOCK_MONOTONIC,
	KWQ_CLOCK_BOOTTIME,
	KWQ_CLOCK_MANUAL,
};

/**
 * struct kwq_round - how far the pollers of a queue were told something
 *
 * Its members are private.
 */
struct kwq_round {
	/* private: covered by the queue's lock */
	wait_queue_entry_t bookmark;	/* before the next poller, between two holds */
	u32 nr_ended;			/* how many rounds have ended; wraps */
	u8 telling;			/* what this round tells; 0 if there is none */
	u8 to_tell;			/* what later rounds tell */
};

/**
 * struct kwq_queue - a queue
 *
 * Its members are private. The letter tells what covers one:
 *
 * I: set by kwq_queue_init() and constant from then on.
 * L: @lock.
 * W: waits lists have a lock of their own, taken under @lock. Getters and
 *    drainers are put on and taken off under @lock, so whoever holds it sees
 *    them all; for pollers see kwq_unlock().
 */
struct kwq_queue {
	/* private: */
	spinlock_t lock;
	struct kwq_core core;		/* L */
	struct kwq_holder holder;	/* L: of items got by kwq_get() */
	u64 woken;			/* L: @core.readied when last woken for */
	u64 shut_downs;			/* L: shut downs without drain */
	bool told_shut_down;		/* L: all were woken for the shut down */
	bool told_drained;		/* L: and for the end of the last item */
	u64 told_let_go;		/* L: @core.let_go when last woken for */
	u32 nr_getters;			/* L: tasks that wait as getters, */
	u32 nr_drainers;		/* L: and as drainers */
	u32 wake_getters;		/* L: so many getters are still to be woken, */
	u32 wake_drainers;		/* L: and drainers, */
	u32 wake_pollers;		/* L: and exclusive pollers, for an item each */
	ktime_t wake_at;		/* L: when @timer wakes them; KTIME_MAX: there are none */
	struct kwq_round round;		/* L: and how far pollers were told */
	atomic64_t coalesced;		/* adds that did so without @lock */
	ktime_t armed;			/* L: when @timer will fire */
	ktime_t resume;			/* L: not to expire more before */
	bool expiring;			/* L: @timer's run goes on, and arms it at its end */
	u8 put_off;			/* how often @timer was put off since it worked; its own */
	ktime_t lease_end;		/* L: no lease ends before; KTIME_MAX for never */
	ktime_t manual_now;		/* L: time of KWQ_CLOCK_MANUAL */
	struct rnd_state manual_random;	/* L: and its jitter */
	struct hrtimer timer;		/* L: started under it */
	wait_queue_head_t getters;	/* W */
	wait_queue_head_t drainers;	/* W */
	wait_queue_head_t pollers;	/* W */
	enum kwq_clock clock;		/* I */
	u64 id;				/* I: for tracing */
	const char *name;		/* I: for tracing */
	/* I: for tracing: an item's key; NULL where the object is the key */
	const u8 *(*key_of)(const struct kwq_item *item, size_t *len);
	/* I: takes back some of what is held for too long; true if there is more */
	bool (*end_leases)(struct kwq_queue *queue, ktime_t now);
	struct kwq_workers *workers;	/* L: who call the handler, if it has one */
	/* I: of the program that a fuzzer made it with; a u64, since 7.2 a structure */
	typeof(kcov_common_handle()) kcov_handle;
};

/**
 * struct kwq_add_options - everything that an add can be asked for
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

/* What a handler returns of an item that is not to be tried again: it is dead (L11). */
#define KWQ_GIVE_UP	S64_MIN

/* Tells what kwq_again_after() made from a number that was returned by mistake. */
#define KWQ_AGAIN	BIT_ULL(62)

/**
 * kwq_again_after() - what a handler returns of an item that it wants again
 * @delay: when, in ns from then; 0 for at once; 2^62 - 1, which is 146 years, or more
 *	is the end of time
 *
 * Return: the value to return.
 */
static inline s64 kwq_again_after(u64 delay)
{
	return KWQ_AGAIN | clamp_t(u64, delay, 1, KWQ_AGAIN - 1);
}

/**
 * typedef kwq_handler_fn - what a queue calls for each of its items (K2)
 * @queue: the queue
 * @item: the item; it is being processed until the handler returns
 *
 * Never called twice at once for one item. An add meanwhile has it called again,
 * whatever it returns.
 *
 * Context: process, in a work item of the kernel's; may sleep, and may call everything
 * but kwq_queue_destroy(), kwq_cancel_all_sync(), kwq_shut_down_with_drain() and
 * kwq_done() for its own queue, and kwq_cancel_sync() for @item. It must not free
 * @item: that is for who called kwq_cancel_sync().
 * Return: 0: done, and its requeues forgotten. A negative errno: it failed; to be tried
 * again when the limiters say. kwq_again_after(): done and forgotten, and to be called
 * again then. KWQ_GIVE_UP: dead. After a shut down, or a cancel, it is done in any case.
 * Any other positive number is a mistake: kwq logs it, and takes it for a failure.
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
 * kwq_add_rate_limited() - add an item when the queue's limiters say (L1)
 * @queue: the queue
 * @item: the item
 *
 * Raises its requeues; kwq_forget() makes them 0 again.
 *
 * Return: as kwq_add_after(), or KWQ_DEAD: rate-limited once more than the queue
 * allows, the item is dead now or at its done.
 */
static inline int kwq_add_rate_limited(struct kwq_queue *queue,
				       struct kwq_item *item)
{
	return kwq_add_with(queue, item, &(struct kwq_add_options){
		.flags = KWQ_ADD_RATE_LIMITED,
	});
}

#endif /* _LINUX_KWQ_H */
