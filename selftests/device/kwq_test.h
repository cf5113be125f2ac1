/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the device's tests: a typed wrapper for each request, poisoned buffers,
 * sleepers in threads, peers in processes.
 *
 * The wrappers return the request's result, or a negative errno. The wrappers of one
 * entry return the result of that entry. They check everything that must hold after any
 * call: no unexpected writes, zero padding, consistent counters. A violation aborts the
 * test, also in threads and child processes.
 *
 * The tests do not wait for time to pass. wait_until_asleep() reads from /proc that a
 * thread sleeps in Get.
 */
#ifndef KWQ_TEST_H
#define KWQ_TEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/kwq.h>

#include "../machine/pace.h"

/*
 * The clock, in seconds, by which the harness ends a test that hangs. In the test VM it
 * is init's clock (pace.h), elsewhere real time.
 */
static inline double limit_clock(void)
{
	static const struct pace *pace;

	if (!pace) {
		int fd = open(PACE_FILE, O_RDONLY | O_CLOEXEC);

		pace = fd < 0 ? MAP_FAILED :
		       mmap(NULL, sizeof(*pace), PROT_READ, MAP_SHARED, fd, 0);
		if (fd >= 0)
			close(fd);
	}
	return pace == MAP_FAILED ? pace_seconds(CLOCK_MONOTONIC) : atomic_load(&pace->ms) / 1e3;
}

/* The time of the harness's alarm on that clock; 0 for none. */
static double alarm_due;

static inline void alarm_tick(int signal)
{
	(void)signal;
	if (alarm_due && limit_clock() > alarm_due)
		raise(SIGALRM);
}

/*
 * Replaces alarm(2) for the harness: checks once a second whether SIGALRM is due by
 * limit_clock().
 */
static inline unsigned int limit_alarm(unsigned int seconds)
{
	static const struct itimerspec tick = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMAX };
	struct sigaction action = { .sa_handler = alarm_tick, .sa_flags = SA_RESTART };
	static timer_t timer;
	static bool armed;

	if (armed)
		timer_delete(timer);
	armed = false;
	alarm_due = seconds ? limit_clock() + seconds : 0;
	if (!seconds)
		return 0;
	armed = !sigaction(SIGRTMAX, &action, NULL) &&
		!timer_create(CLOCK_MONOTONIC, &event, &timer) &&
		!timer_settime(timer, 0, &tick, NULL);
	if (!armed)
		abort();
	return 0;
}

/* The harness is for programs of a single file: its functions are not static. */
#ifdef KWQ_NO_HARNESS
#include "kselftest.h"
#else
#define alarm(seconds)	limit_alarm(seconds)
#include "kselftest_harness.h"
#undef alarm
#endif

/* Only a hang takes this long, by limit_clock(). */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	60

#define KWQ_DEVICE	"/dev/kwq"

#define USEC		1000ULL
#define MSEC		1000000ULL
#define SEC		1000000000ULL
#define HOUR		(3600 * SEC)
#define TIME_MAX	((__u64)INT64_MAX)	/* the end of every clock */

#define POISON		0xa5
#define GUARD		64	/* poisoned bytes after each buffer */
#define KEY_ROOM	64	/* for the key of an item of q_get() */

/*
 * A check that always holds, whatever is tested. Works in threads and child processes,
 * too.
 */
#define REQUIRE(condition)							\
	do {									\
		if (!(condition)) {						\
			fprintf(stderr, "# %s:%d: required: %s (errno %d)\n",	\
				__FILE__, __LINE__, #condition, errno);		\
			abort();						\
		}								\
	} while (0)

static inline __u64 user_ptr(const void *p)
{
	return (uintptr_t)p;
}

/* Arguments of a get: into @nr_ entries, with keys at that address. Other members follow. */
#define GET_ARGS(entries_, keys_, keys_len_, nr_, ...) {			\
	.size = sizeof(struct kwq_get_args),					\
	.get = {								\
		.entries = user_ptr(entries_),					\
		.keys = keys_,							\
		.keys_len = keys_len_,						\
		.nr = nr_,							\
		.entry_size = sizeof(*(entries_)),				\
	},									\
	__VA_ARGS__								\
}

/* Two of these other members: the extras, and a done of one entry in the same call. */
#define GET_EXTRAS(extras_)							\
	.get.extras = user_ptr(extras_), .get.extra_size = sizeof(*(extras_))
#define GET_DONE(entry_, result_)						\
	.done = {								\
		.entries = user_ptr(entry_),					\
		.results = user_ptr(result_),					\
		.nr = 1,							\
		.entry_size = sizeof(*(entry_)),				\
	}

/* Arguments of a batch of one entry, its key, and its extra. */
#define BATCH_ARGS(entry_, key_, key_len_, result_, extra_) {			\
	.size = sizeof(struct kwq_batch_args),					\
	.batch = {								\
		.entries = user_ptr(entry_),					\
		.keys = user_ptr(key_),						\
		.results = user_ptr(result_),					\
		.extras = user_ptr(extra_),					\
		.keys_len = key_len_,						\
		.nr = 1,							\
		.entry_size = sizeof(*(entry_)),				\
		.extra_size = sizeof(*(extra_)),				\
	},									\
}

static inline void poison(void *p, size_t n)
{
	memset(p, POISON, n);
}

static inline bool is_filled(const void *p, __u8 byte, size_t n)
{
	const __u8 *b = p;

	while (n--)
		if (*b++ != byte)
			return false;
	return true;
}

static inline bool on_s390(void)
{
	struct utsname name;

	REQUIRE(!uname(&name));
	return !strcmp(name.machine, "s390x");
}

static inline bool is_poison(const void *p, size_t n)
{
	return is_filled(p, POISON, n);
}

static inline bool is_zero(const void *p, size_t n)
{
	return is_filled(p, 0, n);
}

static inline __u64 now_on(clockid_t clock)
{
	struct timespec ts;

	REQUIRE(!clock_gettime(clock, &ts));
	return ts.tv_sec * SEC + ts.tv_nsec;
}

static inline __u64 now_ns(void)
{
	return now_on(CLOCK_MONOTONIC);
}

/* A private random generator: the same seed gives the same sequence. */
static inline __u32 next_random(__u64 *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

/* Zeroed memory that child processes share. */
static inline void *shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	REQUIRE(p != MAP_FAILED);
	return p;
}

static inline void raise_to(_Atomic __u64 *value, __u64 to)
{
	__u64 was = atomic_load(value);

	while (was < to && !atomic_compare_exchange_weak(value, &was, to))
		;
}

/* A number from the environment, or the default. */
static inline unsigned long number_from(const char *variable, unsigned long otherwise)
{
	const char *text = getenv(variable);

	return text && *text ? strtoul(text, NULL, 0) : otherwise;
}

/*
 * The duration that `make soak` sets for each test; 0 for the short version with fixed
 * counts. At the end a test reports the work done.
 */
static inline unsigned long soak_seconds(void)
{
	return number_from("KWQ_SOAK_SECONDS", 0);
}

static inline void tell_soak(unsigned long long operations, unsigned long long faults)
{
	if (!soak_seconds())
		return;
	printf("# soak: operations %llu\n# soak: faults %llu\n", operations, faults);
	fflush(stdout);
}

/* The number of the next descriptor. It stays the same if nothing leaked. */
static inline int next_fd(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	REQUIRE(fd >= 0 && !close(fd));
	return fd;
}

/* Reads a small file and appends a NUL. Returns the length or a negative errno. */
static inline int read_text(const char *path, char *text, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, room - 1);
	if (n < 0)
		n = -errno;
	text[n < 0 ? 0 : n] = '\0';
	close(fd);
	return n;
}

static inline int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	if (n < 0)
		n = -errno;
	close(fd);
	return n < 0 ? n : 0;
}

static inline long long read_number(const char *path)
{
	char text[32];

	if (read_text(path, text, sizeof(text)) <= 0)
		return -1;
	return atoll(text);
}

/* Requests */

static inline int request(int fd, unsigned long cmd, const void *arg)
{
	int ret = ioctl(fd, cmd, arg);

	return ret < 0 ? -errno : ret;
}

static inline int open_device(void)
{
	int dev = open(KWQ_DEVICE, O_RDWR | O_CLOEXEC);

	return dev < 0 ? -errno : dev;
}

