// SPDX-License-Identifier: GPL-2.0-only
/*
 * O2, O4, O6: a missing page or a failed allocation at every single step of a request.
 */
#include "kwq_test.h"

#include <linux/capability.h>
#include <linux/userfaultfd.h>
#include <sys/epoll.h>
#include <sys/fsuid.h>

/*
 * Injected failures: /proc/thread-self/fail-nth makes the nth allocation or access to
 * user memory from now on fail. The test repeats a request and fails each step once,
 * until the request succeeds without a failure. Each repetition has new objects, and
 * accounts for all of them afterwards.
 */

#define NR	70	/* entries of a batch: more than the kernel takes in one go */

FIXTURE(failure)
{
	int dev;
	int q;
	int out;	/* a handle that holds "out" */
	int clocked;	/* a queue on a manual clock, of an action that wants one */
	int spare;	/* another descriptor of the action's own */
	int nth;	/* the file */
	int made;	/* a descriptor that the request gave */
	int refs;	/* the references to the module between two actions */
	char name[32];
	char new_name[32];
	struct batch *b;
	struct item *items;
	struct kwq_stat before;
};

typedef FIXTURE_DATA(failure) failure_fixture;

struct action {
	const char *name;
	unsigned long cmd;	/* 0 for another system call */
	/* Prepares the queue, which is new each time. A named queue exists, too. */
	void (*prepare)(failure_fixture *self);
	/* Runs only the request. Returns its result. */
	int (*run)(failure_fixture *self);
	int ret;
	/* Checks the state after success. The state after a failure is always checked. */
	void (*check)(struct __test_metadata *_metadata, failure_fixture *self, int ret);
};

/* Most requests are one call of a wrapper. */
#define RUN(name, call)						\
static int run_##name(failure_fixture *self)			\
{								\
	(void)self;						\
	return call;						\
}

static void fill_numbered(struct batch *b, int nr)
{
	char key[16];

	memset(b, 0, sizeof(*b));
	for (int i = 0; i < nr; i++) {
		snprintf(key, sizeof(key), "key%04d", i);
		batch_add(b, key);
	}
}

static int run_open_device(failure_fixture *self)
{
	self->made = open_device();
	return self->made < 0 ? self->made : 0;
}

static int run_create(failure_fixture *self)
{
	self->made = new_queue(self->dev);
	return self->made < 0 ? self->made : 0;
}

#define USER		30002
#define MAX_QUEUES	"/sys/module/kwq/parameters/max_queues"

static void set_resource_capability(bool on)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	__u32 bit = CAP_TO_MASK(CAP_SYS_RESOURCE);

	REQUIRE(!syscall(SYS_capget, &header, data));
	data[0].effective = on ? data[0].effective | bit : data[0].effective & ~bit;
	REQUIRE(!syscall(SYS_capset, &header, data));
}

static bool as_user;
static char max_queues[16];

/* Becomes a user who has no queue yet and may have one. */
static void become_user(failure_fixture *self)
{
	(void)self;
	REQUIRE(read_text(MAX_QUEUES, max_queues, sizeof(max_queues)) > 0);
	REQUIRE(!write_text(MAX_QUEUES, "1"));
	set_resource_capability(false);
	setfsuid(USER);
	as_user = true;
}

static void be_root_again(void)
{
	if (!as_user)
		return;
	setfsuid(0);
	set_resource_capability(true);
	REQUIRE(!write_text(MAX_QUEUES, max_queues));
	as_user = false;
}

/* A queue that was not created, or is closed again, does not count. */
static void check_quota(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	int q = new_queue(self->dev);

	(void)ret;
	EXPECT_LE(0, q);
	if (q >= 0)
		close(q);
	be_root_again();
}

static int run_create_named(failure_fixture *self)
{
	self->made = q_create(self->dev, self->new_name, 0, O_CLOEXEC, 0700);
	return self->made < 0 ? self->made : 0;
}

static void check_named(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	/* The name exists exactly if the queue does. */
	EXPECT_EQ(ret < 0 ? -ENOENT : 0, q_unlink(self->dev, self->new_name));
}

static int run_create_or_open(failure_fixture *self)
{
	self->made = q_create(self->dev, self->name, KWQ_CREATE_OR_OPEN, O_CLOEXEC, 0700);
	return self->made < 0 ? self->made : 0;
}

static int run_open_name(failure_fixture *self)
{
	self->made = q_open(self->dev, self->name, O_CLOEXEC);
	return self->made < 0 ? self->made : 0;
}

static int run_reopen(failure_fixture *self)
{
	self->made = q_reopen(self->q);
	return self->made < 0 ? self->made : 0;
}

RUN(unlink, q_unlink(self->dev, self->name))

static void check_unlinked(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	int q = q_create(self->dev, self->name, 0, O_CLOEXEC, 0700);

	EXPECT_EQ(ret < 0 ? -EEXIST : 0, q < 0 ? q : 0);
	close(q);
}

static int run_list(failure_fixture *self)
{
	struct kwq_list_entry entries[20];
	struct kwq_list_args list = {
		.size = sizeof(list),
		.entries = user_ptr(entries),
		.nr = ARRAY_SIZE(entries),
		.entry_size = sizeof(entries[0]),
	};
	int ret;

	set_name(list.after, self->name);
	list.after[strlen(self->name) - 1] = '\0';
	ret = request(self->dev, KWQ_IOC_LIST, &list);
	return ret < 0 ? ret : 0;
}

static int run_info(failure_fixture *self)
{
	struct kwq_info info = { .size = sizeof(info) };

	return request(self->dev, KWQ_IOC_INFO, &info);
}

static int run_stat(failure_fixture *self)
{
	struct kwq_stat stat = { .size = sizeof(stat) };

	return request(self->q, KWQ_IOC_STAT, &stat);
}

RUN(add, q_add(self->q, "a"))

static void check_added(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	EXPECT_EQ(ret < 0 ? -ENOENT : KWQ_WAS_READY, q_remove(self->q, "a"));
}

RUN(add_after, q_add_after(self->q, "a", HOUR))

static void check_waiting(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	EXPECT_EQ(ret < 0 ? -ENOENT : KWQ_WAS_WAITING, q_remove(self->q, "a"));
}

static __u8 long_key[KWQ_KEY_MAX];

RUN(add_long_key, q_add_bytes(self->q, long_key, sizeof(long_key), 0, 0, 0))

/* Removes the key, so that the final check does not find it. */
static int remove_long_key(failure_fixture *self)
{
	const struct kwq_remove_entry entry = { .key_len = sizeof(long_key) };

	return q_op_one(self->q, KWQ_IOC_REMOVE, &entry, sizeof(entry), long_key,
			sizeof(long_key));
}

static void check_long_key(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	EXPECT_EQ(ret < 0 ? -ENOENT : KWQ_WAS_READY, remove_long_key(self));
}

static void prepare_long_key(failure_fixture *self)
{
	REQUIRE(run_add_long_key(self) == KWQ_ADDED);
}

static int run_get_long_key(failure_fixture *self)
{
	static __u8 key[KWQ_KEY_MAX];
	static struct kwq_got got;
	struct kwq_get_args get = GET_ARGS(&got, user_ptr(key), sizeof(key), 1,
					   .flags = KWQ_GET_NONBLOCK);

	return q_get_raw(self->q, &get);
}

/* O2. Also removes the key, so that the final check does not find it. */
static void check_long_key_got(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	const struct kwq_remove_entry remove = { .key_len = sizeof(long_key) };
	const struct kwq_done_entry done = { .key_len = sizeof(long_key) };

	EXPECT_EQ(ret < 0 ? KWQ_WAS_READY : KWQ_WAS_PROCESSING,
		  q_op_one(self->q, KWQ_IOC_REMOVE, &remove, sizeof(remove), long_key,
			   sizeof(long_key)));
	EXPECT_EQ(ret < 0 ? -ENOENT : KWQ_FINISHED,
		  q_op_one(self->q, KWQ_IOC_DONE, &done, sizeof(done), long_key,
			   sizeof(long_key)));
}

