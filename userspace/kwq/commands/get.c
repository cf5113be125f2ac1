// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq get
 *
 * A queue given by name is closed when the command ends. Therefore an item is done once
 * it was printed. An item got through fd:N stays held. An item that was not printed goes back as
 * if it had not been handed out.
 *
 * A reader such as head(1) may go away before it has read everything. So an item is fetched and
 * written to a pipe only when the reader has read the one before.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/cmd.h"
#include "kwq/job/delivery.h"
#include "base/duration.h"
#include "base/escape.h"
#include "base/number.h"

enum { BATCH = 32 };

enum { OPT_TIMEOUT = OPT_FIRST, OPT_NONBLOCK, OPT_VALUE };

static const struct option get_options[] = {
	{ "all", no_argument, NULL, 'a' },
	{ "count", required_argument, NULL, 'n' },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "nonblock", no_argument, NULL, OPT_NONBLOCK },
	{ "value", no_argument, NULL, OPT_VALUE },
	OPTION_NULL, OPTION_JSON, OPTION_QUIET, OPTION_HELP, OPTION_END
};

struct getter {
	struct kwq *q;
	const char *queue;
	uint64_t left;		/* items wanted; UINT64_MAX for all */
	uint64_t deadline;
	bool nonblock;
	bool null;
	bool json;
	bool quiet;
	bool value;
	bool wants_extras;
	bool finish;		/* the queue was given by its name */
	bool tells_of_wait;	/* has not done so yet */
	bool no_sigpipe;	/* was ignored before, so EPIPE is an error */
	struct delivery delivery;

	struct kwq_got got[BATCH];
	struct kwq_got_extra extras[BATCH];
	/* Of each item its key, the name of its group and its value. */
	char bytes[BATCH * KWQ_KEY_MAX];
};

_Static_assert(BATCH * KWQ_KEY_MAX >= KWQ_KEY_MAX + KWQ_GROUP_MAX + KWQ_VALUE_MAX,
	       "the longest item must fit");

static void print_json(const struct kwq_got *got, const struct kwq_got_extra *extra,
		       const char *key)
{
	const char *group = key + got->key_len, *value = group + extra->group_len;

	printf("{\"ticket\":%llu,\"priority\":%d,\"abandoned\":%u,\"requeues\":%u,",
	       (unsigned long long)got->ticket, got->priority, got->abandoned,
	       got->requeues);
	if (extra->token)
		printf("\"token\":%llu,", (unsigned long long)extra->token);
	json_bytes(stdout, "key", key, got->key_len);
	if (extra->group_len) {
		putchar(',');
		json_bytes(stdout, "group", group, extra->group_len);
	}
	if (extra->value_len) {
		putchar(',');
		json_bytes(stdout, "value", value, extra->value_len);
	}
	puts("}");
}

static void print_text(const struct getter *g, const struct kwq_got *got,
		       const struct kwq_got_extra *extra, const char *key)
{
	fwrite(key, 1, got->key_len, stdout);
	if (g->value) {
		putchar(g->null ? '\0' : '\t');
		fwrite(key + got->key_len + extra->group_len, 1, extra->value_len, stdout);
	}
	putchar(g->null ? '\0' : '\n');
}

static void print_items(const struct getter *g, int nr)
{
	const char *key = g->bytes;
	int i;

	for (i = 0; i < nr; i++) {
		const struct kwq_got_extra *extra = &g->extras[i];

		if (g->json)
			print_json(&g->got[i], extra, key);
		else
			print_text(g, &g->got[i], extra, key);
		key += g->got[i].key_len + extra->group_len + extra->value_len;
	}
}

static int finish_items(struct getter *g, int nr, uint32_t flags)
{
	struct kwq_done_entry entries[BATCH] = { 0 };
	__s32 results[BATCH];
	struct kwq_batch batch = {
		.entries = kwq_ptr(entries),
		.results = kwq_ptr(results),
		.nr = nr,
		.entry_size = sizeof(entries[0]),
	};
	int i, done;

	for (i = 0; i < nr; i++) {
		/* Of returned items the last one comes first. */
		entries[i].ticket = g->got[flags ? nr - 1 - i : i].ticket;
		entries[i].flags = flags;
	}
	done = kwq_done_batch(g->q, &batch);
	if (done < 0)
		return done;
	for (i = 0; i < done; i++)
		if (results[i] < 0)
			return results[i];
	return done == nr ? 0 : -EIO;
}

static int fetch_until(struct getter *g, uint64_t deadline)
{
	struct kwq_get_args req = {
		.size = sizeof(req),
		.flags = g->nonblock ? KWQ_GET_NONBLOCK : 0,
		.deadline = deadline,
		.get = {
			.entries = kwq_ptr(g->got),
			.keys = kwq_ptr(g->bytes),
			.keys_len = sizeof(g->bytes),
			.nr = g->delivery.fd >= 0 ? 1 : g->left < BATCH ? g->left : BATCH,
			.entry_size = sizeof(g->got[0]),
		},
	};

	if (g->wants_extras) {
		req.get.extras = kwq_ptr(g->extras);
		req.get.extra_size = sizeof(g->extras[0]);
	}
	return kwq_get_batch(g->q, &req);
}

