/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shell around the core, for spin: the code of kmod/queue/unlock.c under its lock, and the
 * parts of the kernel that it needs (sleepers, pollers, one hrtimer, two workqueues). The
 * other files here contain the callers. A configuration, one folder up, says which
 * callers run at the same time.
 *
 * Above each step stands the name of the C function that it models. A lock hold has at
 * least two steps, and unlocked steps of others come between them:
 *
 *   WANT_LOCK atomic { TAKE_LOCK; the transitions }  as core.c makes them
 *   kwq_unlock();                                    their consequences
 *
 * Time has a few ticks and then ends (D7). The model leaves open which ready item is
 * handed out: the real order is one of the possible ones. Getters and drainers wait in
 * line. The order of the pollers is left open.
 *
 * The model does not contain priorities, limiters and dead items, which belong to the
 * core. It also has no processors that see each other's writes late: the lock
 * orders everything except a poller's listing, and a drawing above kwq_unlock() covers
 * that case.
 *
 * The assertions use variables of their own, which no step reads: owed, promised,
 * in_hands, gone, emptied.
 *
 * -D plants a bug that the C code could have. The file mutants lists them.
 */
#ifndef KEYS
#define KEYS		2
#endif
#ifndef NOW_MAX
#define NOW_MAX		3
#endif
/* KWQ_ITEMS_PER_HOLD: with 1, every loop that can release the lock does so. */
#ifndef PER_HOLD
#define PER_HOLD	1
#endif

/* The largest number of each in a configuration. */
#define TASKS		4
#define POLLERS		2
#define WORKERS		2

#define NONE		255
#define NEVER		255	/* KTIME_MAX */
#define FOREVER		255

/* struct kwq_item of each key: its state, time and holder. */
bool dirty[KEYS], processing[KEYS], cancelled[KEYS];
byte expires[KEYS] = NEVER;
byte holder[KEYS] = NONE;

/* struct kwq_core, and struct kwq_queue which contains it. */
bool shut_down, all_cancelled;
bool changed;
byte fresh;		/* readied - woken */
bool ends;			/* ends != woken_ends */
byte phase;		/* that all waiters were woken for */
#define PHASE	(!shut_down -> 0 : (DRAINED -> 2 : 1))
byte shut_downs;

/*
 * The wait queues, with the tasks that sleep on them. A wake-up skips a task that is
 * awake. So a task leaves its wait queue when it wakes, not later under the lock.
 */
chan getters = [TASKS] of { byte };
chan drainers = [TASKS] of { byte };
#define IS_ASLEEP(list)	(list??[eval(me)])

/* A task may have a signal, and a deadline. */
bool signalled[TASKS];
byte deadline[TASKS] = NEVER;

/* poll(): the list of pollers; struct poll_wqueues.triggered. */
bool listed[POLLERS], triggered[POLLERS];

/*
 * An epoll with EPOLLEXCLUSIVE is one of the pollers, and a task sleeps in its
 * epoll_wait(). Here @triggered means that the event is in the epoll's list.
 */
bool alone[POLLERS], asleep[POLLERS];

/*
 * struct kwq_worker: idle means in the list of idle workers; queued means that its work
 * is queued.
 */
bool idle[WORKERS], queued[WORKERS];

/* The hrtimer is in its base's tree, and fires at this time. @running: its callback runs. */
bool enqueued, running;
byte fires_at;

/* No lease ends earlier. It may be too early, because a done leaves it as it is. */
byte lease_end = NEVER;

/* The work item has the queue's turns. @in_list: the queue is in its list. */
bool is_behind, in_list;

byte now;

/* For the assertions. */
bool owed[KEYS];	/* a run begins after this add, or it is taken back */
bool promised[KEYS];	/* an add when the time has come, or it is taken back */
bool in_hands[KEYS];	/* somebody works on it */
bool gone[KEYS];	/* its cancel has returned: it may have been freed */
bool emptied;		/* a drain has returned: nothing comes out any more */
bool destroyed;		/* the queue has been freed */

/* Set by a configuration: the workers, and how often handlers ask for a retry. */
bool workers[WORKERS];
byte retries;

/* Temporary variables of one step. */
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

/* kwq_core_is_drained(), kwq_get_would_wait_locked() */
#define DRAINED		(shut_down && !NR_READY && !NR_PROCESSING)
#define WOULD_WAIT	(!NR_READY && (!shut_down || (NR_PROCESSING && !NR_HELD)))

/*
 * The lock. A liveness property needs a fair lock, as the kernel's is: waiters queue
 * up. A safety property holds more generally if any waiter may be next.
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

/* A task wakes by itself because of a signal or a deadline. */
inline wake_up(list)
{
	if
	:: IS_ASLEEP(list) -> list??eval(me)
	:: else
	fi
}

/* Wakes the first @count ones in line, which leave the line. */
inline wake_some_of(list, count)
{
	nr = count;
	do
	:: nr && len(list) -> list?_; nr--
	:: else -> break
	od;
	nr = 0
}

/* wake_up_all(), kwq_wake_drainers_locked() */
#define wake_all_of(list)	wake_some_of(list, len(list))

#define IS_POLLED	(listed[0] || listed[1] || alone[0] || alone[1])

/*
 * ep_poll_callback(): an epoll consumes the wake-up only if a task sleeps on it. @nr is the number of
 * wake-ups that are left.
 */
inline tell_alone(poll)
{
	triggered[poll] = triggered[poll] || (alone[poll] && nr);
	nr = (alone[poll] && asleep[poll] && nr -> nr - 1 : nr);
	asleep[poll] = asleep[poll] && !triggered[poll]
}

/*
 * __wake_up() of the pollers: pollwake(), after which it stays triggered until it has looked again.
 * Exclusive pollers come last.
 */