RUN(add_dirty, q_add(self->q, "out"))

static void check_dirty(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	EXPECT_EQ(ret < 0 ? KWQ_FINISHED : KWQ_REQUEUED, q_done_key(self->out, "out"));
}

static void prepare_batch(failure_fixture *self)
{
	fill_numbered(self->b, NR);
	poison(self->b->results, sizeof(self->b->results));
}

RUN(add_batch, batch_run(self->q, KWQ_IOC_ADD, self->b))

/*
 * Counts the successful entries by their results. Only one step fails at a time: an
 * entry whose result could not be written was otherwise successful.
 */
static int count_results(struct batch *b, int nr)
{
	int n = 0;

	for (int i = 0; i < nr; i++) {
		REQUIRE(b->results[i] >= 0 || b->results[i] == -ENOMEM ||
			b->results[i] == -EFAULT);
		n += b->results[i] != -ENOMEM;
	}
	return n;
}

static void check_batch_added(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	int n = count_results(self->b, ret < 0 ? 0 : ret);

	check_stat(self->q, .ready = n, .processing = 1, .items = n + 1);
}

/* Each item is an allocation of its own, so one may fail before others that do not. */
static void prepare_long_batch(failure_fixture *self)
{
	char key[KEY_ROOM + 1];

	memset(key, 'x', KEY_ROOM);
	key[KEY_ROOM] = '\0';
	memset(self->b, 0, sizeof(*self->b));
	for (int i = 0; i < NR; i++) {
		snprintf(key, 4, "%03d", i);
		key[3] = 'x';
		batch_add(self->b, key);
	}
	poison(self->b->results, sizeof(self->b->results));
}

static void prepare_full(failure_fixture *self)
{
	self->clocked = new_queue_with(self->dev, CLOCK_MONOTONIC, 1, NULL);
	REQUIRE(self->clocked >= 0);
	REQUIRE(q_add(self->clocked, "full") == KWQ_ADDED);
	prepare_batch(self);
}

RUN(add_to_full, q_add(self->clocked, "a"))

/* Q13: a refused add never reads as taken. */
static void check_refused(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	EXPECT_GT(0, ret);
	check_stat(self->clocked, .ready = 1, .items = 1);
}

RUN(restore, q_restore(self->q, "a", .state = KWQ_IS_READY))

static void prepare_restore(failure_fixture *self)
{
	char key[16];

	memset(self->b, 0, sizeof(*self->b));
	for (int i = 0; i < NR; i++) {
		snprintf(key, sizeof(key), "key%04d", i);
		batch_restore(self->b, key, (struct kwq_restore_entry){ .state = KWQ_IS_READY });
	}
}

RUN(restore_batch, batch_run(self->q, KWQ_IOC_RESTORE, self->b))

RUN(add_too_late, q_add_wait(self->clocked, "a", 1))

RUN(add_wait, q_add_wait(self->q, "a", KWQ_NO_DEADLINE))

RUN(add_batch_to_full, batch_run(self->clocked, KWQ_IOC_ADD, self->b))

/* Q13: the same for a refused add of a batch. Poison is negative, too. */
static void check_all_refused(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	for (int i = 0; i < NR; i++)
		EXPECT_GT(0, self->b->results[i]);
	check_refused(_metadata, self, -1);
	(void)ret;
}

static void prepare_ready(failure_fixture *self)
{
	prepare_batch(self);
	REQUIRE(batch_run(self->q, KWQ_IOC_ADD, self->b) == NR);
}

RUN(get, q_try_get(self->q, self->items))

RUN(get_batch, q_get_many(self->q, self->items, NR, KWQ_GET_NONBLOCK, 0))

RUN(get_nothing, q_try_get(self->q, self->items))

/* The deadline has passed already, so only the request itself can fail. */
RUN(get_too_late, q_get(self->q, self->items, 0, 1))

/* O2: checks the fetched items. The others keep their order and are not counted. */
static void check_got(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	int n = ret < 0 ? 0 : ret;
	char key[16];

	check_stat(self->q, .ready = NR - n, .processing = 1 + n, .items = NR + 1);
	check_counts(self->q, .adds = NR + 1, .gets = 1 + n);
	for (int i = 0; i < NR; i++) {
		snprintf(key, sizeof(key), "key%04d", i);
		if (i < n) {
			EXPECT_STREQ(key, self->items[i].key);
			continue;
		}
		expect_take(self->q, key);
	}
}

static void prepare_held(failure_fixture *self)
{
	prepare_ready(self);
	REQUIRE(q_get_many(self->q, self->items, NR, 0, KWQ_NO_DEADLINE) == NR);
	memset(self->b, 0, sizeof(*self->b));
	for (int i = 0; i < NR; i++) {
		if (i % 2)
			batch_done(self->b, self->items[i].ticket);
		else
			batch_done_key(self->b, self->items[i].key);
	}
}

RUN(done_batch, batch_run(self->q, KWQ_IOC_DONE, self->b))

static void check_done(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	int n = count_results(self->b, ret < 0 ? 0 : ret);

	check_stat(self->q, .processing = NR + 1 - n, .items = NR + 1 - n);
	check_counts(self->q, .adds = NR + 1, .gets = NR + 1, .dones = n);
}

RUN(done, q_done_key(self->out, "out"))

static void check_out_done(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	EXPECT_EQ(ret < 0 ? KWQ_FINISHED : -ENOENT, q_done_key(self->out, "out"));
}

RUN(bury, q_done_key_with(self->out, "out", KWQ_DONE_DEAD))

static void check_buried(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	EXPECT_EQ(ret < 0 ? -ENOENT : KWQ_WAS_DEAD, q_drop(self->q, "out"));
}

RUN(give_back, q_done_key_with(self->out, "out", KWQ_DONE_RETURN))

static void check_given_back(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	check_stat(self->q, .ready = ret > 0, .processing = ret < 0, .items = 1);
}

#define NR_OLD	3
#define NR_NEW	2

static struct kwq_get_args all_three;
static struct batch old;

/* Some items are held, some are ready, and some are added by the request. */
static void prepare_next(failure_fixture *self)
{
	fill_numbered(self->b, NR);
	REQUIRE(batch_run(self->q, KWQ_IOC_ADD, self->b) == NR);
	REQUIRE(q_get_many(self->q, self->items, NR_OLD, 0, KWQ_NO_DEADLINE) == NR_OLD);
	batch_begin(&old);
	for (int i = 0; i < NR_OLD; i++)
		batch_done(&old, self->items[i].ticket);
	batch_begin(self->b);
	for (int i = 0; i < NR_NEW; i++)
		batch_add(self->b, i ? "new1" : "new0");
	all_three = (struct kwq_get_args){
		.size = sizeof(all_three),
		.flags = KWQ_GET_NONBLOCK,
		.add = batch_of(KWQ_IOC_ADD, self->b),
		.done = batch_of(KWQ_IOC_DONE, &old),
	};
}

/* Adds, finishes and gets in one call. */
static int run_next(failure_fixture *self)
{
	static struct kwq_got got[NR];
	static __u8 keys[NR * KEY_ROOM];
	int ret;

	self->b->results[0] = -EIO;
	all_three.get = (struct kwq_batch){
		.entries = user_ptr(got),
		.keys = user_ptr(keys),
		.keys_len = sizeof(keys),
		.nr = NR,
		.entry_size = sizeof(got[0]),
	};
	ret = q_get_raw(self->q, &all_three);
	/* The numbers are written last: without them, what was added and done is unknown. */
	if (self->b->results[0] == -EIO)
		self->b->results[0] = 0;
	else if (ret == -EFAULT && !all_three.nr_added)
		result_is_lost = true;
	return ret;
}

