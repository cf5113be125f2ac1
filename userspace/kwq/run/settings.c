// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"
#include "jobs_spec.h"
#include "base/number.h"
#include "processors.h"

struct setting {
	const char *name;
	const char *form;	/* of a value, for the message */
	int (*parse)(struct run_options *options, const char *value);
};

static int parse_jobs(struct run_options *options, const char *value)
{
	return jobs_spec_parse(value, processors(), JOBS_MAX, &options->jobs);
}

static int parse_on_fail(struct run_options *options, const char *value)
{
	return fate_parse_on_fail(value, &options->fate.on_fail);
}

static int parse_attempts(struct run_options *options, const char *value)
{
	uint64_t n;
	int err;

	err = parse_number(value, 1, INT32_MAX, &n);
	if (!err)
		options->fate.attempts_max = n;
	return err;
}

#define JOBS_FORM "must be a number such as 8, 50%, +1 or -1, from 1 to 4096 jobs"
_Static_assert(JOBS_MAX == 4096, "the text has JOBS_MAX");

/* The names are those of the options. */
static const struct setting settings[] = {
	{ "jobs", JOBS_FORM, parse_jobs },
	{ "on-fail", "must be retry, dead or drop", parse_on_fail },
	{ "max-attempts", "must be a number from 1 to 2147483647", parse_attempts },
};

int settings_jobs(const char *text, unsigned int *jobs, char why[SETTINGS_WHY])
{
	int err = jobs_spec_parse(text, processors(), JOBS_MAX, jobs);

	if (err)
		snprintf(why, SETTINGS_WHY, "--jobs %.100s: %s", text, JOBS_FORM);
	return err;
}

static const struct setting *find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(settings); i++)
		if (!strcmp(settings[i].name, name))
			return &settings[i];
	return NULL;
}

/* The names of all settings. */
static const char *all_names(char *to, size_t size)
{
	size_t i, len = 0;

	for (i = 0; i < ARRAY_SIZE(settings) && len < size; i++)
		len += snprintf(to + len, size - len, "%s%s", i ? ", " : "", settings[i].name);
	return to;
}

/* Cuts the white space off both ends. */
static char *strip(char *text)
{
	size_t len;

	text += strspn(text, " \t\r\n");
	len = strlen(text);
	while (len && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
	return text;
}

/* Splits NAME from VALUE, and returns VALUE, which may be empty. */
static char *split(char *line)
{
	char *value = line + strcspn(line, " \t=");

	if (!*value)
		return value;
	if (*value != '=') {
		*value++ = '\0';
		value += strspn(value, " \t");
	}
	if (*value == '=')
		*value++ = '\0';
	return strip(value);
}

static int parse_line(struct run_options *options, char *line, char *why, size_t size)
{
	const struct setting *setting;
	char names[100], *value;

	line = strip(line);
	if (!*line || *line == '#')
		return 0;
	value = split(line);
	setting = find(line);
	if (!setting) {
		snprintf(why, size, "no setting %.100s; there are %s", line,
			 all_names(names, sizeof(names)));
		return -EINVAL;
	}
	if (!setting->parse(options, value))
		return 0;
	snprintf(why, size, "%s %.100s: %s", line, value, setting->form);
	return -EINVAL;
}

int settings_parse(struct run_options *options, FILE *file, const char *name,
		   char why[SETTINGS_WHY])
{
	char text[SETTINGS_WHY / 2 + 100], *line = NULL;
	unsigned int number = 0;
	size_t room = 0;
	int err = 0;

	while (!err && getline(&line, &room, file) >= 0) {
		number++;
		err = parse_line(options, line, text, sizeof(text));
		if (err)
			snprintf(why, SETTINGS_WHY, "%.150s:%u: %s", name, number, text);
	}
	if (!err && ferror(file)) {
		err = -errno;
		snprintf(why, SETTINGS_WHY, "%.150s: %s", name, strerror(-err));
	}
	free(line);
	return err;
}

int settings_read(struct run_options *options, const char *path, char why[SETTINGS_WHY])
{
	FILE *file = fopen(path, "re");
	int err;

	if (!file) {
		err = -errno;
		snprintf(why, SETTINGS_WHY, "%.150s: %s", path, strerror(-err));
		return err;
	}
	err = settings_parse(options, file, path, why);
	fclose(file);
	return err;
}
