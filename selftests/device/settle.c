// SPDX-License-Identifier: GPL-2.0-only
/*
 * L11, U6: a done that buries its item, and one that gives it back. All times are those of a manual
 * clock.
 */
#include "kwq_test.h"

TWO_HANDLES_FIXTURE(settle, new_queue_with(self->dev, KWQ_CLOCK_ID_MANUAL, 0, NULL))

static int bury(int q, __u64 ticket)
{
	return q_done_with(q, ticket, KWQ_DONE_DEAD);
}

static int give_back(int q, __u64 ticket)
{
	return q_done_with(q, ticket, KWQ_DONE_RETURN);
}

/* How the hand-outs ended, and what died. */
#define EXPECT_ENDS(q, dones_, returned_, died_, dead_) ({		\
	struct kwq_stat stat_;						\
									\
	EXPECT_EQ(0, q_stat(q, &stat_));				\
	EXPECT_EQ(dones_, stat_.dones);					\
	EXPECT_EQ(returned_, stat_.returned);				\
	EXPECT_EQ(died_, stat_.died);					\
	EXPECT_EQ(dead_, stat_.dead);					\
	EXPECT_EQ(0, stat_.abandoned);					\
})

/* ---- KWQ_DONE_DEAD ---- */

/* L11: in a queue without a bound, at once, by ticket and by key. */
TEST_F(settle, bury)
{
	struct listed_item dead[3];
	struct item item;

	EXPECT_EQ(KWQ_ADDED, q_add_priority(self->q, "a", 5));
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(KWQ_BURIED, bury(self->q, item.ticket));
	EXPECT_EQ(0, q_advance(self->q, 7));
	expect_next(self->q, &item, "b");
	EXPECT_EQ(KWQ_BURIED, q_done_key_with(self->q, "b", KWQ_DONE_DEAD));
	check_stat(self->q, .items = 2);
	EXPECT_ENDS(self->q, 2, 0, 2, 2);
	ASSERT_EQ(2, q_dead(self->q, dead, 3));
	EXPECT_STREQ("a", dead[0].key);
	EXPECT_EQ(7, dead[0].item.dead_for);
	EXPECT_EQ(5, dead[0].item.priority);
	EXPECT_STREQ("b", dead[1].key);
	EXPECT_EQ(0, dead[1].item.dead_for);

	/* The hand-out is over. */
	EXPECT_EQ(-ESTALE, q_done(self->q, item.ticket));
	EXPECT_EQ(-ENOENT, q_done_key(self->q, "b"));
	EXPECT_EQ(KWQ_ADDED, q_kick(self->q, "a"));
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	expect_take(self->q, "a");
	expect_take(self->q, "b");
	check_stat(self->q, .items = 0);
}

/* ---- KWQ_DONE_RETURN ---- */

/* U6: it is the next one again, and nothing tells that it was handed out, but its ticket. */
TEST_F(settle, give_back)
{
	struct kwq_stat stat;
	struct item first, again;

	EXPECT_EQ(KWQ_WAITING, q_add_rate_limited(self->q, "a"));
	EXPECT_EQ(0, q_advance(self->q, 1000000000));
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	expect_next(self->q, &first, "a");
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "c"));
	EXPECT_EQ(KWQ_RETURNED, give_back(self->q, first.ticket));
	check_stat(self->q, .ready = 3, .items = 3);
	EXPECT_ENDS(self->q, 0, 1, 0, 0);
	EXPECT_EQ(-ESTALE, q_done(self->q, first.ticket));
	EXPECT_EQ(-ESTALE, give_back(self->q, first.ticket));
	expect_next(self->other, &again, "a");
	EXPECT_EQ(1, again.requeues);
	EXPECT_EQ(0, again.abandoned);
	EXPECT_LT(first.ticket, again.ticket);
	EXPECT_EQ(-EPERM, q_done_key_with(self->q, "a", KWQ_DONE_RETURN));
	EXPECT_EQ(KWQ_RETURNED, q_done_key_with(self->other, "a", KWQ_DONE_RETURN));
	EXPECT_ENDS(self->q, 0, 2, 0, 0);
	expect_take(self->q, "a");
	expect_take(self->q, "b");
	expect_take(self->q, "c");

	/* M1: a was handed out three times, and done once. */
	EXPECT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(5, number_in(&stat.queue_duration));
	EXPECT_EQ(3, number_in(&stat.work_duration));
}

