/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Adds that wait for room: kmod/keyed/room.c. This model has its own small queue, of which
 * only the keys count. Each hold of the lock is one atomic step, which ends in the unlock.
 */
bool has[KEYS];			/* is the key in the queue */
byte nr_items;

/* kwq_keyed.adders: first come, first told. An adder that was woken is not in it. */
chan adders = [ADDERS] of { byte };
bool sleeps[ADDERS];		/* until it is told */
bool awake[ADDERS];		/* something else has woken it, and it has not looked yet */
byte key_of[ADDERS];

bool adders_may_fit;

#define HAS_ROOM	(nr_items < ROOM)
#define FITS(a)		(HAS_ROOM || has[key_of[a]])
#define NOBODY		255

byte one;			/* of the inline functions, used within one step */
byte i, next;

/* kwq_tell_adders_locked(), at the unlock: wakes the first one that fits */
inline unlock()
{
	one = NOBODY;
	i = 0;
	do
	:: adders_may_fit && i < len(adders) ->
		/* Takes each from the head, and puts it back at the tail, so that all keep their order. */
		adders?next;
		if
#ifndef FIRST_ONE_MUST_FIT
		:: one == NOBODY && FITS(next) -> one = next
#else
		:: one == NOBODY && i == 0 && FITS(next) -> one = next
#endif
		:: else -> adders!next; i++
		fi
	:: else -> break
	od;
	adders_may_fit = false;
	if
#ifndef AWAKE_ADDER_IS_NOT_TOLD
	:: one != NOBODY -> sleeps[one] = false
#else
	:: one != NOBODY && !awake[one] -> sleeps[one] = false
	:: one != NOBODY && awake[one] -> adders!one
#endif
	:: else
	fi
}

/* kwq_keyed_insert(), and the settle behind it */
inline insert(key)
{
	has[key] = true;
	nr_items++;
	adders_may_fit = true
}

/* kwq_leave_room_locked() */
inline leave_room()
{
	if
#ifndef ROOM_IS_KEPT
	:: was_told -> adders_may_fit = true
#endif
	:: else
	fi;
	was_told = false
}

/*
 * An add that waits: execute_entries() in kmod/device/batch.c. It has memory for its item only
 * after a hold in which it lacked that. With @may_leave it may get a signal, or reach its deadline,
 * at any time, and may get no memory.
 */
proctype room_adder(byte me; bool may_leave)
{
	bool was_told, has_memory, was_awake;

again:	atomic {
		if
		:: has[key_of[me]] -> leave_room(); unlock(); goto done
		:: !has[key_of[me]] && HAS_ROOM && has_memory ->
			insert(key_of[me]);
			leave_room();
			unlock();
			goto done
		:: !has[key_of[me]] && HAS_ROOM && !has_memory ->
			unlock();
			goto fill
		:: else -> leave_room()
		fi;
		has_memory = false;
#ifndef ADDER_LISTS_ITSELF_LATER
		adders!me;
		sleeps[me] = true;
#endif
		unlock()
	}
#ifdef ADDER_LISTS_ITSELF_LATER
	atomic { adders!me; sleeps[me] = true };
#endif
end_sleep:
	if
	:: atomic { !sleeps[me] -> awake[me] = false; was_told = true; goto again }
	/* A drainer's wake-up, or one that comes late. It looks whether it was told. */
	:: atomic { sleeps[me] && !awake[me] && !was_awake -> awake[me] = true; was_awake = true }; goto end_sleep
	:: atomic { sleeps[me] && awake[me] -> awake[me] = false; goto end_sleep }
	:: atomic {
		may_leave ->
		if
#ifndef TOLD_ADDER_JUST_LEAVES
		/* A told adder tries once more, whatever woke it. */
		:: !sleeps[me] -> was_told = true; goto again
#endif
		:: else ->
			if
			:: adders??[eval(me)] -> adders??eval(me)
			:: else
			fi;
			sleeps[me] = false;
			unlock();
			goto done
		fi
	}
	fi;
fill:	if
	:: has_memory = true; goto again
	:: may_leave ->
#ifndef NO_MEMORY_KEEPS_THE_ROOM
		atomic { leave_room(); unlock() }
#endif
	fi;
done:	skip
}

/* An add that does not wait takes any room. */
proctype plain_adder(byte key)
{
	atomic {
		if
		:: !has[key] && HAS_ROOM -> insert(key)
		:: else
		fi;
		unlock()
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
		adders_may_fit = true;
		unlock()
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
	:: a < ADDERS -> assert(!sleeps[a] || !FITS(a)); a++
	:: else -> break
	od
}
