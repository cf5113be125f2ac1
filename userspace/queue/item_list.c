// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "item_list.h"

#include <errno.h>
#include <string.h>

#include "base/cmd.h"
#include "shared.h"

void item_list_begin(struct item_list *list, struct kwq *q, uint32_t states)
{
	list->q = q;
	list->page = (struct kwq_list_items_args){
		.size = sizeof(list->page),
		.states = states,
		.batch = {
			.entries = kwq_ptr(list->entries),
			.keys = kwq_ptr(list->keys),
			.keys_len = sizeof(list->keys),
			.nr = ARRAY_SIZE(list->entries),
			.entry_size = sizeof(list->entries[0]),
		},
	};
	list->all = NULL;
	list->here = false;
	list->begun = false;
	list->nr = 0;
	list->next = 0;
	list->at = 0;
}

void item_list_begin_here(struct item_list *list, struct kwq *q, uint32_t states)
{
	item_list_begin(list, q, states);
	list->here = true;
}

void item_list_only(struct item_list *list, const char *key, size_t len)
{
	list->page.flags |= KWQ_LIST_KEY;
	list->page.key = kwq_ptr(key);
	list->page.key_len = len;
}

void item_list_with(struct item_list *list, uint32_t flags)
{
	list->page.flags |= flags;
}

/* Fetches the next page that is not empty. Returns as kwq_list_items(), 0 at the end. */
static int fetch(struct item_list *list)
{
	int nr = 0;

	list->next = 0;
	list->at = 0;
	while (!nr && (!list->begun || list->page.after)) {
		list->begun = true;
		nr = kwq_list_items(list->q, &list->page);
	}
	list->nr = nr > 0 ? nr : 0;
	return nr;
}

/* Returns as item_list_next(). */
static int next_of_all(struct item_list *list, const struct kwq_listed **entry, const char **key)
{
	size_t left = list->all_end - list->all, len;

	if (!left)
		return 0;
	if (left < sizeof(list->entries[0]))
		return -EPROTO;
	memcpy(list->entries, list->all, sizeof(list->entries[0]));
	*entry = list->entries;
	*key = list->all + sizeof(list->entries[0]);
	len = item_list_bytes(*entry, list->page.flags);
	if (left - sizeof(list->entries[0]) < len)
		return -EPROTO;
	list->all = *key + len;
	return 1;
}

/* Asks kwq share for the whole list. Returns 0 or a negative errno value. */
static int fetch_all(struct item_list *list)
{
	const struct shared_list *all;
	size_t size;
	int err;

	list->begun = true;
	err = shared_list(list->page.states, list->page.flags,
			  (const char *)(uintptr_t)list->page.key, list->page.key_len, &all, &size);
	if (err)
		return err;
	list->all = (const char *)(all + 1) + all->nr_machines * sizeof(struct shared_machine);
	list->all_end = (const char *)all + size;
	return list->page.flags & KWQ_LIST_KEY && !all->nr_items ? -ENOENT : 0;
}

int item_list_next(struct item_list *list, const struct kwq_listed **entry,
		   const char **key)
{
	int ret;

	if (!list->here && shared_is_attached(list->q)) {
		ret = list->begun ? 0 : fetch_all(list);
		return ret ?: next_of_all(list, entry, key);
	}
	if (list->next == list->nr) {
		ret = fetch(list);
		if (ret <= 0)
			return ret;
	}
	*entry = &list->entries[list->next++];
	*key = list->keys + list->at;
	list->at += item_list_bytes(*entry, list->page.flags);
	return 1;
}
