// SPDX-License-Identifier: GPL-2.0-only
/* The board of a queue (Q2): which keys are there after every operation, and its slots. */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/kwq.h>
#include <linux/prandom.h>
#include <linux/string.h>
#include "keyed/board_key.h"
#include "keyed/hold.h"
#include "keyed_ops.h"
#include "tests/core/core_check.h"

#define LEASE	1000

static const struct kwq_limits leased = {
	.max_items = 1 << 20,
	.max_bytes = 1 << 30,
	.lease = LEASE,
};

struct board_test {
	struct kwq_keyed *keyed;
	struct kwq_handle *x;
	struct kwq_got got[4];
	u8 keys[4 * 64];
};

static int board_test_init(struct kunit *test)
{
	struct board_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	test->priv = t;
	t->keyed = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &leased);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->keyed);
	t->x = kwq_handle_open(t->keyed, KWQ_RIGHT_READ);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->x);
	KUNIT_ASSERT_EQ(test, kwq_keyed_provide_board(t->keyed), 0);
	/* The same slots in each run. */
	t->keyed->board->map->seed = 1;
	return 0;
}

static bool is_clear(const struct kwq_board_slot *slot)
{
	return !slot->len && !slot->result && !memchr_inv(slot->key, 0, sizeof(slot->key));
}

static void pack(struct kwq_board_key *key, const char *bytes)
{
	kwq_board_pack(key, bytes, strlen(bytes));
}

static u32 slot_nr(struct board_test *t, const char *bytes, bool second)
{
	const struct kwq_keyed_board *board = t->keyed->board;
	struct kwq_board_key key;

	pack(&key, bytes);
	return kwq_board_slot_nr(kwq_board_hash(board->map->seed, &key), board->nr_slots, second);
}

static int look(struct board_test *t, const char *bytes)
{
	struct kwq_board_key key;

	pack(&key, bytes);
	return kwq_board_look(t->keyed->board->map, &key);
}

/* The result of an add of this item, by its state. */
static int result_of(const struct kwq_keyed_item *ki)
{
	if (!(ki->item.state & KWQ_ITEM_DIRTY))
		return 0;
	return ki->item.state & KWQ_ITEM_PROCESSING ? KWQ_DIRTY : KWQ_COALESCED;
}

/* The slot of a dirty item has its key and its result; every other slot is clear. */
static const char *wrong_slot(const struct kwq_keyed_board *board, u32 nr)
{
	const struct kwq_board_slot *slot = kwq_board_slot_of(board->map, nr);
	const struct kwq_keyed_item *ki = board->items[nr];
	struct kwq_board_key key;
	u64 hash;

	if (!ki)
		return is_clear(slot) ? NULL : "a slot without an item is not clear";
	if (!ki->is_posted)
		return "an item does not know of its slot";
	if (!result_of(ki) || slot->result != result_of(ki))
		return "a slot has the wrong result";
	kwq_board_pack(&key, ki->key, ki->key_len);
	hash = kwq_board_hash(board->map->seed, &key);
	if (kwq_board_slot_nr(hash, board->nr_slots, false) != nr &&
	    kwq_board_slot_nr(hash, board->nr_slots, true) != nr)
		return "an item is in another slot";
	if (slot->seq & 1 || slot->len != ki->key_len || memcmp(slot->key, ki->key, ki->key_len) ||
	    memchr_inv((u8 *)slot->key + slot->len, 0, sizeof(slot->key) - slot->len))
		return "a slot has another key";
	return NULL;
}

static const char *wrong_board(const struct kwq_keyed_board *board)
{
	const char *wrong = NULL;
	u32 nr;

	for (nr = 0; nr < board->nr_slots && !wrong; nr++)
		wrong = wrong_slot(board, nr);
	return wrong;
}

static void expect_sound(struct kunit *test)
{
	struct board_test *t = test->priv;
	const char *wrong;
	unsigned long flags;

	spin_lock_irqsave(&t->keyed->queue.lock, flags);
	wrong = wrong_board(t->keyed->board);
	spin_unlock_irqrestore(&t->keyed->queue.lock, flags);
	KUNIT_EXPECT_STREQ(test, "", wrong ?: "");
}

