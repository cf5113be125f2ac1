// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq run-ctl: shows and changes workers while they run.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"
#include "base/escape.h"
#include "queue/histogram.h"
#include "base/number.h"
#include "base/process_name.h"
#include "worker_client.h"

enum { OPT_PID = OPT_FIRST, OPT_RELOAD };

static const struct option run_ctl_options[] = {
	{ "jobs", required_argument, NULL, 'j' },
	{ "reload", no_argument, NULL, OPT_RELOAD },
	{ "pid", required_argument, NULL, OPT_PID },
	{ "all", no_argument, NULL, 'a' },
	OPTION_NO_HEADINGS, OPTION_JSON, OPTION_HELP, OPTION_END
};

struct run_ctl {
	const char *jobs;	/* NULL: do not change it */
	bool reload, all, json;
	pid_t pid;		/* 0: look for workers */
	char **queues;		/* ends with NULL; empty: all */
	unsigned int found;
	bool header;		/* printed, or not wanted */
	int status;
};

/* ---- One worker ----------------------------------------------------------- */

static const char *why_not(int err)
{
	switch (-err) {
	case ESRCH:
		return "is no kwq run that can be asked";
	case ESTALE:
		return "has just ended";
	case EPERM:
		return "is another user's";
	case EPROTO:
		return "is another version of kwq";
	case ETIMEDOUT:
		return "does not answer";
	default:
		return strerror(-err);
	}
}

static void refuse(struct run_ctl *ctl, pid_t pid, int err, const struct worker_answer *answer)
{
	ctl->status = STATUS_FAILED;
	if (answer->len)
		message("process %d: %.*s", pid, (int)answer->len, answer->text);
	else
		message("process %d %s", pid, why_not(err));
}

static void ask(struct run_ctl *ctl, pid_t pid, enum control_operation operation,
		const char *text)
{
	struct worker_answer answer;
	int err = worker_command(pid, operation, text, &answer);

	if (err)
		refuse(ctl, pid, err, &answer);
}

static void print_text(struct run_ctl *ctl, pid_t pid, const struct control_state *state)
{
	char age[SHORT_TIME_SIZE];

	if (!ctl->header)
		printf("%7s %8s %5s %7s %9s %8s %8s %8s  %s\n", "PID", "AGE", "JOBS", "RUNNING",
		       "DONE", "RETRIED", "DEAD", "FAILED", "QUEUE");
	ctl->header = true;
	printf("%7d %8s %5u %7u %9" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 "  ", pid,
	       short_time(age, state->age), state->jobs, state->running, state->done,
	       state->retried, state->dead, state->failed);
	print_escaped(stdout, state->queue, strlen(state->queue));
	puts(state->stopping ? " (stopping)" : "");
}

static void print_json(pid_t pid, const struct control_state *state)
{
	printf("{\"pid\":%d,", pid);
	json_bytes(stdout, "queue", state->queue, strlen(state->queue));
	printf(",\"age_ns\":%" PRIu64 ",\"jobs\":%u,\"running\":%u,\"done\":%" PRIu64
	       ",\"retried\":%" PRIu64 ",\"dead\":%" PRIu64 ",\"failed\":%" PRIu64
	       ",\"stopping\":%s}\n", state->age, state->jobs, state->running, state->done,
	       state->retried, state->dead, state->failed, state->stopping ? "true" : "false");
}

static void handle(struct run_ctl *ctl, pid_t pid, const struct control_state *state)
{
	ctl->found++;
	if (ctl->reload)
		ask(ctl, pid, CONTROL_RELOAD, "");
	if (ctl->jobs)
		ask(ctl, pid, CONTROL_JOBS, ctl->jobs);
	if (ctl->reload || ctl->jobs)
		return;
	if (ctl->json)
		print_json(pid, state);
	else
		print_text(ctl, pid, state);
}

/* ---- All workers ---------------------------------------------------------- */

static const char *without_prefix(const char *queue)
{
	return strncmp(queue, "name:", 5) ? queue : queue + 5;
}

static bool is_wanted(const struct run_ctl *ctl, const char *queue)
{
	char **wanted;

	for (wanted = ctl->queues; *wanted; wanted++)
		if (!strcmp(without_prefix(*wanted), without_prefix(queue)))
			return true;
	return !*ctl->queues;
}

