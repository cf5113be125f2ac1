// SPDX-License-Identifier: GPL-2.0-only
/*
 * N3: the parts for a manager of a queue. Adds go to an outbox, tokens come with items, and removes
 * revoke or depend on a change. kmod/tests/keyed/grants_test.c tests the same below the device.
 */
#include "kwq_test.h"

#include <sys/epoll.h>

FIXTURE(grants)
{
	int dev;
	int outbox;		/* has changes, and room for two items */
	int q;			/* its adds go there; has changes */
	struct reader r;	/* of the outbox */
	struct reader main_r;	/* of the queue */
	struct listed_item read[64];
};

typedef FIXTURE_DATA(grants) grants_fixture;

static int new_outbox(int dev, __u32 flags, __u64 max_items)
{
	return new_queue_as(dev, .flags = flags, .max_items = max_items);
}

FIXTURE_SETUP(grants)
{
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->outbox = new_outbox(self->dev, KWQ_CREATE_CHANGES, 2);
	ASSERT_LE(0, self->outbox);
	self->q = new_queue_with_outbox(self->dev, KWQ_CREATE_CHANGES, self->outbox);
	ASSERT_LE(0, self->q);
}

FIXTURE_TEARDOWN(grants)
{
	close(self->q);
	close(self->outbox);
	close(self->dev);
}

static struct kwq_stat stat_of(int q)
{
	struct kwq_stat stat;

	REQUIRE(!q_stat(q, &stat));
	return stat;
}

static int epoll_on(int q, __u32 events)
{
	struct epoll_event event = { .events = events };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	REQUIRE(epoll >= 0 && !epoll_ctl(epoll, EPOLL_CTL_ADD, q, &event));
	return epoll;
}

static int epoll_now(int epoll)
{
	struct epoll_event event = { };
	int n = epoll_wait(epoll, &event, 1, 0);

	REQUIRE(n >= 0);
	return n ? event.events : 0;
}

static int poll_now(int q, short events)
{
	struct pollfd pollfd = { .fd = q, .events = events };

	REQUIRE(poll(&pollfd, 1, 0) >= 0);
	return pollfd.revents;
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

/* The outbox */

TEST_F(grants, unfit_outbox)
{
	int fd = next_fd(), pipes[2], reader, path, deep, manual;
	struct kwq_create_args create = {
		.size = sizeof(create), .open_flags = O_CLOEXEC, .rights = ALL_RIGHTS,
		.clockid = CLOCK_MONOTONIC, .outbox = self->outbox,
	};

	/* Not without the flag, */
	EXPECT_EQ(-EINVAL, request(self->dev, KWQ_IOC_CREATE, &create));
	/* no descriptor, */
	EXPECT_EQ(-EBADF, new_queue_with_outbox(self->dev, 0, -1));
	EXPECT_EQ(-EBADF, new_queue_with_outbox(self->dev, 0, INT_MIN));
	EXPECT_EQ(-EBADF, new_queue_with_outbox(self->dev, 0, fd));
	path = open(KWQ_DEVICE, O_PATH | O_CLOEXEC);
	ASSERT_LE(0, path);
	EXPECT_EQ(-EBADF, new_queue_with_outbox(self->dev, 0, path));
	close(path);
	/* no queue, */
	ASSERT_EQ(0, pipe2(pipes, O_CLOEXEC));
	EXPECT_EQ(-EINVAL, new_queue_with_outbox(self->dev, 0, pipes[1]));
	close(pipes[0]);
	close(pipes[1]);
	EXPECT_EQ(-EINVAL, new_queue_with_outbox(self->dev, 0, self->dev));
	/* no right to add, */
	reader = q_open_with(self->outbox, NULL, KWQ_RIGHT_READ | KWQ_RIGHT_MANAGE, O_CLOEXEC);
	ASSERT_LE(0, reader);
	EXPECT_EQ(-EBADF, new_queue_with_outbox(self->dev, 0, reader));
	close(reader);
	/* another clock, */
	manual = new_manual_queue(self->dev, NULL);
	ASSERT_LE(0, manual);
	EXPECT_EQ(-EINVAL, new_queue_with_outbox(self->dev, 0, manual));
	close(manual);
	/* and an outbox that has one itself */
	EXPECT_EQ(-EINVAL, new_queue_with_outbox(self->dev, 0, self->q));
	EXPECT_EQ(fd, next_fd());
	EXPECT_EQ(2, stat_of(self->outbox).handles);
	/* The right to add is enough. An outbox may serve several queues. */
	reader = q_open_with(self->outbox, NULL, KWQ_RIGHT_WRITE, O_CLOEXEC);
	deep = new_queue_with_outbox(self->dev, 0, reader);
	EXPECT_LE(0, deep);
	close(reader);
	EXPECT_EQ(KWQ_ADDED, q_add(deep, "a"));
	EXPECT_EQ(KWQ_COALESCED, q_add(self->q, "a"));
	close(deep);
}

TEST_F(grants, feature)
{
	struct kwq_info info = { .size = sizeof(info) };

	ASSERT_EQ(0, request(self->dev, KWQ_IOC_INFO, &info));
	EXPECT_TRUE(info.features & KWQ_FEATURE_GRANTS);
	EXPECT_EQ(KWQ_CREATE_CHANGES | KWQ_CREATE_OUTBOX, stat_of(self->q).create_flags);
	EXPECT_EQ(KWQ_CREATE_CHANGES, stat_of(self->outbox).create_flags);
}

TEST_F(grants, adds_go_to_the_outbox)
{
	struct batch *b = new_batch();
	struct item item;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_COALESCED, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_WAITING, q_add_after(self->q, "b", HOUR));
	check_stat(self->q, .items = 0);
	check_counts(self->q, .adds = 0);
	check_stat(self->outbox, .ready = 1, .waiting = 1, .items = 2);
	check_counts(self->outbox, .adds = 1, .coalesced = 1);
	EXPECT_EQ(-EAGAIN, q_try_get(self->q, &item));
	EXPECT_EQ(-ENOSPC, q_add(self->q, "c"));
	EXPECT_EQ(KWQ_WAS_WAITING, q_remove(self->outbox, "b"));
	EXPECT_EQ(-ENOENT, q_remove(self->q, "a"));
	/* A batch, */
	batch_add(b, "a");
	batch_add(b, "b");
	EXPECT_EQ(2, batch_run(self->q, KWQ_IOC_ADD, b));
	EXPECT_EQ(KWQ_COALESCED, b->results[0]);
	EXPECT_EQ(KWQ_ADDED, b->results[1]);
	free(b);
	/* the requeues, */
	EXPECT_EQ(KWQ_WAITING, q_add_rate_limited(self->q, "a"));
	EXPECT_EQ(1, q_requeues(self->q, "a"));
	EXPECT_EQ(1, q_requeues(self->outbox, "a"));
	EXPECT_EQ(1, q_forget(self->q, "a"));
	EXPECT_EQ(0, q_requeues(self->outbox, "a"));
	/* and only adds: a grant is an item of the queue */
	EXPECT_EQ(KWQ_RESTORED, q_restore(self->q, "g", .state = KWQ_IS_READY));
	check_stat(self->q, .ready = 1, .items = 1);
	expect_take(self->q, "g");
}

