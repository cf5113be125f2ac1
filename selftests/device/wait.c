// SPDX-License-Identifier: GPL-2.0-only
/*
 * Q5, U2: waiting for an item, the ends of a wait, and that no item stays ready while
 * somebody sleeps. A lost wake-up shows as a test that hangs.
 */
#include "kwq_test.h"

#include <linux/aio_abi.h>
#include <sys/epoll.h>
#include <sys/select.h>

TWO_HANDLES_FIXTURE(wait, new_queue(self->dev))

/* Without waiting */

TEST_F(wait, nonblock)
{
	struct item item;
	int q = q_open(self->q, NULL, O_CLOEXEC | O_NONBLOCK);

	ASSERT_LE(0, q);
	EXPECT_EQ(-EAGAIN, q_get(q, &item, 0, KWQ_NO_DEADLINE));
	EXPECT_EQ(-EAGAIN, q_get(self->q, &item, KWQ_GET_NONBLOCK, 0));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(1, q_get(q, &item, 0, KWQ_NO_DEADLINE));
	close(q);

	/* The flag belongs to the open file and can be changed there. */
	ASSERT_EQ(0, fcntl(self->q, F_SETFL, O_NONBLOCK));
	expect_take(self->q, "a");
	EXPECT_EQ(-EAGAIN, q_get(self->q, &item, 0, KWQ_NO_DEADLINE));
	ASSERT_EQ(0, fcntl(self->q, F_SETFL, 0));
	EXPECT_EQ(-ETIMEDOUT, q_get(self->q, &item, 0, now_ns() + MSEC));
}

/* Q5: a ready item is handed out, whatever the deadline. */
TEST_F(wait, deadline_past)
{
	static const __u64 past[] = { 0, 1, SEC };
	struct item item;

	for (int i = 0; i < ARRAY_SIZE(past); i++) {
		EXPECT_EQ(-ETIMEDOUT, q_get(self->q, &item, 0, past[i]));
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
		EXPECT_EQ(1, q_get(self->q, &item, 0, past[i]));
		EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
	}
	EXPECT_EQ(-ETIMEDOUT, q_get(self->q, &item, 0, now_ns()));
}

/* Q5: a deadline is absolute, and the wait does not end before it. */
TEST_F(wait, deadline_to_come)
{
	struct item item;

	for (__u64 wait = 1; wait <= 10 * MSEC; wait *= 10) {
		__u64 deadline = now_ns() + wait;

		EXPECT_EQ(-ETIMEDOUT, q_get(self->q, &item, 0, deadline));
		EXPECT_LE(deadline, now_ns());
	}
}

/* Q5, D7: a deadline beyond the clock's range does not wrap. */
TEST_F(wait, deadline_beyond_the_clock)
{
	static const __u64 far[] = {
		~0ULL, ~0ULL - 1, 1ULL << 63, (1ULL << 63) - 1, (1ULL << 63) + 1, 1ULL << 62,
	};
	struct sleeper s;

	for (int i = 0; i < ARRAY_SIZE(far); i++) {
		s = (struct sleeper){ .call = call_get, .fd = self->q, .deadline = far[i] };
		sleeper_start(&s);
		wait_until_asleep(s.tid, __NR_ioctl, KWQ_IOC_GET);
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
		EXPECT_EQ(1, sleeper_join(&s));
		EXPECT_EQ(KWQ_FINISHED, q_done(self->q, s.item.ticket));
	}
}

/* All events that wake a waiter, one after the other. The waiter is in Get or in poll. */

FIXTURE(wakes)
{
	int dev;
	int q;
	int other;
	struct item held;	/* "held", by @other */
	struct sleeper s;
};

FIXTURE_VARIANT(wakes)
{
	bool poll;
};

FIXTURE_VARIANT_ADD(wakes, get) { .poll = false };
FIXTURE_VARIANT_ADD(wakes, poll) { .poll = true };

typedef FIXTURE_DATA(wakes) wakes_fixture;
typedef FIXTURE_VARIANT(wakes) wakes_variant;

FIXTURE_SETUP(wakes)
{
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->q = new_queue(self->dev);
	ASSERT_LE(0, self->q);
	self->other = q_reopen(self->q);
	ASSERT_LE(0, self->other);
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "held"));
	ASSERT_EQ(1, q_try_get(self->other, &self->held));
	if (variant->poll)
		start_poll(&self->s, self->q, POLLIN);
	else
		start_get(&self->s, self->q);
}

FIXTURE_TEARDOWN(wakes)
{
	close(self->other);
	close(self->q);
	close(self->dev);
}

static void check_woken(struct __test_metadata *_metadata, wakes_fixture *self,
			const wakes_variant *variant, const char *key)
{
	int ret = sleeper_join(&self->s);

	if (variant->poll) {
		EXPECT_EQ(POLLIN, ret);
		ASSERT_EQ(1, q_try_get(self->q, &self->s.item));
	} else {
		ASSERT_EQ(1, ret);
	}
	EXPECT_STREQ(key, self->s.item.key);
}

/* Q5, U2 */
TEST_F(wakes, add)
{
	ASSERT_EQ(KWQ_ADDED, q_add(self->other, "a"));
	check_woken(_metadata, self, variant, "a");
}

TEST_F(wakes, add_in_a_batch_among_errors)
{
	struct batch *b = new_batch();

	batch_add_with(b, "wrong", 1U << 31, 0, 0);
	batch_add(b, "held");
	batch_add_with(b, "w", KWQ_ADD_AFTER, 0, HOUR);
	batch_add(b, "a");
	ASSERT_EQ(4, batch_run(self->other, KWQ_IOC_ADD, b));
	check_woken(_metadata, self, variant, "a");
	free(b);
}

TEST_F(wakes, add_in_a_get)
{
	struct batch *b = new_batch();
	struct kwq_get_args get = { .size = sizeof(get) };

	batch_add(b, "a");
	get.add = batch_of(KWQ_IOC_ADD, b);
	ASSERT_EQ(0, q_get_raw(self->other, &get));
	check_woken(_metadata, self, variant, "a");
	free(b);
}

/* D1 */
TEST_F(wakes, time_comes)
{
	ASSERT_EQ(KWQ_WAITING, q_add_after(self->other, "a", 5 * MSEC));
	check_woken(_metadata, self, variant, "a");
}

/* Q4 */
TEST_F(wakes, requeue_at_done)
{
	ASSERT_EQ(KWQ_DIRTIED, q_add(self->other, "held"));
	ASSERT_EQ(KWQ_REQUEUED, q_done(self->other, self->held.ticket));
	check_woken(_metadata, self, variant, "held");
}

/* O1 */
TEST_F(wakes, abandoned)
{
	ASSERT_EQ(0, close(self->other));
	self->other = -1;
	check_woken(_metadata, self, variant, "held");
	EXPECT_EQ(1, self->s.item.abandoned);
}

/* Q8 */
TEST_F(wakes, shut_down)
{
	int ret;

	ASSERT_EQ(KWQ_FINISHED, q_done(self->other, self->held.ticket));
	ASSERT_EQ(0, q_shut_down(self->other));
	ret = sleeper_join(&self->s);
	EXPECT_EQ(variant->poll ? POLLIN : -ESHUTDOWN, ret);
	EXPECT_EQ(-ESHUTDOWN, q_try_get(self->q, &self->s.item));
}

/* Many waiters */

#define WAITERS	16

/* Q5, U2: pollers are woken, too, for the items that the getters leave. */
TEST_F(wait, batch_wakes_getters_and_pollers)
{
	struct batch *b = new_batch();
	struct sleeper getter, poller;

	batch_add(b, "a");
	batch_add(b, "b");
	for (int round = 0; round < 10; round++) {
		start_get(&getter, self->q);
		start_poll(&poller, self->other, POLLIN);
		ASSERT_EQ(2, batch_run(self->q, KWQ_IOC_ADD, b));
		EXPECT_EQ(1, sleeper_join(&getter));
		EXPECT_EQ(POLLIN, sleeper_join(&poller));
		EXPECT_EQ(KWQ_FINISHED, q_done(self->q, getter.item.ticket));
		EXPECT_LT(0, q_remove(self->q, getter.item.key[0] == 'a' ? "b" : "a"));
	}
	free(b);
}