static inline void set_name(__u8 to[KWQ_NAME_MAX + 1], const char *name)
{
	memset(to, 0, KWQ_NAME_MAX + 1);
	for (int i = 0; name && name[i] && i <= KWQ_NAME_MAX; i++)
		to[i] = name[i];
}

/* Whether the name ends with a NUL and all bytes behind it are 0. */
static inline bool name_is_clean(const __u8 name[KWQ_NAME_MAX + 1])
{
	size_t len = strnlen((const char *)name, KWQ_NAME_MAX + 1);

	return len <= KWQ_NAME_MAX && is_zero(name + len, KWQ_NAME_MAX + 1 - len);
}

#define ALL_RIGHTS	(KWQ_RIGHT_READ | KWQ_RIGHT_WRITE | KWQ_RIGHT_MANAGE)

/* Creates a queue with all rights. */
static inline int q_create(int dev, const char *name, __u32 flags, __u32 open_flags, __u32 mode)
{
	struct kwq_create_args create = {
		.size = sizeof(create),
		.flags = flags,
		.open_flags = open_flags,
		.mode = mode,
		.clockid = CLOCK_MONOTONIC,
		.rights = ALL_RIGHTS,
	};

	set_name(create.name, name);
	return request(dev, KWQ_IOC_CREATE, &create);
}

static inline int create_queue(int dev, struct kwq_create_args create)
{
	create.size = sizeof(create);
	create.open_flags = O_CLOEXEC;
	create.rights = ALL_RIGHTS;
	create.clockid = create.clockid ?: CLOCK_MONOTONIC;
	return request(dev, KWQ_IOC_CREATE, &create);
}

/* Creates an unnamed queue with these members of struct kwq_create_args. */
#define new_queue_as(dev, ...)	create_queue(dev, (struct kwq_create_args){ __VA_ARGS__ })

static inline int new_queue(int dev)
{
	return new_queue_as(dev, 0);
}

/* As new_queue(), with a clock, a limit of items and a configuration; NULL for the default. */
static inline int new_queue_with(int dev, __s32 clockid, __u64 max_items,
				 const struct kwq_config *config)
{
	return new_queue_as(dev, .clockid = clockid, .max_items = max_items,
			    .config = user_ptr(config));
}

/* As new_queue(), with KWQ_CREATE_* flags. */
static inline int new_flagged_queue(int dev, __u32 create_flags)
{
	return new_queue_as(dev, .flags = create_flags);
}

/* As new_flagged_queue(), with a queue that takes its adds. */
static inline int new_queue_with_outbox(int dev, __u32 create_flags, int to)
{
	return new_queue_as(dev, .flags = create_flags | KWQ_CREATE_OUTBOX, .outbox = to);
}

/* As new_queue(), with a clock and a lease. */
static inline int new_lease_queue(int dev, __s32 clockid, __u64 lease)
{
	return new_queue_as(dev, .clockid = clockid, .lease = lease);
}

/* As new_queue(), with a clock that stands at 0 until q_advance(). */
static inline int new_manual_queue(int dev, const struct kwq_config *config)
{
	return new_queue_with(dev, KWQ_CLOCK_ID_MANUAL, 0, config);
}

static inline int q_open_with(int fd, const char *name, __u32 rights, __u32 open_flags)
{
	struct kwq_open_args arg = {
		.size = sizeof(arg),
		.open_flags = open_flags,
		.rights = rights,
	};

	set_name(arg.name, name);
	return request(fd, KWQ_IOC_OPEN, &arg);
}

static inline int q_open(int fd, const char *name, __u32 open_flags)
{
	return q_open_with(fd, name, ALL_RIGHTS, open_flags);
}

/* Opens a second handle of the same queue. */
static inline int q_reopen(int q)
{
	return q_open(q, NULL, O_CLOEXEC);
}

static inline int q_unlink(int dev, const char *name)
{
	struct kwq_unlink_args arg = {
		.size = sizeof(arg),
	};

	set_name(arg.name, name);
	return request(dev, KWQ_IOC_UNLINK, &arg);
}

static inline int q_len(int q)
{
	return request(q, KWQ_IOC_LEN, NULL);
}

static inline int q_shutting_down(int q)
{
	return request(q, KWQ_IOC_SHUTTING_DOWN, NULL);
}

static inline int q_pause(int q)
{
	struct kwq_pause_args args = { .size = sizeof(args) };

	return request(q, KWQ_IOC_PAUSE, &args);
}

static inline int q_pause_for(int q, __u64 time)
{
	struct kwq_pause_args args = { .size = sizeof(args), .flags = KWQ_PAUSE_FOR, .time = time };

	return request(q, KWQ_IOC_PAUSE, &args);
}

static inline int q_term_with(int q, __u32 flags, __u64 until)
{
	struct kwq_term_args args = { .size = sizeof(args), .flags = flags, .until = until };

	return request(q, KWQ_IOC_TERM, &args);
}

static inline int q_term(int q, __u64 until)
{
	return q_term_with(q, 0, until);
}

/* The token, and nothing else, is written. */
static inline int q_bpf(int q, __u64 *token)
{
	struct {
		struct kwq_bpf_args args;
		__u8 guard[GUARD];
	} out = { .args = { .size = sizeof(out.args) } };
	int ret;

	poison(out.guard, sizeof(out.guard));
	ret = request(q, KWQ_IOC_BPF, &out);
	REQUIRE(is_poison(out.guard, sizeof(out.guard)));
	REQUIRE(out.args.size == sizeof(out.args) && !out.args.flags);
	REQUIRE(!ret == !!out.args.token);
	*token = out.args.token;
	return ret;
}

static inline int q_resume(int q)
{
	struct kwq_resume_args args = { .size = sizeof(args) };

	return request(q, KWQ_IOC_RESUME, &args);
}

static inline int q_shut_down(int q)
{
	const struct kwq_shut_down_args arg = {
		.size = sizeof(arg),
	};

	return request(q, KWQ_IOC_SHUT_DOWN, &arg);
}

static inline int q_drain(int q, __u64 deadline)
{
	struct kwq_drain_args arg = {
		.size = sizeof(arg),
		.deadline = deadline,
	};

	return request(q, KWQ_IOC_DRAIN, &arg);
}

static inline int advance(int q, __u32 flags, __u64 time)
{
	const struct kwq_advance_args arg = {
		.size = sizeof(arg),
		.flags = flags,
		.time = time,
	};

	return request(q, KWQ_IOC_ADVANCE, &arg);
}

static inline int q_advance(int q, __u64 by)
{
	return advance(q, 0, by);
}

static inline int q_advance_to(int q, __u64 time)
{
	return advance(q, KWQ_ADVANCE_TO, time);
}

/* Returns a descriptor of the board and the size of its mapping. */
static inline int q_board(int q, __u64 *map_size)
{
	struct {
		struct kwq_board_args args;
		__u8 guard[GUARD];
	} arg;
	int ret;

	poison(&arg, sizeof(arg));
	arg.args = (struct kwq_board_args){ .size = sizeof(arg.args), .open_flags = O_CLOEXEC };
	ret = request(q, KWQ_IOC_BOARD, &arg);
	REQUIRE(is_poison(arg.guard, sizeof(arg.guard)));
	REQUIRE(arg.args.size == sizeof(arg.args) && arg.args.open_flags == O_CLOEXEC);
	REQUIRE(!arg.args.map_size == (ret < 0));
	*map_size = arg.args.map_size;
	return ret;
}

static inline int q_tell(int q, __u64 adds)
{
	const struct kwq_tell_args arg = { .size = sizeof(arg), .adds = adds };

	return request(q, KWQ_IOC_TELL, &arg);
}

/* Follows the changes. Returns an error, or 0 with the number of the last change. */
static inline int q_follow(int q, __u64 *number)
{
	struct {
		struct kwq_follow_args args;
		__u8 guard[GUARD];
	} arg;
	int ret;

	poison(&arg, sizeof(arg));
	arg.args = (struct kwq_follow_args){ .size = sizeof(arg.args) };
	ret = request(q, KWQ_IOC_FOLLOW, &arg);
	REQUIRE(is_poison(arg.guard, sizeof(arg.guard)));
	REQUIRE(arg.args.size == sizeof(arg.args) && !arg.args.flags);
	REQUIRE(ret <= 0 && (!ret || !arg.args.number));
	*number = arg.args.number;
	return ret;
}