/* Runs a GET that adds a key first. Returns its result, with the number of adds in @nr_added. */
static int get_with_add(int q, const char *key, __u32 *nr_added)
{
	struct batch *adds = new_batch();
	struct kwq_got got;
	__u8 room[KEY_ROOM];
	struct kwq_get_args get = GET_ARGS(&got, user_ptr(room), sizeof(room), 1,
					   .flags = KWQ_GET_NONBLOCK);
	int ret;

	batch_add(adds, key);
	get.add = batch_of(KWQ_IOC_ADD, adds);
	ret = q_get_raw(q, &get);
	*nr_added = get.nr_added;
	free(adds);
	return ret;
}

TEST_F(grants, adds_of_a_get)
{
	__u32 nr_added;

	EXPECT_EQ(-EAGAIN, get_with_add(self->q, "a", &nr_added));
	EXPECT_EQ(1, nr_added);
	check_stat(self->q, .items = 0);
	check_stat(self->outbox, .ready = 1, .items = 1);
	ASSERT_EQ(KWQ_RESTORED, q_restore(self->q, "g", .state = KWQ_IS_READY));
	EXPECT_EQ(1, get_with_add(self->q, "b", &nr_added));
	EXPECT_EQ(1, nr_added);
	check_stat(self->q, .processing = 1, .items = 1);
	check_stat(self->outbox, .ready = 2, .items = 2);
}

/* Takes the next item out of the outbox. */
static void make_room(int outbox)
{
	struct item item;

	REQUIRE(q_try_get(outbox, &item) == 1);
	REQUIRE(q_done(outbox, item.ticket) == KWQ_FINISHED);
}

static void fill(grants_fixture *self)
{
	REQUIRE(q_add(self->q, "a") == KWQ_ADDED && q_add(self->q, "b") == KWQ_ADDED);
}

TEST_F(grants, add_waits_for_the_outbox)
{
	struct sleeper s;

	fill(self);
	EXPECT_EQ(-ETIMEDOUT, q_add_wait(self->q, "c", 1));
	start_add(&s, self->q, "c");
	make_room(self->outbox);
	EXPECT_EQ(KWQ_ADDED, sleeper_join(&s));
	check_stat(self->outbox, .ready = 2, .items = 2);
	REQUIRE(!fcntl(self->q, F_SETFL, O_RDWR | O_NONBLOCK));
	EXPECT_EQ(-EAGAIN, q_add_wait(self->q, "d", KWQ_NO_DEADLINE));
}

TEST_F(grants, room_of_the_outbox_is_polled)
{
	struct sleeper s;
	int epoll, edge;

	EXPECT_EQ(POLLOUT, poll_now(self->q, POLLIN | POLLOUT));
	epoll = epoll_on(self->q, EPOLLOUT);
	edge = epoll_on(self->q, EPOLLOUT | EPOLLET);
	EXPECT_EQ(EPOLLOUT, epoll_now(edge));
	EXPECT_EQ(0, epoll_now(edge));
	fill(self);
	EXPECT_EQ(0, poll_now(self->q, POLLIN | POLLOUT));
	EXPECT_EQ(0, epoll_now(epoll));
	EXPECT_EQ(0, epoll_now(edge));
	for (int i = 0; i < 3; i++) {
		start_poll(&s, self->q, POLLOUT);
		make_room(self->outbox);
		EXPECT_EQ(POLLOUT, sleeper_join(&s));
		EXPECT_EQ(EPOLLOUT, epoll_now(epoll));
		EXPECT_EQ(EPOLLOUT, epoll_now(edge));
		EXPECT_EQ(0, epoll_now(edge));
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, "more"));
		EXPECT_EQ(0, epoll_now(epoll));
		EXPECT_EQ(KWQ_WAS_READY, q_remove(self->outbox, "more"));
		EXPECT_EQ(EPOLLOUT, epoll_now(edge));
		ASSERT_LE(0, q_add(self->q, i % 2 ? "b" : "a"));
	}
	/* A ready item of the outbox is none of the queue. */
	EXPECT_EQ(0, poll_now(self->q, POLLIN));
	close(epoll);
	close(edge);
}

TEST_F(grants, epoll_that_asks_for_room_later)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT };
	int epoll;

	fill(self);
	epoll = epoll_on(self->q, EPOLLIN);
	ASSERT_EQ(0, epoll_ctl(epoll, EPOLL_CTL_MOD, self->q, &event));
	EXPECT_EQ(0, epoll_now(epoll));
	make_room(self->outbox);
	EXPECT_EQ(EPOLLOUT, epoll_now(epoll));
	close(epoll);
}

/* U9: a poller that asks for both would take the wake-up for an item of the outbox, and is told. */
TEST_F(grants, exclusive_poller_of_both)
{
	int both = epoll_on(self->q, EPOLLIN | EPOLLOUT | EPOLLEXCLUSIVE);
	int room = epoll_on(self->q, EPOLLOUT | EPOLLEXCLUSIVE);

	EXPECT_EQ(EPOLLERR, epoll_now(both));
	EXPECT_EQ(EPOLLOUT, epoll_now(room));
	close(both);
	close(room);
}

/* A poller of the queue does not take the wake-up for an item of the outbox. */
TEST_F(grants, exclusive_poller_of_the_queue)
{
	int of_queue = epoll_on(self->q, EPOLLIN | EPOLLEXCLUSIVE);
	int of_outbox = epoll_on(self->outbox, EPOLLIN | EPOLLEXCLUSIVE);
	struct sleeper a, b;

	start_epoll_wait(&a, of_queue);
	start_epoll_wait(&b, of_outbox);
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(EPOLLIN, sleeper_join(&b));
	EXPECT_FALSE(atomic_load(&a.ended));
	ASSERT_EQ(KWQ_RESTORED, q_restore(self->q, "a", .state = KWQ_IS_READY));
	EXPECT_EQ(EPOLLIN, sleeper_join(&a));
	close(of_queue);
	close(of_outbox);
}

#define USER	30003

static int peer_adds_by_name(struct peer *parent, void *arg)
{
	int dev = open_device(), q;

	(void)parent;
	REQUIRE(dev >= 0 && !setresgid(USER, USER, USER) && !setresuid(USER, USER, USER));
	/* It may add to the queue, and so to the outbox, and nothing else. */
	REQUIRE(q_open_with(dev, arg, KWQ_RIGHT_READ, O_CLOEXEC) == -EACCES);
	q = q_open_with(dev, arg, KWQ_RIGHT_WRITE, O_CLOEXEC);
	REQUIRE(q >= 0);
	REQUIRE(q_add(q, "by name") == KWQ_ADDED);
	REQUIRE(q_add_wait(q, "wait", KWQ_NO_DEADLINE) == KWQ_ADDED);
	REQUIRE(q_add(q, "full") == -ENOSPC);
	REQUIRE(q_forget(q, "by name") == -EBADF);
	REQUIRE(!poll_now(q, POLLIN | POLLOUT));
	return 0;
}

