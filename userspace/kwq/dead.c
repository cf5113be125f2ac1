// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq dead: lists, kicks and drops dead items (dead letters).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "each_key.h"
#include "escape.h"
#include "item_print.h"
#include "item_sort.h"

static const struct option dead_options[] = {
	{ "long", no_argument, NULL, 'l' },
	{ "all", no_argument, NULL, 'a' },
	OPTION_NO_HEADINGS,
	OPTION_NULL, OPTION_QUIET, OPTION_VERBOSE, OPTION_JSON, OPTION_HELP, OPTION_END
};

struct dead_options {
	bool detailed, all, no_headings;
	struct key_options key;
};

/* ---- ls ------------------------------------------------------------------- */

static void print_item(const struct dead_options *o, const struct kwq_listed *item,
		       const char *key, bool first)
{
	const char *note = key + item->key_len + item->group_len;
	char age[JSON_AGE_SIZE];

	if (o->key.json) {
		printf("%s{\"number\":%llu,\"requeues\":%u,\"abandoned\":%u,\"age_ns\":%s,",
		       first ? "[\n" : ",\n", (unsigned long long)item->order,
		       item->requeues, item->abandoned, json_age(age, item->dead_for));
		printf("\"priority\":%d,", item->priority);
		json_bytes(stdout, "key", key, item->key_len);
		if (item->note_len) {
			putchar(',');
			json_bytes(stdout, "note", note, item->note_len);
		}
		putchar('}');
	} else if (o->key.null) {
		fwrite(key, 1, item->key_len, stdout);
		putchar('\0');
	} else {
		if (o->detailed) {
			printf("%8u %5u", item->requeues, item->abandoned);
			print_age(item->dead_for);
			printf(" %4d ", item->priority);
		}
		print_escaped(stdout, key, item->key_len);
		putchar('\n');
		if (o->detailed)
			item_print_note(note, item->note_len);
	}
}

static void print_header(const struct dead_options *o)
{
	if (o->detailed && !o->no_headings)
		printf("%8s %5s %12s %4s %s\n", "REQUEUES", "LOST", "AGE", "PRIO", "KEY");
}

/* Ends the program, after a message, if dead keys are not in the queue, but in the engine. */
static void must_have_dead_keys(const struct kwq *q, const char *queue)
{
	const char *name = shared_queue(q);

	if (!name)
		return;
	message("%s: this queue is shared, and its dead keys are in the engine: kwq share --list --dead --nats URL %s lists them, and an add revives a key",
		queue, name);
	exit(STATUS_FAILED);
}

/* Lists all dead items first, because the list of a queue's items is in no useful order. */
static int find_dead_items(struct kwq *q, const char *queue, bool notes, struct item_sorted *dead)
{
	static struct item_list list;	/* too large for the stack */

	must_list_items(q, queue);
	item_list_begin(&list, q, KWQ_IS_DEAD);
	if (notes && module_has(KWQ_FEATURE_NOTES))
		item_list_with(&list, KWQ_LIST_NOTES);
	return item_sorted_collect(dead, &list);
}

static int dead_ls(const char *queue, const struct dead_options *o)
{
	struct item_sorted dead = { 0 };
	struct kwq *q;
	size_t i;
	int err;

	q = must_open_queue(queue, KWQ_RIGHT_READ);
	must_have_limiters(q, queue);
	must_have_dead_keys(q, queue);
	err = find_dead_items(q, queue, o->detailed || o->key.json, &dead);
	if (err)
		return complain(queue, err);
	print_header(o);
	for (i = 0; i < dead.nr; i++)
		print_item(o, &dead.rows[i].item, item_sorted_key(&dead, i), !i);
	if (o->key.json)
		puts(dead.nr ? "\n]" : "[]");
	item_sorted_free(&dead);
	return flush_output() ? STATUS_OK : STATUS_FAILED;
}

/* ---- kick and drop -------------------------------------------------------- */

/* With --all, replaces -ENOENT: somebody else was faster. */
enum { GONE = INT32_MAX };

static int fill_kick(void *entry, const char *key, size_t len, const void *context)
{
	(void)key;
	(void)context;
	*(struct kwq_add_entry *)entry = (struct kwq_add_entry){
		.key_len = len,
		.flags = KWQ_ADD_KICK,
	};
	return len;
}

static int fill_drop(void *entry, const char *key, size_t len, const void *context)
{
	(void)key;
	(void)context;
	*(struct kwq_remove_entry *)entry = (struct kwq_remove_entry){
		.key_len = len,
		.flags = KWQ_REMOVE_DEAD,
	};
	return len;
}

static int excuse_gone(const struct kwq_batch *batch, int taken)
{
	__s32 *results = (__s32 *)(uintptr_t)batch->results;
	int i;

	for (i = 0; i < taken; i++)
		if (results[i] == -ENOENT)
			results[i] = GONE;
	return taken;
}