/* O2, Q13: exactly the reported part of the request happened. */
static void check_next(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	int added = count_results(self->b, all_three.nr_added);
	int done = count_results(&old, all_three.nr_done);
	int got = ret < 0 ? 0 : ret;

	EXPECT_TRUE(all_three.nr_added <= NR_NEW && all_three.nr_done <= NR_OLD);
	EXPECT_TRUE(ret < 0 || (all_three.nr_added == NR_NEW && all_three.nr_done == NR_OLD));
	EXPECT_TRUE(!all_three.nr_done || all_three.nr_added == NR_NEW);
	check_stat(self->q, .ready = NR - NR_OLD + added - got,
		   .processing = 1 + NR_OLD - done + got, .items = NR + 1 + added - done);
	check_counts(self->q, .adds = NR + 1 + added, .gets = 1 + NR_OLD + got, .dones = done);
}

static void prepare_remove(failure_fixture *self)
{
	char key[16];

	prepare_ready(self);
	memset(self->b, 0, sizeof(*self->b));
	for (int i = 0; i < NR; i++) {
		snprintf(key, sizeof(key), "key%04d", i);
		batch_remove(self->b, key);
	}
}

RUN(remove_batch, batch_run(self->q, KWQ_IOC_REMOVE, self->b))

static void check_removed(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	int n = count_results(self->b, ret < 0 ? 0 : ret);

	check_stat(self->q, .ready = NR - n, .processing = 1, .items = NR + 1 - n);
}

RUN(remove, q_remove(self->q, "key0042"))

static void check_one_removed(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	EXPECT_EQ(ret < 0 ? KWQ_WAS_READY : -ENOENT, q_remove(self->q, "key0042"));
}

RUN(len, q_len(self->q))

RUN(shutting_down, q_shutting_down(self->q))

/* For the last limiter the kernel allocates a table of pauses. */
static const struct kwq_limiter some_limiters[] = {
	EXPONENTIAL(1, 2), FAST_SLOW(3, 4, 5), BUCKET(6, 7, 8),
	BACKOFF(.duration = 9, .factor = 2 * KWQ_ONE, .steps = 10),
};

static int run_create_configured(failure_fixture *self)
{
	const struct kwq_config config = config_of(some_limiters);

	self->made = new_manual_queue(self->dev, &config);
	return self->made < 0 ? self->made : 0;
}

static int run_configure(failure_fixture *self)
{
	const struct kwq_config config = config_of(some_limiters);

	return q_configure(self->q, &config);
}

/* The configuration is the old one, with its two default limiters, or the new one. */
static void check_configured(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	struct kwq_limiter limiters[KWQ_LIMITERS_MAX];
	struct kwq_config config;

	ASSERT_EQ(0, q_config(self->q, &config, limiters, KWQ_LIMITERS_MAX));
	EXPECT_EQ(ret < 0 ? 2 : ARRAY_SIZE(some_limiters), config.nr);
	EXPECT_EQ(!ret, !memcmp(limiters, some_limiters, sizeof(some_limiters)));
}

static int run_config(failure_fixture *self)
{
	struct kwq_limiter limiters[KWQ_LIMITERS_MAX];
	struct kwq_config config;

	return q_config(self->q, &config, limiters, KWQ_LIMITERS_MAX);
}

static void prepare_dead(failure_fixture *self)
{
	static const struct kwq_limiter at_once[] = { FAST_SLOW(0, 0, 0) };
	struct kwq_config config = config_of(at_once);
	char key[16];

	config.dead_after = 1;
	REQUIRE(!q_configure(self->q, &config));
	for (int i = 0; i < NR; i++) {
		snprintf(key, sizeof(key), "key%04d", i);
		REQUIRE(q_add_rate_limited(self->q, key) == KWQ_ADDED);
		REQUIRE(q_try_get(self->q, self->items) == 1);
		REQUIRE(q_add_rate_limited(self->q, key) == KWQ_DEAD);
		REQUIRE(q_done(self->q, self->items->ticket) == KWQ_FINISHED);
	}
}

static int run_list_items(failure_fixture *self)
{
	static struct listed_item listed[NR];
	__u64 after = 0;

	return q_list_page(self->q, listed, NR, KWQ_IS_READY, &after);
}

static int run_look(failure_fixture *self)
{
	struct listed_item listed;

	return q_look(self->q, "key0042", &listed);
}

RUN(kick, q_kick(self->q, "key0042"))

static void check_kicked(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	EXPECT_EQ(ret < 0 ? KWQ_WAS_DEAD : KWQ_WAS_READY, q_remove(self->q, "key0042"));
}

RUN(drop, q_drop(self->q, "key0042"))

static void check_dropped(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	EXPECT_EQ(ret < 0 ? KWQ_WAS_DEAD : -ENOENT, q_remove(self->q, "key0042"));
}

/* The items must not become due before the check. */
static void prepare_slow(failure_fixture *self)
{
	static const struct kwq_limiter hour[] = { FAST_SLOW(HOUR, HOUR, 0) };
	const struct kwq_config config = config_of(hour);

	REQUIRE(!q_configure(self->q, &config));
}

RUN(add_rate_limited, q_add_rate_limited(self->q, "a"))

static void check_rate_limited(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	EXPECT_EQ(ret < 0 ? 0 : 1, q_requeues(self->q, "a"));
	check_waiting(_metadata, self, ret);
}

static void prepare_counts(failure_fixture *self)
{
	char key[16];

	prepare_slow(self);
	fill_numbered(self->b, NR);
	for (int i = 0; i < NR; i++)
		self->b->add[i].flags = KWQ_ADD_RATE_LIMITED;
	REQUIRE(batch_run(self->q, KWQ_IOC_ADD, self->b) == NR);
	memset(self->b, 0, sizeof(*self->b));
	for (int i = 0; i < NR; i++) {
		snprintf(key, sizeof(key), "key%04d", i);
		batch_ask(self->b, key);
	}
}

/* Items for a shut down to drop and to keep. */
static void prepare_all_states(failure_fixture *self)
{
	prepare_counts(self);
	REQUIRE(q_add(self->q, "ready") == KWQ_ADDED);
}

RUN(shut_down, q_shut_down(self->q))

RUN(drain, q_drain(self->q, 1))

static void check_shut_down(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	bool failed = ret == -EFAULT || ret == -ENOMEM;

	EXPECT_EQ(failed ? 0 : 1, q_shutting_down(self->q));
	check_stat(self->q, .ready = 1, .waiting = failed ? NR : 0, .processing = 1,
		   .items = 2 + (failed ? NR : 0), .state = failed ? 0 : KWQ_STATE_SHUT_DOWN);
}

RUN(forget_batch, batch_run(self->q, KWQ_IOC_FORGET, self->b))

static void check_forgotten(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	int n = ret < 0 ? 0 : ret;
	char key[16];

	for (int i = 0; i < NR; i++) {
		snprintf(key, sizeof(key), "key%04d", i);
		EXPECT_EQ(i < n ? 0 : 1, q_requeues(self->q, key));
	}
}

RUN(requeues_batch, batch_run(self->q, KWQ_IOC_REQUEUES, self->b))

RUN(forget, q_forget(self->q, "key0042"))

static void check_one_forgotten(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	EXPECT_EQ(ret < 0 ? 1 : 0, q_requeues(self->q, "key0042"));
}

RUN(requeues, q_requeues(self->q, "key0042"))

static void prepare_clock(failure_fixture *self)
{
	self->clocked = new_manual_queue(self->dev, NULL);
	REQUIRE(self->clocked >= 0);
	REQUIRE(q_add_at(self->clocked, "a", 2) == KWQ_WAITING);
}

RUN(advance, q_advance(self->clocked, 2))

static void check_advanced(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	EXPECT_EQ(ret < 0 ? KWQ_WAS_WAITING : KWQ_WAS_READY, q_remove(self->clocked, "a"));
}

RUN(pause, q_pause(self->q))

