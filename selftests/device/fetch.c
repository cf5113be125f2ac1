// SPDX-License-Identifier: GPL-2.0-only
/*
 * O6: user memory is read once. The kernel uses the values that it checked, even if a
 * thread of the caller changes the memory meanwhile.
 */
#include <linux/userfaultfd.h>

#include "kwq_test.h"

/*
 * Two pages. The first exists. The first touch of the second stops the request, until a
 * thread has changed the first page. So the test knows exactly which reads come before
 * the change.
 */
FIXTURE(fetch)
{
	int dev;
	int q;
	int faults;	/* a userfaultfd */
	size_t page;
	__u8 *here;
	__u8 *beyond;	/* right behind it */
	__u8 *content;	/* the later content of @beyond */
	pthread_t thread;
	/* Called when @beyond is touched. */
	void (*change)(void *changed);
	void *changed;
	atomic_bool touched;
};

typedef FIXTURE_DATA(fetch) fetch_fixture;

FIXTURE_SETUP(fetch)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register there = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	self->page = sysconf(_SC_PAGESIZE);
	self->here = mmap(NULL, 2 * self->page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	ASSERT_NE(MAP_FAILED, self->here);
	self->beyond = self->here + self->page;
	poison(self->here, self->page);
	self->content = calloc(1, self->page);
	ASSERT_NE(NULL, self->content);

	self->faults = syscall(SYS_userfaultfd, O_CLOEXEC);
	ASSERT_LE(0, self->faults);
	ASSERT_EQ(0, ioctl(self->faults, UFFDIO_API, &api));
	there.range.start = user_ptr(self->beyond);
	there.range.len = self->page;
	ASSERT_EQ(0, ioctl(self->faults, UFFDIO_REGISTER, &there));

	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->q = new_queue(self->dev);
	ASSERT_LE(0, self->q);
}

FIXTURE_TEARDOWN(fetch)
{
	close(self->q);
	close(self->dev);
	close(self->faults);
	free(self->content);
	munmap(self->here, 2 * self->page);
}

static void *wait_for_the_touch(void *arg)
{
	fetch_fixture *self = arg;
	struct uffdio_copy copy = {
		.dst = user_ptr(self->beyond),
		.src = user_ptr(self->content),
		.len = self->page,
	};
	struct uffd_msg message;

	REQUIRE(read(self->faults, &message, sizeof(message)) == sizeof(message));
	REQUIRE(message.event == UFFD_EVENT_PAGEFAULT);
	self->change(self->changed);
	atomic_store(&self->touched, true);
	REQUIRE(!ioctl(self->faults, UFFDIO_COPY, &copy));
	return NULL;
}

/* Runs a request that touches @beyond, and calls @change(@changed) at that moment. */
static int request_while(fetch_fixture *self, int fd, unsigned long cmd, const void *arg,
			 void (*change)(void *changed), void *changed)
{
	int ret;

	self->change = change;
	self->changed = changed;
	REQUIRE(!pthread_create(&self->thread, NULL, wait_for_the_touch, self));
	ret = request(fd, cmd, arg);
	REQUIRE(atomic_load(&self->touched));
	REQUIRE(!pthread_join(self->thread, NULL));
	return ret;
}

static void change_length(void *changed)
{
	struct kwq_add_entry *entry = changed;

	entry->key_len = 2;
	entry->flags = KWQ_ADD_PRIORITY;
	entry->priority = KWQ_PRIORITY_MAX;
}

/* The keys are read after the entries, which contain the lengths of the keys. */
static void check_entry_that_changes(struct __test_metadata *_metadata, fetch_fixture *self,
				     __u32 keys_len)
{
	struct kwq_add_entry *entry = (struct kwq_add_entry *)self->here;
	__s32 result = -1;
	const struct kwq_batch_args op = {
		.size = sizeof(op),
		.batch = {
			.entries = user_ptr(entry),
			.keys = user_ptr(self->beyond),
			.results = user_ptr(&result),
			.keys_len = keys_len,
			.nr = 1,
			.entry_size = sizeof(*entry),
		},
	};
	struct item item;

	*entry = (struct kwq_add_entry){ .key_len = 1 };
	memcpy(self->content, "ab", 2);
	EXPECT_EQ(1, request_while(self, self->q, KWQ_IOC_ADD, &op, change_length, entry));
	EXPECT_EQ(KWQ_ADDED, result);
	ASSERT_EQ(1, q_try_get(self->q, &item));
	EXPECT_EQ(1, item.key_len);
	EXPECT_STREQ("a", item.key);
	EXPECT_EQ(0, item.priority);
}

TEST_F(fetch, entry_changes_after_it_was_read)
{
	check_entry_that_changes(_metadata, self, self->page);
}

/* A buffer so small that the single entry takes a code path of its own. */
TEST_F(fetch, single_entry_changes_after_it_was_read)
{
	check_entry_that_changes(_metadata, self, KEY_ROOM);
}

static void change_number(void *changed)
{
	struct kwq_batch *batch = changed;

	batch->nr = KWQ_BATCH_MAX + 1;
	batch->entry_size = 0;
	batch->keys_len = 0;
}

