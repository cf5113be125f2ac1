// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * U5: which name a misspelt word may have meant.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"
#include "base/near.h"
#include "tap.h"

static const char *const names[] = { "add", "run", "rm", "status", "stat", "exporter", "advance",
	"keep", "load" };

static const char *meant(const char *word)
{
	struct near near;
	size_t i;

	near_begin(&near, word, strlen(word));
	for (i = 0; i < ARRAY_SIZE(names); i++)
		near_offer(&near, names[i], strlen(names[i]));
	return near.best ? near.best : "";
}

static void check(const char *name, const char *word, const char *wanted)
{
	ok(!strcmp(meant(word), wanted), "%s: %s", name, word);
}

int main(void)
{
	char *long_word = strdup("a-word-that-is-longer-than-all-names-of-commands");

	check("two letters exchanged", "stauts", "status");
	check("the nearest of several", "statt", "stat");
	check("a letter is missing", "exprter", "exporter");
	check("a letter too many", "addd", "add");
	check("another letter", "rxn", "run");
	check("three edits in a long name", "exprtre", "exporter");
	check("no name is near", "frobnicate", "");
	check("half of a short word is not near", "peek", "");
	check("nor with other letters", "dead", "");
	check("a short word is not all wrong", "x", "");
	check("an empty word", "", "");
	check("a long word", long_word, "");
	free(long_word);
	return done_testing();
}
