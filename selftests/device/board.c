// SPDX-License-Identifier: GPL-2.0-only
/*
 * The board: adds that coalesce without a system call (Q2). The tests look at it as <linux/kwq.h>
 * says, and not by the code of the library.
 */
#include "kwq_test.h"

#define CLOSED		INT_MAX		/* the board is closed */

FIXTURE(board)
{
	int dev;
	int q;		/* on a manual clock */
	int fd;
	__u64 size;
	const struct kwq_board *map;
};

typedef FIXTURE_DATA(board) board_fixture;

static const struct kwq_board *map_board(int fd, __u64 size)
{
	return mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
}

FIXTURE_SETUP(board)
{
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->q = new_manual_queue(self->dev, NULL);
	ASSERT_LE(0, self->q);
	self->fd = q_board(self->q, &self->size);
	ASSERT_LE(0, self->fd);
	self->map = map_board(self->fd, self->size);
	ASSERT_NE(MAP_FAILED, self->map);
}

FIXTURE_TEARDOWN(board)
{
	munmap((void *)self->map, self->size);
	close(self->fd);
	close(self->q);
	close(self->dev);
}

static const struct kwq_board_slot *slots_of(const struct kwq_board *board)
{
	return (const void *)(board + 1);
}

static __u32 slot_nr(const struct kwq_board *board, const char *key, size_t len, int which)
{
	__u64 words[KWQ_BOARD_KEY_MAX / 8] = { 0 }, h = board->seed ^ len;

	REQUIRE(len && len <= sizeof(words));
	memcpy(words, key, len);
	for (size_t i = 0; i < (len + 7) / 8; i++) {
		h = (h ^ words[i]) * 0x9e3779b97f4a7c15;
		h ^= h >> 32;
	}
	h *= 0x9e3779b97f4a7c15;
	return ((which ? (__u32)h : h >> 32) * board->nr_slots) >> 32;
}

/* The result of an add of the key if the slot has it; else 0. */
static int look_at(const struct kwq_board_slot *slot, const char *key, size_t len)
{
	__u64 words[KWQ_BOARD_KEY_MAX / 8] = { 0 };
	int result;
	__u32 seq;

	memcpy(words, key, len);
	seq = __atomic_load_n(&slot->seq, __ATOMIC_ACQUIRE);
	if (seq & 1 || __atomic_load_n(&slot->len, __ATOMIC_RELAXED) != len)
		return 0;
	for (size_t i = 0; i < (len + 7) / 8; i++)
		if (__atomic_load_n(&slot->key[i], __ATOMIC_RELAXED) != words[i])
			return 0;
	result = __atomic_load_n(&slot->result, __ATOMIC_RELAXED);
	atomic_thread_fence(memory_order_acquire);
	return __atomic_load_n(&slot->seq, __ATOMIC_ACQUIRE) == seq ? result : 0;
}

/* The result of an add of the key, 0 if the key is not there, or CLOSED. */
static int look_for(const struct kwq_board *board, const char *key, size_t len)
{
	int result = 0;

	atomic_thread_fence(memory_order_seq_cst);
	for (int i = 0; i < 2 && !result; i++)
		result = look_at(slots_of(board) + slot_nr(board, key, len, i), key, len);
	if (!result)
		return 0;
	return __atomic_load_n(&board->closed, __ATOMIC_RELAXED) ? CLOSED : result;
}

static int look(const struct kwq_board *board, const char *key)
{
	return look_for(board, key, strlen(key));
}

/* Adds a key and posts it. */
static void post(struct __test_metadata *_metadata, board_fixture *self, const char *key)
{
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, key));
	EXPECT_EQ(0, look(self->map, key));
	ASSERT_EQ(KWQ_COALESCED, q_add(self->q, key));
	EXPECT_EQ(KWQ_COALESCED, look(self->map, key));
}

