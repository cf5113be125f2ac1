// SPDX-License-Identifier: GPL-2.0-only
/*
 * The lower bound of a request: an ioctl unknown to kwq, on a queue's descriptor, which reaches the
 * place where requests are told apart.
 */
#include <errno.h>
#include <sys/ioctl.h>

#include "bench.h"

static int fd;

static int64_t sample_ioctl(void)
{
	uint64_t begun = bench_clock();
	int refused = 0;
	int64_t took;

	for (int i = 0; i < NR_KEYS; i++)
		refused += ioctl(fd, _IO(KWQ_IOC_MAGIC, 0xff)) < 0;
	took = bench_since(begun);
	if (refused != NR_KEYS || errno != ENOTTY)
		fail("an unknown request is not refused", errno);
	return took;
}

void bench_floor(void)
{
	struct kwq *q = new_queue();

	fd = kwq_fd(q);
	measure("floor.ioctl", NR_KEYS, sample_ioctl);
	kwq_close(q);
}