static void board_test_exit(struct kunit *test)
{
	struct board_test *t = test->priv;

	if (!t || IS_ERR_OR_NULL(t->keyed))
		return;
	if (!IS_ERR_OR_NULL(t->x)) {
		expect_sound(test);
		kwq_handle_close(t->x);
	}
	kwq_keyed_put(t->keyed);
}

static int add_with(struct board_test *t, const char *key, u32 flags, int priority, u64 time)
{
	return kwq_keyed_add(t->keyed, &(struct kwq_key){ (const u8 *)key, strlen(key) },
			     &(struct kwq_add_options){
		.flags = flags,
		.priority = priority,
		.time = time,
	});
}

static int add(struct board_test *t, const char *key)
{
	return add_with(t, key, 0, 0, 0);
}

static int remove(struct board_test *t, const char *key)
{
	return kwq_keyed_remove(t->keyed, &(struct kwq_key){ (const u8 *)key, strlen(key) }, 0);
}

/* Gets up to @nr items. Returns how many. */
static int get(struct board_test *t, u32 nr)
{
	struct kwq_got_buffer buffer = {
		.got = t->got,
		.keys = t->keys,
		.max_items = nr,
		.max_key_bytes = sizeof(t->keys),
	};

	return kwq_handle_get(t->x, &buffer, &at_once);
}

/* ---- Slots ---- */

static void slot_is_written_and_cleared(struct kunit *test)
{
	struct {
		struct kwq_board board;
		struct kwq_board_slot slot;
	} *one = kunit_kzalloc(test, sizeof(*one), GFP_KERNEL);
	static const char bytes[KWQ_BOARD_KEY_MAX + 1] = "0123456789abcdefghijklmnopqrstuvwxyz";
	struct kwq_board_key key, other;
	u32 len, seq;

	KUNIT_ASSERT_NOT_NULL(test, one);
	one->board.nr_slots = 1;
	for (len = KWQ_BOARD_KEY_MAX; len; len--) {
		kwq_board_pack(&key, bytes, len);
		KUNIT_EXPECT_EQ(test, kwq_board_look(&one->board, &key), 0);
		kwq_board_write(&one->slot, &key, KWQ_DIRTY);
		seq = one->slot.seq;
		KUNIT_EXPECT_EQ(test, kwq_board_look(&one->board, &key), KWQ_DIRTY);
		KUNIT_EXPECT_EQ(test, one->slot.len, len);
		KUNIT_EXPECT_EQ(test, memcmp(one->slot.key, bytes, len), 0);
		KUNIT_EXPECT_NULL(test, memchr_inv((u8 *)one->slot.key + len, 0,
						   KWQ_BOARD_KEY_MAX - len));
		if (len > 1) {
			kwq_board_pack(&other, bytes, len - 1);
			KUNIT_EXPECT_EQ(test, kwq_board_look(&one->board, &other), 0);
			kwq_board_pack(&other, bytes + 1, len);
			KUNIT_EXPECT_EQ(test, kwq_board_look(&one->board, &other), 0);
		}
		/* Each write has another number, even one of the same key. */
		kwq_board_write(&one->slot, &key, KWQ_COALESCED);
		KUNIT_EXPECT_NE(test, one->slot.seq, seq);
		KUNIT_EXPECT_EQ(test, kwq_board_look(&one->board, &key), KWQ_COALESCED);
		one->board.closed = 1;
		KUNIT_EXPECT_EQ(test, kwq_board_look(&one->board, &key), 0);
		one->board.closed = 0;
		seq = one->slot.seq;
		if (len % 2)
			continue;
		kwq_board_clear(&one->slot);
		KUNIT_EXPECT_NE(test, one->slot.seq, seq);
		KUNIT_EXPECT_TRUE(test, is_clear(&one->slot));
		KUNIT_EXPECT_EQ(test, kwq_board_look(&one->board, &key), 0);
	}
}

static void slot_in_the_middle_of_a_write(struct kunit *test)
{
	struct {
		struct kwq_board board;
		struct kwq_board_slot slot;
	} *one = kunit_kzalloc(test, sizeof(*one), GFP_KERNEL);
	struct kwq_board_key key;

	KUNIT_ASSERT_NOT_NULL(test, one);
	one->board.nr_slots = 1;
	pack(&key, "key");
	kwq_board_write(&one->slot, &key, KWQ_COALESCED);
	one->slot.seq |= 1;
	KUNIT_EXPECT_EQ(test, kwq_board_look(&one->board, &key), 0);
	/* The number may begin anew. */
	one->slot.seq = U32_MAX;
	kwq_board_write(&one->slot, &key, KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, one->slot.seq, 0);
	KUNIT_EXPECT_EQ(test, kwq_board_look(&one->board, &key), KWQ_COALESCED);
}

