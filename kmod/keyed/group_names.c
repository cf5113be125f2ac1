// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups of keys: bytes to groups, and their memory (Q16).
 *
 * A group exists while a key that is not idle belongs to it, or while a run counts in it. Like
 * items, groups are allocated before the lock is taken, and freed after it was released.
 */
#include <linux/err.h>
#include <linux/slab.h>
#include "keyed.h"

static struct kwq_keyed_group *group_of_node(struct kwq_node *node)
{
	return container_of(node, struct kwq_keyed_group, by_name);
}

static u32 hash_of_group(const struct kwq_node *node)
{
	return container_of_const(node, struct kwq_keyed_group, by_name)->hash;
}

static void *new_page_of_groups(struct kwq_table *table)
{
	return kwq_keyed_new_page(container_of(table, struct kwq_keyed_groups, table)->keyed);
}

static void free_page_of_groups(struct kwq_table *table, void *page)
{
	kwq_keyed_free_page(container_of(table, struct kwq_keyed_groups, table)->keyed, page);
}

static const struct kwq_table_ops ops_of_groups = {
	.hash = hash_of_group,
	.new_page = new_page_of_groups,
	.drop_page = free_page_of_groups,
};

/**
 * kwq_keyed_group_bytes() - bytes that the allocator uses for a group
 * @len: length of its name
 *
 * Return: the number of bytes.
 */
u32 kwq_keyed_group_bytes(u32 len)
{
	return kwq_bytes_of_kmalloc(struct_size_t(struct kwq_keyed_group, name, len));
}

/**
 * kwq_keyed_init_order() - initialise a queue's groups and aging
 * @keyed: the queue; initialised but for this
 *
 * Context: process; may sleep.
 * Return: 0 or -ENOMEM.
 */
int kwq_keyed_init_order(struct kwq_keyed *keyed)
{
	struct kwq_core *core = &keyed->queue.core;
	struct kwq_keyed_groups *groups;

	kwq_core_set_aging(core, keyed->limits.aging);
	if (!keyed->limits.groups)
		return 0;
	groups = kzalloc(sizeof(*groups), GFP_KERNEL_ACCOUNT);
	if (!groups)
		return -ENOMEM;
	groups->keyed = keyed;
	kwq_table_init(&groups->table, &groups->top, &ops_of_groups);
	keyed->groups = groups;
	kwq_core_group_items(core, keyed->limits.group_limit);
	return 0;
}

static struct kwq_keyed_group *find(struct kwq_keyed *keyed, const struct kwq_key *name)
{
	struct kwq_keyed_group *kg;
	struct kwq_node *node;

	for (node = *kwq_table_bucket(&keyed->groups->table, name->hash); node;
	     node = node->next) {
		kg = group_of_node(node);
		if (kg->hash == name->hash && kg->len == name->len &&
		    !memcmp(kg->name, name->bytes, name->len))
			return kg;
	}
	return NULL;
}

/**
 * kwq_keyed_find_group() - find the group of an add
 * @keyed: the queue; its lock held; with groups
 * @extras: what the add brings; its @found is filled in
 */
void kwq_keyed_find_group(struct kwq_keyed *keyed, struct kwq_extras *extras)
{
	lockdep_assert_held(&keyed->queue.lock);
	extras->found = extras->group.len ? find(keyed, &extras->group) : NULL;
}

/**
 * kwq_keyed_lacks_group() - does an add need memory for a new group
 * @keyed: the queue; its lock held; with groups
 * @extras: what the add brings, after kwq_keyed_find_group()
 * @stock: memory for a new group
 *
 * Return: true if the caller has to call kwq_stock_fill() and try again.
 */
bool kwq_keyed_lacks_group(struct kwq_keyed *keyed, const struct kwq_extras *extras,
			   struct kwq_stock *stock)
{
	const struct kwq_key *name = &extras->group;

	lockdep_assert_held(&keyed->queue.lock);
	stock->wants_group = name->len && !extras->found &&
			     (!stock->group || stock->group_len != name->len);
	return stock->wants_group;
}

static void insert(struct kwq_keyed *keyed, const struct kwq_key *name,
		   struct kwq_keyed_group *kg)
{
	kwq_group_init(&kg->group);
	kg->hash = name->hash;
	kg->len = name->len;
	memcpy(kg->name, name->bytes, name->len);
	keyed->nr_bytes += kwq_keyed_group_bytes(name->len);
	kwq_table_insert(&keyed->groups->table, &kg->by_name,
			 kwq_table_bucket(&keyed->groups->table, kg->hash));
}

