// SPDX-License-Identifier: GPL-2.0-only
/*
 * N8: FOLLOW, CHANGES and SYNC. A handle follows the changes of a queue, and calls
 * wait until these are kept. kmod/tests/keyed/changes_test.c tests the numbers of changes.
 */
#include "kwq_test.h"

#include <sys/epoll.h>

#define MOST	256	/* items of a read */

FIXTURE(changes)
{
	int dev;
	int q;			/* its handle follows */
	int w;			/* a handle of a worker */
	struct reader r;
	struct listed_item read[MOST];
	char text[4096];
};

typedef FIXTURE_DATA(changes) changes_fixture;

/* Makes another queue, and follows it. */
static void make_queue(changes_fixture *self, const struct kwq_create_args *how)
{
	struct kwq_create_args create = *how;

	create.size = sizeof(create);
	create.flags |= KWQ_CREATE_CHANGES;
	create.open_flags = O_CLOEXEC;
	create.rights = ALL_RIGHTS;
	close(self->q);
	close(self->w);
	self->q = request(self->dev, KWQ_IOC_CREATE, &create);
	self->w = q_reopen(self->q);
	REQUIRE(self->q >= 0 && self->w >= 0);
	memset(&self->r, 0, sizeof(self->r));
	REQUIRE(!q_follow(self->q, &self->r.after));
	/* It knows that the queue was created, and keeps that. */
	REQUIRE(self->r.after == CREATION);
	self->r.of_queue = CREATION;
	self->r.kept = CREATION;
	REQUIRE(q_changes(self->q, &self->r, self->read, 1, KWQ_CHANGES_NONBLOCK, 0) == -EAGAIN);
}

FIXTURE_SETUP(changes)
{
	static const struct kwq_create_args monotonic = { .clockid = CLOCK_MONOTONIC };

	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->q = -1;
	self->w = -1;
	make_queue(self, &monotonic);
}

FIXTURE_TEARDOWN(changes)
{
	close(self->q);
	close(self->w);
	close(self->dev);
}

static int try_read(changes_fixture *self, struct reader *r, unsigned int nr)
{
	return q_changes(self->q, r, self->read, nr, KWQ_CHANGES_NONBLOCK, 0);
}

/* The items that were read, as "key:states ", in the order of KWQ_IS_*. */
static const char *describe(changes_fixture *self, int nr)
{
	static const char letters[] = "RWPDXMAY";
	size_t len = 0;

	self->text[0] = 0;
	for (int i = 0; i < nr; i++) {
		len += sprintf(self->text + len, "%s:", self->read[i].key);
		for (int bit = 0; bit < 8; bit++)
			if (self->read[i].item.state & 1U << bit)
				self->text[len++] = letters[bit];
		self->text[len++] = ' ';
		self->text[len] = 0;
	}
	if (nr < 0)
		snprintf(self->text, sizeof(self->text), "error %d", nr);
	return self->text;
}

/* Reads what has changed. */
static const char *news(changes_fixture *self)
{
	return describe(self, try_read(self, &self->r, 16));
}

#define NO_NEWS	"error -11"	/* EAGAIN */

static struct kwq_stat stat_of(int q)
{
	struct kwq_stat stat;

	REQUIRE(!q_stat(q, &stat));
	return stat;
}

/* Reads all, and tells that all is kept. */
static void keep_all(changes_fixture *self)
{
	int ret;

	do {
		ret = try_read(self, &self->r, MOST);
	} while (ret >= 0);
	REQUIRE(ret == -EAGAIN);
	self->r.kept = self->r.after;
	/* A GET that waited for this goes on at once, and its hand-out may be news already. */
	ret = try_read(self, &self->r, MOST);
	REQUIRE(ret >= 0 || ret == -EAGAIN);
	REQUIRE(stat_of(self->q).kept == self->r.kept);
}

/* FOLLOW */

TEST_F(changes, follow_of_a_queue_without_changes)
{
	int q = new_queue(self->dev);
	struct reader r = {};
	__u64 number;

	EXPECT_EQ(-EOPNOTSUPP, q_follow(q, &number));
	EXPECT_EQ(-EOPNOTSUPP, q_sync_until(q, KWQ_NO_DEADLINE));
	EXPECT_EQ(-EBADF, q_changes(q, &r, self->read, 1, KWQ_CHANGES_NONBLOCK, 0));
	EXPECT_EQ(0, stat_of(q).id);
	ASSERT_EQ(KWQ_ADDED, q_add(q, "a"));
	ASSERT_EQ(1, q_look(q, "a", self->read));
	EXPECT_EQ(0, self->read[0].item.change);
	close(q);
	EXPECT_EQ(-EINVAL, new_flagged_queue(self->dev, KWQ_CREATE_SYNC));
}

TEST_F(changes, one_handle_follows)
{
	struct kwq_stat stat = stat_of(self->w);
	int copy = dup(self->q), other = new_flagged_queue(self->dev, KWQ_CREATE_CHANGES);
	__u64 number;

	EXPECT_EQ(1, stat.followers);
	EXPECT_EQ(KWQ_CREATE_CHANGES, stat.create_flags);
	EXPECT_NE(stat.id, stat_of(other).id);
	EXPECT_EQ(0, stat_of(other).followers);
	close(other);
	EXPECT_EQ(-EBUSY, q_follow(self->q, &number));
	EXPECT_EQ(-EBUSY, q_follow(self->w, &number));
	EXPECT_EQ(-EBADF, q_changes(self->w, &self->r, self->read, 1, KWQ_CHANGES_NONBLOCK, 0));
	ASSERT_EQ(KWQ_ADDED, q_add(self->w, "a"));
	/* It follows until the last descriptor is closed. */
	close(self->q);
	EXPECT_EQ(-EBUSY, q_follow(self->w, &number));
	close(copy);
	ASSERT_EQ(0, q_follow(self->w, &number));
	EXPECT_EQ(CREATION + 1, number);
	self->q = dup(self->w);
	EXPECT_EQ(0, stat_of(self->q).unread);
}

