/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A slot of the board: kmod/keyed/board.c, board_key.h and userspace/lib/board.c. This model has its
 * own small queue and one slot, which all keys share.
 *
 * Each actor has a processor with a store buffer, from which its stores reach memory in their
 * order, at any later time. A full barrier waits until the buffer is empty. The unlock is a store,
 * too. So what a hold has stored is visible to the next holder, but perhaps to nobody else.
 */
#define WORKER	ADDERS
#define CLOSER	(ADDERS + 1)
#define ACTORS	(ADDERS + 2)
#define NOBODY	255
#define NONE	2		/* half of a key that is not there */

/* Places in memory. */
#define LOCK	0
#define SEQ	1
#define HALF	2		/* two of them */
#define CLOSED	4
#define WORLD	5		/* one of each adder */

chan buffer[ACTORS] = [12] of { byte, byte };

bool locked;
byte seq;
byte half[2] = NONE;
bool closed;
byte world[ADDERS];		/* how often an adder has changed it */

/* The queue, under the lock. */
bool dirty[KEYS];
byte own_seq;			/* @seq, as the kernel has stored it */
byte posted = NOBODY;		/* the item whose key the slot has */
bool shut_down;

/* What the tests need. */
byte key_of[ADDERS];
byte added[ADDERS];		/* @world at the last add that has returned */
byte seen[ADDERS];		/* @world, as it was seen after a hand-out */
bool has_shut_down;		/* the call has returned */

/* Keys 0, 1 and 2 have the halves 0 0, 1 1 and 0 1. */
#define FIRST(key)	((key) == 1)
#define SECOND(key)	((key) != 0)

#define store(me, place, value)	buffer[me]!place, value
#define barrier(me)		empty(buffer[me])
#define lock()			atomic { !locked -> locked = true }
#define unlock(me)		store(me, LOCK, 0)

/* The processor's store buffer */
proctype memory_of(byte me)
{
	byte place, value;

end_memory:
	do
	:: atomic {
		buffer[me]?place, value ->
		if
		:: place == LOCK -> locked = false
		:: place == SEQ -> seq = value
		:: place == HALF -> half[0] = value
		:: place == HALF + 1 -> half[1] = value
		:: place == CLOSED -> closed = true
		:: else -> world[place - WORLD] = value
		fi;
		place = 0;
		value = 0
	}
	od
}

/* kwq_board_clear(), of the item whose key the slot has */
inline take_off(me, key)
{
	if
	:: posted == key ->
		posted = NOBODY;
		own_seq = own_seq | 1;
		store(me, SEQ, own_seq);
		store(me, HALF, NONE);
		store(me, HALF + 1, NONE);
#ifndef CLEARS_WITHOUT_BARRIER
		barrier(me)
#endif
	:: else
	fi
}

/* kwq_board_post(): the order is that of kwq_board_write(). */
inline post(me, key)
{
	old = posted;
	posted = key;
#ifndef WRITES_THE_KEY_FIRST
	own_seq = own_seq | 1;
	store(me, SEQ, own_seq);
#endif
#ifndef WRITES_THE_KEY_LAST
	store(me, HALF, FIRST(key));
	store(me, HALF + 1, SECOND(key));
#endif
#ifdef WRITES_THE_KEY_FIRST
	own_seq = own_seq | 1;
	store(me, SEQ, own_seq);
#endif
#ifdef SEQ_COMES_BACK
	own_seq = 0;
#else
	own_seq = own_seq + 1;
#endif
	store(me, SEQ, own_seq);
#ifdef WRITES_THE_KEY_LAST
	store(me, HALF, FIRST(key));
	store(me, HALF + 1, SECOND(key));
#endif
	if
	:: old != NOBODY ->
#ifndef TAKES_THE_PLACE_WITHOUT_BARRIER
		barrier(me)
#endif
	:: else
	fi;
	old = 0
}

/* kwq_keyed_add_locked() */
inline add_locked(me, key)
{
	if
	:: dirty[key] && posted != key -> post(me, key)
	:: else -> dirty[key] = true
	fi
}

/*
 * kwq_handle_get(), and what the worker does with the key. It looks at the world without the lock.
 * The item stays with the worker for this time only: another one of the same key may follow.
 */
inline hand_out(me, key)
{
	dirty[key] = false;
#ifndef HAND_OUT_LEAVES_THE_KEY
	take_off(me, key);
#endif
	unlock(me);
	a = 0;
	do
	:: a < ADDERS ->
		if
		:: key_of[a] == key -> seen[a] = world[a]
		:: else
		fi;
		a++
	:: else -> break
	od;
	a = 0
}

/* kwq_board_look(): sets @found. */
inline look(key)
{
	found = false;
#ifdef READS_SEQ_LATE
	is_there = half[0] == FIRST(key);
	is_there = is_there && half[1] == SECOND(key);
	before = seq;
#else
	before = seq;
	is_there = half[0] == FIRST(key);
	is_there = is_there && half[1] == SECOND(key);
#endif
#ifndef READS_SEQ_ONCE
	is_there = is_there && seq == before;
#endif
	is_there = is_there && !(before & 1);
	found = is_there && !closed;
	before = 0;
	is_there = false
}

/* kwq_add() of libkwq */
proctype board_adder(byte me)
{
	byte before, old, n;
	bool found, is_there, late;

	do
	:: n < ADDS ->
		n++;
		late = has_shut_down;
		store(me, WORLD + me, n);
#ifndef LOOKS_WITHOUT_FENCE
		barrier(me);
#endif
		look(key_of[me]);
		if
		:: found ->
			/* Q8: an add that begins after a shut down is refused. */
			assert(!late);
			added[me] = n
		:: else ->
			lock();
			if
			:: shut_down
			:: else ->
				add_locked(me, key_of[me]);
				added[me] = n
			fi;
			unlock(me)
		fi
	:: else -> break
	od
}

/*
 * A worker that adds, too. One hold adds the last key and hands another one out, so that the argument
 * does not rest on the order that a lock makes between two holds.
 */
proctype board_worker(byte me)
{
	byte a, old, k;
	bool again = true;

end_work:
	do
	:: atomic { !locked && (dirty[0] || dirty[1] || dirty[2]) -> locked = true };
		if
		:: again && !shut_down ->
			again = false;
			add_locked(me, KEYS - 1);
			add_locked(me, KEYS - 1)
		:: again = false
		fi;
		if
		:: dirty[0] -> k = 0
		:: dirty[1] -> k = 1
		:: dirty[2] -> k = 2
		fi;
		hand_out(me, k);
		k = 0
	od
}

/* kwq_keyed_shut_down() */
proctype board_closer(byte me)
{
	lock();
#ifndef FORGETS_TO_CLOSE
	store(me, CLOSED, 1);
	barrier(me);
#endif
	unlock(me);
	lock();
	shut_down = true;
	unlock(me);
	has_shut_down = true
}

/* Puts two keys on the board in turns, under the lock. */
proctype board_writer(byte me; byte times)
{
	byte old, key;

	do
	:: times ->
		times--;
		lock();
		post(me, key);
		key = 1 - key;
		unlock(me)
	:: else -> break
	od
}

/* Looks for the third key, which has a half of each of these. */
proctype board_reader()
{
	byte before;
	bool found, is_there;

	look(2);
	assert(!found)
}

/* Q4: when nothing happens any more, each add was followed by a hand-out. */
proctype board_quiet()
{
	byte a;

	timeout ->
	do
	:: a < ADDERS ->
		assert(added[a] <= seen[a]);
		a++
	:: else -> break
	od
}
