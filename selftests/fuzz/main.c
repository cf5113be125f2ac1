// SPDX-License-Identifier: GPL-2.0-only
/*
 * Q3, Q8, Q9, Q10, O1, O2, O4, O5, O6, O9, U9: rounds of random requests. In each round,
 * processes work on new queues and are killed now and then. At its end all of them are
 * gone, and the remaining items are checked, fetched and finished. Each key is there at
 * most once, and a queue that is shut down and empty holds no memory.
 *
 * KWQ_SEED=N repeats the decisions; their timing is up to the scheduler.
 *
 * KWQ_SOAK_SECONDS=N runs rounds for this long.
 */
#include <sys/socket.h>

#include "fuzz.h"

#define ROUNDS		4	/* at least */
#define MOST_ROUNDS	(10 * ROUNDS)	/* until each request was granted */
#define STEPS		20	/* in a round, of STEP operations each */
#define KEYS_ROOM	65536
#define PATIENCE	1000	/* ms until the parent disturbs processes that make no step */
#define DEBUGFS		"/sys/kernel/debug/"

/*
 * The shared queues: on both clocks, with small limits, with dead items, without durations,
 * and with changes.
 */
static const struct kwq_limiter at_once[] = { FAST_SLOW(0, 0, 0) };

static int make_queue(int dev, int i, bool no_durations)
{
	static const __s32 clocks[QUEUES] = {
		CLOCK_MONOTONIC, KWQ_CLOCK_ID_MANUAL, KWQ_CLOCK_ID_MANUAL, CLOCK_BOOTTIME,
	};
	struct kwq_config config = config_of(at_once);
	const struct kwq_create_args create = {
		.size = sizeof(create),
		.flags = (no_durations ? KWQ_CREATE_NO_DURATIONS : 0) |
			 (i % 2 ? KWQ_CREATE_CHANGES : 0),
		.open_flags = O_CLOEXEC,
		.rights = ALL_RIGHTS,
		.clockid = clocks[i],
		.max_items = i == 2 ? 9 : 0,
		.config = i % 2 ? user_ptr(&config) : 0,
	};

	config.dead_after = 1;
	return request(dev, KWQ_IOC_CREATE, &create);
}

/* Counters only go up, except that an undone hand-out is no longer counted. */
static void require_progress(const struct kwq_stat *before, const struct kwq_stat *after)
{
	REQUIRE(after->adds >= before->adds);
	REQUIRE(after->coalesced >= before->coalesced);
	REQUIRE(after->dones >= before->dones);
	REQUIRE(after->abandoned >= before->abandoned);
	REQUIRE(after->returned >= before->returned);
	REQUIRE(after->posted >= before->posted);
	REQUIRE(after->removed >= before->removed);
	REQUIRE(after->dropped >= before->dropped);
	REQUIRE(after->retries >= before->retries);
	REQUIRE(after->rate_limited >= before->rate_limited);
	REQUIRE(after->died >= before->died);
	REQUIRE(after->now >= before->now);
	/* Q14 Q20: only a pause ends, and a term that is over. */
	REQUIRE(!(before->state & ~after->state & ~(KWQ_STATE_PAUSED | KWQ_STATE_TERM_OVER)));
	REQUIRE(number_in(&after->queue_duration) >= number_in(&before->queue_duration));
	REQUIRE(number_in(&after->lateness) >= number_in(&before->lateness));
}

/* The rest of a queue that nobody else has any more */

struct left {
	int q;
	bool manual;
	bool has_outbox;
	unsigned int nr;
	unsigned int room;
	struct {
		__u64 ticket;
		__u32 len;
		__u8 *bytes;
	} *keys;
};

static void note_key(struct left *left, __u64 ticket, const __u8 *bytes, __u32 len)
{
	/* Q3: nothing was finished since the first of these was fetched, so no key
	 * comes twice.
	 */
	for (unsigned int i = 0; i < left->nr; i++)
		REQUIRE(left->keys[i].ticket != ticket &&
			(left->keys[i].len != len || memcmp(left->keys[i].bytes, bytes, len)));
	if (left->nr == left->room) {
		left->room = 2 * left->room + 64;
		left->keys = realloc(left->keys, left->room * sizeof(*left->keys));
		REQUIRE(left->keys);
	}
	left->keys[left->nr].ticket = ticket;
	left->keys[left->nr].len = len;
	left->keys[left->nr].bytes = malloc(len);
	REQUIRE(left->keys[left->nr].bytes);
	memcpy(left->keys[left->nr++].bytes, bytes, len);
}

