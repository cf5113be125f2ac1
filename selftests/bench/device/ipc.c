// SPDX-License-Identifier: GPL-2.0-only
/*
 * Linux's own peers: one message or one event, sent and received.
 */
#include <fcntl.h>
#include <mqueue.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bench.h"

#define MESSAGE_LEN	8

static mqd_t mq;
static int event_fd;

static int64_t sample_mq(void)
{
	char message[MESSAGE_LEN];
	uint64_t begun;

	begun = bench_clock();
	for (int i = 0; i < NR_KEYS; i++) {
		must_call(mq_send(mq, keys[i], MESSAGE_LEN, 0), "mq_send");
		must_call(mq_receive(mq, message, sizeof(message), NULL), "mq_receive");
	}
	return bench_since(begun);
}

static int64_t sample_eventfd(void)
{
	uint64_t begun, value = 1;

	begun = bench_clock();
	for (int i = 0; i < NR_KEYS; i++) {
		must_call(write(event_fd, &value, sizeof(value)), "write to an eventfd");
		must_call(read(event_fd, &value, sizeof(value)), "read of an eventfd");
	}
	return bench_since(begun);
}

void bench_ipc(void)
{
	struct mq_attr attr = { .mq_maxmsg = 10, .mq_msgsize = MESSAGE_LEN };

	mq = must_call(mq_open("/kwq_bench", O_RDWR | O_CREAT | O_EXCL, 0600, &attr), "mq_open");
	must_call(mq_unlink("/kwq_bench"), "mq_unlink");
	measure("peer.mq", NR_KEYS, sample_mq);
	mq_close(mq);

	event_fd = must_call(eventfd(0, EFD_CLOEXEC), "eventfd");
	measure("peer.eventfd", NR_KEYS, sample_eventfd);
	close(event_fd);
}
