/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Q5, Q8: two tasks get through one handle until a shut down. The first task finishes
 * its item only when the second has ended. So the second must not wait for it.
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
		run getter(0, 0, 1, JOINS);
		run getter(1, 0, FOREVER, ONLY_DONE);
		run getter(2, 2, FOREVER, MAY_CLOSE);
		run shut_downer();
		run quiet()
	}
}
