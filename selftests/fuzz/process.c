// SPDX-License-Identifier: GPL-2.0-only
/*
 * One process. Its threads share descriptors, and duplicate, pass on, poll and close
 * them while others use them.
 */
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "fuzz.h"

int slot_fd(struct fuzzer *f, int i)
{
	return atomic_load(&f->process->slots[i]);
}

/* A thread that takes a descriptor out of its slot closes it, even if calls use it. */
void put_slot(struct fuzzer *f, int i, int fd)
{
	fd = atomic_exchange(&f->process->slots[i], fd);
	if (fd >= 0)
		close(fd);
}

/* Descriptors */

static void pass_on(struct fuzzer *f, int fd)
{
	char space[CMSG_SPACE(sizeof(fd))] = "", byte = 0;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = space,
		.msg_controllen = sizeof(space),
	};
	struct cmsghdr *control = CMSG_FIRSTHDR(&message);

	control->cmsg_level = SOL_SOCKET;
	control->cmsg_type = SCM_RIGHTS;
	control->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(control), &fd, sizeof(fd));
	sendmsg(f->world->mail[0], &message, MSG_DONTWAIT);
}

static void take_over(struct fuzzer *f, int slot)
{
	char space[CMSG_SPACE(sizeof(int))], byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = space,
		.msg_controllen = sizeof(space),
	};
	const struct cmsghdr *control;
	int fd;

	if (recvmsg(f->world->mail[1], &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0)
		return;
	control = CMSG_FIRSTHDR(&message);
	if (!control || control->cmsg_type != SCM_RIGHTS)
		return;
	memcpy(&fd, CMSG_DATA(control), sizeof(fd));
	put_slot(f, slot, fd);
}

static void wait_in_poll(struct fuzzer *f)
{
	struct pollfd fds[3];

	for (int i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = (struct pollfd){
			.fd = slot_fd(f, any(f, SLOTS)),
			.events = one_in(f, 4) ? POLLIN | POLLOUT : POLLIN,
		};
	poll(fds, 1 + any(f, ARRAY_SIZE(fds)), any(f, 3));
	for (int i = 0; i < ARRAY_SIZE(fds); i++) {
		/* A queue that is shut down has POLLERR for those that wait for room. */
		REQUIRE(!(fds[i].revents & POLLPRI));
		REQUIRE(!(fds[i].revents & POLLERR) || fds[i].events & POLLOUT);
	}
}

static void wait_in_epoll(struct fuzzer *f, int fd)
{
	static const __u32 modes[] = { 0, EPOLLET, EPOLLONESHOT, EPOLLEXCLUSIVE };
	__u32 room = one_in(f, 4) ? EPOLLOUT : 0;
	struct epoll_event event = { .events = EPOLLIN | room | modes[any(f, 4)] };
	struct epoll_event events[4];

	epoll_ctl(f->process->epoll, one_in(f, 3) ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, fd, &event);
	epoll_wait(f->process->epoll, events, ARRAY_SIZE(events), any(f, 2));
}

/* O6: fdinfo contains no number as long as an address. */
static void read_fdinfo(int fd)
{
	char path[64], text[1024], *line;
	unsigned long long processing, held;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	if (read_text(path, text, sizeof(text)) <= 0)
		return;
	REQUIRE(!strstr(text, "ffff"));
	line = strstr(text, "kwq-processing:");
	if (!line)
		return;
	REQUIRE(sscanf(line, "kwq-processing: %llu kwq-held: %llu", &processing, &held) == 2);
	REQUIRE(held <= processing);
}

/* If the file is no queue any more, any result is valid. */
static void use_as_a_file(struct fuzzer *f, int fd)
{
	char byte = 0;

	switch (any(f, 4)) {
	case 0:
		fcntl(fd, F_SETFL, one_in(f, 2) ? O_NONBLOCK : 0);
		break;
	case 1:
		(void)!read(fd, &byte, 1);
		break;
	case 2:
		lseek(fd, any(f, 100), SEEK_SET);
		break;
	default:
		REQUIRE(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 1ULL << 40) == MAP_FAILED);
		break;
	}
}

