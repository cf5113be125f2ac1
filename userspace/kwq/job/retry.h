/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A bounded table of the keys that have failed in this process, with their numbers of
 * failures. A key is in the table from its first failure until it succeeds. If the
 * table is full, the key with the oldest last failure is removed. That key starts over
 * with the shortest delay.
 */
#ifndef KWQ_RETRY_H
#define KWQ_RETRY_H

#include <stddef.h>
#include <stdint.h>

enum {
	RETRY_KEYS_MAX = 1 << 16,
	RETRY_BYTES_MAX = 1 << 24,	/* of keys */
	RETRY_BUCKETS = 1 << 14,
};

struct retry_entry;

/* A zeroed table is empty. */
struct retry_table {
	struct retry_entry *buckets[RETRY_BUCKETS];
	struct retry_entry *oldest, *newest;
	size_t nr, bytes;
};

/* The number of failures so far. */
unsigned int retry_count(const struct retry_table *table, const char *key, size_t len);

/* Adds one failure. Returns the new number; 1 also if memory for the key is missing. */
unsigned int retry_fail(struct retry_table *table, const char *key, size_t len);

void retry_forget(struct retry_table *table, const char *key, size_t len);

void retry_forget_all(struct retry_table *table);

/*
 * The delay after a number of failures: @base after the first, doubled with each
 * further one, up to @max.
 */
uint64_t retry_delay(unsigned int failures, uint64_t base, uint64_t max);

/*
 * The delay, longer by a part of a quarter that is as large as @random is among its numbers. Keys
 * that failed together, because of a server that they all need, do not come back together then.
 */
uint64_t retry_jitter(uint64_t delay, uint32_t random);

#endif /* KWQ_RETRY_H */
