// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * U5: which name a misspelt word, or the word of another tool, may have meant.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "foreign.h"
#include "near.h"
#include "tap.h"

static const char *const names[] = { "add", "run", "rm", "status", "stat", "exporter", "advance" };

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

static void says(const char *what, const char *said, const char *wanted)
{
	ok(wanted ? said && !strcmp(said, wanted) : !said, "%s", what);
}

static void test_foreign(void)
{
	says("a word of beanstalkd", foreign_command("reserve"), "get");
	says("the first of a row", foreign_command("put"), "add");
	says("the last of a row", foreign_command("shift"), "get");
	says("a part of a word is none", foreign_command("reser"), NULL);
	says("nor is its end", foreign_command("serve"), NULL);
	says("nor a longer one", foreign_command("reserved"), NULL);
	says("nor two words", foreign_command("pop dequeue"), NULL);
	says("nor an empty one", foreign_command(""), NULL);
	says("nor a space", foreign_command(" "), NULL);
	says("an option of tsp", foreign_command("-S"), "run-ctl --jobs");
	says("an option of xargs", foreign_option("run", "-P"), "kwq's option is --jobs");
	says("of this subcommand only", foreign_option("add", "-P"), NULL);
	says("an unknown option", foreign_option("run", "--frobnicate"), NULL);
	says("a list of parallel", foreign_list((char *[]){ "run", "echo", "::::", "file", NULL }),
	     "::::");
	says("not behind --", foreign_list((char *[]){ "run", "--", "echo", ":::", NULL }),
	     NULL);
	says("none", foreign_list((char *[]){ "run", "::", NULL }), NULL);
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
	check("a short word is not all wrong", "x", "");
	check("an empty word", "", "");
	check("a long word", long_word, "");
	free(long_word);
	test_foreign();
	return done_testing();
}
