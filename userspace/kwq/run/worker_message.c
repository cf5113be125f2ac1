// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq run: its messages.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cmd.h"
#include "base/escape.h"
#include "worker_run.h"

void stop_for(struct run *run, int status, const char *what, const char *why)
{
	progress_hide(&run->progress);
	/* After the second signal, errors are a consequence of the signal. */
	if (!run->signal)
		message("%s: %s: %s", run->options.queue, what, why);
	run->stopping = true;
	if (!run->status)
		run->status = status;
}

void tell_of(struct run *run, const struct job_item *it, const char *format, ...)
{
	char key[ESCAPED_SIZE(KWQ_KEY_MAX)], text[300];
	struct journal_job fields;
	va_list args;

	if (run->options.quiet)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (run->options.output == OUTPUT_JOURNAL) {
		/* Beside the output of the job. If that fails, standard error has it. */
		fields = job_journal(it);
		if (!journal_send(&fields, LOG_WARNING, text, strlen(text)))
			return;
	}
	progress_hide(&run->progress);
	message("%s: %s: %s", run->options.queue,
		escape_text(key, it->key, it->item.key_len), text);
}

void tell_of_untold(struct run *run)
{
	uint64_t untold = tell_limit_untold(&run->told);

	if (!untold)
		return;
	progress_hide(&run->progress);
	message("%s: %llu more failure%s had no line of %s own (--verbose prints each)",
		run->options.queue, (unsigned long long)untold, untold == 1 ? "" : "s",
		untold == 1 ? "its" : "their");
}

const char *describe_end(int status, char *to, size_t size)
{
	if (WIFSIGNALED(status))
		snprintf(to, size, "killed by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(to, size, "exit status %d", WEXITSTATUS(status));
	return to;
}
