// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two producers and two consumers, each a process: in ns, on a machine with two
 * processors. A producer adds its own keys, so nothing coalesces: a message queue
 * cannot coalesce.
 */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define PRODUCERS	2
#define CONSUMERS	2
#define EACH		20000
#define KEY_LEN		8
#define BATCH		64
#define ROUNDS		3

struct way {
	const char *name;
	void (*begin)(void);
	void (*produce)(int producer);
	void (*consume)(void);
	/* All is produced: ends the consumers. */
	void (*stop)(void);
	void (*end)(void);
};

static void make_key(char key[KEY_LEN + 1], int producer, int i)
{
	snprintf(key, KEY_LEN + 1, "%08d", producer * EACH + i);
}

/* Each process has a handle of its own, as workers need that may die independently. */
static struct kwq *queue;

static struct kwq *own_handle(void)
{
	struct kwq *own;

	must(kwq_reopen(&own, queue, KWQ_RIGHT_READ | KWQ_RIGHT_WRITE, O_CLOEXEC), "kwq_reopen");
	return own;
}

static void begin_kwq(void)
{
	queue = new_queue();
}

static void produce_kwq(int producer)
{
	struct kwq *q = own_handle();
	char key[KEY_LEN + 1];

	for (int i = 0; i < EACH; i++) {
		make_key(key, producer, i);
		must(kwq_add(q, key, KEY_LEN), "kwq_add");
	}
}

static void consume_kwq(void)
{
	struct kwq *q = own_handle();
	struct kwq_item item;
	char key[KEY_LEN];
	int ret;

	ret = kwq_get(q, &item, key, sizeof(key), KWQ_NO_DEADLINE);
	while (!ret)
		ret = kwq_next(q, item.ticket, &item, key, sizeof(key), KWQ_NO_DEADLINE);
	if (ret != -ESHUTDOWN)
		fail("kwq_get", -ret);
}

static void produce_batches(int producer)
{
	static struct kwq_add_entry entries[BATCH];
	static char packed[BATCH * KEY_LEN + 1];
	static __s32 results[BATCH];
	struct kwq *q = own_handle();
	struct kwq_batch batch = {
		.entries = kwq_ptr(entries),
		.keys = kwq_ptr(packed),
		.results = kwq_ptr(results),
		.entry_size = sizeof(*entries),
	};

	for (int i = 0; i < EACH; i += batch.nr) {
		batch.nr = EACH - i < BATCH ? EACH - i : BATCH;
		batch.keys_len = batch.nr * KEY_LEN;
		for (__u32 j = 0; j < batch.nr; j++) {
			entries[j].key_len = KEY_LEN;
			make_key(packed + j * KEY_LEN, producer, i + j);
		}
		if (must(kwq_add_batch(q, &batch), "kwq_add_batch") != (int)batch.nr)
			fail("a batch was not taken as a whole", 0);
	}
}

static void consume_batches(void)
{
	static struct kwq_done_entry dones[BATCH];
	static struct kwq_got gots[BATCH];
	static char packed[BATCH * KEY_LEN];
	static __s32 results[BATCH];
	struct kwq *q = own_handle();
	struct kwq_get_args get = {
		.size = sizeof(get),
		.deadline = KWQ_NO_DEADLINE,
		.get = {
			.entries = kwq_ptr(gots),
			.keys = kwq_ptr(packed),
			.keys_len = sizeof(packed),
			.nr = BATCH,
			.entry_size = sizeof(*gots),
		},
	};
	int nr;

	while ((nr = kwq_get_batch(q, &get)) > 0) {
		for (int i = 0; i < nr; i++)
			dones[i].ticket = gots[i].ticket;
		get.done = (struct kwq_batch){
			.entries = kwq_ptr(dones),
			.results = kwq_ptr(results),
			.nr = nr,
			.entry_size = sizeof(*dones),
		};
		get.nr_added = 0;
		get.nr_done = 0;
	}
	if (nr != -ESHUTDOWN)
		fail("kwq_get_batch", -nr);
}

