// SPDX-License-Identifier: GPL-2.0-only
/*
 * O2, O4, O6: no memory, or memory that faults, at any one step of a request.
 */
#include "kwq_test.h"

/*
 * Failures on request: /proc/thread-self/fail-nth makes the nth allocation or access to
 * user memory from then on fail, whichever it is. A request is made again and again,
 * with each of them failing once, until it comes through without.
 */

#define NR	70	/* entries of a batch: more than the kernel takes in one go */

FIXTURE(failure)
{
	int dev;
	int q;
	int out;	/* a handle that holds "out" */
	int nth;	/* the file */
	int made;	/* a descriptor that the request gave */
	char name[32];
	char new_name[32];
	struct batch *b;
	struct item *items;
	struct kwq_stat before;
};

typedef FIXTURE_DATA(failure) failure_fixture;

struct action {
	const char *name;
	/* The queue is new each time; there is a named one, too. */
	void (*prepare)(failure_fixture *self);
	/* The request alone; returns what it returned. */
	int (*run)(failure_fixture *self);
	int ret;
	/* Looks at what is so after success; what a failure leaves is looked at anyway. */
	void (*check)(struct __test_metadata *_metadata, failure_fixture *self, int ret);
};

static void fill_numbered(struct batch *b, int nr)
{
	char key[16];

	memset(b, 0, sizeof(*b));
	for (int i = 0; i < nr; i++) {
		snprintf(key, sizeof(key), "key%04d", i);
		batch_add(b, key);
	}
}

static int run_create(failure_fixture *self)
{
	self->made = new_queue(self->dev);
	return self->made < 0 ? self->made : 0;
}

static int run_create_named(failure_fixture *self)
{
	self->made = q_create(self->dev, self->new_name, 0, O_RDWR | O_CLOEXEC, 0600);
	return self->made < 0 ? self->made : 0;
}

static void check_named(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	/* The name is there if the queue is, and only then. */
	EXPECT_EQ(ret < 0 ? -ENOENT : 0, q_unlink(self->dev, self->new_name));
}

static int run_open_name(failure_fixture *self)
{
	self->made = q_open(self->dev, self->name, O_RDWR | O_CLOEXEC);
	return self->made < 0 ? self->made : 0;
}

static int run_reopen(failure_fixture *self)
{
	self->made = q_reopen(self->q);
	return self->made < 0 ? self->made : 0;
}

static int run_unlink(failure_fixture *self)
{
	return q_unlink(self->dev, self->name);
}

static void check_unlinked(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	int q = q_create(self->dev, self->name, 0, O_RDWR | O_CLOEXEC, 0600);

	EXPECT_EQ(ret < 0 ? -EEXIST : 0, q < 0 ? q : 0);
	close(q);
}

