// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * U6: what becomes of the key of a job that has ended, for each way to end.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/cmd.h"
#include "kwq/job/fate.h"
#include "tap.h"

#define EXIT(status)	W_EXITCODE(status, 0)
#define KILLED(signal)	W_EXITCODE(0, signal)

static const struct {
	const char *name;
	const char *drop_on, *dead_on;	/* NULL: none */
	enum fate on_fail;
	unsigned int max;
	struct job_end end;
	enum fate fate;
} cases[] = {
	{ "exit 0", .end = { EXIT(0), .attempt = 9 }, .fate = FATE_DONE },
	{ "exit 1", .end = { EXIT(1), .attempt = 1 }, .fate = FATE_RETRY },
	{ "exit 255", .end = { EXIT(255), .attempt = UINT32_MAX }, .fate = FATE_RETRY },
	{ "exit 75 is as any other", .on_fail = FATE_DROP, .end = { EXIT(75), .attempt = 1 },
	  .fate = FATE_DROP },
	{ "a signal", .end = { KILLED(SIGKILL), .attempt = 1 }, .fate = FATE_RETRY },
	{ "a signal and a core", .end = { KILLED(SIGSEGV) | __WCOREFLAG, .attempt = 1 },
	  .fate = FATE_RETRY },
	{ "SIGTERM of its own", .end = { KILLED(SIGTERM), .attempt = 1 }, .fate = FATE_RETRY },
	{ "a timeout, then exit 0", .end = { EXIT(0), true, 1 }, .fate = FATE_RETRY },
	{ "a timeout, then SIGTERM, while stopping", .end = { KILLED(SIGTERM), true, 1, SIGTERM },
	  .fate = FATE_RETRY },
	{ "a timeout has no status", "143", "143", .end = { EXIT(143), true, 1 },
	  .fate = FATE_RETRY },

	{ "the signal that stops kwq run", .end = { KILLED(SIGTERM), false, 1, SIGTERM },
	  .fate = FATE_RETURN },
	{ "its status in a shell", .end = { EXIT(130), false, 1, SIGINT }, .fate = FATE_RETURN },
	{ "whatever --on-fail says", "143", NULL, FATE_DROP, 1, { EXIT(143), false, 5, SIGTERM },
	  FATE_RETURN },
	{ "another signal while stopping", .end = { KILLED(SIGKILL), false, 1, SIGTERM },
	  .fate = FATE_RETRY },
	{ "another status while stopping", .end = { EXIT(130), false, 1, SIGTERM },
	  .fate = FATE_RETRY },
	{ "exit 0 while stopping", .end = { EXIT(0), false, 1, SIGTERM }, .fate = FATE_DONE },
	{ "exit 128 and no signal", .end = { EXIT(128), false, 1 }, .fate = FATE_RETRY },

	{ "--on-fail dead", .on_fail = FATE_DEAD, .end = { KILLED(SIGKILL), .attempt = 1 },
	  .fate = FATE_DEAD },
	{ "--on-fail drop", .on_fail = FATE_DROP, .end = { EXIT(1), true, 1 }, .fate = FATE_DROP },
	{ "--max-attempts, before", .max = 3, .end = { EXIT(1), .attempt = 2 },
	  .fate = FATE_RETRY },
	{ "--max-attempts, the last", .max = 3, .end = { EXIT(1), .attempt = 3 },
	  .fate = FATE_DEAD },
	{ "--max-attempts, beyond", .max = 3, .end = { KILLED(9), .attempt = 4 },
	  .fate = FATE_DEAD },
	{ "--max-attempts and dead, before", .on_fail = FATE_DEAD, .max = 3,
	  .end = { EXIT(1), .attempt = 2 },
	  .fate = FATE_RETRY },
	{ "--max-attempts and drop, before", .on_fail = FATE_DROP, .max = 3,
	  .end = { EXIT(1), .attempt = 2 },
	  .fate = FATE_RETRY },
	{ "--max-attempts and drop, the last", .on_fail = FATE_DROP, .max = 3,
	  .end = { EXIT(1), .attempt = 3 }, .fate = FATE_DROP },

	{ "--drop-on", "3,5-6", .end = { EXIT(5), .attempt = 1 }, .fate = FATE_DROP },
	{ "--drop-on, another status", "3,5-6", .end = { EXIT(4), .attempt = 1 },
	  .fate = FATE_RETRY },
	{ "--drop-on, a signal of that number", "9", .end = { KILLED(9), .attempt = 1 },
	  .fate = FATE_RETRY },
	{ "--dead-on", NULL, "3", .end = { EXIT(3), .attempt = 1 }, .fate = FATE_DEAD },
	{ "--dead-on and drop", NULL, "3", FATE_DROP, .end = { EXIT(3), .attempt = 1 },
	  .fate = FATE_DEAD },
	{ "--drop-on and dead", "3", NULL, FATE_DEAD, 9, { EXIT(3), .attempt = 1 }, FATE_DROP },

	{ "the bound of the queue, before", .end = { EXIT(1), .attempt = 3, .dead_after = 3 },
	  .fate = FATE_RETRY },
	{ "the bound of the queue, beyond", .end = { EXIT(1), .attempt = 4, .dead_after = 3 },
	  .fate = FATE_DEAD },
	{ "several keys: nobody knows which failed", "3", "5", FATE_DEAD, 1,
	  { EXIT(3), .attempt = 1, .shared = true }, FATE_RETRY },
	{ "several keys and a timeout", .on_fail = FATE_DROP,
	  .end = { KILLED(15), true, 1, .shared = true }, .fate = FATE_RETRY },
	{ "several keys, exit 0", .end = { EXIT(0), .attempt = 1, .shared = true },
	  .fate = FATE_DONE },
	{ "several keys and the signal that stops kwq run",
	  .end = { KILLED(SIGTERM), false, 1, SIGTERM, .shared = true }, .fate = FATE_RETURN },

	{ "the bound of the queue below --max-attempts", .max = 9,
	  .end = { EXIT(1), .attempt = 4, .dead_after = 3 }, .fate = FATE_DEAD },
};

static void test_on_fail(void)
{
	enum fate fate = FATE_DONE;

	ok(!fate_parse_on_fail("retry", &fate) && fate == FATE_RETRY, "U6: --on-fail retry");
	ok(!fate_parse_on_fail("dead", &fate) && fate == FATE_DEAD, "--on-fail dead");
	ok(!fate_parse_on_fail("drop", &fate) && fate == FATE_DROP, "--on-fail drop");
	is_number(fate_parse_on_fail("", &fate), -EINVAL, "no word");
	is_number(fate_parse_on_fail("drops", &fate), -EINVAL, "another word");
	is_number(fate, FATE_DROP, "changes nothing");
}

int main(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fate_options options = {
			.on_fail = cases[i].on_fail,
			.attempts_max = cases[i].max,
		};
		char name[100];

		if (cases[i].drop_on)
			status_set_parse(&options.drop_on, cases[i].drop_on);
		if (cases[i].dead_on)
			status_set_parse(&options.dead_on, cases[i].dead_on);
		snprintf(name, sizeof(name), "U6: %s", cases[i].name);
		is_number(fate_of(&options, &cases[i].end), cases[i].fate, name);
	}
	test_on_fail();
	return done_testing();
}
