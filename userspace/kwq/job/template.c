// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "template.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"

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

static bool make_parts(struct parts *parts, const struct template_values *values, size_t i)
{
	const char *key = values->keys[i], *slash = strrchr(key, '/');
	const char *base = slash ? slash + 1 : key;
	const char *directory;

	parts->directory = strdup(key);
	if (!parts->directory)
		return false;
	directory = dirname(parts->directory);
	/* POSIX allows //, but dirname(1) and GNU parallel say /. */
	if (!strcmp(directory, "//"))
		directory++;
	set(parts, KEY, key, strlen(key));
	set(parts, STEM, key, stem_len(key));
	set(parts, BASE, base, strlen(base));
	set(parts, BASE_STEM, base, stem_len(base));
	set(parts, DIRECTORY, directory, strlen(directory));
	set(parts, SEQ, parts->seq,
	    snprintf(parts->seq, sizeof(parts->seq), "%llu", values->seq));
	set(parts, SLOT, parts->slot,
	    snprintf(parts->slot, sizeof(parts->slot), "%u", values->slot));
	return true;
}

static void free_parts(struct parts *parts, size_t nr)
{
	while (parts && nr)
		free(parts[--nr].directory);
	free(parts);
}

/* The parts of each key. The caller frees them. Returns NULL if memory is missing. */
static struct parts *make_all_parts(const struct template_values *values)
{
	struct parts *parts = calloc(values->nr, sizeof(*parts));
	size_t i;