/* Q13: of several, the last one comes first. So the reverse order restores them all. */
TEST_F(settle, give_back_many)
{
	struct batch *b = new_batch();
	struct item items[4];
	int i;

	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "c"));
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "d"));
	ASSERT_EQ(4, q_get_many(self->q, items, 4, KWQ_GET_NONBLOCK, 0));
	batch_begin(b);
	for (i = 3; i >= 0; i--) {
		batch_done(b, items[i].ticket);
		b->done[b->nr - 1].flags = i == 2 ? KWQ_DONE_DEAD : KWQ_DONE_RETURN;
	}
	/* An entry with an error leaves the others alone. */
	batch_done(b, items[0].ticket);
	b->done[b->nr - 1].flags = KWQ_DONE_RETURN | KWQ_DONE_FORGET;
	EXPECT_EQ(5, batch_run(self->q, KWQ_IOC_DONE, b));
	EXPECT_EQ(KWQ_RETURNED, b->results[0]);
	EXPECT_EQ(KWQ_BURIED, b->results[1]);
	EXPECT_EQ(KWQ_RETURNED, b->results[2]);
	EXPECT_EQ(KWQ_RETURNED, b->results[3]);
	EXPECT_EQ(-EINVAL, b->results[4]);
	expect_take(self->q, "a");
	expect_take(self->q, "b");
	expect_take(self->q, "d");
	EXPECT_ENDS(self->q, 4, 3, 1, 1);
	free(b);
}

/* One call gives an item back and gets it again, or buries it and gets the next one. */
TEST_F(settle, in_one_call_with_a_get)
{
	struct kwq_done_entry done = {};
	struct kwq_got got = {};
	__s32 result = 99;
	char key[8];
	struct kwq_get_args get = {
		.size = sizeof(get),
		.flags = KWQ_GET_NONBLOCK,
		.done = {
			.entries = user_ptr(&done), .results = user_ptr(&result), .nr = 1,
			.entry_size = sizeof(done),
		},
		.get = {
			.entries = user_ptr(&got), .nr = 1, .entry_size = sizeof(got),
			.keys = user_ptr(key), .keys_len = sizeof(key),
		},
	};
	struct item item;

	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	expect_next(self->q, &item, "a");
	done.ticket = item.ticket;
	done.flags = KWQ_DONE_RETURN;
	EXPECT_EQ(1, request(self->q, KWQ_IOC_GET, &get));
	EXPECT_EQ(KWQ_RETURNED, result);
	EXPECT_EQ('a', key[0]);
	EXPECT_EQ(1, get.nr_done);
	done.ticket = got.ticket;
	done.flags = KWQ_DONE_DEAD;
	get.nr_done = 0;
	EXPECT_EQ(1, request(self->q, KWQ_IOC_GET, &get));
	EXPECT_EQ(KWQ_BURIED, result);
	EXPECT_EQ('b', key[0]);
	/* A flag that is wrong is the result of its entry; the get goes on. */
	done.ticket = got.ticket;
	done.flags = KWQ_DONE_DEAD | KWQ_DONE_RETURN;
	get.nr_done = 0;
	EXPECT_EQ(-EAGAIN, request(self->q, KWQ_IOC_GET, &get));
	EXPECT_EQ(-EINVAL, result);
	EXPECT_ENDS(self->q, 1, 1, 1, 1);
}

/* O3: a lost item cannot be given back, and the next hand-out has a lease of its own. */
TEST_F(settle, leases)
{
	int q = new_lease_queue(self->dev, KWQ_CLOCK_ID_MANUAL, 10);
	struct kwq_stat before, after;
	struct item lost, item;
	__u64 ticket;

	ASSERT_LE(0, q);
	EXPECT_EQ(KWQ_ADDED, q_add(q, "a"));
	expect_next(q, &lost, "a");
	EXPECT_EQ(0, q_advance(q, 10));
	EXPECT_EQ(0, q_stat(q, &before));
	EXPECT_EQ(1, before.expired);
	EXPECT_EQ(-ESTALE, give_back(q, lost.ticket));
	EXPECT_EQ(-ESTALE, bury(q, lost.ticket));
	EXPECT_EQ(0, q_stat(q, &after));
	EXPECT_TRUE(same_stat(&before, &after));

	expect_next(q, &item, "a");
	ticket = item.ticket;
	EXPECT_EQ(0, q_advance(q, 9));
	EXPECT_EQ(KWQ_RETURNED, give_back(q, ticket));
	EXPECT_EQ(0, q_advance(q, 5));
	expect_next(q, &item, "a");
	EXPECT_EQ(0, q_advance(q, 9));
	EXPECT_EQ(-ESTALE, q_extend(q, ticket));
	EXPECT_EQ(0, q_extend(q, item.ticket));
	EXPECT_EQ(0, q_advance(q, 9));
	EXPECT_EQ(KWQ_BURIED, bury(q, item.ticket));
	EXPECT_EQ(0, q_advance(q, 100));
	EXPECT_EQ(0, q_stat(q, &after));
	EXPECT_EQ(1, after.expired);
	EXPECT_EQ(1, after.dead);
	close(q);
}

