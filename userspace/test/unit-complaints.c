// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <stdio.h>
#include <string.h>

#include "share/machine/complaints.h"
#include "tap.h"

#define S UINT64_C(1000000000)
/* A machine may just have started. */
#define BEGIN (1 * S)

/* Checks that @wanted is due at a time, or nothing if that is NULL. */
static void due(struct complaints *c, uint64_t at, const char *wanted, const char *what)
{
	const char *got = complaints_due(c, BEGIN + at);

	if (!ok(wanted ? got && !strcmp(got, wanted) : !got, "%s", what))
		printf("#  got \"%s\", wanted \"%s\"\n", got ? got : "(nothing)",
		       wanted ? wanted : "(nothing)");
}

static void test_states(void)
{
	static struct complaints c;

	due(&c, 0, NULL, "nothing is known at first");
	complaints_set(&c, COMPLAINTS_GOOD);
	due(&c, 0, NULL, "the first connection is no news");
	complaints_set(&c, "away");
	due(&c, 1 * S, "away", "a cause");
	due(&c, 1 * S, NULL, "comes once");
	due(&c, 300 * S, NULL, "however long it lasts");
	complaints_set(&c, "refused");
	due(&c, 300 * S, "refused", "another cause");
	complaints_set(&c, COMPLAINTS_GOOD);
	due(&c, 301 * S, COMPLAINTS_GOOD, "the end of it");
	due(&c, 302 * S, NULL, "comes once, too");
}

static void test_flapping(void)
{
	static struct complaints c;

	complaints_set(&c, "away");
	due(&c, 0, "away", "it is away");
	complaints_set(&c, COMPLAINTS_GOOD);
	due(&c, 1 * S, COMPLAINTS_GOOD, "and there again");
	for (int i = 0; i < 10; i++) {
		complaints_set(&c, "away");
		due(&c, 2 * S, NULL, "away again within the minute");
		complaints_set(&c, COMPLAINTS_GOOD);
		due(&c, 2 * S, NULL, "and there");
	}
	complaints_set(&c, "away");
	due(&c, 60 * S - 1, NULL, "it stays away");
	due(&c, 60 * S, "away", "that is told when the minute is over");
	complaints_set(&c, COMPLAINTS_GOOD);
	due(&c, 60 * S, NULL, "it is there");
	due(&c, 61 * S, COMPLAINTS_GOOD, "that is told, too");
	complaints_set(&c, "away");
	due(&c, 62 * S, NULL, "each time of printing counts");
	due(&c, 120 * S, "away", "for a minute");
}

static void test_texts(void)
{
	static struct complaints c;
	static char first[COMPLAINT_MAX + 100], second[COMPLAINT_MAX + 100];
	char text[32];

	ok(complaints_may_say(&c, "full", BEGIN), "a text");
	ok(!complaints_may_say(&c, "full", BEGIN + 60 * S - 1), "not again within a minute");
	ok(complaints_may_say(&c, "fuller", BEGIN + 1), "another text");
	ok(complaints_may_say(&c, "full", BEGIN + 60 * S), "again after it");
	for (int i = 0; i < COMPLAINTS_KEPT - 1; i++) {
		snprintf(text, sizeof(text), "text %d", i);
		complaints_may_say(&c, text, BEGIN + 61 * S);
	}
	ok(!complaints_may_say(&c, "text 0", BEGIN + 62 * S), "eight texts are remembered");
	ok(complaints_may_say(&c, "one more", BEGIN + 62 * S), "the ninth");
	ok(!complaints_may_say(&c, "one more", BEGIN + 63 * S), "replaces the oldest");
	memset(first, 'x', sizeof(first) - 1);
	memset(second, 'x', sizeof(second) - 1);
	second[sizeof(second) - 2] = 'y';
	ok(complaints_may_say(&c, first, BEGIN), "a text that is too long");
	ok(!complaints_may_say(&c, second, BEGIN), "is known by its beginning");
	complaints_set(&c, first);
	due(&c, 59 * S, NULL, "also as a state");
	complaints_set(&c, second);
	ok(complaints_due(&c, BEGIN + 60 * S), "that is told after a minute");
	complaints_set(&c, first);
	due(&c, 200 * S, NULL, "and once");
}

int main(void)
{
	test_states();
	test_flapping();
	test_texts();
	return done_testing();
}
