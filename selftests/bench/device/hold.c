// SPDX-License-Identifier: GPL-2.0-only
/*
 * The longest time for which requests keep interrupts off, in the worst configurations that
 * a program can make. kwq_watch.ko measures it. No hold of a queue's lock is longer. Where many
 * wait, an eventfd for which as many wait is measured as well.
 *
 * A row is the greatest time that was seen while its requests were made. The machine's tick
 * adds to it where the two meet: hold.floor is the time without any request.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define WATCH_MODULE	"/bench/kwq_watch.ko"
#define WATCH		"/sys/kernel/debug/kwq_watch"

/* A request takes two holds of the lock, and the keys of each fill the kernel's buffer. */
#define BATCH		64
#define KEY_LEN		256
#define ROUNDS		32

/* A new key that is longer has a hold of its own. */
#define NEW_KEY_LEN	40

#define HOUR_NS		3600000000000

/* The number of threads that each wait for an item, or for the end. */
#define NR_READY	8
#define NR_FEW		128
#define NR_MANY		1000
#define NR_VERY_MANY	20000

static int watch;
static struct kwq *queue;

static void load_watch(void)
{
	int fd = must_call(open(WATCH_MODULE, O_RDONLY | O_CLOEXEC), "open of " WATCH_MODULE);

	must_call(syscall(SYS_finit_module, fd, "", 0), "loading " WATCH_MODULE);
	close(fd);
	watch = must_call(open(WATCH, O_RDWR | O_CLOEXEC), "open of " WATCH);
}

static void unload_watch(void)
{
	close(watch);
	must_call(syscall(SYS_delete_module, "kwq_watch", 0), "unloading kwq_watch");
}

static void begin(void)
{
	must_call(pwrite(watch, "1", 1, 0), "write to " WATCH);
}

static void end(const char *name)
{
	char text[32] = "";

	must_call(pread(watch, text, sizeof(text) - 1, 0), "read of " WATCH);
	/* The machine's clock counts instructions. */
	report(name, atoll(text), "insn");
}

static void create(clockid_t clockid, uint64_t max_items, uint64_t lease,
		   const struct kwq_config *config)
{
	const struct kwq_create_options options = {
		.size = sizeof(options),
		.open_flags = O_CLOEXEC,
		.clockid = clockid,
		.max_items = max_items,
		.lease = lease,
		.config = config,
	};

	must(kwq_create(&queue, NULL, &options), "kwq_create");
}

/* The keys differ in their last bytes, which are compared last. */
static char batch_keys[BATCH * KEY_LEN + 1];
static struct kwq_add_entry adds[BATCH];
static struct kwq_got gots[BATCH];
static struct kwq_done_entry dones[BATCH];
static struct kwq_remove_entry removes[BATCH];
static __s32 results[BATCH];
static int nr_keys;

static void name_key(int i, int len, int nr)
{
	char *key = batch_keys + i * len;

	memset(key, 'k', len);
	snprintf(key + len - 8, 9, "%08d", nr);
}

static void name_new_keys(int len)
{
	/* The last key first: the NUL of each is where the next one begins. */
	for (int i = BATCH; i--;)
		name_key(i, len, nr_keys + i);
	nr_keys += BATCH;
}

static void all_taken(int taken, const char *what)
{
	if (must(taken, what) != BATCH)
		fail("a batch was not taken as a whole", 0);
	for (int i = 0; i < BATCH; i++)
		must(results[i], what);
}

/* Carries out @adds, whose keys are all of one length. */
static int carry_out_adds(int len)
{
	const struct kwq_batch batch = {
		.entries = kwq_ptr(adds),
		.keys = kwq_ptr(batch_keys),
		.results = kwq_ptr(results),
		.keys_len = BATCH * len,
		.nr = BATCH,
		.entry_size = sizeof(*adds),
	};

	return kwq_add_batch(queue, &batch);
}

static void add_keys(int len, __u32 flags, __u64 time)
{
	for (int i = 0; i < BATCH; i++)
		adds[i] = (struct kwq_add_entry){ .key_len = len, .flags = flags, .time = time };
	all_taken(carry_out_adds(len), "kwq_add_batch");
}