/* The same of a key that is being processed. */
static void post_dirty(struct __test_metadata *_metadata, board_fixture *self, const char *key,
		       struct item *item)
{
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, key));
	expect_next(self->q, item, key);
	ASSERT_EQ(KWQ_DIRTIED, q_add(self->q, key));
	EXPECT_EQ(0, look(self->map, key));
	ASSERT_EQ(KWQ_DIRTY, q_add(self->q, key));
	EXPECT_EQ(KWQ_DIRTY, look(self->map, key));
}

/* No byte of any key is left, anywhere. */
static bool is_clear(const board_fixture *self)
{
	const struct kwq_board_slot *slot = slots_of(self->map);

	for (__u32 i = 0; i < self->map->nr_slots; i++, slot++)
		if (slot->len || slot->result || !is_zero(slot->key, sizeof(slot->key)))
			return false;
	return true;
}

/* ---- The descriptor and the mapping ---- */

TEST_F(board, head)
{
	__u64 used = sizeof(struct kwq_board) +
		     self->map->nr_slots * sizeof(struct kwq_board_slot);

	EXPECT_LT(0, self->map->nr_slots);
	EXPECT_LE(used, self->size);
	EXPECT_GT(used + getpagesize(), self->size);
	EXPECT_EQ(0, self->size % getpagesize());
	EXPECT_EQ(0, self->map->closed);
	EXPECT_TRUE(is_zero(self->map->pad, sizeof(self->map->pad)));
	EXPECT_TRUE(is_clear(self));
	for (__u32 nr = 0; nr < self->map->nr_slots; nr++)
		EXPECT_EQ(1, slots_of(self->map)[nr].seq % 2);
	EXPECT_EQ(FD_CLOEXEC, fcntl(self->fd, F_GETFD));
}

/* A queue has one board, whichever handle asks for it. */
TEST_F(board, one_of_each_queue)
{
	int writer = q_open_with(self->q, NULL, KWQ_RIGHT_WRITE, O_CLOEXEC);
	const struct kwq_board *second;
	int other, fd;
	__u64 size;

	ASSERT_LE(0, writer);
	/* A handle that may only add can map it, too. */
	fd = q_board(writer, &size);
	ASSERT_LE(0, fd);
	EXPECT_EQ(self->size, size);
	second = map_board(fd, size);
	ASSERT_NE(MAP_FAILED, second);
	/* The mapping needs no descriptor. */
	close(fd);
	close(writer);
	EXPECT_EQ(self->map->seed, second->seed);
	post(_metadata, self, "a");
	EXPECT_EQ(KWQ_COALESCED, look(second, "a"));
	munmap((void *)second, size);

	other = new_queue(self->dev);
	fd = q_board(other, &size);
	ASSERT_LE(0, fd);
	second = map_board(fd, size);
	ASSERT_NE(MAP_FAILED, second);
	EXPECT_NE(self->map->seed, second->seed);
	EXPECT_EQ(0, look(second, "a"));
	munmap((void *)second, size);
	close(fd);
	close(other);
}

static int mmap_errno(const board_fixture *self, __u64 size, int protection, int flags, off_t at)
{
	void *map = mmap(NULL, size, protection, flags, self->fd, at);

	if (map == MAP_FAILED)
		return errno;
	munmap(map, size);
	return 0;
}

