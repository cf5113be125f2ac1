// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "template.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum value { KEY, STEM, BASE, DIRECTORY, BASE_STEM, SEQ, SLOT, VALUES };

static const char *const places[VALUES] = {
	[KEY] = "{}",
	[STEM] = "{.}",
	[BASE] = "{/}",
	[DIRECTORY] = "{//}",
	[BASE_STEM] = "{/.}",
	[SEQ] = "{#}",
	[SLOT] = "{%}",
};

/* The text for each place. */
struct parts {
	const char *text[VALUES];
	size_t len[VALUES];
	char seq[24], slot[12];
	char *directory;	/* a copy of the key, which dirname() changes */
};

/* Where the result goes. Without a buffer it is only measured. */
struct result {
	char *to;
	size_t len;
};

static void append(struct result *result, const char *bytes, size_t len)
{
	if (result->to)
		memcpy(result->to + result->len, bytes, len);
	result->len += len;
}

/* The length of @text without its extension, which has no slash. */
static size_t stem_len(const char *text)
{
	const char *dot = strrchr(text, '.');

	return dot && !strchr(dot, '/') ? (size_t)(dot - text) : strlen(text);
}

static void set(struct parts *parts, enum value value, const char *text, size_t len)
{
	parts->text[value] = text;
	parts->len[value] = len;
}

static bool make_parts(struct parts *parts, const struct template_values *values)
{
	const char *slash = strrchr(values->key, '/');
	const char *base = slash ? slash + 1 : values->key;
	const char *directory;

	parts->directory = strdup(values->key);
	if (!parts->directory)
		return false;
	directory = dirname(parts->directory);
	/* POSIX allows //, but dirname(1) and GNU parallel say /. */
	if (!strcmp(directory, "//"))
		directory++;
	set(parts, KEY, values->key, strlen(values->key));
	set(parts, STEM, values->key, stem_len(values->key));
	set(parts, BASE, base, strlen(base));
	set(parts, BASE_STEM, base, stem_len(base));
	set(parts, DIRECTORY, directory, strlen(directory));
	set(parts, SEQ, parts->seq,
	    snprintf(parts->seq, sizeof(parts->seq), "%llu", values->seq));
	set(parts, SLOT, parts->slot,
	    snprintf(parts->slot, sizeof(parts->slot), "%u", values->slot));
	return true;
}

/* The place at the beginning of @text, or VALUES. No place begins with another. */
static enum value place_at(const char *text)
{
	enum value value;

	for (value = 0; value < VALUES; value++)
		if (!strncmp(text, places[value], strlen(places[value])))
			break;
	return value;
}

bool template_uses_key(const char *text)
{
	for (text = strchr(text, '{'); text; text = strchr(text + 1, '{'))
		if (place_at(text) < SEQ)
			return true;
	return false;
}

bool template_has_place(char **argv)
{
	for (; *argv; argv++)
		if (template_uses_key(*argv))
			return true;
	return false;
}

/* Appends the filled-in argument with its NUL. */
static void fill(struct result *result, const char *argument, const struct parts *parts)
{
	enum value value;
	size_t plain;

	while (*argument) {
		value = place_at(argument);
		if (value < VALUES) {
			append(result, parts->text[value], parts->len[value]);
			argument += strlen(places[value]);
			continue;
		}
		/* The brace here, if any, begins no place. */
		plain = 1 + strcspn(argument + 1, "{");
		append(result, argument, plain);
		argument += plain;
	}
	append(result, "", 1);
}

/* Fills in all arguments. With @filled, notes where each begins. */
static void fill_all(struct result *result, char **argv, bool add_key,
		     const struct parts *parts, char **filled)
{
	for (; *argv; argv++) {
		if (filled)
			*filled++ = result->to + result->len;
		fill(result, *argv, parts);
	}
	if (!add_key)
		return;
	if (filled)
		*filled = result->to + result->len;
	append(result, parts->text[KEY], parts->len[KEY] + 1);
}

char **template_fill(char **argv, const struct template_values *values)
{
	bool add_key = !template_has_place(argv);
	struct result result = { 0 };
	char **filled = NULL;
	struct parts parts;
	size_t nr = add_key;

	if (!make_parts(&parts, values))
		return NULL;
	while (argv[nr - add_key])
		nr++;
	fill_all(&result, argv, add_key, &parts, NULL);
	filled = malloc((nr + 1) * sizeof(*filled) + result.len);
	if (filled) {
		result = (struct result){ .to = (char *)(filled + nr + 1) };
		fill_all(&result, argv, add_key, &parts, filled);
		filled[nr] = NULL;
	}
	free(parts.directory);
	return filled;
}
