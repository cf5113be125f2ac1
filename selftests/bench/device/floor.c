// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lower bounds of a request. One is an ioctl unknown to kwq, on a queue's descriptor,
 * which reaches the place where requests are told apart. Others are commands by
 * io_uring to /dev/null, with the largest batch per system call; /dev/null accepts
 * every command and does nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

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

#define NR_CALLS	16
#define NR_COMMANDS	64

static struct {
	int fd;
	unsigned int registered;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
	unsigned int *sq_tail, *cq_head, *cq_tail;
	unsigned int sq_mask, cq_mask;
} ring;

static int nr_at_once;

static void *map_ring(size_t len, off_t what)
{
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, what);

	if (at == MAP_FAILED)
		fail("mmap of an io_uring", errno);
	return at;
}

/* Uses every flag that makes a ring cheaper for a single-threaded program. */
static void open_ring(void)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
	};
	struct io_uring_rsrc_update itself = { .offset = -1U };
	int null = must_call(open("/dev/null", O_RDWR | O_CLOEXEC), "open of /dev/null");
	unsigned int *array;
	char *at;

	ring.fd = must_call(syscall(SYS_io_uring_setup, NR_COMMANDS, &params), "io_uring_setup");
	/* Registered descriptors need no look-up in the table of files. */
	itself.data = ring.fd;
	must_call(syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_RING_FDS, &itself, 1),
		  "io_uring_register of the ring");
	ring.registered = itself.offset;
	must_call(syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_FILES, &null, 1),
		  "io_uring_register of /dev/null");
	close(null);

	at = map_ring(params.sq_off.array + params.sq_entries * sizeof(*array), IORING_OFF_SQ_RING);
	ring.sq_tail = (unsigned int *)(at + params.sq_off.tail);
	ring.sq_mask = params.sq_entries - 1;
	array = (unsigned int *)(at + params.sq_off.array);
	for (unsigned int i = 0; i < params.sq_entries; i++)
		array[i] = i;
	ring.sqes = map_ring(params.sq_entries * sizeof(*ring.sqes), IORING_OFF_SQES);

	at = map_ring(params.cq_off.cqes + params.cq_entries * sizeof(*ring.cqes),
		      IORING_OFF_CQ_RING);
	ring.cq_head = (unsigned int *)(at + params.cq_off.head);
	ring.cq_tail = (unsigned int *)(at + params.cq_off.tail);
	ring.cq_mask = params.cq_entries - 1;
	ring.cqes = (struct io_uring_cqe *)(at + params.cq_off.cqes);
}

static void submit(unsigned int nr)
{
	unsigned int tail = *ring.sq_tail;

	for (unsigned int i = 0; i < nr; i++)
		ring.sqes[tail++ & ring.sq_mask] = (struct io_uring_sqe){
			.opcode = IORING_OP_URING_CMD,
			.flags = IOSQE_FIXED_FILE,
			.fd = 0,
			.user_data = i,
		};
	__atomic_store_n(ring.sq_tail, tail, __ATOMIC_RELEASE);
	/* No wait is needed: a command that does nothing is complete on submission. */
	must_call(syscall(SYS_io_uring_enter, ring.registered, nr, 0, IORING_ENTER_REGISTERED_RING,
			  NULL, 0), "io_uring_enter");
}

/* The number of commands that completed as expected. */
static int reap(void)
{
	unsigned int head = *ring.cq_head, tail = __atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE);
	int nr = 0;

	for (; head != tail; head++)
		nr += !ring.cqes[head & ring.cq_mask].res;
	__atomic_store_n(ring.cq_head, head, __ATOMIC_RELEASE);
	return nr;
}

static int64_t sample_commands(void)
{
	uint64_t begun = bench_clock();
	int completed = 0;
	int64_t took;

	for (int i = 0; i < NR_CALLS; i++) {
		submit(nr_at_once);
		completed += reap();
	}
	took = bench_since(begun);
	if (completed != NR_CALLS * nr_at_once)
		fail("a command to /dev/null is not completed", 0);
	return took;
}

static void measure_commands(const char *name, int nr)
{
	nr_at_once = nr;
	measure(name, NR_CALLS * nr, sample_commands);
}

void bench_floor(void)
{
	struct kwq *q = new_queue();

	fd = kwq_fd(q);
	measure("floor.ioctl", NR_KEYS, sample_ioctl);
	kwq_close(q);

	open_ring();
	measure_commands("floor.uring_cmd.1", 1);
	measure_commands("floor.uring_cmd.3", 3);
	measure_commands("floor.uring_cmd.64", NR_COMMANDS);
	close(ring.fd);
}
