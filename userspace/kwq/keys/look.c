// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq keys: lists the keys of a queue, with their states, or looks at one.
 */
#include <errno.h>
#include <string.h>

#include "base/cmd.h"
#include "base/escape.h"
#include "item_first.h"
#include "queue/item_list.h"
#include "queue/item_print.h"
#include "queue/shared.h"
#include "item_sort.h"
#include "key_filter.h"

enum { OPT_STATE = OPT_FIRST, OPT_DEAD, OPT_FIRST_ONE, OPT_UNSORTED, OPT_VALUE, OPT_NOTE };

static const struct option keys_options[] = {
	{ "key", required_argument, NULL, 'k' },
	{ "long", no_argument, NULL, 'l' },
	{ "state", required_argument, NULL, OPT_STATE },
	{ "dead", no_argument, NULL, OPT_DEAD },
	{ "first", required_argument, NULL, OPT_FIRST_ONE },
	{ "unsorted", no_argument, NULL, OPT_UNSORTED },
	{ "value", no_argument, NULL, OPT_VALUE },
	{ "note", no_argument, NULL, OPT_NOTE },
	OPTION_NO_HEADINGS, OPTION_NULL, OPTION_JSON, OPTION_HELP, OPTION_END
};

enum format { FORMAT_KEYS, FORMAT_LONG, FORMAT_NULL, FORMAT_JSON };

struct keys_options {
	enum format format;
	uint32_t states, first;	/* KWQ_IS_* bits; one of --first, or 0 */
	const char *first_name;
	bool unsorted;
	bool value, note;
	bool no_headings;
	const char *key;
};

/* Whether the value or the note is printed, and nothing else. */
static bool is_alone(const struct keys_options *o)
{
	return o->note || (o->value && o->format != FORMAT_JSON);
}

/* ---- Printing ------------------------------------------------------------- */

static void print_header(const struct keys_options *o)
{
	if (o->format == FORMAT_LONG && !o->no_headings)
		item_print_header();
}

/* The format shows this of each key, beside its group. */
static uint32_t with(const struct keys_options *o)
{
	bool notes = o->note || o->format == FORMAT_LONG || o->format == FORMAT_JSON;

	return (o->value && module_has(KWQ_FEATURE_VALUES) ? KWQ_LIST_VALUES : 0) |
	       (notes && module_has(KWQ_FEATURE_NOTES) ? KWQ_LIST_NOTES : 0);
}

/* Of a key that its workers did not live to say anything about. */
static void print_losses(const struct kwq_listed *item)
{
	if (item->state & KWQ_IS_DEAD && item->abandoned)
		printf("%8slost %u time%s: its workers died, or its leases ended\n", "",
		       item->abandoned, item->abandoned == 1 ? "" : "s");
}

static void print_item(const struct keys_options *o, const struct kwq_listed *item,
		       const char *key)
{
	switch (o->format) {
	case FORMAT_KEYS:
		print_escaped(stdout, key, item->key_len);
		putchar('\n');
		break;
	case FORMAT_LONG:
		item_print_row(item, key);
		print_losses(item);
		item_print_note(key + item->key_len + item->group_len, item->note_len);
		break;
	case FORMAT_NULL:
		fwrite(key, 1, item->key_len, stdout);
		putchar('\0');
		break;
	case FORMAT_JSON:
		item_print_json(item, key, with(o));
		break;
	}
}

/* Prints what the key carries, or why its last run failed, and nothing else. */
static void print_bytes(const struct keys_options *o, const struct item_first *found)
{
	const struct kwq_listed *item = &found->item;
	const char *bytes = found->bytes + item->key_len + item->group_len;

	if (!with(o))
		return;
	fwrite(bytes, 1, o->value ? item->value_len : item->note_len, stdout);
}

static int complain_list(const char *queue, int err)
{
	if (!shared_refusal(err))
		return complain_key(queue, err);
	message("%s: %s", queue, shared_refusal(err));
	return STATUS_FAILED;
}

