// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "options_list.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

/* The description of an option is two spaces behind it at least. */
static bool is_in_front(const char *line, const char *at)
{
	const char *gap;

	line += strspn(line, " ");
	gap = strstr(line, "  ");
	return !gap || at < gap;
}

/* Finds the word for the value of an option in a line of the help: FILE. Returns its size. */
static size_t find_value(const char *line, const char *name, const char **value)
{
	size_t len = strlen(name);
	const char *at = line;

	while ((at = strstr(at, "--")) && at < strchrnul(line, '\n')) {
		at += 2;
		if (strncmp(at, name, len) || at[len] != ' ' || !is_in_front(line, at))
			continue;
		*value = at + len + 1;
		len = strcspn(*value, "\n ");
		/* Another option may follow. */
		return len && (*value)[len - 1] == ',' ? len - 1 : len;
	}
	return 0;
}

static void print_value(const char *help, const char *name)
{
	const char *value;
	size_t len;

	putchar('=');
	for (; help; help = strchr(help, '\n'), help = help ? help + 1 : NULL) {
		len = find_value(help, name, &value);
		if (!len)
			continue;
		printf("%.*s", (int)len, value);
		return;
	}
}

static void list_option(const struct option *option, const char *help)
{
	printf("--%s", option->name);
	if (option->has_arg == required_argument)
		print_value(help, option->name);
	putchar('\n');
	if (option->val > CHAR_MAX || !isalnum(option->val))
		return;
	printf("-%c", option->val);
	if (option->has_arg == required_argument)
		print_value(help, option->name);
	putchar('\n');
}

void options_list(const struct command *c)
{
	unsigned int i;

	printf("%s\n", c->arguments);
	for (i = debugging ? 0 : c->nr_debug; c->table[i].name; i++)
		list_option(&c->table[i], i < c->nr_debug ? c->debug_options : c->options);
}
