// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq run --halt: whether enough jobs have ended.
 */
#include "base/cmd.h"
#include "worker_run.h"

void check_halt(struct run *run)
{
	const struct halt_spec *halt = &run->options.halt;

	if (run->halted || run->stopping ||
	    !halt_is_due(halt, run->ended_badly, run->ended_well))
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
