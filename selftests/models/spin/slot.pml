/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Q2: a reader of a slot never finds a key that consists of parts of two others.
 */
#define ADDERS	1
#define ADDS	0
#define KEYS	3
#ifndef WRITES
#define WRITES	3
#endif

#include "model/board.pml"

init {
	atomic {
		run board_writer(WORKER, WRITES);
		run memory_of(WORKER);
		run board_reader()
	}
}
