// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The board of a queue: adds that coalesce, without a system call.
 *
 * A handle begins to look at the board when adds through it have coalesced. Then it maps the
 * board. It stops after many looks in vain, each of which costs a few per cent of an add, and
 * begins again when adds have coalesced again. So a handle whose adds never coalesce pays nothing,
 * and a queue without such adds has no board.
 *
 * Threads may share a handle, so all members are atomic. A lost update of @looks or @until only
 * moves the moment when the handle begins or stops. No update of @untold is lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"
#include "../../kmod/keyed/board_key.h"

enum {
	/* How many adds have to coalesce before the handle looks at the board. */
	COALESCED = 16,
	/* After so many looks in vain without a hit in between, it stops. */
	LOOKS = 64,
	/* The kernel is told of so many adds at once. */
	UNTOLD = 1024,
};

static size_t size_of(const struct kwq_board *map)
{
	return sizeof(*map) + map->nr_slots * sizeof(struct kwq_board_slot);
}

/* Maps the board, unless another thread has done so meanwhile. */
static int map_board(struct kwq *q)
{
	struct kwq_board_args req = { .size = sizeof(req), .open_flags = O_CLOEXEC };
	const struct kwq_board *none = NULL;
	void *map;
	int fd, err;

	if (atomic_load_explicit(&q->board.map, memory_order_acquire))
		return 0;
	fd = kwq_ioctl(q->fd, KWQ_IOC_BOARD, &req);
	if (fd < 0)
		return fd;
	map = mmap(NULL, req.map_size, PROT_READ, MAP_SHARED, fd, 0);
	err = map == MAP_FAILED ? -errno : 0;
	close(fd);
	if (err)
		return err;
	if (!atomic_compare_exchange_strong_explicit(&q->board.map, &none, map,
						     memory_order_release,
						     memory_order_relaxed))
		munmap(map, req.map_size);
	return 0;
}

static void begin_to_look(struct kwq *q)
{
	atomic_store_explicit(&q->board.looks, LOOKS, memory_order_relaxed);
	atomic_store_explicit(&q->board.until, 0, memory_order_relaxed);
	atomic_store_explicit(&q->board.looked_at,
			      atomic_load_explicit(&q->board.map, memory_order_relaxed),
			      memory_order_release);
}

/* The board stays mapped, because another thread may be looking at it. */
static void stop_looking(struct kwq *q, int until)
{
	atomic_store_explicit(&q->board.looked_at, NULL, memory_order_relaxed);
	atomic_store_explicit(&q->board.until, until, memory_order_relaxed);
}

int kwq_use_board(struct kwq *q, bool use)
{
	int err;

	if (!use) {
		stop_looking(q, 0);
		return 0;
	}
	err = map_board(q);
	if (!err)
		begin_to_look(q);
	return err;
}

void kwq_board_note(struct kwq *q, size_t len)
{
	int until = atomic_load_explicit(&q->board.until, memory_order_relaxed);

	if (!kwq_board_fits(len))
		return;
	/* One thread counts down to 0. If it gets no board, the handle asks for none any more. */
	while (until && !atomic_compare_exchange_weak_explicit(&q->board.until, &until, until - 1,
							       memory_order_relaxed,
							       memory_order_relaxed))
		;
	if (until == 1 && !map_board(q))
		begin_to_look(q);
}

static void tell(struct kwq *q)
{
	struct kwq_tell_args req = {
		.size = sizeof(req),
		.adds = atomic_exchange_explicit(&q->board.untold, 0, memory_order_relaxed),
	};

	if (req.adds)
		kwq_ioctl(q->fd, KWQ_IOC_TELL, &req);
}

void kwq_board_tell(const struct kwq *q)
{
	/* Handles are allocated, so none is constant. */
	if (atomic_load_explicit(&q->board.untold, memory_order_relaxed))
		tell((struct kwq *)q);
}

static int __attribute__((noinline)) tell_after_hit(struct kwq *q, int result)
{
	tell(q);
	return result;
}

static inline int note_hit(struct kwq *q, int result)
{
	if (atomic_load_explicit(&q->board.looks, memory_order_relaxed) != LOOKS)
		atomic_store_explicit(&q->board.looks, LOOKS, memory_order_relaxed);
	if (atomic_fetch_add_explicit(&q->board.untold, 1, memory_order_relaxed) >= UNTOLD - 1)
		return tell_after_hit(q, result);
	return result;
}

static int add_after_miss(struct kwq *q, const void *key, size_t len)
{
	int looks = atomic_load_explicit(&q->board.looks, memory_order_relaxed);

	if (looks > 1)
		atomic_store_explicit(&q->board.looks, looks - 1, memory_order_relaxed);
	else
		stop_looking(q, COALESCED);
	return kwq_add_by_call(q, key, len);
}

/* The key is not in its first slot. Few are in the other one. */
static int __attribute__((noinline)) add_by_second_slot(struct kwq *q, const void *key, size_t len,
							__u64 hash)
{
	struct kwq_board_key packed;
	int result;

	kwq_board_pack(&packed, key, len);
	result = kwq_board_look_in(atomic_load_explicit(&q->board.map, memory_order_relaxed),
				   &packed, hash, true);
	return result ? note_hit(q, result) : add_after_miss(q, key, len);
}

/*
 * A hit in the first slot calls no function, and all calls of others come last. So it saves no
 * registers.
 */
int kwq_add(struct kwq *q, const void *key, size_t len)
{
	const struct kwq_board *board = atomic_load_explicit(&q->board.looked_at,
							     memory_order_acquire);
	struct kwq_board_key packed;
	__u64 hash;
	int result;

	/* The kernel has the errors for bad keys. */
	if (!board || !kwq_board_fits(len) || !key)
		return kwq_add_by_call(q, key, len);
	kwq_board_pack(&packed, key, len);
	hash = kwq_board_hash(board->seed, &packed);
	smp_mb(); /* pairs with smp_mb() in kwq_board_clear() */
	result = kwq_board_look_in(board, &packed, hash, false);
	return result ? note_hit(q, result) : add_by_second_slot(q, key, len, hash);
}

void kwq_board_init(struct kwq *q)
{
	atomic_init(&q->board.looked_at, NULL);
	atomic_init(&q->board.map, NULL);
	atomic_init(&q->board.looks, 0);
	atomic_init(&q->board.until, COALESCED);
	atomic_init(&q->board.untold, 0);
}

void kwq_board_close(struct kwq *q)
{
	const struct kwq_board *map = atomic_load_explicit(&q->board.map, memory_order_relaxed);

	kwq_board_tell(q);
	if (map)
		munmap((void *)map, size_of(map));
}