static void get_keys(void)
{
	struct kwq_get_args get = {
		.size = sizeof(get),
		.deadline = KWQ_NO_DEADLINE,
		.get = {
			.entries = kwq_ptr(gots),
			.keys = kwq_ptr(batch_keys),
			.keys_len = BATCH * KEY_LEN,
			.nr = BATCH,
			.entry_size = sizeof(*gots),
		},
	};

	if (must(kwq_get_batch(queue, &get), "kwq_get_batch") != BATCH)
		fail("not as many were handed out as were added", 0);
}

static void finish(void)
{
	const struct kwq_batch batch = {
		.entries = kwq_ptr(dones),
		.results = kwq_ptr(results),
		.nr = BATCH,
		.entry_size = sizeof(*dones),
	};

	for (int i = 0; i < BATCH; i++)
		dones[i] = (struct kwq_done_entry){ .ticket = gots[i].ticket };
	all_taken(kwq_done_batch(queue, &batch), "kwq_done_batch");
}

static void remove_keys(void)
{
	const struct kwq_batch batch = {
		.entries = kwq_ptr(removes),
		.keys = kwq_ptr(batch_keys),
		.results = kwq_ptr(results),
		.keys_len = BATCH * KEY_LEN,
		.nr = BATCH,
		.entry_size = sizeof(*removes),
	};

	for (int i = 0; i < BATCH; i++)
		removes[i] = (struct kwq_remove_entry){ .key_len = KEY_LEN };
	all_taken(kwq_remove_batch(queue, &batch), "kwq_remove_batch");
}

/* 20 ms have five ticks. */
static void hold_nothing(void)
{
	uint64_t until = now_ns() + 20000000;

	begin();
	while (now_ns() < until)
		;
	end("hold.floor");
}

static void configure_capped(const struct kwq_limiter *limiter, const struct kwq_limiter *last,
			     uint64_t max_wait)
{
	struct kwq_limiter limiters[KWQ_LIMITERS_MAX];
	struct kwq_config config = {
		.size = sizeof(config),
		.nr = KWQ_LIMITERS_MAX,
		.limiters = kwq_ptr(limiters),
		.limiter_size = sizeof(*limiters),
		.max_wait = max_wait,
	};

	for (int i = 0; i < KWQ_LIMITERS_MAX; i++)
		limiters[i] = i < KWQ_LIMITERS_MAX - 1 ? *limiter : *last;
	must(kwq_configure(queue, &config), "kwq_configure");
}

static void configure(const struct kwq_limiter *limiter)
{
	configure_capped(limiter, limiter, 0);
}

/* The pause is an hour and grows a little with each step; chance adds up to as much. */
static const struct kwq_limiter backoff = {
	.kind = KWQ_LIMITER_BACKOFF,
	.u.backoff = {
		.duration = HOUR_NS,
		.factor = KWQ_ONE + 1,
		.jitter = KWQ_ONE,
		.steps = KWQ_LIMITER_STEPS_MAX,
	},
};

/* Each of its divisions has a remainder. */
static const struct kwq_limiter bucket = {
	.kind = KWQ_LIMITER_BUCKET,
	.u.bucket = {
		.period = 86399999999999,
		.events = 999983,
		.burst = 999979,
	},
};

#define RETRY		(KWQ_ADD_RATE_LIMITED | KWQ_ADD_REPLACE)

/* Then each item has more requeues than a limiter has steps. */
static void requeue_to_the_last_step(void)
{
	name_new_keys(KEY_LEN);
	for (int i = 0; i <= KWQ_LIMITER_STEPS_MAX; i++)
		add_keys(KEY_LEN, RETRY, 0);
}

static void hold_limiters(const char *name, const struct kwq_limiter *limiter,
			  const struct kwq_limiter *last, uint64_t max_wait)
{
	create(CLOCK_MONOTONIC, 0, 0, NULL);
	configure_capped(limiter, last, max_wait);
	requeue_to_the_last_step();
	begin();
	for (int i = 0; i < ROUNDS; i++)
		add_keys(KEY_LEN, RETRY, 0);
	end(name);
	kwq_close(queue);
}

static void hold_configure(void)
{
	create(CLOCK_MONOTONIC, 0, 0, NULL);
	begin();
	for (int i = 0; i < ROUNDS; i++) {
		configure(i & 1 ? &bucket : &backoff);
		configure(i & 1 ? &bucket : &backoff);
	}
	end("hold.configure");
	kwq_close(queue);
}

