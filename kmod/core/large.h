/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The large form of a core (K6): bands, lines, a wheel of times, and figures. Only form.h includes
 * it. order.h says what differs with groups and aging.
 */
#ifndef KWQ_LARGE_H
#define KWQ_LARGE_H

#include <linux/bitops.h>
#include <linux/compiler.h>
#include <uapi/linux/kwq.h>
#include "core.h"
#include "line.h"
#include "order.h"
#include "waiting.h"

/* In a queue without durations, @to is KWQ_NO_TIME. No other time of a hand-out is negative. */
static void observe(struct kwq_histogram *histogram, ktime_t from, ktime_t to)
{
	u64 ns, bound = NSEC_PER_USEC;
	int i;

	if (unlikely(to < 0))
		return;
	ns = kwq_span(from, to);
	for (i = 0; i < KWQ_HISTOGRAM_BUCKETS - 1 && ns > bound; i++)
		bound *= 10;
	histogram->counts[i]++;
	histogram->sum += ns;
	if (histogram->sum < ns)
		histogram->sum_high++;
}

/* Q15: an order for an item that goes to the head of a band. */
static noinline u64 order_before_first(struct kwq_bulk *bulk, const struct kwq_line *band)
{
	if (kwq_line_is_empty(band))
		return ++bulk->last_order;
	return kwq_line_first(band, struct kwq_item, node)->order - 1;
}

/* Links an item into the band of its lane and priority. */
static inline void join_band(struct kwq_core *core, struct kwq_item *item,
			     enum kwq_lane lane, int priority, bool first)
{
	struct kwq_bulk *bulk = kwq_bulk_of(core);
	struct kwq_line *band = &bulk->bands[lane][kwq_level_of(priority)];

	if (unlikely(first)) {
		item->order = order_before_first(bulk, band);
		kwq_line_join_first(band, &item->node);
	} else {
		item->order = ++bulk->last_order;
		kwq_line_join(band, &item->node);
	}
	bulk->occupied[lane] |= BIT_ULL(kwq_level_of(priority));
}

static inline void leave_band(struct kwq_core *core, struct kwq_item *item)
{
	struct kwq_bulk *bulk = kwq_bulk_of(core);
	int level = kwq_level_of(item->priority);
	struct kwq_line *band = &bulk->bands[item->lane][level];

	kwq_line_leave(band, &item->node);
	if (kwq_line_is_empty(band))
		bulk->occupied[item->lane] &= ~BIT_ULL(level);
}

static inline struct kwq_item *first_of_bands(const struct kwq_core *core)
{
	const struct kwq_bulk *bulk = kwq_bulk_of(core);
	enum kwq_lane lane;
	int level;

	level = kwq_best_band(bulk, &lane);
	if (level < 0)
		return NULL;
	return kwq_line_first(&bulk->bands[lane][level], struct kwq_item, node);
}

/* The item is linked nowhere. */
static inline void begin_processing(struct kwq_core *core, struct kwq_item *item, ktime_t now)
{
	struct kwq_bulk *bulk = kwq_bulk_of(core);

	kwq_line_join(&bulk->processing, &item->node);
	bulk->started += now;
	bulk->started_high += bulk->started < (u64)now;
	observe(&bulk->queue_duration, item->dirtied, now);
	bulk->gets++;
}

static inline void take_of_bands(struct kwq_core *core, struct kwq_item *item, ktime_t now)
{
	leave_band(core, item);
	begin_processing(core, item, now);
}

/* M1: the sum of the times of hand-outs is without this item. */
static inline void end_processing(struct kwq_core *core, struct kwq_item *item)
{
	struct kwq_bulk *bulk = kwq_bulk_of(core);

	kwq_line_leave(&bulk->processing, &item->node);
	bulk->started_high -= bulk->started < (u64)item->since;
	bulk->started -= item->since;
}

static struct kwq_item *item_of_wait(struct kwq_wait *wait)
{
	return container_of(wait, struct kwq_item, wait);
}

static inline struct kwq_item *expire_waiting(struct kwq_bulk *bulk, ktime_t now,
					      unsigned int *budget)
{
	struct kwq_wait *wait = kwq_waiting_expire(&bulk->waiting, now, budget);

	if (!wait)
		return NULL;
	observe(&bulk->lateness, wait->expires, now);
	bulk->nr_waiting--;
	return item_of_wait(wait);
}

/* Takes any waiting item. */
static struct kwq_item *take_waiting(struct kwq_bulk *bulk)
{
	struct kwq_wait *wait = kwq_waiting_take(&bulk->waiting);

	if (!wait)
		return NULL;
	bulk->nr_waiting--;
	return item_of_wait(wait);
}

#endif /* KWQ_LARGE_H */
