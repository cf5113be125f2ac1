/* SPDX-License-Identifier: GPL-2.0-only */
/* Who shuts down, and who drains: kmod/queue.c. */

/* kwq_begin_shut_down() and kwq_drop_locked(), in pieces. */
inline begin_shut_down(drain)
{
	WANT_LOCK
	atomic {
		TAKE_LOCK;
		shut_down = true;
		if
		:: !drain -> shut_downs++; wake_up_all(ON_DRAINERS)
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
		sleeps_on[me] = AWAKE;
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
			sleeps_on[me] = ON_DRAINERS;
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
	sleeps_on[me] = ON_DRAINERS;
#endif
sleep:	atomic {
		sleeps_on[me] == AWAKE || signalled[me] || deadline[me] <= now ->
		sleeps_on[me] = AWAKE;
#ifdef DRAIN_DOES_NOT_LOOK_AGAIN
		assert(shut_downs != mine || deadline[me] <= now || signalled[me] || EACH(IS_EMPTY) == KEYS);
		goto over
#else
		goto look
#endif
	}
over:	skip
}
