/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Adders, on any machine. @world goes up before each add, and each job reads it at its start. An adder repeats a
 * publish until it is acknowledged. So in the end each add was acknowledged.
 */

/* A publish of `a.KEY`, without looking */
proctype share_adder(byte adds)
{
	do
	:: adds > 0 ->
		world++;
again:		if
		/* It has happened, but its acknowledgement is lost. */
		:: d_step { lost_acks < LOST_ACKS -> lost_acks++; PUBLISH(a) }; goto again
		:: d_step { PUBLISH(a); adds-- }
		fi
	:: else -> break
	od
}

/*
 * A timed add: it reads the last `t.KEY`, and publishes the earlier of the two times by compare and set.
 * It always makes a new version, even if the time stays: a job that has begun will delete the old one.
 */
proctype share_timed_adder()
{
	byte old;

	world++;
again:	old = t;
#ifdef TIMED_ADD_LEAVES_WHAT_IS_THERE
	if
	:: old -> goto added
	:: else
	fi;
#endif
	if
	:: d_step { t == old -> PUBLISH(t) }
	:: t != old ->
#ifndef TIMED_ADD_FORGETS_A_FAILURE
		goto again
#endif
	fi;
added:	old = 0
}
