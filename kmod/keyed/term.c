// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ends of hand-outs by time: leases (O3), and the term of a queue, which is an end of all
 * hand-outs that a manager sets and moves (Q20). handout.c says how leases are kept.
 *
 * A manager may have promised others that nobody here works on a key after a certain time. It may
 * be stopped or dead at that time. So the queue keeps the promise itself: from the end of the term
 * on it hands nothing out, takes back what is handed out, and refuses late dones.
 *
 * The timer may be late, and a machine that was suspended may run a task before the timer. So each
 * call that hands out, finishes or extends looks at the clock first, in the same hold of the lock:
 * see kwq_term_is_over_locked(). The first call that finds the time come marks the core. From
 * then on nothing changes hands. The timer takes the items back, a bounded number in each hold, as
 * it ends leases. @lease_end of the queue is at most the end of the term, so it is due by then.
 *
 * A queue without a term does not pay for this. A term is one of the things that make a core
 * unusual, and for these each get looks anyway.
 */
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include "hold.h"
#include "queue/trace.h"

/**
 * kwq_term_end_locked() - end the term of a queue if the time of that has come
 * @keyed: the queue; its lock held
 * @now: current time
 */
void kwq_term_end_locked(struct kwq_keyed *keyed, ktime_t now)
{
	struct kwq_core *core = &keyed->queue.core;

	lockdep_assert_held(&keyed->queue.lock);
	if (!(core->paused & KWQ_TERM_RUNS) || now < keyed->term)
		return;
	kwq_core_mark_term(core, KWQ_TERM_OVER);
	trace_kwq_term(&keyed->queue, 0);
}

/**
 * kwq_term_look_locked() - look at the clock: is the term of a queue over
 * @keyed: the queue, with a term; its lock held
 *
 * Return: true if so.
 */
noinline bool kwq_term_look_locked(struct kwq_keyed *keyed)
{
	kwq_term_end_locked(keyed, kwq_now_locked(&keyed->queue));
	return kwq_core_term_is_over(&keyed->queue.core);
}

static struct kwq_lease *first_lease(struct kwq_keyed *keyed)
{
	return list_first_entry_or_null(&keyed->leases, struct kwq_lease, link);
}

/* The next item whose lease has ended, or whose holder has lost it by the end of the term. */
static struct kwq_keyed_item *next_expired(struct kwq_keyed *keyed, ktime_t now)
{
	struct kwq_lease *lease = first_lease(keyed);
	struct kwq_core *core = &keyed->queue.core;
	struct kwq_item *item;

	if (lease && lease->expires <= now) {
		keyed->expired++;
		return lease->ki;
	}
	item = kwq_core_term_is_over(core) ? kwq_core_first_processing(core) : NULL;
	return item ? kwq_keyed_item_of(item) : NULL;
}

/**
 * kwq_handouts_expire() - take back items whose leases are over, or all after the term (O3, Q20)
 * @keyed: the queue; its lock held
 * @now: current time
 *
 * Takes back KWQ_READY_PER_HOLD items at most.
 *
 * Return: true if there may be more.
 */
bool kwq_handouts_expire(struct kwq_keyed *keyed, ktime_t now)
{
	struct kwq_keyed_item *ki;
	struct kwq_lease *lease;
	ktime_t end;
	int n;

	lockdep_assert_held(&keyed->queue.lock);
	kwq_term_end_locked(keyed, now);
	for (n = 0; n < KWQ_READY_PER_HOLD; n++) {
		ki = next_expired(keyed, now);
		if (!ki)
			break;
		kwq_handout_lose(keyed, ki, now);
	}
	if (n)
		kwq_tell_pollers_locked(&keyed->queue, EPOLLPRI);
	if (n == KWQ_READY_PER_HOLD)
		return true;
	lease = first_lease(keyed);
	end = lease ? lease->expires : KTIME_MAX;
	if (keyed->queue.core.paused & KWQ_TERM_RUNS)
		end = min(end, keyed->term);
	kwq_set_lease_end_locked(&keyed->queue, end);
	return false;
}

static void set_term_locked(struct kwq_keyed *keyed, ktime_t term)
{
	struct kwq_queue *queue = &keyed->queue;
	bool was_paused = kwq_core_is_paused(&queue->core);

	trace_kwq_term(queue, term);
	keyed->term = term;
	kwq_core_mark_term(&queue->core, term == KTIME_MAX ? 0 : KWQ_TERM_RUNS);
	if (was_paused && !kwq_core_is_paused(&queue->core))
		kwq_wake_again_locked(queue);
	/* A later term leaves it as it is, and the timer then finds nothing due. */
	kwq_set_lease_end_locked(queue, min(keyed->of_queue.lease_end, term));
}

/**
 * kwq_keyed_set_term() - set when all hand-outs of a queue end (Q20)
 * @keyed: the queue
 * @term: when, on the queue's clock; KTIME_MAX for never. If the time has come, they end now
 *
 * If the old term is over, or the new one, all that is handed out is taken back before this
 * returns. So whoever sets a later term too late loses what was handed out.
 *
 * A killed caller leaves the rest to the timer. With a manual clock, the next advance or the next
 * call goes on.
 *
 * Context: process; may sleep.
 * Return: 0; -EINTR if the caller was killed. The new term may not be set then.
 */
int kwq_keyed_set_term(struct kwq_keyed *keyed, ktime_t term)
{
	bool is_set = false, more;
	unsigned long flags;

	do {
		spin_lock_irqsave(&keyed->queue.lock, flags);
		more = kwq_term_is_over_locked(keyed) &&
		       kwq_handouts_expire(keyed, kwq_now_locked(&keyed->queue));
		if (!more && !is_set) {
			set_term_locked(keyed, term);
			is_set = true;
			more = kwq_term_is_over_locked(keyed);
		}
		kwq_keyed_unlock(keyed, flags);
		if (more && fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	} while (more);
	return 0;
}
