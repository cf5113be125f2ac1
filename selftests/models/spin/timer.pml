/* SPDX-License-Identifier: GPL-2.0-only */
/* D1, D2, D5, D6: delayed adds, the timer, two getters, and a shut down meanwhile. */
#include "model/shell.pml"
#include "model/adder.pml"
#include "model/getter.pml"
#include "model/timer.pml"
#include "model/shut-down.pml"

#ifndef ADDS
#define ADDS 2
#endif

init {
	atomic {
		run adder(ADDS, true);
		run getter(0, 0, 1, MAY_CLOSE);
		run getter(1, 1, FOREVER, ONLY_DONE);
#ifdef SHUT_DOWN
		run drainer(2);
#endif
		run timer();
		run work_item();
		run clock();
		run quiet()
	}
}
