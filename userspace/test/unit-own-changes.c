// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * U5: which changes of a file kwq watch-files --ignore-own takes for those of its job.
 */
#include <stdint.h>

#include "kwq/watch/own_changes.h"
#include "tap.h"

enum { QUIET = 1000 };

/* Where the keys of all paths are. */
static enum own_key where;
static unsigned int looks;

static enum own_key look(void *arg, const char *path)
{
	(void)arg;
	(void)path;
	looks++;
	return where;
}

static struct own_changes own = { .quiet = QUIET, .look = look };

static void has(bool wanted, uint64_t now, const char *what)
{
	ok(own_changes_has(&own, "a", now) == wanted, "%s", what);
}

/* Adds a path whose job begins and ends, as the last look sees them. */
static void add(enum own_key is)
{
	where = is;
	own_changes_note(&own, "a");
	own_changes_added(&own);
}

static void test_job(void)
{
	where = OWN_OVER;
	has(false, 1, "a change of a file that has no key");
	own_changes_note(&own, "a");
	has(false, 2, "a second one, before the first is added");
	own_changes_added(&own);
	where = OWN_READY;
	has(false, 3, "a change before the job has begun");
	where = OWN_AT_WORK;
	has(true, 4, "one while it runs");
	own_changes_look(&own, 5);
	where = OWN_OVER;
	own_changes_look(&own, 100);
	has(true, 100 + QUIET - 1, "one in the quiet time after it");
	has(false, 100 + QUIET, "one later");
	own_changes_look(&own, 100 + QUIET);
	is_number(own.nr, 0, "a path is forgotten then");
}

/* The event of a change may be read when a short job has ended, before any look at it. */
static void test_short_job(void)
{
	add(OWN_OVER);
	has(true, 500, "a change of a job that nobody has seen");
	has(false, 500 + QUIET, "the quiet time begins when its end is seen");
	add(OWN_OVER);
	has(true, 501 + QUIET, "and again for the job of that change");
	own_changes_look(&own, 501 + 2 * QUIET);
	is_number(own.nr, 0, "a path is forgotten then");
}

static void test_second_run(void)
{
	add(OWN_OVER);
	own_changes_look(&own, 1);
	add(OWN_READY);
	has(false, 2, "a change before the next job, in the quiet time after the last");
	where = OWN_AT_WORK;
	has(true, 3, "and one of the next job");
	where = OWN_OVER;
	own_changes_look(&own, 4);
	own_changes_look(&own, 4 + QUIET);
	is_number(own.nr, 0, "a path is forgotten then");
}

static void test_foreign_add(void)
{
	where = OWN_AT_WORK;
	has(true, 1, "a job whose key another program has added");
	where = OWN_OVER;
	has(true, 2, "and the quiet time after it");
	own_changes_look(&own, 2 + QUIET);
	is_number(own.nr, 0, "a path is forgotten then");
}

static void test_many(void)
{
	char path[20];
	int i;

	where = OWN_READY;
	for (i = 0; i < 10000; i++) {
		snprintf(path, sizeof(path), "%d", i);
		own_changes_note(&own, path);
	}
	own_changes_added(&own);
	is_number(own.nr, 10000, "many paths");
	looks = 0;
	own_changes_look(&own, 1);
	ok(looks >= OWN_LOOKS && looks < OWN_LOOKS + 100, "few are looked at each time");
	where = OWN_OVER;
	for (i = 0; i < 10000 / OWN_LOOKS + OWN_BUCKETS; i++)
		own_changes_look(&own, 2);
	for (i = 0; i < OWN_BUCKETS && own.nr; i++)
		own_changes_look(&own, 2 + QUIET);
	is_number(own.nr, 0, "and all in the end");
}

int main(void)
{
	test_job();
	test_short_job();
	test_second_run();
	test_foreign_add();
	test_many();
	return done_testing();
}