static int run_list(failure_fixture *self)
{
	struct kwq_list_entry entries[20];
	struct kwq_list list = {
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

static int run_add(failure_fixture *self)
{
	return q_add(self->q, "a");
}

static void check_added(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	EXPECT_EQ(ret < 0 ? -ENOENT : KWQ_WAS_READY, q_remove(self->q, "a"));
}

static int run_add_after(failure_fixture *self)
{
	return q_add_after(self->q, "a", HOUR);
}

static void check_waiting(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	EXPECT_EQ(ret < 0 ? -ENOENT : KWQ_WAS_WAITING, q_remove(self->q, "a"));
}

static int run_add_long_key(failure_fixture *self)
{
	static __u8 key[KWQ_KEY_MAX];

	return q_add_bytes(self->q, key, sizeof(key), 0, 0, 0);
}

static int run_add_dirty(failure_fixture *self)
{
	return q_add(self->q, "out");
}

static void check_dirty(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	EXPECT_EQ(ret < 0 ? KWQ_FINISHED : KWQ_REQUEUED, q_done_key(self->out, "out"));
}

static void prepare_batch(failure_fixture *self)
{
	fill_numbered(self->b, NR);
	poison(self->b->results, sizeof(self->b->results));
}

static int run_add_batch(failure_fixture *self)
{
	return batch_run(self->q, KWQ_IOC_ADD, self->b);
}

/* Those whose result says so, and no others. */
static int count_results(struct batch *b, int nr)
{
	int n = 0;

	for (int i = 0; i < nr; i++) {
		REQUIRE(b->results[i] >= 0 || b->results[i] == -ENOMEM);
		n += b->results[i] >= 0;
	}
	return n;
}

static void check_batch_added(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	int n = count_results(self->b, ret < 0 ? 0 : ret);

	check_stat(self->q, .ready = n, .processing = 1, .items = n + 1);
}

static void prepare_ready(failure_fixture *self)
{
	prepare_batch(self);
	REQUIRE(batch_run(self->q, KWQ_IOC_ADD, self->b) == NR);
}

static int run_get(failure_fixture *self)
{
	return q_try_get(self->q, self->items);
}

static int run_get_batch(failure_fixture *self)
{
	return q_get_many(self->q, self->items, NR, KWQ_GET_NONBLOCK, KWQ_NO_DEADLINE);
}

/* O2: those that were fetched; the others in their order, and not counted. */
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

static int run_done_batch(failure_fixture *self)
{
	return batch_run(self->q, KWQ_IOC_DONE, self->b);
}

static void check_done(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	int n = count_results(self->b, ret < 0 ? 0 : ret);

	check_stat(self->q, .processing = NR + 1 - n, .items = NR + 1 - n);
	check_counts(self->q, .adds = NR + 1, .gets = NR + 1, .dones = n);
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

static int run_remove_batch(failure_fixture *self)
{
	return batch_run(self->q, KWQ_IOC_REMOVE, self->b);
}

static void check_removed(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	int n = count_results(self->b, ret < 0 ? 0 : ret);

	check_stat(self->q, .ready = NR - n, .processing = 1, .items = NR + 1 - n);
}

static int run_shut_down(failure_fixture *self)
{
	return q_shut_down(self->q);
}

static int run_drain(failure_fixture *self)
{
	return q_drain(self->q, 1);
}

static void check_shut_down(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	EXPECT_EQ(ret == -EFAULT || ret == -ENOMEM ? 0 : 1, q_shutting_down(self->q));
}

static const struct kwq_limiter some_limiters[] = {
	EXPONENTIAL(1, 2), FAST_SLOW(3, 4, 5), BUCKET(6, 7, 8),
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

/* The default has two limiters; there are those or these. */
static void check_configured(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	struct kwq_limiter limiters[KWQ_LIMITERS_MAX];
	struct kwq_config config;

	ASSERT_EQ(0, q_config(self->q, &config, limiters, KWQ_LIMITERS_MAX));
	EXPECT_EQ(ret < 0 ? 2 : 3, config.nr);
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

static int run_list_dead(failure_fixture *self)
{
	static struct dead dead[NR];

	return q_list_dead(self->q, dead, NR, 0);
}

static int run_kick(failure_fixture *self)
{
	return q_kick(self->q, "key0042");
}

static void check_kicked(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	EXPECT_EQ(ret < 0 ? KWQ_WAS_DEAD : KWQ_WAS_READY, q_remove(self->q, "key0042"));
}

/* So that nothing is due before it is looked at. */
static void prepare_slow(failure_fixture *self)
{
	static const struct kwq_limiter hour[] = { FAST_SLOW(HOUR, HOUR, 0) };
	const struct kwq_config config = config_of(hour);

	REQUIRE(!q_configure(self->q, &config));
}

static int run_add_rate_limited(failure_fixture *self)
{
	return q_add_rate_limited(self->q, "a");
}

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

static int run_forget_batch(failure_fixture *self)
{
	return batch_run(self->q, KWQ_IOC_FORGET, self->b);
}

static void check_forgotten(struct __test_metadata *_metadata, failure_fixture *self, int ret)
{
	int n = ret < 0 ? 0 : ret;
	char key[16];

	for (int i = 0; i < NR; i++) {
		snprintf(key, sizeof(key), "key%04d", i);
		EXPECT_EQ(i < n ? 0 : 1, q_requeues(self->q, key));
	}
}

static int run_requeues_batch(failure_fixture *self)
{
	return batch_run(self->q, KWQ_IOC_REQUEUES, self->b);
}

static int run_advance(failure_fixture *self)
{
	return q_advance(self->q, 1);
}

static const struct action actions[] = {
	{ "create", NULL, run_create, 0, NULL },
	{ "create named", NULL, run_create_named, 0, check_named },
	{ "open name", NULL, run_open_name, 0, NULL },
	{ "reopen", NULL, run_reopen, 0, NULL },
	{ "unlink", NULL, run_unlink, 0, check_unlinked },
	{ "list", NULL, run_list, 0, NULL },
	{ "info", NULL, run_info, 0, NULL },
	{ "stat", NULL, run_stat, 0, NULL },
	{ "add", NULL, run_add, KWQ_ADDED, check_added },
	{ "add after", NULL, run_add_after, KWQ_WAITING, check_waiting },
	{ "add long key", NULL, run_add_long_key, KWQ_ADDED, NULL },
	{ "add dirty", NULL, run_add_dirty, KWQ_DIRTIED, check_dirty },
	{ "add batch", prepare_batch, run_add_batch, NR, check_batch_added },
	{ "get", prepare_ready, run_get, 1, check_got },
	{ "get batch", prepare_ready, run_get_batch, NR, check_got },
	{ "done batch", prepare_held, run_done_batch, NR, check_done },
	{ "remove batch", prepare_remove, run_remove_batch, NR, check_removed },
	{ "shut down", NULL, run_shut_down, 0, check_shut_down },
	{ "drain", NULL, run_drain, -ETIMEDOUT, check_shut_down },
	{ "create configured", NULL, run_create_configured, 0, NULL },
	{ "configure", NULL, run_configure, 0, check_configured },
	{ "config", NULL, run_config, 0, NULL },
	{ "list dead", prepare_dead, run_list_dead, NR, NULL },
	{ "kick", prepare_dead, run_kick, KWQ_ADDED, check_kicked },
	{ "add rate limited", prepare_slow, run_add_rate_limited, KWQ_WAITING, check_rate_limited },
	{ "forget batch", prepare_counts, run_forget_batch, NR, check_forgotten },
	{ "requeues batch", prepare_counts, run_requeues_batch, NR, NULL },
	{ "advance", NULL, run_advance, -EOPNOTSUPP, NULL },
};

#define DEBUGFS	"/sys/kernel/debug/"

/* Any allocation may fail, and none of them is worth a page of the log. */
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
}

FIXTURE_TEARDOWN(failure)
{
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

/* Did something fail since? To ask, and to say stop, copies too and can be what fails. */
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

/* Makes everything anew, has the @nth step of the action fail, and looks at what is so then. */
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
	ret = q_create(self->dev, self->name, KWQ_CREATE_OR_OPEN, O_RDWR | O_CLOEXEC, 0600);
	ASSERT_LE(0, ret);
	close(ret);
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "out"));
	ASSERT_EQ(1, q_try_get(self->out, &item));
	if (action->prepare)
		action->prepare(self);
	ASSERT_EQ(0, q_stat(self->q, &self->before));
	self->made = -1;
	fd = next_fd();

	arm(self, nth);
	ret = action->run(self);
	failed = disarm(self);

	if (self->made >= 0)
		close(self->made);
	EXPECT_EQ(fd, next_fd());
	if (!failed) {
		EXPECT_EQ(action->ret, ret);
	} else if (ret < 0 && ret != action->ret) {
		EXPECT_TRUE(ret == -ENOMEM || ret == -EFAULT);
		ASSERT_EQ(0, q_stat(self->q, &after));
		/* Hand-outs that were undone stay in it. */
		after.queue_duration = self->before.queue_duration;
		EXPECT_TRUE(same_stat(&self->before, &after));
	}
	if (action->check)
		action->check(_metadata, self, ret);
	close(self->out);
	close(self->q);
	return failed;
}

/* O4, O6, O2 */
TEST_F_TIMEOUT(failure, at_every_step, 100)
{
	for (int i = 0; i < ARRAY_SIZE(actions); i++) {
		int nth = 1;

		while (fail_at(_metadata, self, &actions[i], nth) && !_metadata->exit_code)
			nth++;
		/* At least one step can fail: each of them copies something. */
		EXPECT_LT(1, nth);
		TH_LOG("%s: %d steps that can fail", actions[i].name, nth - 1);
	}
}

TEST_HARNESS_MAIN
