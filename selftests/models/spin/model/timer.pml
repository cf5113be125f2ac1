/* SPDX-License-Identifier: GPL-2.0-only */
/* The timer and the work item: kmod/queue/timer.c. */

/* kwq_take_turn(): afterwards @is_left says whether the queue has to join the list. */
inline kwq_take_turn(was_behind, is_left)
{
	WANT_LOCK
	atomic {
		TAKE_LOCK;
		assert(!destroyed);
		is_left = false;
		if
#ifdef TIMER_TAKES_THE_TURN_OF_THE_WORK_ITEM
		:: true ->
#else
		:: is_behind == was_behind ->
#endif
			expire_some_locked();
			is_left = !nr && !shut_down && NEXT <= now;
			nr = 0;
			/* The timer leaves leases to the work item. */
			is_left = is_left || (!was_behind && lease_end <= now);
			lease_end = (was_behind && lease_end <= now -> NEVER : lease_end);
#ifdef ARMS_BEFORE_IT_HAS_CAUGHT_UP
			changed = true
#else
			is_behind = is_left;
			changed = true
#endif
		:: else
		fi
	}
	kwq_unlock();
#ifdef ARMS_BEFORE_IT_HAS_CAUGHT_UP
	is_behind = is_left;
#endif
	/* leave_to_work_item() */
	atomic {
		assert(!is_left || !in_list);
#ifndef FORGETS_THE_REST
		in_list = in_list || is_left;
#endif
		is_left = false
	}
}

/* timer_fn(), which the kernel calls when the time has come. */
proctype timer()
{
	bool is_left;

end:	do
	:: atomic { enqueued && fires_at <= now -> enqueued = false; running = true };
		kwq_take_turn(false, is_left);
		running = false
	od
}

/* catch_up() */
proctype work_item()
{
	bool is_left;

end:	do
	:: atomic { in_list -> in_list = false };
		kwq_take_turn(true, is_left)
	od
}