/* The entries are read after the structure, which contains their number. */
TEST_F(fetch, batch_changes_after_it_was_read)
{
	const struct kwq_add_entry entries[2] = { { .key_len = 1 }, { .key_len = 1 } };
	struct kwq_batch_args *op = (struct kwq_batch_args *)self->here;
	__s32 results[3] = { -1, -1, -1 };

	*op = (struct kwq_batch_args){
		.size = sizeof(*op),
		.batch = {
			.entries = user_ptr(self->beyond),
			.keys = user_ptr("ab"),
			.results = user_ptr(results),
			.keys_len = 2,
			.nr = 2,
			.entry_size = sizeof(entries[0]),
		},
	};
	memcpy(self->content, entries, sizeof(entries));
	EXPECT_EQ(2, request_while(self, self->q, KWQ_IOC_ADD, op, change_number, &op->batch));
	EXPECT_EQ(KWQ_ADDED, results[0]);
	EXPECT_EQ(KWQ_ADDED, results[1]);
	EXPECT_EQ(-1, results[2]);
	EXPECT_EQ(2, q_len(self->q));
}

static void change_size(void *changed)
{
	__u32 *size = changed;

	*size = sizeof(struct kwq_config) / 2;
}

/* The tail of a structure longer than the kernel's is read before the rest. */
TEST_F(fetch, size_changes_after_it_was_read)
{
	struct kwq_config *config = (struct kwq_config *)self->beyond - 1;

	*config = (struct kwq_config){ .size = sizeof(*config) + GUARD };
	EXPECT_EQ(0, request_while(self, self->q, KWQ_IOC_CONFIG, config, change_size,
				   &config->size));
	EXPECT_EQ(sizeof(*config), config->size);
	EXPECT_EQ(2, config->nr);
	EXPECT_TRUE(is_zero(self->beyond, GUARD));
}

static int value_queue(int dev)
{
	return new_queue_as(dev, .flags = KWQ_CREATE_VALUES);
}

static int add_value(int q, const char *key, const void *value, __u32 len)
{
	const struct kwq_add_entry entry = { .key_len = strlen(key), .flags = KWQ_ADD_VALUE };
	const struct kwq_add_extra extra = { .value = user_ptr(value), .value_len = len };
	__s32 result = -EIO;
	const struct kwq_batch_args args = BATCH_ARGS(&entry, key, strlen(key), &result, &extra);
	int ret = request(q, KWQ_IOC_ADD, &args);

	return ret == 1 ? result : ret;
}

static __u64 user_bytes(int dev)
{
	struct kwq_info info = { .size = sizeof(info) };

	REQUIRE(!request(dev, KWQ_IOC_INFO, &info));
	return info.user_bytes;
}

/* What happens while the value of "a" is copied out. */
struct replacement {
	int dev;
	int q;
	__u64 before;
	__u64 after;
	__u64 of_queue_before;
	__u64 of_queue;
	int result;
};

static void replace_value(void *changed)
{
	struct replacement *r = changed;
	struct kwq_stat stat;

	REQUIRE(!q_stat(r->q, &stat));
	r->of_queue_before = stat.bytes;
	r->before = user_bytes(r->dev);
	r->result = add_value(r->q, "a", "new", 3);
	r->after = user_bytes(r->dev);
	REQUIRE(!q_stat(r->q, &stat));
	r->of_queue = stat.bytes;
}

/* O9: a value that is gone counts for a slow reader until that has copied it. */
TEST_F(fetch, value_is_replaced_while_it_is_read)
{
	struct kwq_listed listed[1];
	const struct kwq_list_items_args list = {
		.size = sizeof(list), .flags = KWQ_LIST_VALUES, .states = KWQ_IS_READY,
		.batch = {
			.entries = user_ptr(listed), .keys = user_ptr(self->beyond - 1),
			.keys_len = self->page + 1, .nr = 1, .entry_size = sizeof(listed[0]),
		},
	};
	struct replacement r = { .dev = self->dev, .q = value_queue(self->dev) };
	static __u8 value[4096 - 1];

	ASSERT_LE(0, r.q);
	ASSERT_EQ(KWQ_ADDED, add_value(r.q, "a", value, sizeof(value)));
	EXPECT_EQ(1, request_while(self, r.q, KWQ_IOC_LIST_ITEMS, &list, replace_value, &r));
	EXPECT_EQ(KWQ_COALESCED, r.result);
	/* The queue has its room again. What the reader has counts beside that. */
	EXPECT_LE(sizeof(value), r.of_queue_before);
	EXPECT_GT(sizeof(value), r.of_queue);
	EXPECT_EQ(r.before - r.of_queue_before, r.after - r.of_queue);
	/* A list pays for as many values as one hold may list, beside its own buffer. */
	EXPECT_LE(user_bytes(self->dev) + KWQ_VALUE_MAX, r.after);
	close(r.q);
}

static void look_at_user_bytes(void *changed)
{
	struct replacement *r = changed;

	r->after = user_bytes(r->dev);
}

/* O9: the key of a list counts while it is copied in, as the buffers of other calls do. */
TEST_F(fetch, key_of_a_list_counts_while_it_is_read)
{
	const __u32 len = KWQ_KEY_MAX;
	struct kwq_listed listed[1];
	const struct kwq_list_items_args list = {
		.size = sizeof(list), .flags = KWQ_LIST_KEY, .states = KWQ_IS_READY,
		.key = user_ptr(self->beyond - 1), .key_len = len,
		.batch = {
			.entries = user_ptr(listed), .nr = 1, .entry_size = sizeof(listed[0]),
		},
	};
	struct replacement r = { .dev = self->dev };

	r.before = user_bytes(self->dev);
	EXPECT_EQ(-ENOENT, request_while(self, self->q, KWQ_IOC_LIST_ITEMS, &list,
					 look_at_user_bytes, &r));
	EXPECT_LE(r.before + len, r.after);
	EXPECT_EQ(r.before, user_bytes(self->dev));
}

TEST_HARNESS_MAIN
