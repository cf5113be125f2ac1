/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The timer of a queue without waiting items: kwq_run_timer() wakes the remaining
 * waiters. One hold per run suffices here, at any time: a postponed timer only comes
 * later.
 */
proctype waker()
{
end:	do
	:: atomic { enqueued -> enqueued = false; callback = true };
		WANT_LOCK
		atomic { TAKE_LOCK; armed = NEVER; changed = true }
		kwq_unlock();
		callback = false
	od
}
