// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "item_list.h"

#include "base/cmd.h"

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
	list->begun = false;
	list->nr = 0;
	list->next = 0;
	list->at = 0;
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

int item_list_next(struct item_list *list, const struct kwq_listed **entry,
		   const char **key)
{
	int ret;

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