TEST_F(grants, others_add_by_name)
{
	struct kwq_create_args create = {
		.size = sizeof(create), .flags = KWQ_CREATE_OUTBOX, .open_flags = O_CLOEXEC,
		.rights = ALL_RIGHTS, .clockid = CLOCK_MONOTONIC, .mode = 0722,
		.outbox = self->outbox,
	};
	struct peer peer;
	char name[32];
	mode_t mask = umask(0);
	int q, again;

	snprintf(name, sizeof(name), "grants.%d", getpid());
	set_name(create.name, name);
	q = request(self->dev, KWQ_IOC_CREATE, &create);
	umask(mask);
	ASSERT_LE(0, q);
	/* The outbox has no name, and nobody has a descriptor of it any more. */
	close(self->outbox);
	start_peer(&peer, peer_adds_by_name, name);
	EXPECT_EQ(0, end_of_peer(&peer));
	/* The queue that exists stays as it is. */
	create.flags |= KWQ_CREATE_OR_OPEN;
	create.outbox = -1;
	again = request(self->dev, KWQ_IOC_CREATE, &create);
	EXPECT_LE(0, again);
	close(again);
	self->outbox = new_outbox(self->dev, 0, 0);
	create.outbox = self->outbox;
	again = request(self->dev, KWQ_IOC_CREATE, &create);
	ASSERT_LE(0, again);
	EXPECT_EQ(-ENOSPC, q_add(again, "full"));
	check_stat(self->outbox, .items = 0);
	EXPECT_EQ(1, stat_of(self->outbox).handles);
	EXPECT_EQ(0, q_unlink(self->dev, name));
	close(again);
	close(q);
}

/* U9: to the outbox a request has the rights of the descriptor that gave it, and no more. */
TEST_F(grants, rights_of_the_outbox)
{
	int writer = q_open_with(self->outbox, NULL, KWQ_RIGHT_WRITE, O_CLOEXEC);
	int reader = q_open_with(self->outbox, NULL, KWQ_RIGHT_READ | KWQ_RIGHT_WRITE, O_CLOEXEC);
	int by_writer, by_reader;

	ASSERT_EQ(KWQ_RESTORED, q_restore(self->outbox, "secret", .state = KWQ_IS_REMEMBERED,
					  .requeues = 3));
	by_writer = new_queue_with_outbox(self->dev, 0, writer);
	ASSERT_LE(0, by_writer);
	EXPECT_EQ(KWQ_ADDED, q_add(by_writer, "a"));
	EXPECT_EQ(-EBADF, q_requeues(by_writer, "secret"));
	EXPECT_EQ(-EBADF, q_requeues(by_writer, "unknown"));
	EXPECT_EQ(-EBADF, q_forget(by_writer, "secret"));
	EXPECT_EQ(3, q_requeues(self->outbox, "secret"));
	/* After a shut down these requests are for the queue itself. */
	ASSERT_EQ(0, q_shut_down(by_writer));
	EXPECT_EQ(0, q_requeues(by_writer, "secret"));
	EXPECT_EQ(0, q_forget(by_writer, "secret"));
	close(by_writer);
	by_reader = new_queue_with_outbox(self->dev, 0, reader);
	ASSERT_LE(0, by_reader);
	EXPECT_EQ(3, q_requeues(by_reader, "secret"));
	/* The descriptor of the queue needs the right as well. */
	close(reader);
	reader = q_open_with(by_reader, NULL, KWQ_RIGHT_WRITE, O_CLOEXEC);
	EXPECT_EQ(-EBADF, q_requeues(reader, "secret"));
	EXPECT_EQ(KWQ_COALESCED, q_add(reader, "a"));
	EXPECT_EQ(3, q_forget(by_reader, "secret"));
	close(by_reader);
	close(reader);
	close(writer);
}

TEST_F(grants, shut_down_of_the_queue)
{
	struct sleeper waits;
	struct item item;

	fill(self);
	ASSERT_EQ(KWQ_RESTORED, q_restore(self->q, "g", .state = KWQ_IS_READY));
	start_add(&waits, self->q, "c");
	ASSERT_EQ(0, q_shut_down(self->q));
	/* Q8 */
	EXPECT_EQ(-ESHUTDOWN, sleeper_join(&waits));
	EXPECT_EQ(-ESHUTDOWN, q_add(self->q, "d"));
	EXPECT_EQ(-ESHUTDOWN, q_add_wait(self->q, "d", KWQ_NO_DEADLINE));
	EXPECT_EQ(POLLERR, poll_now(self->q, POLLOUT) & (POLLERR | POLLOUT));
	EXPECT_EQ(0, q_shutting_down(self->outbox));
	check_stat(self->outbox, .ready = 2, .items = 2);
	ASSERT_EQ(1, q_try_get(self->q, &item));
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
	EXPECT_EQ(0, q_drain(self->q, KWQ_NO_DEADLINE));
}

/* Q9: a drain ends the adds of its queue that wait in the outbox, but no others. */
TEST_F(grants, drain_of_the_queue)
{
	int other = new_queue_with_outbox(self->dev, 0, self->outbox);
	struct sleeper waits[5], others;

	fill(self);
	for (int i = 0; i < 5; i++)
		start_add(&waits[i], self->q, i % 2 ? "c" : "d");
	start_add(&others, other, "e");
	EXPECT_EQ(0, q_drain(self->q, KWQ_NO_DEADLINE));
	for (int i = 0; i < 5; i++)
		EXPECT_EQ(-ESHUTDOWN, sleeper_join(&waits[i]));
	EXPECT_FALSE(atomic_load(&others.ended));
	make_room(self->outbox);
	EXPECT_EQ(KWQ_ADDED, sleeper_join(&others));
	check_stat(self->outbox, .ready = 2, .items = 2);
	close(other);
}

TEST_F(grants, shut_down_of_the_outbox)
{
	struct sleeper waits, polls;
	struct item item;
	int edge;

	fill(self);
	ASSERT_EQ(KWQ_RESTORED, q_restore(self->q, "g", .state = KWQ_IS_READY));
	edge = epoll_on(self->q, EPOLLOUT | EPOLLET);
	start_add(&waits, self->q, "c");
	start_poll(&polls, self->q, POLLOUT);
	ASSERT_EQ(0, q_shut_down(self->outbox));
	EXPECT_EQ(-ESHUTDOWN, sleeper_join(&waits));
	EXPECT_EQ(POLLERR, sleeper_join(&polls));
	EXPECT_EQ(EPOLLERR, epoll_now(edge));
	EXPECT_EQ(-ESHUTDOWN, q_add(self->q, "d"));
	/* The queue goes on. */
	EXPECT_EQ(0, q_shutting_down(self->q));
	EXPECT_EQ(POLLIN, poll_now(self->q, POLLIN | POLLRDHUP));
	ASSERT_EQ(1, q_try_get(self->q, &item));
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
	EXPECT_EQ(KWQ_RESTORED, q_restore(self->q, "h", .state = KWQ_IS_READY));
	close(edge);
}