/* O6: no program can write to the board. */
TEST_F(board, only_for_reading)
{
	const int rw = PROT_READ | PROT_WRITE;
	char path[64];
	char byte = 0;
	int fd, error;

	EXPECT_EQ(EACCES, mmap_errno(self, self->size, rw, MAP_SHARED, 0));
	EXPECT_EQ(EACCES, mmap_errno(self, self->size, rw, MAP_PRIVATE, 0));
	EXPECT_EQ(EACCES, mmap_errno(self, self->size, PROT_READ, MAP_PRIVATE, 0));
	EXPECT_EQ(-1, mprotect((void *)self->map, self->size, rw));
	EXPECT_EQ(EACCES, errno);
	/*
	 * No program can execute the keys of others, or enlarge the mapping. Newer kernels do not
	 * ask kwq: no anonymous inode is executable there.
	 */
	error = mmap_errno(self, self->size, PROT_READ | PROT_EXEC, MAP_SHARED, 0);
	EXPECT_TRUE(error == EACCES || error == EPERM) {
		TH_LOG("errno %d", error);
	}
	EXPECT_EQ(-1, mprotect((void *)self->map, self->size, PROT_READ | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(MAP_FAILED, mremap((void *)self->map, self->size, 2 * self->size,
				     MREMAP_MAYMOVE));
	EXPECT_EQ(EFAULT, errno);
	/* Not by ptrace's way either. */
	fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-1, pwrite(fd, &byte, 1, (off_t)(uintptr_t)self->map));
	close(fd);
	/* And the descriptor cannot be opened anew. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", self->fd);
	EXPECT_EQ(-1, open(path, O_RDWR | O_CLOEXEC));

	EXPECT_EQ(EINVAL, mmap_errno(self, self->size - getpagesize() ?: getpagesize() * 2,
				     PROT_READ, MAP_SHARED, 0));
	EXPECT_EQ(EINVAL, mmap_errno(self, self->size + getpagesize(), PROT_READ, MAP_SHARED, 0));
	EXPECT_EQ(EINVAL, mmap_errno(self, self->size, PROT_READ, MAP_SHARED, self->size));
	EXPECT_EQ(-1, read(self->fd, &byte, 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, write(self->fd, &byte, 1));
	EXPECT_EQ(EBADF, errno);
	EXPECT_EQ(-ENOTTY, q_len(self->fd));
}

TEST_F(board, rights)
{
	__u32 rights = KWQ_RIGHT_READ | KWQ_RIGHT_MANAGE;
	int reader = q_open_with(self->q, NULL, rights, O_CLOEXEC);
	__u64 size;

	ASSERT_LE(0, reader);
	EXPECT_EQ(-EBADF, q_board(reader, &size));
	EXPECT_EQ(-EBADF, q_tell(reader, 1));
	close(reader);
}

TEST_F(board, bad_arguments)
{
	struct kwq_board_args args = { .size = sizeof(args), .map_size = 1 };

	EXPECT_EQ(-EINVAL, request(self->q, KWQ_IOC_BOARD, &args));
	args = (struct kwq_board_args){ .size = sizeof(args), .open_flags = O_NONBLOCK };
	EXPECT_EQ(-EINVAL, request(self->q, KWQ_IOC_BOARD, &args));
	EXPECT_EQ(-EINVAL, q_tell(self->q, 0));
}

/* The size cannot be stored, so there is no descriptor. */
TEST_F(board, fault)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	struct kwq_board_args *args = mmap(NULL, page, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int before = dup(self->q), after;

	ASSERT_NE(MAP_FAILED, args);
	*args = (struct kwq_board_args){ .size = sizeof(*args) };
	ASSERT_EQ(0, mprotect(args, page, PROT_READ));
	close(before);
	EXPECT_EQ(-EFAULT, request(self->q, KWQ_IOC_BOARD, args));
	after = dup(self->q);
	EXPECT_EQ(before, after);
	close(after);
	munmap(args, page);
}

/* The mapping outlives the queue's handles, and the memory lives as long. */
TEST_F(board, outlives_the_handles)
{
	post(_metadata, self, "a");
	close(self->q);
	close(self->fd);
	EXPECT_EQ(KWQ_COALESCED, look(self->map, "a"));
	self->q = -1;
	self->fd = -1;
}

/* A child has the mapping of its parent. */
TEST_F(board, child)
{
	int status;
	pid_t pid;

	post(_metadata, self, "a");
	pid = fork();
	if (!pid)
		_exit(look(self->map, "a"));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_EQ(KWQ_COALESCED, WEXITSTATUS(status));
}

static __u64 bytes_of_user(int dev)
{
	struct kwq_info info = { .size = sizeof(info) };

	REQUIRE(!request(dev, KWQ_IOC_INFO, &info));
	return info.user_bytes;
}

/* O9: the board counts once, until neither a handle nor a mapping is left. */
TEST_F(board, memory_counts)
{
	__u64 before = bytes_of_user(self->dev), with, size;
	int q = new_queue(self->dev), fd, again;
	const struct kwq_board *map;

	ASSERT_LE(0, q);
	with = bytes_of_user(self->dev);
	fd = q_board(q, &size);
	ASSERT_LE(0, fd);
	EXPECT_LE(with + size, bytes_of_user(self->dev));
	EXPECT_GE(with + 2 * size, bytes_of_user(self->dev));
	with = bytes_of_user(self->dev);
	again = q_board(q, &size);
	EXPECT_EQ(with, bytes_of_user(self->dev));
	map = map_board(fd, size);
	ASSERT_NE(MAP_FAILED, map);
	close(again);
	close(fd);
	close(q);
	EXPECT_EQ(with, bytes_of_user(self->dev));
	munmap((void *)map, size);
	EXPECT_EQ(before, bytes_of_user(self->dev));
}

/* ---- What is on the board ---- */

TEST_F(board, hand_out)
{
	struct item items[3];

	post(_metadata, self, "a");
	post(_metadata, self, "b");
	post(_metadata, self, "c");
	/* One, and several in one call. */
	expect_next(self->q, &items[0], "a");
	EXPECT_EQ(0, look(self->map, "a"));
	EXPECT_EQ(KWQ_COALESCED, look(self->map, "b"));
	ASSERT_EQ(2, q_get_many(self->q, items + 1, 2, KWQ_GET_NONBLOCK, 0));
	EXPECT_EQ(0, look(self->map, "b"));
	EXPECT_EQ(0, look(self->map, "c"));
	EXPECT_TRUE(is_clear(self));
	/* Q4: none of these adds may coalesce. */
	EXPECT_EQ(KWQ_DIRTIED, q_add(self->q, "a"));
	EXPECT_EQ(0, look(self->map, "a"));
	for (int i = 0; i < 3; i++)
		EXPECT_LE(0, q_done(self->q, items[i].ticket));
}

/* A done and a get in one call. */
TEST_F(board, hand_out_after_a_done)
{
	struct kwq_done_entry done = { 0 };
	struct kwq_got got;
	__s32 result;
	char key[KEY_ROOM];
	struct kwq_get_args get = GET_ARGS(&got, user_ptr(key), sizeof(key), 1,
					   .flags = KWQ_GET_NONBLOCK, GET_DONE(&done, &result));
	struct item item;

	post_dirty(_metadata, self, "a", &item);
	post(_metadata, self, "b");
	done.ticket = item.ticket;
	ASSERT_EQ(1, q_get_raw(self->q, &get));
	EXPECT_EQ(KWQ_REQUEUED, result);
	EXPECT_EQ('b', key[0]);
	EXPECT_EQ(0, look(self->map, "a"));
	EXPECT_EQ(0, look(self->map, "b"));
	EXPECT_TRUE(is_clear(self));
}

/* Q2: the board tells ready items from dirty ones, whatever ends the processing. */
TEST_F(board, end_of_processing)
{
	static const __u32 ends[] = { 0, KWQ_DONE_FORGET, KWQ_DONE_DEAD, KWQ_DONE_RETURN };
	struct item item;

	for (int i = 0; i < ARRAY_SIZE(ends); i++) {
		int end = ends[i] == KWQ_DONE_RETURN ? KWQ_RETURNED : KWQ_REQUEUED;

		post_dirty(_metadata, self, "a", &item);
		EXPECT_EQ(end, q_done_with(self->q, item.ticket, ends[i]));
		EXPECT_EQ(0, look(self->map, "a"));
		EXPECT_TRUE(is_clear(self));
		EXPECT_EQ(KWQ_COALESCED, q_add(self->q, "a"));
		EXPECT_EQ(KWQ_COALESCED, look(self->map, "a"));
		expect_take(self->q, "a");
		EXPECT_EQ(0, look(self->map, "a"));
	}
	post_dirty(_metadata, self, "a", &item);
	EXPECT_EQ(KWQ_REQUEUED, q_done_key(self->q, "a"));
	EXPECT_EQ(0, look(self->map, "a"));
}

/* Bytes of any value, also zeroes at the end. */
TEST_F(board, zero_bytes)
{
	static const char key[9] = { 1, 0, 0, 0, 0, 0, 0, 0, 0 };

	for (size_t len = 1; len <= sizeof(key); len++) {
		EXPECT_EQ(KWQ_ADDED, q_add_bytes(self->q, key, len, 0, 0, 0));
		for (size_t other = 1; other <= sizeof(key); other++)
			EXPECT_EQ(0, look_for(self->map, key, other));
		EXPECT_EQ(KWQ_COALESCED, q_add_bytes(self->q, key, len, 0, 0, 0));
		for (size_t other = 1; other <= sizeof(key); other++)
			EXPECT_EQ(other == len ? KWQ_COALESCED : 0,
				  look_for(self->map, key, other));
		EXPECT_EQ(KWQ_WAS_READY, q_op_one(self->q, KWQ_IOC_REMOVE,
						  &(struct kwq_remove_entry){ .key_len = len },
						  sizeof(struct kwq_remove_entry), key, len));
	}
}

/* Only adds without options put a key on the board. They may change nothing of what is there. */
TEST_F(board, options)
{
	static const struct {
		__u32 flags;
		int priority;
		__u64 time;
		int result;
	} adds[] = {
		{ KWQ_ADD_PRIORITY, 0, 0, KWQ_COALESCED },
		{ KWQ_ADD_PRIORITY, 5, 0, KWQ_COALESCED },
		{ KWQ_ADD_END_WAIT, 0, 0, KWQ_COALESCED },
		{ KWQ_ADD_AFTER, 0, 0, KWQ_COALESCED },
		{ KWQ_ADD_AFTER, 0, 5, KWQ_WAITING },
		{ KWQ_ADD_AFTER, 0, 5, KWQ_COALESCED },
		{ KWQ_ADD_RATE_LIMITED, 0, 0, KWQ_COALESCED },
		{ KWQ_ADD_KICK, 0, 0, -ENOENT },
	};
	struct item item;

	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "low"));
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	for (int i = 0; i < ARRAY_SIZE(adds); i++) {
		EXPECT_EQ(adds[i].result, q_add_with(self->q, "a", adds[i].flags,
						     adds[i].priority, adds[i].time)) {
			TH_LOG("add %d", i);
		}
		EXPECT_TRUE(is_clear(self));
	}
	/* An add that raises the priority leaves the key there, for it stays right. */
	EXPECT_EQ(KWQ_COALESCED, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_COALESCED, q_add_priority(self->q, "a", 7));
	EXPECT_EQ(KWQ_COALESCED, look(self->map, "a"));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(7, item.priority);
	EXPECT_EQ(0, look(self->map, "a"));
	/* A waiting key is not dirty: an add of it makes it ready. */
	EXPECT_EQ(KWQ_STILL_WAITING, q_done(self->q, item.ticket));
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "a"));
}

