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
 * users.c: whom the processes belong to, how much memory users may have, and whether they
 * have it back at the end of a round.
 *
 * request.c: random requests, some of them invalid.
 *
 * numbers.c, keys.c, batches.c, queues.c: their arguments, by kind.
 *
 * plan.c: sequences of requests with which a queue becomes full of something.
 *
 * waits.c: adds that wait for room until the queue is shut down.
 *
 * judge.c: the permitted results of a request: its errno, and the bytes that it writes.
 *
 * rights.c: what a descriptor of known rights may do.
 */
#ifndef KWQ_FUZZ_H
#define KWQ_FUZZ_H

#include <semaphore.h>

#include "abi_tables.h"
#include "../device/kwq_test.h"

#define PROCESSES	4
#define THREADS		2	/* of a process that make requests */
#define QUEUES		4	/* unnamed ones that everybody has in a round */
#define SLOTS		12	/* of a process, for descriptors that its threads share */
#define OWN		4	/* descriptors that a thread alone uses */
#define STEP		64	/* operations of which the parent is told at once */

/*
 * Memory for the arguments of one call. All areas of a call have one size: mostly a page, because
 * poisoning and comparing takes time, and sometimes as much as the longest value has.
 */
#define PAGE		4096
#define AREA_SMALL	PAGE
#define AREA_LARGE	(16 * PAGE)
enum {
	ARG,			/* the structure */
	EXTRA,			/* of a configuration: its structure and its limiters */
	VALUES,			/* and names of groups */
	BATCHES,		/* each with its entries, keys and results */
	AREAS = BATCHES + 3 * 3,
};

#define ROOM_MAX	(AREAS * AREA_LARGE)
/*
 * Unmapped space behind the room, longer than an entry: a request that walks over its
 * entries faults there.
 */
#define GAP		(2 * PAGE)

#define KIND(name, ...) name,
enum kind {
	KWQ_REQUESTS(KIND)
	UNKNOWN, KINDS
};

struct request {
	const char *name;
	unsigned long cmd;
	size_t size;
};

extern const struct request kinds[KINDS];

/* Addresses in the argument of a request, one behind the other. The last entry has no length. */
struct addresses {
	enum kind kind;
	size_t offset, length;
};

extern const struct addresses addresses[];

struct rule {
	int share;
	__u32 rights;
	int errors[8];
};

extern const struct rule rules[KINDS];

/*
 * A plan wants these of the arguments of a request, while one without a plan wants nothing. The
 * rest stays random, and now and then also that.
 */
#define WANT_LARGE	(1U << 0)	/* areas of the largest size, many entries */
#define WANT_VALUES	(1U << 1)	/* adds with values, or a queue for them */
#define WANT_CHANGES	(1U << 2)	/* a queue with changes */
#define WANT_OUTBOX	(1U << 3)	/* a queue whose outbox is an own handle */
#define WANT_FULL	(1U << 4)	/* a queue that is soon full */
#define WANT_REMEMBERED	(1U << 5)	/* restores of remembered items */
#define WANT_LIMITED	(1U << 6)	/* rate-limited adds, without a delay */
#define WANT_FRESH	(1U << 7)	/* keys that follow each other: all of them differ */
#define WANT_SHORT	(1U << 11)	/* short keys, of which a queue has many */
#define WANT_UNCHANGED	(1U << 8)	/* removes of what has not changed */
#define WANT_CALM	(1U << 9)	/* not spoiled and not disturbed */
#define WANT_NAME	(1U << 10)	/* a queue that has a name, of another user, perhaps */

/* Shared by all processes. */
struct world {
	_Atomic __u64 operations;
	_Atomic __u64 faults;	/* made: failed, torn, interrupted and killed */
	_Atomic __u64 succeeded[KINDS];
	_Atomic __u64 refused[KINDS];
	_Atomic __u64 plans;
	_Atomic __u64 waits;	/* adds that waited until a queue was shut down */
	_Atomic int expecting[PROCESSES]; /* threads that expect such adds back */
	int dev;
	int queues[QUEUES];
	int mail[2];		/* a socket pair over which descriptors are passed */
	int steps[2];		/* a pipe with a byte for each STEP operations */
};

/* A descriptor that only one thread uses, so that it is certain what it is. */
struct handle {
	int fd;
	__u32 rights;
	__u32 flags;		/* KWQ_CREATE_* bits of its queue */
	__u32 through;		/* rights of its outbox's descriptor, or all if unknown */
};