/* Returns -ENOENT if the queue was removed, unless it is a descriptor, which may be older. */
static int fetch(struct getter *g)
{
	uint64_t soon;
	int nr;

	while (g->finish || g->tells_of_wait) {
		soon = kwq_deadline(g->q, LOOK_EVERY);
		if (g->nonblock || soon >= g->deadline)
			break;
		nr = fetch_until(g, soon);
		if (nr != -ETIMEDOUT)
			return nr;
		if (g->finish && is_left_behind(g->q))
			return -ENOENT;
		if (g->tells_of_wait)
			tell_of_wait(g->q, g->queue, "a key");
		g->tells_of_wait = false;
	}
	return fetch_until(g, g->deadline);
}

static int complain_get(const struct getter *g, int err)
{
	if (g->quiet)
		return status_of(err);
	if (err != -ENOENT)
		return complain_no_key(g->q, g->queue, err);
	message("%s: the queue was removed meanwhile, and no key comes from it any more", g->queue);
	return status_of(err);
}

/* Whether --all ended as expected: nothing is left to get. */
static bool was_all(const struct getter *g, int err)
{
	return g->left == UINT64_MAX &&
		(err == -ESHUTDOWN || err == -EAGAIN || err == -ETIMEDOUT);
}

/* Returns 0, or the negative errno value of a write. */
static int deliver(struct getter *g, int nr)
{
	print_items(g, nr);
	if (fflush(stdout) || ferror(stdout))
		return errno ? -errno : -EIO;
	return delivery_await(&g->delivery);
}

/* Ends the command after an error of standard output. */
static int end_undelivered(struct getter *g, int nr, int err)
{
	/* A module without returns takes the items back when the handle is closed. */
	finish_items(g, nr, KWQ_DONE_RETURN);
	delivery_end(&g->delivery);
	/* Silent, as other commands whose reader has read enough. */
	if (err == -EPIPE && !g->no_sigpipe) {
		signal(SIGPIPE, SIG_DFL);
		raise(SIGPIPE);
	}
	message("standard output: %s", strerror(-err));
	return STATUS_FAILED;
}

static int get_items(struct getter *g)
{
	int nr, err;

	while (g->left) {
		nr = fetch(g);
		if (nr < 0) {
			if (was_all(g, nr))
				return STATUS_OK;
			return complain_get(g, nr);
		}
		err = deliver(g, nr);
		if (err)
			return end_undelivered(g, nr, err);
		err = g->finish ? finish_items(g, nr, 0) : 0;
		if (err)
			return complain(g->queue, err);
		if (g->left != UINT64_MAX)
			g->left -= nr;
	}
	return STATUS_OK;
}

static int get_main(int argc, char **argv)
{
	static struct getter g = { .left = 1 };	/* too large for the stack */
	const char *timeout = NULL;
	uint64_t timeout_ns = 0;
	int opt, status;

	while ((opt = getopt_long(argc, argv, "an:0qh", get_options, NULL)) != -1) {
		switch (opt) {
		case 'a':
			g.left = UINT64_MAX;
			break;
		case 'n':
			g.left = must_parse_number("--count", optarg, 1, UINT64_MAX - 1);
			break;
		case OPT_TIMEOUT:
			timeout = optarg;
			break;
		case OPT_NONBLOCK:
			g.nonblock = true;
			break;
		case OPT_VALUE:
			g.value = true;
			break;
		case '0':
			g.null = true;
			break;
		case OPT_JSON:
			g.json = true;
			break;
		case 'q':
			g.quiet = true;
			break;
		default:
			option_common(opt);
		}
	}
	g.queue = only_argument(argc, argv, "QUEUE");
	if (g.null && g.json)
		usage("--null and --json cannot be combined");
	if (g.value && g.json)
		usage("--value and --json cannot be combined: JSON has the values anyway");
	if (g.nonblock && timeout)
		usage("--nonblock and --timeout cannot be combined");
	g.finish = !queue_is_fd(g.queue);
	if (timeout)
		timeout_ns = must_parse_duration("--timeout", timeout);

	g.q = must_open_queue(g.queue, KWQ_RIGHT_READ);
	g.wants_extras = g.value || (g.json && module_has(KWQ_FEATURE_VALUES));
	if (timeout)
		g.deadline = kwq_deadline(g.q, timeout_ns);
	else if (!g.nonblock)
		g.deadline = KWQ_NO_DEADLINE;
	if (g.finish)
		warn_of_wait(g.q, g.queue);
	g.tells_of_wait = !g.nonblock && !g.quiet && has_watcher();
	delivery_begin(&g.delivery, STDOUT_FILENO);
	/* The items are given back before the command ends. */
	if (signal(SIGPIPE, SIG_IGN) == SIG_IGN)
		g.no_sigpipe = true;
	status = get_items(&g);
	delivery_end(&g.delivery);
	return status;
}

const struct command command_get = {
	.name = "get",
	.arguments = "[OPTION...] QUEUE",
	.summary = "Take keys and print them; they are done, but with fd:N stay held",
	.options =
	"  -n, --count N           take N keys, and wait for each (1)\n"
	"  -a, --all               take keys until the queue is shut down and empty; with\n"
	"                          --nonblock or --timeout until none is ready\n"
	"      --timeout DURATION  wait no longer than that in all\n"
	"      --nonblock          do not wait\n"
	"      --value             print a tab and the value behind each key\n"
	"  -0, --null              end each key with NUL, not newline; and each value\n"
	"      --json              print one JSON object per line: ticket, priority,\n"
	"                          abandoned, requeues, key; token, group, value, if any\n"
	"  -q, --quiet             no message if no key comes\n"
	"  -h, --help\n",
	.examples =
	"  kwq get --timeout 5s jobs                wait 5 s for a key\n"
	"  kwq get --nonblock -a jobs >keys         all that is ready\n",
	.table = get_options,
	.main = get_main,
};
