// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Messages and exit statuses.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "escape.h"
#include "near.h"
#include "output.h"

const struct command *command;
char **command_argv;
bool debugging;
const char *message_about;

const char *command_prefix(void)
{
	return debugging ? "debug " : "";
}

const struct option *command_table(void)
{
	return command->table + (debugging ? 0 : command->nr_debug);
}

/* Makes one line of the text, whatever names it has. The caller frees it. */
static char *make_line(const char *text, size_t text_len, size_t *len)
{
	char *line = NULL;
	FILE *to = open_memstream(&line, len);

	if (!to)
		return NULL;
	print_visible(to, text, text_len);
	fputc('\n', to);
	if (!fclose(to))
		return line;
	free(line);
	return NULL;
}

static void __attribute__((format(printf, 1, 0))) print_message(const char *format, va_list args)
{
	char *text = NULL, *line = NULL;
	size_t text_len = 0, len = 0;
	FILE *to = open_memstream(&text, &text_len);

	if (!to)
		return;
	fprintf(to, "kwq: %s%s: ", command_prefix(), command->name);
	if (message_about)
		fprintf(to, "%s: ", message_about);
	vfprintf(to, format, args);
	if (!fclose(to))
		line = make_line(text, text_len, &len);
	/* One write keeps the line whole. write_all() watches for signals if it has to
	 * wait.
	 */
	if (line)
		write_all(STDERR_FILENO, line, len);
	free(line);
	free(text);
}

void message(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_message(format, args);
	va_end(args);
}

static void print_usage(FILE *to)
{
	fprintf(to, "Usage: kwq %s%s %s\n", command_prefix(), command->name, command->arguments);
}

void usage(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_message(format, args);
	va_end(args);
	print_usage(stderr);
	exit(STATUS_USAGE);
}

/*
 * Proposes an option whose name is near the one that getopt_long() did not know. The
 * names are those in the text of --help=all.
 */
static void propose_option(void)
{
	const char *wrong, *at = command->options, *name;
	struct near near;
	size_t len;

	/* getopt_long() sets optopt for an option that it knows. */
	if (optopt || !command_argv)
		return;
	wrong = command_argv[optind - 1];
	if (strncmp(wrong, "--", 2))
		return;
	near_begin(&near, wrong + 2, strcspn(wrong + 2, "="));
	while ((at = strstr(at, "--"))) {
		name = at + 2;
		len = strspn(name, "abcdefghijklmnopqrstuvwxyz-");
		if (len)
			near_offer(&near, name, len);
		at = name + len;
	}
	if (near.best)
		message("did you mean --%.*s?", (int)near.best_len, near.best);
}

bool options_have_ended(char **argv)
{
	return optind > 1 && !strcmp(argv[optind - 1], "--");
}

void option_common(int opt)
{
	const char *options = command->options;

	if (opt != 'h') {
		/* getopt_long() has already printed the error. */
		propose_option();
		print_usage(stderr);
		exit(STATUS_USAGE);
	}
	if (optarg && strcmp(optarg, "all"))
		usage("--help=%s: must be --help or --help=all", optarg);
	if (!optarg && command->brief && !debugging)
		options = command->brief;
	print_usage(stdout);
	printf("%s.\n\n", command->summary);
	if (debugging && command->debug_options)
		printf("%s\n", command->debug_options);
	printf("%s%s%s", options, command->examples ? "\n" : "",
	       command->examples ? command->examples : "");
	exit(flush_output() ? STATUS_OK : STATUS_FAILED);
}

int complain(const char *queue, int err)
{
	message("%s: %s", queue, meaning(err));
	return status_of(err);
}

int complain_key(const char *queue, int err)
{
	if (err != -EINVAL)
		return complain(queue, err);
	message("%s: empty key", queue);
	return STATUS_FAILED;
}

