/* SPDX-License-Identifier: GPL-2.0-only */
/* The timer: kmod/queue.c. */

/* kwq_timer_fn(), called by the kernel when the time has come. */
proctype timer()
{
end:	do
	:: atomic { enqueued && fires_at <= now -> enqueued = false; fires_at = 0; callback = true };
		WANT_LOCK
		atomic {
			TAKE_LOCK;
#ifndef TIMER_STAYS_ARMED
			armed = NEVER;
#endif
			expire_locked();
			if
			:: !nr && !shut_down && NEXT <= now -> resume = (now < NOW_MAX -> now + 1 : NOW_MAX)
			:: else
			fi;
			nr = 0
		}
		kwq_unlock();
		callback = false
	od
}
