// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq: keyed work queues from a shell. This file finds the subcommand.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/escape.h"
#include "base/near.h"
#include "base/options_list.h"

/* In the order in which people need them, and each group in a line of the help. */
static const struct group {
	const char *title;
	const struct command *commands[7];
} groups[] = {
	{ "queues", { &command_create, &command_ls, &command_rm, &command_configure } },
	{ "add", { &command_add, &command_watch_files, &command_edit } },
	{ "work", { &command_run, &command_run_ctl, &command_open, &command_get,
		    &command_done } },
	{ "look", { &command_stat, &command_keys, &command_top, &command_log, &command_follow,
		    &command_exporter } },
	{ "mend", { &command_pause, &command_resume, &command_drain, &command_kick,
		    &command_cancel, &command_kill } },
	{ "keep", { &command_keep, &command_save, &command_load } },
	{ "share", { &command_share } },
};

/* Tests, and programs that work in place of libkwq, need these, and people do not. */
static const struct command *const debug_commands[] = {
	&command_advance, &command_forget, &command_requeues, &command_term, &command_sync,
};

/* The command of that number, or NULL behind the last one. */
static const struct command *command_at(size_t n)
{
	const struct command *const *c;
	size_t i;

	if (debugging) {
		if (n < ARRAY_SIZE(debug_commands))
			return debug_commands[n];
		n -= ARRAY_SIZE(debug_commands);
	}
	for (i = 0; i < ARRAY_SIZE(groups); i++)
		for (c = groups[i].commands; *c; c++)
			if (!n--)
				return *c;
	return NULL;
}

static void print_debug_help(FILE *to)
{
	size_t i;

	fputs("Usage: kwq debug COMMAND [OPTION...] [ARGUMENT...]\n"
	      "Commands for tests, and to look into a queue, beside all other commands of kwq.\n"
	      "\n", to);
	for (i = 0; i < ARRAY_SIZE(debug_commands); i++)
		fprintf(to, "  %-9s %s\n", debug_commands[i]->name, debug_commands[i]->summary);
	fputs("\n"
	      "kwq debug create, kwq debug configure and kwq debug add take more options: see\n"
	      "the --help of each.\n"
	      "\n"
	      "  kwq debug create --clock manual test   a queue for a test without waiting\n"
	      "  kwq debug advance test 10s             10 s later\n", to);
}

static void print_help(FILE *to)
{
	const struct group *group;
	const struct command *const *c;

	if (debugging) {
		print_debug_help(to);
		return;
	}
	fputs("Usage: kwq COMMAND [OPTION...] [ARGUMENT...]\n"
	      "Keyed work queues of the kernel: no key twice, no key to two workers at once.\n"
	      "\n", to);
	for (group = groups; group < groups + ARRAY_SIZE(groups); group++) {
		fprintf(to, "  %-7s", group->title);
		for (c = group->commands; *c; c++)
			fprintf(to, " %s", (*c)->name);
		putc('\n', to);
	}
	fputs("\n"
	      "  kwq create jobs            a queue\n"
	      "  kwq add jobs a b           work for it\n"
	      "  kwq run jobs -- echo {}    a worker, until Ctrl-C\n"
	      "\n"
	      "  kwq help COMMAND           what COMMAND does; kwq COMMAND --help is the same\n"
	      "  kwq debug --help           what tests need\n"
	      "  kwq --version\n"
	      "\n"
	      "QUEUE is a name, or fd:N for an inherited descriptor. See kwq(1), kwq(7).\n", to);
}

static const struct command *find(const char *name)
{
	const struct command *c;
	size_t i;

	for (i = 0; (c = command_at(i)); i++)
		if (!strcmp(name, c->name))
			break;
	return c;
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

static bool is_debug_command(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(debug_commands); i++)
		if (!strcmp(name, debug_commands[i]->name))
			return true;
	return false;
}

static void complain_command(const char *name)
{
	const struct command *c;
	struct near near;
	size_t i;

	if (is_debug_command(name)) {
		fprintf(stderr, "kwq: no command \"%s\"; did you mean \"kwq debug %s\"? See kwq debug %s --help\n",
			name, name, name);
		return;
	}
	near_begin(&near, name, strlen(name));
	for (i = 0; (c = command_at(i)); i++)
		near_offer(&near, c->name, strlen(c->name));
	fputs("kwq: no command \"", stderr);
	print_escaped(stderr, name, strlen(name));
	fputs("\"; ", stderr);
	if (near.best)
		fprintf(stderr, "did you mean \"%s\"? See kwq --help\n", near.best);
	else
		fputs("see kwq --help\n", stderr);
}

/* For the completion of the shells. */
static int list_commands(void)
{
	const struct command *c;
	size_t i;

	for (i = 0; (c = command_at(i)); i++)
		puts(c->name);
	puts(debugging ? "help\n--help" : "debug\nhelp\n--help\n--version");
	return flush_output() ? STATUS_OK : STATUS_FAILED;
}

/* The same for the words behind a command. */
static int list_options(const char *name)
{
	const struct command *asked = find(name);
	char options[] = "--options", *argv[] = { NULL, options, NULL };

	if (!asked)
		return STATUS_USAGE;
	/* Those of kwq share are in its own program. */
	if (!asked->table)
		return asked->main(2, argv);
	options_list(asked);
	return flush_output() ? STATUS_OK : STATUS_FAILED;
}

/* kwq help add is kwq add --help. */
static void swap_help(int argc, char **argv)
{
	static char help[sizeof("--help")] = "--help";

	if (argc < 3 || strcmp(argv[1], "help"))
		return;
	argv[1] = argv[2];
	argv[2] = help;
}

int main(int argc, char **argv)
{
	static char called[32];

	if (!fill_standard_descriptors()) {
		fprintf(stderr, "kwq: /dev/null: %s\n", strerror(errno));
		return STATUS_FAILED;
	}
	swap_help(argc, argv);
	if (argc > 1 && !strcmp(argv[1], "debug")) {
		debugging = true;
		argc--;
		argv++;
		swap_help(argc, argv);
	}
	if (argc < 2) {
		print_help(stderr);
		return STATUS_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
	    (!strcmp(argv[1], "help") && argc == 2)) {
		print_help(stdout);
		return flush_output() ? STATUS_OK : STATUS_FAILED;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("kwq " KWQ_VERSION);
		return flush_output() ? STATUS_OK : STATUS_FAILED;
	}

	if (!strcmp(argv[1], "--options") && argc <= 3)
		return argc < 3 ? list_commands() : list_options(argv[2]);
	command = find(argv[1]);
	if (!command) {
		complain_command(argv[1]);
		return STATUS_USAGE;
	}
	/* getopt_long() begins its messages with it. */
	snprintf(called, sizeof(called), "kwq: %s%s", command_prefix(), command->name);
	argv[1] = called;
	command_argv = argv + 1;
	return command->main(argc - 1, argv + 1);
}
