// SPDX-License-Identifier: GPL-2.0-only
/*
 * Q3, Q4, O1, O2, O6: everything at once. Threads and processes add, fetch, finish,
 * remove and delay; some are killed at random moments. Shared memory shows whether an
 * item ran twice at once and whether an add was lost.
 *
 * The amount of work is fixed, not the time.
 */
#include "kwq_test.h"

QUEUE_FIXTURE(stress, new_queue(self->dev))

/* Nothing runs twice at once, and no add is lost */

#define KEYS		48
#define REMOVABLE	(KEYS / 4)	/* the first ones are removed now and then */
#define LIVES		512		/* processes, one after the other */
#define KILLS		40

/*
 * An adder raises @wanted, and after its add @added. A worker that gets the item reads
 * @wanted, and raises @seen to that value before its done. So once @seen has reached
 * @added, each add that returned was followed by a hand-out.
 */
struct world {
	_Atomic __u64 wanted[KEYS];
	_Atomic __u64 added[KEYS];
	_Atomic __u64 seen[KEYS];
	_Atomic __u64 removed[KEYS];	/* adds that a remove may have taken along */
	_Atomic __u32 runner[KEYS];	/* 0 for nobody, else its life + 1 */
	_Atomic bool doomed[LIVES];	/* set before the SIGKILL */
	_Atomic __u64 gets;
	_Atomic bool stop;
	_Atomic int lives;
	__u64 seed;
	int q;
};

static int key_number(const struct item *item)
{
	int n = atoi(item->key + 1);

	REQUIRE(item->key[0] == 'k' && n >= 0 && n < KEYS);
	return n;
}

/* Q3: takes the flag over only from a runner that was killed. */
static void run_begins(struct world *w, int n, __u32 me)
{
	__u32 was = 0;

	if (atomic_compare_exchange_strong(&w->runner[n], &was, me))
		return;
	REQUIRE(atomic_load(&w->doomed[was - 1]));
	REQUIRE(atomic_compare_exchange_strong(&w->runner[n], &was, me));
}

static void run_ends(struct world *w, int n, __u32 me, __u64 wanted)
{
	raise_to(&w->seen[n], wanted);
	REQUIRE(atomic_compare_exchange_strong(&w->runner[n], &me, 0));
}

static void add_randomly(struct world *w, int q, int n, __u64 *random)
{
	static const __u32 policies[] = { 0, KWQ_ADD_REPLACE, KWQ_ADD_KEEP, KWQ_ADD_LATER };
	__u32 flags = 0, r = next_random(random);
	__u64 wanted, time = 0;
	int priority = 0, ret;
	char key[16];

	snprintf(key, sizeof(key), "k%d", n);
	if (r % 4 == 0) {
		flags = KWQ_ADD_AFTER | policies[r / 4 % 4];
		time = r % (2 * MSEC);
	} else if (r % 4 == 1) {
		flags = KWQ_ADD_AT | policies[r / 4 % 4];
		time = now_ns() + r % MSEC;
	} else if (r % 4 == 2) {
		flags = KWQ_ADD_END_WAIT;
	}
	if (r % 4 != 2 && r / 4096 % 4 == 0) {
		flags = KWQ_ADD_RATE_LIMITED | policies[r / 4 % 4];
		time = 0;
	}
	if (r / 16 % 4 == 0) {
		flags |= KWQ_ADD_PRIORITY;
		priority = (int)(r / 64 % 64) - 32;
	}
	wanted = atomic_fetch_add(&w->wanted[n], 1) + 1;
	ret = q_add_with(q, key, flags, priority, time);
	/* L11: this add made the item dead and leads to no hand-out. An event brings it
	 * back.
	 */
	if (ret == KWQ_DEAD) {
		REQUIRE(flags & KWQ_ADD_RATE_LIMITED);
		ret = q_add(q, key);
	}
	REQUIRE(ret >= 0 && ret != KWQ_DEAD);
	raise_to(&w->added[n], wanted);
}

/* Changes counts and dead items, but loses no add. */
static void meddle(int q, const char *key, __u32 r)
{
	static struct listed_item dead[8];
	__u64 after = 0;
	int ret;

	switch (r % 4) {
	case 0:
		ret = q_forget(q, key);
		REQUIRE(ret >= 0);
		break;
	case 1:
		ret = q_requeues(q, key);
		REQUIRE(ret >= 0);
		break;
	case 2:
		ret = q_kick(q, key);
		REQUIRE(ret == KWQ_ADDED || ret == -ENOENT);
		break;
	default:
		ret = q_drop(q, key);
		REQUIRE(ret == KWQ_WAS_DEAD || ret == -ENOENT);
		ret = q_list_page(q, dead, 8, KWQ_IS_DEAD, &after);
		REQUIRE(ret >= 0);
		break;
	}
}