/* Fetches all ready items. Returns the reason for the end. */
static int fetch_all(struct left *left)
{
	static struct kwq_got got[64];
	static __u8 keys[KEYS_ROOM];
	struct kwq_get_args get = {
		.size = sizeof(get),
		.flags = KWQ_GET_NONBLOCK,
		.get = {
			.entries = user_ptr(got),
			.keys = user_ptr(keys),
			.keys_len = sizeof(keys),
			.nr = ARRAY_SIZE(got),
			.entry_size = sizeof(got[0]),
		},
	};
	__u64 last = 0;
	int ret;

	while ((ret = request(left->q, KWQ_IOC_GET, &get)) > 0) {
		const __u8 *key = keys;

		for (int i = 0; i < ret; i++) {
			REQUIRE(got[i].ticket > last);
			REQUIRE(got[i].key_len && got[i].key_len <= keys + sizeof(keys) - key);
			note_key(left, got[i].ticket, key, got[i].key_len);
			last = got[i].ticket;
			key += got[i].key_len;
		}
	}
	return ret;
}

static void finish_all(struct left *left)
{
	for (unsigned int i = 0; i < left->nr; i++) {
		int ret = q_done_with(left->q, left->keys[i].ticket, KWQ_DONE_FORGET);

		/* On a real clock an item may have become due meanwhile. */
		REQUIRE(ret >= 0 && !(ret & KWQ_REQUEUED && left->manual));
		free(left->keys[i].bytes);
	}
	left->nr = 0;
}

static __u32 losses_that_kill(int q)
{
	struct kwq_config config = { .size = sizeof(config) };

	REQUIRE(!request(q, KWQ_IOC_CONFIG, &config));
	return config.dead_after_lost;
}

/*
 * O3: a held item may be lost at any moment; with a lease of a nanosecond it always is.
 * Then it is ready again and can be removed. L12: after a shut down an item that was lost
 * too often is gone.
 */
static void empty_with_leases(int q)
{
	static __u8 key[KWQ_KEY_MAX];
	struct kwq_got got;
	struct kwq_get_args get = {
		.size = sizeof(get),
		.flags = KWQ_GET_NONBLOCK,
		.get = {
			.entries = user_ptr(&got),
			.keys = user_ptr(key),
			.keys_len = sizeof(key),
			.nr = 1,
			.entry_size = sizeof(got),
		},
	};
	struct kwq_remove_entry entry = {};
	__u32 limit = losses_that_kill(q);
	int ret, was;

	REQUIRE(!q_shut_down(q));
	while ((ret = request(q, KWQ_IOC_GET, &get)) == 1) {
		ret = q_done(q, got.ticket);
		if (ret == KWQ_FINISHED)
			continue;
		REQUIRE(ret == -ESTALE);
		entry.key_len = got.key_len;
		was = q_op_one(q, KWQ_IOC_REMOVE, &entry, sizeof(entry), key, got.key_len);
		REQUIRE(was == (limit && got.abandoned + 1 >= limit ? -ENOENT : KWQ_WAS_READY));
	}
	REQUIRE(ret == -ESHUTDOWN);
}

/* An add to a queue with an outbox goes there. */
static int bring_back(const struct left *left, const __u8 *key, __u32 len)
{
	const struct kwq_restore_entry entry = { .key_len = len, .state = KWQ_IS_READY };

	if (!left->has_outbox)
		return q_add_bytes(left->q, key, len, KWQ_ADD_KICK, 0, 0);
	return q_op_one(left->q, KWQ_IOC_RESTORE, &entry, sizeof(entry), key, len);
}

