/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shell round the core, for spin: what kmod/queue.c does under its lock, and
 * what of the kernel it stands on - sleepers, pollers, one hrtimer, a workqueue.
 * The other files here have who calls it; a configuration, one folder up,
 * says who is there at once.
 *
 * Who tries to understand a hold of the lock finds the C function's name above
 * each step. A hold is two steps at least, with everybody else's unlocked steps
 * between them:
 *
 *	WANT_LOCK atomic { TAKE_LOCK; the transitions }		as core.c makes them
 *	kwq_unlock();						what follows from them
 *
 * Time is a few ticks, at which it ends (D7). Which of the ready items is handed
 * out, and which of the sleepers is woken, is left open: any order there can be is
 * among those.
 *
 * Not here: priorities, limiters and dead items, which are the core's; processors
 * that see each other's writes late. The lock orders all but a poller's listing, and
 * that has a drawing of its own above kwq_unlock().
 *
 * What is asserted is in variables of its own that no step looks at: owed,
 * promised, in_hands, gone, emptied.
 *
 * A bug is planted with -D. Each mirrors one that the C code could have; mutants
 * lists them.
 */
#ifndef KEYS
#define KEYS		2
#endif
#ifndef NOW_MAX
#define NOW_MAX		3
#endif
/* KWQ_ITEMS_PER_HOLD: with 1 every loop that leaves the lock between does so. */
#ifndef PER_HOLD
#define PER_HOLD	1
#endif

/* KWQ_HOLDS_PER_RUN */
#define HOLDS_PER_RUN	2
/* How often in a row a timer may be put off because others worked; "kmod/pace.h" sees to it. */
#define PUT_OFF_MAX	1

/* The most of each that a configuration may run. */
#define TASKS		4
#define POLLERS		2
#define WORKERS		2

#define NONE		255
#define NEVER		255	/* KTIME_MAX */
#define FOREVER		255

/* What a task sleeps on. AWAKE: TASK_RUNNING, and no wake-up is for it. */
#define AWAKE		0
#define ON_GETTERS	1
#define ON_DRAINERS	2

/* struct kwq_item, of each key: its state, its time, its holder. */
bool dirty[KEYS], processing[KEYS], cancelled[KEYS];
byte expires[KEYS] = NEVER;
byte holder[KEYS] = NONE;

/* struct kwq_core, and struct kwq_queue round it. */
bool shut_down, all_cancelled;
byte fresh;		/* readied - woken */
bool let_go;		/* let_go != told_let_go */
bool told_shut_down, told_drained;
byte shut_downs;
byte armed = NEVER;
byte resume;

/* The sleepers: on which wait queue. A task may have a signal, and a deadline. */
byte sleeps_on[TASKS];
bool signalled[TASKS];
byte deadline[TASKS] = NEVER;

/* poll(): on the list of pollers; struct poll_wqueues.triggered. */
bool listed[POLLERS], triggered[POLLERS];

/*
 * An epoll with EPOLLEXCLUSIVE is among the pollers, and a task sleeps in its
 * epoll_wait(). @triggered then is: the event is in its list.
 */
bool alone[POLLERS], asleep[POLLERS];

/* struct kwq_worker: in the list of those that are idle; its work is queued. */
bool idle[WORKERS], queued[WORKERS];

/* The hrtimer: in its base's tree, for when; its callback runs, and is to come back. */
bool enqueued, callback, expiring;
byte fires_at;

byte now;

/* For the assertions. */
bool owed[KEYS];	/* a run begins after this add, or it is taken back */
bool promised[KEYS];	/* an add when the time has come, or it is taken back */
bool in_hands[KEYS];	/* somebody works on it */
bool gone[KEYS];	/* its cancel has returned: it may have been freed */
bool emptied;		/* a drain has returned: nothing comes out any more */
bool destroyed;		/* the queue has been freed */

/* What a configuration sets: which workers there are, how often handlers want another try. */
bool workers[WORKERS];
byte retries;

