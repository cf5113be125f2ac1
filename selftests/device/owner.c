// SPDX-License-Identifier: GPL-2.0-only
/*
 * O1, O6: the holders of items, and the fate of items when a holder ends. Children
 * communicate with the test over pipes, so nothing depends on time.
 */
#include "kwq_test.h"

#include <sys/socket.h>

QUEUE_FIXTURE(owner, new_queue(self->dev))

/* The next item is @key, and was lost @times since it was last done. */
#define expect_abandoned(q, key, times)						\
	do {									\
		struct item got_;						\
		const int queue_ = (q);						\
										\
		expect_next(queue_, &got_, key);				\
		EXPECT_EQ(times, got_.abandoned);				\
		EXPECT_EQ(KWQ_FINISHED, q_done(queue_, got_.ticket));		\
	} while (0)

/* O1: an item that was given back is ready again, ahead of items never tried. */
TEST_F(owner, close_gives_back)
{
	int other = q_reopen(self->q);
	struct item item;

	ASSERT_LE(0, other);
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	expect_next(other, &item, "a");
	EXPECT_EQ(0, item.abandoned);
	check_stat(self->q, .ready = 1, .processing = 1, .items = 2);
	ASSERT_EQ(0, close(other));
	check_stat(self->q, .ready = 2, .items = 2);
	check_counts(self->q, .adds = 2, .gets = 1, .abandoned = 1);
	expect_abandoned(self->q, "a", 1);
	expect_abandoned(self->q, "b", 0);
	check_stat(self->q, .items = 0);
}

/* O1, Q6: a ticket is valid only for its hand-out. */
TEST_F(owner, ticket_of_the_dead)
{
	int other = q_reopen(self->q);
	struct item old, item;

	ASSERT_LE(0, other);
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	expect_next(other, &old, "a");
	ASSERT_EQ(0, close(other));
	EXPECT_EQ(-ESTALE, q_done(self->q, old.ticket));
	expect_next(self->q, &item, "a");
	EXPECT_LT(old.ticket, item.ticket);
	EXPECT_EQ(-ESTALE, q_done(self->q, old.ticket));
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
}

/* O1, Q3, Q6: two handles of one process are two holders. */
TEST_F(owner, handles_of_one_process)
{
	int other = q_reopen(self->q), third = q_reopen(other);
	struct item a, b, c;

	ASSERT_LE(0, other);
	ASSERT_LE(0, third);
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	ASSERT_EQ(KWQ_ADDED, q_add(other, "b"));
	ASSERT_EQ(KWQ_ADDED, q_add(third, "c"));
	expect_next(self->q, &a, "a");
	expect_next(other, &b, "b");
	expect_next(third, &c, "c");
	EXPECT_EQ(-EPERM, q_done_key(self->q, "b"));
	EXPECT_EQ(-EPERM, q_done_key(other, "c"));
	EXPECT_EQ(-EPERM, q_done_key(third, "a"));
	EXPECT_EQ(-ESTALE, q_done(self->q, b.ticket));
	EXPECT_EQ(-ESTALE, q_done(other, c.ticket));
	EXPECT_EQ(-ESTALE, q_done(third, a.ticket));
	ASSERT_EQ(0, close(other));
	check_stat(self->q, .ready = 1, .processing = 2, .items = 3);
	EXPECT_EQ(KWQ_FINISHED, q_done(third, c.ticket));
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, a.ticket));
	expect_abandoned(self->q, "b", 1);
	close(third);
}

/* O1: a dup() is the same handle; only closing the last copy gives the items back. */
TEST_F(owner, dup_is_the_same_handle)
{
	int other = q_reopen(self->q), second;
	struct item item;

	ASSERT_LE(0, other);
	second = fcntl(other, F_DUPFD_CLOEXEC, 0);
	ASSERT_LE(0, second);
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	expect_next(other, &item, "a");
	ASSERT_EQ(0, close(other));
	check_stat(self->q, .ready = 1, .processing = 1, .items = 2);
	EXPECT_EQ(KWQ_FINISHED, q_done(second, item.ticket));
	expect_next(second, &item, "b");
	ASSERT_EQ(0, close(second));
	expect_abandoned(self->q, "b", 1);
}