/* L11: the list is as long as the number of dead items, and each of them comes back. */
static void kick_all(const struct left *left, __u64 dead, bool shut_down)
{
	static struct kwq_listed entries[64];
	static __u8 keys[KEYS_ROOM];
	struct kwq_list_items_args list = {
		.size = sizeof(list),
		.states = KWQ_IS_DEAD,
		.batch = {
			.entries = user_ptr(entries),
			.keys = user_ptr(keys),
			.keys_len = sizeof(keys),
			.nr = ARRAY_SIZE(entries),
			.entry_size = sizeof(entries[0]),
		},
	};
	int ret;

	do {
		const __u8 *key = keys;

		ret = request(left->q, KWQ_IOC_LIST_ITEMS, &list);
		REQUIRE(ret >= 0);
		for (int i = 0; i < ret; i++) {
			REQUIRE(bring_back(left, key, entries[i].key_len) ==
				(shut_down ? -ESHUTDOWN : KWQ_ADDED));
			key += entries[i].key_len + entries[i].group_len;
			dead--;
		}
	} while (list.after);
	REQUIRE(!dead);
}

/*
 * D7: nothing waits beyond the end of the clock. Only the owner moves a named queue's
 * clock.
 */
static void go_to_the_end(int q, const struct kwq_stat *before)
{
	struct kwq_stat stat;
	int ret = q_advance_to(q, TIME_MAX);

	if (before->name[0] && before->uid != geteuid()) {
		REQUIRE(ret == -EPERM);
		return;
	}
	REQUIRE(!ret && !q_stat(q, &stat));
	REQUIRE(!stat.waiting && stat.now == TIME_MAX);
}

/* N8: reads all that has changed, each item at most once. So those that are gone are freed. */
static void read_changes(int q, __u64 after)
{
	static struct kwq_listed read[64];
	static __u8 keys[KEYS_ROOM];
	struct kwq_changes_args changes = {
		.size = sizeof(changes),
		.flags = KWQ_CHANGES_NONBLOCK,
		.after = after,
		.batch = {
			.entries = user_ptr(read),
			.keys = user_ptr(keys),
			.keys_len = sizeof(keys),
			.nr = ARRAY_SIZE(read),
			.entry_size = sizeof(read[0]),
		},
	};
	int ret;

	while ((ret = request(q, KWQ_IOC_CHANGES, &changes)) >= 0) {
		for (int i = 0; i < ret; i++) {
			REQUIRE(read[i].change > after && read[i].key_len);
			after = read[i].change;
		}
		REQUIRE(changes.after >= after);
		after = changes.after;
	}
	REQUIRE(ret == -EAGAIN);
}

/* Owns the descriptor. No process has the queue or its name any more. */
static void finish_queue(int q)
{
	struct kwq_stat before, stat;
	struct left left = { .q = q_reopen(q) };
	bool shut_down, follows;
	__u64 number = 0;

	/* O1: items come back with their last handle, including the parent's. */
	REQUIRE(left.q >= 0 && !close(q));
	REQUIRE(!q_stat(left.q, &before));
	REQUIRE(before.handles == 1 && !before.processing);
	/* The calls of a follower do not wait for it. Nothing waits for the former ones. */
	REQUIRE(!before.followers && !before.unread);
	follows = before.create_flags & KWQ_CREATE_CHANGES;
	REQUIRE(!follows || !q_follow(left.q, &number));
	REQUIRE(!q_resume(left.q));
	REQUIRE(!q_term(left.q, KWQ_NO_DEADLINE));
	left.manual = before.clockid == KWQ_CLOCK_ID_MANUAL;
	left.has_outbox = before.create_flags & KWQ_CREATE_OUTBOX;
	shut_down = before.state & KWQ_STATE_SHUT_DOWN;
	REQUIRE(!shut_down || (!before.waiting && !before.dead && !before.remembered));

	kick_all(&left, before.dead, shut_down);
	if (left.manual) {
		go_to_the_end(left.q, &before);
		REQUIRE(!q_stat(left.q, &stat));
		REQUIRE(!stat.dead && stat.ready + stat.waiting + stat.remembered >= stat.items);
	}
	if (before.lease) {
		empty_with_leases(left.q);
	} else {
		/* A queue that is shut down gets no new items: this handle holds all of
		 * them.
		 */
		REQUIRE(fetch_all(&left) == (shut_down ? -ESHUTDOWN : -EAGAIN));
		REQUIRE(!left.manual || left.nr == stat.ready);
		finish_all(&left);
	}

	REQUIRE(!q_shut_down(left.q));
	fetch_all(&left);
	finish_all(&left);
	REQUIRE(!q_drain(left.q, KWQ_NO_DEADLINE));
	REQUIRE(fetch_all(&left) == -ESHUTDOWN);
	REQUIRE(q_add(left.q, "late") == -ESHUTDOWN);

	/* Q10 */
	if (follows)
		read_changes(left.q, number);
	REQUIRE(!q_stat(left.q, &stat));
	require_progress(&before, &stat);
	REQUIRE(!stat.ready && !stat.waiting && !stat.processing && !stat.dead &&
		!stat.remembered && !stat.items && !stat.bytes);
	REQUIRE(stat.gets == stat.dones + stat.abandoned + stat.returned);
	free(left.keys);
	close(left.q);
}

