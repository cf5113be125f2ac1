// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq kick: makes dead and waiting keys ready, as beanstalkd's kick does.
 *
 * A dead key is kicked by KWQ_ADD_KICK, which changes no other key. For a waiting key there
 * is an add that ends the wait. Between the look at the key and that add the key may
 * become ready, run and be done. Then it runs once more.
 */
#include <errno.h>
#include <string.h>

#include "base/cmd.h"
#include "kwq/keys/each_key.h"
#include "kwq/keys/item_sort.h"
#include "base/number.h"
#include "queue/shared.h"

enum { OPT_DEAD = OPT_FIRST, OPT_WAITING };

static const struct option kick_options[] = {
	{ "all", no_argument, NULL, 'a' },
	{ "count", required_argument, NULL, 'n' },
	{ "dead", no_argument, NULL, OPT_DEAD },
	{ "waiting", no_argument, NULL, OPT_WAITING },
	OPTION_NULL, OPTION_QUIET, OPTION_VERBOSE, OPTION_JSON, OPTION_HELP, OPTION_END
};

/* Results beside KWQ_ADDED and so on. */
enum { GONE = INT32_MAX };

/* The states of keys that the command may kick, KWQ_IS_* bits. */
static uint32_t wanted;
/* Whether it lists them. Then somebody else may be faster. */
static bool lists;

static int fill(void *entry, const char *key, size_t len, const void *context)
{
	(void)key;
	(void)context;
	*(struct kwq_add_entry *)entry = (struct kwq_add_entry){
		.key_len = len,
		.flags = KWQ_ADD_KICK,
	};
	return len;
}

/* Ends the wait of one key. Returns as kwq_add(), or -ENOENT if it does not wait. */
static int end_wait(struct kwq *q, const char *key, size_t len)
{
	struct kwq_add_options options = { .size = sizeof(options), .flags = KWQ_ADD_END_WAIT };
	struct kwq_listed item;
	int err;

	err = kwq_look(q, key, len, &item);
	if (err)
		return err;
	if (!(item.state & KWQ_IS_WAITING))
		return -ENOENT;
	return kwq_add_with(q, key, len, &options);
}

/* Kicks the keys of a batch that are dead, and then those that are waiting. */
static int submit(struct kwq *q, const struct kwq_batch *batch)
{
	const struct kwq_add_entry *entries = (void *)(uintptr_t)batch->entries;
	const char *key = (void *)(uintptr_t)batch->keys;
	__s32 *results = (void *)(uintptr_t)batch->results;
	int taken = batch->nr, i;

	for (i = 0; i < taken; i++)
		results[i] = -ENOENT;
	if (wanted & KWQ_IS_DEAD)
		taken = kwq_add_batch(q, batch);
	for (i = 0; i < taken; key += entries[i++].key_len)
		if (results[i] == -ENOENT && wanted & KWQ_IS_WAITING)
			results[i] = end_wait(q, key, entries[i].key_len);
	return taken;
}

/* The same of a shared queue: its master does it. Results are as KWQ_ADDED. */
static int submit_to_all(struct kwq *q, const struct kwq_batch *batch)
{
	const struct kwq_add_entry *entries = (void *)(uintptr_t)batch->entries;
	const char *key = (void *)(uintptr_t)batch->keys;
	__s32 *results = (void *)(uintptr_t)batch->results;
	unsigned int i;

	(void)q;
	for (i = 0; i < batch->nr; key += entries[i++].key_len) {
		results[i] = -ENOENT;
		if (wanted & KWQ_IS_DEAD)
			results[i] = shared_ask(SHARED_KICK, key, entries[i].key_len);
		if (results[i] == -ENOENT && wanted & KWQ_IS_WAITING)
			results[i] = shared_ask(SHARED_END_WAIT, key, entries[i].key_len);
		if (results[i] == -ESTALE || (results[i] == -ENOENT && lists))
			results[i] = GONE;
	}
	return batch->nr;
}

static const char *outcome(int result)
{
	return result == GONE ? "gone" : "kicked";
}