/* Runs KWQ_IOC_SYNC. Only @resume and @number may change. */
static inline int q_sync_with(int q, struct kwq_sync_args *sync)
{
	struct {
		struct kwq_sync_args args;
		__u8 guard[GUARD];
	} arg;
	int ret;

	poison(&arg, sizeof(arg));
	arg.args = *sync;
	arg.args.size = sizeof(arg.args);
	ret = request(q, KWQ_IOC_SYNC, &arg);
	REQUIRE(is_poison(arg.guard, sizeof(arg.guard)));
	REQUIRE(arg.args.flags == sync->flags && arg.args.deadline == sync->deadline);
	*sync = arg.args;
	return ret;
}

static inline int q_sync_until(int q, __u64 deadline)
{
	struct kwq_sync_args sync = { .deadline = deadline };

	return q_sync_with(q, &sync);
}

static inline __u64 number_in(const struct kwq_histogram *histogram)
{
	__u64 nr = 0;

	for (int i = 0; i < KWQ_HISTOGRAM_BUCKETS; i++)
		nr += histogram->counts[i];
	return nr;
}

/* Clears the members that change with time alone. */
static inline void clear_times(struct kwq_stat *stat)
{
	stat->now = 0;
	stat->oldest_ready = 0;
	stat->longest_running = 0;
	stat->unfinished = 0;
	stat->oldest_waiting = 0;
	stat->oldest_dead = 0;
}

/* Whether the queue is unchanged apart from the passing time. */
static inline bool same_stat(const struct kwq_stat *before, const struct kwq_stat *after)
{
	struct kwq_stat a = *before, b = *after;

	clear_times(&a);
	clear_times(&b);
	return !memcmp(&a, &b, sizeof(a));
}

static inline int q_stat(int q, struct kwq_stat *stat)
{
	struct {
		struct kwq_stat stat;
		__u8 guard[GUARD];
	} out;
	int ret;

	poison(&out, sizeof(out));
	out.stat.size = sizeof(out.stat);
	ret = request(q, KWQ_IOC_STAT, &out);

	REQUIRE(is_poison(out.guard, sizeof(out.guard)));
	REQUIRE(out.stat.size == sizeof(out.stat));
	if (ret < 0) {
		REQUIRE(is_poison((__u8 *)&out.stat + 4, sizeof(out.stat) - 4));
		return ret;
	}
	REQUIRE(ret == 0);
	REQUIRE(!(out.stat.create_flags & ~(KWQ_CREATE_VALUES | KWQ_CREATE_GROUPS |
				       KWQ_CREATE_NO_DURATIONS | KWQ_CREATE_CHANGES |
				       KWQ_CREATE_SYNC | KWQ_CREATE_OUTBOX)));
	REQUIRE(!(out.stat.state & ~(KWQ_STATE_SHUT_DOWN | KWQ_STATE_UNLINKED |
				     KWQ_STATE_PAUSED | KWQ_STATE_TERM_OVER)));
	REQUIRE(!(out.stat.state & KWQ_STATE_TERM_OVER) || out.stat.term <= out.stat.now);
	REQUIRE(name_is_clean(out.stat.name));
	/* L10: as many remembered ones come on top. */
	REQUIRE(out.stat.remembered <= out.stat.max_items);
	REQUIRE(out.stat.items <= 2 * out.stat.max_items);
	REQUIRE(out.stat.bytes <= 2 * out.stat.max_bytes);
	/* Each hand-out continues, was finished, abandoned or given back. */
	REQUIRE(out.stat.gets == out.stat.dones + out.stat.abandoned + out.stat.returned +
				 out.stat.processing);
	REQUIRE(out.stat.dirty <= out.stat.processing);
	REQUIRE(out.stat.expired <= out.stat.abandoned);
	REQUIRE(!out.stat.expired || out.stat.lease);
	REQUIRE(out.stat.dead + out.stat.remembered <= out.stat.items);
	REQUIRE(out.stat.dead <= out.stat.died);
	REQUIRE(out.stat.rate_limited <= out.stat.retries);
	if (out.stat.create_flags & KWQ_CREATE_NO_DURATIONS) {
		REQUIRE(!number_in(&out.stat.queue_duration));
		REQUIRE(!number_in(&out.stat.work_duration));
	} else {
		/* An undone hand-out stays in the histogram. */
		REQUIRE(out.stat.gets <= number_in(&out.stat.queue_duration));
		REQUIRE(out.stat.dones == number_in(&out.stat.work_duration));
	}
	REQUIRE(!out.stat.oldest_ready || out.stat.ready);
	REQUIRE(out.stat.longest_running <= out.stat.unfinished);
	REQUIRE(!out.stat.unfinished || out.stat.processing);
	REQUIRE(!out.stat.oldest_waiting || out.stat.waiting);
	REQUIRE(!out.stat.oldest_dead || out.stat.dead);
	REQUIRE(!out.stat.id == !(out.stat.create_flags & KWQ_CREATE_CHANGES));
	REQUIRE(out.stat.id || is_zero(&out.stat.id, offsetof(struct kwq_stat, getters) -
				       offsetof(struct kwq_stat, id)));
	REQUIRE(out.stat.kept <= out.stat.last_change);
	REQUIRE(out.stat.unread <= out.stat.items);
	REQUIRE(out.stat.followers <= 1);
	*stat = out.stat;
	return 0;
}

static inline int q_op(int q, unsigned long cmd, const void *entries, size_t entry_size,
		       unsigned int nr, const void *keys, size_t keys_len, __s32 *results)
{
	const struct kwq_batch_args op = {
		.size = sizeof(op),
		.batch = {
			.entries = user_ptr(entries),
			.keys = keys_len ? user_ptr(keys) : 0,
			.results = user_ptr(results),
			.keys_len = keys_len,
			.nr = nr,
			.entry_size = entry_size,
		},
	};

	return request(q, cmd, &op);
}

/*
 * Set by tests that make buffers fault. Then the kernel may have written buffers of
 * items that were not fetched, or results of entries that were not taken.
 */
static bool faults_are_made;

/*
 * The request of one entry could not write the result, which still has its initial
 * value.
 */
static bool result_is_lost;

/* Runs one entry. Returns an error of the call, else the entry's result. */
static inline int q_op_one(int q, unsigned long cmd, const void *entry, size_t entry_size,
			   const void *key, size_t key_len)
{
	__s32 results[1 + GUARD / 4];
	int ret;

	poison(results, sizeof(results));
	ret = q_op(q, cmd, entry, entry_size, 1, key, key_len, results);
	REQUIRE(is_poison(results + 1, GUARD));
	if (ret < 0) {
		REQUIRE(faults_are_made || is_poison(results, sizeof(results)));
		return ret;
	}
	REQUIRE(ret == 1);
	if (results[0] == -EFAULT) {
		REQUIRE(faults_are_made);
		result_is_lost = true;
	}
	return results[0];
}

static inline int q_add_bytes(int q, const void *key, size_t len, __u32 flags, int priority,
			      __u64 time)
{
	const struct kwq_add_entry entry = {
		.key_len = len,
		.flags = flags,
		.priority = priority,
		.time = time,
	};

	return q_op_one(q, KWQ_IOC_ADD, &entry, sizeof(entry), key, len);
}

/*
 * Adds and waits for room. Returns an error of the call, else the entry's result. If the wait
 * was over, the entry's result must say that there was no room.
 */
static inline int q_add_wait_bytes(int q, const void *key, size_t len, __u32 flags,
				   __u64 deadline)
{
	const struct kwq_add_entry entry = { .key_len = len };
	__s32 results[1 + GUARD / 4];
	struct {
		struct kwq_add_args args;
		__u8 guard[GUARD];
	} arg;
	int ret;

	poison(results, sizeof(results));
	poison(&arg, sizeof(arg));
	arg.args = (struct kwq_add_args){
		.size = sizeof(arg.args),
		.flags = KWQ_ADD_WAIT | flags,
		.deadline = deadline,
		.batch = {
			.entries = user_ptr(&entry),
			.keys = user_ptr(key),
			.results = user_ptr(results),
			.keys_len = len,
			.nr = 1,
			.entry_size = sizeof(entry),
		},
	};
	ret = request(q, KWQ_IOC_ADD, &arg);
	REQUIRE(is_poison(results + 1, GUARD));
	REQUIRE(is_poison(arg.guard, sizeof(arg.guard)));
	if (ret == -EAGAIN || ret == -EINTR || ret == -ETIMEDOUT)
		REQUIRE(faults_are_made || results[0] == -ENOSPC || results[0] == -EDQUOT);
	if (ret < 0)
		return ret;
	REQUIRE(ret == 1);
	if (results[0] == -EFAULT) {
		REQUIRE(faults_are_made);
		result_is_lost = true;
	}
	return results[0];
}