TEST_F(changes, number_of_follow_cannot_be_written)
{
	int q = new_flagged_queue(self->dev, KWQ_CREATE_CHANGES);
	struct kwq_follow_args *arg;
	__u64 number;

	arg = mmap(NULL, getpagesize(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, arg);
	arg->size = sizeof(*arg);
	arg->number = 1;
	EXPECT_EQ(-EINVAL, request(q, KWQ_IOC_FOLLOW, arg));
	arg->number = 0;
	ASSERT_EQ(0, mprotect(arg, getpagesize(), PROT_READ));
	EXPECT_EQ(-EFAULT, request(q, KWQ_IOC_FOLLOW, arg));
	EXPECT_EQ(0, q_follow(q, &number));
	munmap(arg, getpagesize());
	close(q);
}

/* CHANGES */

static struct kwq_changes_args request_of(changes_fixture *self, struct kwq_listed *entries,
					  unsigned int nr, void *keys, size_t room)
{
	return (struct kwq_changes_args){
		.size = sizeof(struct kwq_changes_args),
		.flags = KWQ_CHANGES_NONBLOCK,
		.after = self->r.after,
		.of_queue = self->r.of_queue,
		.batch = {
			.entries = user_ptr(entries),
			.keys = user_ptr(keys),
			.keys_len = room,
			.nr = nr,
			.entry_size = sizeof(*entries),
		},
	};
}

TEST_F(changes, invalid_arguments)
{
	struct kwq_changes_args right, arg;
	struct kwq_listed entry;
	struct kwq_stat before, after;
	__u8 key[8];

	ASSERT_EQ(KWQ_ADDED, q_add(self->w, "a"));
	poison(&entry, sizeof(entry));
	before = stat_of(self->q);
	right = request_of(self, &entry, 1, key, sizeof(key));

#define EXPECT_REFUSED(err, member, value)						\
	do {										\
		arg = right;								\
		arg.member = (value);							\
		EXPECT_EQ(err, request(self->q, KWQ_IOC_CHANGES, &arg));		\
	} while (0)
	EXPECT_REFUSED(-EINVAL, flags, KWQ_CHANGES_NONBLOCK | KWQ_CHANGES_RELATIVE);
	EXPECT_REFUSED(-EINVAL, deadline, 1);
	EXPECT_REFUSED(-EINVAL, resume, 1);
	EXPECT_REFUSED(-EINVAL, kept, CREATION + 1);
	EXPECT_REFUSED(-EINVAL, after, CREATION + 1);
	EXPECT_REFUSED(-EINVAL, after, 0);
	EXPECT_REFUSED(-EINVAL, after, ~0ULL);
	EXPECT_REFUSED(-EINVAL, batch.nr, 0);
	EXPECT_REFUSED(-EINVAL, batch.results, user_ptr(key));
	EXPECT_REFUSED(-EINVAL, batch.extra_size, 8);
	EXPECT_REFUSED(-EINVAL, batch.entry_size, sizeof(entry) - 1);
	EXPECT_REFUSED(-EMSGSIZE, batch.nr, KWQ_BATCH_MAX + 1);
	arg = right;
	arg.flags = 0;
	arg.resume = 1;
	EXPECT_EQ(-EINVAL, request(self->q, KWQ_IOC_CHANGES, &arg));
	EXPECT_TRUE(is_poison(&entry, sizeof(entry)));
	after = stat_of(self->q);
	EXPECT_TRUE(same_stat(&before, &after));
	EXPECT_EQ(1, request(self->q, KWQ_IOC_CHANGES, &right));
}

TEST_F(changes, of_the_queue_itself)
{
	int (*const calls[])(int q) = { q_pause, q_resume, q_shut_down };
	static const struct kwq_create_args manual = { .clockid = KWQ_CLOCK_ID_MANUAL };
	const struct kwq_config config = default_config();
	__u64 last;

	make_queue(self, &manual);
	for (int i = 0; i < ARRAY_SIZE(calls); i++) {
		last = self->r.of_queue;
		ASSERT_EQ(0, calls[i](self->w));
		/* The wrapper checks that @of_queue has changed. */
		EXPECT_STREQ("", news(self));
		EXPECT_LT(last, self->r.of_queue);
		EXPECT_EQ(stat_of(self->q).last_change, self->r.after);
		EXPECT_STREQ(NO_NEWS, news(self));
	}
	ASSERT_EQ(0, q_drain(self->w, KWQ_NO_DEADLINE));
	EXPECT_STREQ("", news(self));

	make_queue(self, &manual);
	ASSERT_EQ(0, q_configure(self->w, &config));
	EXPECT_STREQ("", news(self));
	ASSERT_EQ(0, q_pause_for(self->w, 10));
	EXPECT_STREQ("", news(self));
	/* The end of a timed pause is no change. */
	ASSERT_EQ(0, q_advance(self->w, 20));
	EXPECT_STREQ(NO_NEWS, news(self));
	/* A change of the queue comes along with items, and to whoever does not know it. */
	ASSERT_EQ(KWQ_ADDED, q_add(self->w, "a"));
	self->r.of_queue = 0;
	EXPECT_STREQ("a:R ", news(self));
	EXPECT_EQ(CREATION + 2, self->r.of_queue);
}

/* Sizes */

TEST_F(changes, long_keys_groups_and_values)
{
	static const struct kwq_create_args all = {
		.clockid = CLOCK_MONOTONIC, .flags = KWQ_CREATE_VALUES | KWQ_CREATE_GROUPS,
	};
	static __u8 key[KWQ_KEY_MAX], group[KWQ_GROUP_MAX], value[KWQ_VALUE_MAX];
	const size_t whole = sizeof(key) + sizeof(group) + sizeof(value);
	const struct kwq_add_extra extra = {
		.value = user_ptr(value), .value_len = sizeof(value),
		.group = user_ptr(group), .group_len = sizeof(group),
	};
	const struct kwq_add_entry add = {
		.key_len = sizeof(key), .flags = KWQ_ADD_VALUE | KWQ_ADD_GROUP,
	};
	struct kwq_changes_args arg;
	struct kwq_listed entry;
	__u8 *keys = malloc(whole + GUARD);
	__s32 result;
	struct kwq_batch_args op = BATCH_ARGS(&add, key, sizeof(key), &result, &extra);

	make_queue(self, &all);
	memset(key, 'k', sizeof(key));
	memset(group, 'g', sizeof(group));
	memset(value, 'v', sizeof(value));
	ASSERT_EQ(1, request(self->w, KWQ_IOC_ADD, &op));
	ASSERT_EQ(KWQ_ADDED, result);
	poison(keys, whole + GUARD);
	/* Without room for one byte of each. */
	arg = request_of(self, &entry, 1, keys, sizeof(key) - 1);
	EXPECT_EQ(-EMSGSIZE, request(self->q, KWQ_IOC_CHANGES, &arg));
	arg.batch.keys_len = sizeof(key) + sizeof(group) - 1;
	EXPECT_EQ(-EMSGSIZE, request(self->q, KWQ_IOC_CHANGES, &arg));
	arg.flags |= KWQ_CHANGES_VALUES;
	arg.batch.keys_len = whole - 1;
	EXPECT_EQ(-EMSGSIZE, request(self->q, KWQ_IOC_CHANGES, &arg));
	EXPECT_TRUE(is_poison(keys, whole + GUARD));
	EXPECT_EQ(CREATION, arg.after);
	arg.batch.keys_len = whole;
	EXPECT_EQ(1, request(self->q, KWQ_IOC_CHANGES, &arg));
	EXPECT_EQ(CREATION + 1, arg.after);
	EXPECT_TRUE(is_filled(keys, 'k', sizeof(key)));
	EXPECT_TRUE(is_filled(keys + sizeof(key), 'g', sizeof(group)));
	EXPECT_TRUE(is_filled(keys + sizeof(key) + sizeof(group), 'v', sizeof(value)));
	EXPECT_TRUE(is_poison(keys + whole, GUARD));
	EXPECT_EQ(sizeof(key), entry.key_len);
	EXPECT_EQ(sizeof(group), entry.group_len);
	EXPECT_EQ(sizeof(value), entry.value_len);
	/* A new value is a change, even though the add coalesces. Its length always comes. */
	ASSERT_EQ(1, request(self->w, KWQ_IOC_ADD, &op));
	ASSERT_EQ(KWQ_COALESCED, result);
	arg.flags &= ~KWQ_CHANGES_VALUES;
	poison(keys, whole);
	arg.batch.keys_len = sizeof(key) + sizeof(group);
	EXPECT_EQ(1, request(self->q, KWQ_IOC_CHANGES, &arg));
	EXPECT_EQ(sizeof(value), entry.value_len);
	EXPECT_TRUE(is_poison(keys + sizeof(key) + sizeof(group), sizeof(value) + GUARD));
	free(keys);
}

TEST_F(changes, keys_that_do_not_fit_are_for_the_next_call)
{
	ASSERT_EQ(KWQ_ADDED, q_add(self->w, "abc"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->w, "de"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->w, "fghi"));
	EXPECT_EQ(-EMSGSIZE, q_changes_into(self->q, &self->r, self->read, 4, 2,
					    KWQ_CHANGES_NONBLOCK, 0));
	EXPECT_EQ(-EMSGSIZE, q_changes_into(self->q, &self->r, self->read, 4, 0,
					    KWQ_CHANGES_NONBLOCK, 0));
	EXPECT_EQ(2, q_changes_into(self->q, &self->r, self->read, 4, 8, KWQ_CHANGES_NONBLOCK, 0));
	EXPECT_STREQ("abc:R de:R ", describe(self, 2));
	EXPECT_STREQ("fghi:R ", news(self));
}

/* More items than the kernel reads in one hold of the lock. */
TEST_F(changes, many_in_a_call)
{
	struct batch *b = new_batch();
	char key[16];
	int nr;

	for (int i = 0; i < MOST; i++) {
		snprintf(key, sizeof(key), "key%03d", i);
		batch_add(b, key);
	}
	ASSERT_EQ(MOST, batch_run(self->w, KWQ_IOC_ADD, b));
	free(b);
	for (int i = 0; i < MOST; i += nr) {
		nr = try_read(self, &self->r, MOST);
		ASSERT_LT(0, nr);
		for (int j = 0; j < nr; j++) {
			snprintf(key, sizeof(key), "key%03d", i + j);
			EXPECT_STREQ(key, self->read[j].key);
		}
	}
	EXPECT_STREQ(NO_NEWS, news(self));
}

static int call_adds(struct sleeper *s)
{
	atomic_bool *stop = s->arg;
	char key[16];
	int ret = 0;

	for (int i = 0; ret >= 0 && !atomic_load(stop); i++) {
		snprintf(key, sizeof(key), "new %d", i % 16);
		ret = q_add(s->fd, key);
		if (ret >= 0 && q_remove(s->fd, key) < 0)
			ret = -EIO;
	}
	return ret;
}

/*
 * L10: the end of a follower takes many holds of the lock. An add between them once took its items
 * for room, dropped all counts in vain, and then one more.
 */
TEST_F(changes, follower_of_many_counts_ends_beside_adds)
{
	enum { NR = 600 };
	static const struct kwq_create_args limited = {
		.clockid = CLOCK_MONOTONIC, .max_items = NR,
	};
	struct batch *b = new_batch();
	atomic_bool stop;
	struct sleeper s;
	char key[16];

	for (int round = 0; round < 20; round++) {
		make_queue(self, &limited);
		batch_begin(b);
		for (int i = 0; i < NR; i++) {
			snprintf(key, sizeof(key), "count %d", i);
			batch_restore(b, key, (struct kwq_restore_entry){
					.state = KWQ_IS_REMEMBERED, .requeues = 1 });
		}
		ASSERT_EQ(NR, batch_run(self->w, KWQ_IOC_RESTORE, b));
		ASSERT_EQ(NR, stat_of(self->w).unread);
		atomic_store(&stop, false);
		s = (struct sleeper){ .call = call_adds, .fd = self->w, .arg = &stop };
		sleeper_start(&s);
		close(self->q);
		atomic_store(&stop, true);
		EXPECT_LE(0, sleeper_join(&s));
		EXPECT_EQ(NR, stat_of(self->w).remembered);
		EXPECT_EQ(0, stat_of(self->w).unread);
		self->q = dup(self->w);
	}
	free(b);
}

/* Waits */

struct waiting_reader {
	struct sleeper s;
	struct reader r;
	struct listed_item read[4];
};

static int call_changes(struct sleeper *s)
{
	struct waiting_reader *w = s->arg;

	return q_changes(s->fd, &w->r, w->read, ARRAY_SIZE(w->read), s->flags, s->deadline);
}

/* Starts a thread that reads, and returns once it sleeps. */
static void start_reading(changes_fixture *self, struct waiting_reader *w, __u32 flags,
			  __u64 deadline)
{
	*w = (struct waiting_reader){
		.s = {
			.call = call_changes, .fd = self->q, .flags = flags,
			.deadline = deadline, .arg = w,
		},
		.r = self->r,
	};
	sleeper_start(&w->s);
	wait_until_asleep(w->s.tid, __NR_ioctl, KWQ_IOC_CHANGES);
}

TEST_F(changes, reader_waits_for_a_change)
{
	struct waiting_reader w;

	start_reading(self, &w, 0, KWQ_NO_DEADLINE);
	EXPECT_EQ(-EBUSY, try_read(self, &self->r, 1));
	ASSERT_EQ(KWQ_ADDED, q_add(self->w, "a"));
	EXPECT_EQ(1, sleeper_join(&w.s));
	EXPECT_STREQ("a", w.read[0].key);
	self->r = w.r;
	start_reading(self, &w, 0, KWQ_NO_DEADLINE);
	ASSERT_EQ(0, q_pause(self->w));
	EXPECT_EQ(0, sleeper_join(&w.s));
	EXPECT_EQ(CREATION + 2, w.r.of_queue);
	EXPECT_EQ(CREATION + 2, w.r.after);
}

TEST_F(changes, reader_waits_until_its_deadline)
{
	static const struct kwq_create_args manual = { .clockid = KWQ_CLOCK_ID_MANUAL };
	struct waiting_reader w;

	EXPECT_EQ(-ETIMEDOUT, q_changes(self->q, &self->r, self->read, 1, 0, now_ns()));
	EXPECT_EQ(-ETIMEDOUT, q_changes(self->q, &self->r, self->read, 1, KWQ_CHANGES_RELATIVE, 0));
	make_queue(self, &manual);
	start_reading(self, &w, 0, 10);
	ASSERT_EQ(0, q_advance(self->w, 9));
	wait_until_asleep(w.s.tid, __NR_ioctl, KWQ_IOC_CHANGES);
	EXPECT_FALSE(atomic_load(&w.s.ended));
	ASSERT_EQ(0, q_advance(self->w, 1));
	EXPECT_EQ(-ETIMEDOUT, sleeper_join(&w.s));
	start_reading(self, &w, KWQ_CHANGES_RELATIVE, 10);
	ASSERT_EQ(0, q_advance(self->w, 10));
	EXPECT_EQ(-ETIMEDOUT, sleeper_join(&w.s));
	/* Changes before the end of the time are read after it. */
	ASSERT_EQ(KWQ_ADDED, q_add(self->w, "a"));
	EXPECT_EQ(1, q_changes(self->q, &self->r, self->read, 1, 0, 1));
}

TEST_F(changes, reader_that_does_not_wait)
{
	int flags = fcntl(self->q, F_GETFL);

	EXPECT_EQ(-EAGAIN, try_read(self, &self->r, 1));
	ASSERT_EQ(0, fcntl(self->q, F_SETFL, flags | O_NONBLOCK));
	EXPECT_EQ(-EAGAIN, q_changes(self->q, &self->r, self->read, 1, 0, KWQ_NO_DEADLINE));
	EXPECT_EQ(-EAGAIN, q_changes(self->q, &self->r, self->read, 1, KWQ_CHANGES_RELATIVE, HOUR));
	ASSERT_EQ(KWQ_ADDED, q_add(self->w, "a"));
	EXPECT_EQ(1, q_changes(self->q, &self->r, self->read, 1, 0, KWQ_NO_DEADLINE));
}

/* Sends a signal to a sleeping thread, and returns once its handler has run. */
static void interrupt(struct sleeper *s)
{
	int before = atomic_load(&signals);

	REQUIRE(!pthread_kill(s->thread, SIGUSR1));
	while (atomic_load(&signals) == before)
		sched_yield();
}

TEST_F(changes, reader_is_restarted)
{
	struct waiting_reader w;

	catch_signal(SA_RESTART);
	for (int relative = 0; relative < 2; relative++) {
		start_reading(self, &w, relative ? KWQ_CHANGES_RELATIVE : 0,
			      relative ? HOUR : now_ns() + HOUR);
		interrupt(&w.s);
		wait_until_asleep(w.s.tid, __NR_ioctl, KWQ_IOC_CHANGES);
		EXPECT_FALSE(atomic_load(&w.s.ended));
		ASSERT_LE(0, q_add(self->w, relative ? "b" : "a"));
		EXPECT_EQ(1, sleeper_join(&w.s));
		EXPECT_EQ(0, w.r.resume);
		self->r = w.r;
	}
}

TEST_F(changes, reader_is_interrupted)
{
	struct waiting_reader w;

	catch_signal(0);
	start_reading(self, &w, 0, KWQ_NO_DEADLINE);
	interrupt(&w.s);
	EXPECT_EQ(-EINTR, sleeper_join(&w.s));
	EXPECT_EQ(0, w.r.resume);
	start_reading(self, &w, KWQ_CHANGES_RELATIVE, HOUR);
	interrupt(&w.s);
	EXPECT_EQ(-EINTR, sleeper_join(&w.s));
	/* The wait goes on until the time that was stored. */
	EXPECT_LT(0, w.r.resume);
	EXPECT_GE(now_ns() + HOUR, w.r.resume);
	w.r.resume = 1;
	EXPECT_EQ(-ETIMEDOUT, q_changes(self->q, &w.r, self->read, 1, KWQ_CHANGES_RELATIVE, HOUR));
}

/* A restart that cannot store its deadline would begin a new wait. */
TEST_F(changes, reader_cannot_store_its_deadline)
{
	size_t page = getpagesize();
	struct kwq_changes_args *arg;
	struct kwq_listed entry;
	__u8 key[8];
	pid_t child;
	int status;

	arg = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, arg);
	*arg = request_of(self, &entry, 1, key, sizeof(key));
	arg->flags = KWQ_CHANGES_RELATIVE;
	arg->deadline = HOUR;
	catch_signal(SA_RESTART);
	child = fork();
	ASSERT_LE(0, child);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		REQUIRE(!mprotect(arg, page, PROT_READ));
		_exit(request(self->q, KWQ_IOC_CHANGES, arg) == -EINTR ? 0 : 1);
	}
	wait_until_asleep(child, __NR_ioctl, KWQ_IOC_CHANGES);
	ASSERT_EQ(0, kill(child, SIGUSR1));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	munmap(arg, page);
}