/* ---- One key -------------------------------------------------------------- */

/* The first key of a state, or what one key carries. Returns the exit status. */
static int look_at_one(struct kwq *q, const char *queue, const struct keys_options *o)
{
	static struct item_first found;	/* too large for the stack */
	int ret;

	ret = o->key ? item_of_key(q, o->key, strlen(o->key), with(o), &found) :
		item_first(q, o->first, with(o), &found);
	if (ret < 0)
		return complain_list(queue, ret);
	if (!ret && o->key) {
		message("%s: the queue has no such key", queue);
		return STATUS_FAILED;
	}
	if (!ret) {
		message("%s: no key is %s", queue, o->first_name);
		return STATUS_NOT_READY;
	}
	if (is_alone(o)) {
		print_bytes(o, &found);
	} else {
		print_header(o);
		print_item(o, &found.item, found.bytes);
	}
	return flush_output() ? STATUS_OK : STATUS_FAILED;
}

/* ---- Lists ---------------------------------------------------------------- */

static int print_sorted(const struct keys_options *o, struct item_list *list)
{
	struct item_sorted all = { 0 };
	size_t i;
	int ret;

	ret = item_sorted_collect(&all, list);
	if (ret < 0)
		return ret;
	print_header(o);
	for (i = 0; i < all.nr; i++)
		print_item(o, &all.rows[i].item, item_sorted_key(&all, i));
	item_sorted_free(&all);
	return 0;
}

static int print_unsorted(const struct keys_options *o, struct item_list *list)
{
	const struct kwq_listed *item;
	const char *key;
	bool begun = false;
	int ret;

	while ((ret = item_list_next(list, &item, &key)) >= 0) {
		/* Not before the first page has come: it may be an error. */
		if (!begun)
			print_header(o);
		begun = true;
		if (!ret)
			break;
		print_item(o, item, key);
	}
	return ret;
}

/* Returns the exit status. */
static int list(struct kwq *q, const char *queue, const struct keys_options *o)
{
	static struct item_list items;	/* too large for the stack */
	int err;

	item_list_begin(&items, q, o->states);
	if (o->key)
		item_list_only(&items, o->key, strlen(o->key));
	item_list_with(&items, with(o));
	err = o->unsorted ? print_unsorted(o, &items) : print_sorted(o, &items);
	if (err == -ENOENT) {
		message("%s: the queue has no such key", queue);
		return STATUS_FAILED;
	}
	if (err)
		return complain_list(queue, err);
	return flush_output() ? STATUS_OK : STATUS_FAILED;
}

/* ---- The command ---------------------------------------------------------- */

static enum format one_format(const struct keys_options *o, enum format format)
{
	if (o->format != FORMAT_KEYS && o->format != format)
		usage("--long, --null and --json cannot be combined");
	return format;
}

static uint32_t parse_first(const char *state)
{
	uint32_t bit = item_state_named(state, strlen(state));

	if (!(bit & KEYS_IN_QUEUE))
		usage("--first %s: must be ready, waiting, processing or dead", state);
	return bit;
}

static void parse_option(struct keys_options *o, int opt)
{
	switch (opt) {
	case 'k':
		o->key = optarg;
		break;
	case 'l':
		o->format = one_format(o, FORMAT_LONG);
		break;
	case '0':
		o->format = one_format(o, FORMAT_NULL);
		break;
	case OPT_JSON:
		o->format = one_format(o, FORMAT_JSON);
		break;
	case OPT_STATE:
		o->states |= must_parse_states(optarg);
		break;
	case OPT_DEAD:
		o->states |= KWQ_IS_DEAD;
		break;
	case OPT_FIRST_ONE:
		o->first = parse_first(optarg);
		o->first_name = optarg;
		break;
	case 'H':
		o->no_headings = true;
		break;
	case OPT_UNSORTED:
		o->unsorted = true;
		break;
	case OPT_VALUE:
		o->value = true;
		break;
	case OPT_NOTE:
		o->note = true;
		break;
	default:
		option_common(opt);
	}
}