static inline int q_add_wait(int q, const char *key, __u64 deadline)
{
	return q_add_wait_bytes(q, key, strlen(key), 0, deadline);
}

static inline int q_add_with(int q, const char *key, __u32 flags, int priority, __u64 time)
{
	return q_add_bytes(q, key, strlen(key), flags, priority, time);
}

static inline int q_add(int q, const char *key)
{
	return q_add_with(q, key, 0, 0, 0);
}

static inline int q_add_priority(int q, const char *key, int priority)
{
	return q_add_with(q, key, KWQ_ADD_PRIORITY, priority, 0);
}

static inline int q_add_after(int q, const char *key, __u64 delay)
{
	return q_add_with(q, key, KWQ_ADD_AFTER, 0, delay);
}

static inline int q_add_at(int q, const char *key, __u64 time)
{
	return q_add_with(q, key, KWQ_ADD_AT, 0, time);
}

static inline int q_add_rate_limited(int q, const char *key)
{
	return q_add_with(q, key, KWQ_ADD_RATE_LIMITED, 0, 0);
}

/* Brings a dead item back. */
static inline int q_kick(int q, const char *key)
{
	return q_add_with(q, key, KWQ_ADD_KICK, 0, 0);
}

static inline int q_done_with(int q, __u64 ticket, __u32 flags)
{
	const struct kwq_done_entry entry = {
		.ticket = ticket,
		.flags = flags,
	};

	return q_op_one(q, KWQ_IOC_DONE, &entry, sizeof(entry), NULL, 0);
}

static inline int q_done(int q, __u64 ticket)
{
	return q_done_with(q, ticket, 0);
}

static inline int q_done_key_with(int q, const char *key, __u32 flags)
{
	const struct kwq_done_entry entry = {
		.key_len = strlen(key),
		.flags = flags,
	};

	return q_op_one(q, KWQ_IOC_DONE, &entry, sizeof(entry), key, strlen(key));
}

static inline int q_done_key(int q, const char *key)
{
	return q_done_key_with(q, key, 0);
}

static inline int q_extend(int q, __u64 ticket)
{
	const struct kwq_extend_entry entry = {
		.ticket = ticket,
	};

	return q_op_one(q, KWQ_IOC_EXTEND, &entry, sizeof(entry), NULL, 0);
}

static inline int q_extend_key(int q, const char *key)
{
	const struct kwq_extend_entry entry = {
		.key_len = strlen(key),
	};

	return q_op_one(q, KWQ_IOC_EXTEND, &entry, sizeof(entry), key, strlen(key));
}

static inline int q_remove_with(int q, const char *key, __u32 flags)
{
	const struct kwq_remove_entry entry = {
		.key_len = strlen(key),
		.flags = flags,
	};

	return q_op_one(q, KWQ_IOC_REMOVE, &entry, sizeof(entry), key, strlen(key));
}

/* Removes an item of which the caller knows all changes up to @change. */
static inline int q_remove_unchanged(int q, const char *key, __u64 change)
{
	const struct kwq_remove_entry entry = {
		.key_len = strlen(key),
		.flags = KWQ_REMOVE_UNCHANGED,
		.change = change,
	};

	return q_op_one(q, KWQ_IOC_REMOVE, &entry, sizeof(entry), key, strlen(key));
}

/* Takes an item out, also from its holder. */
static inline int q_revoke(int q, const char *key)
{
	return q_remove_with(q, key, KWQ_REMOVE_REVOKE);
}

static inline int q_remove(int q, const char *key)
{
	return q_remove_with(q, key, 0);
}

/* Takes a dead item out. */
static inline int q_drop(int q, const char *key)
{
	return q_remove_with(q, key, KWQ_REMOVE_DEAD);
}

static inline int q_key_op(int q, unsigned long cmd, const char *key)
{
	const struct kwq_key_entry entry = {
		.key_len = strlen(key),
	};

	return q_op_one(q, cmd, &entry, sizeof(entry), key, strlen(key));
}

static inline int q_forget(int q, const char *key)
{
	return q_key_op(q, KWQ_IOC_FORGET, key);
}

static inline int q_requeues(int q, const char *key)
{
	return q_key_op(q, KWQ_IOC_REQUEUES, key);
}

/* Puts a key back. @entry->key_len is filled in. */
static inline int q_restore_with(int q, const char *key, struct kwq_restore_entry entry)
{
	entry.key_len = strlen(key);
	return q_op_one(q, KWQ_IOC_RESTORE, &entry, sizeof(entry), key, strlen(key));
}

/* q_restore(q, "key", .state = KWQ_IS_READY) */
#define q_restore(q, key, ...)							\
	q_restore_with(q, key, (struct kwq_restore_entry){ __VA_ARGS__ })

/* Puts a ready key into a queue, with a token, as the queue's manager does. */
static inline int q_grant(int q, const char *key, __u64 token)
{
	const struct kwq_restore_entry entry = {
		.key_len = strlen(key), .state = KWQ_IS_READY, .flags = KWQ_ADD_TOKEN,
	};
	const struct kwq_add_extra extra = { .token = token };
	__s32 results[1 + GUARD / 4];
	const struct kwq_batch_args op = {
		.size = sizeof(op),
		.batch = {
			.entries = user_ptr(&entry),
			.keys = user_ptr(key),
			.results = user_ptr(results),
			.extras = user_ptr(&extra),
			.keys_len = entry.key_len,
			.nr = 1,
			.entry_size = sizeof(entry),
			.extra_size = sizeof(extra),
		},
	};
	int ret;

	poison(results, sizeof(results));
	ret = request(q, KWQ_IOC_RESTORE, &op);
	REQUIRE(is_poison(results + 1, GUARD));
	REQUIRE(ret < 0 || ret == 1);
	result_is_lost |= ret == 1 && results[0] == -EFAULT;
	return ret < 0 ? ret : results[0];
}

static inline int q_configure(int q, const struct kwq_config *config)
{
	return request(q, KWQ_IOC_CONFIGURE, config);
}

/*
 * Reads a configuration with room for @room limiters. @config->limiters is @limiters if
 * there is room.
 */
static inline int q_config(int q, struct kwq_config *config, struct kwq_limiter *limiters,
			   unsigned int room)
{
	size_t size = room * sizeof(*limiters);
	struct kwq_limiter *to = malloc(size + GUARD);
	struct {
		struct kwq_config config;
		__u8 guard[GUARD];
	} arg;
	int ret;

	REQUIRE(to);
	poison(to, size + GUARD);
	poison(&arg, sizeof(arg));
	arg.config = (struct kwq_config){
		.size = sizeof(arg.config),
		.nr = room,
		.limiters = room ? user_ptr(to) : 0,
		.limiter_size = room ? sizeof(*to) : 0,
	};
	ret = request(q, KWQ_IOC_CONFIG, &arg);
	REQUIRE(is_poison(arg.guard, sizeof(arg.guard)));
	REQUIRE(is_poison((__u8 *)to + size, GUARD));
	REQUIRE(ret <= 0);
	if (!ret) {
		size_t told = arg.config.nr < room ? arg.config.nr * sizeof(*to) : size;

		REQUIRE(arg.config.nr && arg.config.nr <= KWQ_LIMITERS_MAX);
		REQUIRE(arg.config.size == sizeof(arg.config));
		REQUIRE(is_poison((__u8 *)to + told, size - told));
		*config = arg.config;
		if (room) {
			memcpy(limiters, to, size);
			config->limiters = user_ptr(limiters);
		}
	}
	free(to);
	return ret;
}

/*
 * A buffer of @size bytes, and its guard, are still poison behind what was filled in. A call that
 * failed in its middle may have filled in more.
 */
