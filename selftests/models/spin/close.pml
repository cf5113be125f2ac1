/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * O1, Q5: a handle that holds several items is closed while two getters sleep. Its
 * items come back in several lock holds.
 */
#define PER_HOLD 2
#include "model/shell.pml"
#include "model/adder.pml"
#include "model/getter.pml"

#ifndef ADDS
#define ADDS 2
#endif

init {
	atomic {
		deadline[0] = 1;
		run adder(ADDS, false);
		run getter(0, 0, 2, KEEPS | MAY_CLOSE);
		run getter(1, 1, 1, ONLY_DONE);
		run getter(2, 2, 1, ONLY_DONE);
		run clock();
		run quiet()
	}
}
