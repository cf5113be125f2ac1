/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Collects the output of each job, so that outputs of concurrent jobs do not mix.
 */
#ifndef KWQ_OUTPUT_H
#define KWQ_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "journal.h"

enum output_mode {
	OUTPUT_GROUP,	/* into files, printed after the job has ended */
	OUTPUT_LINE,	/* through pipes, each line printed when complete */
	OUTPUT_PASS,	/* directly to our own stream */
	OUTPUT_JOURNAL,	/* as OUTPUT_LINE, but each line is an entry of the journal */
};

enum {
	OUTPUT_LINE_MAX = 16384,
	OUTPUT_TAIL = 4096,	/* the most that stream_tail() returns */
};

/* One of the two output streams of a job. */
struct stream {
	int fd;		/* the file, or our end of the pipe; -1 for none */
	int child_fd;	/* the job's end; -1 if the job has our own stream */
	int target;	/* STDOUT_FILENO or STDERR_FILENO */
	int err;	/* the error that made output incomplete, or 0 */
	int copy;	/* OUTPUT_LINE: the file of stream_copy(); -1 for none */
	uint64_t written;	/* the bytes of output in complete lines, without OUTPUT_GROUP */
	size_t filled;
	char *line;	/* OUTPUT_LINE: an incomplete line, up to OUTPUT_LINE_MAX */
	char *tail;	/* OUTPUT_LINE: the last bytes of the output, up to OUTPUT_TAIL */
	size_t tail_len;
	struct journal_job journal;	/* OUTPUT_JOURNAL: the fields of each line */
	bool to_journal;
	const char *tag;	/* printed before each line, with a tab; NULL: none */
	bool in_line;		/* with a tag: the line that was printed last has no end yet */
};

/* Whether the worker reads the output from pipes while the job runs. */
static inline bool output_is_piped(enum output_mode mode)
{
	return mode == OUTPUT_LINE || mode == OUTPUT_JOURNAL;
}

/* Opens the stream of a new job. Returns 0 or a negative errno value. */
int stream_open(struct stream *s, enum output_mode mode, int target);

/* Closes our copy of the job's end. Call after the job has started. */
void stream_started(struct stream *s);

/*
 * OUTPUT_LINE: reads once and writes all complete lines. Returns 0, 1 at the end of the
 * stream, or a negative errno value of a write. That error is returned once. Later
 * output is read and discarded, so that the job can continue.
 */
int stream_pump(struct stream *s);

/* Whether stream_flush() would write something. */
bool stream_has_output(const struct stream *s, enum output_mode mode);

/*
 * Call after the job has ended: writes the rest of its output. Later output of
 * background children is lost. Returns 0, or a negative errno value if any output of
 * the job, now or before, could not be written.
 */
int stream_flush(struct stream *s, enum output_mode mode);

/*
 * Opens a file beside those of OUTPUT_GROUP, for output_check_room(). Returns a descriptor or a
 * negative errno value.
 */
int output_open_room(void);

/*
 * Whether the file system has room for more output. Without room, output of a job may be missing:
 * a program that does not look at its own errors ends well all the same. Returns 0 or a negative
 * errno value.
 */
int output_check_room(int fd);

/*
 * The number of bytes that a job which has ended has printed; 0 with OUTPUT_PASS, where nobody
 * knows.
 */
uint64_t stream_bytes(const struct stream *s, enum output_mode mode);

/*
 * Copies the last whole lines of the output of a job that has ended, of at most OUTPUT_TAIL bytes;
 * of a longer line its end. Returns their length; 0 with OUTPUT_PASS.
 */
size_t stream_tail(const struct stream *s, enum output_mode mode, char to[OUTPUT_TAIL]);

/* The folder for the files of OUTPUT_GROUP. */
const char *output_folder(void);

/*
 * The file with the output of a job, as far as it was collected. With OUTPUT_LINE output is kept
 * from the first call on. Returns a descriptor that the stream owns, or a negative errno value:
 * -EOPNOTSUPP with OUTPUT_PASS.
 */
int stream_copy(struct stream *s, enum output_mode mode);

void stream_close(struct stream *s);

/*
 * Writes everything, in as many writes as needed. Returns 0 or a negative errno value;
 * -ECANCELED if the writes were given up.
 */
int write_all(int fd, const char *bytes, size_t len);

/* Waits as write_all() does, until @fd takes a write. Returns 0 or a negative errno value. */
int wait_until_writable(int fd);

/*
 * While write_all() waits for a reader, and before each piece, it calls @take if @fd is
 * readable. Once @take returns false, writes are given up: the present one and all
 * later ones fail instead of waiting.
 */
void write_watch(int fd, bool (*take)(void *arg), void *arg);

#endif /* KWQ_OUTPUT_H */