/* The arguments of a call, for the judge. */
struct call {
	enum kind kind;
	unsigned long cmd;
	__u64 arg;
	__u32 want;		/* WANT_* bits */
	const struct handle *own; /* on which the call is made, or NULL */
	const struct handle *outbox; /* of a new queue, if it is an own one */
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
	__u8 *space;		/* for the largest room */
	__u8 *torn_space;	/* the same memory, of which pages may be missing */
	__u8 *room;		/* the arguments of this call, at the end of that */
	__u8 *torn;
	size_t area;		/* bytes of each area of this call */
	__u8 *before;		/* the content before the call */
	__u8 *may;		/* the bytes that the call may write */
	int memory;		/* a memfd of both */
	int nth;		/* fail-nth of the thread; -1 without */
	__u64 tickets[KWQ_BATCH_MAX];
	unsigned int nr_tickets;
	__u32 fresh;		/* the number of the next fresh key */
	__u64 after;		/* the last number of a change that a call returned */
	int followed;		/* the slot of the handle on which FOLLOW succeeded */
	int slot;		/* the slot of the call; -1 for none */
	int eager;		/* calls of the follower that come soon */
	struct handle own[OWN];
	const struct step *plan; /* the next step; NULL without a plan */
	unsigned int again;	/* how often this step still comes */
	int guest;		/* a descriptor to which another thread has called */
	__u32 guest_want;
	unsigned int visits;	/* requests there that are still to come */
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
	_Atomic int meeting;	/* a descriptor at which a thread wants the others; -1 for none */
	_Atomic __u32 meeting_want;
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

/* Whether the plan wants this. It sometimes does not get it. */
static inline bool wants(struct fuzzer *f, __u32 want)
{
	return f->call.want & want && !one_in(f, 8);
}

static inline size_t room_of(const struct fuzzer *f)
{
	return AREAS * f->area;
}

static inline __u8 *area_of(struct fuzzer *f, int area)
{
	return f->room + area * f->area;
}

/* The kernel's view of an address in the room. */
static inline __u64 address(struct fuzzer *f, int area)
{
	return user_ptr(f->call.torn ? f->torn : f->room) + area * f->area;
}

/* Whether the return value determines how much was written. */
static inline bool is_plain(const struct call *c)
{
	return !c->torn && !c->scribbled && !c->failing && !c->wild;
}

/* process.c */
void live(struct world *world, int number, __u64 seed) __attribute__((noreturn));
int slot_fd(struct fuzzer *f, int i);
void put_slot(struct fuzzer *f, int i, int fd);

/* users.c */
struct memory {
	__u64 bytes[3];
};

void note_memory(int dev, struct memory *memory);
void require_memory(int dev, const struct memory *memory);
void limit_memory(__u64 *random);
void become_user(struct process *process);

/* request.c */
void make_request(struct fuzzer *f);
void request_of(struct fuzzer *f, __u32 want, struct handle *on, struct handle *to,
		enum kind kind);
void request_at(struct fuzzer *f, int fd, __u32 want);

/* numbers.c */
__u64 any_time(struct fuzzer *f);
__u64 any_deadline(struct fuzzer *f);
__u64 any_age(struct fuzzer *f);
__u32 any_size(struct fuzzer *f, __u32 max);
__u64 any_max_items(struct fuzzer *f);
__u64 any_max_bytes(struct fuzzer *f);

/* keys.c */
void any_name(struct fuzzer *f, __u8 to[KWQ_NAME_MAX + 1]);
__u32 any_key(struct fuzzer *f, __u8 *to, __u32 room);
void any_value(struct fuzzer *f, struct kwq_add_extra *extra);
void any_note(struct fuzzer *f, struct kwq_add_extra *extra);
void any_group(struct fuzzer *f, struct kwq_add_extra *extra);

/* batches.c */
void fill_in(struct fuzzer *f, struct kwq_batch *b, int place, enum kind kind);
void leave_room(struct fuzzer *f, struct kwq_batch *b, int place, enum kind kind);
__u64 any_change(struct fuzzer *f);

/* queues.c */
__u32 any_open_flags(struct fuzzer *f);
__u32 any_rights(struct fuzzer *f);
void any_config(struct fuzzer *f, struct kwq_config *config);
void build_create(struct fuzzer *f, struct kwq_create_args *create);
void keep_handle(struct fuzzer *f, struct handle *to);

/* plan.c */
void begin_plan(struct fuzzer *f);
void go_on_with_plan(struct fuzzer *f);
bool is_called(struct fuzzer *f);
void visit(struct fuzzer *f);

/* waits.c */
void wait_for_a_shut_down(struct fuzzer *f);

/* judge.c */
void judge(struct fuzzer *f);
void judge_board(struct fuzzer *f, int fd);
const void *told(struct fuzzer *f);
void wrong(const struct fuzzer *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/* rights.c */
void judge_rights(struct fuzzer *f);

#endif /* KWQ_FUZZ_H */
