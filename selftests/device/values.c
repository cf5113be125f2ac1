// SPDX-License-Identifier: GPL-2.0-only
/*
 * Q18: values and notes of keys, and the extras of batches that carry them.
 */
#include "kwq_test.h"

#define ROOM	(KWQ_KEY_MAX + KWQ_VALUE_MAX)

FIXTURE(values)
{
	int dev;
	int q;
	char *room;	/* ROOM bytes */
	char *big;	/* KWQ_VALUE_MAX bytes */
};

static int create_with(int dev, __u32 flags, __u64 max_bytes, __u64 lease)
{
	return new_queue_as(dev, .flags = flags, .clockid = KWQ_CLOCK_ID_MANUAL,
			    .max_bytes = max_bytes, .lease = lease);
}

FIXTURE_SETUP(values)
{
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->q = create_with(self->dev, KWQ_CREATE_VALUES, 0, 0);
	ASSERT_LE(0, self->q);
	self->room = malloc(ROOM);
	self->big = malloc(KWQ_VALUE_MAX);
	ASSERT_NE(NULL, self->room);
	ASSERT_NE(NULL, self->big);
	for (int i = 0; i < KWQ_VALUE_MAX; i++)
		self->big[i] = i * 7 + i / 256;
}

FIXTURE_TEARDOWN(values)
{
	free(self->room);
	free(self->big);
	close(self->q);
	close(self->dev);
}

static int add_entry(int q, const struct kwq_add_entry *entry, const char *key,
		     const struct kwq_add_extra *extra, size_t extra_size)
{
	__s32 result = -EIO;
	const struct kwq_batch_args args = {
		.size = sizeof(args),
		.batch = {
			.entries = user_ptr(entry),
			.keys = user_ptr(key),
			.results = user_ptr(&result),
			.extras = user_ptr(extra),
			.keys_len = strlen(key),
			.nr = 1,
			.entry_size = sizeof(*entry),
			.extra_size = extra_size,
		},
	};
	int ret = request(q, KWQ_IOC_ADD, (void *)&args);

	return ret == 1 ? result : ret;
}

static int add_value(int q, const char *key, __u32 flags, const void *value, size_t len)
{
	const struct kwq_add_entry entry = {
		.key_len = strlen(key),
		.flags = flags | KWQ_ADD_VALUE,
	};
	const struct kwq_add_extra extra = {
		.value = len ? user_ptr(value) : 0,
		.value_len = len,
	};

	return add_entry(q, &entry, key, &extra, sizeof(extra));
}

static int add_text(int q, const char *key, const char *value)
{
	return add_value(q, key, 0, value, strlen(value));
}

/* Gets one item with its value into @room, whose first bytes are the key. */
static int get_into(int q, struct kwq_got *got, struct kwq_got_extra *extra, void *room,
		    size_t size)
{
	struct kwq_get_args args = GET_ARGS(got, size ? user_ptr(room) : 0, size, 1,
					    .flags = KWQ_GET_NONBLOCK, GET_EXTRAS(extra));

	return request(q, KWQ_IOC_GET, &args);
}

/* Gets an item, and compares its key and value. Returns the ticket. */
#define EXPECT_GOT(q, key, value, len) ({						\
	struct kwq_got_extra extra_ = { .value_len = 77, .group_len = 77 };		\
	const char *key_ = (key), *value_ = (value);					\
	size_t len_ = (len), key_len_ = strlen(key_);					\
	struct kwq_got got_ = {};							\
											\
	EXPECT_EQ(1, get_into(q, &got_, &extra_, self->room, ROOM));			\
	EXPECT_EQ(key_len_, got_.key_len);						\
	EXPECT_EQ(0, memcmp(key_, self->room, key_len_));				\
	EXPECT_EQ(len_, extra_.value_len);						\
	EXPECT_EQ(0, extra_.group_len);							\
	EXPECT_EQ(0, memcmp(value_, self->room + key_len_, len_));			\
	got_.ticket;									\
})

#define EXPECT_GOT_TEXT(q, key, text) ({						\
	const char *text_ = (text);							\
											\
	EXPECT_GOT(q, key, text_, strlen(text_));					\
})

static __u64 nr_values(int q)
{
	struct kwq_stat stat;

	return q_stat(q, &stat) ? 999 : stat.values;
}

static __u64 nr_bytes(int q)
{
	struct kwq_stat stat;

	return q_stat(q, &stat) ? 0 : stat.bytes;
}

