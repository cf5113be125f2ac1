/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Getting and closing: kmod/queue/get.c and kmod/keyed/handle.c. @me is a task. @handle is its
 * struct kwq_holder, which several tasks may share.
 */

/* A set of flags: what a getter may do with an item besides finishing it. */
#define ONLY_DONE	0
#define MAY_CLOSE	1	/* it is killed, or closes its handle, while it holds */
#define MAY_FAULT	2	/* its buffer cannot be written: kwq_handle_unget() */
#define TOO_SMALL	4	/* no key fits its buffer: -EMSGSIZE */
#define KEEPS		8	/* it holds all that it gets until it closes */
#define JOINS		16	/* it is done when the others of its handle have ended */

bool joined[TASKS];

/* Sends a signal to a task that may sleep. The task wakes by itself: see end_sleep. */
proctype signals(byte whom)
{
	signalled[whom] = true
}

#ifdef CLOSES_IN_TWO_HOLDS
/* The item leaves its holder now, and is made ready later. */
#define back()	leave_holder(k); owed[k] = true; taken = taken | (1 << k)
#else
#define back()	kwq_core_abandon(k)
#endif

/* kwq_handle_close(): repeats until the handle holds nothing. */
inline kwq_handle_close()
{
	do
	:: true ->
		WANT_LOCK
		atomic {
			TAKE_LOCK;
			nr = PER_HOLD;
			do
			:: nr && holder[0] == handle -> k = 0; back(); nr--
			:: nr && holder[1] == handle -> k = 1; back(); nr--
#if KEYS == 3
			:: nr && holder[2] == handle -> k = 2; back(); nr--
#endif
			:: else -> break
			od;
			k = (nr -> NONE : k);
			nr = 0
		}
		kwq_unlock();
#ifdef CLOSES_IN_TWO_HOLDS
		if
		:: taken ->
			WANT_LOCK
			atomic {
				TAKE_LOCK;
				do
				:: (taken & 1) -> come_back(0); taken = taken & 254
				:: (taken & 2) -> come_back(1); taken = taken & 253
				:: else -> break
				od
			}
			kwq_unlock()
		:: else
		fi;
#endif
		if
		:: k == NONE -> break
		:: else
		fi
	od
}

/*
 * kwq_handle_get() or kwq_get(), @rounds times. At the end, or when it is killed, it
 * closes its handle.
 */
proctype getter(byte me; byte handle; byte rounds; byte may)
{
	byte k = NONE;
#ifdef CLOSES_IN_TWO_HOLDS
	byte taken;
#endif
#ifdef DONE_LOOKS_BEFORE
	bool again;
#endif

look:	WANT_LOCK
	atomic {
		TAKE_LOCK;
		kwq_core_peek(k);
		if
		:: k != NONE && (may & TOO_SMALL) ->
			/* kwq_pass_on_locked() */
#ifndef FORGETS_TO_PASS_ON
			fresh++;
#endif
			k = NONE
		:: k != NONE && !(may & TOO_SMALL) -> kwq_get_locked(k)
		/* kwq_wait_locked(): -ESHUTDOWN, -ETIMEDOUT, -ERESTARTSYS, or sleep. */
		:: k == NONE && (!WOULD_WAIT || deadline[me] <= now || signalled[me])
		:: k == NONE && !(!WOULD_WAIT || deadline[me] <= now || signalled[me]) ->
#ifdef GETTER_LISTS_ITSELF_LATER
			DROP_LOCK;
			goto list_late
#else
			getters!me;
			goto sleep
#endif
		fi
	}
	kwq_unlock();
	if
	:: k == NONE -> goto close
	:: else
	fi;

	rounds = (rounds == FOREVER -> FOREVER : rounds - 1);
	if
	:: (may & JOINS) -> joined[handle]
	:: else
	fi;
	if
	:: !(may & KEEPS) ->
		/* kwq_done() */
#ifdef DONE_LOOKS_BEFORE
		WANT_LOCK
		atomic { TAKE_LOCK; again = dirty[k]; DROP_LOCK }
		WANT_LOCK
		atomic {
			TAKE_LOCK;
			leave_holder(k);
			dirty[k] = again;
			fresh = fresh + (again -> 1 : 0)
		}
#else
		WANT_LOCK
		atomic { TAKE_LOCK; kwq_core_done(k) }
#endif
		kwq_unlock()
	:: (may & MAY_FAULT) ->
		WANT_LOCK
		atomic { TAKE_LOCK; kwq_core_abandon(k) }
		kwq_unlock()
	:: (may & MAY_CLOSE) -> goto close
	:: (may & KEEPS)
	fi;
	k = NONE;
	if
	:: rounds -> goto look
	:: else
	fi;

	/* If several tasks share the handle, the last close belongs to the other task. */
close:	if
	:: handle != me -> joined[handle] = true
	:: handle == me ->
		if
		:: (may & JOINS) -> joined[handle]
		:: else
		fi;
		kwq_handle_close()
	fi;
	goto over;

#ifdef GETTER_LISTS_ITSELF_LATER
list_late:
	getters!me;
	goto end_sleep;
#endif
sleep:	kwq_unlock();
	/* The task was woken, or woke by itself. Until it runs, others may still take
	 * it for a sleeper.
	 */
end_sleep:
	atomic {
		!IS_ASLEEP(getters) || signalled[me] || deadline[me] <= now ->
		wake_up(getters);
#ifdef GETTER_LEAVES_FOR_A_SIGNAL
		if
		:: signalled[me] -> goto close
		:: else
		fi;
#endif
		goto look
	}
over:	skip
}