inline tell_pollers(count)
{
	triggered[0] = triggered[0] || listed[0];
	triggered[1] = triggered[1] || listed[1];
	nr = count;
	if
	:: tell_alone(0); tell_alone(1)
	:: tell_alone(1); tell_alone(0)
	fi;
	nr = 0
}

/* More than there are exclusive pollers: wakes all. */
#define ALL	(POLLERS + 1)

/* kwq_wake_all_locked() and kwq_tell_pollers_locked() */
inline wake_everybody()
{
	wake_all_of(getters);
	wake_all_of(drainers);
	tell_pollers(ALL)
}

/* kwq_queue_workers_locked() */
inline kwq_queue_workers_locked()
{
	do
	:: nr && idle[0] -> idle[0] = false; assert(!queued[0]); queued[0] = true; nr--
	:: nr && idle[1] -> idle[1] = false; assert(!queued[1]); queued[1] = true; nr--
	:: else -> break
	od
}

/* kwq_arm_timer_locked() */
inline arm_timer_locked()
{
	when = (shut_down -> NEVER : NEXT);
	when = (lease_end < when -> lease_end : when);
	if
	:: when == NEVER || is_behind || (enqueued && fires_at <= when)
	:: else -> enqueued = true; fires_at = when
	fi;
	when = 0
}

#define IS_AWAITED	(len(getters) || IS_POLLED || workers[0] || workers[1])

/* kwq_unlock(), with wake_for() and follow_changes(). */
inline kwq_unlock()
{
	atomic {
		assert(!destroyed);
#ifdef TELLS_ONE_FOR_MANY
		fresh = (fresh -> 1 : 0);
#endif
		/* Not for items that were got in the same hold. */
		fresh = (fresh < NR_READY -> fresh : NR_READY);
		if
		:: fresh && IS_AWAITED ->
			nr = fresh;
			kwq_queue_workers_locked();
			wake_some_of(getters, fresh);
			tell_pollers(fresh)
		:: else
		fi;
		fresh = 0;
		if
#ifndef TELLS_NOBODY_OF_A_LETTING_GO
		:: ends -> ends = false; wake_all_of(drainers)
#endif
		:: else -> ends = false
		fi;
		if
#ifdef TELLS_NOBODY_OF_DRAINED
		:: changed && shut_down && !phase ->
#else
		:: changed && phase != PHASE ->
#endif
			phase = PHASE;
			wake_everybody()
		:: else
		fi;
		if
		:: changed -> changed = shut_down; arm_timer_locked()
		:: else
		fi;
		DROP_LOCK
	}
}

/* kwq_wake_again() */
inline kwq_wake_again(is_new)
{
	WANT_LOCK
	atomic {
		TAKE_LOCK;
		if
#ifndef DEATH_PASSES_NOTHING_ON
		:: NR_READY && IS_POLLED -> fresh = NR_READY; is_new = !is_behind; is_behind = true
#endif
		:: else -> is_new = false
		fi;
		DROP_LOCK
	};
#ifndef FORGETS_THE_REST
	in_list = in_list || is_new;
#endif
	is_new = false
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
	changed = true;
	promised[k] = false;
	owed[k] = true;
	fresh = fresh + (dirty[k] || processing[k] -> 0 : 1);
	dirty[k] = true
}

/*
 * kwq_core_add_at(): the earlier time stays (D2). A due item is left to the timer if
 * other items are due, too.
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
		changed = changed || when < expires[k];
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

/* kwq_get_locked() of the item from kwq_core_peek(), for the handle or worker @handle. */
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
	:: shut_down && NR_HELD == 1 -> wake_all_of(getters); tell_pollers(ALL)
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
	ends = ends || cancelled[k];
	changed = changed || cancelled[k];
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

/* The rest of kwq_core_abandon() and kwq_core_unget(), after leave_holder(). */
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
	changed = changed || expires[k] != NEVER;
	expires[k] = NEVER;
	owed[k] = false;
	promised[k] = false
}

/* kwq_core_drop(): @k is true if there was an item to drop. */
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
	:: k != NONE -> expires[k] = NEVER; changed = true; promised[k] = false
	:: else
	fi
}

/* kwq_expire_some_locked(): afterwards @nr is 0 if more items may be due. */
inline expire_some_locked()
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

/* Time passes, whatever tasks wait for. */
proctype clock()
{
	do
	:: now < NOW_MAX -> now++
	:: else -> break
	od
}

#define IS_EMPTY(k)	(!dirty[k] && !processing[k] && !owed[k] && !in_hands[k])

/*
 * When no task can go on and time is over, every key must be where it belongs, and
 * nobody may sleep who should run. A task that is stuck elsewhere is an invalid end
 * state.
 */
#define IS_KEPT(k)	(!owed[k] || IS_READY(k))
#define IS_OVER(k)	(expires[k] == NEVER && !promised[k] && !processing[k])

proctype quiet()
{
	byte handle = NONE;

	timeout ->
	atomic {
		assert(!IS_LOCKED && !enqueued && !running && !is_behind && !in_list);
		assert(EACH(IS_KEPT) == KEYS);		/* Q4, O1: none is lost */
		assert(EACH(IS_OVER) == KEYS);		/* D6: the timer forgot none */
		/* No task holds an item any more, through any handle. */
		assert(!len(getters) || WOULD_WAIT);			/* Q5 */
		assert(!NR_READY || (!idle[0] && !idle[1]));			/* K2 */
		assert(!listed[0] || WOULD_WAIT);				/* U2 */
		assert(!listed[1] || WOULD_WAIT);
		assert(!asleep[0] || WOULD_WAIT);				/* O7 */
		assert(!asleep[1] || WOULD_WAIT)
	}
}