/* Q8: a shut down wakes everyone. */
TEST_F(wait, shut_down_wakes_everyone)
{
	struct sleeper sleepers[WAITERS];

	for (int i = 0; i < WAITERS; i++) {
		if (i % 4 == 3)
			start_poll(&sleepers[i], self->q, POLLIN);
		else
			start_get(&sleepers[i], i % 2 ? self->q : self->other);
	}
	ASSERT_EQ(0, q_shut_down(self->q));
	for (int i = 0; i < WAITERS; i++)
		EXPECT_EQ(i % 4 == 3 ? POLLIN : -ESHUTDOWN, sleeper_join(&sleepers[i]));
}

/* Wake-ups of waiters that leave */

static int call_get_into_nothing(struct sleeper *s)
{
	struct kwq_got got;
	struct kwq_get_args get = GET_ARGS(&got, 0, 8, 1, .deadline = KWQ_NO_DEADLINE);

	return q_get_raw(s->fd, &get);
}

static int call_get_without_room(struct sleeper *s)
{
	struct kwq_got got;
	struct kwq_get_args get = GET_ARGS(&got, 0, 0, 1, .deadline = KWQ_NO_DEADLINE);

	return q_get_raw(s->fd, &get);
}

static void start_call(struct sleeper *s, int q, int (*call)(struct sleeper *s))
{
	*s = (struct sleeper){ .call = call, .fd = q, .deadline = KWQ_NO_DEADLINE };
	sleeper_start(s);
	wait_until_asleep(s->tid, __NR_ioctl, KWQ_IOC_GET);
}

static void check_passed_on(struct __test_metadata *_metadata, int q, int other,
			    int (*call)(struct sleeper *s), int want)
{
	struct sleeper good, bad;

	for (int round = 0; round < 40; round++) {
		if (round % 2) {
			start_get(&good, q);
			start_call(&bad, other, call);
		} else {
			start_call(&bad, other, call);
			start_get(&good, q);
		}
		ASSERT_EQ(KWQ_ADDED, q_add(q, "a"));
		ASSERT_EQ(1, sleeper_join(&good));
		/* The bad getter has failed meanwhile, or it still sleeps and fails now. */
		ASSERT_LE(0, q_add(q, "b"));
		ASSERT_EQ(want, sleeper_join(&bad));
		ASSERT_EQ(KWQ_FINISHED, q_done(q, good.item.ticket));
		expect_take(q, "b");
		check_stat(q, .items = 0);
	}
}

/* Q5, O2: the item goes back, and the next getter gets its wake-up. */
TEST_F(wait, put_back_wakes_the_next)
{
	check_passed_on(_metadata, self->q, self->other, call_get_into_nothing, -EFAULT);
}

/* Q5, Q13: the key does not fit this getter's buffer; the next one may have room. */
TEST_F(wait, no_room_wakes_the_next)
{
	check_passed_on(_metadata, self->q, self->other, call_get_without_room, -EMSGSIZE);
}

/*
 * Q5: an item that a worker's done makes ready goes to the same call's get, and nobody
 * is woken for it.
 */
TEST_F(wait, done_and_get_in_one_wakes_nobody)
{
	struct kwq_done_entry entry = {};
	__u8 keys[KWQ_KEY_MAX];
	struct kwq_got got;
	struct kwq_get_args get = GET_ARGS(&got, user_ptr(keys), 0, 1, .flags = KWQ_GET_NONBLOCK);
	struct sleeper sleeper;
	struct item item;
	__s32 result;
	long slept;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	ASSERT_EQ(1, q_try_get(self->q, &item));
	entry.ticket = item.ticket;
	start_get(&sleeper, self->other);
	slept = times_slept(sleeper.tid);
	for (get.get.keys_len = 1; get.get.keys_len <= sizeof(keys); get.get.keys_len *= 2) {
		ASSERT_EQ(KWQ_DIRTIED, q_add(self->q, "a"));
		get.nr_done = 0;
		get.done = (struct kwq_batch){
			.entries = user_ptr(&entry),
			.results = user_ptr(&result),
			.nr = 1,
			.entry_size = sizeof(entry),
		};
		ASSERT_EQ(1, q_get_raw(self->q, &get));
		EXPECT_EQ(KWQ_REQUEUED, result);
		entry.ticket = got.ticket;
		wait_until_asleep(sleeper.tid, __NR_ioctl, KWQ_IOC_GET);
		EXPECT_EQ(slept, times_slept(sleeper.tid)) {
			TH_LOG("with room for %u bytes", get.get.keys_len);
		}
	}
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, entry.ticket));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	EXPECT_EQ(1, sleeper_join(&sleeper));
}

/* Q5 */
TEST_F(wait, signal_interrupts)
{
	struct sleeper s;

	catch_signal(0);
	start_get(&s, self->q);
	ASSERT_EQ(0, pthread_kill(s.thread, SIGUSR1));
	EXPECT_EQ(-EINTR, sleeper_join(&s));
	EXPECT_EQ(1, signals);
	check_stat(self->q, .items = 0);
}

/* Q5: as read and poll do. */
TEST_F(wait, signal_restarts)
{
	struct sleeper s;

	catch_signal(SA_RESTART);
	start_get(&s, self->q);
	for (int n = 1; n <= 3; n++) {
		ASSERT_EQ(0, pthread_kill(s.thread, SIGUSR1));
		while (signals < n)
			sched_yield();
		wait_until_asleep(s.tid, __NR_ioctl, KWQ_IOC_GET);
	}
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(1, sleeper_join(&s));
	EXPECT_STREQ("a", s.item.key);
}

/* Q5: a restarted call has the same absolute deadline. */
TEST_F(wait, signal_restarts_with_a_deadline)
{
	struct sleeper s = {
		.call = call_get,
		.fd = self->q,
		.deadline = now_ns() + 50 * MSEC,
	};

	catch_signal(SA_RESTART);
	sleeper_start(&s);
	while (!atomic_load(&s.ended)) {
		ASSERT_EQ(0, pthread_kill(s.thread, SIGUSR1));
		sched_yield();
	}
	EXPECT_EQ(-ETIMEDOUT, sleeper_join(&s));
	EXPECT_LE(s.deadline, now_ns());
}

static int call_done_and_get(struct sleeper *s)
{
	struct kwq_get_args *get = s->arg;

	return q_get_raw(s->fd, get);
}

/* Runs the request on the caller's structure, without a copy. */
static int call_get_raw(struct sleeper *s)
{
	return request(s->fd, KWQ_IOC_GET, s->arg);
}

/* Q5: a relative deadline counts from the call, not from its restarts. */
TEST_F(wait, signal_restarts_with_a_relative_deadline)
{
	int q = new_manual_queue(self->dev, NULL);
	struct kwq_got got;
	struct sleeper s;
	__u8 key[8];
	struct kwq_get_args get = GET_ARGS(&got, user_ptr(key), sizeof(key), 1,
					   .flags = KWQ_GET_RELATIVE, .deadline = 10 * SEC);

	ASSERT_LE(0, q);
	ASSERT_EQ(0, q_advance(q, 5 * SEC));
	catch_signal(SA_RESTART);
	for (int round = 0; round < 2; round++) {
		__u64 end = 15 * SEC + round * 10 * SEC;

		atomic_store(&signals, 0);
		s = (struct sleeper){ .call = call_get_raw, .fd = q, .arg = &get };
		sleeper_start(&s);
		wait_until_asleep(s.tid, __NR_ioctl, KWQ_IOC_GET);
		for (int n = 1; n <= 3; n++) {
			ASSERT_EQ(0, pthread_kill(s.thread, SIGUSR1));
			while (signals < n)
				sched_yield();
			wait_until_asleep(s.tid, __NR_ioctl, KWQ_IOC_GET);
			EXPECT_EQ(end, get.resume);
			ASSERT_EQ(0, q_advance(q, SEC));
		}
		ASSERT_EQ(0, q_advance_to(q, end - 1));
		EXPECT_FALSE(s.ended);
		/* The wait ended, by an item or by the time. The next call begins a new
		 * one.
		 */
		if (round)
			ASSERT_EQ(KWQ_ADDED, q_add(q, "a"));
		ASSERT_EQ(0, q_advance_to(q, end));
		EXPECT_EQ(round ? 1 : -ETIMEDOUT, sleeper_join(&s));
		EXPECT_EQ(0, get.resume);
	}
	/* This member is for relative deadlines only. */
	get.flags = 0;
	get.resume = 1;
	EXPECT_EQ(-EINVAL, q_get_raw(q, &get));
	close(q);
}

