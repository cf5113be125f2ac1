// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <stdint.h>
#include <stdlib.h>

#include "base/cmd.h"
#include "kwq/job/retry.h"
#include "tap.h"

static struct retry_table table;

static const struct {
	unsigned int failures;
	uint64_t base, max, delay;
} delays[] = {
	{ 1, 1000, 300000, 1000 },
	{ 2, 1000, 300000, 2000 },
	{ 3, 1000, 300000, 4000 },
	{ 9, 1000, 300000, 256000 },
	{ 10, 1000, 300000, 300000 },
	{ UINT32_MAX, 1000, 300000, 300000 },
	{ 1, 5000, 5000, 5000 },
	{ 5, 5000, 5000, 5000 },
	{ 4, 1, UINT64_MAX, 8 },
	{ 64, 1, UINT64_MAX, UINT64_C(1) << 63 },
	{ 65, 1, UINT64_MAX, UINT64_MAX },
	{ 2, UINT64_C(1) << 63, UINT64_MAX, UINT64_MAX },
	{ 100, 0, 300000, 0 },
	{ UINT32_MAX, 0, UINT64_MAX, 0 },
};

static void test_delays(void)
{
	char what[100];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(delays); i++) {
		snprintf(what, sizeof(what), "delay after %u failures, base %llu",
			 delays[i].failures, (unsigned long long)delays[i].base);
		is_number(retry_delay(delays[i].failures, delays[i].base, delays[i].max),
			  delays[i].delay, what);
	}
}

static void test_counting(void)
{
	is_number(retry_count(&table, "a", 1), 0, "a new key has not failed");
	is_number(retry_fail(&table, "a", 1), 1, "first failure");
	is_number(retry_fail(&table, "a", 1), 2, "second failure");
	is_number(retry_count(&table, "a", 1), 2, "two are counted");
	is_number(retry_count(&table, "a\0", 2), 0, "a longer key is another");
	is_number(retry_fail(&table, "a\0b", 3), 1, "a key with a NUL");
	is_number(retry_count(&table, "a\0c", 3), 0, "is told from others");
	retry_forget(&table, "a", 1);
	is_number(retry_count(&table, "a", 1), 0, "forgotten on success");
	is_number(retry_count(&table, "a\0b", 3), 1, "and no other");
	retry_forget(&table, "never", 5);
	retry_forget_all(&table);
	ok(!table.nr && !table.bytes && !table.oldest && !table.newest,
	   "all forgotten: an empty table");
}

/* Compares with a plain array over many random steps. */
static void test_against_model(void)
{
	enum { KEYS = 50, STEPS = 20000 };
	unsigned int model[KEYS] = { 0 };
	bool good = true;
	int i;

	srand(1);
	for (i = 0; i < STEPS && good; i++) {
		unsigned int k = rand() % KEYS;
		char key[16];
		size_t len = snprintf(key, sizeof(key), "key %u", k);

		if (rand() % 5) {
			good = retry_fail(&table, key, len) == ++model[k];
		} else {
			retry_forget(&table, key, len);
			model[k] = 0;
		}
		good = good && retry_count(&table, key, len) == model[k];
	}
	ok(good, "counts as an array would");
	retry_forget_all(&table);
}

/* U6: keys that failed together do not come back together, but none comes early. */
static void test_jitter(void)
{
	is_number(retry_jitter(1000, 0), 1000, "never early");
	is_number(retry_jitter(1000, UINT32_MAX), 1249, "and at most a quarter late");
	is_number(retry_jitter(1000, UINT32_MAX / 2), 1124, "or between");
	is_number(retry_jitter(0, UINT32_MAX), 0, "no delay stays none");
	ok(retry_jitter(UINT64_MAX - 1, UINT32_MAX) == UINT64_MAX, "the longest one does not wrap");
}

static void test_bounds(void)
{
	static char key[4096];
	size_t i, len;

	for (i = 0; i < RETRY_KEYS_MAX; i++) {
		len = snprintf(key, sizeof(key), "%zu", i);
		retry_fail(&table, key, len);
	}
	is_number(table.nr, RETRY_KEYS_MAX, "as many keys as allowed");
	retry_fail(&table, "0", 1);	/* now the newest */
	retry_fail(&table, "one more", 8);
	is_number(table.nr, RETRY_KEYS_MAX, "and not one more");
	is_number(retry_count(&table, "1", 1), 0, "the one that failed longest ago went");
	is_number(retry_count(&table, "0", 1), 2, "not one that failed again since");
	is_number(retry_count(&table, "2", 1), 1, "nor the next");
	is_number(retry_count(&table, "one more", 8), 1, "the new one is there");
	retry_forget_all(&table);

	for (i = 0; i < RETRY_BYTES_MAX / sizeof(key) + 10; i++) {
		memcpy(key, &i, sizeof(i));
		retry_fail(&table, key, sizeof(key));
	}
	is_number(table.bytes, RETRY_BYTES_MAX, "no more bytes than allowed");
	is_number(retry_count(&table, key, sizeof(key)), 1, "the newest is there");
	retry_forget_all(&table);
	is_number(table.bytes, 0, "nothing is left");
}

int main(void)
{
	test_delays();
	test_jitter();
	test_counting();
	test_against_model();
	test_bounds();
	return done_testing();
}
