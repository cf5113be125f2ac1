/* SPDX-License-Identifier: GPL-2.0-only */
/* The timer: kmod/queue.c. */

/* kwq_timer_fn(), called by the kernel when the time has come. */
proctype timer()
{
	byte holds;
	bool more;

end:	do
	:: atomic { enqueued && fires_at <= now -> enqueued = false; fires_at = 0; callback = true };
		holds = 0;
		do
		:: WANT_LOCK
			atomic {
				TAKE_LOCK;
				expire_locked();
				more = !nr && !shut_down && NEXT <= now;
				holds++;
				expiring = more && holds < HOLDS_PER_RUN;
				if
				:: expiring
				:: else ->
#ifndef TIMER_STAYS_ARMED
					armed = NEVER;
#endif
					resume = (more -> (now < NOW_MAX -> now + 1 : NOW_MAX) : resume)
				fi;
				more = expiring;
				nr = 0
			}
			kwq_unlock();
			if
			:: more
			:: else -> break
			fi
		od;
		callback = false
	od
}
