/* SPDX-License-Identifier: GPL-2.0-only */
/* Shutting down and draining: kmod/queue/shut_down.c. */

/* kwq_begin_shut_down() and kwq_take_out_next(). */
inline begin_shut_down(drain)
{
	WANT_LOCK
	atomic {
		TAKE_LOCK;
		shut_down = true;
		changed = true;
		if
		:: !drain -> shut_downs++; wake_all_of(drainers)
		:: else
		fi;
		mine = shut_downs
	}
	kwq_unlock();
	do
	:: true ->
		WANT_LOCK
		atomic { TAKE_LOCK; kwq_core_drop(k) }
		kwq_unlock();
		if
		:: k == NONE -> break
		:: else -> k = NONE
		fi
	od
}

/* kwq_shut_down() */
proctype shut_downer()
{
	byte k = NONE, mine;

	begin_shut_down(false)
}

bool draining[TASKS], returned[TASKS];

/* kwq_shut_down_with_drain() */
proctype drainer(byte me)
{
	byte k = NONE, mine;

	begin_shut_down(true);
	draining[me] = true;
look:	WANT_LOCK
	atomic {
		TAKE_LOCK;
		if
		:: DRAINED ->
			assert(EACH(IS_EMPTY) == KEYS);
			emptied = true
		:: !DRAINED && (shut_downs != mine || deadline[me] <= now || signalled[me])
		:: !DRAINED && !(shut_downs != mine || deadline[me] <= now || signalled[me]) ->
#ifdef DRAIN_LISTS_ITSELF_LATER
			DROP_LOCK;
			goto list_late
#else
			drainers!me;
			DROP_LOCK;
			goto sleep
#endif
		fi;
		DROP_LOCK
	}
	returned[me] = true;
	goto over;

#ifdef DRAIN_LISTS_ITSELF_LATER
list_late:
	drainers!me;
#endif
sleep:	atomic {
		!IS_ASLEEP(drainers) || signalled[me] || deadline[me] <= now ->
		wake_up(drainers);
#ifdef DRAIN_DOES_NOT_LOOK_AGAIN
		assert(shut_downs != mine || deadline[me] <= now || signalled[me] || EACH(IS_EMPTY) == KEYS);
		goto over
#else
		goto look
#endif
	}
over:	skip
}
