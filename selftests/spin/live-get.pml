/* SPDX-License-Identifier: GPL-2.0-only */
/* Q5: while somebody adds for ever, no getter sleeps for ever beside what is ready. */
#define FAIR_LOCK
#include "model/shell.pml"
#include "model/adder.pml"
#include "model/getter.pml"

#define BESIDE(task)	(NR_READY && sleeps_on[task] == ON_GETTERS)

ltl no_sleep_beside_ready { !<>[](BESIDE(0) || BESIDE(1)) }

init {
	atomic {
		run adder(FOREVER, false);
		run getter(0, 0, FOREVER, MAY_FAULT);
		run getter(1, 1, FOREVER, ONLY_DONE)
	}
}