static void prepare_pause(failure_fixture *self)
{
	REQUIRE(!q_pause(self->q));
}

RUN(resume, q_resume(self->q))

static __u32 state_of(failure_fixture *self)
{
	struct kwq_stat stat;

	REQUIRE(!q_stat(self->q, &stat));
	return stat.state;
}

static void check_paused(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	EXPECT_EQ(ret < 0 ? 0 : KWQ_STATE_PAUSED, state_of(self));
}

static void check_resumed(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	EXPECT_EQ(ret < 0 ? KWQ_STATE_PAUSED : 0, state_of(self));
}

RUN(term, q_term(self->q, 1))

/* Not each kernel has what it takes. */
static int run_bpf(failure_fixture *self)
{
	__u64 token;
	int ret = q_bpf(self->q, &token);

	return ret == -EOPNOTSUPP ? 0 : ret;
}

static void check_term(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	EXPECT_EQ(ret < 0 ? 0 : KWQ_STATE_TERM_OVER, state_of(self));
}

/* The result of a request of one entry, which may have been carried out without it. */
static int result_of(int ret, __s32 result)
{
	if (ret != 1)
		return ret;
	result_is_lost |= result == -EFAULT;
	return result;
}

static int run_add_debounced(failure_fixture *self)
{
	static const struct kwq_add_extra extra = { .at_most = HOUR };
	static const struct kwq_add_entry entry = {
		.key_len = 1,
		.flags = KWQ_ADD_AFTER | KWQ_ADD_REPLACE | KWQ_ADD_AT_MOST,
		.time = HOUR,
	};
	__s32 result = -EIO;
	const struct kwq_batch_args args = BATCH_ARGS(&entry, "a", 1, &result, &extra);
	int ret = request(self->q, KWQ_IOC_ADD, (void *)&args);

	return result_of(ret, result);
}

static int create_grouped(failure_fixture *self)
{
	return new_queue_as(self->dev, .flags = KWQ_CREATE_GROUPS, .group_limit = 1, .aging = HOUR);
}

static int run_create_grouped(failure_fixture *self)
{
	self->made = create_grouped(self);
	return self->made < 0 ? self->made : 0;
}

static void prepare_grouped(failure_fixture *self)
{
	self->clocked = create_grouped(self);
	REQUIRE(self->clocked >= 0);
}

/* Makes a new group. */
static int run_add_group(failure_fixture *self)
{
	const struct kwq_add_extra extra = { .group = user_ptr("group"), .group_len = 5 };
	static const struct kwq_add_entry entry = { .key_len = 1, .flags = KWQ_ADD_GROUP };
	__s32 result = -EIO;
	const struct kwq_batch_args args = BATCH_ARGS(&entry, "a", 1, &result, &extra);
	int ret = request(self->clocked, KWQ_IOC_ADD, (void *)&args);

	return result_of(ret, result);
}

static void check_group(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	struct kwq_stat stat;

	REQUIRE(!q_stat(self->clocked, &stat));
	EXPECT_EQ(ret < 0 ? 0 : 1, stat.groups);
	EXPECT_EQ(ret < 0 ? 0 : 1, stat.ready);
	if (ret < 0)
		EXPECT_EQ(0, stat.bytes);
}

static void prepare_group(failure_fixture *self)
{
	prepare_grouped(self);
	REQUIRE(run_add_group(self) == KWQ_ADDED);
}

static int run_get_group(failure_fixture *self)
{
	static struct kwq_got_extra extra;
	static struct kwq_got got;
	static char room[8];
	struct kwq_get_args get = GET_ARGS(&got, user_ptr(room), sizeof(room), 1,
					   .flags = KWQ_GET_NONBLOCK, GET_EXTRAS(&extra));

	return request(self->clocked, KWQ_IOC_GET, &get);
}

/* O2 */
static void check_group_got(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	struct kwq_stat stat;

	REQUIRE(!q_stat(self->clocked, &stat));
	EXPECT_EQ(1, stat.groups);
	EXPECT_EQ(ret < 0 ? 1 : 0, stat.ready);
	EXPECT_EQ(ret < 0 ? 0 : 1, stat.processing);
}

static void prepare_valued(failure_fixture *self)
{
	self->clocked = q_create(self->dev, NULL, KWQ_CREATE_VALUES, O_CLOEXEC, 0);
	REQUIRE(self->clocked >= 0);
}

static const char long_value[5000];

static int add_value(failure_fixture *self, const void *key, __u32 key_len, __u32 len)
{
	const struct kwq_add_extra extra = {
		.value = user_ptr(long_value), .value_len = len,
	};
	const struct kwq_add_entry entry = { .key_len = key_len, .flags = KWQ_ADD_VALUE };
	__s32 result = -EIO;
	const struct kwq_batch_args args = BATCH_ARGS(&entry, key, key_len, &result, &extra);
	int ret = request(self->clocked, KWQ_IOC_ADD, (void *)&args);

	return result_of(ret, result);
}

/* kvmalloc() has another way for more than a page. */
RUN(add_short_value, add_value(self, "a", 1, 100))

RUN(add_value, add_value(self, "a", 1, sizeof(long_value)))

/* Q18 */
static void check_value(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	struct kwq_stat stat;

	REQUIRE(!q_stat(self->clocked, &stat));
	EXPECT_EQ(ret < 0 ? 0 : 1, stat.values);
	EXPECT_EQ(ret < 0 ? 0 : 1, stat.ready);
	EXPECT_EQ(ret < 0, !stat.bytes);
}

static void prepare_value(failure_fixture *self)
{
	prepare_valued(self);
	REQUIRE(run_add_value(self) == KWQ_ADDED);
}

static void prepare_long_key_and_value(failure_fixture *self)
{
	prepare_valued(self);
	REQUIRE(add_value(self, long_key, sizeof(long_key), sizeof(long_value)) == KWQ_ADDED);
}

static int run_get_value(failure_fixture *self)
{
	static struct kwq_got_extra extra;
	static struct kwq_got got;
	static char room[sizeof(long_key) + sizeof(long_value)];
	struct kwq_get_args get = GET_ARGS(&got, user_ptr(room), sizeof(room), 1,
					   .flags = KWQ_GET_NONBLOCK, GET_EXTRAS(&extra));

	return request(self->clocked, KWQ_IOC_GET, &get);
}

/* O2, Q18: the item keeps its value, whether it was handed out or not. */
static void check_value_got(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	struct kwq_stat stat;

	REQUIRE(!q_stat(self->clocked, &stat));
	EXPECT_EQ(1, stat.values);
	EXPECT_EQ(ret < 0 ? 1 : 0, stat.ready);
	EXPECT_EQ(ret < 0 ? 0 : 1, stat.processing);
}

#define LEASE	100

/* All items are held, and their leases are about to expire. */
static void prepare_leases(failure_fixture *self)
{
	self->clocked = new_lease_queue(self->dev, KWQ_CLOCK_ID_MANUAL, LEASE);
	REQUIRE(self->clocked >= 0);
	fill_numbered(self->b, NR);
	REQUIRE(batch_run(self->clocked, KWQ_IOC_ADD, self->b) == NR);
	REQUIRE(q_get_many(self->clocked, self->items, NR, 0, KWQ_NO_DEADLINE) == NR);
	memset(self->b, 0, sizeof(*self->b));
	for (int i = 0; i < NR; i++)
		batch_extend(self->b, self->items[i].ticket);
	REQUIRE(!q_advance(self->clocked, LEASE - 1));
}

RUN(extend_batch, batch_run(self->clocked, KWQ_IOC_EXTEND, self->b))

static void check_extended(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	int n = count_results(self->b, ret < 0 ? 0 : ret);

	ASSERT_EQ(0, q_advance(self->clocked, 1));
	check_stat(self->clocked, .ready = NR - n, .processing = n, .items = NR);
}

RUN(extend, q_extend_key(self->clocked, self->items[0].key))