TEST_F(grants, no_board)
{
	__u64 size;
	int q = new_queue_with_outbox(self->dev, 0, self->outbox);

	EXPECT_EQ(-EOPNOTSUPP, q_board(self->q, &size));
	EXPECT_EQ(-EOPNOTSUPP, q_board(q, &size));
	close(q);
}

/* U9: a producer may have a board, and the manager's removes work all the same. */
TEST_F(grants, remove_beside_a_board)
{
	int writer = q_open_with(self->outbox, NULL, KWQ_RIGHT_WRITE, O_CLOEXEC);
	struct item item;
	__u64 size;
	int board;

	ASSERT_EQ(0, q_follow(self->outbox, &self->r.after));
	board = q_board(writer, &size);
	if (board == -EOPNOTSUPP)
		SKIP(return, "this machine has no boards");
	ASSERT_LE(0, board);
	for (int coalesced = 0; coalesced < 2; coalesced++) {
		ASSERT_EQ(KWQ_ADDED, q_add(writer, "a"));
		/* The second add puts the key on the board, which may answer the next ones. */
		if (coalesced)
			ASSERT_EQ(KWQ_COALESCED, q_add(writer, "a"));
		ASSERT_EQ(1, q_changes(self->outbox, &self->r, self->read, 8,
				       KWQ_CHANGES_NONBLOCK, 0));
		if (coalesced) {
			EXPECT_EQ(-ESTALE, q_remove_unchanged(self->outbox, "a", self->r.after));
			ASSERT_EQ(1, q_changes(self->outbox, &self->r, self->read, 8,
					       KWQ_CHANGES_NONBLOCK, 0));
		}
		EXPECT_EQ(KWQ_WAS_READY, q_remove_unchanged(self->outbox, "a", self->r.after));
		EXPECT_EQ(-EAGAIN, q_try_get(self->outbox, &item));
		ASSERT_LE(0, q_changes(self->outbox, &self->r, self->read, 8,
				       KWQ_CHANGES_NONBLOCK, 0));
	}
	close(board);
	close(writer);
}

/* SYNC */

static int keep(int q, struct reader *r, struct listed_item *read)
{
	int ret;

	do {
		ret = q_changes(q, r, read, 8, KWQ_CHANGES_NONBLOCK, 0);
	} while (ret >= 0);
	REQUIRE(ret == -EAGAIN);
	r->kept = r->after;
	return q_changes(q, r, read, 8, KWQ_CHANGES_NONBLOCK, 0);
}

static void follow_both(grants_fixture *self)
{
	REQUIRE(!q_follow(self->outbox, &self->r.after));
	REQUIRE(!q_follow(self->q, &self->main_r.after));
	REQUIRE(keep(self->outbox, &self->r, self->read) == -EAGAIN);
	REQUIRE(keep(self->q, &self->main_r, self->read) == -EAGAIN);
}

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

TEST_F(grants, sync_of_both)
{
	struct kwq_sync_args sync;
	struct sleeper s;
	int q;

	follow_both(self);
	EXPECT_EQ(0, q_sync_until(self->q, 1));
	for (int outbox_first = 0; outbox_first < 2; outbox_first++) {
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, outbox_first ? "a" : "b"));
		ASSERT_EQ(KWQ_RESTORED, q_restore(self->q, outbox_first ? "a" : "b",
						  .state = KWQ_IS_READY));
		EXPECT_EQ(-ETIMEDOUT, q_sync_until(self->q, 1));
		sync = (struct kwq_sync_args){ .deadline = KWQ_NO_DEADLINE };
		start_sync(&s, self->q, &sync);
		if (outbox_first)
			keep(self->outbox, &self->r, self->read);
		else
			keep(self->q, &self->main_r, self->read);
		EXPECT_EQ(-ETIMEDOUT, q_sync_until(self->q, 1));
		wait_until_asleep(s.tid, __NR_ioctl, KWQ_IOC_SYNC);
		EXPECT_FALSE(atomic_load(&s.ended));
		if (outbox_first)
			keep(self->q, &self->main_r, self->read);
		else
			keep(self->outbox, &self->r, self->read);
		EXPECT_EQ(0, sleeper_join(&s));
	}
	/* Of a queue without changes there is nothing to wait for. */
	q = new_queue_with_outbox(self->dev, 0, self->outbox);
	EXPECT_EQ(-EOPNOTSUPP, q_sync_until(q, 1));
	close(q);
}

TEST_F(grants, sync_of_an_outbox_without_changes)
{
	int outbox = new_queue(self->dev);
	int q = new_queue_with_outbox(self->dev, KWQ_CREATE_CHANGES, outbox);

	ASSERT_EQ(KWQ_ADDED, q_add(q, "a"));
	ASSERT_EQ(0, q_follow(q, &self->main_r.after));
	keep(q, &self->main_r, self->read);
	EXPECT_EQ(0, q_sync_until(q, 1));
	close(q);
	close(outbox);
}

/* The wait for the outbox and that for the queue end at the same time. */
TEST_F(grants, sync_that_is_interrupted)
{
	struct kwq_sync_args sync;
	struct sleeper s;

	follow_both(self);
	catch_signal(0);
	for (int of_outbox = 0; of_outbox < 2; of_outbox++) {
		REQUIRE((of_outbox ? q_add(self->q, "a") :
			 q_restore(self->q, "a", .state = KWQ_IS_READY)) >= 0);
		sync = (struct kwq_sync_args){ .flags = KWQ_SYNC_RELATIVE, .deadline = HOUR };
		start_sync(&s, self->q, &sync);
		REQUIRE(!pthread_kill(s.thread, SIGUSR1));
		EXPECT_EQ(-EINTR, sleeper_join(&s));
		EXPECT_LT(0, sync.resume);
		sync.resume = 1;
		EXPECT_EQ(-ETIMEDOUT, q_sync_with(self->q, &sync));
		EXPECT_EQ(0, sync.resume);
		keep(of_outbox ? self->outbox : self->q, of_outbox ? &self->r : &self->main_r,
		     self->read);
		EXPECT_EQ(0, q_sync_with(self->q, &sync));
	}
}

static int call_plain_add(struct sleeper *s)
{
	return q_add(s->fd, s->arg);
}

/* An add waits as the queue asks to which it goes. One in a GET does not wait for an outbox. */
TEST_F(grants, adds_are_kept_by_the_outbox)
{
	const __u32 sync = KWQ_CREATE_CHANGES | KWQ_CREATE_SYNC;
	int outbox = new_flagged_queue(self->dev, sync);
	int plain = new_queue_with_outbox(self->dev, 0, outbox);
	int synced = new_queue_with_outbox(self->dev, sync, self->outbox);
	struct sleeper s;
	__u32 nr_added;

	ASSERT_LE(0, synced);
	EXPECT_EQ(KWQ_ADDED, q_add(synced, "a"));
	ASSERT_EQ(0, q_follow(outbox, &self->r.after));
	s = (struct sleeper){ .call = call_plain_add, .fd = plain, .arg = "a" };
	sleeper_start(&s);
	wait_until_asleep(s.tid, __NR_ioctl, KWQ_IOC_ADD);
	keep(outbox, &self->r, self->read);
	EXPECT_EQ(KWQ_ADDED, sleeper_join(&s));
	EXPECT_EQ(-EAGAIN, get_with_add(plain, "b", &nr_added));
	EXPECT_EQ(1, nr_added);
	check_stat(outbox, .ready = 2, .items = 2);
	close(plain);
	close(synced);
	close(outbox);
}

