// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * U5: kwq run --halt, its forms and its decision.
 */
#include <errno.h>

#include "base/cmd.h"
#include "kwq/run/halt.h"
#include "tap.h"

static const struct {
	const char *s;
	struct halt_spec spec;
} good[] = {
	{ "never", { HALT_NEVER, HALT_FAIL, 0 } },
	{ "now,fail=1", { HALT_NOW, HALT_FAIL, 1 } },
	{ "soon,success=2", { HALT_SOON, HALT_SUCCESS, 2 } },
	{ "now,done=2147483647", { HALT_NOW, HALT_DONE, 2147483647 } },
};

static const char *const bad[] = {
	"", "now", "now,", "soon,fail", "soon,fail=", "now,fail=0", "now,fail=30%",
	"now,fail=2147483648", "now,fail=%", "now,fail=1%%", "now,fail=-1",
	"now,fail=1,", "later,fail=1", "nowfail=1", "now,failed=1", "never,fail=1", "never ",
	"1", "NOW,fail=1",
};

static void test_forms(void)
{
	const struct halt_spec was = { HALT_SOON, HALT_DONE, 7 };
	struct halt_spec spec;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		spec = was;
		ok(!halt_spec_parse(&spec, good[i].s) && spec.when == good[i].spec.when &&
		   spec.why == good[i].spec.why &&
		   spec.bound == good[i].spec.bound, "--halt %s", good[i].s);
	}
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		spec = was;
		ok(halt_spec_parse(&spec, bad[i]) == -EINVAL && spec.when == was.when &&
		   spec.why == was.why && spec.bound == was.bound,
		   "--halt \"%s\" is wrong and changes nothing", bad[i]);
	}
}

static const struct {
	const char *s;
	uint64_t failed, succeeded;
	bool due;
} cases[] = {
	{ "never", 100, 100, false },
	{ "now,fail=1", 0, 100, false },
	{ "now,fail=1", 1, 0, true },
	{ "now,fail=2", 1, 100, false },
	{ "now,fail=2", 2, 0, true },
	{ "now,success=2", 9, 1, false },
	{ "now,success=2", 0, 2, true },
	{ "now,done=3", 1, 1, false },
	{ "now,done=3", 1, 2, true },
};

static void test_decision(void)
{
	struct halt_spec spec;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		halt_spec_parse(&spec, cases[i].s);
		ok(halt_is_due(&spec, cases[i].failed, cases[i].succeeded) ==
		   cases[i].due, "--halt %s: %llu failed, %llu succeeded", cases[i].s,
		   (unsigned long long)cases[i].failed, (unsigned long long)cases[i].succeeded);
	}
}

int main(void)
{
	test_forms();
	test_decision();
	return done_testing();
}
