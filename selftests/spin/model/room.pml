/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Adds that wait for room: kmod/keyed/room.c. This model has its own small queue, of which
 * only the keys count. Each hold of the lock is one atomic step, which ends in the unlock.
 *
 * A hold wakes one adder because of room, and one because of its key
 * (KWQ_WAKES_PER_HOLD), so a second one needs another hold.
 */
bool has[KEYS];			/* is the key in the queue */
byte nr_items, nr_told;

/* kwq_keyed.adders: first come, first told. An adder that was woken is not in it. */
chan adders = [ADDERS] of { byte };
bool told[ADDERS], by_key[ADDERS], sleeps[ADDERS];
byte key_of[ADDERS];

#define HAS_ROOM	(nr_items + nr_told < ROOM)
#define NOBODY		255

byte one;			/* of the inline functions, used within one step */
byte i;

inline wake(adder)
{
	sleeps[adder] = false
}

/* kwq_tell_adders_locked(), at the unlock */
inline tell_adders()
{
	if
	:: len(adders) && HAS_ROOM ->
		adders?one;
		told[one] = true;
		nr_told++;
		wake(one)
	:: else
	fi
}

/* kwq_tell_adders_of_key_locked() */
inline tell_adders_of(key)
{
	one = NOBODY;
	i = 0;
	do
	:: i < ADDERS ->
		if
		:: one == NOBODY && key_of[i] == key && adders??[eval(i)] -> one = i
		:: else
		fi;
		i++
	:: else -> break
	od;
	if
	:: one != NOBODY -> adders??eval(one); by_key[one] = true; wake(one)
	:: else
	fi
}

/* kwq_keyed_insert() */
inline insert(key)
{
#ifndef INSERT_FORGETS_THE_KEY
	tell_adders_of(key);
#endif
	has[key] = true;
	nr_items++
}

/* The end of kwq_keyed_wait_for_room_locked() */
inline leave(me)
{
	if
	:: adders??[eval(me)] -> adders??eval(me)
	:: else
	fi;
	if
	:: told[me] ->
		told[me] = false;
#ifndef PROMISE_STAYS
		nr_told--;
#endif
	:: else
	fi;
	if
	:: by_key[me] ->
		by_key[me] = false;
#ifndef KEY_WAKES_ONLY_ONE
		tell_adders_of(key_of[me])
#endif
	:: else
	fi
}

/*
 * An add that waits: execute_under_lock() in kmod/device/batch.c. With @may_leave it may get a
 * signal, or reach its deadline, at any time.
 */
proctype room_adder(byte me; bool may_leave)
{
again:	atomic {
		leave(me);
		if
		:: has[key_of[me]] -> goto done
		:: !has[key_of[me]] && nr_items < ROOM ->
			insert(key_of[me]);
			goto done
		:: else
		fi;
#ifndef ADDER_LISTS_ITSELF_LATER
		adders!me;
		sleeps[me] = true;
#endif
		tell_adders()
	}
#ifdef ADDER_LISTS_ITSELF_LATER
	atomic { adders!me; sleeps[me] = true };
#endif
end_sleep:
	if
	:: atomic { !sleeps[me] -> goto again }
	:: atomic {
		may_leave ->
		sleeps[me] = false;
		/* A told adder tries once more, whatever woke it. */
		if
#ifndef TOLD_ADDER_JUST_LEAVES
		:: !adders??[eval(me)] -> goto again
		:: else -> leave(me)
#else
		:: true -> told[me] = false; if :: adders??[eval(me)] -> adders??eval(me) :: else fi
#endif
		fi;
	}
	fi;
done:	atomic { sleeps[me] = false; tell_adders() }
}

/* An add that does not wait takes any room. */
proctype plain_adder(byte key)
{
	atomic {
		if
		:: !has[key] && nr_items < ROOM -> insert(key)
		:: else
		fi;
		tell_adders()
	}
}

/* Finishes @times items. */
proctype remover(byte times)
{
	byte k;

end_remove:
	do
	:: atomic {
		times && nr_items ->
		if
		:: has[0] -> k = 0
		:: has[1] -> k = 1
		:: has[2] -> k = 2
		fi;
		has[k] = false;
		nr_items--;
		times--;
		tell_adders()
	}
	:: !times -> break
	od
}

/* Q19: when nothing happens any more, nobody sleeps beside room, or beside its key. */
proctype room_quiet()
{
	byte a;

	timeout ->
	do
	:: a < ADDERS ->
		assert(!sleeps[a] || (nr_items >= ROOM && !has[key_of[a]]));
		a++
	:: else -> break
	od
}
