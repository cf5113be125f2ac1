// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq run: a worker serves the queue of a name. If that queue is removed and nothing is left in
 * it, the worker waits until a queue of that name exists again.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "worker_run.h"

static void tell(struct run *run, const char *what)
{
	if (run->options.quiet)
		return;
	progress_hide(&run->progress);
	message("%s: %s", run->options.queue, what);
}

static void detach_queue(struct run *run)
{
	if (run->watching)
		unwatch(run, kwq_fd(run->q));
	run->watching = false;
	if (run->leases.fd >= 0)
		close(run->leases.fd);
	run->leases.fd = -1;
	kwq_close(run->spare);
	run->spare = NULL;
	kwq_close(run->q);
	run->q = NULL;
	/* Keys of the next queue have not failed yet. */
	retry_forget_all(&run->failures);
}

void leave_queue(struct run *run)
{
	detach_queue(run);
	run->removed = true;
	run->empty_ms = EMPTY_MS_FIRST;
	tell(run, "removed; waiting until a queue of that name exists");
}

void find_queue(struct run *run)
{
	int err = attach_queue(run);

	if (err == -ENOENT)
		return;
	if (err) {
		stop_for(run, status_of(err), "open", meaning(err));
		return;
	}
	run->removed = false;
	run->empty_ms = EMPTY_MS_FIRST;
	tell(run, "exists again");
}
