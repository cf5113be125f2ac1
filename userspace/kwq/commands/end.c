// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq drain and kwq rm: the end of a queue.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cmd.h"
#include "kwq/keys/drop.h"
#include "base/duration.h"

enum { OPT_TIMEOUT = OPT_FIRST, OPT_NO_WAIT };

static const struct option rm_options[] = {
	{ "force", no_argument, NULL, 'f' },
	OPTION_HELP, OPTION_END
};

static const struct option drain_options[] = {
	{ "no-wait", no_argument, NULL, OPT_NO_WAIT },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	OPTION_HELP, OPTION_END
};

/* Adds ", 3 dead" to the text. */
static void append_count(char *text, size_t size, uint64_t count, const char *state)
{
	size_t len = strlen(text);

	if (count)
		snprintf(text + len, size - len, "%s%llu %s", len ? ", " : "",
			 (unsigned long long)count, state);
}

static void tell_of_drain(const struct kwq *q, const char *queue)
{
	struct kwq_stat st = { .size = sizeof(st) };
	char keys[100] = "";

	if (!kwq_stat(q, &st)) {
		append_count(keys, sizeof(keys), st.ready, "ready");
		append_count(keys, sizeof(keys), st.processing, "processing");
	}
	tell_of_wait(q, queue, keys[0] ? keys : "the last keys");
}

/* Returns -ENOENT if the queue was removed meanwhile, and nobody can get the keys that are left. */
static int drain(struct kwq *q, const char *queue, uint64_t timeout)
{
	bool by_name = !queue_is_fd(queue), tells = has_watcher();
	int err;

	while ((by_name || tells) && timeout > LOOK_EVERY) {
		err = kwq_shut_down_with_drain_within(q, LOOK_EVERY);
		if (err != -ETIMEDOUT)
			return err;
		if (by_name && is_left_behind(q))
			return -ENOENT;
		if (tells)
			tell_of_drain(q, queue);
		tells = false;
		if (timeout != KWQ_NO_DEADLINE)
			timeout -= LOOK_EVERY;
	}
	return kwq_shut_down_with_drain_within(q, timeout);
}

/* How many keys were taken out before they were done, without those that a shut down drops. */
static uint64_t nr_removed(const struct kwq *q, bool *is_unlinked)
{
	struct kwq_stat st = { .size = sizeof(st) };

	if (kwq_stat(q, &st))
		return 0;
	*is_unlinked = st.state & KWQ_STATE_UNLINKED;
	return st.removed;
}

/* A queue that somebody removes by force loses its keys, and is drained then. Returns a status. */
static int drain_and_tell(struct kwq *q, const char *queue, uint64_t timeout)
{
	bool is_unlinked = false;
	uint64_t before = nr_removed(q, &is_unlinked), removed;
	int err = drain(q, queue, timeout);

	if (err == -ENOENT) {
		message("%s: the queue was removed meanwhile, and nobody can get the keys that are left in it",
			queue);
		return status_of(err);
	}
	if (err)
		return complain_no_key(q, queue, err);
	removed = nr_removed(q, &is_unlinked) - before;
	if (!is_unlinked || !removed || queue_is_fd(queue))
		return STATUS_OK;
	message("%s: the queue was removed meanwhile, with %llu of its keys, which are not done",
		queue, (unsigned long long)removed);
	return STATUS_NOT_FOUND;
}

static int drain_main(int argc, char **argv)
{
	const char *queue, *shared, *timeout = NULL;
	uint64_t timeout_ns = KWQ_NO_DEADLINE;
	bool no_wait = false;
	struct kwq *q;
	int opt, err;

	while ((opt = getopt_long(argc, argv, "h", drain_options, NULL)) != -1) {
		if (opt == OPT_NO_WAIT)
			no_wait = true;
		else if (opt == OPT_TIMEOUT)
			timeout = optarg;
		else
			option_common(opt);
	}
	queue = only_argument(argc, argv, "QUEUE");
	if (no_wait && timeout)
		usage("--no-wait and --timeout exclude each other");
	if (timeout)
		timeout_ns = must_parse_duration("--timeout", timeout);

	q = must_open_queue(queue, KWQ_RIGHT_MANAGE);
	if (no_wait) {
		err = kwq_shut_down(q);
		return err ? complain(queue, err) : STATUS_OK;
	}
	/* A drain would end when this machine has no keys, and others still have some. */
	shared = shared_queue(q);
	if (shared) {
		message("%s: this queue is shared, and has keys on other machines: to leave, stop kwq share (systemctl stop kwq-share@%s), which lets the workers of this machine finish",
			queue, shared);
		return STATUS_FAILED;
	}
	return drain_and_tell(q, queue, timeout_ns);
}

