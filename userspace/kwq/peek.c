// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq peek: the first key, or one key, without taking it.
 */
#include <string.h>

#include "cmd.h"
#include "escape.h"
#include "item_first.h"
#include "item_print.h"

enum { OPT_READY = OPT_FIRST, OPT_WAITING, OPT_PROCESSING, OPT_DEAD, OPT_VALUE, OPT_NOTE };

static const struct option peek_options[] = {
	{ "ready", no_argument, NULL, OPT_READY },
	{ "waiting", no_argument, NULL, OPT_WAITING },
	{ "processing", no_argument, NULL, OPT_PROCESSING },
	{ "dead", no_argument, NULL, OPT_DEAD },
	{ "long", no_argument, NULL, 'l' },
	{ "value", no_argument, NULL, OPT_VALUE },
	{ "note", no_argument, NULL, OPT_NOTE },
	OPTION_NO_HEADINGS, OPTION_NULL, OPTION_JSON, OPTION_HELP, OPTION_END
};

static const struct {
	int opt;
	uint32_t bit;
	const char *none;
} states[] = {
	{ OPT_READY, KWQ_IS_READY, "no key is ready" },
	{ OPT_WAITING, KWQ_IS_WAITING, "no key is waiting" },
	{ OPT_PROCESSING, KWQ_IS_PROCESSING, "no key is being processed" },
	{ OPT_DEAD, KWQ_IS_DEAD, "no key is dead" },
};

struct peek_options {
	size_t state;		/* index of @states */
	bool has_state;
	bool no_headings;
	int format;		/* the option that chose it; 0 for the key alone */
};

static void parse_option(struct peek_options *o, int opt)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		if (states[i].opt != opt)
			continue;
		if (o->has_state && o->state != i)
			usage("--ready, --waiting, --processing and --dead cannot be combined");
		o->state = i;
		o->has_state = true;
		return;
	}
	if (opt == 'H') {
		o->no_headings = true;
		return;
	}
	if (opt != 'l' && opt != OPT_VALUE && opt != OPT_NOTE && opt != '0' && opt != OPT_JSON)
		option_common(opt);
	if (o->format && o->format != opt)
		usage("--long, --value, --note, --null and --json cannot be combined");
	o->format = opt;
}

/* What the format shows of the key beside its group. */
static uint32_t with(const struct peek_options *o)
{
	bool values = o->format == OPT_VALUE || o->format == OPT_JSON;
	bool notes = o->format == OPT_NOTE || o->format == OPT_JSON || o->format == 'l';

	return (values && module_has(KWQ_FEATURE_VALUES) ? KWQ_LIST_VALUES : 0) |
	       (notes && module_has(KWQ_FEATURE_NOTES) ? KWQ_LIST_NOTES : 0);
}

static void print(const struct item_first *first, const struct peek_options *o, uint32_t with)
{
	const struct kwq_listed *item = &first->item;
	const char *more = first->bytes + item->key_len + item->group_len;

	switch (o->format) {
	case 'l':
		if (!o->no_headings)
			item_print_header();
		item_print_row(item, first->bytes);
		if (with)
			item_print_note(more, item->note_len);
		break;
	case OPT_VALUE:
		if (with)
			fwrite(more, 1, item->value_len, stdout);
		break;
	case OPT_NOTE:
		if (with)
			fwrite(more, 1, item->note_len, stdout);
		break;
	case '0':
		fwrite(first->bytes, 1, item->key_len, stdout);
		putchar('\0');
		break;
	case OPT_JSON:
		item_print_json(item, first->bytes, with);
		break;
	default:
		print_escaped(stdout, first->bytes, item->key_len);
		putchar('\n');
	}
}

static int peek_main(int argc, char **argv)
{
	static struct item_first first;	/* too large for the stack */
	struct peek_options o = { 0 };
	const char *queue, *key;
	struct kwq *q;
	int opt, ret;

	while ((opt = getopt_long(argc, argv, "l0Hh", peek_options, NULL)) != -1)
		parse_option(&o, opt);
	if (optind == argc)
		usage("QUEUE is missing");
	queue = argv[optind++];
	key = argv[optind];
	if (key && optind + 1 < argc)
		usage("\"%s\" is one argument too many", argv[optind + 1]);
	if (key && o.has_state)
		usage("a KEY and a state cannot be combined");
	if (o.no_headings && o.format != 'l')
		usage("--no-headings needs --long: nothing else has a header");

	q = must_open_queue(queue, KWQ_RIGHT_READ);
	must_list_items(q, queue);
	ret = key ? item_of_key(q, key, strlen(key), with(&o), &first) :
		item_first(q, states[o.state].bit, with(&o), &first);
	if (ret < 0)
		return complain_key(queue, ret);
	if (!ret) {
		message("%s: %s", queue, key ? "the queue has no such key" : states[o.state].none);
		return key ? STATUS_FAILED : STATUS_NOT_READY;
	}
	print(&first, &o, with(&o));
	return flush_output() ? STATUS_OK : STATUS_FAILED;
}

const struct command command_peek = {
	.name = "peek",
	.arguments = "[OPTION...] QUEUE [KEY]",
	.summary = "Show the first key, or KEY, and do not take it",
	.options =
	"      --ready       the key that comes next (the default)\n"
	"      --waiting     the key whose time comes first\n"
	"      --processing  the key that has been processed for the longest time\n"
	"      --dead        the key that died first\n"
	"  -l, --long        print its state, priority, ages, process, group, note, too\n"
	"  -H, --no-headings  with --long: no header line\n"
	"      --value       print what the key carries, not the key\n"
	"      --note        print what its worker said, such as why its last run failed\n"
	"  -0, --null        print the key unescaped, ended by NUL\n"
	"      --json        print a JSON object, as kwq keys --json --values does\n"
	"  -h, --help\n"
	"\n"
	"The exit status is 4 if no key is in that state.\n"
	"\n"
	"  kwq peek -l --dead jobs         which key has been dead the longest?\n"
	"  kwq peek --note jobs report-7   why did it fail?\n",
	.table = peek_options,
	.main = peek_main,
};
