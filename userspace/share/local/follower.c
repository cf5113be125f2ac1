// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "follower.h"

#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#include "base/read_clock.h"

/* The page is open until all its entries were handed out. */
static struct page *new_page(uint64_t after)
{
	struct page *page = malloc(sizeof(*page));

	if (page)
		*page = (struct page){ .after = after, .open = 1 };
	return page;
}

struct page *follower_page(const struct follower *f)
{
	return f->pages->prev;
}

bool follower_has_fetched(const struct follower *f)
{
	return f->lists || f->next < f->nr;
}

void follower_settle(struct follower *f, struct page *page)
{
	page->open--;
	while (f->pages && !f->pages->open) {
		page = f->pages;
		f->args.kept = page->after;
		DL_DELETE(f->pages, page);
		free(page);
	}
}

static bool has_notes(void)
{
	struct kwq_info info = { .size = sizeof(info) };

	return !kwq_info(&info) && info.features & KWQ_FEATURE_NOTES;
}

uint32_t follower_list_flags(const struct follower *f)
{
	return KWQ_LIST_VALUES | (f->args.flags & KWQ_CHANGES_NOTES ? KWQ_LIST_NOTES : 0);
}

int follower_open(struct follower *f, struct kwq *q)
{
	struct page *page;
	uint64_t number;
	int err = kwq_follow(q, &number);

	if (err)
		return err;
	page = new_page(number);
	if (!page)
		return -ENOMEM;
	DL_APPEND(f->pages, page);
	f->q = q;
	f->args = (struct kwq_changes_args){
		.size = sizeof(f->args),
		.flags = KWQ_CHANGES_NONBLOCK | KWQ_CHANGES_VALUES |
			 (has_notes() ? KWQ_CHANGES_NOTES : 0),
		.after = number,
		.batch = {
			.entries = kwq_ptr(f->entries),
			.keys = kwq_ptr(f->bytes),
			.keys_len = sizeof(f->bytes),
			.nr = PAGE_ENTRIES,
			.entry_size = sizeof(f->entries[0]),
		},
	};
	f->lists = true;
	item_list_begin(&f->list, q, ALL_STATES);
	item_list_with(&f->list, follower_list_flags(f));
	return 0;
}

void follower_close(struct follower *f)
{
	struct page *page, *next;

	DL_FOREACH_SAFE(f->pages, page, next)
		free(page);
	f->pages = NULL;
}

/*
 * An item that has changed since the listing began comes with the changes, once more. But what it
 * was before belongs to this page. A sync that waits for that must not return before it is kept.
 */
static int next_listed(struct follower *f, const struct kwq_listed **listed, const char **bytes)
{
	int ret = item_list_next(&f->list, listed, bytes);

	/* The first item of a page was fetched just now. */
	if (f->list.next == 1)
		f->wall = read_clock(CLOCK_REALTIME);
	if (ret > 0) {
		follower_page(f)->open++;
	} else if (!ret) {
		f->lists = false;
		follower_settle(f, follower_page(f));
	}
	return ret;
}

/* Reads a page. Returns the number of its entries, 0 if no item has changed, or an error. */
static int read_page(struct follower *f)
{
	struct page *page = new_page(0);
	int nr;

	if (!page)
		return -ENOMEM;
	nr = kwq_changes(f->q, &f->args);
	if (nr < 0) {
		free(page);
		return nr == -EAGAIN ? 0 : nr;
	}
	f->wall = read_clock(CLOCK_REALTIME);
	page->after = f->args.after;
	page->open += nr;
	DL_APPEND(f->pages, page);
	f->nr = nr;
	f->next = 0;
	f->at = f->bytes;
	if (!nr)
		follower_settle(f, page);
	return nr;
}

int follower_next(struct follower *f, const struct kwq_listed **listed, const char **bytes)
{
	const struct kwq_listed *entry;
	int ret;

	if (f->lists) {
		ret = next_listed(f, listed, bytes);
		if (ret)
			return ret;
	}
	if (f->next == f->nr) {
		ret = read_page(f);
		if (ret <= 0)
			return ret;
	}
	entry = &f->entries[f->next++];
	*listed = entry;
	*bytes = f->at;
	f->at += item_list_bytes(entry, follower_list_flags(f));
	/* The last entry of a page is handed out: only its entries keep it open. */
	if (f->next == f->nr)
		follower_page(f)->open--;
	return 1;
}
