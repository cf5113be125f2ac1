// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * U5: the folder of kwq run --log: a file for each day, and none that is too old. test-command.sh
 * has kwq log.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/duration.h"
#include "kwq/job/log_folder.h"
#include "tap.h"

#define DAY (86400 * NS_PER_S)
/* 2026-11-21, 00:00 UTC. */
#define MIDNIGHT (1795219200 * NS_PER_S)

static char *command[] = { "true", NULL };
static const struct joblog_entry entry = {
	.started = MIDNIGHT, .command = command, .attempt = 1, .key = "a\tb", .key_len = 3,
};

static void touch(const char *folder, const char *name)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fclose(fopen(path, "w"));
}

/* The names of all files, with blanks between them. */
static const char *names(const char *folder)
{
	static char text[1000];
	struct dirent **files;
	int i, nr = scandir(folder, &files, NULL, alphasort);

	text[0] = '\0';
	for (i = 0; i < nr; i++)
		if (files[i]->d_name[0] != '.')
			strcat(strcat(text, text[0] ? " " : ""), files[i]->d_name);
	return text;
}

/* The lines below that of the job. */
static const char *output_of(const char *folder, const char *name)
{
	static char text[1000];
	char path[200], *at;
	FILE *from;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	from = fopen(path, "r");
	text[fread(text, 1, sizeof(text) - 1, from)] = '\0';
	fclose(from);
	at = strstr(text, "a\\tb\n");
	return at ? at + strlen("a\\tb\n") : "";
}

int main(void)
{
	static const struct log_output none[2];
	const struct log_output output[2] = { { "one\n\ntwo", 8 }, { "\x1b[1m\t\\\n", 7 } };
	char top[] = "/tmp/kwq-unit-log-XXXXXX", path[100];
	struct log_folder log;
	struct stat st;

	if (!mkdtemp(top))
		return 1;
	snprintf(path, sizeof(path), "%s/log", top);
	is_number(log_folder_open(&log, path, 2 * DAY, MIDNIGHT - 1), 0, "a folder is made");
	ok(!stat(path, &st) && (st.st_mode & 0777) == 0700, "for its owner only");
	is_number(log_folder_write(&log, MIDNIGHT - 1, &entry, output), 0, "it takes a job");
	is_string(names(path), "2026-11-20.log", "in the file of its day");
	is_string(output_of(path, "2026-11-20.log"), " 1\tone\n 1\t\n 1\ttwo\n 2\t\\x1b[1m\\t\\\\\n",
		  "with its output in lines, escaped");

	touch(path, "notes");
	touch(path, "2026-1-1.log");
	touch(path, "2026-01-01.log.gz");
	touch(path, "2026-01-01.log");
	is_number(log_folder_write(&log, MIDNIGHT, &entry, none), 0, "the first job of a day");
	is_string(names(path), "2026-01-01.log.gz 2026-1-1.log 2026-11-20.log 2026-11-21.log notes",
		  "begins a file, and takes away old ones, but no others");
	is_number(log_folder_write(&log, MIDNIGHT + 2 * DAY, &entry, none), 0, "a job");
	is_string(names(path),
		  "2026-01-01.log.gz 2026-1-1.log 2026-11-20.log 2026-11-21.log 2026-11-23.log notes",
		  "a day that ended as long ago as asked stays");
	log_folder_close(&log);
	is_number(log_folder_open(&log, path, 2 * DAY, MIDNIGHT + 2 * DAY + 1), 0, "a later start");
	is_string(names(path), "2026-01-01.log.gz 2026-1-1.log 2026-11-21.log 2026-11-23.log notes",
		  "takes away what is older, too");
	log_folder_close(&log);
	snprintf(path, sizeof(path), "exec rm -r %s", top);
	if (system(path))
		return 1;
	return done_testing();
}
