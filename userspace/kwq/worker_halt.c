// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq run --halt: whether enough jobs have ended.
 */
#include "cmd.h"
#include "worker_run.h"

/* The number of keys in the queue that are neither done nor dead. */
static uint64_t keys_left(struct run *run)
{
	struct kwq_stat st = { .size = sizeof(st) };
	int err = kwq_stat(run->q, &st);

	if (err)
		stop_for(run, STATUS_FAILED, "stat", meaning(err));
	return st.ready + st.waiting + st.processing;
}

void check_halt(struct run *run)
{
	const struct halt_spec *halt = &run->options.halt;

	if (run->halted || run->stopping ||
	    !halt_is_due(halt, run->ended_badly, run->ended_well,
			 halt->percent ? keys_left(run) : 0))
		return;
	run->halted = true;
	run->stopping = true;
	if (halt->why == HALT_FAIL && !run->status)
		run->status = STATUS_FAILED;
	if (run->options.quiet)
		return;
	progress_hide(&run->progress);
	message("%s: --halt %s: %s", run->options.queue, run->options.halt_text,
		halt->when == HALT_NOW ? "running jobs are killed, their keys go back" :
		"no more jobs start");
}