/* A process of another program, or of another user, is passed over. */
static void try_process(struct run_ctl *ctl, pid_t pid)
{
	char name[PROCESS_NAME_SIZE];
	struct worker_answer answer;
	int err;

	if (strncmp(process_name(name, pid), "kwq", 3))
		return;
	err = worker_command(pid, CONTROL_STATE, "", &answer);
	if (!err) {
		answer.state.queue[sizeof(answer.state.queue) - 1] = '\0';
		if (is_wanted(ctl, answer.state.queue))
			handle(ctl, pid, &answer.state);
	} else if (err == -EPROTO || err == -ETIMEDOUT) {
		refuse(ctl, pid, err, &answer);
	}
}

static void try_all(struct run_ctl *ctl)
{
	const struct dirent *entry;
	uint64_t pid;
	DIR *proc;

	proc = opendir("/proc");
	if (!proc) {
		message("/proc: %s", strerror(errno));
		ctl->status = STATUS_FAILED;
		return;
	}
	while ((entry = readdir(proc)))
		if (!parse_number(entry->d_name, 1, INT32_MAX, &pid))
			try_process(ctl, pid);
	closedir(proc);
}

static void try_one(struct run_ctl *ctl)
{
	struct worker_answer answer;
	int err = worker_command(ctl->pid, CONTROL_STATE, "", &answer);

	if (err)
		refuse(ctl, ctl->pid, err, &answer);
	else
		handle(ctl, ctl->pid, &answer.state);
}

/* ---- The command ---------------------------------------------------------- */

static void parse_options(struct run_ctl *ctl, int argc, char **argv)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "j:aHh", run_ctl_options, NULL)) != -1) {
		switch (opt) {
		case 'j':
			ctl->jobs = optarg;
			break;
		case OPT_RELOAD:
			ctl->reload = true;
			break;
		case OPT_PID:
			ctl->pid = must_parse_number("--pid", optarg, 1, INT32_MAX);
			break;
		case 'a':
			ctl->all = true;
			break;
		case 'H':
			ctl->header = true;
			break;
		case OPT_JSON:
			ctl->json = true;
			break;
		default:
			option_common(opt);
		}
	}
	ctl->queues = argv + optind;
}

static int run_ctl_main(int argc, char **argv)
{
	struct run_ctl ctl = { .status = STATUS_OK };

	parse_options(&ctl, argc, argv);
	if (ctl.pid && (*ctl.queues || ctl.all))
		usage("--pid excludes QUEUE and --all");
	if (*ctl.queues && ctl.all)
		usage("--all excludes QUEUE");
	if ((ctl.jobs || ctl.reload) && !ctl.pid && !ctl.all && !*ctl.queues)
		usage("QUEUE is missing; --all changes the workers of all queues");
	if (ctl.pid)
		try_one(&ctl);
	else
		try_all(&ctl);
	if (!ctl.found && !ctl.status && (*ctl.queues || ctl.jobs || ctl.reload)) {
		message("%s: no kwq run of yours serves it",
			*ctl.queues ? *ctl.queues : "all queues");
		return STATUS_FAILED;
	}
	return flush_output() ? ctl.status : STATUS_FAILED;
}

const struct command command_run_ctl = {
	.name = "run-ctl",
	.arguments = "[OPTION...] [QUEUE...]",
	.summary = "Show and change kwq run while it runs",
	.options =
	"  -j, --jobs N|N%|+N|-N  run so many jobs at once, as kwq run --jobs; jobs that\n"
	"                         run are left alone\n"
	"      --reload           read the file of --config again\n"
	"      --pid PID          only the worker with this process number\n"
	"  -a, --all              change the workers of all queues\n"
	"  -H, --no-headings      no header line\n"
	"      --json             print a JSON object for each worker\n"
	"  -h, --help\n"
	"\n"
	"Without -j and --reload: shows your workers, or all as root; those of QUEUE if\n"
	"it is given. JOBS is how many may run at once, and RUNNING how many do. The\n"
	"other numbers count jobs since the worker began, AGE ago.\n"
	"\n"
	"  kwq run-ctl            which workers are there, and what have they done?\n"
	"  kwq run-ctl -j 8 jobs  from now on the workers of jobs run eight jobs each\n",
	.table = run_ctl_options,
	.main = run_ctl_main,
};
