// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq log: the jobs that have ended, from the folder of kwq run --log.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cmd.h"
#include "base/duration.h"
#include "base/escape.h"
#include "queue/histogram.h"
#include "log_folder.h"
#include "base/number.h"

enum { OPT_FAILED = OPT_FIRST };

static const struct option log_options[] = {
	{ "long", no_argument, NULL, 'l' },
	{ "failed", no_argument, NULL, OPT_FAILED },
	{ "count", required_argument, NULL, 'n' },
	OPTION_NO_HEADINGS, OPTION_JSON, OPTION_HELP, OPTION_END
};

struct reader {
	char **keys;		/* as escape_text() writes them; empty for all */
	bool detailed, failed, no_headings, json;
	size_t count;		/* how many of the last jobs; 0: all */

	/* The text of a job: its line, and the lines of its output. */
	char *text;
	size_t len, room;
	/* With @count: the last jobs, of which the next one replaces that at @next. */
	char **last;
	size_t next;
};

static void out_of_memory(void)
{
	message("%s", strerror(ENOMEM));
	exit(STATUS_FAILED);
}

static bool is(const struct joblog_column *column, const char *text)
{
	return column->len == strlen(text) && !memcmp(column->text, text, column->len);
}

static bool is_wanted(const struct reader *r, const struct joblog_column *columns)
{
	char **key;

	if (r->failed && is(&columns[JOBLOG_OUTCOME], "done"))
		return false;
	if (!*r->keys)
		return true;
	for (key = r->keys; *key; key++)
		if (is(&columns[JOBLOG_KEY], *key))
			return true;
	return false;
}

/* Of seconds with six digits behind the point. */
static uint64_t nanoseconds(const struct joblog_column *column)
{
	char *point;
	uint64_t ns = strtoull(column->text, &point, 10) * NS_PER_S;

	return *point == '.' ? ns + strtoull(point + 1, NULL, 10) * NS_PER_US : ns;
}

/* Returns the end of the line. */
static const char *end_of_line(const char *line)
{
	return line + strcspn(line, "\n");
}

/* ---- Text ----------------------------------------------------------------- */

static void print_output(const char *lines)
{
	const char *end;

	for (; *lines; lines = end + 1) {
		end = end_of_line(lines);
		/* Behind the blank, the stream and the tab. */
		fputs("    ", stdout);
		print_visible(stdout, lines + 3, end - lines - 3);
		putchar('\n');
	}
}

static void print_row(const struct joblog_column *columns)
{
	time_t started = strtoull(columns[JOBLOG_STARTED].text, NULL, 10);
	char time[40], runtime[SHORT_TIME_SIZE], status[24];
	int sig = atoi(columns[JOBLOG_SIGNAL].text);
	struct tm tm;

	localtime_r(&started, &tm);
	strftime(time, sizeof(time), "%Y-%m-%d %H:%M:%S", &tm);
	if (sig)
		snprintf(status, sizeof(status), "signal %d", sig);
	else
		snprintf(status, sizeof(status), "exit %d", atoi(columns[JOBLOG_EXIT].text));
	printf("%s %8s %-9s %4u %-7.*s ", time,
	       short_time(runtime, nanoseconds(&columns[JOBLOG_RUNTIME])), status,
	       (unsigned int)strtoul(columns[JOBLOG_ATTEMPT].text, NULL, 10),
	       (int)columns[JOBLOG_OUTCOME].len, columns[JOBLOG_OUTCOME].text);
	/* It is escaped already, unless somebody else wrote the file. */
	print_visible(stdout, columns[JOBLOG_KEY].text, columns[JOBLOG_KEY].len);
	putchar('\n');
}

/* ---- JSON ----------------------------------------------------------------- */

/* Prints a member whose value is escaped. */
static void print_bytes(const char *name, const char *text, size_t len)
{
	char *bytes = malloc(len + 1);
	ssize_t nr;

	if (!bytes)
		out_of_memory();
	nr = unescape_text(bytes, text, len);
	putchar(',');
	if (nr < 0)
		json_bytes(stdout, name, text, len);
	else
		json_bytes(stdout, name, bytes, nr);
	free(bytes);
}

/* Joins the lines of one stream. */
static void print_stream(const char *name, const char *lines, char stream)
{
	char *text = NULL;
	size_t len = 0;
	const char *end;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		out_of_memory();
	for (; *lines; lines = end + 1) {
		end = end_of_line(lines);
		if (lines[1] == stream)
			fprintf(to, "%.*s\\n", (int)(end - lines - 3), lines + 3);
	}
	if (fclose(to))
		out_of_memory();
	print_bytes(name, text, len);
	free(text);
}

static void print_json(const struct joblog_column *columns, const char *lines)
{
	int sig = atoi(columns[JOBLOG_SIGNAL].text);

	printf("{\"started_ns\":%llu,\"runtime_ns\":%llu,",
	       (unsigned long long)nanoseconds(&columns[JOBLOG_STARTED]),
	       (unsigned long long)nanoseconds(&columns[JOBLOG_RUNTIME]));
	if (sig)
		printf("\"signal\":%d,", sig);
	else
		printf("\"exit\":%d,", atoi(columns[JOBLOG_EXIT].text));
	printf("\"attempt\":%d,\"abandoned\":%d,\"outcome\":\"%.*s\"",
	       atoi(columns[JOBLOG_ATTEMPT].text), atoi(columns[JOBLOG_ABANDONED].text),
	       (int)columns[JOBLOG_OUTCOME].len, columns[JOBLOG_OUTCOME].text);
	print_bytes("key", columns[JOBLOG_KEY].text, columns[JOBLOG_KEY].len);
	print_stream("stdout", lines, '1');
	print_stream("stderr", lines, '2');
	puts("}");
}

