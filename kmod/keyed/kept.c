// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kept items: memory of keys that are gone, for keys to come.
 *
 * Keys come and go, and to allocate an item and free it takes a tenth of all that a key costs.
 * So a queue keeps up to KWQ_KEPT_MAX small items, and takes them first.
 *
 * They cost no quota (O9). A queue has bytes in reserve, which its owner's quota counts already.
 * Kept items are never more than that reserve. If it shrinks, kwq_keyed_trim_kept() lets some go.
 *
 * The memory of an item is charged to the cgroup of the task that added it (O4). So a queue keeps
 * only items of one cgroup, its payer, and only tasks of that cgroup get them. When a task of
 * another cgroup adds, they go, so that a payer that left does not pay for ever. The payer changes
 * when the queue is empty: then it is the cgroup of the next adder. Cgroups are told apart by the
 * serial numbers of their states, because these are never used again.
 *
 * A keeper is a queue that may have kept items. A shrinker frees the kept items of all keepers
 * when the kernel lacks memory. It is not asked when a cgroup is at its own limit. So there are at
 * most KWQ_KEEPERS_MAX keepers, with some 2.6 MB in all: a new one takes the place of the first.
 * A queue that is shut down keeps nothing (Q10).
 *
 * Locks: a queue joins the list of keepers under its own lock. So the shrinker, which goes the
 * other way, only tries a queue's lock, and passes over a queue that is in use. A queue leaves the
 * list before it is freed. So every queue that the shrinker finds exists.
 */
#include <linux/cgroup.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/shrinker.h>
#include <linux/spinlock.h>
#include <kunit/visibility.h>
#include "compat.h"
#include "keyed.h"

static DEFINE_SPINLOCK(keepers_lock);
static LIST_HEAD(keepers);		/* protected by @keepers_lock */
static unsigned long nr_keepers;	/* written under @keepers_lock */

static struct shrinker *shrinker;

/**
 * kwq_current_payer() - which memory cgroup pays for allocations of the current task
 *
 * Context: process.
 * Return: the number of the cgroup; 0 in a kernel without memory cgroups.
 */
inline u64 kwq_current_payer(void)
{
	u64 payer = 0;

	KUNIT_STATIC_STUB_REDIRECT(kwq_current_payer);
#ifdef CONFIG_MEMCG
	rcu_read_lock();
	payer = task_css(current, memory_cgrp_id)->serial_nr;
	rcu_read_unlock();
#endif
	return payer;
}

static void leave_keepers_locked(struct kwq_keyed *keyed)
{
	lockdep_assert_held(&keepers_lock);
	keyed->is_keeper = false;
	list_del(&keyed->keeper);
	WRITE_ONCE(nr_keepers, nr_keepers - 1);
}

/* Returns the kept items of a queue, which has none any more. */
static struct kwq_node *take_kept(struct kwq_keyed *keyed)
{
	struct kwq_node *kept = keyed->kept;

	keyed->kept = NULL;
	keyed->nr_kept = 0;
	return kept;
}

static void free_kept(struct kwq_node *kept[KWQ_ITEM_KINDS])
{
	int kind;

	for (kind = 0; kind < KWQ_ITEM_KINDS; kind++)
		kwq_free_small_items(kept[kind], kind);
}

static void let_one_go(struct kwq_keyed *keyed)
{
	struct kwq_node *node = keyed->kept;

	keyed->kept = node->next;
	keyed->nr_kept--;
	node->next = keyed->gone;
	keyed->gone = node;
}

static void let_all_go(struct kwq_keyed *keyed)
{
	lockdep_assert_held(&keyed->queue.lock);
	while (keyed->kept)
		let_one_go(keyed);
}

/**
 * kwq_leave_payer() - a task of another cgroup than the payer adds
 * @keyed: the queue; its lock held
 * @payer: number of the cgroup; it becomes the payer if the queue has no items
 */
noinline void kwq_leave_payer(struct kwq_keyed *keyed, u64 payer)
{
	let_all_go(keyed);
	if (!keyed->nr_items)
		keyed->payer = payer;
}

/**
 * kwq_keyed_stop_keeping() - keep no items any more, for no key will come
 * @keyed: the queue, shut down
 *
 * Context: process; may sleep.
 */
void kwq_keyed_stop_keeping(struct kwq_keyed *keyed)
{
	unsigned long flags;

	spin_lock_irqsave(&keyed->queue.lock, flags);
	keyed->max_kept = 0;
	let_all_go(keyed);
	kwq_keyed_unlock(keyed, flags);
}

/**
 * kwq_keyed_trim_kept() - let kept items go until the rest fit into the queue's reserve
 * @keyed: the queue; its lock held
 */