static void check_one_extended(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	int n = ret == 0;

	ASSERT_EQ(0, q_advance(self->clocked, 1));
	check_stat(self->clocked, .ready = NR - n, .processing = n, .items = NR);
}

static int run_poll(failure_fixture *self)
{
	struct pollfd pollfd = { .fd = self->q, .events = POLLIN | POLLOUT };
	int ret = poll(&pollfd, 1, 0);

	return ret < 0 ? -errno : pollfd.revents;
}

/* Nothing is ready, so poll joins the wait queue and leaves it again. */
static int run_poll_in_vain(failure_fixture *self)
{
	struct pollfd pollfd = { .fd = self->q, .events = POLLIN };
	int ret = poll(&pollfd, 1, 1);

	return ret < 0 ? -errno : ret;
}

static void prepare_epoll(failure_fixture *self)
{
	self->spare = epoll_create1(EPOLL_CLOEXEC);
	REQUIRE(self->spare >= 0);
}

/* The epoll stays in the wait queue until the queue is closed. */
static int run_epoll(failure_fixture *self)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(self->spare, EPOLL_CTL_ADD, self->q, &event) ? -errno : 0;
}

static void check_epoll(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	struct epoll_event event;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(ret < 0 ? 0 : 1, epoll_wait(self->spare, &event, 1, 0));
}

static void prepare_fdinfo(failure_fixture *self)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", self->q);
	self->spare = open(path, O_RDONLY | O_CLOEXEC);
	REQUIRE(self->spare >= 0);
}

static int run_fdinfo(failure_fixture *self)
{
	static char text[4096];
	ssize_t n = pread(self->spare, text, sizeof(text) - 1, 0);

	return n < 0 ? -errno : !strstr(text, "kwq-held:");
}

static int run_board(failure_fixture *self)
{
	__u64 size;

	self->made = q_board(self->q, &size);
	return self->made < 0 ? self->made : 0;
}

/* A board that was refused may be asked for again. */
static void check_board(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	__u64 size;
	int fd = q_board(self->q, &size);

	(void)ret;
	EXPECT_LE(0, fd);
	close(fd);
}

RUN(tell, q_tell(self->q, 7))

static void check_told(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	struct kwq_stat stat;

	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(ret ? 0 : 7, stat.posted);
}

static int run_create_followed(failure_fixture *self)
{
	self->made = new_flagged_queue(self->dev, KWQ_CREATE_CHANGES);
	return self->made < 0 ? self->made : 0;
}

static void prepare_changes(failure_fixture *self)
{
	self->clocked = new_flagged_queue(self->dev, KWQ_CREATE_CHANGES);
	REQUIRE(self->clocked >= 0);
}

/* The outbox stays, as a reference of the queue that was made. */
static int run_create_with_outbox(failure_fixture *self)
{
	self->made = new_queue_with_outbox(self->dev, KWQ_CREATE_CHANGES, self->q);
	return self->made < 0 ? self->made : 0;
}

static void prepare_outbox(failure_fixture *self)
{
	self->clocked = new_queue_with_outbox(self->dev, 0, self->q);
	REQUIRE(self->clocked >= 0);
}

/* Each handle has one of the outbox. */
static int run_reopen_with_outbox(failure_fixture *self)
{
	self->made = q_reopen(self->clocked);
	return self->made < 0 ? self->made : 0;
}

/* A queue or a handle that was not made has no handle of the outbox. */
static void check_handles(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	struct kwq_stat stat;

	(void)ret;
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(self->before.handles, stat.handles);
}

RUN(add_to_outbox, q_add(self->clocked, "a"))

RUN(grant, q_grant(self->clocked, "key", 7))

static void check_token(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	struct listed_item listed;

	if (ret < 0) {
		EXPECT_EQ(-ENOENT, q_look(self->clocked, "key", &listed));
		return;
	}
	ASSERT_EQ(1, q_look(self->clocked, "key", &listed));
	EXPECT_EQ(7, listed.item.token);
}

RUN(revoke, q_revoke(self->q, "out"))

static void check_revoked(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	EXPECT_EQ(ret < 0 ? KWQ_WAS_PROCESSING : -ENOENT, q_revoke(self->q, "out"));
}

static int run_follow(failure_fixture *self)
{
	__u64 number;

	return q_follow(self->clocked, &number);
}

/* A call that failed has not made the handle follow. */
static void check_follows(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	__u64 number;

	EXPECT_EQ(ret < 0 ? 0 : -EBUSY, q_follow(self->clocked, &number));
}

static void prepare_unread(failure_fixture *self)
{
	prepare_changes(self);
	REQUIRE(!run_follow(self));
	prepare_batch(self);
	REQUIRE(batch_run(self->clocked, KWQ_IOC_ADD, self->b) == NR);
}

static int read_changes(failure_fixture *self)
{
	static struct listed_item read[NR];
	struct reader r = { .after = CREATION };

	return q_changes(self->clocked, &r, read, NR, KWQ_CHANGES_NONBLOCK, 0);
}

/* Nothing is lost: the same call reads the same items again. */
static void check_unread(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	struct kwq_stat stat;

	(void)ret;
	ASSERT_EQ(0, q_stat(self->clocked, &stat));
	EXPECT_EQ(NR, stat.unread);
	EXPECT_EQ(NR, read_changes(self));
}

RUN(sync, q_sync_until(self->clocked, 1))

