/* SPDX-License-Identifier: GPL-2.0-only */
/* K3: a queue with a handler is destroyed while items are ready, waiting and running. */
#include "model/shell.pml"
#include "model/timer.pml"
#include "model/worker.pml"
#include "model/canceller.pml"

init {
	atomic {
		idle[0] = true; workers[0] = true;
		idle[1] = true; workers[1] = true;
		retries = 1;
		/* No call may be under way: all earlier calls have returned. */
		expires[0] = 1; promised[0] = true;
		enqueued = true; fires_at = 1;
		lease_end = 2;
		dirty[1] = true; owed[1] = true;
		idle[0] = false; queued[0] = true;
		run worker(0);
		run worker(1);
		run destroyer(2);
		run timer();
		run work_item();
		run clock();
		run quiet()
	}
}