/* D7: a timeout beyond the clock means for ever; a timeout of 0 returns at once. */
TEST_F(wait, relative_deadlines)
{
	static const __u64 long_ones[] = { TIME_MAX, TIME_MAX - 1, KWQ_NO_DEADLINE };
	struct sleeper s;
	struct item item;

	EXPECT_EQ(-ETIMEDOUT, q_get(self->q, &item, KWQ_GET_RELATIVE, 0));
	EXPECT_EQ(-ETIMEDOUT, q_get(self->q, &item, KWQ_GET_RELATIVE, 1));
	for (int i = 0; i < ARRAY_SIZE(long_ones); i++) {
		s = (struct sleeper){
			.call = call_get, .fd = self->q, .flags = KWQ_GET_RELATIVE,
			.deadline = long_ones[i],
		};
		sleeper_start(&s);
		wait_until_asleep(s.tid, __NR_ioctl, KWQ_IOC_GET);
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
		EXPECT_EQ(1, sleeper_join(&s));
		EXPECT_EQ(KWQ_FINISHED, q_done(self->q, s.item.ticket));
	}
}

/* Q5: a call that cannot store its state cannot be restarted. */
TEST_F(wait, relative_deadline_that_cannot_be_noted)
{
	struct kwq_get_args *get = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct kwq_got got;
	struct sleeper s;
	__u8 key[8];

	ASSERT_NE(MAP_FAILED, get);
	*get = (struct kwq_get_args){
		.size = sizeof(*get),
		.flags = KWQ_GET_RELATIVE,
		.deadline = HOUR,
		.get = {
			.entries = user_ptr(&got),
			.keys = user_ptr(key),
			.keys_len = sizeof(key),
			.nr = 1,
			.entry_size = sizeof(got),
		},
	};
	ASSERT_EQ(0, mprotect(get, 4096, PROT_READ));
	catch_signal(SA_RESTART);
	s = (struct sleeper){ .call = call_get_raw, .fd = self->q, .arg = get };
	sleeper_start(&s);
	wait_until_asleep(s.tid, __NR_ioctl, KWQ_IOC_GET);
	ASSERT_EQ(0, pthread_kill(s.thread, SIGUSR1));
	EXPECT_EQ(-EINTR, sleeper_join(&s));
	munmap(get, 4096);
}

/* Q5, Q13: adds and dones do not happen a second time. */
TEST_F(wait, signal_after_done_does_not_restart)
{
	struct batch *adds = new_batch(), *dones = new_batch();
	struct kwq_got got;
	struct item item;
	struct sleeper s;
	__u8 key[8];
	struct kwq_get_args get = GET_ARGS(&got, user_ptr(key), sizeof(key), 1,
					   .deadline = KWQ_NO_DEADLINE);

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	expect_next(self->q, &item, "a");
	batch_add_with(adds, "w", KWQ_ADD_AFTER, 0, HOUR);
	batch_done(dones, item.ticket);
	get.add = batch_of(KWQ_IOC_ADD, adds);
	get.done = batch_of(KWQ_IOC_DONE, dones);

	catch_signal(SA_RESTART);
	s = (struct sleeper){ .call = call_done_and_get, .fd = self->q, .arg = &get };
	sleeper_start(&s);
	wait_until_asleep(s.tid, __NR_ioctl, KWQ_IOC_GET);
	ASSERT_EQ(0, pthread_kill(s.thread, SIGUSR1));
	EXPECT_EQ(-EINTR, sleeper_join(&s));
	EXPECT_EQ(1, get.nr_added);
	EXPECT_EQ(1, get.nr_done);
	EXPECT_EQ(KWQ_WAITING, adds->results[0]);
	EXPECT_EQ(KWQ_FINISHED, dones->results[0]);
	check_counts(self->q, .adds = 1, .gets = 1, .dones = 1);
	free(dones);
	free(adds);
}

static int peer_gets(struct peer *parent, void *arg)
{
	int q = q_reopen(*(int *)arg);
	struct item item;
	int ret;

	say(parent, q);
	ret = q_wait_get(q, &item);
	say(parent, ret);
	return 0;
}

/* Q5: a stopped process continues to wait when it is continued. */
TEST_F(wait, stop_and_continue)
{
	struct peer child;
	int status;

	start_peer(&child, peer_gets, &self->q);
	ASSERT_LE(0, hear(&child));
	for (int i = 0; i < 3; i++) {
		wait_until_asleep(child.pid, __NR_ioctl, KWQ_IOC_GET);
		ASSERT_EQ(0, kill(child.pid, SIGSTOP));
		ASSERT_EQ(child.pid, waitpid(child.pid, &status, WUNTRACED));
		ASSERT_TRUE(WIFSTOPPED(status));
		ASSERT_EQ(0, kill(child.pid, SIGCONT));
		ASSERT_EQ(child.pid, waitpid(child.pid, &status, WCONTINUED));
	}
	wait_until_asleep(child.pid, __NR_ioctl, KWQ_IOC_GET);
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(1, hear(&child));
	EXPECT_EQ(0, end_of_peer(&child));
}

/*
 * Q5: an item wakes a waiter just as the waiter leaves for another reason. Either this
 * waiter takes the item, or the next one does.
 */
TEST_F(wait, signal_races_with_add)
{
	struct sleeper leaves, stays;

	catch_signal(0);
	for (int round = 0; round < 100; round++) {
		start_get(&leaves, self->q);
		start_get(&stays, self->other);
		if (round % 2) {
			ASSERT_EQ(0, pthread_kill(leaves.thread, SIGUSR1));
			ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
		} else {
			ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
			ASSERT_EQ(0, pthread_kill(leaves.thread, SIGUSR1));
		}
		if (sleeper_join(&leaves) == 1) {
			ASSERT_EQ(KWQ_ADDED, q_add(self->q, "b"));
			ASSERT_EQ(1, sleeper_join(&stays));
			ASSERT_EQ(KWQ_FINISHED, q_done(self->q, leaves.item.ticket));
		} else {
			ASSERT_EQ(-EINTR, leaves.ret);
			ASSERT_EQ(1, sleeper_join(&stays));
		}
		ASSERT_EQ(KWQ_FINISHED, q_done(self->other, stays.item.ticket));
	}
	check_stat(self->q, .items = 0);
}

TEST_F(wait, deadline_races_with_add)
{
	struct sleeper leaves, stays;

	for (int round = 0; round < 100; round++) {
		leaves = (struct sleeper){
			.call = call_get,
			.fd = self->q,
			.deadline = now_ns() + 2 * MSEC,
		};
		sleeper_start(&leaves);
		start_get(&stays, self->other);
		/* From 100 us before the deadline to 100 us after it. */
		while (now_ns() + 100 * USEC < leaves.deadline + round * 2 * USEC)
			;
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
		if (sleeper_join(&leaves) == 1) {
			ASSERT_EQ(KWQ_ADDED, q_add(self->q, "b"));
			ASSERT_EQ(1, sleeper_join(&stays));
			ASSERT_EQ(KWQ_FINISHED, q_done(self->q, leaves.item.ticket));
		} else {
			ASSERT_EQ(-ETIMEDOUT, leaves.ret);
			ASSERT_EQ(1, sleeper_join(&stays));
		}
		ASSERT_EQ(KWQ_FINISHED, q_done(self->other, stays.item.ticket));
	}
	check_stat(self->q, .items = 0);
}