/* Returns their number. O5: root opens queues of any mode. */
static int finish_named_queues(int dev)
{
	struct kwq_list_entry entries[4];
	struct kwq_list_args list = {
		.size = sizeof(list),
		.entries = user_ptr(entries),
		.nr = ARRAY_SIZE(entries),
		.entry_size = sizeof(entries[0]),
	};
	int ret, nr = 0;

	while ((ret = request(dev, KWQ_IOC_LIST, &list)) > 0) {
		for (int i = 0; i < ret; i++) {
			const char *name = (const char *)entries[i].name;
			int q;

			REQUIRE(name_is_clean(entries[i].name) && !entries[i].pad);
			REQUIRE(strcmp(name, (const char *)list.after) > 0);
			set_name(list.after, name);
			q = q_open(dev, name, O_CLOEXEC);
			REQUIRE(q >= 0);
			REQUIRE(!q_unlink(dev, name));
			finish_queue(q);
			nr++;
		}
	}
	REQUIRE(!ret);
	return nr;
}

/* Rounds */

struct round {
	struct world *world;
	__u64 random;
	pid_t pids[PROCESSES];
	struct kwq_stat stats[QUEUES];
	int stopped;		/* the process that is, or -1 */
};

static void start(struct round *r, int i)
{
	__u64 seed = next_random(&r->random);

	r->pids[i] = fork();
	REQUIRE(r->pids[i] >= 0);
	if (!r->pids[i])
		live(r->world, i, seed);
}

/* Processes end only by the parent's kill; orphans are their children. */
static void look_for_the_dead(const struct round *r)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (int i = 0; i < PROCESSES; i++)
			if (pid == r->pids[i]) {
				fprintf(stderr, "# process %d ended by itself: %#x\n", i, status);
				exit(1);
			}
}

static void kill_one(struct round *r, int i)
{
	int status;

	REQUIRE(!kill(r->pids[i], SIGKILL));
	REQUIRE(waitpid(r->pids[i], &status, 0) == r->pids[i]);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
		fprintf(stderr, "# process %d ended by itself: %#x\n", i, status);
		exit(1);
	}
	r->pids[i] = 0;
	atomic_store(&r->world->expecting[i], 0);
	atomic_fetch_add(&r->world->faults, 1);
}

static void go_on(struct round *r)
{
	if (r->stopped >= 0 && r->pids[r->stopped])
		REQUIRE(!kill(r->pids[r->stopped], SIGCONT));
	r->stopped = -1;
}

/* A thread would not tell that an add does not come back if its process were killed before. */
static bool is_expecting(const struct round *r, int i)
{
	return atomic_load(&r->world->expecting[i]);
}

static void let_them_come_back(struct round *r)
{
	go_on(r);
	for (int i = 0; i < PROCESSES; i++) {
		while (is_expecting(r, i)) {
			look_for_the_dead(r);
			usleep(1000);
		}
	}
}

/* After each step, disturbs one process. */
static void disturb(struct round *r)
{
	__u32 random = next_random(&r->random);
	int i = random % PROCESSES;

	go_on(r);
	if (is_expecting(r, i))
		return;
	switch (random / PROCESSES % 8) {
	case 0:
	case 1:
		kill_one(r, i);
		start(r, i);
		break;
	case 2:
		r->stopped = i;
		REQUIRE(!kill(r->pids[i], SIGSTOP));
		break;
	case 3:
		/* For any thread of the process. */
		kill(r->pids[i], SIGALRM);
		break;
	default:
		break;
	}
}

static void watch(struct round *r)
{
	struct kwq_stat stat;

	for (int i = 0; i < QUEUES; i++) {
		REQUIRE(!q_stat(r->world->queues[i], &stat));
		require_progress(&r->stats[i], &stat);
		r->stats[i] = stat;
	}
}

static bool poll_for(int fd, int ms)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	return poll(&pollfd, 1, ms) == 1;
}

