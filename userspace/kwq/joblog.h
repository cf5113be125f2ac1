/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The job log of kwq run: a line of tab-separated values for each finished job, similar
 * to that of GNU parallel.
 */
#ifndef KWQ_JOBLOG_H
#define KWQ_JOBLOG_H

#include <stddef.h>
#include <stdint.h>

struct joblog_entry {
	unsigned long long seq;
	uint64_t started;	/* ns since 1970 */
	uint64_t runtime;	/* ns */
	int exit;		/* -1 if a signal ended the job */
	int signal;		/* 0 if no signal ended the job */
	unsigned int attempt;	/* from 1 */
	unsigned int abandoned;
	const char *key;
	size_t key_len;
};

/*
 * Opens the log for appending, and writes the header line if the log is empty. Returns
 * the descriptor or a negative errno value.
 */
int joblog_open(const char *path);

/*
 * Writes a line with one write, so that several processes can share a log. If the write
 * fails, no part of the line remains.
 */
int joblog_write(int fd, const struct joblog_entry *entry);

#endif /* KWQ_JOBLOG_H */