static void lengths(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, kwq_board_fits(0));
	KUNIT_EXPECT_TRUE(test, kwq_board_fits(1));
	KUNIT_EXPECT_TRUE(test, kwq_board_fits(KWQ_BOARD_KEY_MAX));
	KUNIT_EXPECT_FALSE(test, kwq_board_fits(KWQ_BOARD_KEY_MAX + 1));
	KUNIT_EXPECT_FALSE(test, kwq_board_fits(SIZE_MAX));
}

/* Similar keys do not meet in few slots, and their two slots differ. */
static void keys_are_scattered(struct kunit *test)
{
	static const char *const forms[] = { "%u", "key%u", "aaaaaaaa%08u", "%08uaaaaaaaaaaaa" };
	u8 *used[2] = { kunit_kzalloc(test, KWQ_BOARD_SLOTS, GFP_KERNEL),
			kunit_kzalloc(test, KWQ_BOARD_SLOTS, GFP_KERNEL) };
	u32 form, i, same, nr[2], slots[2];
	struct board_test *t = test->priv;
	char bytes[32];

	KUNIT_ASSERT_NOT_NULL(test, used[0]);
	KUNIT_ASSERT_NOT_NULL(test, used[1]);
	for (form = 0; form < ARRAY_SIZE(forms); form++) {
		memset(used[0], 0, KWQ_BOARD_SLOTS);
		memset(used[1], 0, KWQ_BOARD_SLOTS);
		for (i = same = nr[0] = nr[1] = 0; i < KWQ_BOARD_SLOTS; i++) {
			snprintf(bytes, sizeof(bytes), forms[form], i);
			slots[0] = slot_nr(t, bytes, false);
			slots[1] = slot_nr(t, bytes, true);
			nr[0] += !used[0][slots[0]]++;
			nr[1] += !used[1][slots[1]]++;
			same += slots[0] == slots[1];
		}
		/* At random, 63 % of the slots would be used. */
		KUNIT_EXPECT_GT(test, nr[0], KWQ_BOARD_SLOTS / 2);
		KUNIT_EXPECT_GT(test, nr[1], KWQ_BOARD_SLOTS / 2);
		KUNIT_EXPECT_LT(test, same, 10);
	}
}

/* ---- Operations ---- */

static void second_add_posts(struct kunit *test)
{
	struct board_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, add(t, "a"), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, look(t, "a"), 0);
	KUNIT_EXPECT_EQ(test, add(t, "a"), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, look(t, "a"), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, get(t, 1), 1);
	KUNIT_EXPECT_EQ(test, look(t, "a"), 0);
	KUNIT_EXPECT_EQ(test, add(t, "a"), KWQ_DIRTIED);
	KUNIT_EXPECT_EQ(test, look(t, "a"), 0);
	KUNIT_EXPECT_EQ(test, add(t, "a"), KWQ_DIRTY);
	KUNIT_EXPECT_EQ(test, look(t, "a"), KWQ_DIRTY);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, t->got[0].ticket, 0), KWQ_REQUEUED);
	KUNIT_EXPECT_EQ(test, look(t, "a"), 0);
}

static void remove_clears(struct kunit *test)
{
	struct board_test *t = test->priv;

	add(t, "a");
	add(t, "a");
	KUNIT_EXPECT_EQ(test, remove(t, "a"), KWQ_WAS_READY);
	KUNIT_EXPECT_EQ(test, look(t, "a"), 0);
	KUNIT_EXPECT_PTR_EQ(test, t->keyed->board->items[slot_nr(t, "a", false)], NULL);
}