/* Memory, handles and quotas */

#define REFCNT	"/sys/module/kwq/refcnt"

TEST_F(grants, closed_in_any_order)
{
	long long refs;

	close(self->q);
	close(self->outbox);
	refs = read_number(REFCNT);
	for (int order = 0; order < 8; order++) {
		int outbox = new_flagged_queue(self->dev, order & 4 ? KWQ_CREATE_CHANGES : 0);
		int q = new_queue_with_outbox(self->dev, 0, outbox), second = q_reopen(q);
		struct item item;

		ASSERT_LE(0, second);
		EXPECT_EQ(3, stat_of(outbox).handles);
		EXPECT_EQ(2, stat_of(q).handles);
		ASSERT_EQ(KWQ_ADDED, q_add(q, "a"));
		ASSERT_EQ(KWQ_ADDED, q_add(second, "b"));
		ASSERT_EQ(KWQ_RESTORED, q_restore(q, "a", .state = KWQ_IS_READY));
		ASSERT_EQ(1, q_try_get(second, &item));
		if (order & 1)
			close(outbox);
		close(second);
		EXPECT_EQ(KWQ_ADDED, q_add(q, "c"));
		if (!(order & 1))
			EXPECT_EQ(2, stat_of(outbox).handles);
		if (order & 2)
			expect_take(q, "a");
		close(q);
		if (!(order & 1)) {
			EXPECT_EQ(1, stat_of(outbox).handles);
			check_stat(outbox, .ready = 3, .items = 3);
			close(outbox);
		}
	}
	EXPECT_EQ(refs, read_number(REFCNT));
	self->q = dup(self->dev);
	self->outbox = dup(self->dev);
}

#define MAX_QUEUES	"/sys/module/kwq/parameters/max_queues"

static int peer_has_two_queues(struct peer *parent, void *arg)
{
	const grants_fixture *self = arg;
	struct kwq_info info = { .size = sizeof(info) };
	char key[16];

	(void)parent;
	REQUIRE(!setresgid(USER, USER, USER) && !setresuid(USER, USER, USER));
	for (int round = 0; round < 12; round++) {
		int outbox = new_queue(self->dev), q;

		/* The first two were closed, so there is room for two more. */
		REQUIRE(outbox >= 0);
		q = new_queue_with_outbox(self->dev, 0, outbox);
		REQUIRE(q >= 0);
		REQUIRE(new_queue(self->dev) == -EDQUOT);
		/* With many items a worker frees the queue. */
		for (int i = 0; i < (round & 1 ? 2000 : 3); i++) {
			snprintf(key, sizeof(key), "key%d", i);
			REQUIRE(q_add(q, key) == KWQ_ADDED);
			if (round & 4)
				REQUIRE(q_restore(q, key, .state = KWQ_IS_READY) == KWQ_RESTORED);
		}
		if (round & 2)
			close(outbox);
		/* The outbox counts as long as the queue uses it. */
		REQUIRE(new_queue(self->dev) == -EDQUOT);
		close(q);
		if (!(round & 2))
			close(outbox);
	}
	for (int i = 0; i < 2; i++)
		REQUIRE(new_queue(self->dev) >= 0);
	REQUIRE(!request(self->dev, KWQ_IOC_INFO, &info));
	REQUIRE(info.user_queues == 2 && !info.user_queues_left);
	return 0;
}

/* O10: both count, until both are gone. */
TEST_F(grants, outbox_counts)
{
	char before[16];
	struct peer peer;

	ASSERT_LT(0, read_text(MAX_QUEUES, before, sizeof(before)));
	ASSERT_EQ(0, write_text(MAX_QUEUES, "2"));
	start_peer(&peer, peer_has_two_queues, self);
	EXPECT_EQ(0, end_of_peer(&peer));
	ASSERT_EQ(0, write_text(MAX_QUEUES, before));
}

/* Tokens */

/* Restores one key, with any flags and token. */
static int restore_with_extra(int q, unsigned long cmd, __u32 flags, __u64 token)
{
	const struct kwq_restore_entry restore = {
		.key_len = 1, .state = KWQ_IS_READY, .flags = flags,
	};
	const struct kwq_add_entry add = { .key_len = 1, .flags = flags };
	const struct kwq_add_extra extra = { .token = token };
	bool adds = cmd == KWQ_IOC_ADD;
	__s32 result = -EIO;
	const struct kwq_add_args op = {
		.size = adds ? sizeof(op) : sizeof(struct kwq_batch_args),
		.batch = {
			.entries = adds ? user_ptr(&add) : user_ptr(&restore),
			.keys = user_ptr("x"), .results = user_ptr(&result),
			.extras = user_ptr(&extra), .keys_len = 1, .nr = 1,
			.entry_size = adds ? sizeof(add) : sizeof(restore),
			.extra_size = sizeof(extra),
		},
	};
	int ret = request(q, cmd, &op);

	return ret == 1 ? result : ret;
}

TEST_F(grants, token_where_there_is_none)
{
	int plain = new_queue(self->dev);
	struct item item;
	__u64 token;

	EXPECT_EQ(-EOPNOTSUPP, q_grant(plain, "a", 1));
	EXPECT_EQ(-EOPNOTSUPP, q_grant(plain, "a", 0));
	EXPECT_EQ(-EINVAL, restore_with_extra(self->q, KWQ_IOC_RESTORE, 0, 1));
	EXPECT_EQ(-EINVAL, restore_with_extra(self->q, KWQ_IOC_ADD, KWQ_ADD_TOKEN, 1));
	EXPECT_EQ(-EINVAL, restore_with_extra(self->q, KWQ_IOC_ADD, 0, 1));
	EXPECT_EQ(-EINVAL, q_add_with(self->q, "a", KWQ_ADD_TOKEN, 0, 0));
	EXPECT_EQ(-EINVAL, q_restore(self->q, "a", .state = KWQ_IS_READY,
				     .flags = KWQ_ADD_TOKEN));
	check_stat(self->q, .items = 0);
	check_stat(self->outbox, .items = 0);
	check_stat(plain, .items = 0);
	/* Without a token it is 0. */
	ASSERT_EQ(KWQ_ADDED, q_add(plain, "a"));
	ASSERT_EQ(1, q_get_token(plain, &item, &token, KWQ_GET_NONBLOCK, 0));
	EXPECT_EQ(0, token);
	ASSERT_EQ(KWQ_RESTORED, q_restore(self->q, "a", .state = KWQ_IS_READY));
	ASSERT_EQ(1, q_get_token(self->q, &item, &token, KWQ_GET_NONBLOCK, 0));
	EXPECT_EQ(0, token);
	EXPECT_EQ(-EAGAIN, q_get_token(self->q, &item, &token, KWQ_GET_NONBLOCK, 0));
	close(plain);
}

