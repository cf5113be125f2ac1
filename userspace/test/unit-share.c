// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The cores of kwq share: small tests of their parts, and a simulation of many machines. Needs none
 * of kwq share's libraries. Its arguments are those of share-simulation/seeds.h.
 */
#include <stdlib.h>

#include "share-simulation/seeds.h"
#include "share/core/order.h"
#include "tap.h"
#include "share/core/timed.h"

enum { SEEDS = 1500 };

struct record *sent_record(const struct record *record)
{
	return copy_of_record(record);
}

struct message *sent_message(const struct message *message)
{
	return copy_of_message(message);
}

void name_key(struct key_hash *hash, const char *name, int key)
{
	(void)name;
	*hash = (struct key_hash){ { 0xab, key + 1 } };
}

struct entry {
	struct order_item item;
	int priority, group, nr;
};

static struct bytes group_name(int group)
{
	static const char *const names[] = { "", "one", "two" };

	return (struct bytes){ names[group], strlen(names[group]) };
}

static void put(struct order *order, struct entry *entry, bool ahead)
{
	struct bytes group = group_name(entry->group);

	if (order_add(order, &entry->item, entry->priority, &group, ahead))
		abort();
}

/* Q1 Q12 Q16 O1: takes @entries in the order that @wanted names. */
static void test_order(const char *what, uint32_t limit, struct entry *entries, int nr,
		       int nr_ahead, const char *wanted)
{
	struct order order;
	struct order_item *first;
	char got[20] = "";
	int i;

	order_init(&order, limit);
	for (i = 0; i < nr; i++)
		put(&order, &entries[i], i >= nr - nr_ahead);
	while ((first = order_first(&order))) {
		struct entry *entry = (struct entry *)first;

		order_take(&order, first);
		got[strlen(got)] = 'a' + (entry - entries);
	}
	is_string(got, wanted, what);
	for (i = 0; i < nr; i++) {
		if (order_is_ready(&entries[i].item))
			order_remove(&order, &entries[i].item);
		else
			order_finish(&order, &entries[i].item);
	}
	ok(!order.groups && !order.ready && !order.bands, "%s: nothing is left", what);
	order_destroy(&order);
}

static void test_orders(void)
{
	struct entry by_age[] = { { .nr = 0 }, { .nr = 1 }, { .nr = 2 } };
	struct entry by_priority[] = {
		{ .priority = -32 }, { .priority = 31 }, { .priority = 0 }, { .priority = 31 },
	};
	struct entry groups[] = {
		{ .group = 1 }, { .group = 1 }, { .group = 1 }, { .group = 2 }, { .group = 0 },
	};
	struct entry limited[] = { { .group = 1 }, { .group = 1 }, { .group = 0 }, { .group = 0 } };
	struct entry ahead[] = { { .group = 1 }, { .group = 1 }, { .group = 2 }, { .group = 2 } };

	test_order("the older key comes first", 0, by_age, 3, 0, "abc");
	test_order("the higher priority comes first", 0, by_priority, 4, 0, "bdca");
	test_order("groups take turns", 0, groups, 5, 0, "adebc");
	test_order("a group at its limit is skipped, no group has none", 1, limited, 4, 0, "acd");
	test_order("a key that comes back goes ahead", 0, ahead, 4, 1, "dacb");
}

static void test_group_limit(void)
{
	struct entry entries[] = { { .group = 1 }, { .group = 1 } };
	struct order order;

	order_init(&order, 1);
	put(&order, &entries[0], false);
	put(&order, &entries[1], false);
	order_take(&order, &entries[0].item);
	ok(!order_first(&order) && order.ready == 1,
	   "a group at its limit has a key that is ready");
	order_finish(&order, &entries[0].item);
	ok(order_first(&order) == &entries[1].item, "and has its turn below the limit");
	order_remove(&order, &entries[1].item);
	order_destroy(&order);
}

/* D4 */
static void test_times(void)
{
	enum { ITEMS = 500 };
	static struct due_item items[ITEMS];
	struct due_heap heap = { 0 };
	struct due_item *first;
	uint64_t time = 0, order = 0;
	bool good = true;
	int i, nr = 0;

	srand(1);
	for (i = 0; i < ITEMS; i++)
		due_set(&heap, &items[i], rand() % 50, i);
	for (i = 0; i < ITEMS; i += 3)
		due_set(&heap, &items[i], NEVER, 0);
	for (i = 1; i < ITEMS; i += 3)
		due_set(&heap, &items[i], rand() % 50, i);
	while ((first = due_first(&heap))) {
		good &= first->time > time || (first->time == time && first->order >= order);
		time = first->time;
		order = first->order;
		due_set(&heap, first, NEVER, 0);
		nr++;
	}
	ok(good && nr == ITEMS - (ITEMS + 2) / 3,
	   "times come in their order, equal ones in the order of their adds");
	due_destroy(&heap);
}

