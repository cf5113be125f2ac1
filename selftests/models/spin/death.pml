/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * O7: two workers wait with EPOLLEXCLUSIVE. One of them dies once it is woken, or
 * leaves.
 */
#include "model/shell.pml"
#include "model/adder.pml"
#include "model/exclusive.pml"
#include "model/shut-down.pml"
#include "model/timer.pml"

#ifndef ADDS
#define ADDS 2
#endif

init {
	atomic {
		run work_item();
		run adder(ADDS, false);
		run exclusive_poller(0, 0, 1, true);
		run exclusive_poller(1, 1, FOREVER, false);
#ifdef SHUT_DOWN
		run shut_downer();
#endif
		run quiet()
	}
}
