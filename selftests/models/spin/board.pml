/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Q2, Q4: adders that look at a slot of the board, whose three keys take each other's place; a
 * worker that adds and gets; and, with -DSHUT_DOWN, somebody who shuts down.
 */
#ifndef ADDS
#define ADDS	3
#endif
#ifndef ADDERS
#define ADDERS	1
#endif
#define KEYS	3

#include "model/board.pml"

init {
	atomic {
		byte a;

		do
		:: a < ADDERS -> key_of[a] = a; run board_adder(a); run memory_of(a); a++
		:: else -> break
		od;
		run board_worker(WORKER);
		run memory_of(WORKER);
#ifdef SHUT_DOWN
		run board_closer(CLOSER);
		run memory_of(CLOSER);
#endif
		run board_quiet()
	}
}
