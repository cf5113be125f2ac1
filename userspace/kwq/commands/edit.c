// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq edit: changes the time, the priority or the value of a key that is ready or waiting.
 *
 * Each change is an add. An add of a key that the queue has changes only what it names. The
 * kernel has no add that needs the key to exist: if the key is handed out and done between the
 * look at it and the add, it runs once more.
 */
#include <errno.h>
#include <string.h>

#include "base/cmd.h"
#include "base/duration.h"
#include "base/escape.h"
#include "kwq/keys/item_first.h"
#include "queue/item_list.h"
#include "base/number.h"
#include "kwq/keys/value_file.h"

enum { OPT_AFTER = OPT_FIRST, OPT_AT, OPT_VALUE, OPT_VALUE_FILE };

static const struct option edit_options[] = {
	{ "after", required_argument, NULL, OPT_AFTER },
	{ "at", required_argument, NULL, OPT_AT },
	{ "priority", required_argument, NULL, 'p' },
	{ "value", required_argument, NULL, OPT_VALUE },
	{ "value-file", required_argument, NULL, OPT_VALUE_FILE },
	OPTION_HELP, OPTION_END
};

static const char if_past[] = "kwq kick makes the key ready now";

/* What to change. */
struct change {
	const char *queue, *key;
	const char *after, *at;
	bool has_priority, has_value;
	int priority;
	const char *value;
	size_t value_len;
};

static int refuse(const struct change *c, const char *why)
{
	char key[ESCAPED_SIZE(KWQ_KEY_MAX)];

	message("%s: %s: %s", c->queue, escape_text(key, c->key, strlen(c->key)), why);
	return STATUS_FAILED;
}

/* Why this item cannot be changed so; NULL if it can. */
static const char *objection(const struct change *c, const struct kwq_listed *item)
{
	bool is_dirty = item->state & (KWQ_IS_READY | KWQ_IS_DIRTY);
	int priority = item->state & KWQ_IS_DIRTY ? item->next_priority : item->priority;

	if (item->state & KWQ_IS_DEAD)
		return "is dead: kwq kick makes it ready, kwq add gives it a time";
	if (!is_dirty && !(item->state & KWQ_IS_WAITING))
		return item->state & KWQ_IS_PROCESSING ?
			"is being processed: kwq add adds it for another run" :
			"is neither ready nor waiting";
	if ((c->after || c->at) && !(item->state & KWQ_IS_WAITING))
		return "is ready: only a waiting key has a time";
	if (c->has_priority && is_dirty && !(c->after || c->at) && c->priority < priority)
		return "is ready, and its priority can only rise: kwq cancel takes it out";
	return NULL;
}

/* Changes the wait of a key, and keeps the time if no other is given. */
static int change_wait(struct kwq *q, const struct change *c, struct kwq_add_options *options)
{
	static struct item_list list;	/* too large for the stack */
	const struct kwq_listed *item;
	const char *bytes;
	int ret;

	options->flags |= KWQ_ADD_REPLACE;
	if (c->after) {
		options->flags |= KWQ_ADD_AFTER;
		options->time = must_parse_duration("--after", c->after);
		return 0;
	}
	options->flags |= KWQ_ADD_AT;
	if (c->at) {
		options->time = must_parse_instant("--at", c->at, kwq_now(q), if_past);
		return 0;
	}
	/* The order of items that are listed as waiting ones is their time. */
	item_list_begin(&list, q, KWQ_IS_WAITING);
	item_list_only(&list, c->key, strlen(c->key));
	ret = item_list_next(&list, &item, &bytes);
	if (ret > 0)
		options->time = item->order;
	return ret > 0 ? 0 : ret ? ret : -ENOENT;
}

static int change(struct kwq *q, const struct change *c, const struct kwq_listed *item)
{
	struct kwq_add_options options = { .size = sizeof(options) };
	int ret;

	if (c->has_priority) {
		options.flags |= KWQ_ADD_PRIORITY;
		options.priority = c->priority;
	}
	if (c->has_value) {
		options.flags |= KWQ_ADD_VALUE;
		options.value = c->value;
		options.value_len = c->value_len;
	}
	if (c->after || c->at || !(item->state & (KWQ_IS_READY | KWQ_IS_DIRTY))) {
		ret = change_wait(q, c, &options);
		if (ret < 0)
			return ret;
	}
	return kwq_add_with(q, c->key, strlen(c->key), &options);
}

