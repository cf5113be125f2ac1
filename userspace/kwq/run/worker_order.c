// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq run --keep-order: output comes in the order in which the jobs began.
 *
 * A job whose command has ended early keeps its slot until all jobs that began before it are
 * settled. It holds its items as long: an item is done only when its output is written.
 */
#include "worker_run.h"

/* The first one of all jobs that are not settled, or NULL. */
static struct job *first_job(const struct run *run)
{
	struct job *first = NULL;
	unsigned int i;

	for (i = 0; i < run->slots; i++)
		if (run->jobs[i].handle && (!first || run->jobs[i].seq < first->seq))
			first = &run->jobs[i];
	return first;
}

bool must_wait_for_turn(const struct run *run, const struct job *job)
{
	return run->options.keep_order && first_job(run) != job;
}

/* A job that was cancelled prints nothing, so it need not wait. */
static void settle_asked_early(struct run *run)
{
	unsigned int i;

	for (i = 0; i < run->slots; i++)
		if (run->jobs[i].has_turn_to_come && run->jobs[i].asked)
			settle_late(run, &run->jobs[i]);
}

void settle_in_turn(struct run *run)
{
	struct job *job;

	if (run->ended)
		settle_asked_early(run);
	while (run->ended) {
		job = first_job(run);
		if (!job->has_turn_to_come)
			break;
		settle_late(run, job);
	}
}