TEST_F(values, comes_with_its_key)
{
	EXPECT_EQ(KWQ_ADDED, add_text(self->q, "a", "one"));
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	EXPECT_EQ(KWQ_ADDED, add_value(self->q, "c", 0, self->big, KWQ_VALUE_MAX));
	EXPECT_EQ(2, nr_values(self->q));
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, EXPECT_GOT_TEXT(self->q, "a", "one")));
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, EXPECT_GOT_TEXT(self->q, "b", "")));
	EXPECT_EQ(KWQ_FINISHED,
		  q_done(self->q, EXPECT_GOT(self->q, "c", self->big, KWQ_VALUE_MAX)));
	EXPECT_EQ(0, nr_values(self->q));
	EXPECT_EQ(0, nr_bytes(self->q));
}

TEST_F(values, needs_a_queue_with_values)
{
	int q = create_with(self->dev, 0, 0, 0);

	ASSERT_LE(0, q);
	EXPECT_EQ(-EOPNOTSUPP, add_text(q, "a", "one"));
	EXPECT_EQ(0, nr_bytes(q));
	EXPECT_EQ(KWQ_ADDED, q_add(q, "a"));
	EXPECT_EQ(-EOPNOTSUPP, add_text(q, "a", "one"));
	/* A get that wants values gets none. */
	EXPECT_GOT_TEXT(q, "a", "");
	close(q);
}

TEST_F(values, what_does_not_fit_stays)
{
	struct kwq_got_extra extra;
	struct kwq_got got;

	EXPECT_EQ(KWQ_ADDED, add_text(self->q, "a", "12345678"));
	EXPECT_EQ(-EMSGSIZE, get_into(self->q, &got, &extra, self->room, 8));
	EXPECT_EQ(-EMSGSIZE, get_into(self->q, &got, &extra, self->room, 0));
	EXPECT_EQ(1, q_len(self->q));
	EXPECT_EQ(1, get_into(self->q, &got, &extra, self->room, 9));
	EXPECT_EQ(8, extra.value_len);
}

/* U3: a program that knows of later members gets zeros for them. */
TEST_F(values, larger_entries_of_a_get)
{
	struct {
		struct kwq_got_extra extra;
		__u64 more;
	} extra = { .more = 1 };
	struct {
		struct kwq_got got;
		__u64 more;
	} got = { .more = 1 };
	struct kwq_get_args args = GET_ARGS(&got, user_ptr(self->room), ROOM, 1,
					    .flags = KWQ_GET_NONBLOCK, GET_EXTRAS(&extra));

	EXPECT_EQ(KWQ_ADDED, add_text(self->q, "a", "value"));
	EXPECT_EQ(1, request(self->q, KWQ_IOC_GET, &args));
	EXPECT_EQ(1, got.got.key_len);
	EXPECT_EQ(0, got.more);
	EXPECT_EQ(5, extra.extra.value_len);
	EXPECT_EQ(0, extra.more);
	EXPECT_EQ(0, memcmp(self->room, "avalue", 6));
}

