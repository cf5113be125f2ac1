// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq keys: lists the keys of a queue, with their states.
 */
#include <errno.h>
#include <string.h>

#include "cmd.h"
#include "escape.h"
#include "item_list.h"
#include "item_print.h"
#include "item_sort.h"
#include "key_filter.h"

enum { OPT_STATE = OPT_FIRST, OPT_UNSORTED, OPT_VALUES };

static const struct option keys_options[] = {
	{ "key", required_argument, NULL, 'k' },
	{ "long", no_argument, NULL, 'l' },
	{ "state", required_argument, NULL, OPT_STATE },
	{ "unsorted", no_argument, NULL, OPT_UNSORTED },
	{ "values", no_argument, NULL, OPT_VALUES },
	OPTION_NO_HEADINGS, OPTION_NULL, OPTION_JSON, OPTION_HELP, OPTION_END
};

enum format { FORMAT_KEYS, FORMAT_LONG, FORMAT_NULL, FORMAT_JSON };

struct keys_options {
	enum format format;
	uint32_t states;
	bool unsorted;
	bool values;
	bool no_headings;
	const char *key;
};

/* ---- Printing ------------------------------------------------------------- */

static void print_header(const struct keys_options *o)
{
	if (o->format == FORMAT_LONG && !o->no_headings)
		item_print_header();
}

/* What the format shows of each key beside its group. */
static uint32_t with(const struct keys_options *o)
{
	uint32_t flags = o->values ? KWQ_LIST_VALUES : 0;

	if ((o->format == FORMAT_LONG || o->format == FORMAT_JSON) && module_has(KWQ_FEATURE_NOTES))
		flags |= KWQ_LIST_NOTES;
	return flags;
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

/* ---- The command ---------------------------------------------------------- */

static enum format one_format(const struct keys_options *o, enum format format)
{
	if (o->format != FORMAT_KEYS && o->format != format)
		usage("--long, --null and --json cannot be combined");
	return format;
}

static int keys_main(int argc, char **argv)
{
	static struct item_list list;	/* too large for the stack */
	struct keys_options o = { 0 };
	const char *queue;
	struct kwq *q;
	int opt, err;

	while ((opt = getopt_long(argc, argv, "k:l0Hh", keys_options, NULL)) != -1) {
		switch (opt) {
		case 'k':
			o.key = optarg;
			break;
		case 'l':
			o.format = one_format(&o, FORMAT_LONG);
			break;
		case '0':
			o.format = one_format(&o, FORMAT_NULL);
			break;
		case OPT_JSON:
			o.format = one_format(&o, FORMAT_JSON);
			break;
		case OPT_STATE:
			o.states |= must_parse_states(optarg);
			break;
		case 'H':
			o.no_headings = true;
			break;
		case OPT_UNSORTED:
			o.unsorted = true;
			break;
		case OPT_VALUES:
			o.values = true;
			break;
		default:
			option_common(opt);
		}
	}
	queue = only_argument(argc, argv, "QUEUE");
	if (o.values && o.format != FORMAT_JSON)
		usage("--values needs --json");
	if (o.no_headings && o.format != FORMAT_LONG)
		usage("--no-headings needs --long: nothing else has a header");
	if (!o.states)
		o.states = KEYS_IN_QUEUE | (o.key ? KWQ_IS_REMEMBERED : 0);

	q = must_open_queue(queue, KWQ_RIGHT_READ);
	must_list_items(q, queue);
	item_list_begin(&list, q, o.states);
	if (o.key)
		item_list_only(&list, o.key, strlen(o.key));
	item_list_with(&list, with(&o));
	err = o.unsorted ? print_unsorted(&o, &list) : print_sorted(&o, &list);
	if (err == -ENOENT) {
		message("%s: the queue has no such key", queue);
		return STATUS_FAILED;
	}
	if (err)
		return complain(queue, err);
	return flush_output() ? STATUS_OK : STATUS_FAILED;
}

const struct command command_keys = {
	.name = "keys",
	.arguments = "[OPTION...] QUEUE",
	.summary = "List the keys in a queue, and who works on them",
	.options =
	"      --state STATE[,STATE...]\n"
	"                   only keys in one of these states: ready, returned,\n"
	"                   processing, dirty, dying, waiting, dead, remembered; without\n"
	"                   this option, all but remembered\n"
	"  -k, --key KEY    only this key, in any state\n"
	"  -l, --long       print state, priority, age, time left, requeues, losses, size\n"
	"                   of the value, process and group, and the note below, too\n"
	"  -H, --no-headings  with --long: no header line\n"
	"      --unsorted   print each key as soon as it is known; needs little memory\n"
	"  -0, --null       print keys unescaped, each ended by NUL\n"
	"      --json       print one JSON object per line\n"
	"      --values     with the values in it\n"
	"  -h, --help\n",
	.examples =
	"  kwq keys -l jobs                         all keys, and who has them\n"
	"  kwq keys --state dead,waiting jobs       those that failed\n",
	.table = keys_options,
	.main = keys_main,
};
