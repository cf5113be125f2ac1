/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The timer of a queue without waiting items: kwq_run_timer() wakes the remaining
 * waiters. One turn per run suffices here, at any time: a postponed timer only comes
 * later.
 */
proctype waker()
{
end:	do
	:: atomic { enqueued -> enqueued = false; running = true };
		if
		:: due != NEVER ->
			WANT_LOCK
			atomic { TAKE_LOCK; armed = ANEW; changed = true }
			kwq_unlock()
		:: else
		fi;
		atomic { running = false; fires_at = due; enqueued = (due != NEVER) }
	od
}
