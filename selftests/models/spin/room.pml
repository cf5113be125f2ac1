/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Q19: adds that wait for room, some of which may leave; an add that takes room without
 * waiting; and somebody who makes room.
 */
#ifndef ADDERS
#define ADDERS	4
#endif
#ifndef ROOM
#define ROOM	1
#endif
#ifndef REMOVES
#define REMOVES	2
#endif
/* The queue is full of the last one. Half of the adders have the second, the others the first. */
#define KEYS	3

#include "model/room.pml"

init {
	atomic {
		byte a;

		has[2] = true;
		nr_items = 1;
		do
		:: a < ADDERS -> key_of[a] = a < ADDERS / 2; run room_adder(a, a & 1); a++
		:: else -> break
		od;
		run plain_adder(0);
		run remover(REMOVES);
		run room_quiet()
	}
}