noinline void kwq_keyed_trim_kept(struct kwq_keyed *keyed)
{
	lockdep_assert_held(&keyed->queue.lock);
	while (!kwq_kept_fit(keyed))
		let_one_go(keyed);
}

/**
 * kwq_keyed_end_keeping() - leave the list of keepers for good
 * @keyed: the queue; nobody uses it any more
 *
 * Return: its kept items.
 */
struct kwq_node *kwq_keyed_end_keeping(struct kwq_keyed *keyed)
{
	unsigned long flags;

	spin_lock_irqsave(&keepers_lock, flags);
	if (keyed->is_keeper)
		leave_keepers_locked(keyed);
	spin_unlock_irqrestore(&keepers_lock, flags);
	return take_kept(keyed);
}

/*
 * Takes the kept items of the first keeper, and adds them to those of its cache. Returns how many
 * they are. A queue that is in use becomes the last one of the list.
 */
static unsigned long shrink_first(struct kwq_node *kept[KWQ_ITEM_KINDS])
{
	struct kwq_keyed *keyed = list_first_entry(&keepers, struct kwq_keyed, keeper);
	struct kwq_node *node, *next;
	unsigned long nr;

	if (!spin_trylock(&keyed->queue.lock)) {
		list_move_tail(&keyed->keeper, &keepers);
		return 0;
	}
	leave_keepers_locked(keyed);
	nr = keyed->nr_kept;
	for (node = take_kept(keyed); node; node = next) {
		next = node->next;
		node->next = kept[kwq_item_kind(keyed)];
		kept[kwq_item_kind(keyed)] = node;
	}
	spin_unlock(&keyed->queue.lock);
	return nr;
}

/**
 * kwq_become_keeper() - join the list of keepers
 * @keyed: the queue, no keeper; its lock held
 *
 * Return: false if there are as many as may be, and the first one is in use.
 */
noinline bool kwq_become_keeper(struct kwq_keyed *keyed)
{
	struct kwq_node *kept[KWQ_ITEM_KINDS] = {};

	lockdep_assert_held(&keyed->queue.lock);
	spin_lock(&keepers_lock);
	if (nr_keepers >= KWQ_KEEPERS_MAX)
		shrink_first(kept);
	keyed->is_keeper = nr_keepers < KWQ_KEEPERS_MAX;
	if (keyed->is_keeper) {
		list_add_tail(&keyed->keeper, &keepers);
		WRITE_ONCE(nr_keepers, nr_keepers + 1);
	}
	spin_unlock(&keepers_lock);
	free_kept(kept);
	return keyed->is_keeper;
}

/* At most so many keepers are asked at once, because @keepers_lock keeps interrupts off. */
#define KEEPERS_PER_HOLD	32

/**
 * kwq_shrink_kept() - free kept items
 * @wanted: how many; it may be up to KWQ_KEPT_MAX - 1 more
 *
 * Context: process; allocations may be waiting for it.
 * Return: how many were freed; SHRINK_STOP if there are none that are not in use.
 */
VISIBLE_IF_KUNIT unsigned long kwq_shrink_kept(unsigned long wanted)
{
	struct kwq_node *kept[KWQ_ITEM_KINDS] = {};
	unsigned long flags, freed = 0;
	int n;

	spin_lock_irqsave(&keepers_lock, flags);
	for (n = 0; n < KEEPERS_PER_HOLD && freed < wanted && !list_empty(&keepers); n++)
		freed += shrink_first(kept);
	spin_unlock_irqrestore(&keepers_lock, flags);
	free_kept(kept);
	return freed ?: SHRINK_STOP;
}

/* An upper bound, because the number of kept items is counted by each queue. */
static unsigned long count_kept(struct shrinker *unused, struct shrink_control *sc)
{
	return READ_ONCE(nr_keepers) * KWQ_KEPT_MAX ?: SHRINK_EMPTY;
}

static unsigned long shrink_kept(struct shrinker *unused, struct shrink_control *sc)
{
	return kwq_shrink_kept(sc->nr_to_scan);
}

/**
 * kwq_kept_register() - let the kernel free kept items
 *
 * Return: 0 or -ENOMEM.
 */
int __init kwq_kept_register(void)
{
	shrinker = kwq_shrinker_register("kwq_item", count_kept, shrink_kept);
	return shrinker ? 0 : -ENOMEM;
}

/**
 * kwq_kept_unregister() - undo kwq_kept_register(); no queue is left
 */
void kwq_kept_unregister(void)
{
	kwq_shrinker_unregister(shrinker);
}
