/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The timer of a queue in which nothing waits for its time: kwq_run_timer() wakes the
 * waiters that are left. One hold a run is enough here, at any time: a timer that is put
 * off is one that comes late.
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