static inline void require_poison_behind(const void *buffer, size_t filled, size_t size)
{
	if (!faults_are_made)
		REQUIRE(is_poison((const __u8 *)buffer + filled, size - filled));
	REQUIRE(is_poison((const __u8 *)buffer + size, GUARD));
}

/* States that an item can be in, and marks of these. */
#define MAIN_STATES	(KWQ_IS_READY | KWQ_IS_PROCESSING | KWQ_IS_WAITING | KWQ_IS_DEAD | \
			 KWQ_IS_REMEMBERED)
#define ALL_STATES	(MAIN_STATES | KWQ_IS_DIRTY | KWQ_IS_DYING | KWQ_IS_RETURNED)

struct listed_item {
	struct kwq_listed item;
	char key[KEY_ROOM + 1];		/* ended by a NUL */
};

/* Checks what holds for every listed item. */
static inline void check_listed(const struct kwq_listed *item, __u32 states)
{
	__u32 state = item->state;

	REQUIRE(state && !(state & ~ALL_STATES) && state & states);
	REQUIRE(!!(state & KWQ_IS_READY) + !!(state & KWQ_IS_PROCESSING) +
		!!(state & KWQ_IS_DEAD) + !!(state & KWQ_IS_REMEMBERED) <= 1);
	REQUIRE(!(state & (KWQ_IS_DIRTY | KWQ_IS_DYING)) || state & KWQ_IS_PROCESSING);
	REQUIRE(!(state & KWQ_IS_RETURNED) || state & KWQ_IS_READY);
	REQUIRE(!(state & KWQ_IS_REMEMBERED) || state == KWQ_IS_REMEMBERED);
	REQUIRE(item->order_of & state && item->order_of & MAIN_STATES);
	REQUIRE(!(item->order_of & (item->order_of - 1)));
	REQUIRE(!item->dirty_for || state & (KWQ_IS_READY | KWQ_IS_DIRTY));
	REQUIRE(!item->processing_for || state & KWQ_IS_PROCESSING);
	REQUIRE(!item->waiting_for || state & KWQ_IS_WAITING);
	REQUIRE(!item->due_in || state & KWQ_IS_WAITING);
	REQUIRE(!item->dead_for || state & KWQ_IS_DEAD);
	REQUIRE(!item->lease_left || state & KWQ_IS_PROCESSING);
	REQUIRE(!item->next_priority || state & KWQ_IS_DIRTY);
	REQUIRE(!item->wait_priority || state & KWQ_IS_WAITING);
	REQUIRE(item->priority >= KWQ_PRIORITY_MIN && item->priority <= KWQ_PRIORITY_MAX);
	REQUIRE(item->pid >= 0 && (!item->pid || state & KWQ_IS_PROCESSING));
	REQUIRE(item->key_len >= 1 && item->key_len <= KEY_ROOM);
	REQUIRE(item->group_len <= KWQ_GROUP_MAX && item->value_len <= KWQ_VALUE_MAX);
	REQUIRE(item->note_len <= KWQ_NOTE_MAX);
}

/*
 * Lists up to @nr items, with @room bytes for their keys, and checks every byte. If @key is not
 * NULL, only that key.
 */
static inline int q_list_into(int q, struct listed_item *listed, unsigned int nr, size_t room,
			      __u32 states, const char *key, __u64 *after)
{
	size_t size = nr * sizeof(struct kwq_listed), used = 0;
	struct kwq_listed *entries = malloc(size + GUARD);
	__u8 *keys = malloc(room + GUARD);
	const struct kwq_list_items_args given = {
		.size = sizeof(given),
		.flags = key ? KWQ_LIST_KEY : 0,
		.after = *after,
		.states = states,
		.key_len = key ? strlen(key) : 0,
		.key = user_ptr(key),
		.batch = {
			.entries = user_ptr(entries),
			.keys = room ? user_ptr(keys) : 0,
			.keys_len = room,
			.nr = nr,
			.entry_size = sizeof(*entries),
		},
	};
	struct kwq_list_items_args arg = given;
	int ret, n;

	REQUIRE(entries && keys);
	poison(entries, size + GUARD);
	poison(keys, room + GUARD);
	ret = request(q, KWQ_IOC_LIST_ITEMS, &arg);
	n = ret < 0 ? 0 : ret;
	REQUIRE(n <= (int)nr);
	if (ret >= 0)
		*after = arg.after;
	else
		REQUIRE(arg.after == given.after);
	arg.after = given.after;
	REQUIRE(!memcmp(&arg, &given, sizeof(arg)));
	for (int i = 0; i < n; i++) {
		check_listed(&entries[i], states);
		listed[i].item = entries[i];
		memset(listed[i].key, 0, sizeof(listed[i].key));
		memcpy(listed[i].key, keys + used, entries[i].key_len);
		used += entries[i].key_len + entries[i].group_len;
	}
	require_poison_behind(entries, n * sizeof(*entries), size);
	require_poison_behind(keys, used, room);
	free(keys);
	free(entries);
	return ret;
}

static inline int q_list_page(int q, struct listed_item *listed, unsigned int nr, __u32 states,
			      __u64 *after)
{
	return q_list_into(q, listed, nr, nr * KEY_ROOM, states, NULL, after);
}

/* For qsort(): items of one state. */
static inline int by_order(const void *a, const void *b)
{
	const struct listed_item *one = a, *other = b;

	return one->item.order < other->item.order ? -1 : one->item.order > other->item.order;
}

/* Lists all dead items, @nr at most, in the order of their deaths. */
static inline int q_dead(int q, struct listed_item *dead, unsigned int nr)
{
	struct listed_item beyond;
	unsigned int found = 0;
	__u64 after = 0;
	int ret;

	do {
		if (found < nr)
			ret = q_list_page(q, dead + found, nr - found, KWQ_IS_DEAD, &after);
		else
			ret = q_list_page(q, &beyond, 1, KWQ_IS_DEAD, &after);
		if (ret < 0)
			return ret;
		found += ret;
		REQUIRE(found <= nr);
	} while (after);
	qsort(dead, found, sizeof(*dead), by_order);
	return found;
}

/* Lists the item of one key. */
static inline int q_look(int q, const char *key, struct listed_item *listed)
{
	__u64 after = 0;

	return q_list_into(q, listed, 1, KEY_ROOM, MAIN_STATES, key, &after);
}

/* Checks what holds for every item that has changed. */
static inline void check_changed(const struct kwq_listed *item)
{
	REQUIRE(item->change);
	if (item->state) {
		check_listed(item, ALL_STATES);
		return;
	}
	/* It is gone. */
	REQUIRE(is_zero(item, offsetof(struct kwq_listed, key_len)));
	REQUIRE(item->key_len >= 1 && item->key_len <= KEY_ROOM);
	REQUIRE(!item->group_len && !item->value_len && !item->note_len);
	REQUIRE(!item->next_priority);
	REQUIRE(!item->wait_priority && !item->requeues && !item->pid);
}

/* The creation of a queue is its first change. */
#define CREATION	1

/* The numbers that a follower passes from one call to the next. */
struct reader {
	__u64 after;
	__u64 kept;
	__u64 of_queue;
	__u64 resume;
};

/*
 * Reads up to @nr items that have changed, with @room bytes for their keys, and checks every
 * byte. @r changes only if the call succeeds, but for its @resume.
 */