/* An item that is rate-limited without a delay: its requeues are remembered after the done. */
static const struct kwq_limiter no_delay = { .kind = KWQ_LIMITER_FAST_SLOW };

static void remember_keys(int len)
{
	name_new_keys(len);
	add_keys(len, KWQ_ADD_RATE_LIMITED, 0);
	get_keys();
	finish();
}

static void hold_adds(void)
{
	create(CLOCK_MONOTONIC, 0, 0, NULL);
	begin();
	for (int i = 0; i < ROUNDS; i++) {
		name_new_keys(NEW_KEY_LEN);
		add_keys(NEW_KEY_LEN, 0, 0);
	}
	end("hold.batch.add");
	kwq_close(queue);
}

/* The items have leases. Each done makes one item remembered and lets two others go. */
static void hold_gets_and_dones(void)
{
	const struct kwq_limiter limiters[] = { no_delay };
	struct kwq_config config = {
		.size = sizeof(config),
		.nr = ARRAY_SIZE(limiters),
		.limiters = kwq_ptr(limiters),
		.limiter_size = sizeof(*limiters),
	};
	static struct kwq_got all[ROUNDS][BATCH];

	create(CLOCK_MONOTONIC, 0, HOUR_NS, &config);
	for (int i = 0; i < 2 * ROUNDS; i++)
		remember_keys(KEY_LEN);
	for (int i = 0; i < ROUNDS; i++) {
		name_new_keys(KEY_LEN);
		add_keys(KEY_LEN, KWQ_ADD_RATE_LIMITED, 0);
	}
	begin();
	for (int i = 0; i < ROUNDS; i++) {
		get_keys();
		memcpy(all[i], gots, sizeof(gots));
	}
	end("hold.batch.get");
	config.forget_after = 1;
	must(kwq_configure(queue, &config), "kwq_configure");
	begin();
	for (int i = 0; i < ROUNDS; i++) {
		memcpy(gots, all[i], sizeof(gots));
		finish();
	}
	end("hold.batch.done");
	kwq_close(queue);
}

/* All wait for nearly the same time. Each remove looks for the next earliest. */
static void hold_removes(void)
{
	create(CLOCK_MONOTONIC, 0, 0, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		name_new_keys(KEY_LEN);
		add_keys(KEY_LEN, KWQ_ADD_AT, now_ns() + HOUR_NS);
	}
	nr_keys -= ROUNDS * BATCH;
	begin();
	for (int i = 0; i < ROUNDS; i++) {
		name_new_keys(KEY_LEN);
		remove_keys();
	}
	end("hold.batch.remove");
	kwq_close(queue);
}

/* Lists the queue from its beginning to its end, in pages of @nr entries. */
static void list_items(__u32 states, __u32 nr)
{
	static struct kwq_listed entries[BATCH];
	struct kwq_list_items_args list = {
		.size = sizeof(list),
		.states = states,
		.batch = {
			.entries = kwq_ptr(entries),
			.keys = kwq_ptr(batch_keys),
			.keys_len = BATCH * KEY_LEN,
			.nr = nr,
			.entry_size = sizeof(*entries),
		},
	};

	do {
		must(kwq_list_items(queue, &list), "kwq_list_items");
	} while (list.after);
}

/* Waiting items with leases and losses; pages that are full, and pages without an item. */
static void hold_lists(void)
{
	struct kwq_stat st = { .size = sizeof(st) };

	create(CLOCK_MONOTONIC, 0, HOUR_NS, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		name_new_keys(KEY_LEN);
		add_keys(KEY_LEN, 0, 0);
		get_keys();
		add_keys(KEY_LEN, KWQ_ADD_AT, now_ns() + HOUR_NS);
	}
	begin();
	list_items(KWQ_IS_PROCESSING, BATCH);
	list_items(KWQ_IS_DEAD, BATCH);
	list_items(KWQ_IS_WAITING, 1);
	end("hold.list");
	begin();
	must(kwq_stat(queue, &st), "kwq_stat");
	end("hold.stat");
	kwq_close(queue);
}

