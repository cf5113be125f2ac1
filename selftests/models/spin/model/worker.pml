/* SPDX-License-Identifier: GPL-2.0-only */
/* The workers of a queue with a handler: kmod/queue/handler.c. */

/* The handler runs: no other handler of this item runs, and its object exists. */
#define HANDLER_RUNS	assert(in_hands[k] && !gone[k])

/* work_fn(), once for each time that the work was queued. */
proctype worker(byte handle)
{
	byte k = NONE;

end:	do
	:: atomic { queued[handle] -> queued[handle] = false };
		WANT_LOCK
		atomic { TAKE_LOCK; kwq_core_peek(k) }
		do
		:: k == NONE -> break
		:: else ->
			atomic { kwq_get_locked(k) };
			kwq_unlock();
			HANDLER_RUNS;
			WANT_LOCK
			atomic {
				TAKE_LOCK;
				/* settle(): forgotten, or retried after a time */
				if
				:: true
				:: retries ->
					retries = (retries == FOREVER -> FOREVER : retries - 1);
					kwq_core_add_at(k, 1)
				fi;
				kwq_core_done(k);
				/* the time has come or not */
				if
				:: k = NONE
				:: kwq_core_peek(k)
				fi
			}
		od;
#ifdef WORKER_IDLES_WITHOUT_LOOKING
		kwq_unlock();
		WANT_LOCK
		atomic { TAKE_LOCK; idle[handle] = true };
#else
		atomic {
			if
			:: NR_READY -> queued[handle] = true
			:: else -> idle[handle] = true
			fi
		}
#endif
		kwq_unlock()
	od
}