static int get_into_nothing(int q)
{
	struct kwq_got got;
	struct kwq_get_args get = GET_ARGS(&got, 0, KEY_ROOM, 1, .flags = KWQ_GET_NONBLOCK);

	return q_get_raw(q, &get);
}

struct worker {
	struct world *w;
	int q;
	__u32 me;
	__u64 random;
};

static void work_on(struct worker *worker, const struct item *items, int nr)
{
	struct world *w = worker->w;
	__u64 wanted[4];

	for (int i = 0; i < nr; i++) {
		int n = key_number(&items[i]);

		run_begins(w, n, worker->me);
		wanted[i] = atomic_load(&w->wanted[n]);
		atomic_fetch_add(&w->gets, 1);
	}
	if (next_random(&worker->random) % 4 == 0)
		sched_yield();
	for (int i = 0; i < nr; i++) {
		int n = key_number(&items[i]), ret;

		/* Q4: the key is wanted once more while it runs. */
		if (next_random(&worker->random) % 8 == 0)
			add_randomly(w, worker->q, n, &worker->random);
		run_ends(w, n, worker->me, wanted[i]);
		if (next_random(&worker->random) % 2)
			ret = q_done_with(worker->q, items[i].ticket,
					  i % 2 ? KWQ_DONE_FORGET : 0);
		else
			ret = q_done_key(worker->q, items[i].key);
		REQUIRE(!(ret & ~(KWQ_REQUEUED | KWQ_STILL_WAITING)));
	}
}

static int call_worker(struct sleeper *s)
{
	struct worker *worker = s->arg;
	struct item items[4];

	while (!atomic_load(&worker->w->stop)) {
		__u32 r = next_random(&worker->random);
		int ret;

		if (r % 16 == 0) {
			ret = get_into_nothing(worker->q);
			REQUIRE(ret == -EFAULT || ret == -EAGAIN);
			continue;
		}
		if (r % 16 < 4) {
			struct pollfd pollfd = { .fd = worker->q, .events = POLLIN };

			poll(&pollfd, 1, 1);
			ret = q_get_many(worker->q, items, 1 + r / 16 % 4, KWQ_GET_NONBLOCK, 0);
		} else {
			ret = q_get_many(worker->q, items, 1 + r / 16 % 4, 0,
					 now_ns() + 2 * MSEC);
		}
		REQUIRE(ret > 0 || ret == -EAGAIN || ret == -ETIMEDOUT);
		if (ret > 0)
			work_on(worker, items, ret);
	}
	return 0;
}

struct life {
	struct world *w;
	int number;
	bool works;
};

/* Two threads share one handle, and a third has its own. */
static int work(const struct life *life)
{
	struct world *w = life->w;
	struct worker workers[3];
	struct sleeper s[3];

	for (int i = 0; i < 3; i++) {
		workers[i] = (struct worker){
			.w = w,
			.q = i == 1 ? workers[0].q : q_reopen(w->q),
			.me = life->number + 1,
			.random = w->seed + life->number * 3 + i,
		};
		s[i] = (struct sleeper){ .call = call_worker, .arg = &workers[i] };
		sleeper_start(&s[i]);
	}
	for (int i = 0; i < 3; i++)
		sleeper_join(&s[i]);
	return 0;
}

static int add(const struct life *life)
{
	struct world *w = life->w;
	__u64 random = w->seed + life->number;
	int q = q_reopen(w->q);

	while (!atomic_load(&w->stop)) {
		__u32 r = next_random(&random);
		char key[16];

		add_randomly(w, q, r % KEYS, &random);
		if (r / KEYS % 16 == 0) {
			int n = r % REMOVABLE, ret;

			snprintf(key, sizeof(key), "k%d", n);
			ret = q_remove(q, key);
			REQUIRE(ret > 0 || ret == -ENOENT);
			raise_to(&w->removed[n], atomic_load(&w->wanted[n]));
		}
		if (r / KEYS % 8 == 1) {
			snprintf(key, sizeof(key), "k%d", r / 64 % KEYS);
			meddle(q, key, r / 1024);
		}
		if (r / KEYS % 4 == 0)
			sched_yield();
	}
	return 0;
}