static void expired_lease_clears(struct kunit *test)
{
	struct board_test *t = test->priv;

	add(t, "a");
	KUNIT_EXPECT_EQ(test, get(t, 1), 1);
	add(t, "a");
	add(t, "a");
	KUNIT_EXPECT_EQ(test, look(t, "a"), KWQ_DIRTY);
	kwq_queue_advance_by(&t->keyed->queue, LEASE);
	KUNIT_EXPECT_EQ(test, look(t, "a"), 0);
	KUNIT_EXPECT_EQ(test, add(t, "a"), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, look(t, "a"), KWQ_COALESCED);
}

static void undone_hand_out_clears(struct kunit *test)
{
	struct board_test *t = test->priv;

	add(t, "a");
	KUNIT_EXPECT_EQ(test, get(t, 1), 1);
	add(t, "a");
	add(t, "a");
	KUNIT_EXPECT_EQ(test, look(t, "a"), KWQ_DIRTY);
	kwq_handle_unget(t->x, t->got, 1);
	KUNIT_EXPECT_EQ(test, look(t, "a"), 0);
}

/* Finds a key whose first slot is one of those of another key. */
static void find_rival(struct board_test *t, const char *of, bool second, char rival[16])
{
	u32 wanted = slot_nr(t, of, second), i = 0;

	do {
		snprintf(rival, 16, "rival%d.%u", second, i++);
	} while (slot_nr(t, rival, false) != wanted);
}

static const struct kwq_keyed_item *item_of(struct board_test *t, const char *bytes)
{
	struct kwq_key key = { .bytes = (const u8 *)bytes, .len = strlen(bytes) };
	const struct kwq_keyed_item *ki;
	unsigned long flags;

	kwq_key_hash(&key);
	spin_lock_irqsave(&t->keyed->queue.lock, flags);
	ki = kwq_keyed_find(t->keyed, &key);
	spin_unlock_irqrestore(&t->keyed->queue.lock, flags);
	return ki;
}

static void one_key_takes_the_place_of_another(struct kunit *test)
{
	struct board_test *t = test->priv;
	char rivals[2][16];

	find_rival(t, "a", false, rivals[0]);
	find_rival(t, "a", true, rivals[1]);
	add(t, rivals[0]);
	add(t, rivals[0]);
	t->keyed->board->items[slot_nr(t, rivals[0], false)]->is_added = false;
	add(t, "a");
	add(t, "a");
	/* There is a second slot. */
	KUNIT_EXPECT_EQ(test, look(t, rivals[0]), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, look(t, "a"), KWQ_COALESCED);
	expect_sound(test);
	KUNIT_EXPECT_EQ(test, remove(t, "a"), KWQ_WAS_READY);
	add(t, rivals[1]);
	add(t, rivals[1]);
	add(t, "a");
	add(t, "a");
	KUNIT_EXPECT_EQ(test, look(t, rivals[0]), 0);
	/* The board may have answered adds of it until now. */
	KUNIT_EXPECT_TRUE(test, item_of(t, rivals[0])->is_added);
	KUNIT_EXPECT_EQ(test, look(t, rivals[1]), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, look(t, "a"), KWQ_COALESCED);
	expect_sound(test);
	/* The hand-out of the first rival leaves the slot to "a". */
	KUNIT_EXPECT_EQ(test, get(t, 1), 1);
	KUNIT_EXPECT_EQ(test, look(t, "a"), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, get(t, 2), 2);
	KUNIT_EXPECT_EQ(test, look(t, "a"), 0);
}

static void long_keys_are_not_posted(struct kunit *test)
{
	struct board_test *t = test->priv;
	char key[KWQ_BOARD_KEY_MAX + 2] = {};

	memset(key, 'k', KWQ_BOARD_KEY_MAX + 1);
	add(t, key);
	KUNIT_EXPECT_EQ(test, add(t, key), KWQ_COALESCED);
	expect_sound(test);
	key[KWQ_BOARD_KEY_MAX] = 0;
	add(t, key);
	KUNIT_EXPECT_EQ(test, add(t, key), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, look(t, key), KWQ_COALESCED);
}

static void shut_down_closes(struct kunit *test)
{
	struct board_test *t = test->priv;

	add(t, "a");
	add(t, "a");
	kwq_keyed_shut_down(t->keyed);
	KUNIT_EXPECT_EQ(test, look(t, "a"), 0);
	KUNIT_EXPECT_EQ(test, kwq_len(&t->keyed->queue), 1);
	KUNIT_EXPECT_EQ(test, get(t, 1), 1);
}

