// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/rbtree.h>
#include <uapi/linux/kwq.h>
#include "core/line.h"
#include "core_check.h"

static const char *broken_ready_item(const struct kwq_item *item, int lane, int level)
{
	if (item->lane != lane)
		return "an item is in the other lane's band";
	if (item->priority - KWQ_PRIORITY_MIN != level)
		return "an item is in another priority's band";
	if (!(item->state & KWQ_ITEM_DIRTY))
		return "an item in a band is not dirty";
	if (item->state & KWQ_ITEM_PROCESSING)
		return "an item in a band is processing";
	return NULL;
}

static const char *broken_bands(const struct kwq_core *core)
{
	const struct kwq_bulk *bulk = kwq_bulk_of(core);
	const struct kwq_item *item;
	const char *broken = NULL;
	unsigned long nr = 0;
	int lane, level;
	u64 last;

	for (lane = 0; lane < KWQ_NR_LANES; lane++) {
		for (level = 0; level < KWQ_NR_PRIORITIES; level++) {
			const struct kwq_line *band = &bulk->bands[lane][level];
			bool occupied = bulk->occupied[lane] & BIT_ULL(level);

			last = 0;
			if (occupied == kwq_line_is_empty(band))
				return "a bit of occupied is not its band's";
			hlist_for_each_entry(item, &band->nodes, node) {
				nr++;
				broken = broken_ready_item(item, lane, level);
				if (broken)
					return broken;
				if (item->order <= last)
					return "the order of a band does not grow";
				last = item->order;
			}
		}
	}
	return nr == core->nr_ready ? NULL : "nr_ready is wrong";
}

/* Sums over the groups of a core. */
struct group_sums {
	unsigned long nr_ready;
	unsigned long nr_blocked;
	unsigned long nr_from_before;
};

static bool is_from_before(const struct kwq_core *core, const struct kwq_item *item, u8 mark)
{
	return (item->marks ^ core->marks) & mark;
}

static struct kwq_item *item_of_level(const struct rb_node *node)
{
	return &container_of(node, struct kwq_grouped_item, member.level)->item;
}

static const struct kwq_group *group_of(const struct kwq_bulk *bulk, const struct kwq_item *item)
{
	return container_of_const(item, struct kwq_grouped_item, item)->member.group ?:
	       &bulk->order.ungrouped;
}

/* Q16: the items of one priority and lane in a group. */
static const char *broken_level(const struct kwq_core *core, const struct kwq_group *group,
				const struct kwq_item *head, struct group_sums *sums)
{
	const struct kwq_item *item = head;
	const char *broken;
	u64 last = 0;

	do {
		broken = broken_ready_item(item, head->lane, head->priority - KWQ_PRIORITY_MIN);
		if (broken)
			return broken;
		if (group_of(kwq_bulk_of(core), item) != group)
			return "an item is in another group's level";
		if (item->order <= last)
			return "the order of a level does not grow";
		if (item != head &&
		    !RB_EMPTY_NODE(&container_of_const(item, struct kwq_grouped_item,
						       item)->member.level))
			return "an item that is not its level's first has a node";
		last = item->order;
		sums->nr_ready++;
		sums->nr_from_before += is_from_before(core, item, KWQ_MARK_DIRTY);
		item = list_next_entry(item, link);
	} while (item != head);
	return NULL;
}

static const char *broken_group(const struct kwq_core *core, const struct kwq_group *group,
				struct group_sums *sums)
{
	const struct kwq_order *order = &kwq_bulk_of(core)->order;
	const struct kwq_item *head, *last = NULL;
	unsigned long before = sums->nr_ready, limit = ULONG_MAX, offered, nr;
	const struct rb_node *node;
	const char *broken;

	for (node = rb_first(&group->levels); node; node = rb_next(node)) {
		head = item_of_level(node);
		if (last && (last->priority < head->priority ||
			     (last->priority == head->priority && last->lane >= head->lane)))
			return "the levels of a group are out of order";
		broken = broken_level(core, group, head, sums);
		if (broken)
			return broken;
		last = head;
	}
	nr = sums->nr_ready - before;
	if (nr != group->nr_ready)
		return "nr_ready of a group is wrong";
	if (order->group_limit && group != &order->ungrouped)
		limit = order->group_limit;
	offered = min(nr, limit - min_t(unsigned long, group->nr_processing, limit));
	sums->nr_blocked += nr - offered;
	if (!nr)
		return "a group without ready items is linked";
	if (group->place != (offered ? KWQ_GROUP_IN_BAND : KWQ_GROUP_BLOCKED))
		return "a group is in the wrong list";
	return NULL;
}