/* A shut down drops waiting, dead and remembered items. */
static void hold_shut_down(void)
{
	const struct kwq_limiter limiters[] = { no_delay };
	struct kwq_config config = {
		.size = sizeof(config),
		.nr = ARRAY_SIZE(limiters),
		.limiters = kwq_ptr(limiters),
		.limiter_size = sizeof(*limiters),
	};
	struct kwq_stat st = { .size = sizeof(st) };

	create(CLOCK_MONOTONIC, 0, 0, &config);
	for (int i = 0; i < ROUNDS; i++) {
		remember_keys(KEY_LEN);
		name_new_keys(KEY_LEN);
		add_keys(KEY_LEN, KWQ_ADD_AT, now_ns() + HOUR_NS + i);
	}
	for (int i = 0; i < ROUNDS; i++)
		remember_keys(KEY_LEN);
	config.dead_after = 1;
	must(kwq_configure(queue, &config), "kwq_configure");
	nr_keys -= ROUNDS * BATCH;
	for (int i = 0; i < ROUNDS; i++) {
		name_new_keys(KEY_LEN);
		add_keys(KEY_LEN, KWQ_ADD_RATE_LIMITED, 0);
	}
	must(kwq_stat(queue, &st), "kwq_stat");
	if (st.waiting != ROUNDS * BATCH || st.dead != st.waiting || st.remembered != st.waiting)
		fail("there is not what was to be dropped", 0);
	begin();
	must(kwq_shut_down(queue), "kwq_shut_down");
	end("hold.shut_down");
	kwq_close(queue);
}

/* ---- Wake-ups ---- */

static pthread_t threads[NR_MANY];
static int nr_threads, nr_entered, nr_back;
static struct kwq *waited_for;
static sem_t leave;

static void *wait_for_item(void *unused)
{
	struct kwq_item item;
	char key[KEY_LEN];

	(void)unused;
	__atomic_add_fetch(&nr_entered, 1, __ATOMIC_SEQ_CST);
	kwq_get(waited_for, &item, key, sizeof(key), KWQ_NO_DEADLINE);
	__atomic_add_fetch(&nr_back, 1, __ATOMIC_SEQ_CST);
	/* The end of a thread is not to be in the figure. */
	while (sem_wait(&leave))
		;
	return NULL;
}

/*
 * Each thread gets its own element of @fds, if there are any. Nothing else wants the
 * processor, so all threads wait when this one goes on.
 */
static void begin_waiting_in(void *(*wait)(void *), int *fds, int nr)
{
	pthread_attr_t attr;

	nr_threads = nr;
	nr_entered = 0;
	nr_back = 0;
	sem_init(&leave, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 32768);
	for (int i = 0; i < nr; i++)
		if (pthread_create(&threads[i], &attr, wait, fds ? &fds[i] : NULL))
			fail("pthread_create", 0);
	pthread_attr_destroy(&attr);
	while (__atomic_load_n(&nr_entered, __ATOMIC_SEQ_CST) < nr)
		usleep(1000);
	usleep(10000);
}

static void begin_waiting(struct kwq *q, int nr)
{
	waited_for = q;
	begin_waiting_in(wait_for_item, NULL, nr);
}

static void all_back(int nr)
{
	while (__atomic_load_n(&nr_back, __ATOMIC_SEQ_CST) < nr)
		usleep(100);
}