/* Scratch, within one step. */
hidden byte i, nr, when;

#if KEYS == 2
#define EACH(what)	(what(0) + what(1))
#define NEXT		(expires[0] < expires[1] -> expires[0] : expires[1])
#elif KEYS == 3
#define EACH(what)	(what(0) + what(1) + what(2))
#define NEXT_2		(expires[0] < expires[1] -> expires[0] : expires[1])
#define NEXT		(expires[2] < NEXT_2 -> expires[2] : NEXT_2)
#endif

#define IS_READY(k)		(dirty[k] && !processing[k])
#define IS_PROCESSING(k)	(processing[k])
#define IS_DUE(k)		(expires[k] <= now)
#define IS_MINE(k)		(holder[k] == handle)

#define NR_READY	EACH(IS_READY)
#define NR_PROCESSING	EACH(IS_PROCESSING)
#define NR_HELD		EACH(IS_MINE)

/* kwq_core_is_drained(), kwq_get_would_wait() */
#define DRAINED		(shut_down && !NR_READY && !NR_PROCESSING)
#define WOULD_WAIT	(!NR_READY && (!shut_down || (NR_PROCESSING && !NR_HELD)))

/*
 * The lock. To show that something happens in the end it has to be fair, as the
 * kernel's is: who wants it gets in line. To show that something never happens it
 * is better that anybody may be next.
 */
#ifdef FAIR_LOCK
chan line = [8] of { byte };
#define WANT_LOCK	line!_pid;
#define TAKE_LOCK	line?<eval(_pid)>
#define DROP_LOCK	line?eval(_pid)
#define IS_LOCKED	(len(line) > 0)
#else
bool locked;
#define WANT_LOCK
#define TAKE_LOCK	!locked -> locked = true
#define DROP_LOCK	locked = false
#define IS_LOCKED	(locked)
#endif

/* wake_up_all(): who is awake is passed over, and so is who is elsewhere. */
inline wake_up_all(list)
{
	for (i : 0 .. TASKS - 1) {
		if
		:: sleeps_on[i] == list -> sleeps_on[i] = AWAKE
		:: else
		fi
	}
	i = 0
}

/* wake_up_nr(&queue->getters, nr): exclusive sleepers. */
inline wake_up_getters()
{
	do
	:: nr && sleeps_on[0] == ON_GETTERS -> sleeps_on[0] = AWAKE; nr--
	:: nr && sleeps_on[1] == ON_GETTERS -> sleeps_on[1] = AWAKE; nr--
	:: nr && sleeps_on[2] == ON_GETTERS -> sleeps_on[2] = AWAKE; nr--
	:: nr && sleeps_on[3] == ON_GETTERS -> sleeps_on[3] = AWAKE; nr--
	:: else -> break
	od
}

/* pollwake(): it stays triggered until it has looked again. */
inline wake_up_pollers()
{
	for (i : 0 .. POLLERS - 1) {
		triggered[i] = triggered[i] || listed[i]
	}
	i = 0
}

/*
 * ep_poll_callback(): an epoll consumes the wake-up only if a task sleeps on it. The
 * others that the wake-up comes by list the event; it does not come by all of them
 * once it is consumed.
 */
inline wake_up_alone()
{
	do
	:: nr && asleep[0] -> asleep[0] = false; triggered[0] = true; nr--
	:: nr && asleep[1] -> asleep[1] = false; triggered[1] = true; nr--
	:: else -> break
	od;
	if
	:: !nr
	:: true ->
		triggered[0] = triggered[0] || alone[0];
		triggered[1] = triggered[1] || alone[1]
	fi
}

/* kwq_tell_workers() */
inline kwq_tell_workers()
{
	do
	:: nr && idle[0] -> idle[0] = false; assert(!queued[0]); queued[0] = true; nr--
	:: nr && idle[1] -> idle[1] = false; assert(!queued[1]); queued[1] = true; nr--
	:: else -> break
	od
}