/* An add in a batch puts its key on the board, too. */
TEST_F(board, batch)
{
	struct batch *b = new_batch();

	batch_add(b, "a");
	batch_add(b, "b");
	batch_add(b, "a");
	EXPECT_EQ(3, batch_run(self->q, KWQ_IOC_ADD, b));
	EXPECT_EQ(KWQ_COALESCED, look(self->map, "a"));
	EXPECT_EQ(0, look(self->map, "b"));
	free(b);
}

/* A board that is made after the shut down. */
TEST_F(board, of_a_queue_that_is_shut_down)
{
	int q = new_queue(self->dev), fd;
	const struct kwq_board *map;
	__u64 size;

	ASSERT_LE(0, q);
	EXPECT_EQ(0, q_shut_down(q));
	fd = q_board(q, &size);
	ASSERT_LE(0, fd);
	map = map_board(fd, size);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_NE(0, map->closed);
	munmap((void *)map, size);
	close(fd);
	close(q);
}

/* ---- No add is lost ---- */

#define KEYS	24
#define ADDS	40000		/* of each adder */

struct race {
	const struct kwq_board *map;
	int q;
	char keys[KEYS][16];
	atomic_ullong wanted[KEYS];	/* raised before an add */
	atomic_ullong added[KEYS];	/* raised after it */
	atomic_ullong seen[KEYS];	/* @wanted after a hand-out */
	atomic_ullong hits;
	atomic_int adders;
};

