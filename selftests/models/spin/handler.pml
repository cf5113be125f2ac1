/* SPDX-License-Identifier: GPL-2.0-only */
/* K2, Q4, Q9: two workers, a handler that asks for a retry, and a drain. */
#include "model/shell.pml"
#include "model/adder.pml"
#include "model/timer.pml"
#include "model/shut-down.pml"
#include "model/worker.pml"

#ifndef ADDS
#define ADDS 2
#endif

init {
	atomic {
		idle[0] = true; workers[0] = true;
		idle[1] = true; workers[1] = true;
		retries = 1;
		run adder(ADDS, false);
		run worker(0);
		run worker(1);
#ifdef SHUT_DOWN
		run drainer(2);
#endif
		run timer();
		run clock();
		run quiet()
	}
}
