// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "queue_options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/duration.h"
#include "base/number.h"

void queue_options_init(struct queue_options *o)
{
	*o = (struct queue_options){
		.queue = {
			.size = sizeof(o->queue),
			.open_flags = O_CLOEXEC,
			.mode = 0700,
			.clockid = CLOCK_MONOTONIC,
		},
	};
}

static mode_t parse_mode(const char *s)
{
	mode_t mode = 0;
	const char *c;

	for (c = s; *c >= '0' && *c <= '7' && mode <= 0777; c++)
		mode = mode * 8 + (*c - '0');
	if (c == s || *c || mode > 0777)
		usage("--mode %s: must be an octal number from 0 to 777", s);
	return mode;
}

static clockid_t parse_clock(const char *s)
{
	if (!strcmp(s, "monotonic"))
		return CLOCK_MONOTONIC;
	if (!strcmp(s, "boottime"))
		return CLOCK_BOOTTIME;
	if (debugging && !strcmp(s, "manual"))
		return KWQ_CLOCK_ID_MANUAL;
	usage("--clock %s: must be monotonic or boottime%s", s, debugging ? ", or manual" : "");
}

bool queue_option(struct queue_options *o, int opt)
{
	switch (opt) {
	case 'm':
		o->queue.mode = parse_mode(optarg);
		o->mode_given = true;
		return true;
	case OPT_MAX_ITEMS:
		o->queue.max_items = must_parse_number("--max-items", optarg, 1, UINT64_MAX);
		return true;
	case OPT_MAX_BYTES:
		o->queue.max_bytes = must_parse_number("--max-bytes", optarg, 1, UINT64_MAX);
		return true;
	case OPT_CLOCK:
		o->queue.clockid = parse_clock(optarg);
		return true;
	case OPT_LEASE:
		o->queue.lease = must_parse_short_duration("--lease", optarg);
		return true;
	case OPT_GROUPS:
		o->queue.groups = true;
		return true;
	case OPT_GROUP_LIMIT:
		o->queue.groups = true;
		o->queue.group_limit = must_parse_number("--group-limit", optarg, 0, UINT32_MAX);
		return true;
	case OPT_AGING:
		o->queue.aging = must_parse_short_duration("--aging", optarg);
		return true;
	case OPT_NO_VALUES:
		o->no_values = true;
		return true;
	case OPT_NO_DURATIONS:
		o->queue.no_durations = true;
		return true;
	case OPT_SYNC:
		o->queue.sync = true;
		o->queue.changes = true;
		return true;
	case OPT_CHANGES:
		o->queue.changes = true;
		return true;
	default:
		return config_option(&o->config, opt);
	}
}

/*
 * Older modules would report a lease or limiter as EINVAL or E2BIG. Name the missing
 * feature instead.
 */
static bool module_lacks_something(const struct queue_options *o)
{
	if (o->queue.config && !module_has(KWQ_FEATURE_LIMITERS))
		message("the kernel's kwq is older than this command and has no limiters");
	else if (o->queue.clockid == KWQ_CLOCK_ID_MANUAL && !module_has(KWQ_FEATURE_MANUAL_CLOCK))
		message("the kernel's kwq is older than this command and has no manual clock");
	else if (o->queue.lease && !module_has(KWQ_FEATURE_LEASES))
		message("the kernel's kwq is older than this command and has no leases");
	else if (o->queue.groups && !module_has(KWQ_FEATURE_GROUPS))
		message("the kernel's kwq is older than this command and has no groups");
	else if (o->queue.aging && !module_has(KWQ_FEATURE_AGING))
		message("the kernel's kwq is older than this command and has no aging");
	else if (o->queue.no_durations && !module_has(KWQ_FEATURE_NO_DURATIONS))
		message("the kernel's kwq is older than this command and always measures durations");
	else if (o->queue.changes && !module_has(KWQ_FEATURE_CHANGES))
		message("the kernel's kwq is older than this command and nobody can follow its queues");
	else if (o->queue.outbox && !module_has(KWQ_FEATURE_GRANTS))
		message("the kernel's kwq is older than this command and has no outboxes");
	else
		return false;
	return true;
}

void must_have_queue_options(struct queue_options *o)
{
	if (o->queue.no_durations && (o->queue.lease || o->queue.aging ||
				      o->config.config.forget_after))
		usage("--no-durations excludes --lease, --aging and --forget-after: they need the durations");
	/* The first version of the module has no limiters, and so no retries to count. */
	if (config_options_given(&o->config) || module_has(KWQ_FEATURE_LIMITERS))
		o->queue.config = config_options_new(&o->config);
	o->queue.values = !o->no_values && module_has(KWQ_FEATURE_VALUES);
	if (module_lacks_something(o))
		exit(STATUS_FAILED);
}

/* Explains why the kernel refused a queue as invalid: a limit, or the name. */
static int complain_invalid(const char *name, const struct kwq_create_options *options)
{
	struct kwq_info info = { .size = sizeof(info) };

	if (kwq_info(&info))
		return complain(name, -EINVAL);
	if (options->max_items > info.max_items)
		message("--max-items: too high; the module allows up to %llu",
			(unsigned long long)info.max_items);
	else if (options->max_bytes > info.max_bytes)
		message("--max-bytes: too high; the module allows up to %llu",
			(unsigned long long)info.max_bytes);
	else
		return complain_open(name, -EINVAL);
	return STATUS_FAILED;
}

int create_queue(struct kwq **q, const char *name, const struct kwq_create_options *options)
{
	mode_t mask = umask(0);
	int err = kwq_create(q, name, options);

	umask(mask);
	return err;
}

/* Names the owner of a queue that kwq_create() has refused. */
static int complain_stranger(const char *name)
{
	struct kwq *q = NULL;
	int status = open_to_look(&q, name) ? STATUS_OK : check_owner(q, name);

	kwq_close(q);
	/* It may be another one by now. */
	return status ? status : complain(name, -EPERM);
}

int complain_create(const char *name, const struct kwq_create_options *options, int err)
{
	if (err == -EPERM)
		return complain_stranger(name);
	return err == -EINVAL ? complain_invalid(name, options) : complain(name, err);
}