/* Q5, O1: the waiter is killed before or after it got the item. */
TEST_F(wait, kill_races_with_add)
{
	struct sleeper stays;
	struct peer child;

	for (int round = 0; round < 40; round++) {
		start_peer(&child, peer_gets, &self->q);
		ASSERT_LE(0, hear(&child));
		wait_until_asleep(child.pid, __NR_ioctl, KWQ_IOC_GET);
		start_get(&stays, self->other);
		if (round % 2) {
			ASSERT_EQ(0, kill(child.pid, SIGKILL));
			ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
		} else {
			ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
			ASSERT_EQ(0, kill(child.pid, SIGKILL));
		}
		end_of_peer(&child);
		ASSERT_EQ(1, sleeper_join(&stays));
		EXPECT_STREQ("a", stays.item.key);
		EXPECT_LE(stays.item.abandoned, 1);
		ASSERT_EQ(KWQ_FINISHED, q_done(self->other, stays.item.ticket));
	}
	check_stat(self->q, .items = 0);
}

/* Closing during a wait */

/* The call keeps its file, and the file keeps the handle. */
TEST_F(wait, close_a_dup)
{
	struct sleeper s;
	int second = fcntl(self->q, F_DUPFD_CLOEXEC, 0);

	ASSERT_LE(0, second);
	start_get(&s, second);
	ASSERT_EQ(0, close(self->q));
	self->q = -1;
	ASSERT_EQ(KWQ_ADDED, q_add(self->other, "a"));
	EXPECT_EQ(1, sleeper_join(&s));
	check_stat(self->other, .processing = 1, .items = 1);
	EXPECT_EQ(KWQ_FINISHED, q_done(second, s.item.ticket));
	close(second);
}

/* O1: with the last descriptor closed, the item comes back as soon as the call returns. */
TEST_F(wait, close_while_getting)
{
	struct kwq_stat stat;
	struct sleeper s;

	start_get(&s, self->q);
	ASSERT_EQ(0, close(self->q));
	self->q = -1;
	ASSERT_EQ(0, q_stat(self->other, &stat));
	EXPECT_EQ(2, stat.handles);
	ASSERT_EQ(KWQ_ADDED, q_add(self->other, "a"));
	EXPECT_EQ(1, sleeper_join(&s));
	ASSERT_EQ(0, q_stat(self->other, &stat));
	EXPECT_EQ(1, stat.handles);
	check_stat(self->other, .ready = 1, .items = 1);
	check_counts(self->other, .adds = 1, .gets = 1, .abandoned = 1);
}

/* A poll looks its descriptor up again after the wake-up, but it is closed by then. */
TEST_F(wait, close_while_polling)
{
	struct kwq_stat stat;
	struct sleeper s;

	start_poll(&s, self->q, POLLIN);
	ASSERT_EQ(0, close(self->q));
	self->q = -1;
	ASSERT_EQ(KWQ_ADDED, q_add(self->other, "a"));
	EXPECT_EQ(POLLNVAL, sleeper_join(&s));
	ASSERT_EQ(0, q_stat(self->other, &stat));
	EXPECT_EQ(1, stat.handles);
}

/* O6: the queue is freed with its last handle, and the poller is not affected. */
TEST_F(wait, close_what_an_epoll_watches)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	ASSERT_LE(0, epoll);
	ASSERT_EQ(0, epoll_ctl(epoll, EPOLL_CTL_ADD, self->q, &event));
	ASSERT_EQ(0, epoll_ctl(epoll, EPOLL_CTL_ADD, self->other, &event));
	ASSERT_EQ(0, close(self->other));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(1, epoll_wait(epoll, &event, 1, -1));
	ASSERT_EQ(KWQ_WAITING, q_add_after(self->q, "b", MSEC));
	ASSERT_EQ(0, close(self->q));
	self->q = -1;
	self->other = -1;
	EXPECT_EQ(0, epoll_wait(epoll, &event, 1, 0));
	close(epoll);
}

/* O6: an unlinked queue still exists for its handles, and so for its pollers. */
TEST_F(wait, unlinked_while_polled)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct sleeper s;
	char name[32];
	int q;

	ASSERT_LE(0, epoll);
	snprintf(name, sizeof(name), "wait.%d", getpid());
	q = q_create(self->dev, name, 0, O_CLOEXEC, 0700);
	ASSERT_LE(0, q);
	ASSERT_EQ(0, epoll_ctl(epoll, EPOLL_CTL_ADD, q, &event));
	start_poll(&s, q, POLLIN);
	ASSERT_EQ(0, q_unlink(self->dev, name));
	ASSERT_EQ(KWQ_ADDED, q_add(q, "a"));
	EXPECT_EQ(POLLIN, sleeper_join(&s));
	EXPECT_EQ(1, epoll_wait(epoll, &event, 1, -1));
	close(epoll);
	close(q);
}

/* O6: an epoll is closed while the queue lives on. */
TEST_F(wait, close_an_epoll)
{
	struct epoll_event event = { .events = EPOLLIN };

	for (int i = 0; i < 20; i++) {
		int epoll = epoll_create1(EPOLL_CLOEXEC);

		ASSERT_LE(0, epoll);
		event.events = EPOLLIN | (i % 2 ? EPOLLEXCLUSIVE : EPOLLET);
		ASSERT_EQ(0, epoll_ctl(epoll, EPOLL_CTL_ADD, self->q, &event));
		close(epoll);
		ASSERT_LE(0, q_add(self->q, "a"));
	}
	expect_take(self->q, "a");
}

static int peer_with_waiting_threads(struct peer *parent, void *arg)
{
	static struct sleeper s[6];
	int q = q_reopen(*(int *)arg);

	for (int i = 0; i < 4; i++)
		start_get(&s[i], q);
	for (int i = 4; i < 6; i++)
		start_poll(&s[i], q, POLLIN);
	say(parent, q);
	hear(parent);
	return 0;
}

/* O6: a process exits while its threads wait. */
TEST_F(wait, exit_while_threads_wait)
{
	struct kwq_stat stat;
	struct peer child;

	for (int i = 0; i < 10; i++) {
		start_peer(&child, peer_with_waiting_threads, &self->q);
		ASSERT_LE(0, hear(&child));
		if (i % 2) {
			EXPECT_EQ(-SIGKILL, kill_peer(&child));
		} else {
			say(&child, 0);
			EXPECT_EQ(0, end_of_peer(&child));
		}
		ASSERT_EQ(0, q_stat(self->q, &stat));
		EXPECT_EQ(2, stat.handles);
	}
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	expect_take(self->q, "a");
}

/* poll, select, epoll */

static int poll_now(int q, short events)
{
	struct pollfd pollfd = { .fd = q, .events = events };

	if (poll(&pollfd, 1, 0) < 0)
		return -errno;
	return pollfd.revents;
}

#define POLL_READ	(POLLIN | POLLRDNORM)
#define POLL_WRITE	(POLLOUT | POLLWRNORM)
/* The queue is shut down: to a poller that may add, and asks for room. */
#define POLL_END	(POLLERR | POLLRDHUP)
#define POLL_ALL	(POLL_READ | POLL_WRITE | POLLPRI | POLLRDHUP)

/* U2: readable when Get would not wait; writable while an add would be accepted. */
TEST_F(wait, poll_tells)
{
	struct item item;

	EXPECT_EQ(POLL_WRITE, poll_now(self->q, POLL_ALL));
	ASSERT_EQ(KWQ_WAITING, q_add_after(self->q, "w", HOUR));
	EXPECT_EQ(POLL_WRITE, poll_now(self->q, POLL_ALL));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(POLL_READ | POLL_WRITE, poll_now(self->q, POLL_ALL));
	EXPECT_EQ(POLL_READ | POLL_WRITE, poll_now(self->other, POLL_ALL));
	/* The event stays until the item is taken. */
	EXPECT_EQ(POLLIN, poll_now(self->q, POLLIN));
	EXPECT_EQ(POLLIN, poll_now(self->q, POLLIN));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(POLL_WRITE, poll_now(self->q, POLL_ALL));
	ASSERT_EQ(KWQ_DIRTIED, q_add(self->q, "a"));
	EXPECT_EQ(POLL_WRITE, poll_now(self->q, POLL_ALL));
	ASSERT_EQ(KWQ_REQUEUED, q_done(self->q, item.ticket));
	EXPECT_EQ(POLL_READ | POLL_WRITE, poll_now(self->q, POLL_ALL));
	ASSERT_EQ(KWQ_WAS_READY, q_remove(self->q, "a"));
	EXPECT_EQ(POLL_WRITE, poll_now(self->q, POLL_ALL));
}