/* Processes */

struct holding {
	int q;
	int nr;
};

/* Gets items through a handle of its own, and waits for instructions how to end. */
static int peer_holds(struct peer *parent, void *arg)
{
	const struct holding *holding = arg;
	struct item *items = calloc(holding->nr, sizeof(*items));
	int q = q_reopen(holding->q), got = 0;

	REQUIRE(q >= 0 && items);
	while (got < holding->nr) {
		int want = holding->nr - got;
		int ret = q_get_many(q, items, want < KWQ_BATCH_MAX ? want : KWQ_BATCH_MAX, 0,
				     KWQ_NO_DEADLINE);

		REQUIRE(ret > 0);
		got += ret;
	}
	say(parent, got);
	if (hear(parent) == 'c')
		close(q);
	else
		return 7;
	say(parent, 'c');
	hear(parent);
	return 0;
}

/* O1: the holder closes its handle and lives on. */
TEST_F(owner, process_closes)
{
	struct holding holding = { .q = self->q, .nr = 1 };
	struct peer child;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	start_peer(&child, peer_holds, &holding);
	ASSERT_EQ(1, hear(&child));
	check_stat(self->q, .ready = 1, .processing = 1, .items = 2);
	say(&child, 'c');
	ASSERT_EQ('c', hear(&child));
	expect_abandoned(self->q, "a", 1);
	expect_abandoned(self->q, "b", 0);
	say(&child, 0);
	EXPECT_EQ(0, end_of_peer(&child));
}

/* O1: the holder exits. */
TEST_F(owner, process_exits)
{
	struct holding holding = { .q = self->q, .nr = 1 };
	struct peer child;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	start_peer(&child, peer_holds, &holding);
	ASSERT_EQ(1, hear(&child));
	say(&child, 'e');
	EXPECT_EQ(7, end_of_peer(&child));
	expect_abandoned(self->q, "a", 1);
	expect_abandoned(self->q, "b", 0);
}

/* O1: the holder is killed. */
TEST_F(owner, process_is_killed)
{
	struct holding holding = { .q = self->q, .nr = 1 };
	struct peer child;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	start_peer(&child, peer_holds, &holding);
	ASSERT_EQ(1, hear(&child));
	EXPECT_EQ(-SIGKILL, kill_peer(&child));
	expect_abandoned(self->q, "a", 1);
	expect_abandoned(self->q, "b", 0);
}

/* O1: the holder is killed and has more items than are given back per lock hold. */
TEST_F(owner, process_with_many_is_killed)
{
	struct holding holding = { .q = self->q, .nr = 1500 };
	struct item item;
	struct peer child;
	char key[16];

	for (int i = 0; i <= holding.nr; i++) {
		snprintf(key, sizeof(key), "%d", i);
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, key));
	}
	start_peer(&child, peer_holds, &holding);
	ASSERT_EQ(holding.nr, hear(&child));
	check_stat(self->q, .ready = 1, .processing = holding.nr, .items = holding.nr + 1);
	EXPECT_EQ(-SIGKILL, kill_peer(&child));
	check_stat(self->q, .ready = holding.nr + 1, .items = holding.nr + 1);
	for (int i = 0; i <= holding.nr; i++) {
		snprintf(key, sizeof(key), "%d", i);
		ASSERT_EQ(1, q_try_get(self->q, &item));
		ASSERT_STREQ(key, item.key);
		ASSERT_EQ(i < holding.nr, item.abandoned);
		ASSERT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
	}
}

/* O1, Q5: the holder is killed while it waits for another item. */
static int peer_holds_and_waits(struct peer *parent, void *arg)
{
	int q = q_reopen(*(int *)arg);
	struct item item;

	REQUIRE(q_wait_get(q, &item) == 1);
	say(parent, 1);
	q_wait_get(q, &item);
	return 1;
}

