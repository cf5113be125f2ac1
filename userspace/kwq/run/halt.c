// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "halt.h"

#include <errno.h>
#include <string.h>

#include "base/number.h"

/* If @s begins with @word, returns what follows, otherwise NULL. */
static const char *behind(const char *s, const char *word)
{
	size_t len = strlen(word);

	return strncmp(s, word, len) ? NULL : s + len;
}

static const char *parse_when(const char *s, enum halt_when *when)
{
	const char *rest = behind(s, "now,");

	*when = rest ? HALT_NOW : HALT_SOON;
	return rest ? rest : behind(s, "soon,");
}

static const char *parse_why(const char *s, enum halt_why *why)
{
	static const char *const words[] = {
		[HALT_FAIL] = "fail=",
		[HALT_SUCCESS] = "success=",
		[HALT_DONE] = "done=",
	};
	const char *rest;

	for (*why = HALT_FAIL; *why <= HALT_DONE; (*why)++) {
		rest = behind(s, words[*why]);
		if (rest)
			return rest;
	}
	return NULL;
}

int halt_spec_parse(struct halt_spec *spec, const char *s)
{
	struct halt_spec parsed = { .when = HALT_NEVER };

	if (strcmp(s, "never")) {
		s = parse_when(s, &parsed.when);
		if (s)
			s = parse_why(s, &parsed.why);
		if (!s || parse_number(s, 1, INT32_MAX, &parsed.bound))
			return -EINVAL;
	}
	*spec = parsed;
	return 0;
}

bool halt_is_due(const struct halt_spec *spec, uint64_t failed, uint64_t succeeded)
{
	uint64_t counts[] = {
		[HALT_FAIL] = failed,
		[HALT_SUCCESS] = succeeded,
		[HALT_DONE] = failed + succeeded,
	};

	return spec->when != HALT_NEVER && counts[spec->why] >= spec->bound;
}