/* U2, Q8 */
TEST_F(wait, poll_tells_after_shut_down)
{
	struct item mine, others;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	ASSERT_EQ(0, q_shut_down(self->q));
	EXPECT_EQ(POLL_READ | POLL_END, poll_now(self->q, POLL_ALL));
	expect_next(self->other, &others, "a");
	EXPECT_EQ(POLL_READ | POLL_END, poll_now(self->q, POLL_ALL));
	expect_next(self->q, &mine, "b");
	/* Both handles hold an item, so both would be told that nothing is left. */
	EXPECT_EQ(POLL_READ | POLL_END, poll_now(self->q, POLL_ALL));
	EXPECT_EQ(POLL_READ | POLL_END, poll_now(self->other, POLL_ALL));
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, mine.ticket));
	/* This handle holds nothing any more, and would wait for the other one's item. */
	EXPECT_EQ(POLL_END, poll_now(self->q, POLL_ALL));
	EXPECT_EQ(-EAGAIN, q_try_get(self->q, &mine));
	EXPECT_EQ(KWQ_FINISHED, q_done(self->other, others.ticket));
	EXPECT_EQ(POLL_READ | POLL_END, poll_now(self->q, POLL_ALL));
	EXPECT_EQ(-ESHUTDOWN, q_try_get(self->q, &mine));
}

/* U2, U9: a handle without the right to read is never readable; the same for writing. */
TEST_F(wait, poll_tells_who_may_get)
{
	int rd = q_open_with(self->q, NULL, KWQ_RIGHT_READ, O_CLOEXEC);
	int wr = q_open_with(self->q, NULL, KWQ_RIGHT_WRITE, O_CLOEXEC);
	int manager = q_open_with(self->q, NULL, KWQ_RIGHT_MANAGE, O_CLOEXEC);

	ASSERT_LE(0, rd);
	ASSERT_LE(0, wr);
	ASSERT_LE(0, manager);
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(POLL_READ, poll_now(rd, POLL_ALL));
	EXPECT_EQ(POLL_WRITE, poll_now(wr, POLL_ALL));
	EXPECT_EQ(0, poll_now(manager, POLL_ALL));
	ASSERT_EQ(0, q_shut_down(manager));
	EXPECT_EQ(POLLRDHUP, poll_now(manager, POLL_ALL));
	EXPECT_EQ(POLL_END, poll_now(wr, POLL_ALL));
	EXPECT_EQ(POLL_READ | POLLRDHUP, poll_now(rd, POLL_ALL));
	close(manager);
	close(rd);
	close(wr);
}

/* U2: a poll for other events is not woken by items. */
TEST_F(wait, poll_for_shut_down_only)
{
	struct sleeper s;

	start_poll(&s, self->q, POLLRDHUP);
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	wait_until_asleep(s.tid, NR_POLL, 0);
	EXPECT_FALSE(s.ended);
	ASSERT_EQ(0, q_shut_down(self->q));
	EXPECT_EQ(POLLRDHUP, sleeper_join(&s));
}

static int select_now(int q)
{
	struct timeval none = { };
	fd_set rd, wr;

	FD_ZERO(&rd);
	FD_ZERO(&wr);
	FD_SET(q, &rd);
	FD_SET(q, &wr);
	if (select(q + 1, &rd, &wr, NULL, &none) < 0)
		return -errno;
	return (FD_ISSET(q, &rd) ? 1 : 0) | (FD_ISSET(q, &wr) ? 2 : 0);
}

/* U2 */
TEST_F(wait, select_tells)
{
	EXPECT_EQ(2, select_now(self->q));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(3, select_now(self->q));
	expect_take(self->q, "a");
	EXPECT_EQ(2, select_now(self->q));
	ASSERT_EQ(0, q_shut_down(self->q));
	/* select(2) shows the EPOLLERR as writable. */
	EXPECT_EQ(3, select_now(self->q));
}

static int epoll_on(int q, __u32 events)
{
	struct epoll_event event = { .events = events };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	REQUIRE(epoll >= 0);
	REQUIRE(!epoll_ctl(epoll, EPOLL_CTL_ADD, q, &event));
	return epoll;
}

static int epoll_now(int epoll)
{
	struct epoll_event event = { };
	int n = epoll_wait(epoll, &event, 1, 0);

	REQUIRE(n >= 0);
	return n ? event.events : 0;
}

/* U2: level-triggered. */
TEST_F(wait, epoll_tells)
{
	int epoll = epoll_on(self->q, EPOLLIN);

	EXPECT_EQ(0, epoll_now(epoll));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(EPOLLIN, epoll_now(epoll));
	EXPECT_EQ(EPOLLIN, epoll_now(epoll));
	expect_take(self->q, "a");
	EXPECT_EQ(0, epoll_now(epoll));
	ASSERT_EQ(0, q_shut_down(self->q));
	EXPECT_EQ(EPOLLIN, epoll_now(epoll));
	close(epoll);
}

/* U2: edge-triggered: one event each time an item becomes ready, and none otherwise. */
TEST_F(wait, epoll_tells_of_edges)
{
	int epoll = epoll_on(self->q, EPOLLIN | EPOLLET);
	struct item item;

	EXPECT_EQ(0, epoll_now(epoll));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(EPOLLIN, epoll_now(epoll));
	EXPECT_EQ(0, epoll_now(epoll));
	ASSERT_EQ(KWQ_COALESCED, q_add(self->q, "a"));
	EXPECT_EQ(0, epoll_now(epoll));
	/* Another item, while the first one is still ready. */
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	EXPECT_EQ(EPOLLIN, epoll_now(epoll));
	EXPECT_EQ(0, epoll_now(epoll));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(0, epoll_now(epoll));
	ASSERT_EQ(KWQ_DIRTIED, q_add(self->q, "a"));
	EXPECT_EQ(0, epoll_now(epoll));
	ASSERT_EQ(KWQ_REQUEUED, q_done(self->q, item.ticket));
	EXPECT_EQ(EPOLLIN, epoll_now(epoll));
	expect_take(self->q, "b");
	expect_next(self->other, &item, "a");
	EXPECT_EQ(0, epoll_now(epoll));
	ASSERT_EQ(0, close(self->other));
	self->other = -1;
	EXPECT_EQ(EPOLLIN, epoll_now(epoll));
	expect_take(self->q, "a");
	ASSERT_EQ(KWQ_ADDED, q_add_at(self->q, "c", 1));
	EXPECT_EQ(EPOLLIN, epoll_now(epoll));
	expect_take(self->q, "c");
	ASSERT_EQ(0, q_shut_down(self->q));
	EXPECT_EQ(EPOLLIN, epoll_now(epoll));
	close(epoll);
}

/* More than one hold of the lock tells. */
#define NR_WATCHES	200

static const uint32_t ways_to_watch[] = {
	EPOLLIN, EPOLLIN | EPOLLET, EPOLLIN | EPOLLEXCLUSIVE, EPOLLIN | EPOLLEXCLUSIVE | EPOLLET,
};

static void watch(int *epolls, int nr, int q)
{
	for (int i = 0; i < nr; i++) {
		epolls[i] = epoll_on(q, ways_to_watch[i % ARRAY_SIZE(ways_to_watch)]);
		REQUIRE(epolls[i] >= 0);
	}
}

static int nr_told(const int *epolls, int nr)
{
	int told = 0;

	while (nr--)
		told += epoll_now(epolls[nr]) == EPOLLIN;
	return told;
}

static void close_all(const int *epolls, int nr)
{
	while (nr--)
		close(epolls[nr]);
}

