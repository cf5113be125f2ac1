/* SPDX-License-Identifier: GPL-2.0-only */
/* A machine: it joins, obeys the newest master that it knows of, asks for work, runs a job and reports it. */

#define IS_ALIVE	(lease[me] == ALIVE)
#define HERE(epoch)	AT(epoch, me)

/* A reply counts if it answers the last ask, and comes from the master that the machine obeys. */
#ifndef TAKES_A_REPLY_TWICE
#define IS_NEW		(number[HERE(obeys[me])] != taken[me])
#else
#define IS_NEW		true
#endif
#define IS_ANSWERED	(obeys[me] && reply_is_there[HERE(obeys[me])] && IS_NEW)

#ifdef CONFIRM_ENDS_ANY_JOB
#define IS_CONFIRMED	(job[me] != NOTHING && confirmed[HERE(obeys[me])])
#else
#ifdef OLD_MASTER_MAY_CONFIRM
#define IS_CONFIRMED	(job[me] == UNCONFIRMED && (confirmed[HERE(1)] == held[me].token || \
			 confirmed[HERE(obeys[me])] == held[me].token))
#else
#define IS_CONFIRMED	(job[me] == UNCONFIRMED && confirmed[HERE(obeys[me])] == held[me].token)
#endif
#endif

inline start(epoch)
{
	taken[me] = number[HERE(epoch)];
	job[me] = RUNNING;
	copy(held[me], reply[HERE(epoch)]);
	saw[me] = world;
	assert(!is_gone || !IS_FROM_BEFORE(held[me]));
	/* N3 */
	assert(held[me].token > last_token);
	last_token = held[me].token;
	i = 0;
	do
	:: i < MACHINES ->
		assert(i == me || job[i] != RUNNING);
		i++
	:: else -> break
	od;
	i = 0
}

inline report(retry)
{
	job[me] = UNCONFIRMED;
	saw[me] = 0;
	copy(finished[me], held[me]);
	failed[me] = retry;
	done_is_there[HERE(obeys[me])] = true
}

inline make_promise()
{
	promise[me] = obeys[me];
#ifndef PROMISE_LISTS_NOTHING
	copy(listed[me], held[me])
#endif
}

proctype machine(byte me)
{
	byte i;

end_machine:
	do
#ifdef OBEYS_BEFORE_IT_JOINS
	:: d_step { lease[me] == AWAY && !obeys[me] && epoch -> obeys[me] = epoch }
#endif
	/* The machines are alike, so they join in their order. */
	:: d_step { lease[me] == AWAY && (me == 0 || joined[me - 1]) ->
		joined[me] = true;
		lease[me] = ALIVE
	}
	/* A new epoch: refuse older masters from now on, and promise that in the stream. */
#ifdef PROMISES_BEFORE_IT_REFUSES
	:: d_step { IS_ALIVE && promise[me] < epoch -> promise[me] = epoch; copy(listed[me], held[me]) }
#endif
	:: d_step { IS_ALIVE && obeys[me] < epoch ->
		obeys[me] = epoch;
		taken[me] = false;
		if
		:: PROMISES_LATE
		:: else -> make_promise()
		fi
	}
	:: d_step { IS_ALIVE && promise[me] < obeys[me] -> make_promise() }
#ifdef DROPS_WHAT_OVERTAKES_A_CONFIRM
	:: d_step { IS_ALIVE && job[me] == UNCONFIRMED && IS_ANSWERED -> taken[me] = number[HERE(obeys[me])] }
	:: d_step { IS_ALIVE && job[me] == NOTHING && IS_ANSWERED -> start(obeys[me]) }
#else
	/* A new grant may overtake the confirmation of the last done. It also is the confirmation. */
	:: d_step { IS_ALIVE && job[me] != RUNNING && IS_ANSWERED -> start(obeys[me]) }
#endif
	:: d_step { job[me] == RUNNING -> seen = saw[me]; report(false) }
	:: d_step { job[me] == RUNNING && retries < RETRIES -> retries++; report(true) }
	/* The kernel takes the key from its worker, whose job is killed. */
#ifndef REVOKES_ANY_JOB
	:: d_step { IS_ALIVE && obeys[me] && job[me] == RUNNING && revoked[HERE(obeys[me])] == held[me].token -> report(false) }
#else
	:: d_step { IS_ALIVE && obeys[me] && job[me] == RUNNING && revoked[HERE(obeys[me])] -> report(false) }
#endif
	/* A done is repeated until it is confirmed. */
#ifndef SAYS_DONE_ONCE
	:: d_step { IS_ALIVE && job[me] == UNCONFIRMED && !done_is_there[HERE(obeys[me])] -> done_is_there[HERE(obeys[me])] = true }
#endif
	:: d_step { IS_ALIVE && IS_CONFIRMED ->
		job[me] = NOTHING;
		forget(held[me])
	}
	/* The lease is over, or the machine has crashed. */
	:: atomic { IS_ALIVE && deaths < DEATHS ->
		deaths++;
		lease[me] = OVER;
#ifndef LEASE_OVER_LEAVES_THE_JOB
		job[me] = NOTHING;
		saw[me] = 0;
#endif
		if
		:: promise[me] < obeys[me]
		:: obeys[me] = 0; forget(held[me])
		fi
	}
	/* A heartbeat was on its way. It also replaces what says that the machine is dead. */
	:: d_step { lease[me] == OVER && promise[me] < obeys[me] ->
		make_promise();
		buried[me] = false;
		obeys[me] = 0;
		forget(held[me])
	}
	od
}