static int peer_lives(struct peer *parent, void *arg)
{
	const struct life *life = arg;

	(void)parent;
	return life->works ? work(life) : add(life);
}

#define PROCESSES	5	/* two of them only add */

static void begin_life(struct world *w, struct peer *peer, struct life *life, int slot)
{
	*life = (struct life){ .w = w, .number = w->lives++, .works = slot >= 2 };
	REQUIRE(life->number < LIVES);
	start_peer(peer, peer_lives, life);
}

static void finish_all(struct __test_metadata *_metadata, struct world *w)
{
	struct kwq_stat stat;
	struct item item;
	int ret, n;

	do {
		ret = q_get(w->q, &item, 0, now_ns() + MSEC);
		ASSERT_TRUE(ret == 1 || ret == -ETIMEDOUT);
		if (ret == 1) {
			n = key_number(&item);
			run_begins(w, n, LIVES);
			run_ends(w, n, LIVES, atomic_load(&w->wanted[n]));
			ASSERT_EQ(KWQ_FINISHED, q_done(w->q, item.ticket));
		}
		ASSERT_EQ(0, q_stat(w->q, &stat));
	} while (stat.items > stat.remembered + stat.dead);
	for (n = 0; n < KEYS; n++) {
		char key[16];

		snprintf(key, sizeof(key), "k%d", n);
		ASSERT_LE(0, q_forget(w->q, key));
		ret = q_drop(w->q, key);
		ASSERT_TRUE(ret == KWQ_WAS_DEAD || ret == -ENOENT);
	}
}

/* Runs one world from its beginning to its end. */
static void run_world(struct __test_metadata *_metadata, int q, __u64 *random)
{
	struct world *w = shared(sizeof(*w));
	struct peer peers[PROCESSES];
	struct life lives[PROCESSES];

	w->q = q;
	w->seed = *random;
	for (int i = 0; i < PROCESSES; i++)
		begin_life(w, &peers[i], &lives[i], i);
	for (int kills = 0; kills < KILLS; kills++) {
		int victim = next_random(random) % PROCESSES;
		__u64 until = atomic_load(&w->gets) + next_random(random) % 100;

		while (atomic_load(&w->gets) < until)
			sched_yield();
		atomic_store(&w->doomed[lives[victim].number], true);
		ASSERT_EQ(0, kill(peers[victim].pid, SIGKILL));
		ASSERT_EQ(-SIGKILL, end_of_peer(&peers[victim]));
		begin_life(w, &peers[victim], &lives[victim], victim);
	}
	atomic_store(&w->stop, true);
	for (int i = 0; i < PROCESSES; i++)
		ASSERT_EQ(0, end_of_peer(&peers[i]));

	finish_all(_metadata, w);
	for (int n = 0; n < KEYS; n++) {
		__u64 seen = atomic_load(&w->seen[n]);

		if (n < REMOVABLE && seen < w->removed[n])
			seen = w->removed[n];
		EXPECT_LE(atomic_load(&w->added[n]), seen) {
			TH_LOG("an add of key %d was lost", n);
		}
	}
	munmap(w, sizeof(*w));
}

/* Q3, Q4, O1, O2 */
TEST_F_TIMEOUT(stress, nothing_twice_and_nothing_lost, 100 + 2 * soak_seconds())
{
	static const struct kwq_limiter both[] = {
		EXPONENTIAL(USEC, 2 * MSEC), BUCKET(1, 10 * USEC, 10),
	};
	struct kwq_config config = config_of(both);
	__u64 random = number_from("KWQ_SEED", 42), end = now_ns() + soak_seconds() * SEC;
	__u64 kills = 0;
	struct kwq_stat stat;

	config.max_wait = 5 * MSEC;
	config.forget_after = 100 * MSEC;
	config.dead_after = 1;
	ASSERT_EQ(0, q_configure(self->q, &config));

	do {
		run_world(_metadata, self->q, &random);
		kills += KILLS;
	} while (now_ns() < end);
	check_stat(self->q, .items = 0);
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(1, stat.handles);
	EXPECT_LT(0, stat.rate_limited);
	EXPECT_LT(0, stat.died);
	TH_LOG("%llu adds, %llu coalesced, %llu handed out, %llu abandoned, %llu removed",
	       stat.adds, stat.coalesced, stat.gets, stat.abandoned, stat.removed);
	TH_LOG("%llu rate-limited, %llu died", stat.rate_limited, stat.died);
	tell_soak(stat.adds + stat.coalesced + stat.gets + stat.dones + stat.removed, kills);
}