/* Q5, O8: everybody is told, though one hold tells a few. No task sleeps in an epoll. */
TEST_F(wait, many_watch)
{
	struct epoll_event event;
	int epolls[NR_WATCHES];

	watch(epolls, NR_WATCHES, self->q);
	EXPECT_EQ(0, nr_told(epolls, NR_WATCHES));
	/* An add, */
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(NR_WATCHES, nr_told(epolls, NR_WATCHES));
	EXPECT_EQ(NR_WATCHES / 2, nr_told(epolls, NR_WATCHES));
	expect_take(self->q, "a");
	EXPECT_EQ(0, nr_told(epolls, NR_WATCHES));
	/* a time that comes (an exclusive epoll in which this slept would keep it), */
	ASSERT_EQ(KWQ_WAITING, q_add_after(self->q, "a", MSEC));
	for (int i = 0; i < NR_WATCHES; i++)
		if (!(ways_to_watch[i % ARRAY_SIZE(ways_to_watch)] & EPOLLEXCLUSIVE))
			EXPECT_EQ(1, epoll_wait(epolls[i], &event, 1, -1));
	expect_take(self->q, "a");
	EXPECT_EQ(0, nr_told(epolls, NR_WATCHES));
	/* and a shut down */
	ASSERT_EQ(0, q_shut_down(self->q));
	EXPECT_EQ(NR_WATCHES, nr_told(epolls, NR_WATCHES));
	close_all(epolls, NR_WATCHES);
}

static bool others_stop;

static int come_and_go(struct sleeper *s)
{
	int epolls[10];

	while (!__atomic_load_n(&others_stop, __ATOMIC_RELAXED)) {
		watch(epolls, ARRAY_SIZE(epolls), s->fd);
		/* Not in the order in which they came */
		for (int i = 0; i < ARRAY_SIZE(epolls); i++)
			close(epolls[(i * 3) % ARRAY_SIZE(epolls)]);
	}
	return 0;
}

/* Q5, O6: others come and go beside those that are told. */
TEST_F(wait, many_watch_and_others_come_and_go)
{
	struct sleeper others = { .call = come_and_go, .fd = self->other };
	int epolls[NR_WATCHES];

	watch(epolls, NR_WATCHES, self->q);
	others_stop = false;
	sleeper_start(&others);
	for (int i = 0; i < 50; i++) {
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
		EXPECT_EQ(NR_WATCHES, nr_told(epolls, NR_WATCHES));
		expect_take(self->q, "a");
	}
	__atomic_store_n(&others_stop, true, __ATOMIC_RELAXED);
	EXPECT_EQ(0, sleeper_join(&others));
	close_all(epolls, NR_WATCHES);
}

static int call_epoll_wait(struct sleeper *s)
{
	struct epoll_event event;

	return epoll_wait(s->fd, &event, 1, -1) == 1 ? (int)event.events : -errno;
}

static void start_epoll_wait(struct sleeper *s, int epoll)
{
	*s = (struct sleeper){ .call = call_epoll_wait, .fd = epoll };
	sleeper_start(s);
	wait_until_asleep(s->tid, NR_EPOLL_WAIT, 0);
}

/*
 * Q5, U2: polling takes no item. So an item that wakes a poller must wake a getter,
 * too, even if the poller waits exclusively.
 */
TEST_F(wait, exclusive_poller_steals_no_wake)
{
	struct sleeper poller, getter;

	for (int round = 0; round < 20; round++) {
		int epoll = epoll_on(round % 4 < 2 ? self->q : self->other,
				     EPOLLIN | EPOLLEXCLUSIVE);

		if (round % 2) {
			start_epoll_wait(&poller, epoll);
			start_get(&getter, self->q);
		} else {
			start_get(&getter, self->q);
			start_epoll_wait(&poller, epoll);
		}
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
		ASSERT_EQ(1, sleeper_join(&getter));
		/* The poller may have come too late to see the item. */
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, "b"));
		EXPECT_EQ(EPOLLIN, sleeper_join(&poller));
		ASSERT_EQ(KWQ_FINISHED, q_done(self->q, getter.item.ticket));
		expect_take(self->q, "b");
		close(epoll);
	}
}

/* U2: items wake as many exclusive pollers, one by one or all at once. */
TEST_F(wait, exclusive_pollers)
{
	struct batch *b = new_batch();
	struct sleeper pollers[4];
	int epolls[4];

	for (char key[2] = "a"; key[0] <= 'd'; key[0]++)
		batch_add(b, key);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 4; i++) {
			epolls[i] = epoll_on(self->q, EPOLLIN | EPOLLEXCLUSIVE);
			start_epoll_wait(&pollers[i], epolls[i]);
		}
		if (round)
			ASSERT_EQ(4, batch_run(self->q, KWQ_IOC_ADD, b));
		for (char key[2] = "a"; key[0] <= 'd' && !round; key[0]++)
			ASSERT_EQ(KWQ_ADDED, q_add(self->q, key));
		for (int i = 0; i < 4; i++) {
			EXPECT_EQ(EPOLLIN, sleeper_join(&pollers[i]));
			close(epolls[i]);
		}
		for (char key[2] = "a"; key[0] <= 'd'; key[0]++)
			expect_take(self->q, key);
	}
	free(b);
}

/*
 * U2: a poll by the kernel's aio, which has one wait queue, of a user who is not exempt from
 * quotas. io_uring's has two.
 */
TEST_F(wait, asynchronous_poll)
{
	struct iocb cb = { .aio_lio_opcode = IOCB_CMD_POLL, .aio_buf = POLLIN | POLLOUT };
	struct iocb *list[] = { &cb };
	aio_context_t aio = 0;
	struct io_event event;
	int q;

	ASSERT_EQ(0, setresuid(-1, 30001, -1));
	q = new_queue(self->dev);
	ASSERT_EQ(0, setresuid(-1, 0, -1));
	ASSERT_LE(0, q);
	if (access("/proc/sys/fs/aio-nr", F_OK))
		SKIP(return, "this kernel has no aio");
	ASSERT_EQ(0, syscall(SYS_io_setup, 1, &aio));
	cb.aio_fildes = q;
	ASSERT_EQ(1, syscall(SYS_io_submit, aio, 1, list));
	ASSERT_EQ(1, syscall(SYS_io_getevents, aio, 1, 1, &event, NULL));
	EXPECT_EQ(POLLOUT, event.res & (POLLIN | POLLOUT));
	cb.aio_buf = POLLIN;
	ASSERT_EQ(1, syscall(SYS_io_submit, aio, 1, list));
	ASSERT_EQ(KWQ_ADDED, q_add(q, "a"));
	ASSERT_EQ(1, syscall(SYS_io_getevents, aio, 1, 1, &event, NULL));
	EXPECT_EQ(POLLIN, event.res & (POLLIN | POLLOUT));
	ASSERT_EQ(0, syscall(SYS_io_destroy, aio));
	close(q);
}

/*
 * Q5, U9: a descriptor that may only add gets no item, so its exclusive poller would take the
 * wake-up of one that does. It learns that at once.
 */
TEST_F(wait, exclusive_poller_that_cannot_get)
{
	int writer = q_open_with(self->q, NULL, KWQ_RIGHT_WRITE, O_CLOEXEC);
	int cannot = epoll_on(writer, EPOLLIN | EPOLLEXCLUSIVE);
	int can = epoll_on(self->q, EPOLLIN | EPOLLEXCLUSIVE);
	int adds = epoll_on(writer, EPOLLOUT | EPOLLEXCLUSIVE);
	struct epoll_event event;
	struct sleeper poller;

	ASSERT_EQ(1, epoll_wait(cannot, &event, 1, -1));
	EXPECT_EQ(EPOLLERR, event.events);
	start_epoll_wait(&poller, can);
	ASSERT_EQ(KWQ_ADDED, q_add(self->other, "a"));
	EXPECT_EQ(EPOLLIN, sleeper_join(&poller));
	ASSERT_EQ(1, epoll_wait(adds, &event, 1, -1));
	EXPECT_EQ(EPOLLOUT, event.events);
	close(cannot);
	close(can);
	close(adds);
	close(writer);
}

/* Q5, U2: exclusive pollers that then get: no item is left behind. */
struct dying {
	int q;
	bool shared;	/* one handle for both */
	bool lives;
};

/* Waits exclusively for an item. Once woken, it dies or gets the item. */
static int peer_waits_alone(struct peer *parent, void *arg)
{
	const struct dying *dying = arg;
	int q = dying->shared ? dying->q : q_reopen(dying->q);
	int epoll = epoll_on(q, EPOLLIN | EPOLLEXCLUSIVE);
	struct epoll_event event;
	struct item item;

	say(parent, 1);
	REQUIRE(epoll_wait(epoll, &event, 1, -1) == 1);
	if (!dying->lives)
		return 0;
	REQUIRE(q_try_get(q, &item) == 1 && !strcmp(item.key, "a"));
	REQUIRE(q_done(q, item.ticket) == KWQ_FINISHED);
	return 0;
}

