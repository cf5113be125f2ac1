// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "journal.h"

#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "output.h"

enum { FIELDS_MAX = 8, PARTS_PER_FIELD = 4 };

static int journal = -1;
static const char *journal_identifier, *journal_queue;

/* A datagram of fields. Each is its name, a newline, its length, its bytes and a newline. */
struct entry {
	struct iovec parts[FIELDS_MAX * PARTS_PER_FIELD];
	uint64_t lengths[FIELDS_MAX];
	size_t nr_parts, nr_fields;
};

int journal_open(const char *path, const char *identifier, const char *queue)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd, err;

	if (strlen(path) >= sizeof(to.sun_path))
		return -ENAMETOOLONG;
	memcpy(to.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&to, sizeof(to))) {
		err = -errno;
		close(fd);
		return err;
	}
	journal_close();
	journal = fd;
	journal_identifier = identifier;
	journal_queue = queue;
	return 0;
}

void journal_close(void)
{
	if (journal >= 0)
		close(journal);
	journal = -1;
}

static void add_part(struct entry *entry, const void *bytes, size_t len)
{
	entry->parts[entry->nr_parts++] = (struct iovec){ (void *)bytes, len };
}

/* The value may have any bytes, also newlines. */
static void add_field(struct entry *entry, const char *name, const char *value, size_t len)
{
	uint64_t *length = &entry->lengths[entry->nr_fields++];

	*length = htole64(len);
	add_part(entry, name, strlen(name));
	add_part(entry, length, sizeof(*length));
	add_part(entry, value, len);
	add_part(entry, "\n", 1);
}

static void add_text(struct entry *entry, const char *name, const char *value)
{
	add_field(entry, name, value, strlen(value));
}

static int send_entry(const struct entry *entry)
{
	const struct msghdr header = {
		.msg_iov = (struct iovec *)entry->parts,
		.msg_iovlen = entry->nr_parts,
	};
	int err;

	for (;;) {
		err = wait_until_writable(journal);
		if (err)
			return err;
		if (sendmsg(journal, &header, MSG_NOSIGNAL) >= 0)
			return 0;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
}

int journal_send(const struct journal_job *job, int priority, const char *text, size_t len)
{
	char level[] = { '0' + priority, '\0' }, attempt[12], keys[12];
	struct entry entry = { 0 };

	snprintf(attempt, sizeof(attempt), "%u", job->attempt);
	add_field(&entry, "MESSAGE\n", text, len);
	add_text(&entry, "PRIORITY\n", level);
	add_text(&entry, "SYSLOG_IDENTIFIER\n", journal_identifier);
	add_text(&entry, "KWQ_QUEUE\n", journal_queue);
	add_field(&entry, "KWQ_KEY\n", job->key, job->key_len);
	if (job->keys > 1) {
		snprintf(keys, sizeof(keys), "%u", job->keys);
		add_text(&entry, "KWQ_KEYS\n", keys);
	}
	add_text(&entry, "KWQ_ATTEMPT\n", attempt);
	if (job->stream)
		add_text(&entry, "KWQ_STREAM\n", job->stream);
	return send_entry(&entry);
}

/* Takes a prefix such as <3> off the line. */
static int take_priority(const char **text, size_t *len)
{
	const char *line = *text;

	if (*len < 3 || line[0] != '<' || line[1] < '0' || line[1] > '7' || line[2] != '>')
		return LOG_INFO;
	*text += 3;
	*len -= 3;
	return line[1] - '0';
}

int journal_send_lines(const struct journal_job *job, const char *text, size_t len)
{
	const char *end = text + len, *line, *newline;
	int priority, err = 0;
	size_t line_len;

	for (line = text; line < end && !err; line = newline + 1) {
		newline = memchr(line, '\n', end - line);
		if (!newline)
			newline = end;
		text = line;
		line_len = newline - line;
		priority = take_priority(&text, &line_len);
		err = journal_send(job, priority, text, line_len);
	}
	return err;
}
