// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * U6: how many lines about failures kwq run prints, on a clock of the test's own.
 */
#include "tap.h"
#include "queue/tell_limit.h"

static const char *taken(struct tell_limit *limit, uint64_t now)
{
	static const char *const names[] = { "line", "last", "nothing" };

	return names[tell_limit_take(limit, now)];
}

int main(void)
{
	struct tell_limit limit = { 0 };
	unsigned int i;

	for (i = 1; i < TELL_LINES; i++)
		taken(&limit, 7);
	is_number(tell_limit_untold(&limit), 0, "a few failures all have a line");
	is_string(taken(&limit, 7), "last", "the last line of an interval says so");
	is_string(taken(&limit, 7), "nothing", "the next failure has none");
	is_string(taken(&limit, 7 + TELL_INTERVAL - 1), "nothing", "until the interval ends");
	is_string(taken(&limit, 7 + TELL_INTERVAL), "line", "then there are lines again");
	is_number(tell_limit_untold(&limit), 2, "and what had none is counted");
	is_number(tell_limit_untold(&limit), 0, "once");
	return done_testing();
}
