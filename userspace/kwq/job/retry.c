// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "retry.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct retry_entry {
	struct retry_entry *next_in_bucket;
	struct retry_entry *older, *newer;	/* by the last failure */
	size_t len;
	unsigned int failures;
	char key[];
};

/* FNV-1a, without a secret: colliding keys slow down only the queue that they are in. */
static size_t bucket_of(const char *key, size_t len)
{
	uint32_t hash = 2166136261u;

	while (len--)
		hash = (hash ^ (unsigned char)*key++) * 16777619u;
	return hash % RETRY_BUCKETS;
}

static struct retry_entry *find(const struct retry_table *table, const char *key,
				size_t len)
{
	struct retry_entry *e = table->buckets[bucket_of(key, len)];

	while (e && (e->len != len || memcmp(e->key, key, len)))
		e = e->next_in_bucket;
	return e;
}

static void unlink_age(struct retry_table *table, struct retry_entry *e)
{
	*(e->older ? &e->older->newer : &table->oldest) = e->newer;
	*(e->newer ? &e->newer->older : &table->newest) = e->older;
}

static void link_newest(struct retry_table *table, struct retry_entry *e)
{
	e->older = table->newest;
	e->newer = NULL;
	*(e->older ? &e->older->newer : &table->oldest) = e;
	table->newest = e;
}

static void forget(struct retry_table *table, struct retry_entry *e)
{
	struct retry_entry **link = &table->buckets[bucket_of(e->key, e->len)];

	while (*link != e)
		link = &(*link)->next_in_bucket;
	*link = e->next_in_bucket;
	unlink_age(table, e);
	table->nr--;
	table->bytes -= e->len;
	free(e);
}

static struct retry_entry *insert(struct retry_table *table, const char *key,
				  size_t len)
{
	struct retry_entry **bucket = &table->buckets[bucket_of(key, len)];
	struct retry_entry *e;

	while (table->oldest && (table->nr == RETRY_KEYS_MAX ||
				 table->bytes + len > RETRY_BYTES_MAX))
		forget(table, table->oldest);

	e = malloc(sizeof(*e) + len);
	if (!e)
		return NULL;
	e->len = len;
	e->failures = 0;
	memcpy(e->key, key, len);
	e->next_in_bucket = *bucket;
	*bucket = e;
	link_newest(table, e);
	table->nr++;
	table->bytes += len;
	return e;
}

unsigned int retry_count(const struct retry_table *table, const char *key, size_t len)
{
	const struct retry_entry *e = find(table, key, len);

	return e ? e->failures : 0;
}

unsigned int retry_fail(struct retry_table *table, const char *key, size_t len)
{
	struct retry_entry *e = find(table, key, len);

	if (e) {
		unlink_age(table, e);
		link_newest(table, e);
	} else {
		e = insert(table, key, len);
		if (!e)
			return 1;
	}
	if (e->failures < UINT_MAX)
		e->failures++;
	return e->failures;
}

void retry_forget(struct retry_table *table, const char *key, size_t len)
{
	struct retry_entry *e = find(table, key, len);

	if (e)
		forget(table, e);
}

void retry_forget_all(struct retry_table *table)
{
	while (table->oldest)
		forget(table, table->oldest);
}

uint64_t retry_delay(unsigned int failures, uint64_t base, uint64_t max)
{
	while (--failures && base < max) {
		/* Doubling would exceed max, and perhaps 64 bits. */
		if (base > max / 2)
			return max;
		/* Without this, a base of 0 would loop once per failure. */
		if (!base)
			return 0;
		base *= 2;
	}
	return base < max ? base : max;
}

uint64_t retry_jitter(uint64_t delay, uint32_t random)
{
	/* Two factors of 32 bits at most. */
	uint64_t more = delay / 4 < UINT32_MAX ? delay / 4 * random >> 32 :
						 (delay / 4 >> 32) * random;

	return more < UINT64_MAX - delay ? delay + more : UINT64_MAX;
}