/* Keys that share so few slots that they take each other's places. */
static void choose_keys(struct race *race)
{
	int nr = 0;

	for (int i = 0; nr < KEYS; i++) {
		char *key = race->keys[nr];

		snprintf(key, sizeof(race->keys[nr]), "%d", i);
		if (slot_nr(race->map, key, strlen(key), 0) < KEYS / 2 &&
		    slot_nr(race->map, key, strlen(key), 1) < KEYS / 2)
			nr++;
	}
}

static void add_some(struct race *race, __u64 seed)
{
	__u64 random = seed, hits = 0;

	for (int i = 0; i < ADDS; i++) {
		/* Mostly one key, so that many adds coalesce. */
		int n = next_random(&random) % 4 ? seed & 1 : next_random(&random) % KEYS;
		const char *key = race->keys[n];
		__u64 wanted = atomic_fetch_add_explicit(&race->wanted[n], 1,
							 memory_order_relaxed) + 1;
		int ret = look(race->map, key);

		if (ret)
			hits++;
		else
			ret = q_add(race->q, key);
		REQUIRE(ret == KWQ_ADDED || ret == KWQ_COALESCED || ret == KWQ_DIRTIED ||
			ret == KWQ_DIRTY);
		raise_to(&race->added[n], wanted);
	}
	atomic_fetch_add(&race->hits, hits);
	atomic_fetch_sub(&race->adders, 1);
}

