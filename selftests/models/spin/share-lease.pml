/* SPDX-License-Identifier: GPL-2.0-only */
/* N3, N5: a machine whose keys others get is surely over. */
#ifndef HEARTBEATS
#define HEARTBEATS	5
#endif
#include "model/share-lease.pml"

init {
	atomic {
		run lease_clock();
		run lease_engine();
		run lease_machine(HEARTBEATS);
		run lease_master();
		run lease_quiet()
	}
}
