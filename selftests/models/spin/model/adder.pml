/* SPDX-License-Identifier: GPL-2.0-only */
/* The adder: kmod/queue/add.c. */

/* kwq_add_with() */
inline add(k, after)
{
	WANT_LOCK
	atomic {
		TAKE_LOCK;
#ifdef WAKES_BEFORE_LINKING
		fresh = fresh + (shut_down || dirty[k] || processing[k] -> 0 : 1)
	}
	kwq_unlock();
	WANT_LOCK
	atomic {
		TAKE_LOCK;
		if
		:: shut_down || cancelled[k]
		:: else -> owed[k] = true; dirty[k] = true
		fi
#else
		if
		:: after -> kwq_core_add_at(k, after)
		:: else -> kwq_core_add(k)
		fi
#endif
	}
	kwq_unlock()
}

/* Adds any key @nr_adds times, now or (if @timed) after one or two ticks. */
proctype adder(byte nr_adds; bool timed)
{
	byte k, after;

	do
	:: nr_adds == 0 -> break
	:: nr_adds ->
		nr_adds = (nr_adds == FOREVER -> FOREVER : nr_adds - 1);
		if
		:: k = 0
		:: k = 1
#if KEYS == 3
		:: k = 2
#endif
		fi;
		if
		:: !timed -> after = 0
		:: timed -> after = 1
		:: timed -> after = 2
		fi;
		add(k, after)
	od
}