/* Clocks of a time namespace */

static int waits_in_a_namespace(struct peer *parent, void *arg)
{
	changes_fixture *self = arg;
	struct kwq_sync_args sync = {};

	(void)parent;
	enter_time_namespace(3600);
	/* Without a conversion these would wait for an hour. */
	REQUIRE(q_changes(self->q, &self->r, self->read, 1, 0, now_ns()) == -ETIMEDOUT);
	REQUIRE(q_add(self->w, "a") == KWQ_ADDED);
	REQUIRE(q_sync_until(self->w, now_ns()) == -ETIMEDOUT);
	REQUIRE(q_sync_with(self->w, &sync) == -ETIMEDOUT);
	REQUIRE(q_add_at(self->w, "b", now_ns() + HOUR) == KWQ_WAITING);
	REQUIRE(try_read(self, &self->r, 4) == 2);
	REQUIRE(self->read[1].item.order > now_ns() + HOUR / 2);
	return 0;
}

TEST_F(changes, times_of_a_namespace)
{
	struct peer peer;

	start_peer(&peer, waits_in_a_namespace, self);
	EXPECT_EQ(0, end_of_peer(&peer));
}

/* Processes that die */

static int reads_until_killed(struct peer *parent, void *arg)
{
	changes_fixture *self = arg;
	struct reader r = {};

	REQUIRE(!q_follow(self->q, &r.after));
	say(parent, 1);
	for (;;)
		q_changes(self->q, &r, self->read, MOST, 0, KWQ_NO_DEADLINE);
}

