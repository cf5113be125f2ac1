/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Q8, Q9, O1: two drains and a shut down, a getter that may die while it holds an item,
 * and a getter that stays to the end.
 */
#include "model/shell.pml"
#include "model/adder.pml"
#include "model/getter.pml"
#include "model/shut-down.pml"

#ifndef ADDS
#define ADDS 2
#endif

init {
	atomic {
		run adder(ADDS, false);
		run getter(0, 0, 2, MAY_CLOSE);
		run getter(1, 1, FOREVER, ONLY_DONE);
		run drainer(2);
#ifdef SECOND
		run drainer(3);
#endif
#ifdef SHUT_DOWN
		run shut_downer();
#endif
		run quiet()
	}
}
