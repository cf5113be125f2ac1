// SPDX-License-Identifier: GPL-2.0-only
/*
 * The board: a table of keys in memory that programs map, so that an add which coalesces needs no
 * system call (Q2).
 *
 * A key on the board is that of a dirty item. An add without options of such a key changes nothing
 * but a count. The first add that coalesces here puts the key on the board. It stays there until
 *
 * - the item is handed out: kwq_handout_begin()
 * - its processing ends and it is ready again, so that an add has another result:
 *   kwq_handout_end()
 * - the item is taken out: kwq_keyed_remove_locked()
 * - another key takes its place: kwq_board_post()
 * - a shut down begins, which closes the board: kwq_keyed_close_board()
 *
 * The core clears KWQ_ITEM_DIRTY of an item with a key in kwq_core_take() and kwq_core_remove()
 * only, for a hand-out and a remove. A drain and the end of a lease drop or abandon items, and
 * these are not dirty, or stay so. All of this happens under the queue's lock, and a key is taken
 * off in the same hold. See board_key.h for the order of memory accesses.
 *
 * Programs cannot write to the board: its descriptor is open for reading only.
 */
#include <asm/shmparam.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "board_key.h"
#include "keyed.h"
#include "queue/trace.h"

static_assert(sizeof(struct kwq_board) == sizeof(struct kwq_board_slot));

/* Bytes that the allocators use for a board; vmalloc() keeps a list of its pages. */
static u64 board_bytes(void)
{
	return KWQ_BOARD_BYTES + kwq_bytes_of_kmalloc(sizeof(struct kwq_keyed_board)) +
	       kwq_bytes_of_kmalloc(KWQ_BOARD_BYTES / PAGE_SIZE * sizeof(struct page *));
}

/**
 * kwq_board_free() - free a board
 * @board: the board, which nobody maps; or NULL
 *
 * Context: process; may sleep.
 */
void kwq_board_free(struct kwq_keyed_board *board)
{
	if (!board)
		return;
	vfree(board->map);
	kfree(board);
}

static struct kwq_board_slot *slot_of(const struct kwq_keyed_board *board, u32 nr)
{
	return kwq_board_slot_of(board->map, nr);
}

static struct kwq_keyed_board *make_board(void)
{
	struct kwq_keyed_board *board = kzalloc(sizeof(*board), GFP_KERNEL_ACCOUNT);
	u32 nr;

	if (!board)
		return NULL;
	/*
	 * vmalloc_user() would not charge the memory to the cgroup. Without __GFP_NORETRY, a cgroup
	 * at its limit would kill a process for a board. Without a board adds are only slower.
	 */
	board->map = __vmalloc(KWQ_BOARD_BYTES, GFP_KERNEL_ACCOUNT | __GFP_NOWARN |
			       __GFP_NORETRY | __GFP_ZERO);
	if (!board->map) {
		kfree(board);
		return NULL;
	}
	board->map->seed = get_random_u64();
	board->map->nr_slots = KWQ_BOARD_SLOTS;
	board->nr_slots = KWQ_BOARD_SLOTS;
	for (nr = 0; nr < KWQ_BOARD_SLOTS; nr++)
		slot_of(board, nr)->seq = 1;
	return board;
}

/**
 * kwq_keyed_provide_board() - make the board of a queue, unless it has one
 * @keyed: the queue
 *
 * Context: process; may sleep.
 * Return: 0, -ENOMEM, -EDQUOT; -EOPNOTSUPP if the caches of this machine may show a user's
 * mapping and the kernel's memory with different content, if an add has to wait until its change
 * is kept, or if it goes to another queue.
 */
int kwq_keyed_provide_board(struct kwq_keyed *keyed)
{
	struct kwq_keyed_board *board;
	unsigned long flags;

	if (keyed->limits.sync || keyed->outbox)
		return -EOPNOTSUPP;
	if (SHMLBA > PAGE_SIZE)
		return -EOPNOTSUPP;
	if (READ_ONCE(keyed->board))
		return 0;
	if (!kwq_keyed_charge(keyed, board_bytes()))
		return -EDQUOT;
	board = make_board();
	if (!board) {
		kwq_quota_uncharge(keyed->quota, board_bytes());
		return -ENOMEM;
	}
	spin_lock_irqsave(&keyed->queue.lock, flags);
	if (!keyed->board) {
		board->map->closed = keyed->board_is_closed;
		keyed->own_bytes += board_bytes();
		/* The lock's release is not enough for readers without the lock. */
		smp_store_release(&keyed->board, board);
		board = NULL;
	}
	spin_unlock_irqrestore(&keyed->queue.lock, flags);
	if (board) {
		kwq_board_free(board);
		kwq_quota_uncharge(keyed->quota, board_bytes());
	}
	return 0;
}