static const struct merge {
	const char *what;
	uint64_t due, past, through, added, now;
	uint64_t wanted_due, wanted_past, wanted_through;
} merges[] = {
	{ "an earlier time wins", 50, NEVER, 0, 40, 10, 40, NEVER, 0 },
	{ "an earlier time stays", 50, NEVER, 0, 60, 10, 50, NEVER, 0 },
	{ "a time that has come is owed, beside the new one", 50, NEVER, 0, 60, 55, 60, 50, 7 },
	{ "what is owed already stays", 50, 20, 3, 60, 30, 50, 20, 3 },
	{ "of two that have come the earlier one is owed", 50, 20, 3, 60, 55, 60, 20, 7 },
	{ "the time that comes just now is owed", 50, NEVER, 0, 60, 50, 60, 50, 7 },
};

static void test_merges(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(merges); i++) {
		const struct merge *merge = &merges[i];
		struct record new = { .kind = RECORD_TIMED, .due = merge->added, .past = NEVER };
		const struct record old = {
			.kind = RECORD_TIMED,
			.seq = 7,
			.due = merge->due,
			.past = merge->past,
			.through = merge->through,
		};

		merge_times(&new, &old, merge->now);
		ok(new.due == merge->wanted_due && new.past == merge->wanted_past &&
		   new.through == merge->wanted_through, "%s", merge->what);
	}
}

static const struct {
	const char *what;
	uint64_t granted, now, wanted;
} covered[] = {
	{ "nothing has come", 0, 10, 0 },
	{ "what is owed is granted under its own version", 0, 30, 3 },
	{ "what is owed was granted", 3, 30, 0 },
	{ "the due time has come", 3, 50, 7 },
	{ "the due time has come, and something is owed", 0, 50, 7 },
	{ "all was granted", 7, 60, 0 },
};

static void test_covered(void)
{
	static const struct record record = {
		.kind = RECORD_TIMED, .seq = 7, .due = 50, .past = 20, .through = 3,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(covered); i++)
		is_number(timed_covered(&record, covered[i].granted, covered[i].now),
			  covered[i].wanted, covered[i].what);
}

/* Q12 Q18 */
static void test_merged_work(void)
{
	static const struct record old = {
		.seq = 7,
		.work = {
			.value = { "old", 3 }, .group = { "g", 1 },
			.note = { "why", 3 }, .has_value = true, .has_group = true,
			.priority = 5,
		},
	};
	struct record new = {
		.work = { .value = { "new", 3 }, .has_value = true, .priority = -5 },
	};
	struct record keeps = new;
	struct record without = { .work = { .priority = 9 } };
	struct record noted = { .work = { .note = { "now", 3 } } };

	merge_work(&new, &old, VALUE_REPLACE);
	ok(!memcmp(new.work.value.at, "new", 3) && !new.valued, "a later value wins");
	ok(new.work.priority == 5 && new.work.has_group,
	   "the higher priority wins, and the group stays");
	merge_work(&keeps, &old, VALUE_KEEP);
	ok(!memcmp(keeps.work.value.at, "old", 3) && keeps.valued == 7,
	   "on request the first value stays, with its version");
	merge_work(&without, &old, VALUE_REPLACE);
	ok(without.work.has_value && without.valued == 7 && without.work.priority == 9,
	   "an add without a value leaves it");
	ok(without.work.note.len == 3 && !memcmp(without.work.note.at, "why", 3) &&
	   without.noted == 7,
	   "and the note, with its version");
	merge_work(&noted, &old, VALUE_REPLACE);
	ok(!memcmp(noted.work.note.at, "now", 3) && !noted.noted, "a later note wins");
}

/* The clock of a machine that is an hour ahead of the servers, or behind. */
static void test_clocks(void)
{
	const int64_t hour = 3600 * (int64_t)SECOND;
	const struct local_event add = { .due = 2 * hour, .is_waiting = true };
	const struct local_event early = { .due = 1, .is_waiting = true };
	const struct local_event last = { .due = UINT64_MAX, .is_waiting = true };
	const struct local_event retry = { .outcome = OUTCOME_RETRY, .due = 2 * hour };
	const struct local_event end = { .outcome = OUTCOME_DONE };

	is_number(convert_add(&add, true, -hour).due, hour, "N11: an add of a clock ahead");
	is_number(convert_add(&add, true, hour).due, 3 * hour, "of one behind");
	is_number(convert_add(&early, true, -hour).due, 1, "no time is before 1970");
	is_number(convert_add(&last, true, hour).due, UINT64_MAX, "or after the last one");
	is_number(convert_end(&retry, -hour).due, hour, "a retry of a clock ahead");
	is_number(convert_end(&end, hour).due, 0, "an end without a time");
}

int main(int argc, char **argv)
{
	if (trace_seed(argc, argv))
		return done_testing();
	test_orders();
	test_group_limit();
	test_times();
	test_merges();
	test_covered();
	test_merged_work();
	test_clocks();
	run_seeds(argc, argv, SEEDS);
	return done_testing();
}
