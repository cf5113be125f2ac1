/* SPDX-License-Identifier: GPL-2.0-only */
/* Cancelling and destroying: kmod/queue/cancel.c, and kwq_queue_destroy(). */
#include "shut-down.pml"

bool cancelling[KEYS];

/* kwq_disable_sync() */
proctype canceller(byte me; byte k)
{
	cancelling[k] = true;
#ifdef CANCEL_MARKS_LATER
	WANT_LOCK
	atomic { TAKE_LOCK; kwq_core_remove(k) }
	kwq_unlock();
	WANT_LOCK
	atomic { TAKE_LOCK; cancelled[k] = true };
#else
	WANT_LOCK
	atomic { TAKE_LOCK; kwq_core_remove(k); cancelled[k] = true };
#endif
	/* wait_for_the_end() */
	do
	:: atomic {
		processing[k] ->
		drainers!me;
		DROP_LOCK
	   };
		!IS_ASLEEP(drainers);
		WANT_LOCK
		atomic { TAKE_LOCK };
#ifdef CANCEL_DOES_NOT_LOOK_AGAIN
		break
#endif
	:: !processing[k] -> break
	od;
	atomic {
		assert(!processing[k] && !dirty[k] && expires[k] == NEVER && !in_hands[k]);
		gone[k] = true
	}
	kwq_unlock()
}

/* kwq_cancel_all_sync(), and kwq_queue_destroy() which calls it. */
proctype destroyer(byte me)
{
	byte k = NONE, mine;

	begin_shut_down(false);
	/* remove_next_ready(); what it does first may as well be a hold of its own */
	WANT_LOCK
	atomic { TAKE_LOCK; all_cancelled = true };
	kwq_unlock();
	do
	:: true ->
		WANT_LOCK
		atomic {
			TAKE_LOCK;
			kwq_core_peek(k);
			if
			:: k != NONE -> kwq_core_remove(k)
			:: else
			fi
		}
		kwq_unlock();
		if
		:: k == NONE -> break
		:: else
		fi
	od;
	WANT_LOCK
	atomic { TAKE_LOCK };
	do
	:: atomic {
		!DRAINED ->
		drainers!me;
		DROP_LOCK
	   };
		!IS_ASLEEP(drainers);
		WANT_LOCK
		atomic { TAKE_LOCK }
	:: DRAINED -> break
	od;
	atomic {
		assert(EACH(IS_EMPTY) == KEYS);
		emptied = true;
		for (i : 0 .. KEYS - 1) {
			assert(expires[i] == NEVER);
			gone[i] = true
		}
		i = 0
	}
	kwq_unlock();
	/* kwq_stop_handler(): destroy_workqueue() waits for running work, which finds
	 * nothing to do.
	 */
	atomic { idle[0] == workers[0] && idle[1] == workers[1] -> skip };
	/* From this hold on nothing starts the timer, not even the last turn of the work item. */
	WANT_LOCK
	atomic {
		TAKE_LOCK;
#ifndef DESTROY_LEAVES_THE_LEASE
		lease_end = NEVER
#else
		skip
#endif
	};
	kwq_unlock();
	/* kwq_leave_timer(): hrtimer_cancel(), wait_var_event() */
#ifndef DESTROY_LEAVES_THE_TIMER
	atomic { !running -> enqueued = false };
#endif
#ifndef DESTROY_LEAVES_THE_WORK_ITEM
	!is_behind;
	WANT_LOCK
	atomic { TAKE_LOCK; DROP_LOCK };
#endif
	destroyed = true
}