/* U3: an extra and its flags have to fit. */
TEST_F(values, form_of_an_extra)
{
	const struct kwq_add_entry plain = { .key_len = 1 };
	const struct kwq_add_entry with = { .key_len = 1, .flags = KWQ_ADD_VALUE };
	const struct kwq_add_entry keep = { .key_len = 1, .flags = KWQ_ADD_KEEP_VALUE };
	struct kwq_add_extra extra = { .value = user_ptr("v"), .value_len = 1 };
	struct {
		struct kwq_add_extra extra;
		__u64 beyond;
	} large = {};

	/* A flag without an extra, and an extra without its flag. */
	EXPECT_EQ(-EINVAL, q_op_one(self->q, KWQ_IOC_ADD, &with, sizeof(with), "a", 1));
	EXPECT_EQ(-EINVAL, q_op_one(self->q, KWQ_IOC_ADD, &keep, sizeof(keep), "a", 1));
	EXPECT_EQ(-EINVAL, add_entry(self->q, &plain, "a", &extra, sizeof(extra)));
	EXPECT_EQ(-EINVAL, add_entry(self->q, &keep, "a", &large.extra, sizeof(extra)));
	/* Sizes and addresses. */
	EXPECT_EQ(-EINVAL, add_entry(self->q, &with, "a", &extra, 0));
	EXPECT_EQ(-EINVAL, add_entry(self->q, &with, "a", &extra, sizeof(extra) - 1));
	EXPECT_EQ(-EINVAL, add_entry(self->q, &with, "a", &extra, 1 << 20));
	EXPECT_EQ(-EINVAL, add_entry(self->q, &with, "a", NULL, sizeof(extra)));
	extra.value_len = 0;
	EXPECT_EQ(-EINVAL, add_entry(self->q, &with, "a", &extra, sizeof(extra)));
	extra.value_len = KWQ_VALUE_MAX + 1;
	EXPECT_EQ(-EMSGSIZE, add_entry(self->q, &with, "a", &extra, sizeof(extra)));
	extra.value_len = ~0U;
	EXPECT_EQ(-EMSGSIZE, add_entry(self->q, &with, "a", &extra, sizeof(extra)));
	/* A value, an extra and bytes beyond it that cannot be read. */
	extra.value_len = 1;
	extra.value = 1;
	EXPECT_EQ(-EFAULT, add_entry(self->q, &with, "a", &extra, sizeof(extra)));
	EXPECT_EQ(-EFAULT, add_entry(self->q, &with, "a", (void *)1, sizeof(extra)));
	large.beyond = 1;
	EXPECT_EQ(-E2BIG, add_entry(self->q, &plain, "a", &large.extra, sizeof(large)));
	EXPECT_EQ(0, q_len(self->q));
	EXPECT_EQ(0, nr_bytes(self->q));
	/* An extra that brings nothing is a plain add. */
	large.beyond = 0;
	EXPECT_EQ(KWQ_ADDED, add_entry(self->q, &plain, "a", &large.extra, sizeof(large)));
}

/* Q13: each entry has its own result, and those before a fault take effect. */
TEST_F(values, batch)
{
	const struct kwq_add_entry entries[] = {
		{ .key_len = 1, .flags = KWQ_ADD_VALUE },
		{ .key_len = 1, .priority = 5 },
		{ .key_len = 1, .flags = KWQ_ADD_VALUE },
		{ .key_len = 1, .flags = KWQ_ADD_VALUE },
		{ .key_len = 1 },
	};
	const struct kwq_add_extra extras[] = {
		{ .value = user_ptr("one"), .value_len = 3 },
		{},
		{ .value = user_ptr("three"), .value_len = 5 },
		{ .value = 1, .value_len = 1 },
		{},
	};
	__s32 results[5] = { 99, 99, 99, 99, 99 };
	struct kwq_got_extra got_extras[4];
	struct kwq_got got[4];
	const struct kwq_batch_args args = {
		.size = sizeof(args),
		.batch = {
			.entries = user_ptr(entries),
			.extras = user_ptr(extras),
			.keys = user_ptr("abcde"),
			.results = user_ptr(results),
			.keys_len = 5,
			.nr = 5,
			.entry_size = sizeof(entries[0]),
			.extra_size = sizeof(extras[0]),
		},
	};
	struct kwq_get_args get = GET_ARGS(got, user_ptr(self->room), ROOM, 4,
					   .flags = KWQ_GET_NONBLOCK, GET_EXTRAS(got_extras));

	EXPECT_EQ(3, request(self->q, KWQ_IOC_ADD, (void *)&args));
	EXPECT_EQ(KWQ_ADDED, results[0]);
	EXPECT_EQ(-EINVAL, results[1]);
	EXPECT_EQ(KWQ_ADDED, results[2]);
	EXPECT_EQ(99, results[3]);
	EXPECT_EQ(99, results[4]);
	EXPECT_EQ(2, request(self->q, KWQ_IOC_GET, &get));
	EXPECT_EQ(0, memcmp(self->room, "aonecthree", 10));
	EXPECT_EQ(3, got_extras[0].value_len);
	EXPECT_EQ(5, got_extras[1].value_len);
	EXPECT_EQ(-EAGAIN, request(self->q, KWQ_IOC_GET, &get));
}

/* Only adds and gets have extras. */
TEST_F(values, other_requests_have_no_extras)
{
	const struct kwq_done_entry done = { .key_len = 1 };
	struct kwq_add_extra extra = {};
	__s32 result;
	const struct kwq_batch_args args = BATCH_ARGS(&done, "a", 1, &result, &extra);

	EXPECT_EQ(-EINVAL, request(self->q, KWQ_IOC_DONE, (void *)&args));
}