static int follower(struct peer *parent, void *arg)
{
	changes_fixture *self = arg;

	/* A handle of its own, which ends with this process. */
	self->q = q_reopen(self->w);
	REQUIRE(self->q >= 0);
	return reads_until_killed(parent, arg);
}

TEST_F(changes, follower_is_killed)
{
	struct listed_item listed[8];
	__u64 after = 0, number;
	struct peer peer;

	close(self->q);
	self->q = -1;
	ASSERT_EQ(KWQ_ADDED, q_add(self->w, "before"));
	start_peer(&peer, follower, self);
	ASSERT_EQ(1, hear(&peer));
	ASSERT_EQ(KWQ_ADDED, q_add(self->w, "a"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->w, "b"));
	ASSERT_EQ(KWQ_WAS_READY, q_remove(self->w, "a"));
	wait_until_asleep(peer.pid, __NR_ioctl, KWQ_IOC_CHANGES);
	EXPECT_EQ(-EBUSY, q_follow(self->w, &number));
	EXPECT_EQ(-SIGKILL, kill_peer(&peer));
	/* The next one lists all, and goes on. */
	self->q = q_reopen(self->w);
	ASSERT_EQ(0, q_follow(self->q, &self->r.after));
	EXPECT_EQ(stat_of(self->w).last_change, self->r.after);
	check_stat(self->q, .ready = 2, .items = 2);
	ASSERT_EQ(KWQ_ADDED, q_add(self->w, "c"));
	EXPECT_EQ(3, q_list_page(self->q, listed, 8, MAIN_STATES, &after));
	EXPECT_EQ(0, after);
	EXPECT_STREQ("c:R ", news(self));
}