/* Q9 */
static void drain_closes(struct kunit *test)
{
	struct board_test *t = test->priv;
	u64 shut_downs;

	KUNIT_EXPECT_EQ(test, kwq_keyed_drain(t->keyed, KTIME_MAX, 0, &shut_downs), 0);
	KUNIT_EXPECT_NE(test, t->keyed->board->map->closed, 0);
}

/* A shut down that has only begun, so that the queue still takes adds. */
static void board_is_made_after_the_close(struct kunit *test)
{
	struct kwq_keyed *keyed = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &leased);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, keyed);
	kwq_keyed_close_board(keyed);
	KUNIT_EXPECT_EQ(test, kwq_keyed_provide_board(keyed), 0);
	KUNIT_EXPECT_NE(test, keyed->board->map->closed, 0);
	kwq_keyed_put(keyed);
}

static void board_counts_as_the_queues_own(struct kunit *test)
{
	struct kwq_keyed *keyed = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &leased);
	u64 before, bytes;

	/* O9 */
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, keyed);
	before = keyed->own_bytes;
	KUNIT_EXPECT_EQ(test, kwq_keyed_provide_board(keyed), 0);
	bytes = keyed->own_bytes - before;
	KUNIT_EXPECT_GE(test, bytes, KWQ_BOARD_BYTES + sizeof(struct kwq_keyed_board));
	KUNIT_EXPECT_EQ(test, kwq_keyed_provide_board(keyed), 0);
	KUNIT_EXPECT_EQ(test, keyed->own_bytes - before, bytes);
	kwq_keyed_put(keyed);
}

static void refused_board_leaves_nothing(struct kunit *test)
{
	struct kwq_keyed *keyed = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &leased);
	unsigned long max_bytes = kwq_max_total_bytes;
	s64 charged;
	u64 own;

	/* O4 */
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, keyed);
	own = keyed->own_bytes;
	charged = atomic64_read(&keyed->quota->bytes);
	kwq_test_count_as(keyed, KWQ_QUOTA_QUEUES);
	WRITE_ONCE(kwq_max_total_bytes, 1);
	KUNIT_EXPECT_EQ(test, kwq_keyed_provide_board(keyed), -EDQUOT);
	WRITE_ONCE(kwq_max_total_bytes, max_bytes);
	kwq_test_count_as(keyed, KWQ_QUOTA_EXEMPT);
	KUNIT_EXPECT_NULL(test, keyed->board);
	KUNIT_EXPECT_EQ(test, keyed->own_bytes, own);
	KUNIT_EXPECT_EQ(test, atomic64_read(&keyed->quota->bytes), charged);
	KUNIT_EXPECT_EQ(test, kwq_keyed_provide_board(keyed), 0);
	kwq_keyed_put(keyed);
}

static void told_adds_are_counted(struct kunit *test)
{
	struct kwq_stat *stat = kunit_kzalloc(test, sizeof(*stat), GFP_KERNEL);
	struct board_test *t = test->priv;

	/* M2 */
	KUNIT_ASSERT_NOT_NULL(test, stat);
	kwq_keyed_tell(t->keyed, 3);
	kwq_keyed_tell(t->keyed, 4);
	kwq_keyed_stat(t->keyed, stat);
	KUNIT_EXPECT_EQ(test, stat->posted, 7);
	KUNIT_EXPECT_EQ(test, stat->coalesced, 0);
	kwq_keyed_tell(t->keyed, U64_MAX - 1);
	kwq_keyed_tell(t->keyed, 1);
	kwq_keyed_stat(t->keyed, stat);
	KUNIT_EXPECT_EQ(test, stat->posted, U64_MAX);
}

#define NR_KEYS		12
#define NR_OPERATIONS	4000

static void finish(struct board_test *t, struct rnd_state *random, u64 ticket)
{
	switch (prandom_u32_state(random) % 5) {
	case 0:
		kwq_handle_done(t->x, ticket, KWQ_DONE_DEAD);
		break;
	case 1:
		kwq_handle_done(t->x, ticket, KWQ_DONE_RETURN);
		break;
	default:
		kwq_handle_done(t->x, ticket, 0);
		break;
	}
}