/* Q6: errors change nothing. */
TEST_F(settle, refused)
{
	static const __u32 wrong[] = {
		KWQ_DONE_DEAD | KWQ_DONE_RETURN,
		KWQ_DONE_FORGET | KWQ_DONE_RETURN,
		KWQ_DONE_FORGET | KWQ_DONE_DEAD | KWQ_DONE_RETURN,
		1U << 3,
		KWQ_DONE_DEAD | 1U << 31,
	};
	static const __u32 flags[] = { KWQ_DONE_DEAD, KWQ_DONE_RETURN };
	struct kwq_done_entry both = { .key_len = 1 };
	struct kwq_stat before, after;
	struct item item;
	unsigned int i;

	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(0, q_stat(self->q, &before));
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		EXPECT_EQ(-EINVAL, q_done_with(self->q, item.ticket, wrong[i]));
		EXPECT_EQ(-EINVAL, q_done_key_with(self->q, "a", wrong[i]));
	}
	both.ticket = item.ticket;
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		EXPECT_EQ(-ESTALE, q_done_with(self->q, item.ticket + 1, flags[i]));
		EXPECT_EQ(-ESTALE, q_done_with(self->other, item.ticket, flags[i]));
		EXPECT_EQ(-EPERM, q_done_key_with(self->other, "a", flags[i]));
		EXPECT_EQ(-ENOENT, q_done_key_with(self->q, "b", flags[i]));
		EXPECT_EQ(-ENOENT, q_done_key_with(self->q, "nobody", flags[i]));
		/* Neither both nor none of a ticket and a key. */
		both.flags = flags[i];
		EXPECT_EQ(-EINVAL, q_op_one(self->q, KWQ_IOC_DONE, &both, sizeof(both), "a", 1));
		EXPECT_EQ(-EINVAL, q_done_with(self->q, 0, flags[i]));
	}
	EXPECT_EQ(0, q_stat(self->q, &after));
	EXPECT_TRUE(same_stat(&before, &after));
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
}

/* Q16: the group of a returned item has its turn again, and wakes one waiter. */
TEST_F(settle, groups)
{
	const struct kwq_create_args create = {
		.size = sizeof(create), .flags = KWQ_CREATE_GROUPS, .open_flags = O_CLOEXEC,
		.clockid = KWQ_CLOCK_ID_MANUAL, .rights = ALL_RIGHTS, .group_limit = 1,
	};
	int q = request(self->dev, KWQ_IOC_CREATE, &create), other, i;
	static const char *const keys[] = { "a1", "a2", "b1" };
	struct sleeper getter;
	struct item item, next;

	ASSERT_LE(0, q);
	other = q_reopen(q);
	ASSERT_LE(0, other);
	for (i = 0; i < 3; i++) {
		const struct kwq_add_extra extra = { .group = user_ptr(keys[i]), .group_len = 1 };
		const struct kwq_add_entry entry = { .key_len = 2, .flags = KWQ_ADD_GROUP };
		__s32 result = -EIO;
		const struct kwq_batch_args args = {
			.size = sizeof(args),
			.batch = {
				.entries = user_ptr(&entry), .keys = user_ptr(keys[i]),
				.results = user_ptr(&result), .extras = user_ptr(&extra),
				.keys_len = 2, .nr = 1, .entry_size = sizeof(entry),
				.extra_size = sizeof(extra),
			},
		};

		EXPECT_EQ(1, request(q, KWQ_IOC_ADD, &args));
		EXPECT_EQ(KWQ_ADDED, result);
	}
	expect_next(q, &item, "a1");
	expect_next(q, &next, "b1");
	/* a2 is blocked by a1, so the getter sleeps. */
	start_get(&getter, other);
	EXPECT_EQ(KWQ_RETURNED, give_back(q, item.ticket));
	EXPECT_EQ(1, sleeper_join(&getter));
	EXPECT_STREQ("a1", getter.item.key);
	EXPECT_EQ(-EAGAIN, q_try_get(q, &item));
	EXPECT_EQ(KWQ_RETURNED, give_back(q, next.ticket));
	expect_next(q, &next, "b1");
	EXPECT_EQ(KWQ_BURIED, bury(other, getter.item.ticket));
	expect_take(q, "a2");
	EXPECT_EQ(KWQ_FINISHED, q_done(q, next.ticket));
	close(other);
	close(q);
}

TEST_HARNESS_MAIN
