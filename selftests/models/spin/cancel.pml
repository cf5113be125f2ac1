/* SPDX-License-Identifier: GPL-2.0-only */
/* K3: one or two tasks cancel an item that is added, due and handled meanwhile. */
#include "model/shell.pml"
#include "model/adder.pml"
#include "model/timer.pml"
#include "model/worker.pml"
#include "model/canceller.pml"

#ifndef ADDS
#define ADDS 2
#endif

init {
	atomic {
		idle[0] = true; workers[0] = true;
#ifndef SECOND
		idle[1] = true; workers[1] = true;
		run worker(1);
#endif
		retries = 1;
		run adder(ADDS, false);
		run worker(0);
		run canceller(2, 0);
#ifdef SECOND
		run canceller(1, 0);
#endif
#ifdef SHUT_DOWN
		run drainer(3);
#endif
		run timer();
		run clock();
		run quiet()
	}
}
