// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The arguments of write_watch(), and whether later writes are given up. */
static struct {
	int fd;
	bool (*take)(void *arg);
	void *arg;
	bool given_up;
} watched = { .fd = -1 };

void write_watch(int fd, bool (*take)(void *arg), void *arg)
{
	watched.fd = fd;
	watched.take = take;
	watched.arg = arg;
	watched.given_up = false;
}

int wait_until_writable(int fd)
{
	struct pollfd p[] = {
		{ .fd = fd, .events = POLLOUT },
		{ .fd = watched.fd, .events = POLLIN },
	};

	for (;;) {
		if (poll(p, 2, watched.given_up ? 0 : -1) < 0) {
			if (errno != EINTR)
				return -errno;
			continue;
		}
		/* take() may itself write, and give up inside that write. Only the flag
		 * tells.
		 */
		if (p[1].revents && !watched.given_up && !watched.take(watched.arg))
			watched.given_up = true;
		/* Also for POLLERR: write() reports the error. */
		if (p[0].revents)
			return 0;
		if (watched.given_up)
			return -ECANCELED;
	}
}

/* A regular file never makes a write wait, and no signal interrupts the write. */
static bool is_regular(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode);
}

int write_all(int fd, const char *bytes, size_t len)
{
	/* poll() reports a pipe as writable when it takes PIPE_BUF bytes at once. */
	size_t piece = is_regular(fd) ? len : PIPE_BUF;
	ssize_t written;
	int err;

	while (len) {
		/* Checked before each piece, for a disk too: many pieces take time, and
		 * the leases must be extended meanwhile.
		 */
		err = wait_until_writable(fd);
		if (err)
			return err;
		written = write(fd, bytes, len < piece ? len : piece);
		if (written < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		if (written > 0) {
			bytes += written;
			len -= written;
		}
	}
	return 0;
}

uint64_t stream_bytes(const struct stream *s, enum output_mode mode)
{
	struct stat st;

	if (mode != OUTPUT_GROUP)
		return s->written;
	return s->fd >= 0 && !fstat(s->fd, &st) ? st.st_size : 0;
}

const char *output_folder(void)
{
	const char *folder = getenv("TMPDIR");

	return folder && *folder ? folder : "/tmp";
}

/* Opens an unnamed file on disk, so that large output does not fill the memory. */
static int open_temporary(void)
{
	const char *folder = output_folder();
	char path[4096];
	int fd;

	fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;

	/* Not every file system supports O_TMPFILE. */
	if (snprintf(path, sizeof(path), "%s/kwq-run-XXXXXX", folder) < (int)sizeof(path)) {
		fd = mkostemp(path, O_CLOEXEC);
		if (fd >= 0) {
			unlink(path);
			return fd;
		}
	}
	/* No writable folder: fall back to memory. */
	fd = memfd_create("kwq-run", MFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int output_open_room(void)
{
	return open_temporary();
}

int output_check_room(int fd)
{
	/* So far from the begin, a file system needs a block for it. The first bytes of a file may
	 * have a place in its inode.
	 */
	enum { FAR = 1 << 16 };

	if (pwrite(fd, "", 1, FAR) != 1)
		return -errno;
	return ftruncate(fd, 0) ? -errno : 0;
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

	/* Both stay for the next job of the slot. */
	if (!s->line)
		s->line = malloc(OUTPUT_LINE_MAX);
	if (!s->tail)
		s->tail = malloc(OUTPUT_TAIL);
	if (!s->line || !s->tail)
		return -ENOMEM;
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	/* Only our end is non-blocking: the job's end is a file description of its own. */
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
	s->to_journal = mode == OUTPUT_JOURNAL;
	s->tag = NULL;
	s->in_line = false;
	s->err = 0;
	s->copy = -1;
	s->written = 0;
	s->filled = 0;
	s->tail_len = 0;
	switch (mode) {
	case OUTPUT_GROUP:
		return open_file(s);
	case OUTPUT_LINE:
	case OUTPUT_JOURNAL:
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

/* Collects pieces into writes of a good size. */
struct pieces {
	int fd, err;
	size_t filled;
	char bytes[16384];
};

static void write_pieces(struct pieces *pieces)
{
	if (!pieces->err)
		pieces->err = write_all(pieces->fd, pieces->bytes, pieces->filled);
	pieces->filled = 0;
}

static void add_piece(struct pieces *pieces, const char *bytes, size_t len)
{
	size_t part;

	for (; len; bytes += part, len -= part) {
		if (pieces->filled == sizeof(pieces->bytes))
			write_pieces(pieces);
		part = sizeof(pieces->bytes) - pieces->filled;
		part = len < part ? len : part;
		memcpy(pieces->bytes + pieces->filled, bytes, part);
		pieces->filled += part;
	}
}

/* Puts the tag before each line. */
static int write_tagged(struct stream *s, const char *bytes, size_t len)
{
	struct pieces pieces = { .fd = s->target };
	const char *end = bytes + len, *newline, *next;

	for (; bytes < end; bytes = next) {
		newline = memchr(bytes, '\n', end - bytes);
		next = newline ? newline + 1 : end;
		if (!s->in_line) {
			add_piece(&pieces, s->tag, strlen(s->tag));
			add_piece(&pieces, "\t", 1);
		}
		add_piece(&pieces, bytes, next - bytes);
		s->in_line = !newline;
	}
	write_pieces(&pieces);
	return pieces.err;
}

static void keep_tail(struct stream *s, const char *bytes, size_t len)
{
	size_t kept;

	if (len >= OUTPUT_TAIL) {
		bytes += len - OUTPUT_TAIL;
		len = OUTPUT_TAIL;
	}
	kept = s->tail_len + len <= OUTPUT_TAIL ? s->tail_len : OUTPUT_TAIL - len;
	memmove(s->tail, s->tail + s->tail_len - kept, kept);
	memcpy(s->tail + kept, bytes, len);
	s->tail_len = kept + len;
}

/* After an error nothing more is written: output after a gap would hide the gap. */
static int stream_write(struct stream *s, const char *bytes, size_t len)
{
	s->written += len;
	if (s->tail)
		keep_tail(s, bytes, len);
	if (s->err)
		return 0;
	if (s->to_journal)
		s->err = journal_send_lines(&s->journal, bytes, len);
	else if (s->tag)
		s->err = write_tagged(s, bytes, len);
	else
		s->err = write_all(s->target, bytes, len);
	return s->err;
}

/* Writes up to the last newline. Keeps the rest for the next call. */
static int write_lines(struct stream *s)
{
	const char *newline = memrchr(s->line, '\n', s->filled);
	size_t len = newline ? (size_t)(newline + 1 - s->line) : 0;
	int err;

	/* A line longer than the buffer is written in pieces. */
	if (!len && s->filled == OUTPUT_LINE_MAX)
		len = s->filled;
	err = stream_write(s, s->line, len);
	memmove(s->line, s->line + len, s->filled - len);
	s->filled -= len;
	return err;
}

/* An error ends the copy early. The output itself is not affected. */
static void copy(struct stream *s, const char *bytes, size_t len)
{
	if (s->copy >= 0 && write(s->copy, bytes, len) != (ssize_t)len) {
		close(s->copy);
		s->copy = -1;
	}
}

int stream_pump(struct stream *s)
{
	ssize_t got = read(s->fd, s->line + s->filled, OUTPUT_LINE_MAX - s->filled);

	if (got > 0) {
		copy(s, s->line + s->filled, got);
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

/* Writes the present content of the pipe, and the last line even without a newline. */
static int flush_pipe(struct stream *s)
{
	/* A background child may keep writing: read only the bytes that are there now. */
	int left = bytes_in_pipe(s->fd);
	int ret = 0;

	while (left > 0 && !ret) {
		left -= (int)(OUTPUT_LINE_MAX - s->filled);
		ret = stream_pump(s);
	}
	if (s->filled) {
		stream_write(s, s->line, s->filled);
		s->filled = 0;
		if (s->to_journal)
			return s->err;
		/* Terminate the line, so that the next job's output begins on a new
		 * one.
		 */
		stream_write(s, "\n", 1);
	}
	return s->err;
}

static int flush_file(struct stream *s)
{
	char buffer[65536];
	off_t at = 0;
	ssize_t got;

	while (!s->err && (got = pread(s->fd, buffer, sizeof(buffer), at))) {
		if (got < 0) {
			s->err = -errno;
			break;
		}
		stream_write(s, buffer, got);
		at += got;
	}
	/* The tag of the next job begins a line. */
	if (s->in_line && !s->err) {
		s->err = write_all(s->target, "\n", 1);
		s->in_line = false;
	}
	return s->err;
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

static size_t read_tail(int fd, char to[OUTPUT_TAIL])
{
	struct stat st;
	ssize_t got;

	if (fd < 0 || fstat(fd, &st))
		return 0;
	got = pread(fd, to, OUTPUT_TAIL, st.st_size > OUTPUT_TAIL ? st.st_size - OUTPUT_TAIL : 0);
	return got < 0 ? 0 : got;
}

size_t stream_tail(const struct stream *s, enum output_mode mode, char to[OUTPUT_TAIL])
{
	const char *newline;
	size_t len, part;

	if (output_is_piped(mode)) {
		len = s->tail_len;
		memcpy(to, s->tail, len);
	} else {
		len = read_tail(s->fd, to);
	}
	/* More came before, so the first line may lack its begin. */
	newline = len == OUTPUT_TAIL ? memchr(to, '\n', len - 1) : NULL;
	if (!newline)
		return len;
	part = newline + 1 - to;
	memmove(to, to + part, len - part);
	return len - part;
}

int stream_copy(struct stream *s, enum output_mode mode)
{
	if (mode == OUTPUT_GROUP)
		return s->fd;
	if (!output_is_piped(mode))
		return -EOPNOTSUPP;
	if (s->copy < 0)
		s->copy = open_temporary();
	return s->copy;
}

void stream_close(struct stream *s)
{
	stream_started(s);
	if (s->copy >= 0)
		close(s->copy);
	s->copy = -1;
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}
