// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq cancel: takes keys out of a queue, and ends their jobs.
 *
 * First the key is removed, which ends it if it is ready, waiting or dead. If it is being
 * processed, that drops what else was due for it, and the worker is asked to kill the job and then
 * to finish the key. It holds the key until the job has ended, so nobody can start a second job of
 * that key beside the first (Q3). If the job ends by itself before it can be killed, a retry may
 * have brought the key back, so the removal begins again.
 *
 * A holder that cannot be asked is no kwq run, or one of another user or container, or it hangs or
 * is dead. The key is taken from it then. A kwq run that lives kills the job when the queue tells
 * it that. But whether the job has ended cannot be seen from here, so that is a failure.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"
#include "kwq/keys/key_filter.h"
#include "queue/shared.h"
#include "queue/was.h"
#include "kwq/control/worker_client.h"

enum { OPT_LEAVE_JOBS = OPT_FIRST };

static const struct option cancel_options[] = {
	{ "leave-jobs", no_argument, NULL, OPT_LEAVE_JOBS },
	OPTION_FILTER_ALL, OPTION_FILTER_STATE, OPTION_FILTER_GROUP, OPTION_FILTER_GLOB,
	OPTION_NULL, OPTION_QUIET, OPTION_JSON, OPTION_HELP, OPTION_END
};

/* The states of all keys that were cancelled, KWQ_WAS_* bits. */
static int all_were;
/* Whether the end of some job could not be seen. */
static bool some_may_run;
/* With --leave-jobs: how many keys have a worker. */
static uint64_t still_held;

static struct key_filter filter;	/* too large for the stack */
static const char *queue;

static int fill(void *entry, const char *key, size_t len, const void *context)
{
	(void)key;
	(void)context;
	*(struct kwq_remove_entry *)entry = (struct kwq_remove_entry){
		.key_len = len,
		/* A key that is listed as dead may be added again before it is removed. */
		.flags = filter.states == KWQ_IS_DEAD ? KWQ_REMOVE_DEAD : 0,
	};
	return len;
}

/* Removes one key. Returns KWQ_WAS_* bits, or a negative errno value. */
static int remove_key(struct kwq *q, const char *key, size_t len, uint32_t flags)
{
	struct kwq_remove_entry entry = { .key_len = len, .flags = flags };
	__s32 result = -EIO;
	struct kwq_batch batch = {
		.entries = kwq_ptr(&entry),
		.keys = kwq_ptr(key),
		.results = kwq_ptr(&result),
		.keys_len = len,
		.nr = 1,
		.entry_size = sizeof(entry),
	};
	int taken = kwq_remove_batch(q, &batch);

	return taken < 0 ? taken : result;
}

/* Takes the key from a holder that cannot be asked, and says so. */
static int take_away(struct kwq *q, const struct running_key *running, int why)
{
	int ret = remove_key(q, running->key, running->key_len, KWQ_REMOVE_REVOKE);

	if (ret < 0 || !(ret & KWQ_WAS_PROCESSING))
		return ret;
	complain_worker(queue, running, why);
	message("%s: the key was taken from it, and is gone, but its job may still run", queue);
	some_may_run = true;
	return ret;
}

/*
 * Cancels a key that was being processed a moment ago. Returns 0, or -EAGAIN if it was not any
 * more, or another negative errno value.
 */
static int end_job(struct kwq *q, const char *key, size_t len, uint64_t *disclaimed)
{
	static struct running_key running;	/* too large for the stack */
	int err;

	err = running_key_find(&running, q, key, len);
	if (err)
		return err == -ESRCH || err == -ENOENT ? -EAGAIN : err;
	err = worker_ask(&running, CONTROL_CANCEL, 0, NULL, NULL);
	if (!err)
		return 0;
	/*
	 * The job has just ended. A worker that says so of the same hand-out again does not know
	 * that it has the key.
	 */
	if (err == -ESTALE && running.ticket != *disclaimed) {
		*disclaimed = running.ticket;
		return -EAGAIN;
	}
	err = take_away(q, &running, err);
	return err < 0 ? err : err & KWQ_WAS_PROCESSING ? 0 : -EAGAIN;
}

/* Returns what the key was, KWQ_WAS_* bits, or a negative errno value. */
static int cancel_key(struct kwq *q, const char *key, size_t len, uint32_t flags)
{
	struct kwq_listed item;
	uint64_t disclaimed = 0;
	int first = 0, now, err;

	/* A key that is only remembered is not in the queue, and its count is left alone. */
	err = kwq_look(q, key, len, &item);
	if (!err && item.state == KWQ_IS_REMEMBERED)
		err = -ENOENT;
	if (err)
		return err;
	for (;;) {
		now = remove_key(q, key, len, flags);
		if (now == -ENOENT && first)
			break;
		if (now < 0)
			return now;
		first = first ? first | (now & KWQ_WAS_PROCESSING) : now;
		if (!(now & KWQ_WAS_PROCESSING))
			break;
		err = end_job(q, key, len, &disclaimed);
		if (!err)
			break;
		if (err != -EAGAIN)
			return err;
	}
	all_were |= first;
	return first;
}

static int submit(struct kwq *q, const struct kwq_batch *batch)
{
	const struct kwq_remove_entry *entries = (void *)(uintptr_t)batch->entries;
	const char *key = (void *)(uintptr_t)batch->keys;
	__s32 *results = (void *)(uintptr_t)batch->results;
	unsigned int i;

	for (i = 0; i < batch->nr; key += entries[i++].key_len)
		results[i] = cancel_key(q, key, entries[i].key_len, entries[i].flags);
	key_filter_excuse(&filter, batch, batch->nr);
	return batch->nr;
}