/* Looks at the key. Returns an exit status other than 0 if it cannot be changed so. */
static int look(struct kwq *q, const struct change *c, struct item_first *found)
{
	const char *why;
	int ret;

	ret = item_of_key(q, c->key, strlen(c->key), 0, found);
	if (ret < 0)
		return complain_key(c->queue, ret);
	why = ret ? objection(c, &found->item) : "the queue has no such key";
	return why ? refuse(c, why) : STATUS_OK;
}

/* Returns the exit status. */
static int edit(struct kwq *q, const struct change *c)
{
	static struct item_first found;	/* too large for the stack */
	struct kwq_stat st = { .size = sizeof(st) };
	int ret;

	if (c->has_value && (kwq_stat(q, &st) || !(st.create_flags & KWQ_CREATE_VALUES)))
		return refuse(c, "its queue has no values (see kwq create --help)");
	/* If its time comes between the look and the change, look again. */
	do {
		ret = look(q, c, &found);
		if (ret)
			return ret;
		ret = change(q, c, &found.item);
	} while (ret == -ENOENT);
	return ret < 0 ? complain_key(c->queue, ret) : STATUS_OK;
}

static int edit_main(int argc, char **argv)
{
	const char *value_file = NULL;
	struct change c = { 0 };
	struct kwq *q;
	int opt;

	while ((opt = getopt_long(argc, argv, "p:h", edit_options, NULL)) != -1) {
		switch (opt) {
		case OPT_AFTER:
			c.after = optarg;
			must_parse_duration("--after", c.after);
			break;
		case OPT_AT:
			c.at = optarg;
			must_parse_instant("--at", c.at, 0, if_past);
			break;
		case 'p':
			c.has_priority = true;
			c.priority = must_parse_signed("--priority", optarg, KWQ_PRIORITY_MIN,
						       KWQ_PRIORITY_MAX);
			break;
		case OPT_VALUE:
			c.has_value = true;
			c.value = optarg;
			c.value_len = strlen(optarg);
			break;
		case OPT_VALUE_FILE:
			value_file = optarg;
			break;
		default:
			option_common(opt);
		}
	}
	if (c.after && c.at)
		usage("--after and --at cannot be combined");
	if (c.has_value && value_file)
		usage("--value and --value-file cannot be combined");
	if (optind == argc)
		usage("QUEUE is missing");
	c.queue = argv[optind++];
	c.key = only_argument(argc, argv, "KEY");
	if (value_file) {
		c.has_value = true;
		c.value = must_read_value(value_file, &c.value_len);
	}
	if (!c.after && !c.at && !c.has_priority && !c.has_value)
		usage("nothing to change: give --after, --at, --priority or --value");
	if (c.value_len > KWQ_VALUE_MAX)
		usage("a value has at most %d bytes", KWQ_VALUE_MAX);

	q = must_open_queue(c.queue, KWQ_RIGHT_READ | KWQ_RIGHT_WRITE);
	must_list_items(q, c.queue);
	return edit(q, &c);
}

const struct command command_edit = {
	.name = "edit",
	.arguments = "[OPTION...] QUEUE KEY",
	.summary = "Change the time, the priority or the value of a key",
	.options =
	"      --after DURATION   a waiting key is ready after DURATION from now\n"
	"      --at TIME          a waiting key is ready at TIME: see kwq add --help\n"
	"  -p, --priority N       -32 to 31; the priority of a ready key can only rise\n"
	"      --value VALUE      what the key carries; '' takes it away\n"
	"      --value-file FILE  the same, with the bytes of FILE; - is standard input\n"
	"  -h, --help\n"
	"\n"
	"  kwq edit --at 23:00 reports monthly  make it wait until the night\n"
	"  kwq edit -p 5 jobs urgent            hand it out before the others\n",
	.table = edit_options,
	.main = edit_main,
};
