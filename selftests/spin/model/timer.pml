/* SPDX-License-Identifier: GPL-2.0-only */
/* The timer: kmod/queue.c. */

/* kwq_run_timer(), called by the kernel when the time has come. */
proctype timer()
{
	byte holds, put_off;
	bool more, works;

end:	do
	:: atomic { enqueued && fires_at <= now -> enqueued = false; fires_at = 0; callback = true };
		holds = 0;
		/* kwq_pace_may_work(): others may have used the processor up. */
		if
		:: put_off < PUT_OFF_MAX -> put_off++; works = false
		:: works = true; put_off = 0
		fi;
		do
		:: WANT_LOCK
			atomic {
				TAKE_LOCK;
				if
				:: works -> expire_locked()
				:: else -> nr = 0
				fi;
				more = !nr && !shut_down && NEXT <= now;
				holds++;
				expiring = more && works && holds < HOLDS_PER_RUN;
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