/*
 * arm_timer_locked(). hrtimer_try_to_cancel() leaves a timer alone whose callback
 * runs, even if it was started again meanwhile; hrtimer_start() does not.
 */
inline arm_timer_locked()
{
	when = (shut_down -> NEVER : NEXT);
	when = (when != NEVER && when < resume -> resume : when);
	if
	:: expiring || when == armed
	:: else ->
		armed = when;
		if
		:: when == NEVER && callback
		:: when == NEVER && !callback -> enqueued = false; fires_at = 0
		:: when != NEVER -> enqueued = true; fires_at = when
		fi
	fi;
	when = 0
}

/* kwq_unlock() */
inline kwq_unlock()
{
	atomic {
		assert(!destroyed);
		arm_timer_locked();
#ifdef TELLS_ONE_FOR_MANY
		fresh = (fresh -> 1 : 0);
#endif
		nr = fresh;
		kwq_tell_workers();
		if
#ifndef TELLS_NOBODY_OF_A_LETTING_GO
		:: let_go -> let_go = false; wake_up_all(ON_DRAINERS)
#endif
		:: else -> let_go = false
		fi;
		if
#ifdef TELLS_NOBODY_OF_DRAINED
		:: told_shut_down != shut_down ->
#else
		:: told_shut_down != shut_down || told_drained != DRAINED ->
#endif
			wake_up_all(ON_GETTERS);
			wake_up_all(ON_DRAINERS);
			wake_up_pollers();
			nr = POLLERS;
			wake_up_alone()
		:: else ->
			nr = fresh;
			wake_up_getters();
			if
			:: fresh ->
				wake_up_pollers();
				nr = fresh;
				wake_up_alone()
			:: else
			fi
		fi;
		told_shut_down = shut_down;
		told_drained = DRAINED;
		fresh = 0;
		nr = 0;
		DROP_LOCK
	}
}

/* kwq_core_add() */
inline kwq_core_add(k)
{
	if
	:: shut_down || cancelled[k]	/* -ESHUTDOWN */
	:: else ->
		assert(!gone[k]);
		owed[k] = true;
		fresh = fresh + (dirty[k] || processing[k] -> 0 : 1);
		dirty[k] = true
	fi
}

/* end_wait_and_make_dirty() */
inline end_wait(k)
{
	assert(!gone[k]);
	assert(expires[k] <= now);	/* D5 */
	expires[k] = NEVER;
	promised[k] = false;
	owed[k] = true;
	fresh = fresh + (dirty[k] || processing[k] -> 0 : 1);
	dirty[k] = true
}

/*
 * kwq_core_add_at(): the earlier time stays (D2). What is due is left to the timer
 * if others are, too.
 */
inline kwq_core_add_at(k, ticks)
{
	when = ticks;
	when = (now + when < NOW_MAX -> now + when : NOW_MAX);
	if
	:: shut_down || cancelled[k]
	:: else ->
		assert(!gone[k]);
		promised[k] = true;
		expires[k] = (when < expires[k] -> when : expires[k]);
		if
		:: IS_DUE(k) && EACH(IS_DUE) == 1 -> end_wait(k)
		:: else
		fi
	fi;
	when = 0
}

/* kwq_core_peek() */
inline kwq_core_peek(k)
{
	if
	:: IS_READY(0) -> k = 0
	:: IS_READY(1) -> k = 1
#if KEYS == 3
	:: IS_READY(2) -> k = 2
#endif
	:: else -> k = NONE
	fi
}

/* kwq_get_locked() of what kwq_core_peek() found, for the handle or worker @handle. */
inline kwq_get_locked(k)
{
	assert(!processing[k] && !in_hands[k]);	/* Q3 */
	assert(!gone[k]);			/* K3 */
	assert(!emptied);			/* Q9 */
	dirty[k] = false;
	processing[k] = true;
	holder[k] = handle;
	owed[k] = false;
	in_hands[k] = true;
	if
#ifndef GET_TELLS_NOBODY
	:: shut_down && NR_HELD == 1 -> wake_up_all(ON_GETTERS); wake_up_pollers()
#endif
	:: else
	fi
}