static void end_waiting(void)
{
	for (int i = 0; i < nr_threads; i++)
		sem_post(&leave);
	for (int i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
}

/* A batch wakes as many as it makes ready. */
static void wake_getters(void)
{
	create(CLOCK_MONOTONIC, 0, 0, NULL);
	configure(&no_delay);
	/* Known keys need no memory, so no hold ends early. */
	for (int i = 0; i < NR_FEW; i += BATCH)
		remember_keys(KEY_LEN);
	begin_waiting(queue, NR_FEW);
	nr_keys -= NR_FEW;
	begin();
	for (int i = 0; i < NR_FEW; i += BATCH) {
		name_new_keys(KEY_LEN);
		add_keys(KEY_LEN, 0, 0);
	}
	all_back(NR_FEW);
	end("hold.wakeups.getters");
	end_waiting();
	kwq_close(queue);
}

/* What pollers wait for: the queue, or an eventfd if @is_peer. */
static int event_source(bool is_peer)
{
	if (is_peer)
		return must_call(eventfd(0, EFD_CLOEXEC), "eventfd");
	create(CLOCK_MONOTONIC, 0, 0, NULL);
	return kwq_fd(queue);
}

static void make_event(int source, bool is_peer)
{
	const uint64_t one = 1;

	if (is_peer)
		must_call(write(source, &one, sizeof(one)), "write to an eventfd");
	else
		must(kwq_add(queue, "key", 3), "kwq_add");
}

static void close_source(int source, bool is_peer)
{
	if (is_peer)
		close(source);
	else
		kwq_close(queue);
}

/*
 * One item is told to every epoll(7) in which the queue is. With EPOLLEXCLUSIVE it is told to all
 * of them as well, since nobody sleeps in any.
 */
static void tell_pollers(const char *name, bool is_peer, int nr, uint32_t events)
{
	struct epoll_event event = { .events = events };
	int source = event_source(is_peer);
	static int fds[NR_VERY_MANY];

	for (int i = 0; i < nr; i++) {
		fds[i] = must_call(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
		must_call(epoll_ctl(fds[i], EPOLL_CTL_ADD, source, &event), "epoll_ctl");
	}
	begin();
	make_event(source, is_peer);
	end(name);
	if (epoll_wait(fds[0], &event, 1, 0) != 1 || epoll_wait(fds[nr - 1], &event, 1, 0) != 1)
		fail("an epoll was not told", 0);
	for (int i = 0; i < nr; i++)
		close(fds[i]);
	close_source(source, is_peer);
}

static int epolls[NR_MANY];

static void *wait_in_epoll(void *epoll)
{
	struct epoll_event event;

	__atomic_add_fetch(&nr_entered, 1, __ATOMIC_SEQ_CST);
	epoll_wait(*(int *)epoll, &event, 1, -1);
	__atomic_add_fetch(&nr_back, 1, __ATOMIC_SEQ_CST);
	while (sem_wait(&leave))
		;
	return NULL;
}

/* The first threads each wait in an epoll, the others for an item. */
static void *wait_for_item_or_in_epoll(void *epoll)
{
	return (int *)epoll < epolls + NR_READY ? wait_in_epoll(epoll) : wait_for_item(NULL);
}

/* A task sleeps in each epoll. */
static void wake_pollers(const char *name, bool is_peer)
{
	struct epoll_event event = { .events = EPOLLIN };
	int source = event_source(is_peer);

	for (int i = 0; i < NR_MANY; i++) {
		epolls[i] = must_call(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
		must_call(epoll_ctl(epolls[i], EPOLL_CTL_ADD, source, &event), "epoll_ctl");
	}
	begin_waiting_in(wait_in_epoll, epolls, NR_MANY);
	begin();
	make_event(source, is_peer);
	all_back(NR_MANY);
	end(name);
	end_waiting();
	for (int i = 0; i < NR_MANY; i++)
		close(epolls[i]);
	close_source(source, is_peer);
}

/* The first adds of a batch each wake a getter and an epoll in which a task sleeps. */
static void hold_limiters_and_wake(void)
{
	struct epoll_event event = { .events = EPOLLIN };

	create(CLOCK_MONOTONIC, 0, 0, NULL);
	configure(&backoff);
	requeue_to_the_last_step();
	for (int i = 0; i < NR_READY; i++) {
		epolls[i] = must_call(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
		must_call(epoll_ctl(epolls[i], EPOLL_CTL_ADD, kwq_fd(queue), &event), "epoll_ctl");
	}
	waited_for = queue;
	begin_waiting_in(wait_for_item_or_in_epoll, epolls, 2 * NR_READY);
	for (int i = 0; i < BATCH; i++)
		adds[i] = (struct kwq_add_entry){
			.key_len = KEY_LEN,
			.flags = i < NR_READY ? 0 : RETRY,
		};
	begin();
	all_taken(carry_out_adds(KEY_LEN), "kwq_add_batch");
	end("hold.limiters.wakeups");
	must(kwq_shut_down(queue), "kwq_shut_down");
	all_back(2 * NR_READY);
	end_waiting();
	for (int i = 0; i < NR_READY; i++)
		close(epolls[i]);
	kwq_close(queue);
}

static void wake_at_shut_down(void)
{
	create(CLOCK_MONOTONIC, 0, 0, NULL);
	begin_waiting(queue, NR_MANY);
	begin();
	must(kwq_shut_down(queue), "kwq_shut_down");
	all_back(NR_MANY);
	end("hold.wakeups.shut_down");
	end_waiting();
	kwq_close(queue);
}

/*
 * After a shut down a getter waits as long as its handle holds nothing and another handle
 * holds something. The first hand-out to its handle sends all its getters away.
 */
static void wake_after_shut_down(void)
{
	struct kwq *other;
	struct kwq_item item;
	char key[8];

	create(CLOCK_MONOTONIC, 0, 0, NULL);
	must(kwq_reopen(&other, queue, KWQ_RIGHT_READ | KWQ_RIGHT_WRITE, O_CLOEXEC), "kwq_reopen");
	must(kwq_add(queue, "key", 3), "kwq_add");
	must(kwq_get(queue, &item, key, sizeof(key), KWQ_NO_DEADLINE), "kwq_get");
	must(kwq_add(queue, "key", 3), "kwq_add");
	must(kwq_shut_down(queue), "kwq_shut_down");
	begin_waiting(other, NR_MANY);
	begin();
	must(kwq_done(queue, item.ticket), "kwq_done");
	all_back(NR_MANY);
	end("hold.wakeups.last");
	end_waiting();
	kwq_close(other);
	kwq_close(queue);
}

/* A manual clock that moves on wakes all getters, for their deadlines may have come. */
static void wake_at_advance(void)
{
	create(KWQ_CLOCK_ID_MANUAL, 0, 0, NULL);
	begin_waiting(queue, NR_MANY);
	begin();
	must(kwq_advance(queue, 1), "kwq_advance");
	end("hold.wakeups.advance");
	must(kwq_shut_down(queue), "kwq_shut_down");
	all_back(NR_MANY);
	end_waiting();
	kwq_close(queue);
}

/* Many items are due at one time, and a getter waits for each of the first ones. */
static void hold_expiry(void)
{
	uint64_t when;

	create(CLOCK_MONOTONIC, 0, 0, NULL);
	begin_waiting(queue, NR_FEW);
	when = now_ns() + 100000000;
	for (int i = 0; i < ROUNDS; i++) {
		name_new_keys(KEY_LEN);
		add_keys(KEY_LEN, KWQ_ADD_AT, when);
	}
	if (now_ns() >= when)
		fail("the time had come already", 0);
	begin();
	while (kwq_len(queue) < ROUNDS * BATCH - NR_FEW)
		usleep(1000);
	all_back(NR_FEW);
	end("hold.expire");
	end_waiting();
	kwq_close(queue);
}

/* Delays and leases end at one time of a manual clock, and a getter waits for each. */
static void hold_advance(void)
{
	struct kwq *other;

	create(KWQ_CLOCK_ID_MANUAL, 0, HOUR_NS, NULL);
	must(kwq_reopen(&other, queue, KWQ_RIGHT_READ | KWQ_RIGHT_WRITE, O_CLOEXEC), "kwq_reopen");
	for (int i = 0; i < ROUNDS; i++) {
		name_new_keys(KEY_LEN);
		add_keys(KEY_LEN, 0, 0);
		get_keys();
		name_new_keys(KEY_LEN);
		add_keys(KEY_LEN, KWQ_ADD_AFTER, HOUR_NS);
	}
	begin_waiting(other, 2 * NR_FEW);
	begin();
	must(kwq_advance(queue, HOUR_NS), "kwq_advance");
	all_back(2 * NR_FEW);
	end("hold.advance");
	end_waiting();
	kwq_close(other);
	kwq_close(queue);
}

/* A closed handle gives its items back, and a getter waits for each of the first ones. */
static void hold_close(void)
{
	struct kwq *other;

	create(CLOCK_MONOTONIC, 0, HOUR_NS, NULL);
	must(kwq_reopen(&other, queue, KWQ_RIGHT_READ | KWQ_RIGHT_WRITE, O_CLOEXEC), "kwq_reopen");
	for (int i = 0; i < ROUNDS; i++) {
		name_new_keys(KEY_LEN);
		add_keys(KEY_LEN, 0, 0);
		get_keys();
	}
	begin_waiting(other, NR_FEW);
	begin();
	kwq_close(queue);
	all_back(NR_FEW);
	end("hold.close");
	end_waiting();
	kwq_close(other);
}

static void write_to(const char *path, const char *text)
{
	int fd = must_call(open(path, O_WRONLY | O_CLOEXEC), path);

	must_call(write(fd, text, strlen(text)), path);
	close(fd);
}

/* Returns how many of a batch of new keys were refused. */
static int add_new_keys(void)
{
	int refused = 0;

	name_new_keys(KEY_LEN);
	for (int i = 0; i < BATCH; i++)
		adds[i] = (struct kwq_add_entry){ .key_len = KEY_LEN };
	must(carry_out_adds(KEY_LEN), "kwq_add_batch");
	for (int i = 0; i < BATCH; i++)
		refused += results[i] == -EDQUOT;
	return refused;
}

static void fill(void)
{
	while (add_new_keys() < BATCH)
		;
}

/* A user goes down as many user namespaces as the kernel allows. */
static void unshare_users(void)
{
	for (int i = 0; i < 31; i++) {
		must_call(unshare(CLONE_NEWUSER), "unshare");
		write_to("/proc/self/setgroups", "deny");
		write_to("/proc/self/uid_map", i ? "0 0 1" : "0 1000 1");
		write_to("/proc/self/gid_map", i ? "0 0 1" : "0 1000 1");
	}
}

/* The user's queue above takes all but what a queue needs for itself. */
static void fill_from_below(void)
{
	must_call(setresgid(1000, 1000, 1000), "setresgid");
	must_call(setresuid(1000, 1000, 1000), "setresuid");
	must_call(prctl(PR_SET_DUMPABLE, 1), "prctl");
	create(CLOCK_MONOTONIC, 0, 0, NULL);
	nr_keys = 0;
	fill();
	for (nr_keys = 0; nr_keys < 16 * BATCH;) {
		name_new_keys(KEY_LEN);
		remove_keys();
	}
	nr_keys = 50000000;
	unshare_users();
	create(CLOCK_MONOTONIC, 0, 0, NULL);
	fill();
}

/* In a process of its own, which does not come back from its namespaces. */
static void hold_quota(void)
{
	pid_t pid;
	int status;

	must_call(chmod("/dev/kwq", 0666), "chmod of /dev/kwq");
	fflush(stdout);
	pid = must_call(fork(), "fork");
	if (!pid) {
		fill_from_below();
		begin();
		for (int i = 0; i < ROUNDS; i++)
			if (add_new_keys() < BATCH)
				fail("an add was not refused", 0);
		end("hold.quota");
		fflush(stdout);
		_exit(0);
	}
	must_call(waitpid(pid, &status, 0), "waitpid");
	if (status)
		fail("the refused user failed", 0);
}

void bench_hold(void)
{
	const struct rlimit files = { NR_VERY_MANY + NR_MANY, NR_VERY_MANY + NR_MANY };

	must_call(setrlimit(RLIMIT_NOFILE, &files), "setrlimit");
	load_watch();
	hold_nothing();
	hold_limiters("hold.limiters.backoffs", &backoff, &backoff, 0);
	hold_limiters("hold.limiters.buckets", &bucket, &bucket, 0);
	hold_limiters("hold.limiters.mixed", &bucket, &backoff, 0);
	hold_limiters("hold.limiters.capped", &backoff, &backoff, 2000000);
	hold_limiters_and_wake();
	hold_configure();
	hold_adds();
	hold_gets_and_dones();
	hold_removes();
	hold_lists();
	hold_shut_down();
	wake_getters();
	tell_pollers("hold.wakeups.pollers.1000", false, NR_MANY, EPOLLIN);
	tell_pollers("hold.eventfd.pollers.1000", true, NR_MANY, EPOLLIN);
	tell_pollers("hold.wakeups.pollers.20000", false, NR_VERY_MANY, EPOLLIN);
	tell_pollers("hold.eventfd.pollers.20000", true, NR_VERY_MANY, EPOLLIN);
	tell_pollers("hold.wakeups.pollers.exclusive", false, NR_VERY_MANY,
		     EPOLLIN | EPOLLEXCLUSIVE);
	tell_pollers("hold.eventfd.pollers.exclusive", true, NR_VERY_MANY,
		     EPOLLIN | EPOLLEXCLUSIVE);
	wake_pollers("hold.wakeups.pollers.tasks", false);
	wake_pollers("hold.eventfd.pollers.tasks", true);
	wake_at_shut_down();
	wake_after_shut_down();
	wake_at_advance();
	hold_expiry();
	hold_advance();
	hold_close();
	/*
	 * Last, for its end frees so much memory that the page allocator frees thousands of
	 * pages at once, with interrupts off, in whichever request comes next.
	 */
	hold_quota();
	unload_watch();
}
