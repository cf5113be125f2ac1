// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq keys: lists the keys of a queue, with their states.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "duration.h"
#include "escape.h"
#include "item_list.h"

enum { OPT_STATE = OPT_FIRST, OPT_UNSORTED, OPT_VALUES };

static const struct option keys_options[] = {
	{ "key", required_argument, NULL, 'k' },
	{ "long", no_argument, NULL, 'l' },
	{ "state", required_argument, NULL, OPT_STATE },
	{ "unsorted", no_argument, NULL, OPT_UNSORTED },
	{ "values", no_argument, NULL, OPT_VALUES },
	OPTION_NULL, OPTION_JSON, OPTION_HELP, OPTION_END
};

enum format { FORMAT_KEYS, FORMAT_LONG, FORMAT_NULL, FORMAT_JSON };

struct keys_options {
	enum format format;
	uint32_t states;
	bool unsorted;
	bool values;
	const char *key;
};

/* In the order in which they are printed. */
static const struct state {
	uint32_t bit;
	const char *name;
} states[] = {
	{ KWQ_IS_READY, "ready" },
	{ KWQ_IS_RETURNED, "returned" },
	{ KWQ_IS_PROCESSING, "processing" },
	{ KWQ_IS_DIRTY, "dirty" },
	{ KWQ_IS_DYING, "dying" },
	{ KWQ_IS_WAITING, "waiting" },
	{ KWQ_IS_DEAD, "dead" },
	{ KWQ_IS_REMEMBERED, "remembered" },
};

/* Remembered keys are idle: for most purposes they are not in the queue. */
#define USUAL_STATES (KWQ_IS_READY | KWQ_IS_PROCESSING | KWQ_IS_WAITING | KWQ_IS_DEAD)

static uint32_t state_named(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(states); i++)
		if (strlen(states[i].name) == len && !memcmp(states[i].name, name, len))
			return states[i].bit;
	usage("--state %s: must be ready, returned, processing, dirty, dying, waiting, dead or "
	      "remembered, or several with commas between them",
	      name);
}

static uint32_t parse_states(const char *list)
{
	uint32_t bits = 0;
	size_t len;

	for (;; list += len + 1) {
		len = strcspn(list, ",");
		bits |= state_named(list, len);
		if (!list[len])
			return bits;
	}
}

/* ---- Printing ------------------------------------------------------------- */

static uint64_t age(const struct kwq_listed *item)
{
	switch (item->order_of) {
	case KWQ_IS_PROCESSING:
		return item->processing_for;
	case KWQ_IS_READY:
		return item->dirty_for;
	case KWQ_IS_WAITING:
		return item->waiting_for;
	case KWQ_IS_DEAD:
		return item->dead_for;
	}
	return 0;
}

static void print_state(const struct kwq_listed *item)
{
	const char *separator = "";
	int width = 18;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		if (!(item->state & states[i].bit))
			continue;
		width -= printf("%s%s", separator, states[i].name);
		separator = "+";
	}
	printf("%*s", width > 0 ? width : 0, "");
}

/* Prints "-" unless the item has this time. */
static void print_time(bool has, uint64_t ns)
{
	if (has)
		printf(" %7llu.%03llus", (unsigned long long)(ns / NS_PER_S),
		       (unsigned long long)(ns % NS_PER_S / NS_PER_MS));
	else
		printf(" %12s", "-");
}

static void print_long(const struct kwq_listed *item, const char *key)
{
	bool has_lease = item->order_of == KWQ_IS_PROCESSING && item->lease_left;
	char group[ESCAPED_SIZE(KWQ_GROUP_MAX)];

	print_state(item);
	printf(" %4d", item->priority);
	print_time(item->order_of != KWQ_IS_REMEMBERED, age(item));
	print_time(has_lease || item->state & KWQ_IS_WAITING,
		   has_lease ? item->lease_left : item->due_in);
	printf(" %8u %4u", item->requeues, item->abandoned);
	if (item->value_len)
		printf(" %5u", item->value_len);
	else
		printf(" %5s", "-");
	if (item->pid)
		printf(" %7d", item->pid);
	else
		printf(" %7s", "-");
	escape_text(group, key + item->key_len, item->group_len);
	printf(" %-8s ", item->group_len ? group : "-");
	print_escaped(stdout, key, item->key_len);
	putchar('\n');
}

static void json_time(const char *name, uint64_t ns)
{
	printf(",\"%s_ns\":%llu", name, (unsigned long long)ns);
}

