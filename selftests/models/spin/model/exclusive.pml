/* SPDX-License-Identifier: GPL-2.0-only */
/* A worker that waits in epoll_wait() with EPOLLEXCLUSIVE: ep_poll() of fs/eventpoll.c. */

/*
 * Gets an item after each wake-up, @rounds times, or dies after a wake-up. Another task
 * may share its handle, so only its descriptor is closed: kwq_handle_flush().
 */
proctype exclusive_poller(byte handle; byte poll; byte rounds; bool dies)
{
	byte k = NONE;
	bool readable;

	/* EPOLL_CTL_ADD */
	alone[poll] = true;
	triggered[poll] = true;
again:	atomic { asleep[poll] = !triggered[poll] };
end_sleep:
	!asleep[poll];
	/* ep_send_events(). A readable queue stays in the list. */
	triggered[poll] = false;
	WANT_LOCK
	atomic { TAKE_LOCK; readable = !WOULD_WAIT; DROP_LOCK };
	triggered[poll] = triggered[poll] || readable;
	if
	:: !readable -> goto again
	:: readable && dies -> goto close
	:: readable && !dies
	fi;

	WANT_LOCK
	atomic {
		TAKE_LOCK;
		kwq_core_peek(k);
		if
		:: k != NONE -> kwq_get_locked(k)
		:: else -> rounds = (WOULD_WAIT -> rounds : 0)	/* -EAGAIN or -ESHUTDOWN */
		fi
	}
	kwq_unlock();
	if
	:: k != NONE ->
		WANT_LOCK
		atomic { TAKE_LOCK; kwq_core_done(k) }
		kwq_unlock();
		k = NONE;
		rounds = (rounds == FOREVER -> FOREVER : rounds - 1)
	:: else
	fi;
	if
	:: rounds -> goto again
	:: else
	fi;

close:	kwq_wake_again(readable);
	atomic { alone[poll] = false; triggered[poll] = false; readable = false }
}