/* Each request has a row here; another test checks that. */
static const struct action actions[] = {
	{ "open device", 0, NULL, run_open_device, 0, NULL },
	{ "info", KWQ_IOC_INFO, NULL, run_info, 0, NULL },
	{ "create", KWQ_IOC_CREATE, NULL, run_create, 0, NULL },
	{ "create named", KWQ_IOC_CREATE, NULL, run_create_named, 0, check_named },
	{ "create configured", KWQ_IOC_CREATE, NULL, run_create_configured, 0, NULL },
	{ "create or open", KWQ_IOC_CREATE, NULL, run_create_or_open, 0, NULL },
	{ "create grouped", KWQ_IOC_CREATE, NULL, run_create_grouped, 0, NULL },
	{ "create as a user", KWQ_IOC_CREATE, become_user, run_create, 0, check_quota },
	{ "open name", KWQ_IOC_OPEN, NULL, run_open_name, 0, NULL },
	{ "reopen", KWQ_IOC_OPEN, NULL, run_reopen, 0, NULL },
	{ "unlink", KWQ_IOC_UNLINK, NULL, run_unlink, 0, check_unlinked },
	{ "list", KWQ_IOC_LIST, NULL, run_list, 0, NULL },
	{ "add", KWQ_IOC_ADD, NULL, run_add, KWQ_ADDED, check_added },
	{ "add after", KWQ_IOC_ADD, NULL, run_add_after, KWQ_WAITING, check_waiting },
	{ "add long key", KWQ_IOC_ADD, NULL, run_add_long_key, KWQ_ADDED, check_long_key },
	{ "add dirty", KWQ_IOC_ADD, NULL, run_add_dirty, KWQ_DIRTIED, check_dirty },
	{ "add batch", KWQ_IOC_ADD, prepare_batch, run_add_batch, NR, check_batch_added },
	{ "add long batch", KWQ_IOC_ADD, prepare_long_batch, run_add_batch, NR,
	  check_batch_added },
	{ "add to a full queue", KWQ_IOC_ADD, prepare_full, run_add_to_full, -ENOSPC,
	  check_refused },
	{ "add batch to a full queue", KWQ_IOC_ADD, prepare_full, run_add_batch_to_full, NR,
	  check_all_refused },
	{ "add and wait", KWQ_IOC_ADD, NULL, run_add_wait, KWQ_ADDED, check_added },
	{ "add too late", KWQ_IOC_ADD, prepare_full, run_add_too_late, -ETIMEDOUT,
	  check_refused },
	{ "add rate limited", KWQ_IOC_ADD, prepare_slow, run_add_rate_limited, KWQ_WAITING,
	  check_rate_limited },
	{ "add debounced", KWQ_IOC_ADD, NULL, run_add_debounced, KWQ_WAITING, check_waiting },
	{ "add value", KWQ_IOC_ADD, prepare_valued, run_add_value, KWQ_ADDED, check_value },
	{ "add short value", KWQ_IOC_ADD, prepare_valued, run_add_short_value, KWQ_ADDED,
	  check_value },
	{ "add group", KWQ_IOC_ADD, prepare_grouped, run_add_group, KWQ_ADDED, check_group },
	{ "kick", KWQ_IOC_ADD, prepare_dead, run_kick, KWQ_ADDED, check_kicked },
	{ "get", KWQ_IOC_GET, prepare_ready, run_get, 1, check_got },
	{ "get batch", KWQ_IOC_GET, prepare_ready, run_get_batch, NR, check_got },
	{ "get value", KWQ_IOC_GET, prepare_value, run_get_value, 1, check_value_got },
	{ "get long key and value", KWQ_IOC_GET, prepare_long_key_and_value, run_get_value, 1,
	  check_value_got },
	{ "get group", KWQ_IOC_GET, prepare_group, run_get_group, 1, check_group_got },
	{ "get long key", KWQ_IOC_GET, prepare_long_key, run_get_long_key, 1,
	  check_long_key_got },
	{ "get nothing", KWQ_IOC_GET, NULL, run_get_nothing, -EAGAIN, NULL },
	{ "get too late", KWQ_IOC_GET, NULL, run_get_too_late, -ETIMEDOUT, NULL },
	{ "add, done and get", KWQ_IOC_GET, prepare_next, run_next, NR - NR_OLD + NR_NEW,
	  check_next },
	{ "done", KWQ_IOC_DONE, NULL, run_done, KWQ_FINISHED, check_out_done },
	{ "done batch", KWQ_IOC_DONE, prepare_held, run_done_batch, NR, check_done },
	{ "bury", KWQ_IOC_DONE, NULL, run_bury, KWQ_BURIED, check_buried },
	{ "give back", KWQ_IOC_DONE, NULL, run_give_back, KWQ_RETURNED, check_given_back },
	{ "remove", KWQ_IOC_REMOVE, prepare_ready, run_remove, KWQ_WAS_READY,
	  check_one_removed },
	{ "revoke", KWQ_IOC_REMOVE, NULL, run_revoke, KWQ_WAS_PROCESSING, check_revoked },
	{ "remove batch", KWQ_IOC_REMOVE, prepare_remove, run_remove_batch, NR, check_removed },
	{ "drop", KWQ_IOC_REMOVE, prepare_dead, run_drop, KWQ_WAS_DEAD, check_dropped },
	{ "len", KWQ_IOC_LEN, prepare_ready, run_len, NR, NULL },
	{ "stat", KWQ_IOC_STAT, NULL, run_stat, 0, NULL },
	{ "shut down", KWQ_IOC_SHUT_DOWN, prepare_all_states, run_shut_down, 0,
	  check_shut_down },
	{ "shutting down", KWQ_IOC_SHUTTING_DOWN, NULL, run_shutting_down, 0, NULL },
	{ "drain", KWQ_IOC_DRAIN, prepare_all_states, run_drain, -ETIMEDOUT, check_shut_down },
	{ "forget", KWQ_IOC_FORGET, prepare_counts, run_forget, 1, check_one_forgotten },
	{ "forget batch", KWQ_IOC_FORGET, prepare_counts, run_forget_batch, NR,
	  check_forgotten },
	{ "requeues", KWQ_IOC_REQUEUES, prepare_counts, run_requeues, 1, NULL },
	{ "requeues batch", KWQ_IOC_REQUEUES, prepare_counts, run_requeues_batch, NR, NULL },
	{ "configure", KWQ_IOC_CONFIGURE, NULL, run_configure, 0, check_configured },
	{ "config", KWQ_IOC_CONFIG, NULL, run_config, 0, NULL },
	{ "list items", KWQ_IOC_LIST_ITEMS, prepare_ready, run_list_items, NR, NULL },
	{ "look", KWQ_IOC_LIST_ITEMS, prepare_ready, run_look, 1, NULL },
	{ "advance", KWQ_IOC_ADVANCE, prepare_clock, run_advance, 0, check_advanced },
	{ "pause", KWQ_IOC_PAUSE, NULL, run_pause, 0, check_paused },
	{ "term", KWQ_IOC_TERM, NULL, run_term, 0, check_term },
	{ "bpf", KWQ_IOC_BPF, NULL, run_bpf, 0, NULL },
	{ "resume", KWQ_IOC_RESUME, prepare_pause, run_resume, 0, check_resumed },
	{ "extend", KWQ_IOC_EXTEND, prepare_leases, run_extend, 0, check_one_extended },
	{ "extend batch", KWQ_IOC_EXTEND, prepare_leases, run_extend_batch, NR,
	  check_extended },
	{ "restore", KWQ_IOC_RESTORE, NULL, run_restore, KWQ_RESTORED, check_added },
	{ "restore batch", KWQ_IOC_RESTORE, prepare_restore, run_restore_batch, NR,
	  check_batch_added },
	{ "board", KWQ_IOC_BOARD, NULL, run_board, 0, check_board },
	{ "tell", KWQ_IOC_TELL, NULL, run_tell, 0, check_told },
	{ "create followed", KWQ_IOC_CREATE, NULL, run_create_followed, 0, NULL },
	{ "create with an outbox", KWQ_IOC_CREATE, NULL, run_create_with_outbox, 0,
	  check_handles },
	{ "open with an outbox", KWQ_IOC_OPEN, prepare_outbox, run_reopen_with_outbox, 0,
	  check_handles },
	{ "add to an outbox", KWQ_IOC_ADD, prepare_outbox, run_add_to_outbox, KWQ_ADDED,
	  check_added },
	{ "grant", KWQ_IOC_RESTORE, prepare_changes, run_grant, KWQ_RESTORED, check_token },
	{ "follow", KWQ_IOC_FOLLOW, prepare_changes, run_follow, 0, check_follows },
	{ "changes", KWQ_IOC_CHANGES, prepare_unread, read_changes, NR, check_unread },
	{ "sync", KWQ_IOC_SYNC, prepare_unread, run_sync, -ETIMEDOUT, check_unread },
	{ "poll", 0, prepare_ready, run_poll, POLLIN | POLLOUT, NULL },
	{ "poll in vain", 0, NULL, run_poll_in_vain, 0, NULL },
	{ "epoll", 0, prepare_epoll, run_epoll, 0, check_epoll },
	{ "fdinfo", 0, prepare_fdinfo, run_fdinfo, 0, NULL },
};

#define DEBUGFS	"/sys/kernel/debug/"
#define REFCNT	"/sys/module/kwq/refcnt"

/* Lets every allocation fail, and keeps failures out of the log. */
static void prepare_injection(void)
{
	write_text(DEBUGFS "failslab/ignore-gfp-wait", "N");
	write_text(DEBUGFS "failslab/verbose", "0");
	write_text(DEBUGFS "fail_page_alloc/ignore-gfp-wait", "N");
	write_text(DEBUGFS "fail_page_alloc/ignore-gfp-highmem", "N");
	write_text(DEBUGFS "fail_page_alloc/min-order", "0");
	write_text(DEBUGFS "fail_page_alloc/verbose", "0");
	write_text(DEBUGFS "fail_usercopy/verbose", "0");
}