TEST_F(owner, killed_while_waiting_for_more)
{
	struct peer child;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	start_peer(&child, peer_holds_and_waits, &self->q);
	ASSERT_EQ(1, hear(&child));
	wait_until_asleep(child.pid, __NR_ioctl, KWQ_IOC_GET);
	EXPECT_EQ(-SIGKILL, kill_peer(&child));
	expect_abandoned(self->q, "a", 1);
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	expect_abandoned(self->q, "b", 0);
}

/* O1: a killed process has several handles; each gives back its own items. */
static int peer_holds_through_many(struct peer *parent, void *arg)
{
	struct item item;

	for (int i = 0; i < 8; i++) {
		int q = q_reopen(*(int *)arg);

		REQUIRE(q_wait_get(q, &item) == 1);
	}
	say(parent, 8);
	hear(parent);
	return 0;
}

TEST_F(owner, killed_with_many_handles)
{
	struct kwq_stat stat;
	struct peer child;

	for (char key[2] = "a"; key[0] <= 'h'; key[0]++)
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, key));
	start_peer(&child, peer_holds_through_many, &self->q);
	ASSERT_EQ(8, hear(&child));
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(9, stat.handles);
	EXPECT_EQ(8, stat.processing);
	EXPECT_EQ(-SIGKILL, kill_peer(&child));
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(1, stat.handles);
	check_stat(self->q, .ready = 8, .items = 8);
	check_counts(self->q, .adds = 8, .gets = 8, .abandoned = 8);
}

/* O1: a forked handle is shared; its items come back with the last process that has it. */
static int peer_shares(struct peer *parent, void *arg)
{
	int q = *(int *)arg;
	struct item item;

	REQUIRE(q_wait_get(q, &item) == 1);
	say(parent, item.ticket);
	return hear(parent) == 'd' ? q_done(q, item.ticket) : 0;
}

TEST_F(owner, fork_shares_a_handle)
{
	int other = q_reopen(self->q);
	struct peer child;
	int ticket;

	ASSERT_LE(0, other);
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	start_peer(&child, peer_shares, &other);
	ticket = hear(&child);
	ASSERT_LT(0, ticket);
	EXPECT_EQ(-SIGKILL, kill_peer(&child));
	/* The parent still has the handle and may finish the child's item. */
	check_stat(self->q, .processing = 1, .items = 1);
	ASSERT_EQ(KWQ_DIRTIED, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_REQUEUED, q_done(other, ticket));

	/* The parent closes the handle, and the child lives on. */
	start_peer(&child, peer_shares, &other);
	ASSERT_LT(0, hear(&child));
	ASSERT_EQ(0, close(other));
	check_stat(self->q, .processing = 1, .items = 1);
	say(&child, 'd');
	EXPECT_EQ(KWQ_FINISHED, end_of_peer(&child));
	check_stat(self->q, .items = 0);

	/* Both end. */
	other = q_reopen(self->q);
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	start_peer(&child, peer_shares, &other);
	ASSERT_LT(0, hear(&child));
	ASSERT_EQ(0, close(other));
	check_stat(self->q, .processing = 1, .items = 1);
	EXPECT_EQ(-SIGKILL, kill_peer(&child));
	expect_abandoned(self->q, "a", 1);
}

/* Descriptors passed to other processes */

static void send_fd(int sock, int fd)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { };
	char byte = 0;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	REQUIRE(sendmsg(sock, &msg, 0) == 1);
}

static int receive_fd(int sock)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int fd;

	REQUIRE(recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) == 1);
	REQUIRE(CMSG_FIRSTHDR(&msg));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

static int peer_receives(struct peer *parent, void *arg)
{
	int q = receive_fd(*(int *)arg);
	struct item item;
	int ret;

	say(parent, 0);
	REQUIRE(hear(parent) == 'g');
	ret = q_wait_get(q, &item);
	say(parent, ret == 1 ? item.key[0] : ret);
	hear(parent);
	return 0;
}

/*
 * O1, O6: a descriptor that was sent: the sender closes it, it is in transit, and it is
 * received.
 */
