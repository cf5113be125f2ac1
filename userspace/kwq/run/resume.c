// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "resume.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kwq.h>

#include "base/escape.h"

struct settled {
	size_t len;
	enum joblog_outcome outcome;
	char key[];
};

/* A key to look for. Its bytes are elsewhere, so that nothing is copied. */
struct wanted {
	size_t len;
	const char *key;
};

static int compare_bytes(const char *a, size_t a_len, const char *b, size_t b_len)
{
	int order = memcmp(a, b, a_len < b_len ? a_len : b_len);

	return order ? order : (a_len > b_len) - (a_len < b_len);
}

static int compare(const void *a, const void *b)
{
	const struct settled *one = a, *other = b;

	return compare_bytes(one->key, one->len, other->key, other->len);
}

static int compare_wanted(const void *a, const void *b)
{
	const struct wanted *wanted = a;
	const struct settled *s = b;

	return compare_bytes(wanted->key, wanted->len, s->key, s->len);
}

static struct settled *find(const struct resume_table *table, const char *key, size_t len)
{
	struct wanted wanted = { .len = len, .key = key };
	struct settled **found = tfind(&wanted, &table->root, compare_wanted);

	return found ? *found : NULL;
}

static void take_out(struct resume_table *table, struct settled *s)
{
	tdelete(s, &table->root, compare);
	table->keys--;
	free(s);
}

static bool is_skipped(enum resume_mode mode, enum joblog_outcome outcome)
{
	if (mode == RESUME_SETTLED && (outcome == JOBLOG_DEAD || outcome == JOBLOG_DROP))
		return true;
	return outcome == JOBLOG_DONE;
}

static int put_in(struct resume_table *table, const char *key, size_t len,
		  enum joblog_outcome outcome)
{
	struct settled *s = find(table, key, len);

	if (s) {
		s->outcome = outcome;
		return 0;
	}
	s = malloc(sizeof(*s) + len);
	if (!s)
		return -ENOMEM;
	s->len = len;
	s->outcome = outcome;
	memcpy(s->key, key, len);
	if (!tsearch(s, &table->root, compare)) {
		free(s);
		return -ENOMEM;
	}
	table->keys++;
	return 0;
}

/* Returns the length of the key, or -1 if the line is not whole. */
static ssize_t parse_line(const char *line, size_t len, enum joblog_outcome *outcome,
			  char key[KWQ_KEY_MAX])
{
	const char *text;
	size_t text_len;
	ssize_t key_len;
	char *bytes;

	if (joblog_parse(line, len, outcome, &text))
		return -1;
	text_len = line + len - text;
	if (text_len >= ESCAPED_SIZE(KWQ_KEY_MAX))
		return -1;
	bytes = malloc(text_len);
	if (!bytes)
		return -1;
	key_len = unescape_text(bytes, text, text_len);
	if (key_len > KWQ_KEY_MAX)
		key_len = -1;
	if (key_len > 0)
		memcpy(key, bytes, key_len);
	free(bytes);
	return key_len;
}

static int read_line(struct resume_table *table, const char *line, size_t len,
		     enum resume_mode mode)
{
	enum joblog_outcome outcome;
	char key[KWQ_KEY_MAX];
	struct settled *s;
	ssize_t key_len;

	key_len = parse_line(line, len, &outcome, key);
	if (key_len < 0) {
		table->torn++;
		return 0;
	}
	if (is_skipped(mode, outcome))
		return put_in(table, key, key_len, outcome);
	s = find(table, key, key_len);
	if (s)
		take_out(table, s);
	return 0;
}

static int read_lines(struct resume_table *table, FILE *from, enum resume_mode mode)
{
	size_t room = 0, nr = 0, head = strlen(joblog_head);
	char *line = NULL;
	int err = 0;
	ssize_t len;

	while (!err && (len = getline(&line, &room, from)) >= 0) {
		if (!nr++) {
			if ((size_t)len != head + 1 || memcmp(line, joblog_head, head))
				err = -EBADMSG;
		} else if (line[len - 1] != '\n') {
			table->torn++;
		} else {
			err = read_line(table, line, len - 1, mode);
		}
	}
	if (!err && ferror(from))
		err = errno ? -errno : -EIO;
	free(line);
	return err;
}

int resume_read(struct resume_table *table, const char *path, enum resume_mode mode)
{
	struct stat st;
	FILE *from;
	int fd, err;

	/* Without O_NONBLOCK the open of a FIFO would wait. */
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return -EBADMSG;
	}
	from = fdopen(fd, "r");
	if (!from) {
		close(fd);
		return -ENOMEM;
	}
	err = read_lines(table, from, mode);
	fclose(from);
	return err;
}

bool resume_take(struct resume_table *table, const char *key, size_t len,
		 enum joblog_outcome *outcome)
{
	struct settled *s = find(table, key, len);

	if (!s)
		return false;
	*outcome = s->outcome;
	take_out(table, s);
	return true;
}

void resume_free(struct resume_table *table)
{
	tdestroy(table->root, free);
	table->root = NULL;
	table->keys = 0;
}