FIXTURE_SETUP(failure)
{
	int q;

	self->nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (self->nth < 0)
		SKIP(return, "this kernel has no fault injection");
	ASSERT_EQ(0, access(DEBUGFS "failslab", F_OK));
	prepare_injection();
	faults_are_made = true;
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	snprintf(self->name, sizeof(self->name), "limits.%d.old", getpid());
	snprintf(self->new_name, sizeof(self->new_name), "limits.%d.new", getpid());
	self->b = new_batch();
	self->items = calloc(NR, sizeof(*self->items));
	ASSERT_NE(NULL, self->items);
	q = q_create(self->dev, self->name, 0, O_CLOEXEC, 0700);
	ASSERT_LE(0, q);
	close(q);
	self->refs = read_number(REFCNT);
	ASSERT_LT(0, self->refs);
}

FIXTURE_TEARDOWN(failure)
{
	be_root_again();
	q_unlink(self->dev, self->name);
	q_unlink(self->dev, self->new_name);
	close(self->dev);
	close(self->nth);
}

static void arm(failure_fixture *self, int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", nth);

	REQUIRE(pwrite(self->nth, text, len, 0) == len);
}

/*
 * Whether a step failed since arming. Reading and disarming also copy, and may be the
 * step that fails.
 */
static bool disarm(failure_fixture *self)
{
	char text[16] = "";
	ssize_t n = pread(self->nth, text, sizeof(text) - 1, 0);
	bool failed = n > 0 && !atoi(text);

	if (pwrite(self->nth, "0", 1, 0) != 1) {
		REQUIRE(errno == EFAULT);
		REQUIRE(pwrite(self->nth, "0", 1, 0) == 1);
		failed = false;
	}
	return failed;
}

/*
 * Accounts for everything, whatever happened: each remaining item comes out once, and
 * then the queue is empty. First the items that the two handles hold come back (O1).
 */
static void account_for_all(struct __test_metadata *_metadata, failure_fixture *self)
{
	static struct item items[NR + 8];
	static struct batch b;
	int q = q_reopen(self->q), n;
	struct kwq_stat stat;

	ASSERT_LE(0, q);
	close(self->out);
	close(self->q);
	EXPECT_EQ(0, q_resume(q));
	EXPECT_EQ(0, q_term(q, KWQ_NO_DEADLINE));
	ASSERT_EQ(0, q_stat(q, &stat));
	EXPECT_EQ(1, stat.handles);
	EXPECT_EQ(0, stat.processing);
	EXPECT_EQ(stat.items, stat.ready + stat.waiting + stat.dead + stat.remembered);

	n = q_get_many(q, items, ARRAY_SIZE(items), KWQ_GET_NONBLOCK, 0);
	EXPECT_EQ(stat.ready, n < 0 ? 0 : n);
	batch_begin(&b);
	for (int i = 0; i < n; i++) {
		batch_done(&b, items[i].ticket);
		for (int j = 0; j < i; j++)
			EXPECT_STRNE(items[i].key, items[j].key);
	}
	if (n > 0)
		EXPECT_EQ(n, batch_run(q, KWQ_IOC_DONE, &b));
	EXPECT_EQ(0, q_shut_down(q));
	check_stat(q, .items = 0, .state = KWQ_STATE_SHUT_DOWN);
	close(q);
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* Makes everything anew, fails the @nth step of the action, and checks the state. */
static bool fail_at(struct __test_metadata *_metadata, failure_fixture *self,
		    const struct action *action, int nth)
{
	struct kwq_stat after;
	struct item item;
	bool failed;
	int ret, fd;

	self->q = new_queue(self->dev);
	ASSERT_LE(0, self->q);
	self->out = q_reopen(self->q);
	ASSERT_LE(0, self->out);
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "out"));
	ASSERT_EQ(1, q_try_get(self->out, &item));
	self->made = -1;
	self->clocked = -1;
	self->spare = -1;
	if (action->prepare)
		action->prepare(self);
	ASSERT_EQ(0, q_stat(self->q, &self->before));
	fd = next_fd();

	result_is_lost = false;
	arm(self, nth);
	ret = action->run(self);
	failed = disarm(self);

	close_if_open(self->made);
	EXPECT_EQ(fd, next_fd());
	if (!failed) {
		EXPECT_EQ(action->ret, ret);
	} else if (ret < 0 && ret != action->ret) {
		EXPECT_TRUE(ret == -ENOMEM || ret == -EFAULT);
		ASSERT_EQ(0, q_stat(self->q, &after));
		/* An undone hand-out stays in the histogram. */
		after.queue_duration = self->before.queue_duration;
		/* An error of the third part keeps the effects of the first two. */
		if (action->run != run_next && !result_is_lost)
			EXPECT_TRUE(same_stat(&self->before, &after));
	}
	/* Without its result the outcome of an entry is unknown; it only must not read
	 * as success.
	 */
	if (action->check && (!result_is_lost || action->check == check_refused))
		action->check(_metadata, self, ret);
	else if (result_is_lost)
		remove_long_key(self);
	close_if_open(self->clocked);
	account_for_all(_metadata, self);
	close_if_open(self->spare);
	EXPECT_EQ(self->refs, read_number(REFCNT));
	return failed;
}

/* A request without an argument copies nothing. */
static bool may_fail(const struct action *action)
{
	return !action->cmd || _IOC_SIZE(action->cmd);
}

/* Fails each step of an action in turn. Returns the number of steps. */
static int fail_each(struct __test_metadata *_metadata, failure_fixture *self,
		     const struct action *action)
{
	int nth = 1;

	while (fail_at(_metadata, self, action, nth) && !_metadata->exit_code)
		nth++;
	if (_metadata->exit_code)
		TH_LOG("%s: with step %d failing", action->name, nth);
	be_root_again();
	return nth - 1;
}

/* O4, O6, O1, O2 */
TEST_F_TIMEOUT(failure, at_every_step, 200 + soak_seconds())
{
	__u64 until = now_ns() + soak_seconds() * SEC, operations = 0, faults = 0;
	bool first = true;

	do {
		for (int i = 0; i < ARRAY_SIZE(actions) && !_metadata->exit_code; i++) {
			int steps = fail_each(_metadata, self, &actions[i]);

			EXPECT_EQ(may_fail(&actions[i]), steps > 0);
			if (first)
				TH_LOG("%s: %d steps that can fail", actions[i].name, steps);
			operations += steps + 1;
			faults += steps;
		}
		first = false;
	} while (now_ns() < until && !_metadata->exit_code);
	TH_LOG("%llu failures", faults);
	tell_soak(operations, faults);
}

/*
 * Memory that disappears during a request. Each page that a get with all three parts
 * touches is missing until the kernel needs it. At that moment userfaultfd stops the
 * request, and the test takes a page away: another one, or the same.
 */
enum {
	PAGE_REQUEST,
	PAGE_ADDS,
	PAGE_ADD_KEYS,
	PAGE_ADD_RESULTS,
	PAGE_DONES,
	PAGE_DONE_RESULTS,
	PAGE_GOT,
	PAGE_GOT_KEYS,
	NR_PAGES
};

FIXTURE(torn)
{
	failure_fixture made;	/* the queue, and what is in it */
	size_t page;
	__u8 *memory;		/* the arguments of the request */
	__u8 *content;		/* of @memory, once it is wanted */
	int uffd;
	int trigger;		/* when this page is wanted */
	int victim;		/* this one is made so: */
	int protection;
	bool wanted;		/* @trigger was */
};

typedef FIXTURE_DATA(torn) torn_fixture;

