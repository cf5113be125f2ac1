/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * K13, K1: adders of one item that do not wait for the lock, a getter, and perhaps an NMI, a holder
 * who needs the item, or a shut down.
 */
#ifndef ADDERS
#define ADDERS	3
#endif

#include "model/post.pml"

init {
	atomic {
		byte n;

		for (n : 1 .. ADDERS) {
			at_work++;
			run adder()
		}
#ifdef NMIS
		at_work++;
		run nmi();
#endif
#ifdef HOLDS
		at_work++;
		run holder();
#endif
#ifdef SHUT_DOWN
		at_work++;
		run shut_down_once();
#endif
		run work_item();
		run worker();
		run post_quiet()
	}
}
