/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ring of a driver that adds keys: kmod/keyed/producer.c. A cell stands for the smallest record.
 * Each access is a step of its own. The order in which a processor's accesses reach others is not
 * modelled: see the comments there.
 */
#define CELLS	3

/* The first cell of a record or a padding has its size; all others of a record have what it adds. */
#define WRITTEN	9

byte cell[CELLS];
bool is_padding[CELLS];
byte head, tail;		/* they do not wrap in so few adds */
bool is_called, is_queued;
byte at_work;			/* writers that may still post */
byte posted, carried_out;

#define AT(place)	((place) % CELLS)

proctype writer(byte size)
{
	byte seen_tail, seen_head, padding, n, adds;
	bool was_called;

	do
	:: adds < ADDS ->
		adds++;
		do
		::
#ifdef READS_HEAD_FIRST
			seen_head = head;
			seen_tail = tail;
#else
			seen_tail = tail;
			seen_head = head;
#endif
			/* Unsigned in C: a tail beyond the head would look like no room at all. */
			assert(seen_head >= seen_tail);
			padding = (size > CELLS - AT(seen_head) -> CELLS - AT(seen_head) : 0);
			if
#ifndef RESERVES_WHAT_IS_TAKEN
			:: seen_head - seen_tail + padding + size > CELLS -> goto no_room
#endif
			:: else
			fi;
#ifdef RESERVES_IN_TWO_STEPS
			if
			:: head == seen_head -> head = seen_head + padding + size; break
			:: else
			fi
#else
			atomic {
				if
				:: head == seen_head -> head = seen_head + padding + size; break
				:: else
				fi
			}
#endif
		od;
		/* Nobody takes a place for a record that nobody has written, because it is 0. */
		for (n : 0 .. padding + size - 1) {
			assert(cell[AT(seen_head + n)] == 0)
		}
		if
		:: padding ->
			is_padding[AT(seen_head)] = true;
			cell[AT(seen_head)] = padding
		:: else
		fi;
		seen_head = seen_head + padding;
#ifdef MARKS_BEFORE_IT_WRITES
		cell[AT(seen_head)] = size;
#endif
		for (n : 1 .. size - 1) {
			cell[AT(seen_head + n)] = WRITTEN
		}
		posted++;
#ifndef MARKS_BEFORE_IT_WRITES
		cell[AT(seen_head)] = size;
#endif
		atomic {
			was_called = is_called;
			is_called = true
		}
		if
		:: !was_called -> is_queued = true
		:: else
		fi;
no_room:
		skip
	:: else -> break
	od;
	at_work--
}

/* carry_out(), whenever it is queued */
proctype ring_worker()
{
	byte size, n;

end:	do
	:: is_queued ->
		is_queued = false;
#ifndef CLEARS_AFTER_IT_HAS_LOOKED
		is_called = false;
#endif
		do
		:: cell[AT(tail)] == 0 -> break
		:: cell[AT(tail)] != 0 ->
			size = cell[AT(tail)];
			if
			:: is_padding[AT(tail)]
			:: else ->
				for (n : 1 .. size - 1) {
					assert(cell[AT(tail + n)] == WRITTEN)
				}
				carried_out++
			fi;
#ifdef TAKES_BEFORE_IT_CLEARS
			tail = tail + size;
			for (n : 1 .. size) {
				is_padding[AT(tail - n)] = false;
				cell[AT(tail - n)] = 0
			}
#else
			for (n : 0 .. size - 1) {
				is_padding[AT(tail + n)] = false;
				cell[AT(tail + n)] = 0
			}
			tail = tail + size
#endif
		od;
#ifdef CLEARS_AFTER_IT_HAS_LOOKED
		is_called = false;
#endif
		skip
	od
}

/* When nobody writes any more, and the worker has nothing to do, all is carried out. */
proctype ring_quiet()
{
	timeout;
	assert(!at_work && !is_queued);
	assert(carried_out == posted && head == tail)
}