/* A child inherits all descriptors, uses one of them, and ends. */
static void fork_a_child(struct fuzzer *f, int fd)
{
	const struct kwq_get_args nothing = { .size = sizeof(nothing) };
	pid_t pid = fork();

	if (pid) {
		/* Otherwise init reaps the child; in the VM, init is this project's own
		 * program.
		 */
		if (pid > 0 && one_in(f, 2))
			waitpid(pid, NULL, 0);
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (one_in(f, 2))
		q_add(fd, "child");
	else
		request(fd, KWQ_IOC_GET, &nothing);
	_exit(0);
}

static void use_descriptors(struct fuzzer *f)
{
	int slot = any(f, SLOTS), fd = slot_fd(f, slot);

	switch (any(f, 10)) {
	case 0:
		put_slot(f, slot, dup(slot_fd(f, any(f, SLOTS))));
		break;
	case 1:
		put_slot(f, slot, q_reopen(f->world->queues[any(f, QUEUES)]));
		break;
	case 2:
		put_slot(f, slot, dup(f->world->queues[any(f, QUEUES)]));
		break;
	case 3:
		pass_on(f, fd);
		break;
	case 4:
		take_over(f, slot);
		break;
	case 5:
		wait_in_poll(f);
		break;
	case 6:
		wait_in_epoll(f, fd);
		break;
	case 7:
		read_fdinfo(fd);
		break;
	case 8:
		use_as_a_file(f, fd);
		break;
	default:
		if (one_in(f, 8))
			fork_a_child(f, fd);
		break;
	}
}

/* Threads */

#define TEARS	16	/* of pages, during one call */

static void tear_page(struct fuzzer *f, __u64 *random)
{
	__u8 *page = f->torn + next_random(random) % (room_of(f) / PAGE) * PAGE;

	switch (next_random(random) % 4) {
	case 0:
		REQUIRE(!mprotect(page, PAGE, PROT_NONE));
		break;
	case 1:
		REQUIRE(!mprotect(page, PAGE, PROT_READ));
		break;
	case 2:
		REQUIRE(!munmap(page, PAGE));
		break;
	default:
		REQUIRE(!madvise(page, PAGE, MADV_DONTNEED));
		break;
	}
}

static void mend(struct fuzzer *f)
{
	REQUIRE(mmap(f->torn, room_of(f), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, f->memory,
		     f->torn - f->torn_space) == f->torn);
}

/* Changes numbers and keys that the kernel reads, but no addresses. */
static void scribble(struct fuzzer *f, __u64 *random)
{
	_Atomic __u8 *byte;
	__u32 r = next_random(random);
	int area = r % 4 ? BATCHES + r / 4 % 9 : ARG;

	byte = (void *)(area_of(f, area) + r / 64 % (area == ARG ? 8 : 256));
	atomic_fetch_xor(byte, 1 << r / 65536 % 8);
}

/* Tears the arguments of one call after the other, from before the call until after it. */
static void *tearer(void *arg)
{
	struct fuzzer *f = arg;
	__u64 random = f->random + 1;

	for (;;) {
		REQUIRE(!sem_wait(&f->begin));
		if (f->call.torn)
			tear_page(f, &random);
		REQUIRE(!sem_post(&f->begun));
		/* Do not tear more pages of a call that sleeps. */
		for (int i = 0; i < TEARS && atomic_load(&f->calling); i++) {
			if (f->call.torn) {
				mend(f);
				sched_yield();
				tear_page(f, &random);
			} else {
				scribble(f, &random);
			}
			sched_yield();
		}
		REQUIRE(!sem_wait(&f->end));
		if (f->call.torn)
			mend(f);
		REQUIRE(!sem_post(&f->ended));
	}
	return NULL;
}

static __u8 *map_arguments(int memory, __u8 *at)
{
	REQUIRE(mmap(at, ROOM_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory, 0) ==
		at);
	return at;
}

/* Two mappings of the arguments, each with a gap behind it. */
static void make_room(struct fuzzer *f)
{
	__u8 *at = mmap(NULL, 2 * (ROOM_MAX + GAP), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(at != MAP_FAILED);
	f->memory = memfd_create("arguments", MFD_CLOEXEC);
	REQUIRE(f->memory >= 0 && !ftruncate(f->memory, ROOM_MAX));
	f->space = map_arguments(f->memory, at);
	f->torn_space = map_arguments(f->memory, at + ROOM_MAX + GAP);
	f->before = malloc(ROOM_MAX);
	f->may = malloc(ROOM_MAX);
	REQUIRE(f->before && f->may);
}

/* Interrupts its own calls, with and without SA_RESTART. */
static void have_it_interrupted(struct fuzzer *f)
{
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = SIGALRM,
		._sigev_un._tid = gettid(),
	};
	long interval = (2 + any(f, 20)) * MSEC;
	const struct itimerspec time = {
		.it_interval.tv_nsec = interval,
		.it_value.tv_nsec = interval,
	};
	timer_t timer;

	REQUIRE(!timer_create(CLOCK_MONOTONIC, &event, &timer));
	REQUIRE(!timer_settime(timer, 0, &time, NULL));
}

static void catch(int signal)
{
	static _Atomic unsigned int caught;
	struct sigaction action = {
		.sa_handler = catch,
		.sa_flags = atomic_fetch_add(&caught, 1) % 2 ? SA_RESTART : 0,
	};
	int err = errno;

	sigaction(signal, &action, NULL);
	errno = err;
}

static void work(struct fuzzer *f)
{
	if (is_called(f))
		visit(f);
	else if (f->plan)
		go_on_with_plan(f);
	else if (one_in(f, 6))
		use_descriptors(f);
	else if (one_in(f, 24))
		begin_plan(f);
	else
		make_request(f);
}

static void *fuzz(void *arg)
{
	struct fuzzer *f = arg;
	struct world *w = f->world;
	sigset_t alarm;

	/* For this thread alone: the threads that it starts have the signal blocked. */
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	REQUIRE(!pthread_sigmask(SIG_BLOCK, &alarm, NULL));
	REQUIRE(!sem_init(&f->begin, 0, 0) && !sem_init(&f->begun, 0, 0));
	REQUIRE(!sem_init(&f->end, 0, 0) && !sem_init(&f->ended, 0, 0));
	make_room(f);
	REQUIRE(!pthread_create(&f->tearer, NULL, tearer, f));
	REQUIRE(!pthread_sigmask(SIG_UNBLOCK, &alarm, NULL));
	f->nth = f->process->is_root ? open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC) : -1;
	have_it_interrupted(f);
	/* From here on, new descriptors have numbers that were never in a slot. */
	pthread_barrier_wait(&f->process->ready);

	for (;;) {
		work(f);
		if (atomic_fetch_add(&w->operations, 1) % STEP == STEP - 1)
			while (write(w->steps[1], "", 1) < 0)
				REQUIRE(errno == EINTR);
	}
	return NULL;
}

