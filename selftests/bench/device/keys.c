// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ten million keys in one queue: the cost of a cycle beside them, their memory, and how
 * long the kernel keeps the processor without a break while they are added and when the
 * queue is freed. A list of a million keys, and their way into a file and back.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define FEW		(10 * 1000)
#define MANY		(1000 * 1000)
#define MOST		(10 * 1000 * 1000)
#define KEY_LEN		8
#define CYCLES		100

/* No waiting item becomes due meanwhile. */
#define FIRST_NS	(3600ULL * 1000000000)

static struct kwq *queue;
static uint32_t next_key;
static unsigned int chance;

/*
 * The interval at which the witness wants the processor. It notices everything that
 * takes longer.
 */
#define WITNESS_NS	100000

static _Atomic int64_t *stretch;
static pid_t witness;

/*
 * Runs with the highest priority, so it gets the processor whenever the kernel
 * reschedules.
 */
static void __attribute__((noreturn)) be_witness(void)
{
	const struct sched_param first = { .sched_priority = 1 };
	uint64_t when = now_ns();

	must_call(sched_setscheduler(0, SCHED_FIFO, &first), "sched_setscheduler");
	for (;;) {
		struct timespec ts;
		int64_t late;

		when += WITNESS_NS;
		ts = (struct timespec){ when / 1000000000, when % 1000000000 };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
		late = now_ns() - when;
		if (late > *stretch)
			*stretch = late;
		if (late > 0)
			when += late;
	}
}

static void begin_witness(void)
{
	stretch = mmap(NULL, sizeof(*stretch), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (stretch == MAP_FAILED)
		must_call(-1, "mmap");
	*stretch = -1;
	witness = must_call(fork(), "fork");
	if (!witness)
		be_witness();
	/* Wait until the witness has slept once: then it runs first. */
	while (*stretch < 0)
		sched_yield();
}

static void end_witness(const char *name)
{
	must_call(kill(witness, SIGKILL), "kill");
	must_call(waitpid(witness, NULL, 0), "waitpid");
	report(name, *stretch, "ns");
	munmap(stretch, sizeof(*stretch));
}

/* Free memory of the machine, including the pages that each processor keeps in reserve. */
static double free_bytes(void)
{
	FILE *file = fopen("/proc/zoneinfo", "re");
	unsigned long pages, sum = 0;
	char line[128];

	if (!file)
		must_call(-1, "/proc/zoneinfo");
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, " pages free %lu", &pages) == 1 ||
		    sscanf(line, " count: %lu", &pages) == 1)
			sum += pages;
	fclose(file);
	return (double)sum * sysconf(_SC_PAGESIZE);
}

static void some_key(char key[KEY_LEN + 1])
{
	snprintf(key, KEY_LEN + 1, "%08x", next_key++);
}

/* Adds @nr keys in the fewest calls. */
static void add_keys(int nr, bool waiting)
{
	static struct kwq_add_entry entries[KWQ_BATCH_MAX];
	static char packed[KWQ_BATCH_MAX * KEY_LEN + 1];
	static __s32 results[KWQ_BATCH_MAX];
	const __s32 expected = waiting ? KWQ_WAITING : KWQ_ADDED;
	struct kwq_batch batch = {
		.entries = kwq_ptr(entries),
		.keys = kwq_ptr(packed),
		.results = kwq_ptr(results),
		.entry_size = sizeof(*entries),
	};

	for (; nr; nr -= batch.nr) {
		batch.nr = nr < KWQ_BATCH_MAX ? nr : KWQ_BATCH_MAX;
		batch.keys_len = batch.nr * KEY_LEN;
		for (__u32 i = 0; i < batch.nr; i++) {
			entries[i] = (struct kwq_add_entry){ .key_len = KEY_LEN };
			if (waiting) {
				entries[i].flags = KWQ_ADD_AFTER;
				entries[i].time = FIRST_NS + 1000ULL * rand_r(&chance);
			}
			some_key(packed + i * KEY_LEN);
		}
		if (must(kwq_add_batch(queue, &batch), "kwq_add_batch") != (int)batch.nr)
			fail("a batch was not taken as a whole", 0);
		for (__u32 i = 0; i < batch.nr; i++)
			if (results[i] != expected)
				fail("a new key was not taken as one", 0);
	}
}

/* Lists the keys of these states, and returns how many there are. */
static uint64_t list_keys(__u32 states)
{
	static struct kwq_listed entries[KWQ_BATCH_MAX];
	static char packed[KWQ_BATCH_MAX * KEY_LEN];
	struct kwq_list_items_args list = {
		.size = sizeof(list),
		.states = states,
		.batch = {
			.entries = kwq_ptr(entries),
			.keys = kwq_ptr(packed),
			.keys_len = sizeof(packed),
			.nr = KWQ_BATCH_MAX,
			.entry_size = sizeof(*entries),
		},
	};
	uint64_t nr = 0;

	do {
		nr += must(kwq_list_items(queue, &list), "kwq_list_items");
	} while (list.after);
	return nr;
}

