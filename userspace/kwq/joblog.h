/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The log of kwq run: a line of tab-separated values for each job that ended,
 * much as GNU parallel writes it.
 */
#ifndef KWQ_JOBLOG_H
#define KWQ_JOBLOG_H

#include <stddef.h>
#include <stdint.h>

struct joblog_entry {
	unsigned long long seq;
	uint64_t started;	/* ns since 1970 */
	uint64_t runtime;	/* ns */
	int exit;		/* -1 where a signal ended it */
	int signal;		/* 0 where none did */
	unsigned int attempt;	/* from 1 */
	unsigned int abandoned;
	const char *key;
	size_t key_len;
};

/*
 * Opens it to append, with a head line if it is empty. Returns the descriptor or
 * a negative errno value.
 */
int joblog_open(const char *path);

/*
 * Each line in one write, so that several processes may have one log. Of a line
 * that cannot be written nothing stays there.
 */
int joblog_write(int fd, const struct joblog_entry *entry);

#endif /* KWQ_JOBLOG_H */
