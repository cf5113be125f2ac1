// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Numbers, sets of exit statuses, and {} in commands.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "base/cmd.h"
#include "base/number.h"
#include "kwq/job/status_set.h"
#include "tap.h"
#include "kwq/job/template.h"

static const struct {
	const char *text;
	uint64_t min, max;
	int err;
	uint64_t n;
} numbers[] = {
	{ "0", 0, 10, 0, 0 },
	{ "10", 0, 10, 0, 10 },
	{ "007", 0, 10, 0, 7 },
	{ "18446744073709551615", 0, UINT64_MAX, 0, UINT64_MAX },
	{ "18446744073709551616", 0, UINT64_MAX, -ERANGE, 0 },
	{ "99999999999999999999999", 0, UINT64_MAX, -ERANGE, 0 },
	{ "11", 0, 10, -ERANGE, 0 },
	{ "0", 1, 10, -ERANGE, 0 },
	{ "", 0, 10, -EINVAL, 0 },
	{ "-1", 0, 10, -EINVAL, 0 },
	{ "+1", 0, 10, -EINVAL, 0 },
	{ " 1", 0, 10, -EINVAL, 0 },
	{ "1 ", 0, 10, -EINVAL, 0 },
	{ "1x", 0, 10, -EINVAL, 0 },
	{ "0x1", 0, 10, -EINVAL, 0 },
};

static const struct {
	const char *text;
	int err, n;
} signed_numbers[] = {
	{ "-32", 0, -32 },
	{ "31", 0, 31 },
	{ "+5", 0, 5 },
	{ "0", 0, 0 },
	{ "-0", 0, 0 },
	{ "-33", -ERANGE, 0 },
	{ "32", -ERANGE, 0 },
	{ "4294967296", -ERANGE, 0 },
	{ "-", -EINVAL, 0 },
	{ "", -EINVAL, 0 },
	{ "--1", -EINVAL, 0 },
	{ "1.5", -EINVAL, 0 },
};

static const struct {
	const char *list;
	int err;
	const char *members;	/* as a list of single numbers */
} sets[] = {
	{ "1", 0, "1 " },
	{ "255", 0, "255 " },
	{ "1,2,100-110", 0, "1 2 100 101 102 103 104 105 106 107 108 109 110 " },
	{ "7-7", 0, "7 " },
	{ "3,3,2-4", 0, "2 3 4 " },
	{ "", -EINVAL, "" },
	{ "0", -EINVAL, "" },
	{ "0-3", -EINVAL, "" },
	{ "256", -EINVAL, "" },
	{ "250-256", -EINVAL, "" },
	{ "99999999999999999999", -EINVAL, "" },
	{ "5-3", -EINVAL, "" },
	{ "1,", -EINVAL, "" },
	{ ",1", -EINVAL, "" },
	{ "1,,2", -EINVAL, "" },
	{ "1-", -EINVAL, "" },
	{ "-1", -EINVAL, "" },
	{ "1-2-3", -EINVAL, "" },
	{ "1 2", -EINVAL, "" },
	{ "1;2", -EINVAL, "" },
	{ "75,x", -EINVAL, "" },
};

