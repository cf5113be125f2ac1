/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * N1 to N4: two machines and two masters, in turn or at once. Other configurations of it choose
 * other numbers and include this one.
 */
#ifndef MACHINES
#define MACHINES	2
#endif
#ifndef EPOCHS
#define EPOCHS		2
#endif
#ifndef ADDS
#define ADDS		1
#endif
#ifndef TIMED_ADDERS
#define TIMED_ADDERS	0
#endif
#ifndef RETRIES
#define RETRIES		0
#endif
#ifndef DEATHS
#define DEATHS		1
#endif
#ifndef LOSSES
#define LOSSES		0
#endif
#ifndef LOST_ACKS
#define LOST_ACKS	0
#endif
#ifndef CANCELS
#define CANCELS		false
#endif
#ifndef PROMISES_LATE
#define PROMISES_LATE	false
#endif

#include "model/share.pml"
#include "model/share-machine.pml"
#include "model/share-master.pml"
#include "model/share-adder.pml"
#include "model/share-network.pml"

init {
	atomic {
		byte n = 1;

		do
		:: n <= EPOCHS -> run master(n); n++
		:: else -> break
		od;
		n = 0;
		do
		:: n < MACHINES -> run machine(n); n++
		:: else -> break
		od;
		n = 0;
		do
		:: n < TIMED_ADDERS -> run share_timed_adder(); n++
		:: else -> break
		od;
		n = 0;
		run share_adder(ADDS);
		if
		:: CANCELS -> run share_canceller()
		:: else
		fi;
#ifndef LIVE
		run share_quiet();
#endif
		run share_network(LOSSES)
	}
}
