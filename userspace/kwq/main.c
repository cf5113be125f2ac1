// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq: keyed work queues from a shell. This file finds the subcommand.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "escape.h"
#include "foreign.h"
#include "near.h"
#include "shebang.h"

static const struct command *const commands[] = {
	&command_create, &command_open, &command_ls, &command_stat, &command_status,
	&command_limits,
	&command_add, &command_get, &command_done, &command_extend, &command_remove,
	&command_cancel,
	&command_len, &command_keys, &command_peek, &command_kick, &command_edit,
	&command_pause, &command_resume, &command_term, &command_shutdown,
	&command_drain, &command_rm, &command_save, &command_load,
	&command_keep, &command_sync, &command_share,
	&command_run, &command_run_ctl,
	&command_follow, &command_log, &command_kill, &command_restart, &command_bury,
	&command_watch_files,
	&command_configure, &command_forget, &command_requeues, &command_dead,
	&command_advance, &command_top, &command_events, &command_exporter,
};

static void print_help(FILE *to)
{
	size_t i;

	fputs("Usage: kwq COMMAND [OPTION...] [ARGUMENT...]\n"
	      "Keyed work queues of the kernel: no key twice, no key to two workers at once.\n"
	      "\n", to);
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(to, "  %-11s %s\n", commands[i]->name, commands[i]->summary);
	fputs("\n"
	      "  kwq COMMAND --help    the options of COMMAND\n"
	      "  kwq --version\n"
	      "\n"
	      "QUEUE is a name, or fd:N for an inherited descriptor. See kwq(1), kwq(7).\n", to);
}

static const struct command *find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(name, commands[i]->name))
			return commands[i];
	return NULL;
}

/*
 * A queue must never get the number of a closed standard descriptor: messages would go
 * into it, and jobs would inherit it. The replacement fails like a closed descriptor:
 * keys that could not be printed must go back.
 */
static bool fill_standard_descriptors(void)
{
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/* open() returns the lowest free number, which is this one. */
		if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			return false;
	}
	return true;
}

static void complain_command(const char *name)
{
	const char *here = foreign_command(name);
	struct near near;
	size_t i;

	if (here) {
		fputs("kwq: no command \"", stderr);
		print_escaped(stderr, name, strlen(name));
		fprintf(stderr, "\"; did you mean \"kwq %s\"? See kwq %.*s%s\n", here,
			(int)strcspn(here, " "), here, *here == '-' ? "" : " --help");
		return;
	}
	near_begin(&near, name, strlen(name));
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		near_offer(&near, commands[i]->name, strlen(commands[i]->name));
	fputs("kwq: no command \"", stderr);
	print_escaped(stderr, name, strlen(name));
	fputs("\"; ", stderr);
	if (near.best)
		fprintf(stderr, "did you mean \"%s\"? See kwq --help\n", near.best);
	else
		fputs("see kwq --help\n", stderr);
}

/* Otherwise the list would be arguments of each job. Behind -- it is the command's own. */
static void refuse_lists(void)
{
	const char *list = NULL;

	if (command == &command_run)
		list = foreign_list(command_argv);
	if (list)
		usage("\"%s\": keys come from the queue: kwq add QUEUE KEY...; "
		      "if \"%s\" is an argument of CMD, write -- before CMD", list, list);
}

int main(int argc, char **argv)
{
	static char called[32];

	if (!fill_standard_descriptors()) {
		fprintf(stderr, "kwq: /dev/null: %s\n", strerror(errno));
		return STATUS_FAILED;
	}
	if (argc < 2) {
		print_help(stderr);
		return STATUS_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
	    !strcmp(argv[1], "help")) {
		print_help(stdout);
		return flush_output() ? STATUS_OK : STATUS_FAILED;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("kwq " KWQ_VERSION);
		return flush_output() ? STATUS_OK : STATUS_FAILED;
	}

	if (shebang_split(&argc, &argv)) {
		fprintf(stderr, "kwq: %s\n", strerror(ENOMEM));
		return STATUS_FAILED;
	}
	command = find(argv[1]);
	if (!command) {
		complain_command(argv[1]);
		return STATUS_USAGE;
	}
	/* getopt_long() begins its messages with it. */
	snprintf(called, sizeof(called), "kwq: %s", command->name);
	argv[1] = called;
	command_argv = argv + 1;
	refuse_lists();
	return command->main(argc - 1, argv + 1);
}
