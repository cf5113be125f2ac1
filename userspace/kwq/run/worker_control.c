// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq run: answers the requests that come through its control socket.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cmd.h"
#include "kwq/job/job_control.h"
#include "base/read_clock.h"
#include "settings.h"
#include "worker_run.h"

_Static_assert((int)CONTROL_TEXT >= (int)SETTINGS_WHY, "the text of an error fits into a reply");

static void reply_state(struct run *run, int to)
{
	struct control_state state = {
		.size = sizeof(state),
		.jobs = run->options.jobs,
		.running = run->counts.running,
		.stopping = run->stopping || run->over,
		.done = run->counts.done,
		.failed = run->counts.failed,
		.retried = run->counts.retried,
		.dead = run->counts.dead,
		.age = read_clock(CLOCK_MONOTONIC) - run->began,
	};

	snprintf(state.queue, sizeof(state.queue), "%s", run->options.queue);
	control_reply_with(to, 0, &state, sizeof(state));
}

/* The key of the message is the value of --jobs. */
static int take_jobs(struct run *run, const struct control_message *message, char *why)
{
	char text[100];
	unsigned int jobs;
	int err;

	snprintf(text, sizeof(text), "%.*s", (int)message->request.key_len, message->key);
	err = settings_jobs(text, &jobs, why);
	return err ? err : change_jobs(run, jobs, why);
}

static void answer(struct run *run, struct control_message *message)
{
	char why[SETTINGS_WHY] = "";
	int err;

	switch (message->request.operation) {
	case CONTROL_STATE:
		reply_state(run, message->reply);
		close(message->reply);
		return;
	case CONTROL_JOBS:
		err = take_jobs(run, message, why);
		break;
	case CONTROL_RELOAD:
		err = reload(run, why);
		break;
	default:
		job_control_answer(message, run->jobs, run->slots, run->options.output);
		return;
	}
	control_reply_with(message->reply, err, why, strlen(why));
	close(message->reply);
}

void take_requests(struct run *run)
{
	struct control_message message;
	int ret;

	if (run->control.fd < 0)
		return;
	while ((ret = control_receive(&run->control, &message)))
		if (ret > 0)
			answer(run, &message);
}