/* The slots that the key of an item may have. */
static void find_slots(const struct kwq_keyed_board *board, const struct kwq_keyed_item *ki,
		       struct kwq_board_key *key, u32 nrs[2])
{
	u64 hash;

	kwq_board_pack(key, ki->key, ki->key_len);
	hash = kwq_board_hash(board->map->seed, key);
	nrs[0] = kwq_board_slot_nr(hash, board->nr_slots, false);
	nrs[1] = kwq_board_slot_nr(hash, board->nr_slots, true);
}

/**
 * kwq_board_post() - put the key of a dirty item on the board, if it fits
 * @keyed: the queue; its lock held; it has a board
 * @ki: the item
 * @result: the result of an add without options
 *
 * It takes the place of another key only if both its slots are in use.
 */
noinline void kwq_board_post(struct kwq_keyed *keyed, struct kwq_keyed_item *ki, int result)
{
	struct kwq_keyed_board *board = keyed->board;
	struct kwq_keyed_item *old;
	struct kwq_board_key key;
	u32 nrs[2], nr;

	lockdep_assert_held(&keyed->queue.lock);
	if (ki->is_posted || !kwq_board_fits(ki->key_len))
		return;
	find_slots(board, ki, &key, nrs);
	nr = board->items[nrs[0]] && !board->items[nrs[1]] ? nrs[1] : nrs[0];
	old = board->items[nr];
	board->items[nr] = ki;
	ki->is_posted = true;
	kwq_board_write(slot_of(board, nr), &key, result);
	if (old) {
		old->is_posted = false;
		old->is_added = true;
		/*
		 * The hand-out of @old will clear no slot, so this barrier takes the place of
		 * that write: it pairs with smp_mb() in kwq_board_look().
		 */
		smp_mb();
	}
}

/**
 * kwq_board_take_off() - take the key of an item off the board
 * @keyed: the queue; its lock held
 * @ki: the item; its key is on the board
 */
noinline void kwq_board_take_off(struct kwq_keyed *keyed, struct kwq_keyed_item *ki)
{
	struct kwq_keyed_board *board = keyed->board;
	struct kwq_board_key key;
	u32 nrs[2], nr;

	lockdep_assert_held(&keyed->queue.lock);
	find_slots(board, ki, &key, nrs);
	nr = board->items[nrs[0]] == ki ? nrs[0] : nrs[1];
	ki->is_posted = false;
	/* The board may have answered adds of which nobody here has heard. */
	ki->is_added = true;
	board->items[nr] = NULL;
	kwq_board_clear(slot_of(board, nr));
}

/**
 * kwq_keyed_close_board() - let no add be answered by the board any more
 * @keyed: the queue; a shut down follows
 *
 * A board that is made later is closed, too.
 *
 * Context: process.
 */
void kwq_keyed_close_board(struct kwq_keyed *keyed)
{
	unsigned long flags;

	spin_lock_irqsave(&keyed->queue.lock, flags);
	keyed->board_is_closed = true;
	if (keyed->board)
		WRITE_ONCE(keyed->board->map->closed, 1);
	smp_mb(); /* pairs with the smp_rmb() of kwq_board_look() that reads @closed last */
	spin_unlock_irqrestore(&keyed->queue.lock, flags);
}

/**
 * kwq_keyed_tell() - count adds that the board answered (M2)
 * @keyed: the queue
 * @adds: how many a program says there were
 *
 * Context: process.
 */
void kwq_keyed_tell(struct kwq_keyed *keyed, u64 adds)
{
	unsigned long flags;

	spin_lock_irqsave(&keyed->queue.lock, flags);
	if (check_add_overflow(keyed->posted, adds, &keyed->posted))
		keyed->posted = U64_MAX;
	trace_kwq_tell(&keyed->queue, adds);
	spin_unlock_irqrestore(&keyed->queue.lock, flags);
}
