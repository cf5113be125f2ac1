/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * K12: drivers that post adds of keys, and the worker that carries them out. Each writer may be
 * interrupted anywhere by the others, as by an NMI.
 */
#ifndef WRITERS
#define WRITERS	2
#endif
#ifndef ADDS
#define ADDS	2
#endif

#include "model/ring.pml"

init {
	atomic {
		byte n;

		for (n : 1 .. WRITERS) {
			at_work++;
			run writer(1 + n % 2)
		}
		run ring_worker();
		run ring_quiet()
	}
}
