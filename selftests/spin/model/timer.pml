/* SPDX-License-Identifier: GPL-2.0-only */
/* The timer: kmod/queue/timer.c and expire.c. */

/* kwq_take_turn() */
inline take_turn()
{
	WANT_LOCK
	atomic {
		TAKE_LOCK;
		assert(!destroyed);
		expire_locked();
		nr = 0;
		armed = ANEW;
		changed = true
	}
	kwq_unlock()
}

/* restart(): the end of a run, in the same hold of the timer's lock as its last look. */
#define RESTART									\
	running = false;							\
	slot = (due > now -> 0 : (now < NOW_MAX -> now + 1 : NOW_MAX));		\
	fires_at = (due == NEVER || due > slot -> due : slot);			\
	enqueued = (due != NEVER)

/* kwq_run_timer(), which the kernel calls when the time has come. */
proctype timer()
{
	byte holds, put_off;
	bool works;
#ifdef TIMER_RESTARTS_LATER
	byte seen;
#endif

end:	do
	:: atomic {
			enqueued && fires_at <= now ->
			enqueued = false;
			running = true;
			holds = 0;
			/* kwq_pace_may_work(): others may have used the processor too long
			 * already.
			 */
			if
			:: put_off < PUT_OFF_MAX -> put_off++; works = false
			:: works = true; put_off = 0
			fi
		};
		do
		:: atomic { works && holds < HOLDS_PER_RUN && due <= now -> working = true; holds++ };
			take_turn();
			atomic { working = false; awaited = false }
#ifdef TIMER_RESTARTS_LATER
		:: atomic { !(works && holds < HOLDS_PER_RUN && due <= now) -> seen = due };
			atomic {
				RESTART;
				fires_at = (seen == NEVER || seen > slot -> seen : slot);
				enqueued = (seen != NEVER);
				seen = 0;
				break
			}
#else
		:: atomic { !(works && holds < HOLDS_PER_RUN && due <= now) ->
				RESTART;
#ifdef PUT_OFF_ARMS_NOTHING
				enqueued = enqueued && works;
#endif
				break
			}
#endif
		od;
		atomic { holds = 0; works = false }
	od
}
