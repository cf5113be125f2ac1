// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "key_filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "base/cmd.h"
#include "queue/item_print.h"
#include "queue/was.h"

static uint32_t state_named(const char *name, size_t len)
{
	uint32_t bit = item_state_named(name, len);

	if (!bit)
		usage("--state %s: must be ready, returned, processing, dirty, dying, waiting, dead or "
		      "remembered, or several with commas between them",
		      name);
	return bit;
}

uint32_t must_parse_states(const char *list)
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

bool key_filter_option(struct key_filter *f, int opt)
{
	switch (opt) {
	case 'a':
		f->all = true;
		return true;
	case OPT_FILTER_STATE:
		f->states |= must_parse_states(optarg);
		return true;
	case OPT_FILTER_GROUP:
		f->group = optarg;
		return true;
	case OPT_FILTER_GLOB:
		f->glob = optarg;
		return true;
	default:
		return false;
	}
}

static bool is_in_group(const struct kwq_listed *item, const char *key, const char *group)
{
	return item->group_len == strlen(group) &&
		!memcmp(key + item->key_len, group, item->group_len);
}

/* A pattern cannot match a NUL. */
static bool matches(const struct kwq_listed *item, const char *key, const char *glob)
{
	char text[KWQ_KEY_MAX + 1];

	memcpy(text, key, item->key_len);
	text[item->key_len] = '\0';
	return strlen(text) == item->key_len && !fnmatch(glob, text, 0);
}

static int next(void *list, const char **key, size_t *len)
{
	struct key_filter *f = list;
	const struct kwq_listed *item;
	int ret;

	while ((ret = item_list_next(&f->list, &item, key)) > 0) {
		*len = item->key_len;
		if ((!f->group || is_in_group(item, *key, f->group)) &&
		    (!f->glob || matches(item, *key, f->glob)))
			break;
	}
	return ret;
}

void key_filter_apply(struct key_filter *f, struct kwq *q, const char *queue,
		      struct key_verb *verb, const struct key_options *options, int argc,
		      char **argv)
{
	if (!f->all) {
		if (f->states || f->group || f->glob)
			usage("--state, --group and --glob choose among all keys: they need --all");
		return;
	}
	if (optind < argc)
		usage("--all and KEY \"%s\" cannot be combined", argv[optind]);
	if (options->null)
		usage("--all reads no keys: --null has no effect");
	must_list_items(q, queue);
	item_list_begin(&f->list, q, f->states ? f->states : KEYS_IN_QUEUE);
	verb->next = next;
	verb->list = f;
}

void key_filter_excuse(const struct key_filter *f, const struct kwq_batch *batch, int taken)
{
	__s32 *results = (void *)(uintptr_t)batch->results;
	int i;

	for (i = 0; f->all && i < taken; i++)
		if (results[i] == -ENOENT)
			results[i] = WAS_GONE;
}
