// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "fate.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cmd.h"

int fate_parse_on_fail(const char *s, enum fate *fate)
{
	static const char *const words[] = {
		[FATE_RETRY] = "retry", [FATE_DEAD] = "dead", [FATE_DROP] = "drop",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(s, words[i]))
			continue;
		*fate = i;
		return 0;
	}
	return -EINVAL;
}

/*
 * Whether the signal that stops kwq run ended the job, too. A job that handles the signal ends
 * with 128 and its number, as a shell whose command it ended.
 */
static bool was_stopped(const struct job_end *end)
{
	if (!end->stopped_by)
		return false;
	if (WIFSIGNALED(end->status))
		return WTERMSIG(end->status) == end->stopped_by;
	return WEXITSTATUS(end->status) == 128 + end->stopped_by;
}

enum fate fate_of(const struct fate_options *options, const struct job_end *end)
{
	unsigned int max = options->attempts_max;

	/* A job that was late may end in any way, because it was told to end. */
	if (!end->timed_out) {
		if (was_stopped(end))
			return FATE_RETURN;
		if (WIFEXITED(end->status) && !WEXITSTATUS(end->status))
			return FATE_DONE;
	}
	/* The next try of each key is its own, and tells. */
	if (end->shared)
		return FATE_RETRY;
	if (!end->timed_out) {
		if (WIFEXITED(end->status) && options->drop_on.has[WEXITSTATUS(end->status)])
			return FATE_DROP;
		if (WIFEXITED(end->status) && options->dead_on.has[WEXITSTATUS(end->status)])
			return FATE_DEAD;
	}
	if (max && end->attempt >= max)
		return options->on_fail == FATE_DROP ? FATE_DROP : FATE_DEAD;
	if (!max && options->on_fail != FATE_RETRY)
		return options->on_fail;
	if (end->dead_after && end->attempt > end->dead_after)
		return FATE_DEAD;
	return FATE_RETRY;
}