static int kick_all(struct kwq *q, const struct kwq_batch *batch)
{
	return excuse_gone(batch, kwq_add_batch(q, batch));
}

static int drop_all(struct kwq *q, const struct kwq_batch *batch)
{
	return excuse_gone(batch, kwq_remove_batch(q, batch));
}

static const char *kick_outcome(int result)
{
	return result == GONE ? "gone" : "kicked";
}

static const char *drop_outcome(int result)
{
	return result == GONE ? "gone" : "dropped";
}

static const char *refusal(int err)
{
	return err == -ENOENT ? "not dead" : NULL;
}

static const struct key_verb kick = {
	.entry_size = sizeof(struct kwq_add_entry),
	.fill = fill_kick,
	.submit = kwq_add_batch,
	.outcome = kick_outcome,
	.refusal = refusal,
};

static const struct key_verb drop = {
	.entry_size = sizeof(struct kwq_remove_entry),
	.fill = fill_drop,
	.submit = kwq_remove_batch,
	.outcome = drop_outcome,
	.refusal = refusal,
};

static int dead_each(const char *queue, const struct dead_options *o, struct key_verb verb,
		     int argc, char **argv)
{
	struct item_sorted dead = { 0 };
	unsigned int rights = verb.submit == kwq_add_batch ? KWQ_RIGHT_WRITE : KWQ_RIGHT_MANAGE;
	struct kwq *q;
	int err;

	/* --all lists the items first, which needs the right to read. */
	q = must_open_queue(queue, o->all ? rights | KWQ_RIGHT_READ : rights);
	must_have_limiters(q, queue);
	must_have_dead_keys(q, queue);
	if (o->all) {
		err = find_dead_items(q, queue, false, &dead);
		if (err)
			return complain(queue, err);
		verb.submit = verb.submit == kwq_add_batch ? kick_all : drop_all;
		verb.next = item_sorted_next;
		verb.list = &dead;
	}
	return each_key(q, queue, &verb, &o->key, argc, argv);
}

/* ---- The command ---------------------------------------------------------- */

static void check_ls(const struct dead_options *o, int argc, char **argv)
{
	if (o->all || o->key.quiet || o->key.verbose)
		usage("--all, --quiet and --verbose work with kick and drop only");
	if (o->detailed + o->key.null + o->key.json > 1)
		usage("--long, --null and --json cannot be combined");
	if (o->no_headings && !o->detailed)
		usage("--no-headings needs --long: nothing else has a header");
	if (optind < argc)
		usage("\"%s\" is one argument too many", argv[optind]);
}

static void check_each(const struct dead_options *o, int argc, char **argv)
{
	if (o->detailed || o->no_headings)
		usage("--long and --no-headings work with ls only");
	if (o->all && optind < argc)
		usage("--all and KEY \"%s\" cannot be combined", argv[optind]);
	if (o->all && o->key.null)
		usage("--all reads no keys: --null has no effect");
}

static int dead_main(int argc, char **argv)
{
	struct dead_options o = { 0 };
	const char *verb, *queue;
	bool is_ls;
	int opt;

	while ((opt = getopt_long(argc, argv, KEY_LETTERS "laHh", dead_options, NULL)) != -1) {
		if (opt == 'l')
			o.detailed = true;
		else if (opt == 'a')
			o.all = true;
		else if (opt == 'H')
			o.no_headings = true;
		else if (!key_option(&o.key, opt))
			option_common(opt);
	}
	if (optind == argc)
		usage("the command ls, kick or drop is missing");
	verb = argv[optind++];
	is_ls = !strcmp(verb, "ls");
	if (!is_ls && strcmp(verb, "kick") && strcmp(verb, "drop"))
		usage("%s: must be ls, kick or drop", verb);
	if (optind == argc)
		usage("QUEUE is missing");
	queue = argv[optind++];

	if (is_ls) {
		check_ls(&o, argc, argv);
		return dead_ls(queue, &o);
	}
	check_each(&o, argc, argv);
	return dead_each(queue, &o, strcmp(verb, "kick") ? drop : kick, argc, argv);
}

const struct command command_dead = {
	.name = "dead",
	.arguments = "ls|kick|drop [OPTION...] QUEUE [KEY...]",
	.summary = "List, bring back or drop dead letters: keys that failed too often",
	.options =
	"ls, the oldest death first:\n"
	"  -l, --long       print requeues, losses, age of the death, priority, and\n"
	"                   why the last run failed, too\n"
	"  -H, --no-headings  with --long: no header line\n"
	"  -0, --null       print keys unescaped, each ended by NUL\n"
	"      --json       print a JSON array\n"
	"\n"
	"kick and drop:\n"
	"  -a, --all        all dead keys of the queue\n"
	KEY_HELP,
	.examples =
	"  kwq dead ls -l jobs                      which keys failed too often, and why?\n"
	"  kwq dead kick --all jobs                 try them again\n",
	.table = dead_options,
	.main = dead_main,
};