/* K9: how many dirty marks and runs of these items the flush waits for. */
static unsigned long nr_processing_from_before(const struct kwq_core *core)
{
	const struct kwq_item *item;
	unsigned long nr = 0;

	hlist_for_each_entry(item, &kwq_bulk_of(core)->processing.nodes, node) {
		nr += is_from_before(core, item, KWQ_MARK_RUN);
		if (item->state & KWQ_ITEM_DIRTY)
			nr += is_from_before(core, item, KWQ_MARK_DIRTY);
	}
	return nr;
}

/* Q16: all groups that have ready items. */
static const char *broken_groups(const struct kwq_core *core)
{
	const struct kwq_bulk *bulk = kwq_bulk_of(core);
	const struct kwq_item *first;
	const struct kwq_group *group;
	struct group_sums sums = {};
	const char *broken = NULL;
	int lane, level;

	for (lane = 0; lane < KWQ_NR_LANES; lane++) {
		for (level = 0; level < KWQ_NR_PRIORITIES; level++) {
			const struct kwq_line *band = &bulk->bands[lane][level];
			bool occupied = bulk->occupied[lane] & BIT_ULL(level);

			if (occupied == kwq_line_is_empty(band))
				return "a bit of occupied is not its band's";
			hlist_for_each_entry(group, &band->nodes, node) {
				if (RB_EMPTY_ROOT(&group->levels))
					return "a group in a band is empty";
				first = item_of_level(rb_first(&group->levels));
				if (first->lane != lane ||
				    first->priority - KWQ_PRIORITY_MIN != level)
					return "a group is not in its first item's band";
				broken = broken_group(core, group, &sums);
				if (broken)
					return broken;
			}
		}
	}
	hlist_for_each_entry(group, &bulk->order.blocked.nodes, node) {
		broken = broken_group(core, group, &sums);
		if (broken)
			return broken;
	}
	sums.nr_from_before += nr_processing_from_before(core);
	if (sums.nr_from_before != core->nr_before)
		return "nr_before is wrong";
	if (sums.nr_blocked != bulk->order.nr_blocked)
		return "nr_blocked is wrong";
	return sums.nr_ready == core->nr_ready ? NULL : "nr_ready is wrong";
}

static u64 digits_from(u64 time, unsigned int level)
{
	return time >> level * KWQ_WAITING_BITS;
}

static const char *broken_slot(const struct kwq_waiting *waiting, unsigned int level,
			       unsigned int digit, unsigned long *nr)
{
	const struct kwq_slot *slot = &waiting->slots[level][digit];
	u64 place = digits_from(waiting->base, level + 1) << KWQ_WAITING_BITS | digit;
	bool occupied = waiting->occupied[level] & 1 << digit;
	const struct kwq_item *item;

	if (occupied == kwq_line_is_empty(&slot->waits))
		return "a bit of occupied is not its slot's";
	if (occupied && !(waiting->levels & 1U << level))
		return "a level with occupied slots is not among the levels";
	if (occupied && level && place <= digits_from(waiting->base, level))
		return "a slot is occupied that is not after the base";
	hlist_for_each_entry(item, &slot->waits.nodes, wait.node) {
		++*nr;
		if (!(item->state & KWQ_ITEM_WAITING))
			return "an item in a slot is not waiting";
		if (digits_from(item->wait.expires, level) != place)
			return "an item is in another time's slot";
		if (item->wait.expires < slot->first)
			return "an item is before the first of its slot";
	}
	return NULL;
}

