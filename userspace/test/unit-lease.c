// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * O3: kwq run extends the leases of its items, and drops an item whose lease is lost.
 * The test replaces the kernel by wrapping ioctl() and open() (the linker's --wrap),
 * and decides when a lease expires. So the result does not depend on the speed of the
 * machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cmd.h"
#include "fake-kernel.h"
#include "kwq/run/lease.h"
#include "tap.h"
#include "wrap-open.h"

#define MS		1000000ULL
#define HOUR		(3600 * 1000 * MS)

enum {
	/* Descriptors of the command: one reports extensions, one never becomes readable. */
	FD_EXTENDED = 8,
	FD_NEVER = 9,
	TICKET = 42,
};

/* Shared by this process and the fake kernel in the command's process. */
static struct shared {
	__u64 lease;
	atomic_int stale;	/* the lease is over */
	atomic_int faults;	/* this many extensions fail for another reason */
	atomic_int extends;	/* extensions that were requested */
	atomic_int refused;	/* extensions that were refused */
	atomic_int adds, dones;
	atomic_int done_late;	/* not right behind an extension */
	atomic_int items;	/* this many are handed out, */
	atomic_int slow;	/* each after so many ms, */
	atomic_int forgotten;	/* the last of them before one was extended */
	atomic_int key_len;	/* of each */
} *shared;

static int extended[2];		/* a byte for each extension, as long as they fit */
static int got;
static bool extended_last;

static int fails(int err)
{
	errno = err;
	return -1;
}

static int take_extend(const struct kwq_batch_args *req)
{
	const struct kwq_extend_entry *entry = (void *)(uintptr_t)req->batch.entries;
	bool stale = shared->stale || entry->ticket != TICKET;

	if (shared->faults > 0) {
		shared->faults--;
		return fails(ENOMEM);
	}
	extended_last = true;
	*(__s32 *)(uintptr_t)req->batch.results = stale ? -ESTALE : 0;
	shared->refused += stale;
	shared->extends++;
	if (write(extended[1], "\n", 1) < 0 && errno != EAGAIN)
		_exit(99);
	return 1;
}

static void take_done(const struct kwq_batch *batch)
{
	shared->dones++;
	shared->done_late += !extended_last;
	extended_last = false;
	*(__s32 *)(uintptr_t)batch->results = shared->stale ? -ESTALE : KWQ_FINISHED;
}

/* Hands out some items, and then reports a shut down. */
static int take_get(struct kwq_get_args *req)
{
	if (req->add.nr) {
		shared->adds++;
		*(__s32 *)(uintptr_t)req->add.results = KWQ_WAITING;
	}
	if (req->done.nr)
		take_done(&req->done);
	if (!req->get.nr)
		return 0;
	if (got == shared->items)
		return fails(ESHUTDOWN);
	usleep(shared->slow * 1000);
	if (++got == shared->items)
		shared->forgotten = !shared->extends;
	*(struct kwq_got *)(uintptr_t)req->get.entries = (struct kwq_got){
		.ticket = TICKET,
		.key_len = shared->key_len,
	};
	memset((void *)(uintptr_t)req->get.keys, 'k', shared->key_len);
	return 1;
}

static int answer(int fd, unsigned long request, void *arg)
{
	switch (request) {
	case KWQ_IOC_OPEN:
		/* Returns a descriptor that epoll accepts and that is never readable. */
		return dup(FD_NEVER);
	case KWQ_IOC_STAT:
		((struct kwq_stat *)arg)->lease = shared->lease;
		return 0;
	case KWQ_IOC_CONFIG:
		return 0;
	case KWQ_IOC_GET:
		return take_get(arg);
	case KWQ_IOC_DONE:
		take_done(&((struct kwq_batch_args *)arg)->batch);
		return 1;
	case KWQ_IOC_EXTEND:
		return take_extend(arg);
	default:
		/* FIONREAD on a pipe goes to the real kernel. */
		return _IOC_TYPE(request) == KWQ_IOC_MAGIC ? fails(ENOTTY) :
							     __real_ioctl(fd, request, arg);
	}
}

static int open_device(int flags)
{
	return open("/dev/null", flags);
}

/* ---- A kwq run ------------------------------------------------------------ */

static char said[300000];
static size_t filled;
static int output;
static pid_t pid;

static void start_many(int items, int slow, __u64 lease, bool stale, int faults,
		       const char *mode, const char *script)
{
	char *argv[11] = { "run", "-j", "3", "--output", (char *)mode, "q", "--", "sh", "-c",
			   (char *)script, NULL };
	int ends[2], never[2];

	if (pipe(ends) || pipe(never) || pipe(extended) ||
	    fcntl(extended[1], F_SETFL, O_NONBLOCK))
		exit(1);
	memset(shared, 0, sizeof(*shared));
	shared->lease = lease;
	shared->stale = stale;
	shared->faults = faults;
	shared->items = items;
	shared->slow = slow;
	shared->key_len = 1;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		alarm(60);
		/* Inherited by the command at numbers above its own. */
		dup2(extended[0], 108);
		dup2(never[0], 109);
		dup2(extended[1], 110);
		dup2(never[1], 111);
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		close_range(STDERR_FILENO + 1, 107, 0);
		dup2(108, FD_EXTENDED);
		dup2(109, FD_NEVER);
		extended[1] = 110;
		command = &command_run;
		exit(command_run.main(ARRAY_SIZE(argv) - 1, argv));
	}
	close(ends[1]);
	close(never[0]);
	close(never[1]);
	close(extended[1]);
	output = ends[0];
	filled = 0;
}