void live(struct world *world, int number, __u64 seed)
{
	static struct process process;
	struct rlimit files;
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	process = (struct process){
		.world = world,
		.number = number,
		.seed = seed,
		.meeting = -1,
	};
	umask(0);
	become_user(&process);
	catch(SIGALRM);
	process.epoll = epoll_create1(EPOLL_CLOEXEC);
	REQUIRE(process.epoll >= 0);
	/* Some handles are shared with the parent and its other children, some are its
	 * own.
	 */
	for (int i = 0; i < SLOTS; i++) {
		int q = world->queues[i % QUEUES];

		process.slots[i] = i < QUEUES ? dup(q) : q_reopen(q);
	}
	/* The limit is so low that sometimes no descriptor is left. Each thread needs
	 * two of its own, and uses some more.
	 */
	files.rlim_cur = next_fd() + (2 + OWN + 1) * THREADS + 1;
	files.rlim_max = files.rlim_cur;
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &files));
	REQUIRE(!pthread_barrier_init(&process.ready, NULL, THREADS));
	for (int i = 0; i < THREADS; i++) {
		struct fuzzer *f = &process.fuzzers[i];

		f->world = world;
		f->process = &process;
		for (int j = 0; j < OWN; j++)
			f->own[j].fd = -1;
		f->random = seed * THREADS + i;
		REQUIRE(!pthread_create(&thread, NULL, fuzz, f));
	}
	for (;;)
		pause();
}
