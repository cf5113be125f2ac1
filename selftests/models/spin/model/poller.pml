/* SPDX-License-Identifier: GPL-2.0-only */
/* The poller: queue_poll() in kmod/device/chardev.c. */

/*
 * poll() on a non-blocking handle, then a get, until it got an item @rounds times, or
 * none will come: queue_poll(), called by do_poll().
 */
proctype poller(byte handle; byte poll; byte rounds)
{
	byte k = NONE;
	bool readable;

again:
#ifdef POLLER_LOOKS_BEFORE_IT_IS_LISTED
	WANT_LOCK
	atomic { TAKE_LOCK; readable = !WOULD_WAIT; DROP_LOCK };
	listed[poll] = true;
	if
	:: readable -> goto polled
	:: else -> goto end_sleep
	fi;
#endif
	listed[poll] = true;		/* poll_wait(), without the lock */
look:	WANT_LOCK
	atomic { TAKE_LOCK; readable = !WOULD_WAIT; DROP_LOCK };
	if
	:: readable
	:: else ->
end_sleep:	atomic { triggered[poll] -> triggered[poll] = false };
		goto look
	fi;
polled:	atomic { listed[poll] = false; triggered[poll] = false; readable = false };

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
		rounds--
	:: else
	fi;
	if
	:: rounds -> goto again
	:: else
	fi
}