/* leave_holder() */
inline leave_holder(k)
{
	assert(processing[k] && holder[k] == handle);
	processing[k] = false;
	holder[k] = NONE;
	in_hands[k] = false;
	let_go = let_go || cancelled[k];
	if
	:: all_cancelled -> dirty[k] = false; owed[k] = false
	:: else
	fi
}

/* kwq_core_done() */
inline kwq_core_done(k)
{
	leave_holder(k);
	fresh = fresh + (dirty[k] -> 1 : 0)
}

/* The rest of kwq_core_abandon() and kwq_core_unget() after leave_holder(). */
inline come_back(k)
{
	if
	:: cancelled[k] || all_cancelled -> owed[k] = false
	:: else -> owed[k] = true; dirty[k] = true; fresh++
	fi
}

/* kwq_core_abandon(), kwq_core_unget() */
inline kwq_core_abandon(k)
{
	leave_holder(k);
	come_back(k)
}

/* kwq_core_remove() */
inline kwq_core_remove(k)
{
	dirty[k] = false;
	expires[k] = NEVER;
	owed[k] = false;
	promised[k] = false
}

/* kwq_core_drop(): true in @k if there was something. */
inline kwq_core_drop(k)
{
	if
	:: expires[0] != NEVER -> k = 0
	:: expires[1] != NEVER -> k = 1
#if KEYS == 3
	:: expires[2] != NEVER -> k = 2
#endif
	:: else -> k = NONE
	fi;
	if
	:: k != NONE -> expires[k] = NEVER; promised[k] = false
	:: else
	fi
}

/* expire_locked(): afterwards @nr is 0 if there may be more. */
inline expire_locked()
{
	nr = PER_HOLD;
	do
#ifdef TIMER_EXPIRES_AFTER_SHUT_DOWN
	:: nr && NEXT <= now ->
#else
	:: nr && !shut_down && NEXT <= now ->
#endif
		if
		:: IS_DUE(0) && expires[0] == NEXT -> end_wait(0)
		:: IS_DUE(1) && expires[1] == NEXT -> end_wait(1)
#if KEYS == 3
		:: IS_DUE(2) && expires[2] == NEXT -> end_wait(2)
#endif
		fi;
		nr--
	:: else -> break
	od
}

/* Time goes on, whoever waits for what. */
proctype clock()
{
	do
	:: now < NOW_MAX -> now++
	:: else -> break
	od
}

#define IS_EMPTY(k)	(!dirty[k] && !processing[k] && !owed[k] && !in_hands[k])

/*
 * When nobody can go on and time is over: every key is where it belongs, and
 * nobody sleeps who should not. Who is stuck elsewhere is an invalid end state.
 */
#define IS_KEPT(k)	(!owed[k] || IS_READY(k))
#define IS_OVER(k)	(expires[k] == NEVER && !promised[k] && !processing[k])

proctype quiet()
{
	byte me, handle = NONE;

	timeout ->
	atomic {
		assert(!IS_LOCKED && !enqueued && !callback);
		assert(EACH(IS_KEPT) == KEYS);		/* Q4, O1: none is lost */
		assert(EACH(IS_OVER) == KEYS);		/* D6: the timer forgot none */
		/* Nobody holds anything any more, whose handle it may be. */
		for (me : 0 .. TASKS - 1) {
			assert(sleeps_on[me] != ON_GETTERS || WOULD_WAIT)	/* Q5 */
		}
		assert(!NR_READY || (!idle[0] && !idle[1]));			/* K2 */
		assert(!listed[0] || WOULD_WAIT);				/* U2 */
		assert(!listed[1] || WOULD_WAIT);
		assert(!asleep[0] || WOULD_WAIT);				/* O7 */
		assert(!asleep[1] || WOULD_WAIT)
	}
}