static const struct {
	char *argv[6];
	const char *key;
	const char *filled[6];
} templates[] = {
	{ { "echo" }, "k", { "echo", "k" } },
	{ { "echo", "{}" }, "k", { "echo", "k" } },
	{ { "cp", "{}", "{}.bak" }, "a b", { "cp", "a b", "a b.bak" } },
	{ { "x", "{}{}", "-{}-{}-" }, "kk", { "x", "kkkk", "-kk-kk-" } },
	{ { "{}" }, "true", { "true" } },
	{ { "bin/{}", "x" }, "tool", { "bin/tool", "x" } },
	{ { "echo", "{", "}", "{ }" }, "k", { "echo", "{", "}", "{ }", "k" } },
	{ { "echo", "{{}}" }, "k", { "echo", "{k}" } },
	/* A {} in the key is not replaced again. */
	{ { "echo", "a{}b{}c" }, "{}", { "echo", "a{}b{}c" } },
	{ { "echo" }, "{}", { "echo", "{}" } },
	{ { "echo", "" }, "k", { "echo", "", "k" } },
	/* As GNU parallel 20221122 does. */
	{ { "{}", "{/}", "{.}", "{//}", "{/.}" }, "a/b.c",
	  { "a/b.c", "b.c", "a/b", "a", "b" } },
	{ { "{}", "{/}", "{.}", "{//}", "{/.}" }, "/x",
	  { "/x", "x", "/x", "/", "x" } },
	{ { "{}", "{/}", "{.}", "{//}", "{/.}" }, ".hid",
	  { ".hid", ".hid", "", ".", "" } },
	{ { "{}", "{/}", "{.}", "{//}", "{/.}" }, "a.b/c",
	  { "a.b/c", "c", "a.b/c", "a.b", "c" } },
	{ { "{}", "{/}", "{.}", "{//}", "{/.}" }, "a/",
	  { "a/", "", "a/", ".", "" } },
	{ { "{}", "{/}", "{.}", "{//}", "{/.}" }, "/",
	  { "/", "", "/", "/", "" } },
	{ { "{}", "{/}", "{.}", "{//}", "{/.}" }, "a/b.c.d",
	  { "a/b.c.d", "b.c.d", "a/b.c", "a", "b.c" } },
	{ { "{}", "{/}", "{.}", "{//}", "{/.}" }, "",
	  { "", "", "", ".", "" } },
	{ { "{}", "{/}", "{.}", "{//}", "{/.}" }, "a.",
	  { "a.", "a.", "a", ".", "a" } },
	{ { "{}", "{/}", "{.}", "{//}", "{/.}" }, "a/.b",
	  { "a/.b", ".b", "a/", "a", "" } },
	{ { "{}", "{/}", "{.}", "{//}", "{/.}" }, "a//b",
	  { "a//b", "b", "a//b", "a", "b" } },
	{ { "{}", "{/}", "{.}", "{//}", "{/.}" }, "//x",
	  { "//x", "x", "//x", "/", "x" } },
	{ { "{}", "{/}", "{.}", "{//}", "{/.}" }, "a..",
	  { "a..", "a..", "a.", ".", "a." } },
	{ { "{#}-{%}", "{#}" }, "k", { "12-3", "12", "k" } },
	{ { "{x}", "{", "{/", "{{.}}" }, "a.b", { "{x}", "{", "{/", "{a}" } },
};

static void members(const struct status_set *set, char *to)
{
	int i;

	*to = '\0';
	for (i = 0; i < 256; i++)
		if (set->has[i])
			to += sprintf(to, "%d ", i);
}

/* One key or several, as members of struct template_values. */
#define KEYS(...)	.keys = (const char *[]){ __VA_ARGS__ }, \
			.nr = sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *)

static bool same_arguments(char **filled, const char *const *wanted)
{
	for (; *wanted; wanted++, filled++)
		if (!*filled || strcmp(*filled, *wanted))
			return false;
	return !*filled;
}

static void test_numbers(void)
{
	uint64_t n;
	size_t i;
	int s, err;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		n = 99;
		err = parse_number(numbers[i].text, numbers[i].min, numbers[i].max, &n);
		ok(err == numbers[i].err && n == (err ? 99 : numbers[i].n),
		   "number \"%s\"", numbers[i].text);
	}
	for (i = 0; i < ARRAY_SIZE(signed_numbers); i++) {
		s = 99;
		err = parse_signed(signed_numbers[i].text, -32, 31, &s);
		ok(err == signed_numbers[i].err && s == (err ? 99 : signed_numbers[i].n),
		   "signed number \"%s\"", signed_numbers[i].text);
	}
}