/* ---- Reading -------------------------------------------------------------- */

static void print_job(const struct reader *r, const char *text)
{
	struct joblog_column columns[JOBLOG_COLUMNS];
	const char *end = end_of_line(text);

	joblog_split(text, end - text, columns);
	if (r->json) {
		print_json(columns, end + 1);
		return;
	}
	print_row(columns);
	if (r->detailed)
		print_output(end + 1);
}

/* The text of a job is whole. */
static void end_job_text(struct reader *r)
{
	struct joblog_column columns[JOBLOG_COLUMNS];
	enum joblog_outcome outcome;
	const char *key;
	size_t len;

	if (!r->len)
		return;
	r->text[r->len] = '\0';
	r->len = 0;
	len = strcspn(r->text, "\n");
	if (joblog_parse(r->text, len, &outcome, &key) ||
	    !joblog_split(r->text, len, columns) || !is_wanted(r, columns))
		return;
	if (!r->count) {
		print_job(r, r->text);
		return;
	}
	free(r->last[r->next]);
	r->last[r->next] = strdup(r->text);
	if (!r->last[r->next])
		out_of_memory();
	r->next = (r->next + 1) % r->count;
}

static void keep_line(struct reader *r, const char *line, size_t len)
{
	if (r->len + len + 1 > r->room) {
		r->room = 2 * (r->len + len + 1);
		r->text = realloc(r->text, r->room);
		if (!r->text)
			out_of_memory();
	}
	memcpy(r->text + r->len, line, len);
	r->len += len;
}

static bool is_output(const char *line, size_t len)
{
	return len > 3 && line[0] == ' ' && (line[1] == '1' || line[1] == '2') && line[2] == '\t';
}

/* A line that is not whole, after a full disk or a power cut, ends the job before it. */
static int read_file(struct reader *r, const char *path)
{
	size_t room = 0, head = strlen(joblog_head);
	FILE *from = fopen(path, "re");
	char *line = NULL;
	ssize_t len;
	int err = 0;

	if (!from)
		return -errno;
	while ((len = getline(&line, &room, from)) > 0) {
		if (line[len - 1] != '\n')
			break;
		if (is_output(line, len)) {
			if (r->len)
				keep_line(r, line, len);
			continue;
		}
		end_job_text(r);
		if ((size_t)len != head + 1 || memcmp(line, joblog_head, head))
			keep_line(r, line, len);
	}
	end_job_text(r);
	if (ferror(from))
		err = errno ? -errno : -EIO;
	free(line);
	fclose(from);
	return err;
}

static int read_folder(struct reader *r, const char *folder)
{
	int i, nr, err, status = STATUS_OK;
	struct dirent **files;
	char path[PATH_MAX];

	nr = scandir(folder, &files, log_folder_has, alphasort);
	if (nr < 0) {
		message("%s: %s", folder, strerror(errno));
		return STATUS_FAILED;
	}
	if (!nr) {
		message("%s: no log of kwq run --log", folder);
		return STATUS_FAILED;
	}
	if (!r->json && !r->no_headings)
		printf("%-19s %8s %-9s %4s %-7s %s\n", "STARTED", "RUNTIME", "STATUS", "TRY",
		       "OUTCOME", "KEY");
	for (i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, files[i]->d_name);
		err = read_file(r, path);
		if (err) {
			message("%s: %s", path, strerror(-err));
			status = STATUS_FAILED;
		}
	}
	return status;
}

static void escape_keys(char **keys)
{
	char *text;

	for (; *keys; keys++) {
		text = malloc(ESCAPED_SIZE(strlen(*keys)));
		if (!text)
			out_of_memory();
		*keys = escape_text(text, *keys, strlen(*keys));
	}
}

static int log_main(int argc, char **argv)
{
	struct reader r = { 0 };
	const char *folder;
	int opt, status;
	size_t i;

	while ((opt = getopt_long(argc, argv, "ln:Hh", log_options, NULL)) != -1) {
		if (opt == 'l')
			r.detailed = true;
		else if (opt == OPT_FAILED)
			r.failed = true;
		else if (opt == 'n')
			r.count = must_parse_number("--count", optarg, 1, 1000000);
		else if (opt == 'H')
			r.no_headings = true;
		else if (opt == OPT_JSON)
			r.json = true;
		else
			option_common(opt);
	}
	if (optind == argc)
		usage("DIR is missing");
	if (r.json && (r.detailed || r.no_headings))
		usage("--json has all, so it cannot be combined with --long or --no-headings");
	folder = argv[optind++];
	r.keys = argv + optind;
	escape_keys(r.keys);
	/* A question for a key asks what has happened. */
	if (*r.keys)
		r.detailed = true;
	r.last = calloc(r.count + 1, sizeof(*r.last));
	if (!r.last)
		out_of_memory();

	status = read_folder(&r, folder);
	for (i = 0; i < r.count; i++)
		if (r.last[(r.next + i) % r.count])
			print_job(&r, r.last[(r.next + i) % r.count]);
	return flush_output() ? status : STATUS_FAILED;
}

const struct command command_log = {
	.name = "log",
	.arguments = "[OPTION...] DIR [KEY...]",
	.summary = "List the jobs that have ended, from the folder of kwq run --log",
	.options =
	"  -l, --long       print the last output of each job, too; with KEY always\n"
	"      --failed     only jobs that have not ended with done\n"
	"  -n, --count N    only the last N of them\n"
	"  -H, --no-headings  no header line\n"
	"      --json       print one JSON object per line\n"
	"  -h, --help\n",
	.examples =
	"  kwq log --failed -n 20 /var/log/mail     which jobs failed of late?\n"
	"  kwq log /var/log/mail alice              what became of alice, and why?\n",
	.table = log_options,
	.main = log_main,
};