static void stop_kwq(void)
{
	must(kwq_shut_down(queue), "kwq_shut_down");
}

static void end_kwq(void)
{
	end_queue(queue, PRODUCERS * EACH);
}

/* The maximum for root, so that a producer seldom has to wait. */
#define MQ_NAME		"/kwq_two_by_two"
#define MQ_MESSAGES	1024

static mqd_t mq;

static void begin_mq(void)
{
	struct mq_attr attr = { .mq_maxmsg = MQ_MESSAGES, .mq_msgsize = KEY_LEN };

	mq = must_call(mq_open(MQ_NAME, O_RDWR | O_CREAT | O_EXCL, 0600, &attr), "mq_open");
	must_call(mq_unlink(MQ_NAME), "mq_unlink");
}

static void produce_mq(int producer)
{
	char key[KEY_LEN + 1];

	for (int i = 0; i < EACH; i++) {
		make_key(key, producer, i);
		must_call(mq_send(mq, key, KEY_LEN, 0), "mq_send");
	}
}

/* An empty message is the last one. */
static void consume_mq(void)
{
	char message[KEY_LEN];

	while (must_call(mq_receive(mq, message, sizeof(message), NULL), "mq_receive"))
		;
}

static void stop_mq(void)
{
	for (int i = 0; i < CONSUMERS; i++)
		must_call(mq_send(mq, "", 0, 0), "mq_send");
}

static void end_mq(void)
{
	struct mq_attr attr;

	must_call(mq_getattr(mq, &attr), "mq_getattr");
	if (attr.mq_curmsgs)
		fail("messages are left", 0);
	mq_close(mq);
}

static const struct way ways[] = {
	{
		.name = "processors.kwq.two_by_two",
		.begin = begin_kwq,
		.produce = produce_kwq,
		.consume = consume_kwq,
		.stop = stop_kwq,
		.end = end_kwq,
	},
	{
		.name = "processors.kwq.two_by_two.batch64",
		.begin = begin_kwq,
		.produce = produce_batches,
		.consume = consume_batches,
		.stop = stop_kwq,
		.end = end_kwq,
	},
	{
		.name = "processors.mq.two_by_two",
		.begin = begin_mq,
		.produce = produce_mq,
		.consume = consume_mq,
		.stop = stop_mq,
		.end = end_mq,
	},
};

static pid_t start(const struct way *way, int producer)
{
	pid_t pid = must_call(fork(), "fork");

	if (pid)
		return pid;
	if (producer < 0)
		way->consume();
	else
		way->produce(producer);
	_exit(0);
}

static void wait_for(const pid_t *pids, int nr)
{
	for (int i = 0; i < nr; i++) {
		int status;

		must_call(waitpid(pids[i], &status, 0), "waitpid");
		if (status)
			fail("a child failed", 0);
	}
}

static int64_t measure_way(const struct way *way)
{
	pid_t producers[PRODUCERS], consumers[CONSUMERS];
	uint64_t begun;
	int64_t took;

	way->begin();
	begun = now_ns();
	for (int i = 0; i < CONSUMERS; i++)
		consumers[i] = start(way, -1);
	for (int i = 0; i < PRODUCERS; i++)
		producers[i] = start(way, i);
	wait_for(producers, PRODUCERS);
	way->stop();
	wait_for(consumers, CONSUMERS);
	took = now_ns() - begun;
	way->end();
	return took;
}

void bench_two_by_two(void)
{
	int64_t took[ARRAY_SIZE(ways)][ROUNDS];

	/* The ways take turns, so that disturbances of the host affect all of them. */
	for (int round = -1; round < ROUNDS; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
			int64_t one = measure_way(&ways[i]);

			if (round >= 0)
				took[i][round] = one;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		double median = quantile(took[i], ROUNDS, 0.5);

		report(ways[i].name, median / (PRODUCERS * EACH), "ns");
	}
}