TEST_F(owner, descriptor_is_passed_on)
{
	struct item item;
	struct peer child;
	int sockets[2];
	int q = new_queue(self->dev);
	int watch;

	ASSERT_LE(0, q);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	start_peer(&child, peer_receives, &sockets[1]);
	close(q);	/* the child's copy of the first queue is not needed */

	q = new_queue(self->dev);
	watch = q_reopen(q);
	ASSERT_LE(0, watch);
	ASSERT_EQ(KWQ_ADDED, q_add(q, "a"));
	ASSERT_EQ(KWQ_ADDED, q_add(q, "b"));
	expect_next(q, &item, "a");
	send_fd(sockets[0], q);
	ASSERT_EQ(0, close(q));
	ASSERT_EQ(0, hear(&child));
	/* The handle still holds its items in transit. */
	check_stat(watch, .ready = 1, .processing = 1, .items = 2);
	say(&child, 'g');
	EXPECT_EQ('b', hear(&child));
	check_stat(watch, .processing = 2, .items = 2);
	EXPECT_EQ(-SIGKILL, kill_peer(&child));
	check_stat(watch, .ready = 2, .items = 2);
	expect_abandoned(watch, "a", 1);
	expect_abandoned(watch, "b", 1);
	close(watch);
	close(sockets[0]);
	close(sockets[1]);
}

/* O1, O6: a descriptor that nobody receives from its socket. */
TEST_F(owner, descriptor_is_lost_on_its_way)
{
	int other = q_reopen(self->q);
	struct item item;
	int sockets[2];

	ASSERT_LE(0, other);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	expect_next(other, &item, "a");
	send_fd(sockets[0], other);
	ASSERT_EQ(0, close(other));
	check_stat(self->q, .processing = 1, .items = 1);
	ASSERT_EQ(0, close(sockets[0]));
	ASSERT_EQ(0, close(sockets[1]));
	expect_abandoned(self->q, "a", 1);
}

/*
 * O1, O6: a socket that was sent over itself and holds the queue's descriptor. Only the
 * kernel's garbage collector frees it. The collector runs when the next socket is
 * closed.
 */
TEST_F(owner, descriptor_in_a_cycle)
{
	int sockets[2], more[2], other = q_reopen(self->q);
	struct item item;
	struct sleeper s;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	expect_next(other, &item, "a");
	send_fd(sockets[0], other);
	send_fd(sockets[0], sockets[0]);
	send_fd(sockets[1], sockets[1]);
	ASSERT_EQ(0, close(other));
	start_get(&s, self->q);
	ASSERT_EQ(0, close(sockets[0]));
	ASSERT_EQ(0, close(sockets[1]));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, more));
	close(more[0]);
	close(more[1]);
	EXPECT_EQ(1, sleeper_join(&s));
	EXPECT_STREQ("a", s.item.key);
	EXPECT_EQ(1, s.item.abandoned);
}

/* exec: runs this program as "owner --executed QUEUE TO FROM"; see main(). */

static int executed(char **argv)
{
	struct peer parent = { .to = atoi(argv[3]), .from = atoi(argv[4]) };
	int q = atoi(argv[2]);

	say(&parent, 'x');
	if (hear(&parent) == 'd')
		return q_done_key(q, "a") == KWQ_FINISHED ? 0 : 1;
	return 0;
}

static int peer_executes(struct peer *parent, void *arg)
{
	const struct holding *holding = arg;
	int q = q_open(holding->q, NULL, holding->nr);
	char text[3][16];
	struct item item;

	REQUIRE(q_wait_get(q, &item) == 1);
	say(parent, 1);
	REQUIRE(hear(parent) == 'x');
	snprintf(text[0], sizeof(text[0]), "%d", q);
	snprintf(text[1], sizeof(text[1]), "%d", dup(parent->to));
	snprintf(text[2], sizeof(text[2]), "%d", dup(parent->from));
	execl("/proc/self/exe", "owner", "--executed", text[0], text[1], text[2], NULL);
	return 1;
}

/* O1 */
TEST_F(owner, exec_closes)
{
	struct holding holding = { .q = self->q, .nr = O_CLOEXEC };
	struct peer child;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	start_peer(&child, peer_executes, &holding);
	ASSERT_EQ(1, hear(&child));
	check_stat(self->q, .processing = 1, .items = 1);
	say(&child, 'x');
	ASSERT_EQ('x', hear(&child));
	expect_abandoned(self->q, "a", 1);
	say(&child, 0);
	EXPECT_EQ(0, end_of_peer(&child));
}

