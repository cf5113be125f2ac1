// SPDX-License-Identifier: GPL-2.0-only
/*
 * The time from the kill of a process to its end. It has many descriptors of one handle,
 * and an epoll with all of them. An item is ready, so each close may wake pollers.
 */
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define MOST	2000

/* The epoll has the highest number, so it is closed last. */
static _Noreturn void live(struct kwq *q, int nr, int begun)
{
	int fds[MOST], epoll;
	struct epoll_event event = { .events = EPOLLIN };

	for (int i = 0; i < nr; i++)
		fds[i] = must_call(dup(kwq_fd(q)), "dup");
	epoll = must_call(epoll_create1(0), "epoll_create1");
	for (int i = 0; i < nr; i++)
		must_call(epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &event), "epoll_ctl");
	must_call(write(begun, "", 1) - 1, "write");
	for (;;)
		pause();
}

static void measure_death(const char *name, int nr)
{
	struct kwq *q = new_queue();
	uint64_t killed;
	int begun[2];
	pid_t child;
	char byte;

	must(kwq_add(q, "key", 3), "kwq_add");
	must_call(pipe(begun), "pipe");
	child = must_call(fork(), "fork");
	if (!child)
		live(q, nr, begun[1]);
	must_call(read(begun[0], &byte, 1) - 1, "read");
	killed = now_ns();
	must_call(kill(child, SIGKILL), "kill");
	must_call(waitpid(child, NULL, 0), "waitpid");
	report(name, now_ns() - killed, "ns");
	close(begun[0]);
	close(begun[1]);
	kwq_close(q);
}

/* The time has to grow with the number of descriptors, and not with its square. */
void bench_death(void)
{
	const struct rlimit files = { 2 * MOST, 2 * MOST };

	must_call(setrlimit(RLIMIT_NOFILE, &files), "setrlimit");
	measure_death("death.500", MOST / 4);
	measure_death("death.2000", MOST);
}
