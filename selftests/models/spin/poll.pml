/* SPDX-License-Identifier: GPL-2.0-only */
/* U2: two pollers and a getter, until a shut down. */
#include "model/shell.pml"
#include "model/adder.pml"
#include "model/getter.pml"
#include "model/poller.pml"
#include "model/shut-down.pml"

#ifndef ADDS
#define ADDS 2
#endif

init {
	atomic {
		run adder(ADDS, false);
		run poller(0, 0, 1);
		run poller(1, 1, 1);
		run getter(2, 2, 1, ONLY_DONE);
		run shut_downer();
		run quiet()
	}
}