static void print_json(const struct kwq_listed *item, const char *key, bool value)
{
	const char *separator = "";
	size_t i;

	fputs("{\"states\":[", stdout);
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		if (!(item->state & states[i].bit))
			continue;
		printf("%s\"%s\"", separator, states[i].name);
		separator = ",";
	}
	printf("],\"priority\":%d,\"requeues\":%u,\"abandoned\":%u", item->priority,
	       item->requeues, item->abandoned);
	if (item->state & (KWQ_IS_READY | KWQ_IS_DIRTY))
		json_time("dirty_for", item->dirty_for);
	if (item->state & KWQ_IS_DIRTY)
		printf(",\"next_priority\":%d", item->next_priority);
	if (item->state & KWQ_IS_PROCESSING) {
		json_time("processing_for", item->processing_for);
		printf(",\"pid\":%d", item->pid);
		if (item->lease_left)
			json_time("lease_left", item->lease_left);
	}
	if (item->state & KWQ_IS_WAITING) {
		json_time("waiting_for", item->waiting_for);
		json_time("due_in", item->due_in);
		if (item->wait_priority != KWQ_PRIORITY_NONE)
			printf(",\"wait_priority\":%d", item->wait_priority);
	}
	if (item->state & KWQ_IS_DEAD)
		json_time("dead_for", item->dead_for);
	if (item->value_len)
		printf(",\"value_len\":%u", item->value_len);
	putchar(',');
	json_bytes(stdout, "key", key, item->key_len);
	if (item->group_len) {
		putchar(',');
		json_bytes(stdout, "group", key + item->key_len, item->group_len);
	}
	if (value && item->value_len) {
		putchar(',');
		json_bytes(stdout, "value", key + item->key_len + item->group_len,
			   item->value_len);
	}
	puts("}");
}

static void print_header(enum format format)
{
	if (format == FORMAT_LONG)
		printf("%-18s %4s %12s %12s %8s %4s %5s %7s %-8s %s\n", "STATE", "PRIO", "AGE",
		       "LEFT", "REQUEUES", "LOST", "VALUE", "PID", "GROUP", "KEY");
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
		print_long(item, key);
		break;
	case FORMAT_NULL:
		fwrite(key, 1, item->key_len, stdout);
		putchar('\0');
		break;
	case FORMAT_JSON:
		print_json(item, key, o->values);
		break;
	}
}

/* ---- Sorting -------------------------------------------------------------- */

/* For kwq_listed_compare() the item comes first. */
struct row {
	struct kwq_listed item;
	size_t key_at;
};

/* All items of the list, and their keys and values. They are freed when the command ends. */
struct rows {
	struct row *rows;
	size_t nr, room;
	char *keys;
	size_t keys_len, keys_room;
};

/* Makes room for one more item and @len bytes of it. Returns false if there is no memory. */
static bool grow(struct rows *all, size_t len)
{
	void *memory;

	if (all->nr == all->room) {
		all->room = all->room ? 2 * all->room : 1024;
		memory = reallocarray(all->rows, all->room, sizeof(*all->rows));
		if (!memory)
			return false;
		all->rows = memory;
	}
	if (all->keys_room - all->keys_len < len) {
		all->keys_room = 2 * all->keys_room + len + KWQ_KEY_MAX;
		memory = realloc(all->keys, all->keys_room);
		if (!memory)
			return false;
		all->keys = memory;
	}
	return true;
}

static int collect(struct item_list *list, bool values, struct rows *all)
{
	const struct kwq_listed *item;
	const char *key;
	size_t len;
	int ret;

	while ((ret = item_list_next(list, &item, &key)) > 0) {
		len = item->key_len + item->group_len + (values ? item->value_len : 0);
		if (!grow(all, len))
			return -ENOMEM;
		all->rows[all->nr].item = *item;
		all->rows[all->nr++].key_at = all->keys_len;
		memcpy(all->keys + all->keys_len, key, len);
		all->keys_len += len;
	}
	return ret;
}

static int print_sorted(const struct keys_options *o, struct item_list *list)
{
	struct rows all = { 0 };
	size_t i;
	int ret;

	ret = collect(list, o->values, &all);
	if (ret < 0)
		return ret;
	if (all.nr)
		qsort(all.rows, all.nr, sizeof(*all.rows), kwq_listed_compare);
	print_header(o->format);
	for (i = 0; i < all.nr; i++)
		print_item(o, &all.rows[i].item, all.keys + all.rows[i].key_at);
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
			print_header(o->format);
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

	while ((opt = getopt_long(argc, argv, "k:l0h", keys_options, NULL)) != -1) {
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
			o.states |= parse_states(optarg);
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
	if (!o.states)
		o.states = USUAL_STATES | (o.key ? KWQ_IS_REMEMBERED : 0);

	q = must_open_queue(queue, KWQ_RIGHT_READ);
	must_list_items(q, queue);
	item_list_begin(&list, q, o.states);
	if (o.key)
		item_list_only(&list, o.key, strlen(o.key));
	if (o.values)
		item_list_values(&list);
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
	"                   only keys in one of these states: ready, returned, processing,\n"
	"                   dirty, dying, waiting, dead, remembered; without this option,\n"
	"                   all but remembered\n"
	"  -k, --key KEY    only this key, in any state\n"
	"  -l, --long       print state, priority, age, time left, requeues, losses, length\n"
	"                   of the value, the process that has the key, and the group, too\n"
	"      --unsorted   print each key as soon as it is known; needs little memory\n"
	"  -0, --null       print keys unescaped, each ended by NUL\n"
	"      --json       print one JSON object per line\n"
	"      --values     with the values in it\n"
	"  -h, --help\n",
	.main = keys_main,
};