static int peer_gets_and_waits(struct peer *parent, void *arg)
{
	const grants_fixture *self = arg;
	int q = q_reopen(self->q);
	struct item item;
	__u64 token;

	REQUIRE(q_get_token(q, &item, &token, 0, KWQ_NO_DEADLINE) == 1);
	say(parent, token);
	hear(parent);
	return 0;
}

/* N3, O1: a token is in hand-outs, lists and changes, and the next holder's is higher. */
TEST_F(grants, token_of_an_item)
{
	struct item item;
	struct peer peer;
	__u64 token;

	follow_both(self);
	ASSERT_EQ(KWQ_RESTORED, q_grant(self->q, "a", 41));
	ASSERT_EQ(1, q_look(self->q, "a", self->read));
	EXPECT_EQ(41, self->read[0].item.token);
	ASSERT_EQ(1, q_changes(self->q, &self->main_r, self->read, 8, KWQ_CHANGES_NONBLOCK, 0));
	EXPECT_EQ(41, self->read[0].item.token);
	start_peer(&peer, peer_gets_and_waits, self);
	EXPECT_EQ(41, hear(&peer));
	EXPECT_EQ(-SIGKILL, kill_peer(&peer));
	ASSERT_EQ(1, q_get_token(self->q, &item, &token, 0, KWQ_NO_DEADLINE));
	EXPECT_EQ(42, token);
	EXPECT_EQ(1, item.abandoned);
	/* A get without extras is as ever. */
	ASSERT_EQ(KWQ_RESTORED, q_grant(self->q, "b", ~0ULL));
	expect_take(self->q, "b");
}

/* Removes */

static int remove_raw(int q, const char *key, __u32 flags, __u64 change)
{
	const struct kwq_remove_entry entry = {
		.key_len = strlen(key), .flags = flags, .change = change,
	};

	return q_op_one(q, KWQ_IOC_REMOVE, &entry, sizeof(entry), key, strlen(key));
}

TEST_F(grants, remove_that_is_refused)
{
	int plain = new_queue(self->dev);
	int worker = q_open_with(self->q, NULL, KWQ_RIGHT_READ | KWQ_RIGHT_WRITE, O_CLOEXEC);
	struct kwq_stat before, after;

	ASSERT_EQ(KWQ_RESTORED, q_grant(self->q, "a", 1));
	before = stat_of(self->q);
	EXPECT_EQ(-EINVAL, remove_raw(self->q, "a", 0, 1));
	EXPECT_EQ(-EINVAL, remove_raw(self->q, "a", KWQ_REMOVE_REVOKE, 1));
	EXPECT_EQ(-EINVAL, remove_raw(self->q, "a", KWQ_REMOVE_DEAD | KWQ_REMOVE_REVOKE, 0));
	for (int bit = 3; bit < 32; bit++)
		EXPECT_EQ(-EINVAL, remove_raw(self->q, "a", 1U << bit, 0));
	EXPECT_EQ(-EINVAL, remove_raw(self->q, "", KWQ_REMOVE_REVOKE, 0));
	EXPECT_EQ(-EBADF, q_revoke(worker, "a"));
	EXPECT_EQ(-ENOENT, q_revoke(self->q, "b"));
	EXPECT_EQ(-ENOENT, q_remove_unchanged(self->q, "b", ~0ULL));
	EXPECT_EQ(-ESTALE, q_remove_unchanged(self->q, "a", 0));
	EXPECT_EQ(-ESTALE, q_remove_unchanged(self->q, "a", CREATION));
	EXPECT_EQ(-ENOENT, remove_raw(self->q, "a", KWQ_REMOVE_UNCHANGED | KWQ_REMOVE_DEAD,
				      CREATION + 1));
	after = stat_of(self->q);
	EXPECT_TRUE(same_stat(&before, &after));
	EXPECT_EQ(KWQ_WAS_READY, q_remove_unchanged(self->q, "a", CREATION + 1));
	close(worker);
	ASSERT_EQ(KWQ_ADDED, q_add(plain, "a"));
	EXPECT_EQ(-EOPNOTSUPP, q_remove_unchanged(plain, "a", ~0ULL));
	EXPECT_EQ(-EOPNOTSUPP, q_remove_unchanged(plain, "b", ~0ULL));
	EXPECT_EQ(KWQ_WAS_READY, q_revoke(plain, "a"));
	close(plain);
}

/* Reads one item of the outbox, and returns the number of its change. */
static __u64 read_one(grants_fixture *self, const char *key)
{
	REQUIRE(q_changes(self->outbox, &self->r, self->read, 8, KWQ_CHANGES_NONBLOCK, 0) == 1);
	REQUIRE(!strcmp(self->read[0].key, key));
	return self->read[0].item.change;
}

/* A remove names the change on which it depends. */
TEST_F(grants, remove_that_depends_on_a_change)
{
	struct item item;
	__u64 change;

	follow_both(self);
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	/* The follower has not read it. */
	EXPECT_EQ(-ESTALE, q_remove_unchanged(self->outbox, "a", ~0ULL));
	change = read_one(self, "a");
	ASSERT_EQ(1, q_try_get(self->outbox, &item));
	EXPECT_EQ(-ESTALE, q_remove_unchanged(self->outbox, "a", change));
	/* An add while it is processed counts, too, even if the key was dirty. */
	ASSERT_EQ(KWQ_DIRTIED, q_add(self->q, "a"));
	change = read_one(self, "a");
	ASSERT_EQ(KWQ_DIRTY, q_add(self->q, "a"));
	EXPECT_EQ(-ESTALE, q_remove_unchanged(self->outbox, "a", change));
	change = read_one(self, "a");
	EXPECT_EQ(KWQ_WAS_PROCESSING | KWQ_WAS_DIRTY,
		  remove_raw(self->outbox, "a", KWQ_REMOVE_UNCHANGED | KWQ_REMOVE_REVOKE, change));
	EXPECT_EQ(-ESTALE, q_done(self->outbox, item.ticket));
}