/**
 * kwq_keyed_get_group() - find or make the group of an add, and use it
 * @keyed: the queue; its lock held; with groups. There is room for a new group
 * @extras: what the add brings; its group is not empty
 * @stock: memory for a new group; kwq_keyed_lacks_group() was false in this hold
 *
 * Return: the group, for kwq_keyed_put_group().
 */
struct kwq_group *kwq_keyed_get_group(struct kwq_keyed *keyed, const struct kwq_extras *extras,
				      struct kwq_stock *stock)
{
	const struct kwq_key *name = &extras->group;
	struct kwq_keyed_group *kg = extras->found;

	lockdep_assert_held(&keyed->queue.lock);
	if (!kg) {
		kg = stock->group;
		stock->group = NULL;
		insert(keyed, name, kg);
	}
	kg->group.users++;
	return &kg->group;
}

/**
 * kwq_keyed_put_group() - undo kwq_keyed_get_group()
 * @keyed: the queue; its lock held
 * @group: the group
 */
void kwq_keyed_put_group(struct kwq_keyed *keyed, struct kwq_group *group)
{
	struct kwq_keyed_group *kg = container_of(group, struct kwq_keyed_group, group);

	lockdep_assert_held(&keyed->queue.lock);
	if (--group->users)
		return;
	kwq_table_remove(&keyed->groups->table, &kg->by_name, kg->hash);
	kwq_keyed_lose_bytes(keyed, kwq_keyed_group_bytes(kg->len));
	kwq_keyed_lose_memory(keyed, &kg->by_name);
}

/**
 * kwq_keyed_begin_run() - let a run use the group in which it counts
 * @keyed: the queue; its lock held; with groups
 * @ki: the item, just handed out
 */
void kwq_keyed_begin_run(struct kwq_keyed *keyed, struct kwq_keyed_item *ki)
{
	struct kwq_group *group = kwq_member_of(ki)->running_in;

	if (group != &keyed->of_core.order.ungrouped)
		group->users++;
}

/**
 * kwq_keyed_end_run() - undo kwq_keyed_begin_run()
 * @keyed: the queue; its lock held; with groups
 * @ki: the item, still processing
 */
void kwq_keyed_end_run(struct kwq_keyed *keyed, struct kwq_keyed_item *ki)
{
	struct kwq_group *group = kwq_member_of(ki)->running_in;

	if (group != &keyed->of_core.order.ungrouped)
		kwq_keyed_put_group(keyed, group);
}

/**
 * kwq_keyed_leave_group() - take an idle item out of its group
 * @keyed: the queue; its lock held; with groups
 * @ki: the item; idle
 */
noinline void kwq_keyed_leave_group(struct kwq_keyed *keyed, struct kwq_keyed_item *ki)
{
	struct kwq_member *member = kwq_member_of(ki);

	if (member->group)
		kwq_keyed_put_group(keyed, member->group);
	member->group = NULL;
}

/**
 * kwq_stock_fill_group() - allocate a new group
 * @stock: the stock; kwq_keyed_lacks_group() was true, and the group is charged
 * @name: the group's name
 *
 * Context: process; may sleep.
 * Return: true; false without memory.
 */
noinline bool kwq_stock_fill_group(struct kwq_stock *stock, const struct kwq_key *name)
{
	stock->group_len = name->len;
	stock->group = kmalloc(struct_size_t(struct kwq_keyed_group, name, name->len),
			       GFP_KERNEL_ACCOUNT);
	return stock->group;
}

/**
 * kwq_keyed_group_of() - the group of an item
 * @keyed: the queue; its lock held
 * @ki: the item
 *
 * Return: the group; NULL for none.
 */
const struct kwq_keyed_group *kwq_keyed_group_of(const struct kwq_keyed *keyed,
						 struct kwq_keyed_item *ki)
{
	struct kwq_group *group;

	if (!keyed->limits.groups)
		return NULL;
	group = kwq_member_of(ki)->group;
	return group ? container_of(group, struct kwq_keyed_group, group) : NULL;
}

/**
 * kwq_keyed_destroy_groups() - free a queue's groups
 * @keyed: the queue; nobody uses it any more
 *
 * Context: process; may sleep.
 */
void kwq_keyed_destroy_groups(struct kwq_keyed *keyed)
{
	struct kwq_table *table;

	/* NULL also in a queue that could not be created. */
	if (!keyed->groups)
		return;
	table = &keyed->groups->table;
	while (table->nr_buckets) {
		kwq_memory_free(kwq_table_empty_last(table));
		cond_resched();
	}
	kfree(keyed->groups);
}
