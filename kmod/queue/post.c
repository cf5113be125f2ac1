// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adds without the lock (K13): an adder that would wait for the lock posts its item to the holder,
 * who adds it before it unlocks. So processors that add do not wait for each other.
 *
 * Two words decide who may do what, and neither is protected by the lock:
 *
 * @post of an item: NULL, or who uses the item. An adder claims it, and so does a holder of the
 * lock that makes an idle item anything else. So an item that an adder has claimed and found
 * idle stays idle until its post is taken, and KWQ_ADDED is true.
 *
 * @posts of a queue: the posted items, the last one first, and a bit that says whether the list is
 * open. A holder that had to wait for the lock opens it, because another one may soon have to. Its
 * unlock closes the list and takes what was posted, in one step. So each post belongs to one
 * hold, at whose end the add takes place:
 *
 *   adder				holder
 *   claim the item; is it idle?	lock; open the list
 *   is the list open? post		...
 *					close the list, and take what is posted
 *   if it was closed: give up the	add each item; its claim ends
 *   claim, and wait for the lock	wake; unlock
 *
 * A shut down closes the list for good before it begins to refuse adds. So no add that was
 * accepted is refused later (Q8). A hold gets longer by the adds that were posted to it. They are
 * those that the adders' own holds would have had, and the cache line of the list goes from adder
 * to adder in not much less time than an add takes.
 *
 * An NMI may come while its own processor holds the lock, or any lock that a wake-up takes. So it
 * posts, whatever the state of the item and of the list. If the list is closed, the work item of
 * timer.c takes the lock soon afterwards, unless another holder comes first: each one that changes
 * something takes what is posted before.
 *
 * On PREEMPT_RT nobody opens the list, because a holder may be preempted there. Adders that wait
 * for the lock lend it their priority, which a post would not.
 */
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/irqflags.h>
#include <linux/kwq.h>
#include "queue.h"

static struct kwq_item *first_of(unsigned long posts)
{
	static_assert(__alignof__(struct kwq_item) > (KWQ_POSTS_OPEN | KWQ_POSTS_ENDED));
	return (struct kwq_item *)(posts & ~(KWQ_POSTS_OPEN | KWQ_POSTS_ENDED));
}

/* Fails if the list is closed. Without @open, only if the queue is shut down. */
static bool push(struct kwq_queue *queue, struct kwq_item *item, bool open, unsigned long *before)
{
	unsigned long posts = READ_ONCE(queue->posts);

	do {
		if (open ? !(posts & KWQ_POSTS_OPEN) : posts & KWQ_POSTS_ENDED)
			return false;
		WRITE_ONCE(item->post, first_of(posts) ?: KWQ_POST_ADDING);
	} while (!try_cmpxchg(&queue->posts, &posts,
			      (unsigned long)item | (posts & KWQ_POSTS_OPEN)));
	*before = posts;
	return true;
}

/**
 * kwq_post() - leave the add of an idle item to the holder of the lock (K13)
 * @queue: the queue
 * @item: the item
 *
 * Return: true if the item is added at the end of the present hold, so that the result is
 * KWQ_ADDED; false if the caller has to take the lock.
 */
bool kwq_post(struct kwq_queue *queue, struct kwq_item *item)
{
	bool is_posted = false;
	unsigned long flags, before;

	/* K5: only under the lock the queue can take a reference. */
	if (!(READ_ONCE(queue->posts) & KWQ_POSTS_OPEN) || READ_ONCE(queue->refs))
		return false;
	/* The holder may wait for the end of a claim. */
	local_irq_save(flags);
	if (!cmpxchg(&item->post, NULL, KWQ_POST_ADDING)) {
		is_posted = !READ_ONCE(item->state) && push(queue, item, true, &before);
		if (!is_posted)
			kwq_end_claim(item);
	}
	local_irq_restore(flags);
	return is_posted;
}

/* The result of an add that finds the item in a state, and takes place soon. */
static int result_in(u8 state)
{
	if (state & KWQ_ITEM_DIRTY)
		return kwq_is_dirty_again(state) ? KWQ_DIRTY : KWQ_COALESCED;
	return state & KWQ_ITEM_PROCESSING ? KWQ_DIRTIED : KWQ_ADDED;
}

/**
 * kwq_post_from_nmi() - add an item from an NMI (K1)
 * @queue: the queue
 * @item: the item
 *
 * If another context is adding the item at this moment, the add coalesces with that one, and is
 * refused if that one is.
 *
 * Return: as kwq_add(), as far as it can be told before the add takes place; -EOPNOTSUPP.
 */
int kwq_post_from_nmi(struct kwq_queue *queue, struct kwq_item *item)
{
	struct kwq_item *post = NULL;
	unsigned long before;
	u8 state;

	if (READ_ONCE(queue->refs))
		return -EOPNOTSUPP;
	while (!try_cmpxchg(&item->post, &post, KWQ_POST_ADDING)) {
		if (post != KWQ_POST_HELD)
			return KWQ_COALESCED;
		/*
		 * The holder's own operation is no add, so the holder has to add the item at its
		 * end. The state is read before, because others may have finished the item then.
		 */
		state = READ_ONCE(item->state);
		if (try_cmpxchg(&item->post, &post, KWQ_POST_AGAIN))
			return result_in(state);
		post = NULL;
	}
	state = READ_ONCE(item->state);
	if (state & KWQ_ITEM_DISABLED || !push(queue, item, false, &before)) {
		kwq_end_claim(item);
		return -ESHUTDOWN;
	}
	if (!before)
		kwq_call_work_item(queue);
	return result_in(state);
}

