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

/*
 * A person removes the key. Machine 0 passes the request on, and takes a reply of the master that it obeys. If it dies
 * first, nobody learns what became of the request.
 */
proctype share_canceller()
{
	d_step {
		old_a = last_a;
		old_t = last_t;
		old_r = last_r;
		wanted = true
	}
	d_step { !wanted || lease[CANCELLER] == OVER ->
		racing = (wanted -> FOREVER : world);
		wanted = false
	}
}