static void test_sets(void)
{
	char text[2000];
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(sets); i++) {
		struct status_set set = { 0 };

		err = status_set_parse(&set, sets[i].list);
		members(&set, text);
		ok(err == sets[i].err && !strcmp(text, sets[i].members),
		   "statuses \"%s\"", sets[i].list);
	}

	struct status_set set = { .has[75] = true };

	status_set_parse(&set, "80-81");
	status_set_parse(&set, "82");
	members(&set, text);
	is_string(text, "75 80 81 82 ", "several lists add up");
}

/* Uses the longest key, so that a buffer that is too small is noticed. */
static void test_room(void)
{
	static char key[4097], argument[3 * 4096 + 3];
	char *argv[3] = { "x", "{}-{}-{}" };
	char **filled;

	memset(key, 'k', 4096);
	snprintf(argument, sizeof(argument), "%s-%s-%s", key, key, key);
	filled = template_fill(argv, &(struct template_values){ KEYS(key) });
	ok(!strcmp(filled[1], argument) && malloc_usable_size(filled) >= 3 * 4096 + 2,
	   "the longest key three times");
	free(filled);
}

static const struct {
	char *argv[6];
	const char *filled[9];
} several[] = {
	{ { "echo" }, { "echo", "a/b.c", "d", "a/b.c" } },
	{ { "echo", "{}" }, { "echo", "a/b.c", "d", "a/b.c" } },
	{ { "echo", "-f{/}", "end" }, { "echo", "-fb.c", "-fd", "-fb.c", "end" } },
	{ { "{#}", "{.}", "{%}" }, { "12", "a/b", "d", "a/b", "3" } },
	{ { "x", "{//}", "{}" }, { "x", "a", ".", "a", "a/b.c", "d", "a/b.c" } },
};

/* As GNU parallel -X does it, without a shell. */
static void test_several_keys(void)
{
	struct template_values values = {
		KEYS("a/b.c", "d", "a/b.c"), .seq = 12, .slot = 3,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(several); i++) {
		char **filled = template_fill((char **)several[i].argv, &values);

		ok(same_arguments(filled, several[i].filled), "three keys, command %zu", i);
		free(filled);
	}
}

static void test_fit(void)
{
	struct template_values values = { KEYS("aa", "bbbb", "c"), .seq = 1, .slot = 1 };
	char *argv[3] = { "x", "-{}" };
	/* "x", then "-aa" and "-bbbb", each with its NUL and its pointer. */
	size_t first = 2 + 4 + 2 * sizeof(char *), second = first + 6 + sizeof(char *);

	ok(template_fit(argv, &values, 1 << 20) == 3, "all keys fit");
	ok(template_fit(argv, &values, second) == 2, "two keys fit exactly");
	ok(template_fit(argv, &values, second - 1) == 1, "a byte less, and one key fits");
	ok(template_fit(argv, &values, 1) == 1, "one key is never too much");
	argv[1] = NULL;
	ok(template_fit(argv, &values, second - 2) == 2, "the keys are last: two fit exactly");
	ok(template_fit(argv, &values, second - 3) == 1, "and then one");
}

static void test_templates(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(templates); i++) {
		struct template_values values = {
			KEYS(templates[i].key), .seq = 12, .slot = 3,
		};
		char **filled = template_fill((char **)templates[i].argv, &values);

		ok(same_arguments(filled, templates[i].filled),
		   "command %zu with \"%s\"", i, templates[i].key);
		free(filled);
	}
	test_room();
	test_several_keys();
	test_fit();
	ok(template_has_place((char *[]){ "a", "x{}y", NULL }), "a place is found");
	ok(!template_has_place((char *[]){ "a", "{ }", NULL }), "none is found");
	ok(!template_has_place((char *[]){ "{#}", "{%}", NULL }), "a number is not the key");
}

int main(void)
{
	test_numbers();
	test_sets();
	test_templates();
	return done_testing();
}