static int holds_until_killed(struct peer *parent, void *arg)
{
	changes_fixture *self = arg;
	int q = q_reopen(self->w);
	struct item item;

	REQUIRE(q_try_get(q, &item) == 1);
	say(parent, 1);
	for (;;)
		pause();
}

TEST_F(changes, worker_is_killed)
{
	struct waiting_reader w;
	struct peer peer;

	ASSERT_EQ(KWQ_ADDED, q_add(self->w, "a"));
	start_peer(&peer, holds_until_killed, self);
	ASSERT_EQ(1, hear(&peer));
	EXPECT_STREQ("a:P ", news(self));
	EXPECT_EQ(peer.pid, self->read[0].item.pid);
	start_reading(self, &w, 0, KWQ_NO_DEADLINE);
	EXPECT_EQ(-SIGKILL, kill_peer(&peer));
	/* O1 */
	EXPECT_EQ(1, sleeper_join(&w.s));
	EXPECT_EQ(KWQ_IS_READY | KWQ_IS_RETURNED, w.read[0].item.state);
	EXPECT_EQ(1, w.read[0].item.abandoned);
}

static int reads_once(struct peer *parent, void *arg)
{
	changes_fixture *self = arg;

	(void)parent;
	return q_changes(self->q, &self->r, self->read, 1, 0, KWQ_NO_DEADLINE);
}

/* A process that is killed in CHANGES leaves the handle to others that share it. */
TEST_F(changes, reader_is_killed)
{
	struct peer peer;

	start_peer(&peer, reads_once, self);
	wait_until_asleep(peer.pid, __NR_ioctl, KWQ_IOC_CHANGES);
	EXPECT_EQ(-EBUSY, try_read(self, &self->r, 1));
	EXPECT_EQ(-SIGKILL, kill_peer(&peer));
	EXPECT_EQ(-EAGAIN, try_read(self, &self->r, 1));
}

/* Poll */

static int poll_now(int fd, short events)
{
	struct pollfd pollfd = { .fd = fd, .events = events };

	REQUIRE(poll(&pollfd, 1, 0) >= 0);
	return pollfd.revents;
}

TEST_F(changes, poll)
{
	struct sleeper s;

	EXPECT_EQ(0, poll_now(self->q, POLLPRI));
	ASSERT_EQ(KWQ_ADDED, q_add(self->w, "a"));
	EXPECT_EQ(POLLPRI, poll_now(self->q, POLLPRI));
	EXPECT_EQ(POLLPRI | POLLIN, poll_now(self->q, POLLPRI | POLLIN));
	/* Only the handle that follows. */
	EXPECT_EQ(0, poll_now(self->w, POLLPRI));
	EXPECT_STREQ("a:R ", news(self));
	EXPECT_EQ(0, poll_now(self->q, POLLPRI));
	start_poll(&s, self->q, POLLPRI);
	ASSERT_EQ(KWQ_ADDED, q_add(self->w, "b"));
	EXPECT_EQ(POLLPRI, sleeper_join(&s));
	EXPECT_STREQ("b:R ", news(self));
	start_poll(&s, self->q, POLLPRI);
	ASSERT_EQ(0, q_pause(self->w));
	EXPECT_EQ(POLLPRI, sleeper_join(&s));
	EXPECT_STREQ("", news(self));
	EXPECT_EQ(0, poll_now(self->q, POLLPRI));
}

static int epoll_of(int q, __u32 events)
{
	struct epoll_event event = { .events = events };
	int ep = epoll_create1(EPOLL_CLOEXEC);

	REQUIRE(ep >= 0 && !epoll_ctl(ep, EPOLL_CTL_ADD, q, &event));
	return ep;
}

/* The events that epoll has at once. */
static __u32 events_of(int ep)
{
	struct epoll_event event;

	return epoll_wait(ep, &event, 1, 0) == 1 ? event.events : 0;
}

TEST_F(changes, epoll_by_level)
{
	int ep = epoll_of(self->q, EPOLLPRI);

	EXPECT_EQ(0, events_of(ep));
	ASSERT_EQ(KWQ_ADDED, q_add(self->w, "a"));
	EXPECT_EQ(EPOLLPRI, events_of(ep));
	EXPECT_EQ(EPOLLPRI, events_of(ep));
	/* An epoll descriptor that watches the handle is itself readable. */
	EXPECT_EQ(POLLIN, poll_now(ep, POLLIN));
	EXPECT_STREQ("a:R ", news(self));
	EXPECT_EQ(0, events_of(ep));
	EXPECT_EQ(0, poll_now(ep, POLLIN));
	ASSERT_EQ(1, q_remove(self->w, "a"));
	EXPECT_EQ(EPOLLPRI, events_of(ep));
	close(ep);
}

/* A poller may watch the handle before it follows. */
TEST_F(changes, epoll_before_the_follow)
{
	int q = new_flagged_queue(self->dev, KWQ_CREATE_CHANGES), ep = epoll_of(q, EPOLLPRI);
	__u64 number;

	EXPECT_EQ(0, events_of(ep));
	ASSERT_EQ(KWQ_ADDED, q_add(q, "a"));
	EXPECT_EQ(0, events_of(ep));
	ASSERT_EQ(0, q_follow(q, &number));
	/* It does not know that the queue was created. */
	EXPECT_EQ(EPOLLPRI, events_of(ep));
	close(ep);
	close(q);
}

/* Each change after a read that found nothing is an edge, without another poll. */
TEST_F(changes, epoll_by_edges)
{
	int ep = epoll_of(self->q, EPOLLPRI | EPOLLET);

	EXPECT_EQ(0, events_of(ep));
	for (int i = 0; i < 3; i++) {
		ASSERT_LE(0, q_add(self->w, i ? "b" : "a"));
		EXPECT_EQ(EPOLLPRI, events_of(ep));
		EXPECT_EQ(0, events_of(ep));
		EXPECT_STREQ(i ? "b:R " : "a:R ", news(self));
		EXPECT_STREQ(NO_NEWS, news(self));
		if (i)
			ASSERT_EQ(KWQ_WAS_READY, q_remove(self->w, "b"));
		if (i)
			EXPECT_EQ(EPOLLPRI, events_of(ep));
		if (i)
			EXPECT_STREQ("b: ", news(self));
		if (i)
			EXPECT_STREQ(NO_NEWS, news(self));
	}
	ASSERT_EQ(0, q_pause(self->w));
	EXPECT_EQ(EPOLLPRI, events_of(ep));
	close(ep);
}

/* SYNC */

static int call_sync(struct sleeper *s)
{
	return q_sync_with(s->fd, s->arg);
}

