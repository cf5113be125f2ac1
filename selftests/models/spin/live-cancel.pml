/* SPDX-License-Identifier: GPL-2.0-only */
/* K3: a cancel returns even if a task and the handler add the item for ever. */
#define FAIR_LOCK
#define NOW_MAX 1
#include "model/shell.pml"
#include "model/adder.pml"
#include "model/timer.pml"
#include "model/worker.pml"
#include "model/canceller.pml"

ltl cancel_returns { [](cancelling[0] -> <>gone[0]) }

init {
	atomic {
		idle[0] = true; workers[0] = true;
#ifdef NO_TIMER
		retries = 0;
#else
		retries = FOREVER;
		run timer();
		run work_item();
		run clock();
#endif
		run adder(FOREVER, false);
		run worker(0);
		run canceller(2, 0)
	}
}