const char *meaning(int err)
{
	switch (-err) {
	case E2BIG:
		return "the kernel's kwq is older than this command: update the module";
	case EACCES:
		if (access("/dev/kwq", R_OK | W_OK) && errno == EACCES)
			return "permission denied: /dev/kwq is for the group kwq: see ls -l /dev";
		return "permission denied: check the mode of the queue (see kwq ls -l)";
	case EAGAIN:
		return "nothing is ready";
	case EBADF:
		return "the descriptor lacks the right (see kwq open --help)";
	case ECANCELED:
		return "kwq drain --no-wait ended the drain; not everything is done";
	case EDQUOT:
		return "quota exceeded by the owner, or by your calls (see kwq stat --limits)";
	case EEXIST:
		return "a queue of that name exists (--or-open opens it)";
	case EMSGSIZE:
		return "key too long (more than 4096 bytes)";
	case ENAMETOOLONG:
		return "name too long (more than 255 bytes)";
	case ENODEV:
		return "no /dev/kwq: is the module kwq loaded?";
	case ENOENT:
		return "no such queue";
	case ENOSPC:
		return "the queue is full (see kwq stat)";
	case ENOTTY:
		return "not a queue";
	case EPERM:
		return "not permitted: only the owner of the queue may do this";
	case ESHUTDOWN:
		return "the queue is shut down";
	case ETIMEDOUT:
		return "timed out";
	default:
		return strerror(-err);
	}
}

const char *what_holds_back(const struct kwq_stat *st)
{
	if (st->state & KWQ_STATE_TERM_OVER)
		return "the queue's term is over, until kwq debug term sets a later one";
	if (st->state & KWQ_STATE_PAUSED)
		return "the queue is paused, until kwq resume";
	if (st->blocked && st->blocked == st->ready)
		return "all ready keys wait for their groups, which are at their limits";
	return NULL;
}

bool is_left_behind(const struct kwq *q)
{
	struct kwq_stat st = { .size = sizeof(st) };

	if (kwq_stat(q, &st) || !(st.state & KWQ_STATE_UNLINKED))
		return false;
	/* A pause for a time ends by itself. */
	if (st.state & KWQ_STATE_TERM_OVER || st.paused_for == UINT64_MAX)
		return true;
	return !st.ready && !st.waiting && !st.processing;
}

int complain_no_key(struct kwq *q, const char *queue, int err)
{
	struct kwq_stat st = { .size = sizeof(st) };
	const char *why;

	if ((err != -EAGAIN && err != -ETIMEDOUT) || kwq_stat(q, &st))
		return complain(queue, err);
	why = what_holds_back(&st);
	if (!why)
		return complain(queue, err);
	message("%s: %s: %s", queue, meaning(err), why);
	return status_of(err);
}

bool has_watcher(void)
{
	return isatty(STDERR_FILENO);
}

void tell_of_wait(const struct kwq *q, const char *queue, const char *what)
{
	struct kwq_stat st = { .size = sizeof(st) };
	const char *why = kwq_stat(q, &st) ? NULL : what_holds_back(&st);

	message("%s: waiting for %s%s%s", queue, what, why ? ": " : "", why ? why : "");
}

int status_of(int err)
{
	switch (-err) {
	case 0:
		return STATUS_OK;
	case ENOENT:
		return STATUS_NOT_FOUND;
	case EAGAIN:
	case ETIMEDOUT:
		return STATUS_NOT_READY;
	case ESHUTDOWN:
		return STATUS_SHUT_DOWN;
	case ENODEV:
		return STATUS_NO_KWQ;
	default:
		return STATUS_FAILED;
	}
}

bool flush_output(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return true;
	fprintf(stderr, "kwq: standard output: %s\n", strerror(errno));
	return false;
}

const char *only_argument(int argc, char **argv, const char *what)
{
	if (optind == argc)
		usage("%s is missing", what);
	if (optind + 1 < argc)
		usage("\"%s\" is one argument too many", argv[optind + 1]);
	return argv[optind];
}
