// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * U7: kwq run --config: settings that are read again while kwq run runs.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cmd.h"
#include "kwq/run/settings.h"
#include "tap.h"

static char why[SETTINGS_WHY];

static int parse(struct run_options *options, const char *text)
{
	FILE *file = fmemopen((char *)text, strlen(text), "r");
	int err;

	why[0] = '\0';
	err = settings_parse(options, file, "a.conf", why);
	fclose(file);
	return err;
}

static void test_good(void)
{
	struct run_options o = { .jobs = 3 };

	is_number(parse(&o,
			"# settings of jobs\n\n  jobs = 7\t\n\ton-fail\tdead\nmax-attempts=3"),
		  0, "all settings");
	is_number(o.jobs, 7, "jobs");
	is_number(o.fate.on_fail, FATE_DEAD, "on-fail");
	is_number(o.fate.attempts_max, 3, "max-attempts, without a newline behind it");
	o.jobs = 3;
	is_number(parse(&o, "# nothing\n"), 0, "a file without settings");
	is_number(o.jobs, 3, "changes nothing");
	is_number(parse(&o, "jobs 2\njobs 4\n"), 0, "one setting twice");
	is_number(o.jobs, 4, "the last one counts");
}

static void test_bad(void)
{
	struct run_options o = { .jobs = 3 };

	is_number(parse(&o, "jobs 2\nnices 5\n"), -EINVAL, "an unknown name");
	is_string(why, "a.conf:2: no setting nices; there are jobs, on-fail, max-attempts",
		  "the line and all names");
	is_number(parse(&o, "\n\njobs 0"), -EINVAL, "a value that is too low");
	is_string(why, "a.conf:3: jobs 0: must be a number such as 8, 50%, +1 or -1, "
		  "from 1 to 4096 jobs", "the line and the form");
	is_number(parse(&o, "jobs"), -EINVAL, "a name without a value");
	is_number(parse(&o, "jobs ="), -EINVAL, "or with an equals sign alone");
	is_number(parse(&o, "jobs 4097"), -EINVAL, "too many jobs");
	is_number(parse(&o, "on-fail maybe"), -EINVAL, "an on-fail that is none");
	is_number(parse(&o, "max-attempts 0"), -EINVAL, "no attempts");
	is_number(parse(&o, "jobs 1 2"), -EINVAL, "two values");
}

static void test_files(void)
{
	struct run_options o = { .jobs = 3 };

	is_number(settings_read(&o, "/nowhere/a.conf", why), -ENOENT, "no such file");
	is_string(why, "/nowhere/a.conf: No such file or directory", "says so");
	is_number(settings_read(&o, "/", why), -EISDIR, "a folder");
	is_string(why, "/: Is a directory", "says so, too");
	is_number(o.jobs, 3, "and nothing changes");
}

static void test_jobs(void)
{
	unsigned int jobs;

	is_number(settings_jobs("9", &jobs, why), 0, "the value of --jobs");
	is_number(jobs, 9, "a number");
	ok(settings_jobs("nine", &jobs, why), "no number");
	is_string(why, "--jobs nine: must be a number such as 8, 50%, +1 or -1, "
		  "from 1 to 4096 jobs", "names the option");
}

int main(void)
{
	test_good();
	test_bad();
	test_files();
	test_jobs();
	return done_testing();
}