/* Adds posted items, the first one first. */
static void add_posted(struct kwq_queue *queue, struct kwq_item *last)
{
	static const struct kwq_add_options none;
	ktime_t now = kwq_stamp_locked(queue);
	struct kwq_item *item, *next;

	/* Others may look at @post meanwhile, and find that the items are claimed. */
	for (item = KWQ_POST_ADDING; last && last != KWQ_POST_ADDING; last = next) {
		next = READ_ONCE(last->post);
		WRITE_ONCE(last->post, item);
		item = last;
	}
	for (; item != KWQ_POST_ADDING; item = next) {
		next = READ_ONCE(item->post);
		kwq_add_locked(queue, item, &none, now);
		kwq_end_claim(item);
	}
}

/**
 * kwq_take_posts_locked() - close the list of posted items, and add those
 * @queue: the queue; @queue->lock held
 */
noinline void kwq_take_posts_locked(struct kwq_queue *queue)
{
	lockdep_assert_held(&queue->lock);
	if (READ_ONCE(queue->posts) & ~KWQ_POSTS_ENDED)
		add_posted(queue, first_of(xchg(&queue->posts, 0)));
}

/**
 * kwq_end_posts_locked() - take what is posted, and let nothing be posted any more
 * @queue: the queue; @queue->lock held; it is shut down in this hold, if it was not before
 */
void kwq_end_posts_locked(struct kwq_queue *queue)
{
	lockdep_assert_held(&queue->lock);
	add_posted(queue, first_of(xchg(&queue->posts, KWQ_POSTS_ENDED)));
}

/*
 * How often to look for a lock that another processor has, before queueing up for it, and how long
 * to leave it alone in between (40 us in all at most). The holder also has the queue's cache
 * lines, so several of its holds cost less than one whose lines have to travel. Two processors
 * that add, get and finish then need 440 ns for each item instead of 2,030; one alone needs 340.
 */
#define LOOKS		4
#define LEAVES_ALONE	128

/**
 * kwq_lock_contended() - take the lock, and let others post until its unlock
 * @queue: the queue
 *
 * After some looks it queues up for the lock, so it waits no longer than a few holds more.
 *
 * Return: the flags, as spin_lock_irqsave() stores them. They have no address, so that callers keep
 * them in a register and need no stack protector.
 */
noinline unsigned long kwq_lock_contended(struct kwq_queue *queue)
	__acquires(&queue->lock)
{
	unsigned long flags;
	int looks, n;

	for (looks = 0; looks < LOOKS && !IS_ENABLED(CONFIG_PREEMPT_RT); looks++) {
		for (n = 0; n < LEAVES_ALONE; n++)
			cpu_relax();
		if (spin_trylock_irqsave(&queue->lock, flags))
			goto locked;
	}
	spin_lock_irqsave(&queue->lock, flags);
locked:
	kwq_open_posts_locked(queue);
	return flags;
}

/**
 * kwq_open_posts_locked() - let others post until the unlock
 * @queue: the queue; @queue->lock held
 */
void kwq_open_posts_locked(struct kwq_queue *queue)
{
	lockdep_assert_held(&queue->lock);
	kwq_take_posts_locked(queue);
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		cmpxchg(&queue->posts, 0, KWQ_POSTS_OPEN);
}

/**
 * kwq_claim_locked() - let nobody post an item
 * @queue: the queue; @queue->lock held
 * @item: the item
 * @claim: KWQ_POST_ADDING for an add without options, which kwq_end_claim() ends; for anything else
 *	KWQ_POST_HELD, which kwq_end_hold_locked() ends
 *
 * A holder that may make an idle item anything else claims it first. If it is posted, or about
 * to be, it is added now. An item that refuses adds is not claimed, so who meets a claim is not
 * refused.
 */
void kwq_claim_locked(struct kwq_queue *queue, struct kwq_item *item, struct kwq_item *claim)
{
	lockdep_assert_held(&queue->lock);
	if (unlikely(kwq_core_refuses(&queue->core, item)))
		return;
	while (unlikely(cmpxchg(&item->post, NULL, claim))) {
		kwq_take_posts_locked(queue);
		cpu_relax();
	}
}

/**
 * kwq_end_hold_locked() - end a claim, and add the item if an NMI has asked for it
 * @queue: the queue; @queue->lock held
 * @item: the item; claimed by KWQ_POST_HELD, unless it refused adds
 */
void kwq_end_hold_locked(struct kwq_queue *queue, struct kwq_item *item)
{
	static const struct kwq_add_options none;

	lockdep_assert_held(&queue->lock);
	if (likely(cmpxchg(&item->post, KWQ_POST_HELD, NULL) != KWQ_POST_AGAIN))
		return;
	kwq_add_locked(queue, item, &none, kwq_stamp_locked(queue));
	kwq_end_claim(item);
}