static void get_all(struct race *race)
{
	struct item item;
	int n, ret;

	for (;;) {
		bool last = !atomic_load(&race->adders);

		ret = q_try_get(race->q, &item);
		if (ret == -EAGAIN && last)
			return;
		if (ret == -EAGAIN) {
			sched_yield();
			continue;
		}
		REQUIRE(ret == 1);
		for (n = 0; n < KEYS && strcmp(race->keys[n], item.key); n++)
			;
		REQUIRE(n < KEYS);
		raise_to(&race->seen[n], atomic_load_explicit(&race->wanted[n],
							      memory_order_relaxed));
		/* Now and then an add meets the item while it is processed. */
		if (item.ticket % 8 == 0)
			sched_yield();
		REQUIRE(q_done(race->q, item.ticket) >= 0);
	}
}

/* Q4: two adders in processes of their own, and a getter. */
TEST_F_TIMEOUT(board, race, 200)
{
	struct race *race = shared(sizeof(*race));
	pid_t pids[2];
	int status;

	race->map = self->map;
	race->q = self->q;
	choose_keys(race);
	atomic_store(&race->adders, 2);
	for (int i = 0; i < 2; i++) {
		pids[i] = fork();
		ASSERT_LE(0, pids[i]);
		if (!pids[i]) {
			add_some(race, i + 2);
			_exit(0);
		}
	}
	get_all(race);
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(pids[i], waitpid(pids[i], &status, 0));
		EXPECT_EQ(0, status);
	}
	for (int n = 0; n < KEYS; n++) {
		EXPECT_LE(atomic_load(&race->added[n]), atomic_load(&race->seen[n])) {
			TH_LOG("an add of key %d is lost", n);
		}
	}
	EXPECT_LT(0, atomic_load(&race->hits));
	TH_LOG("%llu of %d adds needed no call", atomic_load(&race->hits), 2 * ADDS);
	EXPECT_TRUE(is_clear(self));
	check_stat(self->q, .items = 0);
}

TEST_HARNESS_MAIN