/* A list of all keys, one that finds none, and the look at all of them for the oldest wait. */
static void bench_list(void)
{
	struct kwq_stat stat = { .size = sizeof(stat) };
	uint64_t begun = bench_clock();

	if (list_keys(KWQ_IS_READY) != MANY)
		fail("a list is not complete", 0);
	report("keys.list", (double)bench_since(begun) / MANY, "insn");
	begun = bench_clock();
	if (list_keys(KWQ_IS_DEAD))
		fail("nothing is dead", 0);
	report("keys.list.none", (double)bench_since(begun) / MANY, "insn");
	must(kwq_add_after(queue, "waiting", 7, FIRST_NS), "kwq_add_after");
	begun = bench_clock();
	must(kwq_stat(queue, &stat), "kwq_stat");
	report("keys.stat.waiting", (double)bench_since(begun) / MANY, "insn");
	must(kwq_remove(queue, "waiting", 7), "kwq_remove");
}

#define SAVED	"/tmp/saved"

/* Runs the command with the queue. */
static void run_command(struct kwq *q, const char *what, bool is_load)
{
	char name[16];
	int status;
	pid_t pid;

	snprintf(name, sizeof(name), "fd:%d", kwq_fd(q));
	pid = must_call(fork(), "fork");
	if (!pid) {
		fcntl(kwq_fd(q), F_SETFD, 0);
		execl("/bin/kwq", "kwq", what, is_load ? SAVED : name, is_load ? name : SAVED,
		      NULL);
		_exit(127);
	}
	must_call(waitpid(pid, &status, 0), "waitpid");
	if (status)
		fail(what, 0);
}

static void bench_save(void)
{
	uint64_t begun = bench_clock();
	struct kwq *again;

	run_command(queue, "save", false);
	report("keys.save", (double)bench_since(begun) / MANY, "insn");
	again = new_queue();
	begun = bench_clock();
	run_command(again, "load", true);
	report("keys.load", (double)bench_since(begun) / MANY, "insn");
	if (must(kwq_len(again), "kwq_len") != MANY)
		fail("a file lacks keys", 0);
	kwq_close(again);
	unlink(SAVED);
}

/* New keys go in at one end, and old ones out at the other, unless all keys wait. */
static int64_t sample_cycles(void)
{
	char added[CYCLES][KEY_LEN + 1], got[KEY_LEN];
	struct kwq_item item;
	uint64_t begun;

	for (int i = 0; i < CYCLES; i++)
		some_key(added[i]);
	begun = bench_clock();
	for (int i = 0; i < CYCLES; i++) {
		must(kwq_add(queue, added[i], KEY_LEN), "kwq_add");
		must(kwq_get(queue, &item, got, sizeof(got), KWQ_NO_DEADLINE), "kwq_get");
		must(kwq_done(queue, item.ticket), "kwq_done");
	}
	return bench_since(begun);
}

static void begin_keys(void)
{
	queue = new_queue();
	next_key = 0;
	chance = 1;
}

static void bench_few(const char *name, bool waiting)
{
	begin_keys();
	add_keys(FEW, waiting);
	measure(name, CYCLES, sample_cycles);
	kwq_close(queue);
}

static void bench_floor_of_stretch(void)
{
	begin_witness();
	for (int i = 0; i < MANY; i++)
		getppid();
	end_witness("keys.stretch.floor");
}

/* Waits for the work of RCU and of the workers that free queues: until no memory comes back. */
static void settle(void)
{
	double before;

	do {
		before = free_bytes();
		sleep(2);
	} while (free_bytes() - before > 1 << 20);
}

static void bench_list_many(void)
{
	begin_keys();
	add_keys(MANY, false);
	begin_witness();
	bench_list();
	end_witness("keys.stretch.list");
	bench_save();
	kwq_close(queue);
	settle();
}

static void bench_most_ready(void)
{
	double before = free_bytes();
	uint64_t begun = bench_clock();

	begin_keys();
	begin_witness();
	add_keys(MANY, false);
	report("keys.bytes.1m", (before - free_bytes()) / MANY, "B");
	add_keys(MOST - MANY, false);
	end_witness("keys.stretch.create");
	report("keys.create", (double)bench_since(begun) / MOST, "insn");
	report("keys.bytes.10m", (before - free_bytes()) / MOST, "B");

	measure("keys.cycle.ready.10m", CYCLES, sample_cycles);

	begun = bench_clock();
	begin_witness();
	kwq_close(queue);
	end_witness("keys.stretch.destroy");
	report("keys.destroy", (double)bench_since(begun) / MOST, "insn");

	settle();
	report("keys.retained", (before - free_bytes()) / MOST, "B");
}

static void bench_most_waiting(void)
{
	begin_keys();
	begin_witness();
	add_keys(MOST, true);
	end_witness("keys.stretch.create.waiting");
	measure("keys.cycle.waiting.10m", CYCLES, sample_cycles);
	begin_witness();
	kwq_close(queue);
	end_witness("keys.stretch.destroy.waiting");
}

void bench_keys(void)
{
	bench_few("keys.cycle.ready.10k", false);
	bench_few("keys.cycle.waiting.10k", true);
	bench_floor_of_stretch();
	bench_list_many();
	bench_most_ready();
	bench_most_waiting();
}