static inline int q_changes_into(int q, struct reader *r, struct listed_item *read,
				 unsigned int nr, size_t room, __u32 flags, __u64 deadline)
{
	size_t size = nr * sizeof(struct kwq_listed), used = 0;
	struct kwq_listed *entries = malloc(size + GUARD);
	__u8 *keys = malloc(room + GUARD);
	struct kwq_changes_args given = {
		.size = sizeof(given),
		.flags = flags,
		.after = r->after,
		.kept = r->kept,
		.of_queue = r->of_queue,
		.deadline = deadline,
		.resume = r->resume,
		.batch = {
			.entries = user_ptr(entries),
			.keys = room ? user_ptr(keys) : 0,
			.keys_len = room,
			.nr = nr,
			.entry_size = sizeof(*entries),
		},
	};
	struct {
		struct kwq_changes_args args;
		__u8 guard[GUARD];
	} arg;
	__u64 last = r->after;
	int ret, n;

	REQUIRE(entries && keys);
	poison(entries, size + GUARD);
	poison(keys, room + GUARD);
	poison(&arg, sizeof(arg));
	arg.args = given;
	ret = request(q, KWQ_IOC_CHANGES, &arg);
	n = ret < 0 ? 0 : ret;
	REQUIRE(n <= (int)nr);
	REQUIRE(is_poison(arg.guard, sizeof(arg.guard)));
	REQUIRE(!arg.args.resume || ret == -EINTR || (ret < 0 && arg.args.resume == given.resume));
	REQUIRE(ret || arg.args.of_queue != given.of_queue);
	for (int i = 0; i < n; i++) {
		check_changed(&entries[i]);
		REQUIRE(entries[i].change > last);
		last = entries[i].change;
		read[i].item = entries[i];
		memset(read[i].key, 0, sizeof(read[i].key));
		memcpy(read[i].key, keys + used, entries[i].key_len);
		used += entries[i].key_len + entries[i].group_len;
	}
	if (ret >= 0) {
		REQUIRE(arg.args.after >= last && arg.args.of_queue >= given.of_queue);
		given.after = arg.args.after;
		given.of_queue = arg.args.of_queue;
	}
	given.resume = arg.args.resume;
	REQUIRE(faults_are_made || !memcmp(&arg.args, &given, sizeof(given)));
	r->after = given.after;
	r->of_queue = given.of_queue;
	r->resume = given.resume;
	require_poison_behind(entries, n * sizeof(*entries), size);
	require_poison_behind(keys, used, room);
	free(keys);
	free(entries);
	return ret;
}

static inline int q_changes(int q, struct reader *r, struct listed_item *read, unsigned int nr,
			    __u32 flags, __u64 deadline)
{
	return q_changes_into(q, r, read, nr, nr * KEY_ROOM, flags, deadline);
}

/* Runs KWQ_IOC_GET unchanged. The input members must stay unchanged. */
static inline int q_get_raw(int q, struct kwq_get_args *get)
{
	struct {
		struct kwq_get_args get;
		__u8 guard[GUARD];
	} arg;
	int ret;

	poison(&arg, sizeof(arg));
	arg.get = *get;
	ret = request(q, KWQ_IOC_GET, &arg);
	REQUIRE(is_poison(arg.guard, sizeof(arg.guard)));
	REQUIRE(!memcmp(&arg.get, get, offsetof(struct kwq_get_args, nr_added)));
	*get = arg.get;
	return ret;
}

struct item {
	__u64 ticket;
	__u32 key_len;
	__s32 priority;
	__u32 abandoned;
	__u32 requeues;
	char key[KEY_ROOM + 1];		/* ended by a NUL */
};

/*
 * Fetches up to @nr items with keys of up to KEY_ROOM bytes, and checks every byte of
 * the buffers. Returns the number of items, or a negative errno.
 */
static inline int q_get_many(int q, struct item *items, unsigned int nr, __u32 flags,
			     __u64 deadline)
{
	size_t got_size = nr * sizeof(struct kwq_got), room = nr * KEY_ROOM, used = 0;
	struct kwq_got *got = malloc(got_size + GUARD);
	__u8 *keys = malloc(room + GUARD);
	struct kwq_get_args get = GET_ARGS(got, user_ptr(keys), room, nr, .flags = flags,
					   .deadline = deadline);
	int ret, n;

	REQUIRE(got && keys);
	poison(got, got_size + GUARD);
	poison(keys, room + GUARD);
	ret = q_get_raw(q, &get);
	n = ret < 0 ? 0 : ret;

	REQUIRE(ret && n <= (int)nr);
	for (int i = 0; i < n; i++) {
		REQUIRE(got[i].ticket);
		REQUIRE(got[i].key_len >= 1 && got[i].key_len <= KEY_ROOM);
		items[i].ticket = got[i].ticket;
		items[i].key_len = got[i].key_len;
		items[i].priority = got[i].priority;
		items[i].abandoned = got[i].abandoned;
		items[i].requeues = got[i].requeues;
		memset(items[i].key, 0, sizeof(items[i].key));
		memcpy(items[i].key, keys + used, got[i].key_len);
		used += got[i].key_len;
	}
	if (!faults_are_made) {
		REQUIRE(is_poison(got + n, got_size + GUARD - n * sizeof(*got)));
		REQUIRE(is_poison(keys + used, room + GUARD - used));
	}
	REQUIRE(is_poison((__u8 *)got + got_size, GUARD));
	REQUIRE(is_poison(keys + room, GUARD));
	free(keys);
	free(got);
	return ret;
}

static inline int q_get(int q, struct item *item, __u32 flags, __u64 deadline)
{
	return q_get_many(q, item, 1, flags, deadline);
}

/* Gets an item with its token, and checks every byte. */
static inline int q_get_token(int q, struct item *item, __u64 *token, __u32 flags, __u64 deadline)
{
	struct {
		struct kwq_got got;
		__u8 guard[GUARD];
	} got;
	struct {
		struct kwq_got_extra extra;
		__u8 guard[GUARD];
	} extra;
	__u8 key[KEY_ROOM + GUARD];
	struct kwq_get_args get = {
		.size = sizeof(get),
		.flags = flags,
		.deadline = deadline,
		.get = {
			.entries = user_ptr(&got),
			.keys = user_ptr(key),
			.extras = user_ptr(&extra),
			.keys_len = KEY_ROOM,
			.nr = 1,
			.entry_size = sizeof(got.got),
			.extra_size = sizeof(extra.extra),
		},
	};
	int ret;

	poison(&got, sizeof(got));
	poison(&extra, sizeof(extra));
	poison(key, sizeof(key));
	ret = q_get_raw(q, &get);
	REQUIRE(is_poison(got.guard, sizeof(got.guard)));
	REQUIRE(is_poison(extra.guard, sizeof(extra.guard)));
	if (ret < 0) {
		REQUIRE(is_poison(&got, sizeof(got)) && is_poison(&extra, sizeof(extra)));
		REQUIRE(is_poison(key, sizeof(key)));
		return ret;
	}
	REQUIRE(ret == 1 && got.got.key_len >= 1 && got.got.key_len <= KEY_ROOM);
	REQUIRE(!extra.extra.value_len && !extra.extra.group_len);
	REQUIRE(is_poison(key + got.got.key_len, sizeof(key) - got.got.key_len));
	*item = (struct item){
		.ticket = got.got.ticket,
		.key_len = got.got.key_len,
		.priority = got.got.priority,
		.abandoned = got.got.abandoned,
		.requeues = got.got.requeues,
	};
	memcpy(item->key, key, got.got.key_len);
	*token = extra.extra.token;
	return ret;
}

static inline int q_try_get(int q, struct item *item)
{
	return q_get(q, item, KWQ_GET_NONBLOCK, 0);
}

static inline int q_wait_get(int q, struct item *item)
{
	return q_get(q, item, 0, KWQ_NO_DEADLINE);
}

/*
 * The state of a queue at rest; omitted members are zero. An item that is both waiting
 * and ready, or waiting and processing, counts once in @items.
 */
struct picture {
	__u64 ready;
	__u64 waiting;
	__u64 processing;
	__u64 items;
	__u32 state;
};

struct counts {
	__u64 adds;
	__u64 coalesced;
	__u64 gets;
	__u64 dones;
	__u64 abandoned;
	__u64 removed;
	__u64 dropped;
};

/*
 * check_stat(q, .ready = 1, .items = 1): checks the whole state of the queue, including
 * its length (Q7)
 */
#define check_stat(q, ...)							\
	do {									\
		const struct picture want_ = { __VA_ARGS__ };			\
		struct kwq_stat stat_;						\
		const int q_ = (q);						\
										\
		ASSERT_EQ(0, q_stat(q_, &stat_));				\
		EXPECT_EQ(want_.ready, stat_.ready);				\
		EXPECT_EQ(want_.waiting, stat_.waiting);			\
		EXPECT_EQ(want_.processing, stat_.processing);			\
		EXPECT_EQ(want_.items, stat_.items);				\
		EXPECT_EQ(want_.state, stat_.state);				\
		EXPECT_EQ(!stat_.items, !stat_.bytes);				\
		EXPECT_EQ(stat_.ready, (__u64)q_len(q_));			\
	} while (0)