static void start_sync(struct sleeper *s, int q, struct kwq_sync_args *sync)
{
	*s = (struct sleeper){ .call = call_sync, .fd = q, .arg = sync };
	sleeper_start(s);
	wait_until_asleep(s->tid, __NR_ioctl, KWQ_IOC_SYNC);
}

TEST_F(changes, sync_waits_until_all_is_kept)
{
	struct kwq_sync_args all = { .deadline = KWQ_NO_DEADLINE };
	struct kwq_sync_args first = { .deadline = KWQ_NO_DEADLINE };
	struct sleeper late, early;

	/* The creation is kept, and nothing has changed since. */
	EXPECT_EQ(0, q_sync_until(self->w, 0));
	ASSERT_EQ(KWQ_ADDED, q_add(self->w, "a"));
	start_sync(&early, self->w, &first);
	ASSERT_EQ(KWQ_ADDED, q_add(self->w, "b"));
	start_sync(&late, self->w, &all);
	/* It has read both, and keeps none yet. */
	EXPECT_STREQ("a:R b:R ", news(self));
	EXPECT_STREQ(NO_NEWS, news(self));
	EXPECT_EQ(CREATION, stat_of(self->q).kept);
	self->r.kept = CREATION + 1;
	EXPECT_STREQ(NO_NEWS, news(self));
	EXPECT_EQ(0, sleeper_join(&early));
	EXPECT_FALSE(atomic_load(&late.ended));
	EXPECT_EQ(-ETIMEDOUT, q_sync_until(self->w, 0));
	self->r.kept = CREATION + 2;
	EXPECT_STREQ(NO_NEWS, news(self));
	EXPECT_EQ(0, sleeper_join(&late));
	EXPECT_EQ(0, q_sync_until(self->w, 0));
	/* A lower number changes nothing. */
	self->r.kept = CREATION + 1;
	EXPECT_STREQ(NO_NEWS, news(self));
	EXPECT_EQ(CREATION + 2, stat_of(self->q).kept);
	/* It is kept even if its follower is gone. */
	close(self->q);
	self->q = dup(self->w);
	EXPECT_EQ(0, q_sync_until(self->w, 0));
	ASSERT_EQ(KWQ_ADDED, q_add(self->w, "c"));
	EXPECT_EQ(-ETIMEDOUT, q_sync_until(self->w, 0));
}

TEST_F(changes, sync_refuses_what_it_ignores)
{
	struct kwq_sync_args sync = { .resume = 1 };

	EXPECT_EQ(-EINVAL, q_sync_with(self->w, &sync));
}

TEST_F(changes, sync_until_its_deadline)
{
	static const struct kwq_create_args manual = { .clockid = KWQ_CLOCK_ID_MANUAL };
	struct kwq_sync_args sync;
	struct sleeper s;

	make_queue(self, &manual);
	ASSERT_EQ(KWQ_ADDED, q_add(self->w, "a"));
	for (int relative = 0; relative < 2; relative++) {
		sync = (struct kwq_sync_args){ .deadline = 10 };
		sync.flags = relative ? KWQ_SYNC_RELATIVE : 0;
		start_sync(&s, self->w, &sync);
		ASSERT_EQ(0, q_advance(self->w, 9));
		wait_until_asleep(s.tid, __NR_ioctl, KWQ_IOC_SYNC);
		EXPECT_FALSE(atomic_load(&s.ended));
		ASSERT_EQ(0, q_advance(self->w, 1));
		EXPECT_EQ(-ETIMEDOUT, sleeper_join(&s));
	}
}

TEST_F(changes, sync_is_restarted)
{
	struct kwq_sync_args sync;
	struct sleeper s;

	catch_signal(SA_RESTART);
	for (int relative = 0; relative < 2; relative++) {
		keep_all(self);
		ASSERT_LE(0, q_add_after(self->w, "a", HOUR - relative));
		sync = (struct kwq_sync_args){
			.flags = relative ? KWQ_SYNC_RELATIVE : 0,
			.deadline = relative ? HOUR : KWQ_NO_DEADLINE,
		};
		start_sync(&s, self->w, &sync);
		EXPECT_STREQ("a:W ", news(self));
		interrupt(&s);
		wait_until_asleep(s.tid, __NR_ioctl, KWQ_IOC_SYNC);
		EXPECT_FALSE(atomic_load(&s.ended));
		self->r.kept = self->r.after;
		EXPECT_STREQ(NO_NEWS, news(self));
		EXPECT_EQ(0, sleeper_join(&s));
		EXPECT_EQ(0, sync.resume);
	}
}

TEST_F(changes, sync_is_interrupted)
{
	struct kwq_sync_args sync = { .flags = KWQ_SYNC_RELATIVE, .deadline = HOUR };
	struct sleeper s;

	catch_signal(0);
	ASSERT_EQ(KWQ_ADDED, q_add(self->w, "a"));
	start_sync(&s, self->w, &sync);
	ASSERT_EQ(KWQ_ADDED, q_add(self->w, "b"));
	interrupt(&s);
	EXPECT_EQ(-EINTR, sleeper_join(&s));
	EXPECT_LT(0, sync.resume);
	EXPECT_GE(now_ns() + HOUR, sync.resume);
	/* It goes on until the time that was stored. */
	sync.resume = 1;
	EXPECT_EQ(-ETIMEDOUT, q_sync_with(self->w, &sync));
	EXPECT_EQ(0, sync.resume);
}

/* It cannot be restarted if it cannot store until when it waits. */
TEST_F(changes, sync_cannot_store_its_deadline)
{
	size_t page = getpagesize();
	struct kwq_sync_args *arg;
	pid_t child;
	int status;

	ASSERT_EQ(KWQ_ADDED, q_add(self->w, "a"));
	arg = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, arg);
	*arg = (struct kwq_sync_args){
		.size = sizeof(*arg), .flags = KWQ_SYNC_RELATIVE, .deadline = HOUR,
	};
	ASSERT_EQ(0, mprotect(arg, page, PROT_READ));
	catch_signal(SA_RESTART);
	child = fork();
	ASSERT_LE(0, child);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(request(self->w, KWQ_IOC_SYNC, arg) == -EINTR ? 0 : 1);
	}
	wait_until_asleep(child, __NR_ioctl, KWQ_IOC_SYNC);
	ASSERT_EQ(0, kill(child, SIGUSR1));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	/* A wait that is over needs nothing to be stored. */
	ASSERT_EQ(0, mprotect(arg, page, PROT_READ | PROT_WRITE));
	arg->resume = now_ns() + HOUR;
	keep_all(self);
	ASSERT_EQ(0, mprotect(arg, page, PROT_READ));
	EXPECT_EQ(0, request(self->w, KWQ_IOC_SYNC, arg));
	munmap(arg, page);
}

/* KWQ_CREATE_SYNC */

static int run_add(struct sleeper *s)
{
	return q_add(s->fd, "new");
}

static int run_done(struct sleeper *s)
{
	return q_done_key(s->fd, "held");
}

static int run_remove(struct sleeper *s)
{
	return q_remove(s->fd, "ready");
}

static int run_forget(struct sleeper *s)
{
	return q_forget(s->fd, "remembered");
}

