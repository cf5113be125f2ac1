/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The job log of kwq run: a line of tab-separated values for each finished job. The first nine
 * columns are those of GNU parallel.
 */
#ifndef KWQ_JOBLOG_H
#define KWQ_JOBLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The fate of the key. */
enum joblog_outcome {
	JOBLOG_DONE,
	JOBLOG_RETRY,
	JOBLOG_DEAD,
	JOBLOG_DROP,
	JOBLOG_RETURN,	/* back to the queue */
	JOBLOG_LOST,	/* another worker has it, or has finished it */
	JOBLOG_OUTCOMES,
};

struct joblog_entry {
	unsigned long long seq;
	uint64_t started;	/* ns since 1970 */
	uint64_t runtime;	/* ns */
	uint64_t sent, received;	/* bytes of standard input and output */
	int exit;		/* -1 if a signal ended the job */
	int signal;		/* 0 if no signal ended the job */
	char **command;		/* the words, ended by NULL */
	unsigned int attempt;	/* from 1 */
	unsigned int abandoned;
	enum joblog_outcome outcome;
	const char *key;
	size_t key_len;
};

/* The first line, without its newline. */
extern const char joblog_head[];

/* Its columns. */
enum {
	JOBLOG_SEQ, JOBLOG_HOST, JOBLOG_STARTED, JOBLOG_RUNTIME, JOBLOG_SENT, JOBLOG_RECEIVED,
	JOBLOG_EXIT, JOBLOG_SIGNAL, JOBLOG_COMMAND, JOBLOG_ATTEMPT, JOBLOG_ABANDONED,
	JOBLOG_OUTCOME, JOBLOG_KEY, JOBLOG_COLUMNS,
};

struct joblog_column {
	const char *text;	/* not ended by NUL */
	size_t len;
};

/*
 * Opens the log for appending, and writes the header line if the log is empty. Ends a last line
 * that was torn. Returns the descriptor or a negative errno value.
 */
int joblog_open(const char *path);

/* Prints the line. */
void joblog_print(FILE *to, const struct joblog_entry *entry);

/*
 * Appends bytes to a log with one write, so that several processes can share it: all or, on a
 * full disk, none. Returns 0 or a negative errno value.
 */
int joblog_append(int fd, const char *bytes, size_t len);

/* Splits a line, without its newline. Returns false for one that is not whole. */
bool joblog_split(const char *line, size_t len, struct joblog_column columns[JOBLOG_COLUMNS]);

/*
 * Parses a line of @len bytes, without its newline. *key receives the key, as escape_text()
 * wrote it: the rest of the line. Returns 0, or -EINVAL for a line that is not whole.
 */
int joblog_parse(const char *line, size_t len, enum joblog_outcome *outcome, const char **key);

#endif /* KWQ_JOBLOG_H */
