/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Where the output of a job goes, so that the outputs of several do not mix.
 */
#ifndef KWQ_OUTPUT_H
#define KWQ_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

enum output_mode {
	OUTPUT_GROUP,	/* into files; all of it once the job has ended */
	OUTPUT_LINE,	/* through pipes; each line when it is complete */
	OUTPUT_PASS,	/* straight to ours */
};

enum { OUTPUT_LINE_MAX = 16384 };

/* One of a job's two streams. */
struct stream {
	int fd;		/* the file, or our end of the pipe; -1 for none */
	int child_fd;	/* what the job writes to; -1 for our own stream */
	int target;	/* STDOUT_FILENO or STDERR_FILENO */
	int err;	/* why some of the output is missing there; else 0 */
	size_t filled;
	char *line;	/* OUTPUT_LINE: what is there of one, of OUTPUT_LINE_MAX */
};

/* Opens what a new job needs. Returns 0 or a negative errno value. */
int stream_open(struct stream *s, enum output_mode mode, int target);

/* To be called once the job has started: our copy of its end goes. */
void stream_started(struct stream *s);

/*
 * OUTPUT_LINE: reads once and writes the lines that are complete now. Returns 0,
 * 1 at the end of the stream, or a negative errno value of the writing. That is
 * told once; what comes after it is read, so that the job goes on, and dropped.
 */
int stream_pump(struct stream *s);

/* Whether stream_flush() would write something. */
bool stream_has_output(const struct stream *s, enum output_mode mode);

/*
 * The job has ended: writes what is left of its output. What its children, if it
 * left any behind, write later is lost. Returns 0, or a negative errno value:
 * some output is missing, from now or from before.
 */
int stream_flush(struct stream *s, enum output_mode mode);

void stream_close(struct stream *s);

/*
 * All of it, however often it takes. Returns 0 or a negative errno value, which is
 * -ECANCELED where the writes were given up.
 */
int write_all(int fd, const char *bytes, size_t len);

/*
 * While write_all() waits for a reader, and before each piece that it writes, it calls
 * @take when @fd is readable. When that returns false the writes are given up: this one,
 * and all later ones, fail where they would have to wait.
 */
void write_watch(int fd, bool (*take)(void *arg), void *arg);

#endif /* KWQ_OUTPUT_H */