static void check_options(const struct keys_options *o)
{
	if (o->first && (o->key || o->states))
		usage("--first cannot be combined with --key, --state or --dead");
	if (o->note && (o->value || o->format != FORMAT_KEYS))
		usage("--note prints the note alone; --long and --json have it, too");
	if (o->value && o->format != FORMAT_KEYS && o->format != FORMAT_JSON)
		usage("--value prints the value alone, or with --json; --long has its size");
	if (is_alone(o) && !o->first && (!o->key || o->states))
		usage("--value and --note are of one key: they need --key or --first alone");
	if (o->no_headings && o->format != FORMAT_LONG)
		usage("--no-headings needs --long: nothing else has a header");
}

static int keys_main(int argc, char **argv)
{
	struct keys_options o = { 0 };
	const char *queue;
	struct kwq *q;
	int opt;

	while ((opt = getopt_long(argc, argv, "k:l0Hh", keys_options, NULL)) != -1)
		parse_option(&o, opt);
	queue = only_argument(argc, argv, "QUEUE");
	check_options(&o);
	q = must_open_queue(queue, KWQ_RIGHT_READ);
	must_list_items(q, queue);
	must_reach_all(q, queue);
	if (o.first || is_alone(&o))
		return look_at_one(q, queue, &o);
	if (!o.states)
		o.states = KEYS_IN_QUEUE | (o.key ? KWQ_IS_REMEMBERED : 0);
	return list(q, queue, &o);
}

const struct command command_keys = {
	.name = "keys",
	.arguments = "[OPTION...] QUEUE",
	.summary = "List the keys in a queue, or look at one, and take none",
	.options =
	"      --state STATE[,STATE...]\n"
	"                   only keys in one of these states: ready, returned,\n"
	"                   processing, dirty, dying, waiting, dead, remembered; without\n"
	"                   this option, all but remembered\n"
	"      --dead       only dead keys (dead letters): they failed too often\n"
	"      --first STATE  only the first key in this state: ready, the next one;\n"
	"                   waiting, due first; processing or dead, the oldest\n"
	"  -k, --key KEY    only this key, in any state\n"
	"  -l, --long       print state, priority, age, time left, requeues, losses, size\n"
	"                   of the value, process and group, and the note below, too\n"
	"  -H, --no-headings  with --long: no header line\n"
	"      --unsorted   print each key as soon as it is known; needs little memory\n"
	"      --value      print what the one key carries; with --json, all values, too\n"
	"      --note       print what its worker said, such as why its last run failed\n"
	"  -0, --null       print keys unescaped, each ended by NUL\n"
	"      --json       print one JSON object per line\n"
	"  -h, --help\n",
	.brief =
	"      --state STATE[,STATE...]\n"
	"                   only keys in one of these states, such as waiting\n"
	"      --dead       only dead keys (dead letters): they failed too often\n"
	"      --first STATE  only the first key in this state: ready, the next one;\n"
	"                   waiting, due first; processing or dead, the oldest\n"
	"  -k, --key KEY    only this key, in any state\n"
	"  -l, --long       print state, priority, age, time left, requeues, losses, size\n"
	"                   of the value, process and group, and the note below, too\n"
	"      --value      print what the one key carries; with --json, all values, too\n"
	"      --note       print what its worker said, such as why its last run failed\n"
	"  -0, --null       print keys unescaped, each ended by NUL\n"
	"      --json       print one JSON object per line\n"
	"      --help=all   all options and states\n",
	.examples =
	"  kwq keys -l --dead jobs                  which keys failed too often, and why?\n"
	"  kwq keys --first ready jobs              which key is next? (status 4: none)\n",
	.table = keys_options,
	.main = keys_main,
};
