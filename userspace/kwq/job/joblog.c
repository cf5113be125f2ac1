// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "joblog.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kwq.h>

#include "base/duration.h"
#include "base/escape.h"
#include "base/output.h"
#include "shell_quote.h"

const char joblog_head[] =
	"Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\t"
	"Attempt\tAbandoned\tOutcome\tKey";

static const char *const outcomes[JOBLOG_OUTCOMES] = {
	[JOBLOG_DONE] = "done",
	[JOBLOG_RETRY] = "retry",
	[JOBLOG_DEAD] = "dead",
	[JOBLOG_DROP] = "drop",
	[JOBLOG_RETURN] = "return",
	[JOBLOG_LOST] = "lost",
};

/*
 * A torn line would merge with the next one. If another process has appended behind a torn line,
 * that line stays.
 */
int joblog_append(int fd, const char *line, size_t len)
{
	ssize_t written;
	struct stat st;
	off_t begin;
	int err;

	/* Only a regular file can be truncated. The write to a pipe may block. */
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return write_all(fd, line, len);
	written = write(fd, line, len);
	if (written < 0)
		written = 0;
	/* Other processes may append too, so the position is known only after a write. */
	begin = lseek(fd, 0, SEEK_CUR) - written;
	err = write_all(fd, line + written, len - written);
	if (err && written && begin >= 0 && !fstat(fd, &st) &&
	    st.st_size == lseek(fd, 0, SEEK_CUR) && ftruncate(fd, begin))
		return -errno;
	return err;
}

/* Whether the last line of a log lacks its end, because the machine stopped in its middle. */
static bool is_torn(const char *path, const struct stat *st)
{
	char last = '\n';
	int fd;

	if (!S_ISREG(st->st_mode) || !st->st_size)
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (pread(fd, &last, 1, st->st_size - 1) != 1)
		last = '\n';
	close(fd);
	return last != '\n';
}

static int write_head(int fd)
{
	char line[sizeof(joblog_head)];

	memcpy(line, joblog_head, sizeof(line));
	line[sizeof(line) - 1] = '\n';
	return joblog_append(fd, line, sizeof(line));
}

int joblog_open(const char *path)
{
	struct stat st;
	int fd, err = 0;

	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st)) {
		if (!st.st_size)
			err = write_head(fd);
		else if (is_torn(path, &st))
			err = joblog_append(fd, "\n", 1);
	}
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

void joblog_print(FILE *to, const struct joblog_entry *entry)
{
	char name[HOST_NAME_MAX + 1] = "";

	gethostname(name, sizeof(name) - 1);
	fprintf(to, "%llu\t", entry->seq);
	print_escaped(to, name, strlen(name));
	fprintf(to, "\t%" PRIu64 ".%06" PRIu64 "\t%" PRIu64 ".%06" PRIu64 "\t%" PRIu64 "\t%" PRIu64
		"\t%d\t%d\t",
		entry->started / NS_PER_S, entry->started % NS_PER_S / NS_PER_US,
		entry->runtime / NS_PER_S, entry->runtime % NS_PER_S / NS_PER_US,
		entry->sent, entry->received, entry->exit, entry->signal);
	shell_quote_words(to, entry->command);
	fprintf(to, "\t%u\t%u\t%s\t", entry->attempt, entry->abandoned,
		outcomes[entry->outcome]);
	print_escaped(to, entry->key, entry->key_len);
	fputc('\n', to);
}

bool joblog_split(const char *line, size_t len, struct joblog_column columns[JOBLOG_COLUMNS])
{
	const char *end = line + len, *tab;
	int i;

	for (i = 0; i < JOBLOG_KEY; i++) {
		tab = memchr(line, '\t', end - line);
		if (!tab)
			return false;
		columns[i] = (struct joblog_column){ .text = line, .len = tab - line };
		line = tab + 1;
	}
	columns[i] = (struct joblog_column){ .text = line, .len = end - line };
	/* A key is never empty. */
	return line < end && !memchr(line, '\t', end - line);
}

int joblog_parse(const char *line, size_t len, enum joblog_outcome *outcome, const char **key)
{
	struct joblog_column columns[JOBLOG_COLUMNS];
	const struct joblog_column *name = &columns[JOBLOG_OUTCOME];

	if (!joblog_split(line, len, columns))
		return -EINVAL;
	*key = columns[JOBLOG_KEY].text;
	for (*outcome = 0; *outcome < JOBLOG_OUTCOMES; ++*outcome)
		if (strlen(outcomes[*outcome]) == name->len &&
		    !memcmp(outcomes[*outcome], name->text, name->len))
			return 0;
	return -EINVAL;
}
