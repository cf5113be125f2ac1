/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A slot of a board: how it is found, written and read. The module writes slots, and libkwq
 * reads them. Both compile this file, and so do the tests of both.
 *
 * One writer at a time changes a slot. Readers take no lock. A slot is a sequence lock that
 * does not retry: a reader that meets a writer does not find the key, which is always safe.
 * @seq is even only while the slot has a whole key.
 *
 *   writer			reader
 *   seq = odd			read seq (even)
 *   smp_wmb()			smp_rmb()
 *   len, result, key		len, result, key
 *   smp_wmb()			smp_rmb()
 *   seq = even, another one	read seq (the same)
 *
 * A reader that is stopped inside for 2^31 writes may find the same @seq by chance. To use that,
 * somebody must stop the reader, count the writes, and fill the slot with parts of the
 * reader's key. Somebody with these rights can take the key out of the queue anyway.
 *
 * A key that is found although it is gone would be a lost add. The barriers of clear and look
 * exclude that:
 *
 *   adder				getter, or caller of remove
 *   change the world			the item is not dirty any more
 *   smp_mb()				clear the slot: seq = odd
 *   read seq				smp_mb()
 *					look at the world
 *
 * If the adder reads a @seq from before the clearing, the getter sees the changed world. This is
 * the pattern "store buffering". It needs a full barrier on both sides, on x86 as on arm64, for
 * each side stores and then loads another address. On arm64 smp_mb() is DMB ISH. It covers the
 * program's memory, too, because both processes are in one inner shareable domain. The getter's
 * look comes after its return to user mode. No exception return is a barrier, so the one that
 * counts is that of the clearing.
 *
 * The later reads of a look need no more than smp_rmb(). They only tell whether the slot had
 * this key while @seq had the value that the first read found. The read of @closed comes last.
 * A shut down closes the board and has a full barrier before it is done. So a look that begins
 * after the shut down has returned, in whatever process, finds the board closed.
 */
#ifndef KWQ_BOARD_KEY_H
#define KWQ_BOARD_KEY_H

#include <asm/barrier.h>
#include <linux/compiler.h>
#include <linux/string.h>
#include <linux/types.h>
#include <uapi/linux/kwq.h>

#define KWQ_BOARD_WORDS		(KWQ_BOARD_KEY_MAX / 8)
#define KWQ_BOARD_FACTOR	0x9e3779b97f4a7c15ULL

/**
 * struct kwq_board_key - a key as a slot has it
 * @words: the bytes, padded with zeroes up to a whole word; the words behind it are undefined
 * @nr: number of words
 * @len: number of bytes, 1 to KWQ_BOARD_KEY_MAX
 */
struct kwq_board_key {
	__u64 words[KWQ_BOARD_WORDS];
	__u32 nr;
	__u32 len;
};

/**
 * kwq_board_fits() - can a key be on a board
 * @len: its length
 *
 * Return: true if it has 1 to KWQ_BOARD_KEY_MAX bytes.
 */
static inline bool kwq_board_fits(size_t len)
{
	return len - 1 < KWQ_BOARD_KEY_MAX;
}

/**
 * kwq_board_pack() - pack a key into words
 * @key: filled in
 * @bytes: the key
 * @len: its length; it fits
 */
static inline void kwq_board_pack(struct kwq_board_key *key, const void *bytes, __u32 len)
{
	const char *from = bytes, *end = from + (len & ~7U);
	__u32 nr = 0;

	for (; from != end; from += 8)
		memcpy(&key->words[nr++], from, 8);
	if (len % 8) {
		key->words[nr] = 0;
		memcpy(&key->words[nr++], from, len % 8);
	}
	key->nr = nr;
	key->len = len;
}

/**
 * kwq_board_hash() - compute the hash of a key
 * @seed: &kwq_board.seed
 * @key: the key
 *
 * Users know the seed and can choose keys that share slots. This costs them the use of the board,
 * and nobody walks a list.
 *
 * Return: the hash, for kwq_board_slot_nr().
 */
static inline __u64 kwq_board_hash(__u64 seed, const struct kwq_board_key *key)
{
	__u64 hash = seed ^ key->len;
	__u32 i = 0;

	/* A key has a word. */
	do {
		hash = (hash ^ key->words[i]) * KWQ_BOARD_FACTOR;
		hash ^= hash >> 32;
	} while (++i < key->nr);
	return hash * KWQ_BOARD_FACTOR;
}