static int submit_leaving_jobs(struct kwq *q, const struct kwq_batch *batch)
{
	const __s32 *results = (void *)(uintptr_t)batch->results;
	int taken = kwq_remove_batch(q, batch), i;

	for (i = 0; i < taken; i++) {
		if (results[i] <= 0)
			continue;
		all_were |= results[i] & KWQ_WAS_DEAD;
		still_held += !!(results[i] & KWQ_WAS_PROCESSING);
	}
	key_filter_excuse(&filter, batch, taken);
	return taken;
}

/*
 * The master of a shared queue cancels keys on all machines. It takes the key from a worker, and
 * kwq run there kills the job.
 */
static int submit_to_all(struct kwq *q, const struct kwq_batch *batch)
{
	const struct kwq_remove_entry *entries = (void *)(uintptr_t)batch->entries;
	const char *key = (void *)(uintptr_t)batch->keys;
	__s32 *results = (void *)(uintptr_t)batch->results;
	unsigned int i;

	(void)q;
	for (i = 0; i < batch->nr; key += entries[i++].key_len) {
		results[i] = shared_ask(entries[i].flags ? SHARED_DROP : SHARED_REMOVE, key,
					entries[i].key_len);
		if (results[i] == -ESTALE)
			results[i] = WAS_GONE;
		if (results[i] > 0)
			all_were |= results[i];
	}
	key_filter_excuse(&filter, batch, batch->nr);
	return batch->nr;
}

static const char *refusal(int err)
{
	return err == -ENOENT ? "no such key" : shared_refusal(err);
}

/* Tells apart what a script may have to clean up after. */
static int status_of_all(int status, bool quiet)
{
	if (status || some_may_run)
		return status ? status : STATUS_FAILED;
	/* A key that a worker holds is not gone, so success would be a lie. */
	if (still_held && !quiet)
		message("%s: %llu being processed: gone once done, but back if a job fails: without --leave-jobs the jobs end, too",
			queue, (unsigned long long)still_held);
	if (still_held)
		return STATUS_FAILED;
	if (all_were & KWQ_WAS_PROCESSING)
		return STATUS_WAS_RUNNING;
	return all_were & KWQ_WAS_DEAD ? STATUS_WAS_DEAD : STATUS_OK;
}

/* Ends the program, after a message, if the jobs of this queue cannot be ended. */
static void must_end_jobs(struct kwq *q)
{
	must_list_items(q, queue);
	if (module_has(KWQ_FEATURE_GRANTS))
		return;
	message("%s: the kernel's kwq is older than this command", queue);
	exit(STATUS_FAILED);
}

static int cancel_main(int argc, char **argv)
{
	struct key_verb verb = {
		.entry_size = sizeof(struct kwq_remove_entry),
		.fill = fill,
		.submit = submit,
		.outcome = was,
		.refusal = refusal,
	};
	struct key_options options = { 0 };
	bool leave_jobs = false;
	struct kwq *q;
	int opt;

	while ((opt = getopt_long(argc, argv, "a0qh", cancel_options, NULL)) != -1) {
		if (opt == OPT_LEAVE_JOBS)
			leave_jobs = true;
		else if (!key_option(&options, opt) && !key_filter_option(&filter, opt))
			option_common(opt);
	}
	options.verbose = !options.quiet;
	if (optind == argc)
		usage("QUEUE is missing");
	queue = argv[optind++];
	/* A list, and a look at a job, need the right to read. */
	q = must_open_queue(queue, leave_jobs && !filter.all ? KWQ_RIGHT_MANAGE :
			    KWQ_RIGHT_READ | KWQ_RIGHT_MANAGE);
	if (must_reach_all(q, queue))
		verb.submit = submit_to_all;
	else if (leave_jobs)
		verb.submit = submit_leaving_jobs;
	else
		must_end_jobs(q);
	if (leave_jobs && shared_is_attached(q)) {
		message("%s: this queue is shared, and a key of it is cancelled with its job: --leave-jobs is for queues of this machine",
			queue);
		return STATUS_FAILED;
	}
	key_filter_apply(&filter, q, queue, &verb, &options, argc, argv);
	warn_of_wait(q, queue);
	return status_of_all(each_key(q, queue, &verb, &options, argc, argv), options.quiet);
}

const struct command command_cancel = {
	.name = "cancel",
	.arguments = "[OPTION...] QUEUE [KEY...]",
	.summary = "Take keys out of a queue, and end their jobs",
	.options =
	FILTER_HELP
	"      --leave-jobs     end no job: a key whose job runs is gone once it is done\n"
	"  -0, --null       keys on standard input end with NUL, not with newline\n"
	"  -q, --quiet      do not print what the keys were, nor errors of single keys\n"
	"      --json       print the results as one JSON object per line\n"
	"  -h, --help\n"
	"\n"
	"Prints what each key was: ready, waiting, processing, dirty (added again while\n"
	"it ran) or dead. The exit status is 0 if all were ready or waiting, 7 if a job\n"
	"ran and has ended, 8 if a key was dead, and 1 if a key was not there, or if its\n"
	"job may still run: with --leave-jobs, or because its worker cannot be asked.\n",
	.examples =
	"  kwq cancel jobs report-7                 whatever it does, it is over\n"
	"  kwq pause jobs; kwq cancel --all jobs    empty the queue\n",
	.table = cancel_options,
	.main = cancel_main,
};