/* check_counts(q, .adds = 1, ...): checks all counters */
#define check_counts(q, ...)							\
	do {									\
		const struct counts want_ = { __VA_ARGS__ };			\
		struct kwq_stat stat_;						\
		const int q_ = (q);						\
										\
		ASSERT_EQ(0, q_stat(q_, &stat_));				\
		EXPECT_EQ(want_.adds, stat_.adds);				\
		EXPECT_EQ(want_.coalesced, stat_.coalesced);			\
		EXPECT_EQ(want_.gets, stat_.gets);				\
		EXPECT_EQ(want_.dones, stat_.dones);				\
		EXPECT_EQ(want_.abandoned, stat_.abandoned);			\
		EXPECT_EQ(want_.removed, stat_.removed);			\
		EXPECT_EQ(want_.dropped, stat_.dropped);			\
	} while (0)

/* Gets the next item into @into without waiting. It must be @want. */
#define expect_next(q, into, want)						\
	do {									\
		struct item *next_ = (into);					\
										\
		ASSERT_EQ(1, q_try_get(q, next_));				\
		EXPECT_STREQ(want, next_->key);					\
	} while (0)

/* Gets and finishes the next item. It must be @want. */
#define expect_take(q, want)							\
	do {									\
		struct item item_;						\
		const int q_ = (q);						\
										\
		expect_next(q_, &item_, want);					\
		EXPECT_EQ(KWQ_FINISHED, q_done(q_, item_.ticket));		\
	} while (0)

/* Configurations of retries: config_of(limiters) */

#define EXPONENTIAL(base_, max_)						\
	{ .kind = KWQ_LIMITER_EXPONENTIAL, .u.exponential = { .base = base_, .max = max_ } }
#define FAST_SLOW(fast_, slow_, nr_)						\
	{ .kind = KWQ_LIMITER_FAST_SLOW,					\
	  .u.fast_slow = { .fast = fast_, .slow = slow_, .nr_fast = nr_ } }
#define BUCKET(events_, period_, burst_)					\
	{ .kind = KWQ_LIMITER_BUCKET,						\
	  .u.bucket = { .period = period_, .events = events_, .burst = burst_ } }
#define BACKOFF(...)	{ .kind = KWQ_LIMITER_BACKOFF, .u.backoff = { __VA_ARGS__ } }

/* No limiters: the default ones. */
static inline struct kwq_config default_config(void)
{
	return (struct kwq_config){ .size = sizeof(struct kwq_config) };
}

/* The limiters of an array. */
#define config_of(limiters_)							\
	({									\
		__auto_type of_ = &(limiters_);					\
										\
		(struct kwq_config){						\
			.size = sizeof(struct kwq_config),			\
			.nr = ARRAY_SIZE(*of_),					\
			.limiters = user_ptr(*of_),				\
			.limiter_size = sizeof(struct kwq_limiter),		\
		};								\
	})

/* Batches that are built entry by entry */

struct batch {
	union {
		struct kwq_add_entry add[KWQ_BATCH_MAX];
		struct kwq_done_entry done[KWQ_BATCH_MAX];
		struct kwq_extend_entry extend[KWQ_BATCH_MAX];
		struct kwq_remove_entry remove[KWQ_BATCH_MAX];
		struct kwq_key_entry key[KWQ_BATCH_MAX];
		struct kwq_restore_entry restore[KWQ_BATCH_MAX];
	};
	__s32 results[KWQ_BATCH_MAX + GUARD / 4];
	__u8 keys[KWQ_BATCH_MAX * KEY_ROOM];
	__u32 keys_len;
	unsigned int nr;
};

static inline struct batch *new_batch(void)
{
	struct batch *b = calloc(1, sizeof(*b));

	REQUIRE(b);
	return b;
}

/* Only needed for a new batch: clearing all of it takes long. */
static inline void batch_begin(struct batch *b)
{
	b->nr = 0;
	b->keys_len = 0;
}

static inline __u32 batch_key(struct batch *b, const char *key)
{
	size_t len = strlen(key);

	REQUIRE(b->nr < KWQ_BATCH_MAX && b->keys_len + len <= sizeof(b->keys));
	memcpy(b->keys + b->keys_len, key, len);
	b->keys_len += len;
	return len;
}

static inline void batch_add_with(struct batch *b, const char *key, __u32 flags, int priority,
				  __u64 time)
{
	__u32 len = batch_key(b, key);

	b->add[b->nr++] = (struct kwq_add_entry){
		.key_len = len,
		.flags = flags,
		.priority = priority,
		.time = time,
	};
}

static inline void batch_add(struct batch *b, const char *key)
{
	batch_add_with(b, key, 0, 0, 0);
}

static inline void batch_done(struct batch *b, __u64 ticket)
{
	b->done[b->nr++] = (struct kwq_done_entry){ .ticket = ticket };
}

static inline void batch_done_key(struct batch *b, const char *key)
{
	__u32 len = batch_key(b, key);

	b->done[b->nr++] = (struct kwq_done_entry){ .key_len = len };
}

static inline void batch_extend(struct batch *b, __u64 ticket)
{
	b->extend[b->nr++] = (struct kwq_extend_entry){ .ticket = ticket };
}

static inline void batch_remove(struct batch *b, const char *key)
{
	__u32 len = batch_key(b, key);

	b->remove[b->nr++] = (struct kwq_remove_entry){ .key_len = len };
}

/* An entry for a forget or for reading requeues. */
static inline void batch_ask(struct batch *b, const char *key)
{
	__u32 len = batch_key(b, key);

	b->key[b->nr++] = (struct kwq_key_entry){ .key_len = len };
}

static inline void batch_restore(struct batch *b, const char *key, struct kwq_restore_entry entry)
{
	entry.key_len = batch_key(b, key);
	b->restore[b->nr++] = entry;
}

static inline size_t batch_entry_size(unsigned long cmd)
{
	switch (cmd) {
	case KWQ_IOC_ADD:
		return sizeof(struct kwq_add_entry);
	case KWQ_IOC_DONE:
		return sizeof(struct kwq_done_entry);
	case KWQ_IOC_EXTEND:
		return sizeof(struct kwq_extend_entry);
	case KWQ_IOC_REMOVE:
		return sizeof(struct kwq_remove_entry);
	case KWQ_IOC_RESTORE:
		return sizeof(struct kwq_restore_entry);
	default:
		return sizeof(struct kwq_key_entry);
	}
}

/* The batch as a member of struct kwq_get_args or of an operation. Poisons the results. */
static inline struct kwq_batch batch_of(unsigned long cmd, struct batch *b)
{
	poison(b->results, sizeof(b->results));
	return (struct kwq_batch){
		.entries = user_ptr(b->add),
		.keys = b->keys_len ? user_ptr(b->keys) : 0,
		.results = user_ptr(b->results),
		.keys_len = b->keys_len,
		.nr = b->nr,
		.entry_size = batch_entry_size(cmd),
	};
}

/* Runs the batch. Only results of entries that were taken may be written. */
static inline int batch_run(int q, unsigned long cmd, struct batch *b)
{
	const struct kwq_batch_args op = {
		.size = sizeof(op),
		.batch = batch_of(cmd, b),
	};
	int ret = request(q, cmd, &op);
	int n = ret < 0 ? 0 : ret;

	REQUIRE(n <= (int)b->nr);
	if (faults_are_made)
		n = b->nr;
	REQUIRE(is_poison(b->results + n, sizeof(b->results) - n * sizeof(b->results[0])));
	return ret;
}

/* Buffers with a fault at their end or in their middle */

/*
 * Returns the end of @pages readable and writable pages. The page behind them is not
 * accessible. user_edge_free() frees them.
 */
static inline __u8 *user_edge(size_t pages)
{
	size_t page = getpagesize();
	__u8 *p = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(p != MAP_FAILED);
	poison(p, pages * page);
	REQUIRE(!mprotect(p + pages * page, page, PROT_NONE));
	return p + pages * page;
}

static inline void user_edge_free(__u8 *edge, size_t pages)
{
	size_t page = getpagesize();

	REQUIRE(!munmap(edge - pages * page, (pages + 1) * page));
}

/* Sleepers: a call in a thread that can be observed to sleep */

/*
 * Waits until the kernel shows @tid asleep inside the system call @nr; for an ioctl,
 * inside the request @arg.
 */
