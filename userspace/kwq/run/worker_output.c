// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq run: prints the output of its jobs.
 */
#include <stdio.h>
#include <string.h>

#include "base/cmd.h"
#include "worker_run.h"

static void stop_for_output(struct run *run, int i, int err)
{
	stop_for(run, STATUS_FAILED, i ? "standard error" : "standard output",
		 strerror(-err));
}

bool is_output_stored(struct run *run)
{
	char what[300];
	int err = run->room < 0 ? 0 : output_check_room(run->room);

	if (!err)
		return true;
	if (!run->no_room) {
		run->no_room = true;
		snprintf(what, sizeof(what), "output cannot be stored in %s (TMPDIR)",
			 output_folder());
		stop_for(run, STATUS_FAILED, what, strerror(-err));
	}
	return false;
}

bool write_output(struct run *run, struct job *job)
{
	bool complete = true;
	struct stream *s;
	int i, err;

	for (i = 0; i < 2; i++) {
		s = &job->streams[i];
		/* An error from before was already reported. */
		if (!s->err && stream_has_output(s, run->options.output)) {
			progress_hide(&run->progress);
			err = stream_flush(s, run->options.output);
			if (err)
				stop_for_output(run, i, err);
		}
		complete = complete && !s->err;
	}
	return complete;
}

void pump_output(struct run *run, struct job *job, int i)
{
	int ret;

	progress_hide(&run->progress);
	ret = stream_pump(&job->streams[i]);
	if (ret > 0)
		unwatch(run, job->streams[i].fd);
	if (ret < 0)
		stop_for_output(run, i, ret);
}
