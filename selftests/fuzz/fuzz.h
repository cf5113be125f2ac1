/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A fuzzer of the device. Processes make random, half-valid requests on shared queues,
 * while their memory disappears, signals arrive and processes are killed.
 *
 * main.c: rounds. Starts processes, kills them, and checks what they left.
 *
 * process.c: everything a process does besides requests: descriptors, threads and
 * signals.
 *
 * request.c: random requests, some of them invalid.
 *
 * judge.c: the permitted results of a request: its errno, and the bytes that it writes.
 */
#ifndef KWQ_FUZZ_H
#define KWQ_FUZZ_H

#include <semaphore.h>

#include "../device/kwq_test.h"

#define PROCESSES	4	/* every other one is not root */
#define THREADS		2	/* of a process that make requests */
#define QUEUES		4	/* unnamed ones that everybody has in a round */
#define SLOTS		12	/* of a process, for descriptors that its threads share */
#define STEP		64	/* operations of which the parent is told at once */

/* Memory for the arguments of one call, one page for each. */
#define PAGE		4096
enum {
	ARG,			/* the structure */
	EXTRA,			/* of a configuration: its structure and its limiters */
	BATCHES,		/* each with its entries, keys and results */
	PAGES = BATCHES + 3 * 3,
};

#define ROOM		(PAGES * PAGE)
/*
 * Unmapped space behind the room, longer than an entry: a request that walks over its
 * entries faults there.
 */
#define GAP		(2 * PAGE)

enum kind {
	INFO, CREATE, OPEN, UNLINK, LIST, ADD, GET, DONE, REMOVE, LEN, STAT, SHUT_DOWN,
	SHUTTING_DOWN, DRAIN, FORGET, REQUEUES, CONFIGURE, CONFIG, LIST_DEAD, ADVANCE,
	EXTEND, LIST_ITEMS, PAUSE, RESUME, RESTORE, BOARD, TELL, FOLLOW, CHANGES,
	SYNC, TERM, UNKNOWN, KINDS
};

/* Shared by all processes. */
struct world {
	_Atomic __u64 operations;
	_Atomic __u64 faults;	/* made: failed, torn, interrupted and killed */
	_Atomic __u64 succeeded[KINDS];
	_Atomic __u64 refused[KINDS];
	int dev;
	int queues[QUEUES];
	int mail[2];		/* a socket pair over which descriptors are passed */
	int steps[2];		/* a pipe with a byte for each STEP operations */
};

/* The arguments of a call, for the judge. */
struct call {
	enum kind kind;
	unsigned long cmd;
	__u64 arg;
	bool torn;		/* pages come and go meanwhile */
	bool scribbled;		/* the arguments change during the call */
	bool failing;		/* an allocation or a copy fails */
	bool wild;		/* a pointer or a length is not what it was meant to be */
	int ret;
};

/* A thread that makes requests, and the thread that tears its arguments. */
struct fuzzer {
	struct world *world;
	struct process *process;
	__u64 random;
	__u8 *room;		/* the arguments, as this program sees them */
	__u8 *torn;		/* the same memory, of which pages may be missing */
	__u8 *before;		/* the content before the call */
	__u8 *may;		/* the bytes that the call may write */
	int memory;		/* a memfd of both */
	int nth;		/* fail-nth of the thread; -1 without */
	__u64 tickets[32];
	unsigned int nr_tickets;
	__u64 after;		/* the last number of a change that a call returned */
	int followed;		/* the slot of the handle on which FOLLOW succeeded */
	int slot;		/* the slot of the call; -1 for the device */
	int eager;		/* calls of the follower that come soon */
	struct call call;

	pthread_t tearer;
	sem_t begin;
	sem_t begun;
	sem_t end;
	sem_t ended;
	_Atomic bool calling;
};

struct process {
	struct world *world;
	int number;
	__u64 seed;
	bool is_root;
	int epoll;
	pthread_barrier_t ready;
	_Atomic int slots[SLOTS];
	struct fuzzer fuzzers[THREADS];
};

/* A random number from 0 to @nr - 1. */
static inline __u32 any(struct fuzzer *f, __u32 nr)
{
	return next_random(&f->random) % nr;
}

static inline bool one_in(struct fuzzer *f, __u32 nr)
{
	return !any(f, nr);
}

static inline __u8 *page_of(struct fuzzer *f, int page)
{
	return f->room + page * PAGE;
}

/* process.c */
void live(struct world *world, int number, __u64 seed) __attribute__((noreturn));
int slot_fd(struct fuzzer *f, int i);
void put_slot(struct fuzzer *f, int i, int fd);

/* request.c */
void make_request(struct fuzzer *f);
extern const char *const kind_names[KINDS];

/* judge.c */
void judge(struct fuzzer *f);
void judge_board(struct fuzzer *f, int fd);

#endif /* KWQ_FUZZ_H */
