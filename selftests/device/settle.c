// SPDX-License-Identifier: GPL-2.0-only
/*
 * L11, U6: a done that buries its item, and one that gives it back. KUnit has what that means.
 */
#include "kwq_test.h"

TWO_HANDLES_FIXTURE(settle, new_queue(self->dev))

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

/* L11, U6: both flags arrive, with a ticket, with a key, and in a batch whose entries differ. */
TEST_F(settle, by_ticket_and_by_key)
{
	struct batch *b = new_batch();
	struct item a, items[3];

	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "c"));
	expect_next(self->q, &a, "a");
	EXPECT_EQ(KWQ_RETURNED, q_done_with(self->q, a.ticket, KWQ_DONE_RETURN));
	expect_next(self->q, &a, "a");
	EXPECT_EQ(KWQ_RETURNED, q_done_key_with(self->q, "a", KWQ_DONE_RETURN));
	expect_next(self->q, &a, "a");
	EXPECT_EQ(KWQ_BURIED, q_done_key_with(self->q, "a", KWQ_DONE_DEAD));
	EXPECT_EQ(KWQ_ADDED, q_kick(self->q, "a"));
	ASSERT_EQ(3, q_get_many(self->q, items, 3, KWQ_GET_NONBLOCK, 0));
	for (int i = 0; i < 3; i++)
		batch_done(b, items[i].ticket);
	b->done[0].flags = KWQ_DONE_RETURN;
	b->done[1].flags = KWQ_DONE_RETURN | KWQ_DONE_FORGET;
	b->done[2].flags = KWQ_DONE_DEAD;
	EXPECT_EQ(3, batch_run(self->q, KWQ_IOC_DONE, b));
	EXPECT_EQ(KWQ_RETURNED, b->results[0]);
	EXPECT_EQ(-EINVAL, b->results[1]);
	EXPECT_EQ(KWQ_BURIED, b->results[2]);
	EXPECT_ENDS(self->q, 2, 3, 2, 1);
	free(b);
}

/* One call gives an item back and gets it again, or buries it and gets the next one. */
TEST_F(settle, in_one_call_with_a_get)
{
	struct kwq_done_entry done = {};
	struct kwq_got got = {};
	__s32 result = 99;
	char key[8];
	struct kwq_get_args get = GET_ARGS(&got, user_ptr(key), sizeof(key), 1,
					   .flags = KWQ_GET_NONBLOCK, GET_DONE(&done, &result));
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

TEST_HARNESS_MAIN
