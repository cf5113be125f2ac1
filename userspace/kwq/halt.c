// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "halt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "number.h"

/* Longer than any number that is accepted. */
enum { DIGITS_SIZE = 12 };

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

static int parse_bound(const char *s, struct halt_spec *spec)
{
	size_t len = strlen(s);
	char digits[DIGITS_SIZE];

	spec->percent = len && s[len - 1] == '%';
	if (spec->percent)
		len--;
	if (len >= sizeof(digits))
		return -EINVAL;
	snprintf(digits, sizeof(digits), "%.*s", (int)len, s);
	return parse_number(digits, 1, spec->percent ? 100 : INT32_MAX, &spec->bound) ?
		-EINVAL : 0;
}

int halt_spec_parse(struct halt_spec *spec, const char *s)
{
	struct halt_spec parsed = { .when = HALT_NEVER };

	if (strcmp(s, "never")) {
		s = parse_when(s, &parsed.when);
		if (s)
			s = parse_why(s, &parsed.why);
		if (!s || parse_bound(s, &parsed))
			return -EINVAL;
	}
	*spec = parsed;
	return 0;
}

bool halt_is_due(const struct halt_spec *spec, uint64_t failed, uint64_t succeeded,
		 uint64_t left)
{
	uint64_t counts[] = {
		[HALT_FAIL] = failed,
		[HALT_SUCCESS] = succeeded,
		[HALT_DONE] = failed + succeeded,
	};
	uint64_t count = counts[spec->why];

	if (spec->when == HALT_NEVER || !count)
		return false;
	if (!spec->percent)
		return count >= spec->bound;
	/* In double: the counts are unbounded, and a product might overflow. */
	return 100.0 * count >= (double)spec->bound * (failed + succeeded + left);
}