static int run_restore(struct sleeper *s)
{
	return q_restore(s->fd, "new", .state = KWQ_IS_READY);
}

static int run_add_wait(struct sleeper *s)
{
	return q_add_wait(s->fd, "new", KWQ_NO_DEADLINE);
}

/* A get that adds or finishes first. @s->flags chooses. */
static int run_get(struct sleeper *s)
{
	struct batch *adds = new_batch(), *dones = new_batch();
	struct kwq_got got;
	__u8 key[KEY_ROOM];
	struct kwq_get_args get = GET_ARGS(&got, user_ptr(key), sizeof(key), 1,
					   .flags = KWQ_GET_NONBLOCK);
	int ret;

	batch_add(adds, "new");
	batch_done_key(dones, "held");
	if (s->flags & 1)
		get.add = batch_of(KWQ_IOC_ADD, adds);
	if (s->flags & 2)
		get.done = batch_of(KWQ_IOC_DONE, dones);
	ret = q_get_raw(s->fd, &get);
	REQUIRE(get.nr_added == !!(s->flags & 1) && get.nr_done == !!(s->flags & 2));
	free(adds);
	free(dones);
	return ret;
}

static const struct synced {
	const char *name;
	unsigned int cmd;
	int (*run)(struct sleeper *s);
	__u32 flags;
	int ret;
} synced[] = {
	{ "add", KWQ_IOC_ADD, run_add, 0, KWQ_ADDED },
	{ "add and wait", KWQ_IOC_ADD, run_add_wait, 0, KWQ_ADDED },
	{ "done", KWQ_IOC_DONE, run_done, 0, KWQ_FINISHED },
	{ "remove", KWQ_IOC_REMOVE, run_remove, 0, KWQ_WAS_READY },
	{ "forget", KWQ_IOC_FORGET, run_forget, 0, 3 },
	{ "restore", KWQ_IOC_RESTORE, run_restore, 0, KWQ_RESTORED },
	{ "add and get", KWQ_IOC_GET, run_get, 1, 1 },
	{ "done and get", KWQ_IOC_GET, run_get, 2, 1 },
	{ "add, done and get", KWQ_IOC_GET, run_get, 3, 1 },
};

static void make_synced(changes_fixture *self)
{
	static const struct kwq_create_args sync = {
		.clockid = CLOCK_MONOTONIC, .flags = KWQ_CREATE_SYNC,
	};

	make_queue(self, &sync);
}

/* The follower's own calls do not wait. Its handle is not the worker's. */
static void fill_synced(changes_fixture *self)
{
	struct item item;

	REQUIRE(q_add(self->q, "held") == KWQ_ADDED);
	REQUIRE(q_try_get(self->w, &item) == 1);
	REQUIRE(q_add(self->q, "ready") == KWQ_ADDED);
	REQUIRE(q_restore(self->q, "remembered", .state = KWQ_IS_REMEMBERED, .requeues = 3) ==
		KWQ_RESTORED);
	keep_all(self);
}

static void start_synced(struct sleeper *s, int q, const struct synced *call)
{
	*s = (struct sleeper){ .call = call->run, .fd = q, .flags = call->flags };
	sleeper_start(s);
	wait_until_asleep(s->tid, __NR_ioctl, call->cmd);
}

TEST_F(changes, calls_return_once_their_changes_are_kept)
{
	struct sleeper s;

	for (int i = 0; i < ARRAY_SIZE(synced); i++) {
		__u64 gets;

		make_synced(self);
		EXPECT_EQ(KWQ_CREATE_CHANGES | KWQ_CREATE_SYNC, stat_of(self->q).create_flags);
		fill_synced(self);
		gets = stat_of(self->q).gets;
		/* O_NONBLOCK makes no difference, as for a file with O_SYNC. */
		REQUIRE(!fcntl(self->w, F_SETFL, O_RDWR | O_NONBLOCK));
		start_synced(&s, self->w, &synced[i]);
		/* Read, but not kept. */
		EXPECT_LT(0, try_read(self, &self->r, MOST));
		EXPECT_EQ(-EAGAIN, try_read(self, &self->r, MOST));
		EXPECT_FALSE(atomic_load(&s.ended));
		/* The get comes last. */
		EXPECT_EQ(gets, stat_of(self->q).gets);
		keep_all(self);
		EXPECT_EQ(synced[i].ret, sleeper_join(&s)) {
			TH_LOG("%s", synced[i].name);
		}
	}
}

/* Only a signal that kills ends the wait. */
TEST_F(changes, sync_of_a_call_is_not_interrupted)
{
	struct sleeper s;

	make_synced(self);
	fill_synced(self);
	catch_signal(0);
	start_synced(&s, self->w, &synced[0]);
	REQUIRE(!pthread_kill(s.thread, SIGUSR1));
	EXPECT_STREQ("new:R ", news(self));
	EXPECT_STREQ(NO_NEWS, news(self));
	EXPECT_EQ(0, atomic_load(&signals));
	keep_all(self);
	EXPECT_EQ(KWQ_ADDED, sleeper_join(&s));
	EXPECT_EQ(1, atomic_load(&signals));
}

static int adds_until_killed(struct peer *parent, void *arg)
{
	changes_fixture *self = arg;

	(void)parent;
	return q_add(self->w, "new");
}

TEST_F(changes, caller_is_killed_before_its_change_is_kept)
{
	struct peer peer;

	make_synced(self);
	start_peer(&peer, adds_until_killed, self);
	wait_until_asleep(peer.pid, __NR_ioctl, KWQ_IOC_ADD);
	EXPECT_EQ(-SIGKILL, kill_peer(&peer));
	/* Its add remains. */
	EXPECT_STREQ("new:R ", news(self));
}

/* Calls that change no item, that fail, or that belong to the follower. */
TEST_F(changes, calls_that_wait_for_nothing)
{
	struct item item;
	__u64 size, number;
	int fd;

	make_synced(self);
	fill_synced(self);
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "more"));
	EXPECT_EQ(-EOPNOTSUPP, q_board(self->w, &size));
	EXPECT_EQ(3, q_requeues(self->w, "remembered"));
	EXPECT_EQ(0, q_extend_key(self->w, "held"));
	EXPECT_EQ(1, q_try_get(self->w, &item));
	EXPECT_EQ(0, q_pause(self->w));
	EXPECT_EQ(0, q_resume(self->w));
	EXPECT_EQ(KWQ_WAS_READY, q_remove(self->q, "more"));
	/* Without a follower, calls wait for one. */
	close(self->q);
	fd = q_reopen(self->w);
	EXPECT_EQ(-ETIMEDOUT, q_sync_until(self->w, 0));
	ASSERT_EQ(0, q_follow(fd, &number));
	self->q = fd;
	self->r = (struct reader){ .after = number, .kept = number };
	EXPECT_STREQ("", news(self));
	EXPECT_EQ(0, q_sync_until(self->w, 0));
}