/* O7, Q5: a worker that dies between its wake-up and its get does not lose the wake-up. */
static void check_death(struct __test_metadata *_metadata, int q, bool shared)
{
	struct dying first = { .q = q, .shared = shared };
	struct dying second = { .q = q, .shared = shared, .lives = true };
	struct peer dies, lives;

	/* The first of the exclusive waiters is woken. */
	start_peer(&dies, peer_waits_alone, &first);
	ASSERT_EQ(1, hear(&dies));
	start_peer(&lives, peer_waits_alone, &second);
	ASSERT_EQ(1, hear(&lives));
	wait_until_asleep(dies.pid, NR_EPOLL_WAIT, 0);
	wait_until_asleep(lives.pid, NR_EPOLL_WAIT, 0);
	ASSERT_EQ(KWQ_ADDED, q_add(q, "a"));
	EXPECT_EQ(0, end_of_peer(&dies));
	EXPECT_EQ(0, end_of_peer(&lives));
	check_stat(q, .items = 0);
}

TEST_F(wait, exclusive_poller_dies)
{
	check_death(_metadata, self->q, false);
}

/* The handle stays open: only the descriptor of the dying worker is closed. */
TEST_F(wait, exclusive_poller_of_a_shared_handle_dies)
{
	check_death(_metadata, self->q, true);
}

/* O7: closing a handle while a thread waits for it loses no wake-up either. */
TEST_F(wait, exclusive_poller_is_closed)
{
	int ends[2], epolls[3], closing = q_reopen(self->q);
	struct sleeper pollers[3];
	struct epoll_event event = { .events = EPOLLIN };

	ASSERT_LE(0, closing);
	ASSERT_EQ(0, pipe2(ends, O_CLOEXEC));
	epolls[0] = epoll_on(self->q, EPOLLIN | EPOLLEXCLUSIVE);
	epolls[1] = epoll_on(closing, EPOLLIN | EPOLLEXCLUSIVE);
	epolls[2] = epoll_on(self->q, EPOLLIN | EPOLLEXCLUSIVE);
	ASSERT_EQ(0, epoll_ctl(epolls[1], EPOLL_CTL_ADD, ends[0], &event));
	for (int i = 0; i < 3; i++)
		start_epoll_wait(&pollers[i], epolls[i]);

	/* The first poller is woken and does nothing; the other two sleep on. */
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(EPOLLIN, sleeper_join(&pollers[0]));
	/* The close wakes the second poller. It must wake the third one, too. */
	close(closing);
	EXPECT_EQ(EPOLLIN, sleeper_join(&pollers[2]));
	ASSERT_EQ(1, write(ends[1], "", 1));
	sleeper_join(&pollers[1]);
	expect_take(self->q, "a");
	for (int i = 0; i < 3; i++)
		close(epolls[i]);
	close(ends[0]);
	close(ends[1]);
}

static int call_poll_and_get(struct sleeper *s)
{
	int n = 0, ret;

	for (;;) {
		struct pollfd pollfd = { .fd = s->fd, .events = POLLIN };

		poll(&pollfd, 1, -1);
		ret = q_try_get(s->fd, &s->item);
		if (ret == -EAGAIN)
			continue;
		if (ret != 1)
			return ret == -ESHUTDOWN ? n : ret;
		REQUIRE(q_done(s->fd, s->item.ticket) == KWQ_FINISHED);
		n++;
	}
}

static int call_get_until_shut_down(struct sleeper *s)
{
	int n = 0, ret;

	while ((ret = q_wait_get(s->fd, &s->item)) == 1) {
		REQUIRE(q_done(s->fd, s->item.ticket) == KWQ_FINISHED);
		n++;
	}
	return ret == -ESHUTDOWN ? n : ret;
}

TEST_F(wait, pollers_and_getters_together)
{
	struct sleeper s[6];
	int total = 0;
	char key[16];

	for (int i = 0; i < 6; i++) {
		s[i] = (struct sleeper){
			.call = i % 2 ? call_poll_and_get : call_get_until_shut_down,
			.fd = q_reopen(self->q),
		};
		ASSERT_LE(0, s[i].fd);
		sleeper_start(&s[i]);
	}
	for (int i = 0; i < 1000; i++) {
		snprintf(key, sizeof(key), "%d", i);
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, key));
	}
	EXPECT_EQ(0, q_drain(self->q, KWQ_NO_DEADLINE));
	for (int i = 0; i < 6; i++) {
		int n = sleeper_join(&s[i]);

		EXPECT_LE(0, n);
		total += n;
		close(s[i].fd);
	}
	EXPECT_EQ(1000, total);
	check_counts(self->q, .adds = 1000, .gets = 1000, .dones = 1000);
}

/* Q19: room in a full queue */

FIXTURE(room)
{
	int dev;
	int q;		/* has room for two items */
	int other;	/* a second handle of the same queue */
	struct item held;
};

typedef FIXTURE_DATA(room) room_fixture;

static int new_small_queue(int dev)
{
	static const struct kwq_limiter at_once[] = { FAST_SLOW(0, 0, 0) };
	struct kwq_config config = config_of(at_once);

	config.dead_after = 1;
	return new_queue_with(dev, CLOCK_MONOTONIC, 2, &config);
}

FIXTURE_SETUP(room)
{
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->q = new_small_queue(self->dev);
	ASSERT_LE(0, self->q);
	self->other = q_reopen(self->q);
	ASSERT_LE(0, self->other);
}

FIXTURE_TEARDOWN(room)
{
	close(self->other);
	close(self->q);
	close(self->dev);
}

static void hold_two(room_fixture *self)
{
	struct item b;

	REQUIRE(q_add(self->q, "a") == KWQ_ADDED);
	REQUIRE(q_add(self->q, "b") == KWQ_ADDED);
	REQUIRE(q_try_get(self->other, &self->held) == 1);
	REQUIRE(q_try_get(self->q, &b) == 1);
}

static void finish(room_fixture *self)
{
	REQUIRE(q_done(self->other, self->held.ticket) == KWQ_FINISHED);
}

static void finish_by_get(room_fixture *self)
{
	const struct kwq_done_entry entry = { .ticket = self->held.ticket };
	__s32 result;
	struct kwq_got got;
	struct kwq_get_args get = GET_ARGS(&got, 0, 0, 1, .flags = KWQ_GET_NONBLOCK,
					   GET_DONE(&entry, &result));

	REQUIRE(q_get_raw(self->other, &get) == -EAGAIN && result == KWQ_FINISHED);
}

static void hold_two_with_a_count(room_fixture *self)
{
	struct item b;

	REQUIRE(q_add_rate_limited(self->q, "a") == KWQ_ADDED);
	REQUIRE(q_add(self->q, "b") == KWQ_ADDED);
	REQUIRE(q_try_get(self->other, &self->held) == 1);
	REQUIRE(q_try_get(self->q, &b) == 1);
}

static void hold_two_of_which_one_was_removed(room_fixture *self)
{
	hold_two(self);
	REQUIRE(q_remove(self->q, "a") == KWQ_WAS_PROCESSING);
}

static void close_other(room_fixture *self)
{
	REQUIRE(!close(self->other));
	self->other = q_reopen(self->q);
	REQUIRE(self->other >= 0);
}

static void make_ready_and_waiting(room_fixture *self)
{
	REQUIRE(q_add(self->q, "a") == KWQ_ADDED);
	REQUIRE(q_add_after(self->q, "b", HOUR) == KWQ_WAITING);
}

static void remove_ready(room_fixture *self)
{
	REQUIRE(q_remove(self->q, "a") == KWQ_WAS_READY);
}

static void remove_waiting(room_fixture *self)
{
	REQUIRE(q_remove(self->other, "b") == KWQ_WAS_WAITING);
}