/*
 * Returns STATUS_OK for a queue without keys. A queue of which nobody can tell counts as one with
 * keys, because its owner has left no right to look.
 */
static int check_without_keys(const char *name)
{
	struct kwq_stat st = { .size = sizeof(st) };
	char keys[150] = "";
	struct kwq *q;
	int err;

	err = open_to_look(&q, name);
	if (!err) {
		err = kwq_stat(q, &st);
		kwq_close(q);
	}
	if (err == -EACCES) {
		message("%s: may have keys, and may not be opened: see --force", name);
		return STATUS_FAILED;
	}
	if (err)
		return complain_open(name, err);
	append_count(keys, sizeof(keys), st.ready, "ready");
	append_count(keys, sizeof(keys), st.waiting, "waiting");
	append_count(keys, sizeof(keys), st.processing, "processing");
	append_count(keys, sizeof(keys), st.dead, "dead");
	if (!keys[0])
		return STATUS_OK;
	message("%s: has keys (%s), which would be lost: --force drops them%s", name, keys,
		st.processing ? ", and kwq cancel --all ends their jobs, too" : "");
	return STATUS_FAILED;
}

/*
 * Drops the keys of a queue that has no name any more. Otherwise its workers would run them. A
 * follower, such as kwq keep, has them elsewhere, and must not hear that they are gone. Without
 * one, this handle follows, so that nobody else can begin to, and the removes of a queue with
 * --sync do not wait for somebody who keeps them.
 */
static int drop(struct kwq *q, const char *name)
{
	struct kwq_stat st = { .size = sizeof(st) };
	uint64_t number;
	int err = kwq_follow(q, &number);

	if (err == -EBUSY)
		return STATUS_OK;
	/* A queue without changes, or an old module. */
	if (!err || err == -EOPNOTSUPP || err == -ENOTTY)
		err = drop_keys(q);
	if (!err)
		err = kwq_stat(q, &st);
	if (err)
		return complain(name, err);
	if (st.processing)
		message("%s: removed, but %llu being processed: their jobs go on (kwq cancel --all before ends them)",
			name, (unsigned long long)st.processing);
	return STATUS_OK;
}

/* Returns the exit status. */
static int remove_queue(const char *argument, bool force)
{
	const char *name = must_be_name(argument);
	int err, status = STATUS_OK;
	struct kwq *q = NULL;

	if (!force)
		status = check_without_keys(argument);
	if (status)
		return status;
	/* No other right lets an owner remove a name, but these are needed to drop the keys. */
	if (force)
		open_queue(&q, argument, KWQ_RIGHT_READ | KWQ_RIGHT_MANAGE);
	err = kwq_unlink(name);
	if (err)
		status = complain_open(argument, err);
	else if (q)
		status = drop(q, argument);
	else if (force)
		message("%s: removed, but its workers may run its keys: dropping these needs the rights to read and to manage",
			argument);
	kwq_close(q);
	return status;
}

static int rm_main(int argc, char **argv)
{
	int i, opt, one, status = STATUS_OK;
	bool force = false;

	while ((opt = getopt_long(argc, argv, "fh", rm_options, NULL)) != -1) {
		if (opt != 'f')
			option_common(opt);
		force = true;
	}
	if (optind == argc)
		usage("NAME is missing");
	/* All are looked at first, because status 2 says that nothing was done. */
	for (i = optind; i < argc; i++)
		must_be_name(argv[i]);
	for (; optind < argc; optind++) {
		one = remove_queue(argv[optind], force);
		if (one)
			status = one;
	}
	return status;
}

const struct command command_drain = {
	.name = "drain",
	.arguments = "[--timeout DURATION | --no-wait] QUEUE",
	.summary = "Refuse new keys, and wait until all ready keys are done",
	.options =
	"      --no-wait           do not wait: workers end when the queue is empty\n"
	"      --timeout DURATION  wait no longer than that; the queue stays shut down\n"
	"  -h, --help\n",
	.examples =
	"  kwq drain jobs                           wait until nothing is left\n"
	"  kwq drain --timeout 1m jobs              wait no longer than 1 min\n",
	.table = drain_options,
	.main = drain_main,
};

const struct command command_rm = {
	.name = "rm",
	.arguments = "[--force] NAME...",
	.summary = "Remove queues without keys; a queue ends with its last handle",
	.options =
	"  -f, --force  also queues with keys, which are dropped; jobs that run go on\n"
	"  -h, --help\n"
	"\n"
	"Examples:\n"
	"  kwq drain jobs && kwq rm jobs    finish what is ready, then remove the queue\n"
	"  kwq rm --force jobs              remove the queue with all its keys\n",
	.table = rm_options,
	.main = rm_main,
};