FIXTURE_SETUP(torn)
{
	failure_fixture *made = &self->made;

	self->uffd = syscall(__NR_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (self->uffd < 0)
		SKIP(return, "this kernel has no userfaultfd");
	faults_are_made = true;
	self->page = getpagesize();
	self->content = calloc(NR_PAGES, self->page);
	made->dev = open_device();
	ASSERT_LE(0, made->dev);
	made->b = new_batch();
	made->items = calloc(NR, sizeof(*made->items));
	ASSERT_TRUE(self->content && made->items);
}

FIXTURE_TEARDOWN(torn)
{
	close(self->made.dev);
	close(self->uffd);
}

static __u64 page_for(torn_fixture *self, int page, const void *content, size_t size)
{
	REQUIRE(size <= self->page);
	memset(self->content + page * self->page, 0, self->page);
	memcpy(self->content + page * self->page, content, size);
	return user_ptr(self->memory + page * self->page);
}

/* prepare_next() has made all three parts; here each part gets its own pages. */
static void prepare_pages(torn_fixture *self)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct batch *b = self->made.b;
	struct kwq_get_args get = all_three;

	self->memory = mmap(NULL, NR_PAGES * self->page, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(self->memory != MAP_FAILED);
	self->uffd = syscall(__NR_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	REQUIRE(self->uffd >= 0 && !ioctl(self->uffd, UFFDIO_API, &api));
	range.range.start = user_ptr(self->memory);
	range.range.len = NR_PAGES * self->page;
	REQUIRE(!ioctl(self->uffd, UFFDIO_REGISTER, &range));

	get.add.entries = page_for(self, PAGE_ADDS, b->add, NR_NEW * sizeof(b->add[0]));
	get.add.keys = page_for(self, PAGE_ADD_KEYS, b->keys, b->keys_len);
	get.add.results = page_for(self, PAGE_ADD_RESULTS, NULL, 0);
	get.done.entries = page_for(self, PAGE_DONES, old.done, NR_OLD * sizeof(old.done[0]));
	get.done.keys = 0;
	get.done.results = page_for(self, PAGE_DONE_RESULTS, NULL, 0);
	get.get = (struct kwq_batch){
		.entries = page_for(self, PAGE_GOT, NULL, 0),
		.keys = page_for(self, PAGE_GOT_KEYS, NULL, 0),
		.keys_len = self->page,
		.nr = NR,
		.entry_size = sizeof(struct kwq_got),
	};
	page_for(self, PAGE_REQUEST, &get, sizeof(get));
}

/* Supplies the pages that the request needs, until nobody can need one. */
static int call_page_giver(struct sleeper *s)
{
	torn_fixture *self = s->arg;
	struct pollfd pollfds[2] = {
		{ .fd = self->uffd, .events = POLLIN },
		{ .fd = s->fd, .events = POLLIN },
	};
	struct uffd_msg msg;

	while (poll(pollfds, 2, -1) > 0) {
		struct uffdio_copy copy = { .len = self->page };
		int page;

		if (pollfds[1].revents)
			return 0;
		if (read(self->uffd, &msg, sizeof(msg)) != sizeof(msg))
			continue;
		REQUIRE(msg.event == UFFD_EVENT_PAGEFAULT);
		page = (msg.arg.pagefault.address - user_ptr(self->memory)) / self->page;
		if (page == self->trigger) {
			self->wanted = true;
			REQUIRE(!mprotect(self->memory + self->victim * self->page, self->page,
					  self->protection));
		}
		copy.dst = user_ptr(self->memory + page * self->page);
		copy.src = user_ptr(self->content + page * self->page);
		REQUIRE(!ioctl(self->uffd, UFFDIO_COPY, &copy));
	}
	return -1;
}

static int run_torn(torn_fixture *self)
{
	struct sleeper giver = { .call = call_page_giver, .arg = self };
	int ret, ends[2];

	REQUIRE(!pipe2(ends, O_CLOEXEC));
	giver.fd = ends[0];
	self->wanted = false;
	sleeper_start(&giver);
	ret = request(self->made.q, KWQ_IOC_GET, self->memory);
	close(ends[1]);
	REQUIRE(!sleeper_join(&giver));
	close(ends[0]);
	close(self->uffd);
	return ret;
}

/*
 * Checks that the reported part of the request happened, as far as it could be
 * reported, and that everything that happened is allowed.
 */
static void check_torn(struct __test_metadata *_metadata, torn_fixture *self, int ret)
{
	const struct kwq_get_args *told = (struct kwq_get_args *)self->memory;
	int added, done, got = ret < 0 ? 0 : ret;
	struct kwq_stat stat;

	REQUIRE(!mprotect(self->memory, NR_PAGES * self->page, PROT_READ | PROT_WRITE));
	ASSERT_EQ(0, q_stat(self->made.q, &stat));
	added = stat.adds - self->made.before.adds;
	done = stat.dones;
	EXPECT_TRUE(ret > 0 || ret == -EFAULT);
	EXPECT_TRUE(added <= NR_NEW && done <= NR_OLD);
	EXPECT_TRUE(!done || added == NR_NEW);
	EXPECT_TRUE(ret < 0 || done == NR_OLD);
	if (self->victim == PAGE_REQUEST) {
		EXPECT_TRUE(!told->nr_added || told->nr_added == added);
		EXPECT_TRUE(!told->nr_done || told->nr_done == done);
	} else {
		EXPECT_EQ(added, told->nr_added);
		EXPECT_EQ(done, told->nr_done);
	}
	check_stat(self->made.q, .ready = NR - NR_OLD + added - got,
		   .processing = 1 + NR_OLD - done + got, .items = NR + 1 + added - done);
}

static int tear(struct __test_metadata *_metadata, torn_fixture *self)
{
	failure_fixture *made = &self->made;
	struct item item;
	int ret;

	made->q = new_queue(made->dev);
	ASSERT_LE(0, made->q);
	made->out = q_reopen(made->q);
	ASSERT_LE(0, made->out);
	ASSERT_EQ(KWQ_ADDED, q_add(made->q, "out"));
	ASSERT_EQ(1, q_try_get(made->out, &item));
	prepare_next(made);
	ASSERT_EQ(0, q_stat(made->q, &made->before));
	prepare_pages(self);
	ret = run_torn(self);
	EXPECT_TRUE(self->wanted || ret == -EFAULT);
	check_torn(_metadata, self, ret);
	account_for_all(_metadata, made);
	REQUIRE(!munmap(self->memory, NR_PAGES * self->page));
	return ret;
}

/* O2, O6, Q13 */
TEST_F_TIMEOUT(torn, at_every_moment, 100)
{
	static const int protections[] = { PROT_NONE, PROT_READ };
	int faults = 0, nr = 0;

	close(self->uffd);
	for (int i = 0; i < NR_PAGES * NR_PAGES * ARRAY_SIZE(protections); i++) {
		self->trigger = i % NR_PAGES;
		self->victim = i / NR_PAGES % NR_PAGES;
		self->protection = protections[i / NR_PAGES / NR_PAGES];
		faults += tear(_metadata, self) < 0;
		nr++;
		if (!_metadata->exit_code)
			continue;
		TH_LOG("page %d taken away when %d was wanted", self->victim, self->trigger);
		break;
	}
	/* Each part can end the request, but not every page does. */
	EXPECT_LE(NR_PAGES, faults);
	EXPECT_GT(nr, faults);
	TH_LOG("%d requests, %d of them ended by a fault", nr, faults);
}

static bool has_row(unsigned int nr)
{
	for (int i = 0; i < ARRAY_SIZE(actions); i++)
		if (actions[i].cmd && _IOC_NR(actions[i].cmd) == nr)
			return true;
	return false;
}

/* O6: a new request of the ABI needs a row in the table of actions. */
TEST(every_request_has_a_row)
{
	int dev = open_device(), q = new_queue(dev);

	ASSERT_LE(0, q);
	for (int nr = 0; nr < 1 << _IOC_NRBITS; nr++) {
		bool known = false;

		/* A request has an argument or not, and its number contains the
		 * direction.
		 */
		for (int dir = 0; dir < 4; dir++) {
			unsigned long cmd = _IOC(dir, KWQ_IOC_MAGIC, nr, dir ? 4 : 0);

			known = known || request(dev, cmd, NULL) != -ENOTTY ||
				request(q, cmd, NULL) != -ENOTTY;
		}
		EXPECT_EQ(known, has_row(nr)) {
			TH_LOG("request %#x", nr);
		}
	}
	close(q);
	close(dev);
}

TEST_HARNESS_MAIN