static void start_with(__u64 lease, bool stale, int faults, const char *mode, const char *script)
{
	start_many(1, 0, lease, stale, faults, mode, script);
}

static void start(__u64 lease, bool stale, const char *mode, const char *script)
{
	start_with(lease, stale, 0, mode, script);
}

/* Reads the next output bytes of the command. Returns false at the end. */
static bool listen_to(size_t most)
{
	ssize_t n = read(output, said + filled, most);

	if (n > 0)
		filled += n;
	said[filled] = '\0';
	return n > 0;
}

/* Reads the rest of the output. Returns the exit status. */
static int finish(void)
{
	int status;

	while (listen_to(sizeof(said) - 1 - filled))
		;
	close(output);
	close(extended[0]);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Waits for @nr more extensions from now on. */
static void await_extensions(int nr)
{
	int from = shared->extends;
	char c;

	/* The read ends if the command ends. */
	while (shared->extends - from < nr && read(extended[0], &c, 1) == 1)
		;
}

/* ---- Tests ---------------------------------------------------------------- */

static void test_period(void)
{
	is_number(lease_period(30 * 1000 * MS), 10 * 1000 * MS, "O3: each third of a lease");
	is_number(lease_period(3 * MS + 2), MS, "rounded down");
	is_number(lease_period(MS), MS, "but not more often than each millisecond");
	is_number(lease_period(1), MS, "however short it is");
	is_number(lease_period(INT64_MAX), INT64_MAX / 3, "nor is one too long");
}

static void test_extended(void)
{
	start(3 * MS, false, "group", "read a <&8 && read a <&8 && read a <&8; echo $?");
	is_number(finish(), STATUS_OK, "O3: extended again and again while its command lives");
	is_string(said, "0\n", "which ends well");
	ok(shared->dones == 1 && !shared->adds && !shared->done_late,
	   "and looks once more before its done");

	start_with(3 * MS, false, 2, "group", "read a <&8; echo $?");
	is_number(finish(), STATUS_OK, "O3: an extension that fails is tried again the next time");
	ok(!shared->faults && !strcmp(said, "0\n") && shared->dones == 1,
	   "and nothing is lost by that");

	start(0, false, "group", "true");
	is_number(finish(), STATUS_OK, "a queue without leases");
	is_number(shared->extends, 0, "is not asked");
	is_number(shared->dones, 1, "but told");
}

/* Each start takes longer than the rest of a period. */
static void test_while_starting(void)
{
	start_many(3, 2, 3 * MS, false, 0, "group", "true");
	is_number(finish(), STATUS_OK, "O3: while others are started");
	is_number(shared->dones, 3, "each of them is done");
	ok(!shared->forgotten, "what was taken first is extended");
}

/* A command that never ends by itself. */
static void test_killed(void)
{
	start(3 * MS, false, "line", "echo begun; read x <&9");
	while (!strstr(said, "begun") && listen_to(1))
		;
	await_extensions(2);
	is_number(shared->dones, 0, "O3: it is held");
	shared->stale = 1;
	is_number(finish(), STATUS_FAILED, "O3: a lease that was lost is a failure");
	is_string(said, "begun\nkwq: run: q: k: lease lost; killed by signal 9 (Killed)\n",
		  "O3: its command is killed");
	ok(!shared->dones && !shared->adds, "O3: and the item left to others");
}

/* The command ends before any timer expires, so only the final check notices the loss. */
static void test_late(void)
{
	start(HOUR, true, "group", "echo work; exit 0");
	is_number(finish(), STATUS_FAILED, "O3: success behind the end of the lease is none");
	is_string(said, "kwq: run: q: k: lease lost; exit status 0\n",
		  "O3: nor has it output");
	ok(!shared->dones && !shared->adds && shared->refused == 1, "O3: nor is it told");

	start(HOUR, true, "group", "echo work; exit 75");
	is_number(finish(), STATUS_FAILED, "O3: nor does what failed");
	is_string(said, "kwq: run: q: k: lease lost; exit status 75\n", "get another try");
	ok(!shared->dones && !shared->adds, "from who has lost it");

	start(HOUR, false, "group", "exit 75");
	is_number(finish(), STATUS_OK, "O3: who has not");
	ok(shared->adds == 1 && shared->dones == 1 && !shared->done_late, "adds it again");
}

/* More output than a pipe holds, and no reader yet. */
static void test_while_writing(void)
{
	start(3 * MS, false, "group", "seq 50000");
	/* Output comes when the command has ended. */
	listen_to(1);
	await_extensions(3);
	is_number(shared->dones, 0, "O3: while its output waits for a reader it is held");
	is_number(finish(), STATUS_OK, "and then done");
	is_number(filled, 288894, "with all of its output");
	ok(shared->dones == 1 && !shared->done_late, "once");

	start(3 * MS, false, "group", "seq 50000");
	listen_to(1);
	shared->stale = 1;
	await_extensions(1);
	is_number(finish(), STATUS_FAILED, "O3: lost meanwhile");
	ok(!!strstr(said, "\n50000\nkwq: run: q: k: lease lost; exit status 0\n"),
	   "it is not done");
	is_number(shared->dones, 0, "by us");

	/* As if stopped at this point: no timer expires. */
	start(HOUR, false, "group", "seq 50000");
	listen_to(1);
	shared->stale = 1;
	is_number(finish(), STATUS_FAILED, "O3: lost at the very end");
	ok(!!strstr(said, "\n50000\nkwq: run: q: k: lease lost; exit status 0\n") && !shared->dones,
	   "neither");
}

int main(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	test_period();
	test_extended();
	test_while_starting();
	test_killed();
	test_late();
	test_while_writing();
	return done_testing();
}