/* An add without a follower waits until there is one. */
TEST_F(changes, call_waits_for_a_follower)
{
	struct sleeper s;

	make_synced(self);
	close(self->q);
	self->q = q_reopen(self->w);
	start_synced(&s, self->w, &synced[0]);
	self->r = (struct reader){};
	ASSERT_EQ(0, q_follow(self->q, &self->r.after));
	EXPECT_EQ(CREATION + 1, self->r.after);
	keep_all(self);
	EXPECT_EQ(KWQ_ADDED, sleeper_join(&s));
}

/* Everything at once */

#define NR_KEYS		40
#define ROUNDS		3000
#define WORKERS		6

struct mirror {
	struct kwq_listed known[NR_KEYS];
};

static int nr_of(const char *key)
{
	return atoi(key + 1);
}

/* The follower has read so much that the workers may end. */
static atomic_bool has_read_enough;

static int call_worker(struct sleeper *s)
{
	__u64 seed = s->deadline;
	struct item item;
	char key[8];

	for (int i = 0; i < ROUNDS || !atomic_load(&has_read_enough); i++) {
		__u32 n = next_random(&seed);

		snprintf(key, sizeof(key), "k%u", (n >> 8) % NR_KEYS);
		switch (n % 8) {
		case 0:
		case 1:
			q_add(s->fd, key);
			break;
		case 2:
			q_add_after(s->fd, key, n >> 8 & 0xfffff);
			break;
		case 3:
			q_add_priority(s->fd, key, n >> 16 & 3);
			break;
		case 4:
			q_remove(s->fd, key);
			break;
		case 5:
			q_forget(s->fd, key);
			break;
		default:
			if (q_try_get(s->fd, &item) != 1)
				break;
			if (n & 0x100)
				q_add_rate_limited(s->fd, item.key);
			q_done_with(s->fd, item.ticket, n & 0x200 ? KWQ_DONE_RETURN : 0);
		}
	}
	return 0;
}

static void mirror(struct mirror *m, const struct listed_item *read, int nr)
{
	for (int i = 0; i < nr; i++)
		m->known[nr_of(read[i].key)] = read[i].item;
}

/* Whether two pictures of an item, made at different times, are the same. */
static bool same_item(const struct kwq_listed *a, const struct kwq_listed *b)
{
	return a->state == b->state && a->order_of == b->order_of && a->order == b->order &&
	       a->priority == b->priority && a->wait_priority == b->wait_priority &&
	       a->next_priority == b->next_priority && a->requeues == b->requeues &&
	       a->abandoned == b->abandoned && a->change == b->change;
}

/*
 * A follower that reads all the time, and sometimes makes no use of what it got, knows
 * everything in the end.
 */
TEST_F_TIMEOUT(changes, follower_knows_all, 120)
{
	static const struct kwq_limiter soon[] = { FAST_SLOW(1000, 100000, 1) };
	struct kwq_create_args how = { .clockid = CLOCK_MONOTONIC, .max_items = NR_KEYS - 8 };
	const struct kwq_config config = config_of(soon);
	struct sleeper workers[WORKERS];
	struct mirror *m = calloc(1, sizeof(*m));
	struct listed_item listed[NR_KEYS];
	int nr, known = 0, total = 0, all = 0, running = WORKERS;
	__u64 after = 0, reads = 0;

	ASSERT_NE(NULL, m);
	how.config = user_ptr(&config);
	make_queue(self, &how);
	for (int i = 0; i < WORKERS; i++) {
		workers[i] = (struct sleeper){
			.call = call_worker, .fd = q_reopen(self->w), .deadline = i + 1,
		};
		sleeper_start(&workers[i]);
	}
	while (running) {
		struct reader again = self->r;

		running = 0;
		for (int i = 0; i < WORKERS; i++)
			running += !atomic_load(&workers[i].ended);
		if (++reads % 3 == 0)
			try_read(self, &again, 1 + reads % 7);
		nr = q_changes(self->q, &self->r, self->read, 1 + reads % 5, KWQ_CHANGES_RELATIVE,
			       MSEC);
		ASSERT_TRUE(nr > 0 || nr == -ETIMEDOUT);
		mirror(m, self->read, nr);
		total += nr > 0 ? nr : 0;
		atomic_store(&has_read_enough, total > 100);
	}
	for (int i = 0; i < WORKERS; i++) {
		sleeper_join(&workers[i]);
		close(workers[i].fd);
	}
	/* The waits end, and nothing changes any more. */
	while (stat_of(self->w).waiting)
		sched_yield();
	do {
		nr = try_read(self, &self->r, MOST);
		mirror(m, self->read, nr);
	} while (nr >= 0);
	ASSERT_EQ(-EAGAIN, nr);
	do {
		nr = q_list_page(self->w, listed, NR_KEYS, MAIN_STATES, &after);
		ASSERT_LE(0, nr);
		for (int i = 0; i < nr; i++, all++) {
			EXPECT_TRUE(same_item(&m->known[nr_of(listed[i].key)], &listed[i].item)) {
				TH_LOG("%s", listed[i].key);
			}
		}
	} while (after);
	for (int i = 0; i < NR_KEYS; i++)
		known += !!m->known[i].state;
	EXPECT_EQ(known, all);
	EXPECT_EQ(all, stat_of(self->w).items);
	EXPECT_LT(100, total);
	TH_LOG("%llu reads, %d items read, %llu changes", reads, total,
	       stat_of(self->w).last_change);
	free(m);
}

/* Many callers wait for one follower, which dies and comes back. */
static int call_adder(struct sleeper *s)
{
	_Atomic int *left = s->arg;
	char key[8];

	for (int i = 0; i < 20; i++) {
		snprintf(key, sizeof(key), "k%u", (unsigned int)s->deadline);
		REQUIRE(q_add(s->fd, key) == KWQ_ADDED);
		REQUIRE(q_remove(s->fd, key) == KWQ_WAS_READY);
	}
	atomic_fetch_sub(left, 1);
	return 0;
}

TEST_F(changes, many_calls_wait_for_followers_that_come_and_go)
{
	_Atomic int left = WORKERS;
	struct sleeper adders[WORKERS];
	int nr;

	make_synced(self);
	for (int i = 0; i < WORKERS; i++) {
		adders[i] = (struct sleeper){
			.call = call_adder, .fd = self->w, .deadline = i, .arg = &left,
		};
		sleeper_start(&adders[i]);
	}
	for (int reads = 1; atomic_load(&left); reads++) {
		if (reads % 10 == 0) {
			close(self->q);
			self->q = q_reopen(self->w);
			self->r = (struct reader){};
			ASSERT_EQ(0, q_follow(self->q, &self->r.after));
			self->r.kept = self->r.after;
		}
		nr = q_changes(self->q, &self->r, self->read, 3, KWQ_CHANGES_RELATIVE, MSEC);
		ASSERT_TRUE(nr >= 0 || nr == -ETIMEDOUT);
		self->r.kept = self->r.after;
	}
	for (int i = 0; i < WORKERS; i++)
		EXPECT_EQ(0, sleeper_join(&adders[i]));
	keep_all(self);
	check_stat(self->q, .items = 0);
}

TEST_HARNESS_MAIN