/* O6: a value is freed by the last of those who use it. */
static void *replace_and_remove(void *arg)
{
	int q = *(int *)arg;
	char value[32];

	for (int i = 0; i < 2000; i++) {
		memset(value, 'a' + i % 26, sizeof(value));
		add_value(q, "x", 0, value, sizeof(value) - i % 3);
		if (i % 7 == 0)
			q_remove(q, "x");
	}
	return NULL;
}

TEST_F(values, is_never_torn)
{
	struct kwq_got_extra extra;
	struct kwq_got got;
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, replace_and_remove, &self->q));
	for (int i = 0; i < 2000; i++) {
		if (get_into(self->q, &got, &extra, self->room, ROOM) != 1)
			continue;
		for (unsigned int n = 1; n < extra.value_len; n++)
			ASSERT_EQ(self->room[1], self->room[1 + n]);
		q_done(self->q, got.ticket);
	}
	ASSERT_EQ(0, pthread_join(thread, NULL));
}

/* Lists a page into @room. Returns the number of entries. */
static int list_values(int q, struct kwq_list_items_args *args, struct kwq_listed *entries,
		       unsigned int nr, void *room, size_t size)
{
	args->size = sizeof(*args);
	args->states = MAIN_STATES;
	args->batch = (struct kwq_batch){
		.entries = user_ptr(entries),
		.keys = user_ptr(room),
		.keys_len = size,
		.nr = nr,
		.entry_size = sizeof(*entries),
	};
	return request(q, KWQ_IOC_LIST_ITEMS, args);
}

/* Q15, Q18: a list has the length of each value, and on request the values. */
TEST_F(values, listed)
{
	enum { KEYS = 50 };
	struct kwq_list_items_args args = { .flags = KWQ_LIST_VALUES };
	struct kwq_listed entries[KEYS];
	char *at, key[8];
	int nr, seen = 0;
	size_t len;

	for (int i = 0; i < KEYS; i++) {
		snprintf(key, sizeof(key), "%d", i);
		len = i == 1 ? KWQ_VALUE_MAX : i % 3 * 1000;
		ASSERT_EQ(KWQ_ADDED, add_value(self->q, key, 0, self->big + i, len ? len - i : 0));
	}
	do {
		nr = list_values(self->q, &args, entries, KEYS, self->room, ROOM);
		ASSERT_LE(0, nr);
		at = self->room;
		for (int n = 0; n < nr; n++, seen++) {
			int i;

			memcpy(key, at, entries[n].key_len);
			key[entries[n].key_len] = '\0';
			i = atoi(key);
			len = i == 1 ? KWQ_VALUE_MAX - i : i % 3 ? i % 3 * 1000 - i : 0;
			EXPECT_EQ(len, entries[n].value_len);
			EXPECT_EQ(0, memcmp(at + entries[n].key_len, self->big + i, len));
			at += entries[n].key_len + len;
			memset(key, 0, sizeof(key));
		}
	} while (args.after);
	EXPECT_EQ(KEYS, seen);

	/* Only the lengths, and the keys are packed without values. */
	args.flags = 0;
	EXPECT_EQ(KEYS, list_values(self->q, &args, entries, KEYS, self->room, 2 * KEYS - 10));
	for (int n = 0; n < KEYS; n++)
		EXPECT_EQ(0, entries[n].value_len > KWQ_VALUE_MAX);
}

/* Q15, Q18: a value that does not fit, and one that belongs to the next run. */
TEST_F(values, listed_one)
{
	struct kwq_list_items_args args = {
		.flags = KWQ_LIST_VALUES | KWQ_LIST_KEY,
		.key = user_ptr("key"),
		.key_len = 3,
	};
	struct kwq_listed entry;

	ASSERT_EQ(KWQ_ADDED, add_text(self->q, "key", "value"));
	EXPECT_EQ(-EMSGSIZE, list_values(self->q, &args, &entry, 1, self->room, 7));
	EXPECT_EQ(1, list_values(self->q, &args, &entry, 1, self->room, 8));
	EXPECT_EQ(0, memcmp(self->room, "keyvalue", 8));
	EXPECT_EQ(5, entry.value_len);
	EXPECT_GOT_TEXT(self->q, "key", "value");
	ASSERT_EQ(KWQ_DIRTIED, add_text(self->q, "key", "newer one"));
	EXPECT_EQ(1, list_values(self->q, &args, &entry, 1, self->room, ROOM));
	EXPECT_EQ(0, memcmp(self->room, "keynewer one", 12));
	EXPECT_EQ(-EFAULT, list_values(self->q, &args, &entry, 1, (void *)8, ROOM));
	EXPECT_EQ(1, nr_values(self->q));
}