/* Q8, Q9, O1: shut down and drained during the work */

static int call_drained_worker(struct sleeper *s)
{
	struct item items[4];
	int ret;

	while ((ret = q_get_many(s->fd, items, 4, 0, KWQ_NO_DEADLINE)) > 0) {
		for (int i = 0; i < ret; i++) {
			int added = q_add(s->fd, items[i].key);

			REQUIRE(added == KWQ_DIRTIED || added == -ESHUTDOWN);
			REQUIRE(q_done(s->fd, items[i].ticket) >= 0);
		}
	}
	return ret;
}

static int peer_is_drained(struct peer *parent, void *arg)
{
	struct sleeper s[2];

	(void)parent;
	for (int i = 0; i < 2; i++) {
		s[i] = (struct sleeper){
			.call = call_drained_worker,
			.fd = q_reopen(*(int *)arg),
		};
		sleeper_start(&s[i]);
	}
	for (int i = 0; i < 2; i++)
		REQUIRE(sleeper_join(&s[i]) == -ESHUTDOWN);
	return 0;
}

TEST_F_TIMEOUT(stress, drained_in_the_middle, 60)
{
	for (int round = 0; round < 15; round++) {
		struct peer peers[3];
		struct kwq_stat stat;
		char key[16];
		int q = new_queue(self->dev);

		ASSERT_LE(0, q);
		for (int i = 0; i < 3; i++)
			start_peer(&peers[i], peer_is_drained, &q);
		for (int i = 0; i < 40; i++) {
			snprintf(key, sizeof(key), "%d", i);
			ASSERT_EQ(KWQ_ADDED, q_add(q, key));
		}
		/* Each item is added again when it runs, so the work never ends by
		 * itself.
		 */
		do {
			ASSERT_EQ(0, q_stat(q, &stat));
		} while (stat.gets < 100);
		if (round % 2)
			kill(peers[0].pid, SIGKILL);
		ASSERT_EQ(0, q_drain(q, KWQ_NO_DEADLINE));
		check_stat(q, .items = 0, .state = KWQ_STATE_SHUT_DOWN);
		EXPECT_EQ(round % 2 ? -SIGKILL : 0, end_of_peer(&peers[0]));
		EXPECT_EQ(0, end_of_peer(&peers[1]));
		EXPECT_EQ(0, end_of_peer(&peers[2]));
		close(q);
	}
}

/* O6: threads use descriptors that others close and open at the same time. */

#define SLOTS	4

struct slots {
	int dev;
	_Atomic int fd[SLOTS];
	_Atomic bool stop;
	_Atomic int calls;
};

static int call_with_any_slot(struct sleeper *s)
{
	struct slots *slots = s->arg;
	__u64 random = s->tid;
	struct item item;

	while (!atomic_load(&slots->stop)) {
		__u32 r = next_random(&random);
		int fd = atomic_load(&slots->fd[r % SLOTS]);
		struct pollfd pollfd = { .fd = fd, .events = POLLIN };
		struct kwq_stat stat = { .size = sizeof(stat) };

		switch (r / SLOTS % 6) {
		case 0:
			q_add(fd, "a");
			break;
		case 1:
			q_add_after(fd, "b", r % MSEC);
			break;
		case 2:
			q_get(fd, &item, 0, now_ns() + 100 * USEC);
			break;
		case 3:
			q_done_key(fd, "a");
			break;
		case 4:
			poll(&pollfd, 1, 0);
			break;
		default:
			request(fd, KWQ_IOC_STAT, &stat);
			break;
		}
		atomic_fetch_add(&slots->calls, 1);
	}
	return 0;
}

