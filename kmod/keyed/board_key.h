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
 * struct kwq_board_key - a key, as it is compared with a slot
 * @bytes: the caller's bytes
 * @len: number of bytes, 1 to KWQ_BOARD_KEY_MAX
 * @last: the bytes behind the last whole word, padded with zeroes
 *
 * Nothing is copied, so that a short key stays in registers.
 */
struct kwq_board_key {
	const __u8 *bytes;
	__u32 len;
	__u64 last;
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

static inline __u64 kwq_board_word(const __u8 *bytes)
{
	__u64 word;

	memcpy(&word, bytes, 8);
	return word;
}

/* Drops the first bytes of a word, and appends zeroes. */
static inline __u64 kwq_board_drop(__u64 word, __u32 bytes)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return word >> (bytes * 8);
#else
	return word << (bytes * 8);
#endif
}

/* The bytes behind the last whole word, of which there are some. It calls no function. */
static inline __u64 kwq_board_last(const __u8 *bytes, __u32 len)
{
	__u64 word = 0;

	if (len > 8)
		return kwq_board_drop(kwq_board_word(bytes + len - 8), 8 - len % 8);
	while (len--)
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		word = word << 8 | bytes[len];
#else
		word = word >> 8 | (__u64)bytes[len] << 56;
#endif
	return word;
}

/**
 * kwq_board_pack() - prepare a key
 * @key: filled in
 * @bytes: the key, which stays where it is as long as @key is in use
 * @len: its length; it fits
 */
static inline void kwq_board_pack(struct kwq_board_key *key, const void *bytes, __u32 len)
{
	key->bytes = bytes;
	key->len = len;
	key->last = len % 8 ? kwq_board_last(bytes, len) : 0;
}

static inline __u64 kwq_board_mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * KWQ_BOARD_FACTOR;
	return hash ^ hash >> 32;
}

/**
 * kwq_board_hash() - compute the hash of a key
 * @seed: &kwq_board.seed
 * @key: the key
 *
 * All that may add know the seed, and can choose keys that share slots with keys of others. Each
 * such key costs its adder two calls, and an adder of the other key one more, as without a board.
 * No add is lost, and nobody walks a list. So the hash has to spread keys, and no more.
 *
 * Return: the hash, for kwq_board_slot_nr().
 */
static inline __u64 kwq_board_hash(__u64 seed, const struct kwq_board_key *key)
{
	__u64 hash = seed ^ key->len;
	unsigned long i;

	for (i = 0; i < key->len / 8; i++)
		hash = kwq_board_mix(hash, kwq_board_word(key->bytes + i * 8));
	if (key->len % 8)
		hash = kwq_board_mix(hash, key->last);
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
	for (i = 0; i < key->len / 8; i++)
		WRITE_ONCE(slot->key[i], kwq_board_word(key->bytes + i * 8));
	if (key->len % 8)
		WRITE_ONCE(slot->key[i++], key->last);
	for (; i < KWQ_BOARD_WORDS; i++)
		WRITE_ONCE(slot->key[i], 0);
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
	unsigned long i;
	int result;
	__u32 seq;

	seq = READ_ONCE(slot->seq);
	if (seq & 1)
		return 0;
	smp_rmb(); /* pairs with the second smp_wmb() in kwq_board_write() */
	if (READ_ONCE(slot->len) != key->len)
		return 0;
	for (i = 0; i < key->len / 8; i++)
		if (READ_ONCE(slot->key[i]) != kwq_board_word(key->bytes + i * 8))
			return 0;
	if (key->len % 8 && READ_ONCE(slot->key[i]) != key->last)
		return 0;
	result = READ_ONCE(slot->result);
	smp_rmb(); /* pairs with the first smp_wmb() of writers */
	return READ_ONCE(slot->seq) == seq ? result : 0;
}

/**
 * kwq_board_look_in() - is a key in one of its two slots
 * @board: the board
 * @key: the key
 * @hash: its hash
 * @second: false for the first slot, true for the other
 *
 * The caller has called smp_mb() since it changed the world.
 *
 * Return: what an add of the key results in; 0 if it is not there.
 */
static inline int kwq_board_look_in(const struct kwq_board *board, const struct kwq_board_key *key,
				    __u64 hash, bool second)
{
	__u32 nr = kwq_board_slot_nr(hash, board->nr_slots, second);
	int result = kwq_board_look_at(kwq_board_slot_of(board, nr), key);

	if (!result)
		return 0;
	smp_rmb(); /* reads @closed last */
	return READ_ONCE(board->closed) ? 0 : result;
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

	smp_mb(); /* pairs with smp_mb() in kwq_board_clear() */
	return kwq_board_look_in(board, key, hash, false) ?:
	       kwq_board_look_in(board, key, hash, true);
}

#endif /* KWQ_BOARD_KEY_H */