static int note_entry(int q, const struct kwq_extend_entry *entry,
		      const struct kwq_add_extra *extra, size_t extra_size)
{
	__s32 result = -EIO;
	const struct kwq_batch_args args = {
		.size = sizeof(args),
		.batch = {
			.entries = user_ptr(entry),
			.keys = entry->key_len ? user_ptr("k") : 0,
			.results = user_ptr(&result),
			.extras = user_ptr(extra),
			.keys_len = entry->key_len,
			.nr = 1,
			.entry_size = sizeof(*entry),
			.extra_size = extra_size,
		},
	};
	int ret = request(q, KWQ_IOC_EXTEND, (void *)&args);

	return ret == 1 ? result : ret;
}

static int note(int q, __u64 ticket, const void *text, size_t len)
{
	const struct kwq_extend_entry entry = {
		.ticket = ticket,
		.key_len = ticket ? 0 : 1,
		.flags = KWQ_EXTEND_NOTE,
	};
	const struct kwq_add_extra extra = { .note = user_ptr(text), .note_len = len };

	return note_entry(q, &entry, &extra, sizeof(extra));
}

/* Expects a list of the item "k" to have this value and note, each as far as @flags ask for it. */
#define EXPECT_LISTED(q, flags_, text, value_len_, note_len_) do {			\
	struct kwq_list_items_args args_ = {						\
		.flags = KWQ_LIST_KEY | (flags_),					\
		.key = user_ptr("k"),							\
		.key_len = 1,								\
	};										\
	struct kwq_listed entry_;							\
											\
	memset(self->room, 0, 64);							\
	EXPECT_EQ(1, list_values(q, &args_, &entry_, 1, self->room, ROOM));		\
	EXPECT_EQ(value_len_, entry_.value_len);					\
	EXPECT_EQ(note_len_, entry_.note_len);						\
	EXPECT_STREQ(text, self->room);							\
} while (0)

#define BOTH	(KWQ_LIST_VALUES | KWQ_LIST_NOTES)

/* A worker says why a run has failed, and that stays until a run ends well. */
TEST_F(values, note_of_a_failure)
{
	struct kwq_got got;

	ASSERT_EQ(KWQ_ADDED, add_text(self->q, "k", "v"));
	got.ticket = EXPECT_GOT_TEXT(self->q, "k", "v");
	EXPECT_LISTED(self->q, BOTH, "kv", 1, 0);
	EXPECT_EQ(0, note(self->q, got.ticket, "exit 1", 6));
	EXPECT_LISTED(self->q, BOTH, "kvexit 1", 1, 6);
	EXPECT_LISTED(self->q, KWQ_LIST_NOTES, "kexit 1", 1, 6);
	EXPECT_LISTED(self->q, KWQ_LIST_VALUES, "kv", 1, 6);
	EXPECT_LISTED(self->q, 0, "k", 1, 6);
	EXPECT_EQ(1, nr_values(self->q));
	EXPECT_EQ(KWQ_BURIED, q_done_with(self->q, got.ticket, KWQ_DONE_DEAD));
	EXPECT_LISTED(self->q, BOTH, "kvexit 1", 1, 6);
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "k"));
	got.ticket = EXPECT_GOT_TEXT(self->q, "k", "v");
	EXPECT_EQ(0, note(self->q, 0, "by key", 6));
	EXPECT_LISTED(self->q, BOTH, "kvby key", 1, 6);
	EXPECT_EQ(0, note(self->q, got.ticket, NULL, 0));
	EXPECT_LISTED(self->q, BOTH, "kv", 1, 0);
	EXPECT_EQ(0, note(self->q, got.ticket, self->big, KWQ_NOTE_MAX));
	EXPECT_EQ(KWQ_DIRTIED, q_add(self->q, "k"));
	EXPECT_EQ(KWQ_REQUEUED, q_done_with(self->q, got.ticket, KWQ_DONE_FORGET));
	EXPECT_LISTED(self->q, BOTH, "kv", 1, 0);
	EXPECT_EQ(-ESTALE, note(self->q, got.ticket, "late", 4));
	EXPECT_EQ(-ENOENT, note(self->q, 0, "late", 4));
}