static const char *refusal(int err)
{
	if (err != -ENOENT)
		return shared_refusal(err);
	return wanted == KWQ_IS_DEAD ? "not dead" :
		wanted == KWQ_IS_WAITING ? "not waiting" : "neither dead nor waiting";
}

/* ---- The first keys of the queue ------------------------------------------ */

/* Somebody else may be faster than a list. */
static int submit_listed(struct kwq *q, const struct kwq_batch *batch)
{
	__s32 *results = (void *)(uintptr_t)batch->results;
	int taken, i;

	taken = submit(q, batch);
	for (i = 0; i < taken; i++)
		if (results[i] == -ENOENT)
			results[i] = GONE;
	return taken;
}

/*
 * Lists the keys that -n and --all mean: the first @count of the dead ones or, if none is dead,
 * of the waiting ones. Returns 0 or a negative errno value.
 */
static int list_keys(struct kwq *q, struct item_sorted *first, size_t count)
{
	static const uint32_t states[] = { KWQ_IS_DEAD, KWQ_IS_WAITING };
	size_t i;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(states) && !err && !first->nr; i++)
		if (wanted & states[i])
			err = item_sorted_list(first, q, states[i]);
	if (first->nr > count)
		first->nr = count;
	return err;
}

/* ---- The command ---------------------------------------------------------- */

static int kick_main(int argc, char **argv)
{
	struct key_verb verb = {
		.entry_size = sizeof(struct kwq_add_entry),
		.fill = fill,
		.submit = submit,
		.outcome = outcome,
		.refusal = refusal,
	};
	struct item_sorted first = { 0 };
	struct key_options options = { 0 };
	const char *queue;
	size_t count = 0;
	struct kwq *q;
	int opt, err;

	while ((opt = getopt_long(argc, argv, KEY_LETTERS "an:h", kick_options, NULL)) != -1) {
		if (opt == 'a')
			count = SIZE_MAX;
		else if (opt == 'n')
			count = must_parse_number("-n", optarg, 1, SIZE_MAX);
		else if (opt == OPT_DEAD)
			wanted |= KWQ_IS_DEAD;
		else if (opt == OPT_WAITING)
			wanted |= KWQ_IS_WAITING;
		else if (!key_option(&options, opt))
			option_common(opt);
	}
	if (!wanted)
		wanted = KWQ_IS_DEAD | KWQ_IS_WAITING;
	if (optind == argc)
		usage("QUEUE is missing");
	queue = argv[optind++];
	if (count && optind < argc)
		usage("-n or --all, and KEY \"%s\", cannot be combined", argv[optind]);

	/* Only a list, and a look at whether a key waits, need the right to read. */
	q = must_open_queue(queue, wanted == KWQ_IS_DEAD && !count ? KWQ_RIGHT_WRITE :
			    KWQ_RIGHT_READ | KWQ_RIGHT_WRITE);
	must_have_limiters(q, queue);
	must_list_items(q, queue);
	if (must_reach_all(q, queue))
		verb.submit = submit_to_all;
	lists = count;
	if (count) {
		err = list_keys(q, &first, count);
		if (err)
			return complain(queue, err);
		verb.submit = shared_is_attached(q) ? submit_to_all : submit_listed;
		verb.next = item_sorted_next;
		verb.list = &first;
	}
	return each_key(q, queue, &verb, &options, argc, argv);
}

const struct command command_kick = {
	.name = "kick",
	.arguments = "[OPTION...] QUEUE [KEY...]",
	.summary = "Make dead and waiting keys ready now",
	.options =
	"  -n, --count N    the first N dead keys or, if there is none, waiting keys\n"
	"  -a, --all        all dead keys or, if there is none, all waiting keys\n"
	"      --dead       only dead keys\n"
	"      --waiting    only waiting keys\n"
	KEY_HELP
	"\n"
	"A key that is neither dead nor waiting is an error, and stays as it is.\n"
	"\n"
	"  kwq kick -n 10 jobs         try the ten keys again that died first\n"
	"  kwq kick --waiting -a jobs  do not wait for the time of any key\n",
	.table = kick_options,
	.main = kick_main,
};