/* O1 */
TEST_F(owner, exec_keeps)
{
	struct holding holding = { .q = self->q, .nr = 0 };
	struct peer child;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	start_peer(&child, peer_executes, &holding);
	ASSERT_EQ(1, hear(&child));
	say(&child, 'x');
	ASSERT_EQ('x', hear(&child));
	check_stat(self->q, .processing = 1, .items = 1);
	say(&child, 'd');
	EXPECT_EQ(0, end_of_peer(&child));
	check_stat(self->q, .items = 0);
	check_counts(self->q, .adds = 1, .gets = 1, .dones = 1);
}

/* Queues that end */

static long long module_references(void)
{
	return read_number("/sys/module/kwq/refcnt");
}

static int peer_fills_a_queue(struct peer *parent, void *arg)
{
	int q = new_queue(*(int *)arg), other = q_reopen(q);
	struct item item;
	char key[16];

	REQUIRE(q >= 0 && other >= 0);
	for (int i = 0; i < 300; i++) {
		snprintf(key, sizeof(key), "%d", i);
		REQUIRE(q_add(q, key) == KWQ_ADDED);
		if (i % 2)
			REQUIRE(q_add_after(q, key, i % 3 ? HOUR : MSEC) == KWQ_WAITING);
		if (i % 5 == 0)
			REQUIRE(q_try_get(i % 2 ? q : other, &item) == 1);
	}
	say(parent, 0);
	hear(parent);
	return 0;
}

/* O1, O6: an unnamed queue ends with its last descriptor, and with all its items. */
TEST_F(owner, unnamed_queue_goes)
{
	long long before = module_references();
	struct peer child;

	ASSERT_LE(2, before);	/* self->dev and self->q */
	for (int i = 0; i < 2; i++) {
		start_peer(&child, peer_fills_a_queue, &self->dev);
		ASSERT_EQ(0, hear(&child));
		EXPECT_LT(before, module_references());
		if (i % 2) {
			EXPECT_EQ(-SIGKILL, kill_peer(&child));
		} else {
			say(&child, 0);
			EXPECT_EQ(0, end_of_peer(&child));
		}
		EXPECT_EQ(before, module_references());
	}
}

/* O1: a named queue survives; the next handle gets the items left in it. */
TEST_F(owner, named_queue_stays)
{
	struct item item;
	char name[32];
	int q;

	snprintf(name, sizeof(name), "owner.%d", getpid());
	q = q_create(self->dev, name, 0, O_CLOEXEC, 0700);
	ASSERT_LE(0, q);
	ASSERT_EQ(KWQ_ADDED, q_add(q, "a"));
	ASSERT_EQ(KWQ_ADDED, q_add(q, "b"));
	ASSERT_EQ(KWQ_WAITING, q_add_after(q, "c", HOUR));
	expect_next(q, &item, "a");
	/* No other handle exists; the items must survive that, too. */
	ASSERT_EQ(0, close(q));
	q = q_open(self->dev, name, O_CLOEXEC);
	ASSERT_LE(0, q);
	check_stat(q, .ready = 2, .waiting = 1, .items = 3);
	expect_abandoned(q, "a", 1);
	expect_next(q, &item, "b");

	/* The same after a shut down. */
	ASSERT_EQ(0, q_shut_down(q));
	ASSERT_EQ(0, close(q));
	q = q_open(self->dev, name, O_CLOEXEC);
	ASSERT_LE(0, q);
	check_stat(q, .ready = 1, .items = 1, .state = KWQ_STATE_SHUT_DOWN);
	expect_abandoned(q, "b", 1);
	EXPECT_EQ(-ESHUTDOWN, q_try_get(q, &item));
	EXPECT_EQ(0, q_unlink(self->dev, name));
	close(q);
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "--executed"))
		return executed(argv);
	return test_harness_run(argc, argv);
}