TEST_F_TIMEOUT(stress, descriptors_close_under_calls, 60)
{
	static struct slots slots;
	struct sleeper s[3];
	__u64 random = 1;

	slots.dev = self->dev;
	for (int i = 0; i < SLOTS; i++)
		slots.fd[i] = new_queue(self->dev);
	for (int i = 0; i < 3; i++) {
		s[i] = (struct sleeper){ .call = call_with_any_slot, .arg = &slots };
		sleeper_start(&s[i]);
	}
	for (int i = 0; i < 2000; i++) {
		__u32 r = next_random(&random);
		int slot = r % SLOTS, fd = slots.fd[slot];
		int from = slots.fd[r / SLOTS % SLOTS], made;

		/* Another handle of a queue, or a new queue, takes the place of the
		 * descriptor.
		 */
		made = i % 4 ? q_reopen(from) : new_queue(self->dev);
		ASSERT_LE(0, made);
		atomic_store(&slots.fd[slot], made);
		close(fd);
	}
	atomic_store(&slots.stop, true);
	for (int i = 0; i < 3; i++)
		sleeper_join(&s[i]);
	EXPECT_LT(0, slots.calls);
	for (int i = 0; i < SLOTS; i++)
		close(slots.fd[i]);
	check_stat(self->q, .items = 0);
}

/* O6: random requests. */

#define ARENA	(16 * 4096)

/* The same memory mapped twice: for this program and for the kernel. */
struct noise {
	__u64 random;
	__u8 *arena;
	__u8 *torn;
	int q;
	int dev;
	int rounds;
};

static _Atomic bool torn_enough;

static __u64 random_address(struct noise *n)
{
	__u32 r = next_random(&n->random);

	switch (r % 16) {
	case 0:
		return 0;
	case 1:
		return (__u64)next_random(&n->random) << 32 | next_random(&n->random);
	case 2:
		return user_ptr(n->torn + ARENA - r / 16 % 64);
	case 3:
		return user_ptr(n->torn + r / 16 % ARENA);
	default:
		return user_ptr(n->torn + r / 16 % (ARENA / 48) * sizeof(struct kwq_add_entry));
	}
}

static __u32 random_number(struct noise *n)
{
	__u32 r = next_random(&n->random);

	switch (r % 8) {
	case 0:
		return 0;
	case 1:
		return r;
	case 2:
		return ~0U - r / 8 % 4;
	case 3:
		return 1U << r / 8 % 32;
	default:
		return r / 8 % 80;
	}
}

static void random_batch(struct noise *n, struct kwq_batch *b, __u32 entry_size, bool results)
{
	__u32 r = next_random(&n->random);

	if (r % 4 == 0)
		return;
	b->entries = random_address(n);
	b->keys = random_address(n);
	b->results = results ? random_address(n) : 0;
	b->keys_len = random_number(n);
	b->nr = r / 4 % 8 ? 1 + r / 32 % 100 : random_number(n);
	b->entry_size = r / 64 % 16 ? entry_size : random_number(n);
	b->extra_size = r / 4096 % 64 == 1;
}

/* Makes adds with short keys, most of them valid. */
static void random_entries(struct noise *n)
{
	struct kwq_add_entry *entries = (struct kwq_add_entry *)n->arena;

	for (int i = 0; i < ARENA / sizeof(*entries); i++) {
		__u32 r = next_random(&n->random);

		entries[i] = (struct kwq_add_entry){
			.key_len = r / 16 % 16,
			.flags = r % 4 ? 0 : r / 256 % 512,
			.time = r % 16 ? 0 : random_number(n),
		};
	}
}

