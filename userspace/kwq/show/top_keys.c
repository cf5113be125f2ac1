// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "top_keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"
#include "base/escape.h"
#include "queue/histogram.h"
#include "queue/item_print.h"
#include "base/process_name.h"
#include "table.h"

/* More keys take too long to list for each table. */
enum { LISTED_MAX = 20000 };

static uint64_t count(const struct kwq_stat *st, uint32_t state)
{
	switch (state) {
	case KWQ_IS_PROCESSING:
		return st->processing;
	case KWQ_IS_READY:
		return st->ready;
	case KWQ_IS_WAITING:
		return st->waiting;
	default:
		return st->dead;
	}
}

int top_keys_list(struct top_keys *keys, struct kwq *q, const struct kwq_stat *st)
{
	uint64_t nr = count(st, keys->state);
	int err = 0;

	keys->too_many = nr > LISTED_MAX ? nr : 0;
	keys->items.nr = 0;
	if (!keys->too_many)
		err = item_sorted_list(&keys->items, q, keys->state);
	if (err)
		keys->items.nr = 0;
	if (keys->selected >= keys->items.nr)
		keys->selected = keys->items.nr ? keys->items.nr - 1 : 0;
	return err;
}

uint32_t top_keys_next_state(uint32_t state)
{
	switch (state) {
	case KWQ_IS_PROCESSING:
		return KWQ_IS_READY;
	case KWQ_IS_READY:
		return KWQ_IS_WAITING;
	case KWQ_IS_WAITING:
		return KWQ_IS_DEAD;
	default:
		return KWQ_IS_PROCESSING;
	}
}

static void draw_line(const char *text, size_t columns, bool selected)
{
	if (selected)
		fputs("\033[7m", stdout);
	table_write_cut(stdout, text, columns);
	fputs(selected ? "\033[K\033[m\r\n" : "\033[K\r\n", stdout);
}

static void draw_item(const struct top_keys *keys, size_t i, size_t columns)
{
	const struct kwq_listed *item = &keys->items.rows[i].item;
	char age[SHORT_TIME_SIZE], left[SHORT_TIME_SIZE], name[PROCESS_NAME_SIZE];
	char line[ESCAPED_SIZE(KWQ_KEY_MAX) + 200];
	uint64_t ends = item->state & KWQ_IS_WAITING ? item->due_in : item->lease_left;
	int len;

	len = snprintf(line, sizeof(line), "%7s %7s %8u %4u %4d ", short_age(age, item_age(item)),
		       ends ? short_time(left, ends) : "-", item->requeues, item->abandoned,
		       item->priority);
	if (item->pid)
		len += snprintf(line + len, sizeof(line) - len, "%7d %-15s ", item->pid,
				process_name(name, item->pid));
	else
		len += snprintf(line + len, sizeof(line) - len, "%7s %-15s ", "-", "-");
	escape_text(line + len, item_sorted_key(&keys->items, i), item->key_len);
	draw_line(line, columns, i == keys->selected);
}

void top_keys_draw(struct top_keys *keys, size_t lines, size_t columns)
{
	char text[100];
	size_t i, shown;

	if (!lines--)
		return;
	snprintf(text, sizeof(text), "%7s %7s %8s %4s %4s %7s %-15s %s", "AGE", "LEFT", "REQUEUES",
		 "LOST", "PRIO", "PID", "PROCESS", "KEY");
	draw_line(text, columns, false);
	if (keys->too_many && lines) {
		snprintf(text, sizeof(text), "%" PRIu64 " keys are too many to list here: see kwq keys",
			 keys->too_many);
		draw_line(text, columns, false);
		return;
	}
	shown = lines;
	if (keys->selected < keys->first)
		keys->first = keys->selected;
	if (shown && keys->selected >= keys->first + shown)
		keys->first = keys->selected - shown + 1;
	for (i = keys->first; i < keys->items.nr && shown--; i++)
		draw_item(keys, i, columns);
}