static const char *broken_waiting(const struct kwq_core *core)
{
	const struct kwq_bulk *bulk = kwq_bulk_of(core);
	const struct kwq_waiting *waiting = &bulk->waiting;
	const struct kwq_item *item;
	unsigned int level, digit;
	const char *broken = NULL;
	unsigned long nr = 0;

	for (level = 0; level < KWQ_WAITING_LEVELS; level++) {
		if (waiting->levels & 1U << level && !waiting->occupied[level])
			return "an empty level is among the levels";
		for (digit = 0; !broken && digit < KWQ_WAITING_SLOTS; digit++)
			broken = broken_slot(waiting, level, digit, &nr);
		if (broken)
			return broken;
	}
	hlist_for_each_entry(item, &waiting->opening.nodes, wait.node) {
		nr++;
		if (!(item->state & KWQ_ITEM_WAITING))
			return "an item in the opened slot is not waiting";
		if (item->wait.expires < waiting->base ||
		    item->wait.expires > waiting->opening_end)
			return "an item is not of the opened slot";
	}
	return nr == bulk->nr_waiting ? NULL : "nr_waiting is wrong";
}

static int index_of(struct kwq_holder *const holders[], int nr_holders,
		    const struct kwq_holder *holder)
{
	int i;

	for (i = 0; i < nr_holders; i++)
		if (holders[i] == holder)
			return i;
	return -1;
}

static const struct kwq_group *runs_in(const struct kwq_item *item)
{
	return container_of_const(item, struct kwq_grouped_item, item)->member.running_in;
}

static const char *broken_holders(const struct kwq_core *core,
				  struct kwq_holder *const holders[],
				  int nr_holders)
{
	const struct kwq_bulk *bulk = kwq_bulk_of(core);
	const struct kwq_item *item;
	unsigned long nr = 0, nr_dirty_processing = 0, held[8] = {};
	u64 started = 0, started_high = 0;
	ktime_t last = KTIME_MIN;
	int i;

	if (nr_holders > ARRAY_SIZE(held))
		return "too many holders for this check";
	hlist_for_each_entry(item, &bulk->processing.nodes, node) {
		nr++;
		if (!(item->state & KWQ_ITEM_PROCESSING))
			return "an item is among the processing and is not";
		if (item->since < last)
			return "processing items are out of order";
		last = item->since;
		nr_dirty_processing += !!(item->state & KWQ_ITEM_DIRTY);
		started += item->since;
		started_high += started < (u64)item->since;
		i = index_of(holders, nr_holders, item->holder);
		if (i < 0)
			return "an item has an unknown holder";
		if (kwq_core_is_grouped(core) && !runs_in(item)->nr_processing)
			return "a run counts in no group";
		held[i]++;
	}
	for (i = 0; i < nr_holders; i++)
		if (held[i] != holders[i]->nr_held)
			return "nr_held is wrong";
	if (nr_dirty_processing != core->nr_dirty_processing)
		return "nr_dirty_processing is wrong";
	if (started != bulk->started || started_high != bulk->started_high)
		return "started is not the sum that it should be";
	return nr == core->nr_processing ? NULL : "nr_processing is wrong";
}

/* K6: the processing items, and behind them the ready ones. */
static const char *broken_items(const struct kwq_core *core,
				struct kwq_holder *const holders[], int nr_holders)
{
	unsigned long nr = 0, nr_dirty_processing = 0, nr_before = 0, held[8] = {};
	const struct kwq_item *item;
	int i;

	if (nr_holders > ARRAY_SIZE(held))
		return "too many holders for this check";
	list_for_each_entry(item, &core->items, link) {
		if (nr == core->nr_processing && core->first_ready != &item->link)
			return "the first ready item is not behind the processing ones";
		if (nr++ < core->nr_processing) {
			if (!(item->state & KWQ_ITEM_PROCESSING))
				return "an item is among the processing and is not";
			i = index_of(holders, nr_holders, item->holder);
			if (i < 0)
				return "an item has an unknown holder";
			held[i]++;
			nr_dirty_processing += !!(item->state & KWQ_ITEM_DIRTY);
			nr_before += is_from_before(core, item, KWQ_MARK_RUN);
		} else if (item->state & KWQ_ITEM_PROCESSING ||
			   !(item->state & KWQ_ITEM_DIRTY)) {
			return "an item is among the ready and is not";
		}
		if (item->priority)
			return "an item of a small core has a priority";
		if (item->state & KWQ_ITEM_DIRTY)
			nr_before += is_from_before(core, item, KWQ_MARK_DIRTY);
	}
	if (!core->nr_ready && core->first_ready != &core->items)
		return "an item is the first ready one, and none is ready";
	for (i = 0; i < nr_holders; i++)
		if (held[i] != holders[i]->nr_held)
			return "nr_held is wrong";
	if (nr_dirty_processing != core->nr_dirty_processing)
		return "nr_dirty_processing is wrong";
	if (nr_before != core->nr_before)
		return "nr_before is wrong";
	return nr == core->nr_processing + core->nr_ready ? NULL : "the number of items is wrong";
}

