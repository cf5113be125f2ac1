/* SPDX-License-Identifier: GPL-2.0-only */
/* O7: of two workers that wait with EPOLLEXCLUSIVE one dies once it is woken, or has had enough. */
#include "model/shell.pml"
#include "model/adder.pml"
#include "model/exclusive.pml"
#include "model/shut-down.pml"
#include "model/waker.pml"

#ifndef ADDS
#define ADDS 2
#endif

init {
	atomic {
		run waker();
		run adder(ADDS, false);
		run exclusive_poller(0, 0, 1, true);
		run exclusive_poller(1, 1, FOREVER, false);
#ifdef SHUT_DOWN
		run shut_downer();
#endif
		run quiet()
	}
}