static inline void wait_until_asleep(pid_t tid, long nr, unsigned long arg)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "/proc/%d/syscall", tid);
	for (;;) {
		unsigned long long first, second;
		long seen;

		REQUIRE(read_text(path, text, sizeof(text)) > 0);
		if (sscanf(text, "%ld %llx %llx", &seen, &first, &second) == 3 && seen == nr &&
		    (nr != __NR_ioctl || (__u32)second == (__u32)arg))
			return;
		sched_yield();
	}
}

/* How often a thread of this process went to sleep. */
static inline long times_slept(pid_t tid)
{
	char path[64], text[4096], *at;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	REQUIRE(read_text(path, text, sizeof(text)) > 0);
	at = strstr(text, "\nvoluntary_ctxt_switches:");
	REQUIRE(at);
	return atol(strchr(at, ':') + 1);
}

struct sleeper {
	_Atomic pid_t tid;
	_Atomic bool ended;
	int (*call)(struct sleeper *s);
	int ret;
	pthread_t thread;

	/* the arguments and results of the calls below */
	int fd;
	__u32 flags;
	__u64 deadline;
	struct item item;
	struct pollfd pollfd;
	void *arg;
};

static void *sleeper_thread(void *arg)
{
	struct sleeper *s = arg;

	atomic_store(&s->tid, gettid());
	s->ret = s->call(s);
	atomic_store(&s->ended, true);
	return NULL;
}

static inline void sleeper_start(struct sleeper *s)
{
	atomic_store(&s->tid, 0);
	atomic_store(&s->ended, false);
	REQUIRE(!pthread_create(&s->thread, NULL, sleeper_thread, s));
	while (!atomic_load(&s->tid))
		sched_yield();
}

static inline int sleeper_join(struct sleeper *s)
{
	REQUIRE(!pthread_join(s->thread, NULL));
	return s->ret;
}

static inline int call_get(struct sleeper *s)
{
	return q_get(s->fd, &s->item, s->flags, s->deadline);
}

/* Adds @arg, a string. */
static inline int call_add(struct sleeper *s)
{
	return q_add_wait_bytes(s->fd, s->arg, strlen(s->arg), s->flags, s->deadline);
}

static inline int call_drain(struct sleeper *s)
{
	return q_drain(s->fd, s->deadline);
}

/* The system calls behind poll() and epoll_wait(). */
#ifdef __NR_poll
#define NR_POLL		__NR_poll
#define NR_EPOLL_WAIT	__NR_epoll_wait
#else
#define NR_POLL		__NR_ppoll
#define NR_EPOLL_WAIT	__NR_epoll_pwait
#endif

/* Returns the events, or a negative errno. */
static inline int call_poll(struct sleeper *s)
{
	s->pollfd = (struct pollfd){ .fd = s->fd, .events = s->flags };
	if (poll(&s->pollfd, 1, -1) != 1)
		return -errno;
	return s->pollfd.revents;
}

/* Starts a thread in Get, and returns once the thread sleeps there. */
static inline void start_get(struct sleeper *s, int q)
{
	*s = (struct sleeper){ .call = call_get, .fd = q, .deadline = KWQ_NO_DEADLINE };
	sleeper_start(s);
	wait_until_asleep(s->tid, __NR_ioctl, KWQ_IOC_GET);
}

/* Starts a thread that adds, and returns once it waits for room. */
static inline void start_add(struct sleeper *s, int q, const char *key)
{
	*s = (struct sleeper){
		.call = call_add, .fd = q, .deadline = KWQ_NO_DEADLINE, .arg = (void *)key,
	};
	sleeper_start(s);
	wait_until_asleep(s->tid, __NR_ioctl, KWQ_IOC_ADD);
}

static inline void start_drain(struct sleeper *s, int q)
{
	*s = (struct sleeper){ .call = call_drain, .fd = q, .deadline = KWQ_NO_DEADLINE };
	sleeper_start(s);
	wait_until_asleep(s->tid, __NR_ioctl, KWQ_IOC_DRAIN);
}

static inline void start_poll(struct sleeper *s, int fd, short events)
{
	*s = (struct sleeper){ .call = call_poll, .fd = fd, .flags = events };
	sleeper_start(s);
	wait_until_asleep(s->tid, NR_POLL, 0);
}

/* Signals */

static _Atomic int signals;

static inline void count_signal(int sig)
{
	(void)sig;
	atomic_fetch_add(&signals, 1);
}

static inline void catch_signal(int flags)
{
	struct sigaction action = { .sa_handler = count_signal, .sa_flags = flags };

	atomic_store(&signals, 0);
	REQUIRE(!sigaction(SIGUSR1, &action, NULL));
}

/* Peers: child processes that communicate over two pipes */

#define GONE	INT_MIN		/* the answer of a peer that ended */

struct peer {
	pid_t pid;
	int to;
	int from;
};

static inline void say(struct peer *p, int word)
{
	REQUIRE(write(p->to, &word, sizeof(word)) == sizeof(word));
}

static inline int hear(struct peer *p)
{
	ssize_t n;
	int word;

	do {
		n = read(p->from, &word, sizeof(word));
	} while (n < 0 && errno == EINTR);
	return n == sizeof(word) ? word : GONE;
}

/*
 * Forks a child; the return value of @fn is its exit status. The child dies with the
 * test. It inherits all descriptors, so it shares their handles.
 */
static inline void start_peer(struct peer *p, int (*fn)(struct peer *parent, void *arg), void *arg)
{
	int down[2], up[2];

	REQUIRE(!pipe2(down, O_CLOEXEC) && !pipe2(up, O_CLOEXEC));
	fflush(NULL);
	p->pid = fork();
	REQUIRE(p->pid >= 0);
	if (!p->pid) {
		struct peer parent = { .to = up[1], .from = down[0] };

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(down[1]);
		close(up[0]);
		_exit(fn(&parent, arg));
	}
	close(down[0]);
	close(up[1]);
	p->to = down[1];
	p->from = up[0];
}

/* Returns the exit status, or the negative number of the signal. */
static inline int end_of_peer(struct peer *p)
{
	int status;

	REQUIRE(waitpid(p->pid, &status, 0) == p->pid);
	close(p->to);
	close(p->from);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static inline int kill_peer(struct peer *p)
{
	REQUIRE(!kill(p->pid, SIGKILL));
	return end_of_peer(p);
}

/* Moves the caller to a namespace whose clocks are @seconds ahead of the host's. */
static inline void enter_time_namespace(int seconds)
{
	char offsets[64];
	int fd;

	snprintf(offsets, sizeof(offsets), "monotonic %d 0\nboottime %d 0\n", seconds, seconds);
	REQUIRE(!unshare(CLONE_NEWTIME));
	REQUIRE(!write_text("/proc/self/timens_offsets", offsets));
	fd = open("/proc/self/ns/time_for_children", O_RDONLY | O_CLOEXEC);
	REQUIRE(fd >= 0 && !setns(fd, CLONE_NEWTIME));
	close(fd);
}

#ifndef KWQ_NO_HARNESS

/* The fixture of most tests: a queue. @make_queue has the device as self->dev. */
#define QUEUE_FIXTURE(name, make_queue)						\
FIXTURE(name)									\
{										\
	int dev;								\
	int q;									\
};										\
										\
FIXTURE_SETUP(name)								\
{										\
	self->dev = open_device();						\
	ASSERT_LE(0, self->dev);						\
	self->q = make_queue;							\
	ASSERT_LE(0, self->q);							\
}										\
										\
FIXTURE_TEARDOWN(name)								\
{										\
	close(self->q);								\
	close(self->dev);							\
}

/* The same with a second handle of the queue. */
#define TWO_HANDLES_FIXTURE(name, make_queue)					\
FIXTURE(name)									\
{										\
	int dev;								\
	int q;									\
	int other;								\
};										\
										\
FIXTURE_SETUP(name)								\
{										\
	self->dev = open_device();						\
	ASSERT_LE(0, self->dev);						\
	self->q = make_queue;							\
	ASSERT_LE(0, self->q);							\
	self->other = q_reopen(self->q);					\
	ASSERT_LE(0, self->other);						\
}										\
										\
FIXTURE_TEARDOWN(name)								\
{										\
	close(self->other);							\
	close(self->q);								\
	close(self->dev);							\
}

#endif /* KWQ_NO_HARNESS */

#endif /* KWQ_TEST_H */
