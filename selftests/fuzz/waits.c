// SPDX-License-Identifier: GPL-2.0-only
/*
 * Q8 Q19: adds that wait for room, in a queue or in its outbox, until one of these is shut down.
 * Signals end the calls of the other threads, so these adds have threads of their own.
 */
#include "fuzz.h"

#define ADDERS		3
#define PATIENCE	20	/* seconds of limit_clock() */
#define LOOKS		10000	/* at least, because the process may be stopped */

struct adder {
	pthread_t thread;
	int q;
	int number;
	int result;
	bool is_back;	/* atomic */
};

/* A queue with few items, and the one whose adds go there. */
struct pair {
	int outbox;
	int given;	/* to the queue, with some rights */
	int queue;	/* the same as @outbox if that shall have the adds itself */
};

static void *add_waiting(void *arg)
{
	struct adder *adder = arg;
	char key[24];

	snprintf(key, sizeof(key), "late-%d", adder->number);
	adder->result = q_add_wait(adder->q, key, KWQ_NO_DEADLINE);
	__atomic_store_n(&adder->is_back, true, __ATOMIC_RELEASE);
	return NULL;
}

static void start(struct adder *adder, int q, int number)
{
	sigset_t alarm;

	*adder = (struct adder){ .q = q, .number = number };
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	REQUIRE(!pthread_sigmask(SIG_BLOCK, &alarm, NULL));
	REQUIRE(!pthread_create(&adder->thread, NULL, add_waiting, adder));
	REQUIRE(!pthread_sigmask(SIG_UNBLOCK, &alarm, NULL));
}

static void close_pair(const struct pair *pair)
{
	close(pair->queue);
	close(pair->given);
	if (pair->outbox != pair->queue)
		close(pair->outbox);
}

/* Fails without a descriptor left, or without memory for one more queue of this user. */
static bool open_pair(struct fuzzer *f, struct pair *pair)
{
	__u32 flags = one_in(f, 2) ? KWQ_CREATE_CHANGES : 0;
	__u32 rights = KWQ_RIGHT_WRITE | any_rights(f);

	*pair = (struct pair){ -1, -1, -1 };
	pair->outbox = new_queue_with(f->world->dev, CLOCK_MONOTONIC, 1 + any(f, 3), NULL);
	if (pair->outbox < 0)
		return false;
	if (one_in(f, 4)) {
		pair->queue = pair->outbox;
		return true;
	}
	pair->given = q_open_with(pair->outbox, NULL, rights, O_CLOEXEC);
	if (pair->given >= 0)
		pair->queue = new_queue_with_outbox(f->world->dev, flags, pair->given);
	return pair->queue >= 0;
}

static bool fill(int q)
{
	char key[24];
	int ret = 0;

	for (int i = 0; ret >= 0; i++) {
		snprintf(key, sizeof(key), "early-%d", i);
		ret = q_add(q, key);
	}
	return ret == -ENOSPC || ret == -EDQUOT;
}

/* Makes room for some of the adders, perhaps. */
static void make_room(struct fuzzer *f, int q)
{
	struct item item;

	if (one_in(f, 2))
		q_remove(q, "early-0");
	else if (q_try_get(q, &item) == 1)
		q_done(q, item.ticket);
}

/* Shuts the queue or its outbox down, both for good. The calls may be interrupted. */
static void shut_down(struct fuzzer *f, const struct pair *pair)
{
	int q = one_in(f, 3) ? pair->outbox : pair->queue;

	if (one_in(f, 2))
		REQUIRE(!q_shut_down(q));
	else
		q_drain(q, 1);
	REQUIRE(q_shutting_down(q) == 1);
}

static bool is_back(const struct adder *adder)
{
	return __atomic_load_n(&adder->is_back, __ATOMIC_ACQUIRE);
}

/* They come back now, whatever happened before. */
static void expect_back(struct fuzzer *f, struct adder *adders, int nr)
{
	_Atomic int *expecting = &f->world->expecting[f->process->number];
	double end = limit_clock() + PATIENCE;

	atomic_fetch_add(expecting, 1);
	for (int i = 0; i < nr; i++) {
		for (int looks = 0; !is_back(&adders[i]); looks++) {
			if (looks > LOOKS && limit_clock() > end)
				wrong(f, "an add waits %d s after the shut down", PATIENCE);
			usleep(1000);
		}
		REQUIRE(!pthread_join(adders[i].thread, NULL));
		f->call.ret = adders[i].result;
		/* The adds that wait may have too much memory themselves. */
		if (f->call.ret != KWQ_ADDED && f->call.ret != -ESHUTDOWN && f->call.ret != -EDQUOT)
			wrong(f, "an add that waited ends otherwise");
	}
	atomic_fetch_sub(expecting, 1);
	atomic_fetch_add(&f->world->waits, nr);
}

void wait_for_a_shut_down(struct fuzzer *f)
{
	struct adder adders[ADDERS];
	int nr = 1 + any(f, ADDERS);
	struct pair pair;

	f->call = (struct call){ .kind = ADD };
	if (open_pair(f, &pair) && fill(pair.outbox)) {
		for (int i = 0; i < nr; i++)
			start(&adders[i], pair.queue, i);
		usleep(any(f, 3000));
		if (one_in(f, 3))
			make_room(f, pair.outbox);
		shut_down(f, &pair);
		expect_back(f, adders, nr);
	}
	close_pair(&pair);
}
