// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "dead_list.h"

#include "cmd.h"

int dead_list_begin(struct dead_list *list, struct kwq *q)
{
	struct kwq_stat st = { .size = sizeof(st) };
	int err;

	list->q = q;
	list->after = 0;
	list->nr = 0;
	list->next = 0;
	list->at = 0;
	err = kwq_stat(q, &st);
	list->left = st.dead;
	return err;
}

static int fetch(struct dead_list *list)
{
	struct kwq_list_dead_args page = {
		.size = sizeof(page),
		.after = list->after,
		.batch = {
			.entries = kwq_ptr(list->entries),
			.keys = kwq_ptr(list->keys),
			.keys_len = sizeof(list->keys),
			.nr = ARRAY_SIZE(list->entries),
			.entry_size = sizeof(list->entries[0]),
		},
	};
	int nr = kwq_list_dead(list->q, &page);

	list->next = 0;
	list->at = 0;
	list->nr = nr > 0 ? nr : 0;
	if (nr > 0)
		list->after = list->entries[nr - 1].number;
	return nr;
}

int dead_list_next(struct dead_list *list, const struct kwq_dead_entry **entry,
		   const char **key)
{
	int ret;

	/* Fetch first: without the right to list, the caller gets the error even if no
	 * item is dead.
	 */
	if (list->next == list->nr) {
		ret = fetch(list);
		if (ret <= 0)
			return ret;
	}
	if (!list->left)
		return 0;
	list->left--;
	*entry = &list->entries[list->next++];
	*key = list->keys + list->at;
	list->at += (*entry)->key_len;
	return 1;
}