	for (i = 0; parts && i < values->nr; i++) {
		if (!make_parts(&parts[i], values, i)) {
			free_parts(parts, i);
			return NULL;
		}
	}
	return parts;
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

/* How an interpreter gets its script as an argument. */
static const struct {
	const char *name;	/* without a version behind it */
	char letter;		/* of its option */
} interpreters[] = {
	{ "sh", 'c' }, { "bash", 'c' }, { "dash", 'c' }, { "ash", 'c' }, { "ksh", 'c' },
	{ "mksh", 'c' }, { "zsh", 'c' }, { "fish", 'c' }, { "python", 'c' }, { "perl", 'e' },
	{ "ruby", 'e' }, { "node", 'e' },
};

/* The letter of the option that has a script, or NUL if the word is no interpreter. */
static char script_letter(const char *word)
{
	const char *slash = strrchr(word, '/'), *name = slash ? slash + 1 : word;
	size_t i, len;

	for (i = 0; i < ARRAY_SIZE(interpreters); i++) {
		len = strlen(interpreters[i].name);
		if (!strncmp(name, interpreters[i].name, len) &&
		    name[len + strspn(name + len, "0123456789.")] == '\0')
			return interpreters[i].letter;
	}
	return '\0';
}

/* The script of an interpreter, whose options begin at @argv; NULL if it has none. */
static const char *script_of(char **argv, char letter)
{
	for (; *argv && (**argv == '-' || **argv == '+'); argv++) {
		if ((*argv)[1] == '-')
			continue;
		if (strchr(*argv, letter))
			return argv[1];
		/* sh -o pipefail, perl -M Module */
		if (argv[1] && strchr("oOM", (*argv)[strlen(*argv) - 1]))
			argv++;
	}
	return NULL;
}

const char *template_script(char **argv)
{
	const char *script;
	char letter;

	/* The interpreter may stand behind env, nice, timeout and the like. */
	for (; *argv; argv++) {
		letter = script_letter(*argv);
		script = letter ? script_of(argv + 1, letter) : NULL;
		if (script && template_uses_key(script))
			return *argv;
	}
	return NULL;
}

bool template_has_place(char **argv)
{
	for (; *argv; argv++)
		if (template_uses_key(*argv))
			return true;
	return false;
}

static bool is_ssh(const char *word)
{
	const char *slash = strrchr(word, '/');

	return !strcmp(slash ? slash + 1 : word, "ssh");
}

/* The words that ssh(1) sends to the other machine: all behind the host, behind its own options. */
static char **words_for_host(char **argv)
{
	const char *with_argument;

	for (; *argv && **argv == '-'; argv++) {
		with_argument = strpbrk(*argv, "BbcDEeFIiJLlmOopQRSWw");
		if (with_argument && !with_argument[1] && argv[1])
			argv++;
	}
	return *argv ? argv + 1 : argv;
}

bool template_is_remote_code(char **argv)
{
	bool is_appended = !template_has_place(argv);
	char **sent;

	for (; *argv; argv++) {
		sent = is_ssh(*argv) ? words_for_host(argv + 1) : argv;
		if (sent != argv && *sent && (is_appended || template_has_place(sent)))
			return true;
	}
	return false;
}

/* Appends the filled-in text. */
static void fill(struct result *result, const char *text, const struct parts *parts)
{
	enum value value;
	size_t plain;

	while (*text) {
		value = place_at(text);
		if (value < VALUES) {
			append(result, parts->text[value], parts->len[value]);
			text += strlen(places[value]);
			continue;
		}
		/* The brace here, if any, begins no place. */
		plain = 1 + strcspn(text + 1, "{");
		append(result, text, plain);
		text += plain;
	}
}

/* How often the argument is in the command: once for each key that it has a place for. */
static size_t copies_of(const char *argument, size_t keys)
{
	return template_uses_key(argument) ? keys : 1;
}

struct command_line {
	char **argv;
	const char *last;	/* one more argument, or NULL */
	struct parts *parts;	/* of each key */
	size_t keys;
};

static size_t count_arguments(const struct command_line *line)
{
	size_t i, nr = 0;

	for (i = 0; line->argv[i]; i++)
		nr += copies_of(line->argv[i], line->keys);
	return nr + (line->last ? line->keys : 0);
}

/* Fills in an argument. With @filled, notes where each copy begins. Returns the next one. */
static char **fill_argument(struct result *result, const struct command_line *line,
			    const char *argument, char **filled)
{
	size_t copies = copies_of(argument, line->keys), i;

	for (i = 0; i < copies; i++) {
		if (filled)
			*filled++ = result->to + result->len;
		fill(result, argument, &line->parts[i]);
		append(result, "", 1);
	}
	return filled;
}

static void fill_all(struct result *result, const struct command_line *line, char **filled)
{
	size_t i;

	for (i = 0; line->argv[i]; i++)
		filled = fill_argument(result, line, line->argv[i], filled);
	if (line->last)
		filled = fill_argument(result, line, line->last, filled);
	if (filled)
		*filled = NULL;
}

static bool begin_line(struct command_line *line, char **argv,
		       const struct template_values *values)
{
	*line = (struct command_line){
		.argv = argv,
		.last = template_has_place(argv) ? NULL : places[KEY],
		.parts = make_all_parts(values),
		.keys = values->nr,
	};
	return line->parts;
}

char **template_fill(char **argv, const struct template_values *values)
{
	struct result result = { 0 };
	struct command_line line;
	char **filled = NULL;
	size_t nr;

	if (!begin_line(&line, argv, values))
		return NULL;
	nr = count_arguments(&line);
	fill_all(&result, &line, NULL);
	filled = malloc((nr + 1) * sizeof(*filled) + result.len);
	if (filled) {
		result = (struct result){ .to = (char *)(filled + nr + 1) };
		fill_all(&result, &line, filled);
	}
	free_parts(line.parts, values->nr);
	return filled;
}

/* The bytes of the arguments that are there once for all keys, or of the copies for key @i. */
static size_t measure(const struct command_line *line, bool each, size_t i)
{
	struct result result = { 0 };
	size_t at, nr = 0;

	for (at = 0; line->argv[at]; at++) {
		if (template_uses_key(line->argv[at]) != each)
			continue;
		fill(&result, line->argv[at], &line->parts[i]);
		nr++;
	}
	if (each && line->last) {
		fill(&result, line->last, &line->parts[i]);
		nr++;
	}
	return result.len + nr * (1 + sizeof(char *));
}

size_t template_fit(char **argv, const struct template_values *values, size_t bound)
{
	struct command_line line;
	size_t bytes, nr;

	if (!begin_line(&line, argv, values))
		return 0;
	bytes = measure(&line, false, 0);
	for (nr = 0; nr < values->nr; nr++) {
		bytes += measure(&line, true, nr);
		if (nr && bytes > bound)
			break;
	}
	free_parts(line.parts, values->nr);
	return nr;
}