/**
 * kwq_board_slot_nr() - find one of the two slots that a key may have
 * @hash: the hash of the key
 * @nr_slots: &kwq_board.nr_slots
 * @second: false for the first one, true for the other
 *
 * With one slot for each key, a tenth of 100 keys would share slots, and take turns in them.
 *
 * Return: the number of the slot.
 */
static inline __u32 kwq_board_slot_nr(__u64 hash, __u32 nr_slots, bool second)
{
	return ((second ? hash & 0xffffffff : hash >> 32) * nr_slots) >> 32;
}

static inline struct kwq_board_slot *kwq_board_slot_of(const struct kwq_board *board, __u32 nr)
{
	return (struct kwq_board_slot *)(board + 1) + nr;
}

/**
 * kwq_board_write() - write a key into a slot
 * @slot: the slot, whatever it has
 * @key: the key
 * @result: what an add of the key results in
 *
 * If the slot had another key, the caller calls smp_mb() afterwards, as kwq_board_clear() does.
 */
static inline void kwq_board_write(struct kwq_board_slot *slot, const struct kwq_board_key *key,
				   __u16 result)
{
	__u32 seq = slot->seq | 1, i;

	WRITE_ONCE(slot->seq, seq);
	smp_wmb(); /* pairs with the second smp_rmb() in kwq_board_look() */
	WRITE_ONCE(slot->len, key->len);
	WRITE_ONCE(slot->result, result);
	for (i = 0; i < KWQ_BOARD_WORDS; i++)
		WRITE_ONCE(slot->key[i], i < key->nr ? key->words[i] : 0);
	smp_wmb(); /* pairs with the first smp_rmb() in kwq_board_look() */
	WRITE_ONCE(slot->seq, seq + 1);
}

/**
 * kwq_board_clear() - clear a slot
 * @slot: the slot
 *
 * It keeps no bytes of the key.
 */
static inline void kwq_board_clear(struct kwq_board_slot *slot)
{
	__u32 i;

	WRITE_ONCE(slot->seq, slot->seq | 1);
	smp_wmb(); /* pairs with the second smp_rmb() in kwq_board_look() */
	WRITE_ONCE(slot->len, 0);
	WRITE_ONCE(slot->result, 0);
	for (i = 0; i < KWQ_BOARD_WORDS; i++)
		WRITE_ONCE(slot->key[i], 0);
	smp_mb(); /* pairs with smp_mb() in kwq_board_look() */
}

/* The result of an add if the slot has the key; else 0. The caller has called smp_mb(). */
static inline int kwq_board_look_at(const struct kwq_board_slot *slot,
				    const struct kwq_board_key *key)
{
	__u32 seq, i = 0;
	int result;

	seq = READ_ONCE(slot->seq);
	if (seq & 1)
		return 0;
	smp_rmb(); /* pairs with the second smp_wmb() in kwq_board_write() */
	if (READ_ONCE(slot->len) != key->len)
		return 0;
	do {
		if (READ_ONCE(slot->key[i]) != key->words[i])
			return 0;
	} while (++i < key->nr);
	result = READ_ONCE(slot->result);
	smp_rmb(); /* pairs with the first smp_wmb() of writers */
	return READ_ONCE(slot->seq) == seq ? result : 0;
}

/**
 * kwq_board_look() - is a key on a board
 * @board: the board
 * @key: the key
 *
 * Return: what an add of the key results in; 0 if it is not there.
 */
static inline int kwq_board_look(const struct kwq_board *board, const struct kwq_board_key *key)
{
	__u64 hash = kwq_board_hash(board->seed, key);
	__u32 nr_slots = board->nr_slots, nr = kwq_board_slot_nr(hash, nr_slots, false);
	int result;

	smp_mb(); /* pairs with smp_mb() in kwq_board_clear() */
	result = kwq_board_look_at(kwq_board_slot_of(board, nr), key);
	if (!result) {
		nr = kwq_board_slot_nr(hash, nr_slots, true);
		result = kwq_board_look_at(kwq_board_slot_of(board, nr), key);
	}
	if (!result)
		return 0;
	smp_rmb(); /* reads @closed last */
	return READ_ONCE(board->closed) ? 0 : result;
}

#endif /* KWQ_BOARD_KEY_H */
