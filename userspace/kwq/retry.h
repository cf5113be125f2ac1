/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * How often each key has failed in this process: a bounded table. A key is in it
 * from its first failure until it succeeds. Where there is no room the key that
 * failed longest ago is forgotten; it then starts over with the shortest delay.
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

/* All zero: an empty one. */
struct retry_table {
	struct retry_entry *buckets[RETRY_BUCKETS];
	struct retry_entry *oldest, *newest;
	size_t nr, bytes;
};

/* Failures so far. */
unsigned int retry_count(const struct retry_table *table, const char *key, size_t len);

/*
 * One failure more. Returns how many it are now; 1 also where there is no memory
 * to remember it.
 */
unsigned int retry_fail(struct retry_table *table, const char *key, size_t len);

void retry_forget(struct retry_table *table, const char *key, size_t len);

void retry_forget_all(struct retry_table *table);

/* @base after the first failure, doubled with each further one, @max at most. */
uint64_t retry_delay(unsigned int failures, uint64_t base, uint64_t max);

#endif /* KWQ_RETRY_H */