static const char *broken_by_time(const struct kwq_core *core)
{
	const struct kwq_item *item, *last = NULL;
	struct rb_node *node;

	for (node = rb_first(&core->by_time); node; node = rb_next(node)) {
		item = rb_entry(node, struct kwq_item, by_time);
		if (!(item->state & KWQ_ITEM_WAITING))
			return "an item in the tree of times is not waiting";
		if (last && item->due < last->due)
			return "the tree of times is out of order";
		last = item;
	}
	return NULL;
}

/* Counts the dead items. Returns what is wrong with them. */
static const char *broken_ring(const struct kwq_core *core, unsigned long *nr)
{
	const struct list_head *at = core->dead;

	*nr = 0;
	if (!at)
		return NULL;
	do {
		if (!kwq_item_is_dead(list_entry(at, struct kwq_item, link)))
			return "an item is among the dead and is not";
		++*nr;
		at = at->next;
	} while (at != core->dead);
	return NULL;
}

static const char *broken_small(const struct kwq_core *core,
				struct kwq_holder *const holders[], int nr_holders)
{
	unsigned long nr;

	return broken_ring(core, &nr) ?: broken_items(core, holders, nr_holders) ?:
	       broken_by_time(core);
}

/* K9: the flush waits for the dirty marks and runs of the other colour. */
static const char *broken_marks(const struct kwq_core *core)
{
	const struct kwq_bulk *bulk = kwq_bulk_of(core);
	const struct kwq_item *item;
	unsigned long nr = 0;
	int lane, level;

	for (lane = 0; lane < KWQ_NR_LANES; lane++)
		for (level = 0; level < KWQ_NR_PRIORITIES; level++)
			hlist_for_each_entry(item, &bulk->bands[lane][level].nodes, node)
				nr += is_from_before(core, item, KWQ_MARK_DIRTY);
	nr += nr_processing_from_before(core);
	return nr == core->nr_before ? NULL : "nr_before is wrong";
}

static const char *broken_dead(const struct kwq_core *core)
{
	unsigned long nr;
	const char *broken = broken_ring(core, &nr);

	if (broken)
		return broken;
	return nr == kwq_bulk_of(core)->nr_dead ? NULL : "nr_dead is wrong";
}

const char *kwq_core_broken(const struct kwq_core *core,
			    struct kwq_holder *const holders[], int nr_holders)
{
	const struct kwq_bulk *bulk = kwq_bulk_of(core);
	const char *broken;

	if (kwq_core_is_small(core))
		return broken_small(core, holders, nr_holders);
	broken = kwq_core_is_grouped(core) ? broken_groups(core) : broken_bands(core);
	if (!broken)
		broken = broken_waiting(core);
	if (!broken)
		broken = broken_holders(core, holders, nr_holders);
	if (!broken)
		broken = broken_dead(core);
	if (!broken && !kwq_core_is_grouped(core))
		broken = broken_marks(core);
	if (!broken && bulk->gets != bulk->dones + bulk->abandoned + bulk->returned +
				     core->nr_processing)
		broken = "a hand-out was neither done nor abandoned nor returned";
	return broken;
}

void kwq_test_limit(struct kunit *test, struct kwq_rate_limiter **limiter,
		    const struct kwq_limiter_config *config, ktime_t now)
{
	struct kwq_rate_limiter *new = kunit_kmalloc(test, kwq_rate_limiter_size(config),
						     GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, new);
	kwq_rate_limiter_init(new, config);
	kwq_rate_limiter_replace(new, *limiter, now);
	if (*limiter)
		kunit_kfree(test, *limiter);
	*limiter = new;
}
