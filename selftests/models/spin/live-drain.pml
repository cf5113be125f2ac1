/* SPDX-License-Identifier: GPL-2.0-only */
/* Q9: a drain returns even if a task adds for ever. */
#define FAIR_LOCK
#include "model/shell.pml"
#include "model/adder.pml"
#include "model/getter.pml"
#include "model/shut-down.pml"

ltl drain_returns { [](draining[2] -> <>returned[2]) }

init {
	atomic {
		run adder(FOREVER, false);
#ifdef SECOND
		run getter(0, 0, 2, MAY_CLOSE);
#endif
		run getter(1, 1, FOREVER, ONLY_DONE);
		run drainer(2)
	}
}