/* Returns the number of named queues. */
static int run_round(struct world *w, __u64 seed)
{
	struct round r = { .world = w, .random = seed, .stopped = -1 };
	int status;
	char byte;

	limit_memory(&r.random);
	REQUIRE(!socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, w->mail));
	REQUIRE(!pipe2(w->steps, O_CLOEXEC));
	for (int i = 0; i < QUEUES; i++) {
		w->queues[i] = make_queue(w->dev, i, !(next_random(&r.random) % 4));
		REQUIRE(w->queues[i] >= 0);
	}
	for (int i = 0; i < PROCESSES; i++)
		start(&r, i);
	for (int step = 0; step < STEPS; step++) {
		/* With KWQ_CREATE_SYNC all threads may wait for a follower. */
		if (poll_for(w->steps[0], PATIENCE))
			REQUIRE(read(w->steps[0], &byte, 1) == 1);
		look_for_the_dead(&r);
		watch(&r);
		disturb(&r);
	}
	let_them_come_back(&r);
	for (int i = 0; i < PROCESSES; i++)
		kill_one(&r, i);
	/* Children of these processes; none of them lives long. */
	while (waitpid(-1, &status, 0) > 0)
		;
	REQUIRE(errno == ECHILD);
	for (int i = 0; i < 2; i++) {
		close(w->mail[i]);
		close(w->steps[i]);
	}
	for (int i = 0; i < QUEUES; i++)
		finish_queue(w->queues[i]);
	return finish_named_queues(w->dev);
}

/* Lets every allocation fail, and keeps failures out of the log. */
static void prepare_failures(void)
{
	write_text(DEBUGFS "failslab/ignore-gfp-wait", "N");
	write_text(DEBUGFS "failslab/verbose", "0");
	write_text(DEBUGFS "fail_page_alloc/ignore-gfp-wait", "N");
	write_text(DEBUGFS "fail_page_alloc/ignore-gfp-highmem", "N");
	write_text(DEBUGFS "fail_page_alloc/min-order", "0");
	write_text(DEBUGFS "fail_page_alloc/verbose", "0");
	write_text(DEBUGFS "fail_usercopy/verbose", "0");
}

/* Some requests are granted so seldom that four rounds may not see it. BPF needs a BPF kernel. */
static bool all_were_granted(const struct world *w)
{
	for (enum kind kind = 0; kind < KINDS; kind++)
		if (!w->succeeded[kind] && kind != UNKNOWN && kind != BPF)
			return false;
	return true;
}

static bool goes_on(const struct world *w, int round, __u64 end)
{
	return round < ROUNDS || now_ns() < end || (round < MOST_ROUNDS && !all_were_granted(w));
}

int main(void)
{
	__u64 seed = number_from("KWQ_SEED", 1), random = seed;
	__u64 end = now_ns() + soak_seconds() * SEC;
	struct world *w = shared(sizeof(*w));
	struct memory memory;
	int named = 0;
	bool all;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n1..2\n# KWQ_SEED=%llu\n", seed);
	REQUIRE(!prctl(PR_SET_CHILD_SUBREAPER, 1));
	w->dev = open_device();
	REQUIRE(w->dev >= 0);
	prepare_failures();
	/*
	 * Maps the clock before there are threads: a page that is mapped while the arguments of a
	 * call are torn may get the place of one that comes back.
	 */
	limit_clock();
	note_memory(w->dev, &memory);
	/* A new process may get this signal before it is ready. */
	signal(SIGALRM, SIG_IGN);

	for (int round = 0; goes_on(w, round, end); round++) {
		named += run_round(w, next_random(&random));
		require_memory(w->dev, &memory);
	}

	printf("ok 1 - whatever was asked for, no key twice, and nothing left at the end\n");
	for (enum kind kind = 0; kind < KINDS; kind++)
		printf("# %s: %llu, refused %llu\n", kinds[kind].name, w->succeeded[kind],
		       w->refused[kind]);
	all = all_were_granted(w);
	printf("# plans: %llu, adds that waited for a shut down: %llu\n", w->plans, w->waits);
	printf("# named queues at the end of a round: %d\n", named);
	printf("%s 2 - every request was granted now and then\n", all ? "ok" : "not ok");
	tell_soak(w->operations, w->faults);
	return !all;
}