static void operate(struct kunit *test, struct rnd_state *random, const char *key, u64 *tickets)
{
	struct board_test *t = test->priv;
	u32 r = prandom_u32_state(random);
	int found, i, nr;

	switch (r % 16) {
	case 0:
		remove(t, key);
		break;
	case 1:
		add_with(t, key, KWQ_ADD_PRIORITY, r / 16 % 8, 0);
		break;
	case 2:
		add_with(t, key, KWQ_ADD_AFTER, 0, r / 16 % LEASE);
		break;
	case 3:
		add_with(t, key, KWQ_ADD_RATE_LIMITED, 0, 0);
		break;
	case 4:
		kwq_queue_advance_by(&t->keyed->queue, r / 16 % LEASE);
		break;
	case 5:
	case 6:
		nr = get(t, 1 + r / 16 % 4);
		if (nr > 0 && r / 64 % 8 == 0)
			kwq_handle_unget(t->x, t->got, nr);
		for (i = 0; i < nr; i++)
			tickets[prandom_u32_state(random) % 4] = t->got[i].ticket;
		break;
	case 7:
	case 8:
		finish(t, random, tickets[r / 16 % 4]);
		break;
	default:
		/* The board tells what the add will result in, or nothing. */
		found = look(t, key);
		i = add(t, key);
		if (found)
			KUNIT_EXPECT_EQ(test, i, found);
		break;
	}
}

/* Each item that takes its key for posted has one place. */
static void expect_places(struct kunit *test)
{
	struct board_test *t = test->priv;
	const struct kwq_keyed_item *ki;
	int i, posted = 0, used = 0;
	struct kwq_key key;
	unsigned long flags;
	char name[16];

	spin_lock_irqsave(&t->keyed->queue.lock, flags);
	for (i = 0; i < NR_KEYS; i++) {
		key.len = snprintf(name, sizeof(name), "k%d", i);
		key.bytes = (u8 *)name;
		kwq_key_hash(&key);
		ki = kwq_keyed_find(t->keyed, &key);
		posted += ki && ki->is_posted;
	}
	for (i = 0; i < t->keyed->board->nr_slots; i++)
		used += !!t->keyed->board->items[i];
	spin_unlock_irqrestore(&t->keyed->queue.lock, flags);
	KUNIT_EXPECT_EQ(test, posted, used);
}

static void random_operations(struct kunit *test)
{
	struct board_test *t = test->priv;
	char key[16];
	struct rnd_state random;
	/* No ticket has this number. */
	u64 tickets[4] = { U64_MAX, U64_MAX, U64_MAX, U64_MAX };
	u32 i;

	prandom_seed_state(&random, 1);
	/* So few that keys take each other's places. */
	t->keyed->board->nr_slots = 5;
	t->keyed->board->map->nr_slots = 5;
	for (i = 0; i < NR_OPERATIONS; i++) {
		snprintf(key, sizeof(key), "k%u", prandom_u32_state(&random) % NR_KEYS);
		operate(test, &random, key, tickets);
		if (i % 16 == 0) {
			expect_sound(test);
			expect_places(test);
		}
	}
}

static struct kunit_case board_test_cases[] = {
	KUNIT_CASE(slot_is_written_and_cleared),
	KUNIT_CASE(slot_in_the_middle_of_a_write),
	KUNIT_CASE(lengths),
	KUNIT_CASE(keys_are_scattered),
	KUNIT_CASE(second_add_posts),
	KUNIT_CASE(remove_clears),
	KUNIT_CASE(expired_lease_clears),
	KUNIT_CASE(undone_hand_out_clears),
	KUNIT_CASE(one_key_takes_the_place_of_another),
	KUNIT_CASE(long_keys_are_not_posted),
	KUNIT_CASE(shut_down_closes),
	KUNIT_CASE(drain_closes),
	KUNIT_CASE(board_is_made_after_the_close),
	KUNIT_CASE(board_counts_as_the_queues_own),
	KUNIT_CASE(refused_board_leaves_nothing),
	KUNIT_CASE(told_adds_are_counted),
	KUNIT_CASE(random_operations),
	{}
};

static struct kunit_suite board_test_suite = {
	.name = "kwq-board",
	.init = board_test_init,
	.exit = board_test_exit,
	.test_cases = board_test_cases,
};

kunit_test_suite(board_test_suite);
