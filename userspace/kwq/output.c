// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int write_all(int fd, const char *bytes, size_t len)
{
	ssize_t written;

	while (len) {
		written = write(fd, bytes, len);
		if (written < 0 && errno == EAGAIN) {
			/* Somebody made our output non-blocking. */
			struct pollfd p = { .fd = fd, .events = POLLOUT };

			poll(&p, 1, -1);
			continue;
		}
		if (written < 0 && errno != EINTR)
			return -errno;
		if (written > 0) {
			bytes += written;
			len -= written;
		}
	}
	return 0;
}

/* A file without a name: on disk, so that large output does not fill the memory. */
static int open_temporary(void)
{
	const char *folder = getenv("TMPDIR");
	char path[4096];
	int fd;

	if (!folder || !*folder)
		folder = "/tmp";
	fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;

	/* Not every file system can do that. */
	if (snprintf(path, sizeof(path), "%s/kwq-run-XXXXXX", folder) < (int)sizeof(path)) {
		fd = mkostemp(path, O_CLOEXEC);
		if (fd >= 0) {
			unlink(path);
			return fd;
		}
	}
	/* No folder to write to: memory it is. */
	fd = memfd_create("kwq-run", MFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_file(struct stream *s)
{
	int fd = open_temporary();

	if (fd < 0)
		return fd;
	s->fd = fd;
	s->child_fd = fd;
	return 0;
}

static int open_pipe(struct stream *s)
{
	int ends[2];

	if (!s->line) {
		s->line = malloc(OUTPUT_LINE_MAX);
		if (!s->line)
			return -ENOMEM;
	}
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	/* Ours alone: the job's end is a file description of its own. */
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	s->fd = ends[0];
	s->child_fd = ends[1];
	return 0;
}

int stream_open(struct stream *s, enum output_mode mode, int target)
{
	s->fd = -1;
	s->child_fd = -1;
	s->target = target;
	s->filled = 0;
	switch (mode) {
	case OUTPUT_GROUP:
		return open_file(s);
	case OUTPUT_LINE:
		return open_pipe(s);
	default:
		return 0;
	}
}

void stream_started(struct stream *s)
{
	if (s->child_fd >= 0 && s->child_fd != s->fd)
		close(s->child_fd);
	s->child_fd = -1;
}

/* Writes up to the last newline, and keeps the rest for the next time. */
static int write_lines(struct stream *s)
{
	const char *newline = memrchr(s->line, '\n', s->filled);
	size_t len = newline ? (size_t)(newline + 1 - s->line) : 0;
	int err;

	/* A line that is longer than the room goes out in pieces. */
	if (!len && s->filled == OUTPUT_LINE_MAX)
		len = s->filled;
	err = write_all(s->target, s->line, len);
	memmove(s->line, s->line + len, s->filled - len);
	s->filled -= len;
	return err;
}

int stream_pump(struct stream *s)
{
	ssize_t got = read(s->fd, s->line + s->filled, OUTPUT_LINE_MAX - s->filled);

	if (got > 0) {
		s->filled += got;
		return write_lines(s);
	}
	return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : 1;
}

static int bytes_in_pipe(int fd)
{
	int nr;

	return ioctl(fd, FIONREAD, &nr) ? 0 : nr;
}

/* What lies in the pipe now, and the last line even without a newline. */
static int flush_pipe(struct stream *s)
{
	/* A child left behind may go on writing: take what is there, no more. */
	int left = bytes_in_pipe(s->fd);
	int ret = 0;

	while (left > 0 && !ret) {
		left -= (int)(OUTPUT_LINE_MAX - s->filled);
		ret = stream_pump(s);
	}
	if (s->filled && ret >= 0) {
		/* The newline that keeps the next job's line off this one. */
		ret = write_all(s->target, s->line, s->filled);
		if (!ret)
			ret = write_all(s->target, "\n", 1);
		s->filled = 0;
	}
	return ret < 0 ? ret : 0;
}

static int flush_file(struct stream *s)
{
	char buffer[65536];
	off_t at = 0;
	ssize_t got;
	int err;

	while ((got = pread(s->fd, buffer, sizeof(buffer), at)) > 0) {
		err = write_all(s->target, buffer, got);
		if (err)
			return err;
		at += got;
	}
	return 0;
}

bool stream_has_output(const struct stream *s, enum output_mode mode)
{
	struct stat st;

	if (s->fd < 0)
		return false;
	if (mode == OUTPUT_GROUP)
		return fstat(s->fd, &st) || st.st_size;
	return s->filled || bytes_in_pipe(s->fd);
}

int stream_flush(struct stream *s, enum output_mode mode)
{
	if (s->fd < 0)
		return 0;
	return mode == OUTPUT_GROUP ? flush_file(s) : flush_pipe(s);
}

void stream_close(struct stream *s)
{
	stream_started(s);
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}