/* The add that tries again may bring it, and one that is restored has it. */
TEST_F(values, note_of_an_add)
{
	const struct kwq_add_entry again = {
		.key_len = 1,
		.flags = KWQ_ADD_AFTER | KWQ_ADD_NOTE,
		.time = 100,
	};
	const struct kwq_restore_entry dead = {
		.key_len = 1,
		.flags = KWQ_ADD_NOTE,
		.state = KWQ_IS_DEAD,
	};
	struct kwq_add_extra extra = { .note = user_ptr("why"), .note_len = 3 };
	__s32 result;
	const struct kwq_batch_args restore = BATCH_ARGS(&dead, "k", 1, &result, &extra);

	ASSERT_EQ(KWQ_ADDED, add_text(self->q, "k", "v"));
	EXPECT_GOT_TEXT(self->q, "k", "v");
	EXPECT_EQ(KWQ_WAITING, add_entry(self->q, &again, "k", &extra, sizeof(extra)));
	EXPECT_EQ(KWQ_STILL_WAITING, q_done_key(self->q, "k"));
	EXPECT_LISTED(self->q, BOTH, "kvwhy", 1, 3);
	EXPECT_EQ(KWQ_WAS_WAITING, q_remove(self->q, "k"));
	EXPECT_EQ(0, nr_bytes(self->q));
	EXPECT_EQ(1, request(self->q, KWQ_IOC_RESTORE, (void *)&restore));
	EXPECT_EQ(KWQ_RESTORED, result);
	EXPECT_LISTED(self->q, BOTH, "kwhy", 0, 3);
}

TEST_F(values, form_of_a_note)
{
	struct kwq_extend_entry entry = { .key_len = 1, .flags = KWQ_EXTEND_NOTE };
	struct kwq_add_extra extra = { .note = user_ptr("n"), .note_len = 1 };
	const struct kwq_extend_entry plain = { .key_len = 1 };
	int without = create_with(self->dev, 0, 0, 0);
	int small = create_with(self->dev, KWQ_CREATE_VALUES, 700, 0);

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "k"));
	EXPECT_GOT_TEXT(self->q, "k", "");
	/* A flag without an extra, and an extra without its flag. */
	EXPECT_EQ(-EINVAL, q_op_one(self->q, KWQ_IOC_EXTEND, &entry, sizeof(entry), "k", 1));
	EXPECT_EQ(-EINVAL, note_entry(self->q, &plain, &extra, sizeof(extra)));
	entry.flags |= 2;
	EXPECT_EQ(-EINVAL, note_entry(self->q, &entry, &extra, sizeof(extra)));
	entry.flags = KWQ_EXTEND_NOTE;
	extra.note_len = 0;
	EXPECT_EQ(-EINVAL, note_entry(self->q, &entry, &extra, sizeof(extra)));
	extra.note_len = KWQ_NOTE_MAX + 1;
	EXPECT_EQ(-EMSGSIZE, note_entry(self->q, &entry, &extra, sizeof(extra)));
	extra.note_len = 1;
	extra.pad = 1;
	EXPECT_EQ(-EINVAL, note_entry(self->q, &entry, &extra, sizeof(extra)));
	extra.pad = 0;
	extra.note = 1;
	EXPECT_EQ(-EFAULT, note_entry(self->q, &entry, &extra, sizeof(extra)));
	/* What a note does not bring. */
	extra = (struct kwq_add_extra){ .value = user_ptr("v"), .value_len = 1 };
	EXPECT_EQ(-EINVAL, note_entry(self->q, &entry, &extra, sizeof(extra)));
	extra = (struct kwq_add_extra){ .token = 1 };
	EXPECT_EQ(-EINVAL, note_entry(self->q, &entry, &extra, sizeof(extra)));
	EXPECT_LISTED(self->q, BOTH, "k", 0, 0);
	/* An extra that brings nothing is a plain extension. */
	extra = (struct kwq_add_extra){};
	EXPECT_EQ(0, note_entry(self->q, &plain, &extra, sizeof(extra)));

	ASSERT_EQ(KWQ_ADDED, q_add(without, "k"));
	EXPECT_GOT_TEXT(without, "k", "");
	EXPECT_EQ(-EOPNOTSUPP, note(without, 0, "n", 1));
	ASSERT_EQ(KWQ_ADDED, q_add(small, "k"));
	EXPECT_GOT_TEXT(small, "k", "");
	EXPECT_EQ(-ENOSPC, note(small, 0, self->big, 1000));
	EXPECT_EQ(0, note(small, 0, self->big, 100));
	close(without);
	close(small);
}

TEST_HARNESS_MAIN