static void make_dead(room_fixture *self)
{
	REQUIRE(q_add_rate_limited(self->q, "a") == KWQ_ADDED);
	REQUIRE(q_try_get(self->other, &self->held) == 1);
	REQUIRE(q_add_rate_limited(self->q, "a") == KWQ_DEAD);
	finish(self);
	REQUIRE(q_add(self->q, "b") == KWQ_ADDED);
}

static void drop_dead(room_fixture *self)
{
	REQUIRE(q_drop(self->q, "a") == KWQ_WAS_DEAD);
}

static const struct way {
	const char *name;
	void (*fill)(room_fixture *self);
	void (*make_room)(room_fixture *self);
} ways[] = {
	{ "done", hold_two, finish },
	{ "done and get", hold_two, finish_by_get },
	{ "done, and a count stays", hold_two_with_a_count, finish },
	{ "removed, and done", hold_two_of_which_one_was_removed, finish },
	{ "ready item removed", make_ready_and_waiting, remove_ready },
	{ "waiting item removed", make_ready_and_waiting, remove_waiting },
	{ "dead item dropped", make_dead, drop_dead },
};

static void fill_anew(room_fixture *self, const struct way *way)
{
	close(self->q);
	close(self->other);
	self->q = new_small_queue(self->dev);
	self->other = q_reopen(self->q);
	REQUIRE(self->q >= 0 && self->other >= 0);
	way->fill(self);
}

/* Q19, U2: writable exactly when an add of a new key would find room. */
TEST_F(room, poll_tells)
{
	int rd;

	for (int i = 0; i < ARRAY_SIZE(ways); i++) {
		fill_anew(self, &ways[i]);
		EXPECT_EQ(0, poll_now(self->q, POLL_WRITE)) {
			TH_LOG("%s", ways[i].name);
		}
		EXPECT_EQ(-ENOSPC, q_add(self->q, "new"));
		ways[i].make_room(self);
		EXPECT_EQ(POLL_WRITE, poll_now(self->q, POLL_WRITE)) {
			TH_LOG("%s", ways[i].name);
		}
		rd = q_open_with(self->q, NULL, KWQ_RIGHT_READ, O_CLOEXEC);
		EXPECT_EQ(0, poll_now(rd, POLL_WRITE));
		close(rd);
		EXPECT_EQ(KWQ_ADDED, q_add(self->q, "new"));
		EXPECT_EQ(0, poll_now(self->q, POLL_WRITE));
		ASSERT_EQ(0, q_shut_down(self->q));
		EXPECT_EQ(POLL_END, poll_now(self->q, POLL_WRITE | POLLRDHUP));
	}
}

/* Q19: events that make no room. */
TEST_F(room, none_is_made)
{
	hold_two_with_a_count(self);
	EXPECT_EQ(1, q_forget(self->q, "a"));
	EXPECT_EQ(0, poll_now(self->q, POLL_WRITE));
	/* The item becomes ready when its holder ends, and at its done. */
	close_other(self);
	EXPECT_EQ(0, poll_now(self->q, POLL_WRITE));
	ASSERT_EQ(KWQ_DIRTIED, q_add(self->q, "b"));
	EXPECT_EQ(0, poll_now(self->q, POLL_WRITE));
	ASSERT_EQ(KWQ_REQUEUED, q_done_key(self->q, "b"));
	EXPECT_EQ(0, poll_now(self->q, POLL_WRITE));
}

/* Q19: all waiters for room are woken, and no getter. */
TEST_F(room, wakes_all_who_wait_for_it)
{
	struct sleeper pollers[4], getter;
	int epolls[3];
	long slept;

	for (int i = 0; i < ARRAY_SIZE(ways); i++) {
		fill_anew(self, &ways[i]);
		epolls[0] = epoll_on(self->q, EPOLLOUT);
		epolls[1] = epoll_on(self->q, EPOLLOUT | EPOLLEXCLUSIVE);
		epolls[2] = epoll_on(self->other, EPOLLOUT | EPOLLEXCLUSIVE | EPOLLET);
		for (int j = 0; j < 3; j++)
			start_epoll_wait(&pollers[j], epolls[j]);
		start_poll(&pollers[3], self->q, POLLOUT);
		ways[i].make_room(self);
		for (int j = 0; j < 4; j++) {
			EXPECT_EQ(EPOLLOUT, sleeper_join(&pollers[j])) {
				TH_LOG("%s", ways[i].name);
			}
		}
		for (int j = 0; j < 3; j++)
			close(epolls[j]);
	}

	fill_anew(self, &ways[0]);
	start_get(&getter, self->q);
	slept = times_slept(getter.tid);
	epolls[0] = epoll_on(self->q, EPOLLOUT);
	start_epoll_wait(&pollers[0], epolls[0]);
	finish(self);
	EXPECT_EQ(EPOLLOUT, sleeper_join(&pollers[0]));
	wait_until_asleep(getter.tid, __NR_ioctl, KWQ_IOC_GET);
	EXPECT_EQ(slept, times_slept(getter.tid));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "new"));
	EXPECT_EQ(1, sleeper_join(&getter));
	close(epolls[0]);
}

/* Q19: edge-triggered waits, for adders that add until they are refused. */
TEST_F(room, edges)
{
	for (int i = 0; i < ARRAY_SIZE(ways); i++) {
		int epoll;

		fill_anew(self, &ways[i]);
		epoll = epoll_on(self->q, EPOLLOUT | EPOLLET);
		EXPECT_EQ(0, epoll_now(epoll));
		for (int round = 0; round < 2; round++) {
			EXPECT_EQ(-ENOSPC, q_add(self->q, "new"));
			EXPECT_EQ(0, epoll_now(epoll));
			if (round)
				REQUIRE(q_remove(self->q, "first") == KWQ_WAS_READY);
			else
				ways[i].make_room(self);
			EXPECT_EQ(EPOLLOUT, epoll_now(epoll)) {
				TH_LOG("%s", ways[i].name);
			}
			EXPECT_EQ(0, epoll_now(epoll));
			EXPECT_EQ(KWQ_ADDED, q_add(self->q, round ? "second" : "first"));
		}
		close(epoll);
	}
}

/* Q19, O8: more wait for room than one hold of the lock tells. */
TEST_F(room, many_wait_for_it)
{
	int epolls[100];

	fill_anew(self, &ways[0]);
	for (int i = 0; i < ARRAY_SIZE(epolls); i++)
		epolls[i] = epoll_on(self->q, EPOLLOUT | EPOLLET |
				     (i & 1 ? EPOLLEXCLUSIVE : 0));
	for (int i = 0; i < ARRAY_SIZE(epolls); i++)
		EXPECT_EQ(0, epoll_now(epolls[i]));
	finish(self);
	for (int i = 0; i < ARRAY_SIZE(epolls); i++)
		EXPECT_EQ(EPOLLOUT, epoll_now(epolls[i]));
	close_all(epolls, ARRAY_SIZE(epolls));
}

/* Q19: a shut down ends the wait for room. */
TEST_F(room, shut_down)
{
	struct sleeper s;

	hold_two(self);
	start_poll(&s, self->q, POLLOUT);
	ASSERT_EQ(0, q_shut_down(self->q));
	EXPECT_EQ(POLLERR, sleeper_join(&s));
	finish(self);
	EXPECT_EQ(POLL_END, poll_now(self->q, POLL_WRITE | POLLRDHUP));
}

/* Q8: an epoll that waits for nothing but room hears of the shut down, too. */
TEST_F(room, shut_down_in_epoll)
{
	int epolls[2];

	hold_two(self);
	epolls[0] = epoll_on(self->q, EPOLLOUT | EPOLLET);
	epolls[1] = epoll_on(self->q, EPOLLIN | EPOLLET);
	EXPECT_EQ(0, epoll_now(epolls[0]));
	EXPECT_EQ(0, epoll_now(epolls[1]));
	ASSERT_EQ(0, q_shut_down(self->q));
	EXPECT_EQ(EPOLLERR, epoll_now(epolls[0]));
	/* This handle has items to finish, so a get would not wait. */
	EXPECT_EQ(EPOLLIN, epoll_now(epolls[1]));
	finish(self);
	close_all(epolls, ARRAY_SIZE(epolls));
}

TEST_HARNESS_MAIN
