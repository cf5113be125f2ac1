// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq run: a worker serves the queue of a name. If that queue is removed and nothing is left in
 * it, the worker waits until a queue of that name exists again.
 *
 * What is left in a removed queue may wait for ever, because nobody can resume it, and for hours if
 * it is a retry. Meanwhile the keys of the next queue would lie there without a worker. So a worker
 * that has nothing to do leaves as soon as there is a next queue.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cmd.h"
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

static void leave(struct run *run, const char *why)
{
	detach_queue(run);
	run->removed = true;
	run->empty_ms = EMPTY_MS_FIRST;
	tell(run, why);
}

void leave_queue(struct run *run)
{
	leave(run, "removed; waiting until a queue of that name exists");
}

static bool has_next_queue(const struct run *run)
{
	struct kwq *next;
	int err = open_queue(&next, run->options.queue, KWQ_RIGHT_READ | KWQ_RIGHT_WRITE);

	if (!err)
		kwq_close(next);
	/* A queue that this worker may not open is an error that find_queue() reports. */
	return err != -ENOENT;
}

void leave_for_next_queue(struct run *run, const struct kwq_stat *st)
{
	uint64_t left = st->ready + st->waiting;
	char why[80] = "removed";

	/* What is ready is served first, unless nobody can get it. */
	if (st->ready && !(st->state & (KWQ_STATE_PAUSED | KWQ_STATE_TERM_OVER)))
		return;
	if (!(st->state & KWQ_STATE_UNLINKED) || queue_is_fd(run->options.queue) ||
	    run->options.exit_when_empty || !has_next_queue(run))
		return;
	if (left)
		snprintf(why, sizeof(why), "removed; %llu %s left behind in it",
			 (unsigned long long)left, left == 1 ? "key is" : "keys are");
	leave(run, why);
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
