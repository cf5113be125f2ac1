/* SPDX-License-Identifier: GPL-2.0-only */
/* The timer: kmod/queue/timer.c. */

/* kwq_run_timer(), which the kernel calls when the time has come. */
proctype timer()
{
	byte holds, put_off;
	bool more, works;

end:	do
	:: atomic { enqueued && fires_at <= now -> enqueued = false; fires_at = 0; callback = true };
		holds = 0;
		/* kwq_pace_may_work(): others may have used the processor too long
		 * already.
		 */
		if
		:: put_off < PUT_OFF_MAX -> put_off++; works = false
		:: works = true; put_off = 0
		fi;
		do
		:: WANT_LOCK
			atomic {
				TAKE_LOCK;
				/* has_work(), work_some() */
				if
				:: works -> expire_locked()
				:: else -> nr = 0
				fi;
				more = OWES || (!nr && !shut_down && NEXT <= now);
				changed = changed || OWES;
				holds++;
				expiring = more && works && holds < HOLDS_PER_RUN;
				if
				:: expiring
				:: else ->
#ifndef TIMER_STAYS_ARMED
					armed = NEVER;
#endif
					changed = true;
					resume = (!more -> 0 : (now < NOW_MAX -> now + 1 : NOW_MAX))
				fi;
				nr = 0;
				if
				:: more && !works ->
					/* put_off_and_unlock() */
					assert(!destroyed);
					more = false;
#ifndef PUT_OFF_ARMS_NOTHING
					arm_timer_locked();
#endif
					DROP_LOCK;
					break
				:: else -> more = expiring
				fi
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
