/* SPDX-License-Identifier: GPL-2.0-only */
/* Q5: no getter sleeps for ever while an item is ready, even if a task adds for ever. */
#define FAIR_LOCK
#include "model/shell.pml"
#include "model/adder.pml"
#include "model/getter.pml"

#define SLEEP_BESIDE	(NR_READY && len(getters) > 0)

ltl no_sleep_beside_ready { !<>[]SLEEP_BESIDE }

init {
	atomic {
		run adder(FOREVER, false);
		run getter(0, 0, FOREVER, MAY_FAULT);
		run getter(1, 1, FOREVER, ONLY_DONE)
	}
}
