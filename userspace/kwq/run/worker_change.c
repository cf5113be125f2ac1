// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq run: what changes while it runs: the number of jobs, and the settings of --config.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/cmd.h"
#include "settings.h"
#include "worker_run.h"

enum {
	/* Descriptors per slot, and all others together. */
	FDS_PER_SLOT = 4,
	FDS_BESIDES = 32,
};

uint64_t descriptors_for(unsigned int slots)
{
	return FDS_BESIDES + (uint64_t)FDS_PER_SLOT * slots;
}

int raise_descriptor_limit(unsigned int slots)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return -errno;
	if (limit.rlim_cur >= descriptors_for(slots))
		return 0;
	if (limit.rlim_max < descriptors_for(slots))
		return -EMFILE;
	limit.rlim_cur = descriptors_for(slots);
	return setrlimit(RLIMIT_NOFILE, &limit) ? -errno : 0;
}

int reserve_slots(struct run *run)
{
	void *jobs;

	/*
	 * Room for as many jobs as there can ever be, so that no job moves while something
	 * points to it. Memory is used only for slots that were in use.
	 */
	jobs = mmap(NULL, JOBS_MAX * sizeof(*run->jobs), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (jobs == MAP_FAILED)
		return -ENOMEM;
	run->jobs = jobs;
	add_slots(run);
	return 0;
}

void add_slots(struct run *run)
{
	for (; run->slots < run->options.jobs; run->slots++)
		job_init(&run->jobs[run->slots]);
}

bool has_free_slot(const struct run *run)
{
	return run->counts.running < run->options.jobs;
}

int change_jobs(struct run *run, unsigned int jobs, char why[SETTINGS_WHY])
{
	int err = raise_descriptor_limit(jobs);

	if (err) {
		snprintf(why, SETTINGS_WHY,
			 "--jobs %u: needs %llu descriptors, more than the limit (ulimit -Hn)",
			 jobs, (unsigned long long)descriptors_for(jobs));
		return err;
	}
	run->options.jobs = jobs;
	add_slots(run);
	service_tell(run, NULL);
	return 0;
}

/* Takes over what the settings are about, and nothing else. */
static int take_over(struct run *run, const struct run_options *new, char why[SETTINGS_WHY])
{
	int err = change_jobs(run, new->jobs, why);

	if (err)
		return err;
	run->options.fate = new->fate;
	return 0;
}

int reload(struct run *run, char why[SETTINGS_WHY])
{
	struct run_options new = run->command_line;
	int err;

	if (!new.config) {
		snprintf(why, SETTINGS_WHY, "has no --config to read again");
		return -ENOENT;
	}
	service_reloading();
	err = settings_read(&new, new.config, why);
	if (!err)
		err = take_over(run, &new, why);
	service_tell(run, "READY=1");
	progress_hide(&run->progress);
	if (err)
		message("%s: %s; nothing is changed", run->options.queue, why);
	else if (!run->options.quiet)
		message("%s: %s is read again", run->options.queue, new.config);
	return err;
}