/* The holder of an item learns that it was revoked, and nobody else. */
TEST_F(grants, revoke)
{
	int x = q_reopen(self->q), y = q_reopen(self->q), level, edge, other;
	struct item a, b, c;
	struct sleeper s;

	ASSERT_EQ(KWQ_RESTORED, q_grant(self->q, "a", 1));
	ASSERT_EQ(KWQ_RESTORED, q_grant(self->q, "b", 2));
	ASSERT_EQ(KWQ_RESTORED, q_grant(self->q, "c", 3));
	ASSERT_EQ(1, q_try_get(x, &a));
	ASSERT_EQ(1, q_try_get(x, &b));
	ASSERT_EQ(1, q_try_get(y, &c));
	level = epoll_on(x, EPOLLPRI);
	edge = epoll_on(x, EPOLLPRI | EPOLLET);
	other = epoll_on(y, EPOLLPRI | EPOLLET);
	start_poll(&s, x, POLLPRI);
	EXPECT_EQ(KWQ_WAS_PROCESSING, q_revoke(self->q, "a"));
	EXPECT_EQ(POLLPRI, sleeper_join(&s));
	EXPECT_EQ(EPOLLPRI, epoll_now(level));
	EXPECT_EQ(EPOLLPRI, epoll_now(level));
	EXPECT_EQ(EPOLLPRI, epoll_now(edge));
	EXPECT_EQ(0, epoll_now(edge));
	EXPECT_EQ(0, epoll_now(other));
	EXPECT_EQ(0, poll_now(y, POLLPRI));
	EXPECT_EQ(0, poll_now(self->q, POLLPRI));
	/* Nobody but the holder of the ticket knows it. */
	EXPECT_EQ(-ESTALE, q_extend(y, a.ticket));
	EXPECT_EQ(POLLPRI, poll_now(x, POLLPRI));
	/* O3 */
	EXPECT_EQ(-ESTALE, q_done(x, a.ticket));
	EXPECT_EQ(-ENOENT, q_done_key(x, "a"));
	EXPECT_EQ(POLLPRI, poll_now(x, POLLPRI));
	EXPECT_EQ(-ESTALE, q_extend(x, a.ticket));
	EXPECT_EQ(0, poll_now(x, POLLPRI));
	EXPECT_EQ(0, epoll_now(level));
	EXPECT_EQ(0, epoll_now(edge));
	EXPECT_EQ(0, q_extend(x, b.ticket));
	/* The next loss is news again, even if it is not asked for. */
	EXPECT_EQ(KWQ_WAS_PROCESSING, q_revoke(self->q, "b"));
	EXPECT_EQ(EPOLLPRI, epoll_now(edge));
	EXPECT_EQ(EPOLLPRI, epoll_now(level));
	EXPECT_EQ(KWQ_WAS_PROCESSING, q_revoke(self->q, "c"));
	EXPECT_EQ(EPOLLPRI, epoll_now(other));
	EXPECT_EQ(-ESTALE, q_extend(y, c.ticket));
	EXPECT_EQ(POLLPRI, poll_now(x, POLLPRI));
	check_stat(self->q, .items = 0);
	check_counts(self->q, .adds = 3, .gets = 3, .abandoned = 3, .removed = 3);
	close(level);
	close(edge);
	close(other);
	close(x);
	close(y);
}

TEST_F(grants, failed_extend_keeps_the_news)
{
	struct kwq_extend_entry entry = { .flags = 1 };
	struct kwq_batch_args op = { .size = sizeof(op), .batch.nr = 1 };
	struct item item;

	ASSERT_EQ(KWQ_RESTORED, q_grant(self->q, "a", 1));
	ASSERT_EQ(1, q_try_get(self->q, &item));
	EXPECT_EQ(KWQ_WAS_PROCESSING, q_revoke(self->q, "a"));
	op.batch.entries = user_ptr(&entry);
	EXPECT_EQ(-EINVAL, request(self->q, KWQ_IOC_EXTEND, &op));
	op.flags = 1;
	EXPECT_EQ(-EINVAL, request(self->q, KWQ_IOC_EXTEND, &op));
	EXPECT_EQ(-EFAULT, request(self->q, KWQ_IOC_EXTEND, NULL));
	EXPECT_EQ(POLLPRI, poll_now(self->q, POLLPRI));
	EXPECT_EQ(-ESTALE, q_extend(self->q, item.ticket));
	EXPECT_EQ(0, poll_now(self->q, POLLPRI));
}

/* A revoked key is another worker's, while the first one still runs. */
/* O3: only an EXTEND that was carried out tells what was lost. */
TEST_F(grants, losses_are_told_until_an_extend_succeeds)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	__u8 *hole = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct kwq_batch_args args = {
		.size = sizeof(args),
		.batch = {
			.entries = user_ptr(hole), .results = user_ptr(hole), .nr = 1,
			.entry_size = sizeof(struct kwq_extend_entry),
		},
	};
	int x = q_reopen(self->q);
	struct item item;

	ASSERT_EQ(KWQ_RESTORED, q_grant(self->q, "a", 1));
	ASSERT_EQ(1, q_try_get(x, &item));
	EXPECT_EQ(KWQ_WAS_PROCESSING, q_revoke(self->q, "a"));
	EXPECT_EQ(POLLPRI, poll_now(x, POLLPRI));
	EXPECT_EQ(-EFAULT, request(x, KWQ_IOC_EXTEND, &args));
	EXPECT_EQ(POLLPRI, poll_now(x, POLLPRI));
	EXPECT_EQ(-ESTALE, q_extend(x, item.ticket));
	EXPECT_EQ(0, poll_now(x, POLLPRI));
	close(x);
	munmap(hole, page);
}

/* Everything at once */

#define NR_KEYS		8
#define ADDERS		3
#define WORKERS		3
#define ROUNDS		4000

struct world {
	_Atomic __u64 wanted[NR_KEYS];	/* raised before each add */
	_Atomic __u64 seen[NR_KEYS];	/* what a run has seen that finished */
	_Atomic __u64 running[NR_KEYS];	/* the life of the worker that runs the key; 0: none */
	_Atomic __u64 tokens[NR_KEYS];	/* the highest token of a run */
	_Atomic bool killed[1 << 16];	/* by the life of a worker */
	_Atomic __u64 runs;
	_Atomic int overlaps;
	_Atomic int old_tokens;
	_Atomic bool stop;
	int q;
	int outbox;
};

static int key_number(const char *key)
{
	return atoi(key + 1);
}

static void adds_keys(struct world *w, int q, __u64 seed, int rounds)
{
	char key[8];

	for (int i = 0; i < rounds; i++) {
		int n = next_random(&seed) % NR_KEYS;

		snprintf(key, sizeof(key), "k%d", n);
		atomic_fetch_add(&w->wanted[n], 1);
		REQUIRE(q_add(q, key) >= 0);
	}
}

/* Works until the queue is shut down. */
static void works(struct world *w, int q, __u64 life, __u64 seed)
{
	struct item item;
	__u64 token, was, wanted;

	while (q_get_token(q, &item, &token, 0, KWQ_NO_DEADLINE) == 1) {
		int n = key_number(item.key);

		was = atomic_exchange(&w->running[n], life);
		if (was && !atomic_load(&w->killed[was]))
			atomic_fetch_add(&w->overlaps, 1);
		/* A run that ended by a death begins again with the next number. */
		if (token < atomic_load(&w->tokens[n]))
			atomic_fetch_add(&w->old_tokens, 1);
		raise_to(&w->tokens[n], token);
		wanted = atomic_load(&w->wanted[n]);
		if (next_random(&seed) % 4 == 0)
			sched_yield();
		raise_to(&w->seen[n], wanted);
		atomic_fetch_add(&w->runs, 1);
		/* A worker that is killed here has done the work, and another does it again. */
		if (atomic_exchange(&w->running[n], 0) != life)
			atomic_fetch_add(&w->overlaps, 1);
		REQUIRE(q_done(q, item.ticket) >= 0);
	}
}

