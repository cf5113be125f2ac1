/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Q5: getters leave because of a signal, a deadline, a buffer that is too small, or one
 * that is not writable, while others sleep.
 */
#include "model/shell.pml"
#include "model/adder.pml"
#include "model/getter.pml"

#ifndef ADDS
#define ADDS 2
#endif

init {
	atomic {
		deadline[1] = 1;
		run adder(ADDS, false);
		run getter(0, 0, 1, MAY_FAULT);
		run signals(0);
		run getter(1, 1, 1, TOO_SMALL);
		run getter(2, 2, 2, MAY_CLOSE);
		run clock();
		run quiet()
	}
}