static int call_noise(struct sleeper *s)
{
	static const unsigned long ops[] = {
		KWQ_IOC_ADD, KWQ_IOC_DONE, KWQ_IOC_REMOVE, KWQ_IOC_FORGET, KWQ_IOC_REQUEUES,
	};
	static const __u32 sizes[] = {
		sizeof(struct kwq_add_entry), sizeof(struct kwq_done_entry),
		sizeof(struct kwq_remove_entry), sizeof(struct kwq_key_entry),
		sizeof(struct kwq_key_entry),
	};
	struct noise *n = s->arg;

	for (int i = 0; i < n->rounds; i++) {
		__u32 r = next_random(&n->random), kind = r / 2048 % 5;
		struct kwq_list_items_args items = {
			.size = sizeof(items),
			.states = r / 64 % 256,
		};
		struct kwq_config config = {
			.size = sizeof(config),
			.dead_after = r / 64 % 4,
			.nr = r / 256 % 4,
			.limiters = random_address(n),
			.limiter_size = sizeof(struct kwq_limiter),
		};
		struct kwq_batch_args op = { .size = sizeof(op) };
		struct kwq_get_args get = {
			.size = sizeof(get),
			.flags = r / 64 % 2,
			.deadline = r / 64 % 2 ? 0 : now_ns() + r % (20 * USEC),
		};
		struct kwq_list_args list = {
			.size = sizeof(list),
			.entries = random_address(n),
			.nr = random_number(n),
			.entry_size = sizeof(struct kwq_list_entry),
		};

		if (i % 100 == 0)
			random_entries(n);
		switch (r / 4 % 8) {
		case 0:
		case 1:
		case 2:
			random_batch(n, &op.batch, sizes[kind], true);
			request(n->q, ops[kind], &op);
			break;
		case 3:
		case 4:
		case 5:
			random_batch(n, &get.add, sizes[0], true);
			random_batch(n, &get.done, sizes[1], true);
			random_batch(n, &get.get, sizeof(struct kwq_got), false);
			if (!get.get.nr) {
				get.flags = 0;
				get.deadline = 0;
			}
			request(n->q, KWQ_IOC_GET, &get);
			break;
		case 6:
			request(n->dev, KWQ_IOC_LIST, &list);
			random_batch(n, &items.batch, sizeof(struct kwq_listed), false);
			request(n->q, KWQ_IOC_LIST_ITEMS, &items);
			if (!config.nr) {
				config.limiters = 0;
				config.limiter_size = 0;
			}
			request(n->q, r / 1024 % 2 ? KWQ_IOC_CONFIGURE : KWQ_IOC_CONFIG, &config);
			break;
		default:
			/* Any request except those that create queues or shut this one
			 * down.
			 */
			if (r / 32 % 32 != 0x16 && r / 32 % 32 != 0x18 && r / 32 % 32 > 2)
				request(n->q, _IOC(r / 1024 % 4, KWQ_IOC_MAGIC, r / 32 % 32, 4),
					(void *)(uintptr_t)random_address(n));
			break;
		}
	}
	return 0;
}

/* Removes pages of the arena and restores them during calls. */
static int call_tear(struct sleeper *s)
{
	struct noise *n = s->arg;
	__u64 random = n->random + 1;

	while (!atomic_load(&torn_enough)) {
		__u32 r = next_random(&random);
		__u8 *page = n->torn + r % (ARENA / 4096) * 4096;

		REQUIRE(!mprotect(page, 4096, r / 32 % 2 ? PROT_READ : PROT_NONE));
		sched_yield();
		REQUIRE(!mprotect(page, 4096, PROT_READ | PROT_WRITE));
	}
	return 0;
}

/* O6, O2, Q13 */
TEST_F_TIMEOUT(stress, noise, 60)
{
	struct sleeper noisy[2], tearing[2];
	struct noise n[2];
	struct kwq_stat stat;
	struct item item;

	atomic_store(&torn_enough, false);
	for (int i = 0; i < 2; i++) {
		n[i] = (struct noise){
			.random = i,
			.arena = shared(ARENA),
			.q = self->q,
			.dev = self->dev,
			.rounds = 4000,
		};
		n[i].torn = mremap(n[i].arena, 0, ARENA, MREMAP_MAYMOVE);
		ASSERT_NE(MAP_FAILED, n[i].torn);
		noisy[i] = (struct sleeper){ .call = call_noise, .arg = &n[i] };
		tearing[i] = (struct sleeper){ .call = call_tear, .arg = &n[i] };
		sleeper_start(&noisy[i]);
		sleeper_start(&tearing[i]);
	}
	for (int i = 0; i < 2; i++)
		sleeper_join(&noisy[i]);
	atomic_store(&torn_enough, true);
	for (int i = 0; i < 2; i++)
		sleeper_join(&tearing[i]);

	/* Some requests were valid, and the numbers of items add up. */
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_LT(0, stat.adds);
	EXPECT_LE(stat.ready + stat.processing, stat.items);
	EXPECT_LE(stat.waiting, stat.items);
	EXPECT_LE(stat.items, stat.ready + stat.processing + stat.waiting + stat.remembered +
		  stat.dead);
	TH_LOG("%llu adds, %llu handed out, %llu done, %llu items left", stat.adds, stat.gets,
	       stat.dones, stat.items);

	/* Afterwards the queue works normally. */
	EXPECT_EQ(0, q_shutting_down(self->q));
	EXPECT_LE(0, q_add_priority(self->q, "a key that no noise makes", KWQ_PRIORITY_MAX));
	do {
		ASSERT_EQ(1, q_try_get(self->q, &item));
	} while (strcmp(item.key, "a key that no noise makes"));
}

TEST_HARNESS_MAIN