struct manager {
	struct world *w;
	struct reader r;
	__u64 grants;
	__u64 stale;
	struct listed_item read[16];
};

/* Grants all that has come to the outbox. Returns false if nothing has. */
static bool manage(struct manager *m, __u64 wait)
{
	struct world *w = m->w;
	int nr = q_changes(w->outbox, &m->r, m->read, ARRAY_SIZE(m->read), KWQ_CHANGES_RELATIVE,
			   wait), ret;

	for (int i = 0; i < nr; i++) {
		if (!m->read[i].item.state)
			continue;
		/* First the grant: if the manager died in between, nothing would be lost. */
		/* The lowest 14 bits count hand-outs of an item whose workers are killed. */
		ret = q_grant(w->q, m->read[i].key, ++m->grants << 14);
		REQUIRE(ret == KWQ_RESTORED || ret == KWQ_COALESCED || ret == KWQ_DIRTIED ||
			ret == KWQ_DIRTY);
		ret = q_remove_unchanged(w->outbox, m->read[i].key, m->read[i].item.change);
		REQUIRE(ret == KWQ_WAS_READY || ret == -ESTALE);
		m->stale += ret == -ESTALE;
	}
	REQUIRE(nr >= 0 || nr == -ETIMEDOUT);
	return nr >= 0;
}

static int call_adder(struct sleeper *s)
{
	adds_keys(s->arg, s->fd, s->deadline, ROUNDS);
	return 0;
}

static int call_worker(struct sleeper *s)
{
	works(s->arg, s->fd, s->deadline, s->deadline);
	return 0;
}

static void new_world(grants_fixture *self, struct world *w, struct manager *m)
{
	close(self->q);
	close(self->outbox);
	self->outbox = new_flagged_queue(self->dev, KWQ_CREATE_CHANGES);
	self->q = new_queue_with_outbox(self->dev, KWQ_CREATE_CHANGES, self->outbox);
	REQUIRE(self->outbox >= 0 && self->q >= 0);
	w->q = self->q;
	w->outbox = self->outbox;
	m->w = w;
	REQUIRE(!q_follow(self->outbox, &m->r.after));
}

static void check_world(struct __test_metadata *_metadata, struct world *w, struct manager *m)
{
	for (int i = 0; i < NR_KEYS; i++) {
		EXPECT_EQ(atomic_load(&w->wanted[i]), atomic_load(&w->seen[i])) {
			TH_LOG("an add of key %d is lost", i);
		}
	}
	EXPECT_EQ(0, atomic_load(&w->overlaps));
	EXPECT_EQ(0, atomic_load(&w->old_tokens));
	EXPECT_LT(0, atomic_load(&w->runs));
	TH_LOG("%llu runs, %llu grants, %llu removes too late", atomic_load(&w->runs), m->grants,
	       m->stale);
}

/* No add is lost between the manager's look and its remove. */
TEST_F_TIMEOUT(grants, adds_race_with_removes, 120)
{
	struct world *w = shared(sizeof(*w));
	struct sleeper adders[ADDERS], workers[WORKERS];
	struct manager m = {};
	int running = 1;

	new_world(self, w, &m);
	for (int i = 0; i < WORKERS; i++) {
		workers[i] = (struct sleeper){
			.call = call_worker, .fd = q_reopen(w->q), .deadline = i + 1, .arg = w,
		};
		sleeper_start(&workers[i]);
	}
	for (int i = 0; i < ADDERS; i++) {
		adders[i] = (struct sleeper){
			.call = call_adder, .fd = q_reopen(w->q), .deadline = i + 100, .arg = w,
		};
		sleeper_start(&adders[i]);
	}
	while (running) {
		running = 0;
		for (int i = 0; i < ADDERS; i++)
			running += !atomic_load(&adders[i].ended);
		manage(&m, MSEC);
	}
	for (int i = 0; i < ADDERS; i++) {
		sleeper_join(&adders[i]);
		close(adders[i].fd);
	}
	while (manage(&m, 0))
		;
	check_stat(w->outbox, .items = 0);
	ASSERT_EQ(0, q_drain(w->q, KWQ_NO_DEADLINE));
	for (int i = 0; i < WORKERS; i++) {
		sleeper_join(&workers[i]);
		close(workers[i].fd);
	}
	check_world(_metadata, w, &m);
}

struct life {
	struct world *w;
	__u64 number;
	bool adds;
};

static int peer_lives(struct peer *parent, void *arg)
{
	struct life *life = arg;
	int q = q_reopen(life->w->q);

	(void)parent;
	REQUIRE(q >= 0);
	if (!life->adds)
		works(life->w, q, life->number, life->number);
	else
		for (__u64 seed = life->number; !atomic_load(&life->w->stop); seed++)
			adds_keys(life->w, q, seed, 10);
	return 0;
}

static void begin_life(struct peer *peer, struct world *w, __u64 number, bool adds)
{
	struct life life = { w, number, adds };

	REQUIRE(number < ARRAY_SIZE(w->killed));
	start_peer(peer, peer_lives, &life);
}

/*
 * A manager, and workers in other processes, which are killed at random: no add is lost, no key
 * runs twice at once, and its tokens grow.
 */
TEST_F_TIMEOUT(grants, workers_are_killed, 180)
{
	__u64 until = now_ns() + soak_seconds() * SEC, seed = 1, lives = 0, gets;
	struct world *w = shared(sizeof(*w));
	struct peer adders[ADDERS], workers[WORKERS];
	__u64 numbers[WORKERS];
	struct manager m = {};
	int kills;

	new_world(self, w, &m);
	for (int i = 0; i < ADDERS; i++)
		begin_life(&adders[i], w, ++lives, true);
	for (int i = 0; i < WORKERS; i++) {
		numbers[i] = ++lives;
		begin_life(&workers[i], w, numbers[i], false);
	}
	for (kills = 0; kills < 60 || now_ns() < until; kills++) {
		int i = next_random(&seed) % WORKERS;

		gets = stat_of(w->q).gets + next_random(&seed) % 40;
		while (stat_of(w->q).gets < gets)
			manage(&m, MSEC);
		if (lives + 1 == ARRAY_SIZE(w->killed))
			break;
		/* From now on nobody takes its mark for that of a worker. */
		atomic_store(&w->killed[numbers[i]], true);
		EXPECT_EQ(-SIGKILL, kill_peer(&workers[i]));
		numbers[i] = ++lives;
		begin_life(&workers[i], w, numbers[i], false);
	}
	atomic_store(&w->stop, true);
	for (int i = 0; i < ADDERS; i++)
		EXPECT_EQ(0, end_of_peer(&adders[i]));
	while (manage(&m, 0))
		;
	check_stat(w->outbox, .items = 0);
	ASSERT_EQ(0, q_drain(w->q, KWQ_NO_DEADLINE));
	for (int i = 0; i < WORKERS; i++)
		EXPECT_EQ(0, end_of_peer(&workers[i]));
	check_world(_metadata, w, &m);
	EXPECT_LT(0, stat_of(w->q).abandoned);
	tell_soak(atomic_load(&w->runs), kills);
}

TEST_HARNESS_MAIN
