// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parts of a cycle, which set its lower bound.
 */
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include "bench.h"

static s64 sample_lock(const struct bench *bench)
{
	static DEFINE_SPINLOCK(lock);
	unsigned long flags;
	unsigned int round;
	u64 begun;

	begun = bench_clock();
	for (round = 0; round < bench->rounds; round++) {
		spin_lock_irqsave(&lock, flags);
		spin_unlock_irqrestore(&lock, flags);
	}
	return bench_since(begun);
}

static s64 sample_clock(const struct bench *bench)
{
	unsigned int round;
	u64 begun;

	begun = bench_clock();
	for (round = 0; round < bench->rounds; round++)
		ktime_get();
	return bench_since(begun);
}

/* Includes the list checks that this kernel has enabled. */
static s64 sample_list(const struct bench *bench)
{
	struct list_head entries[2];
	LIST_HEAD(list);
	unsigned int round;
	u64 begun;

	list_add_tail(&entries[0], &list);
	begun = bench_clock();
	for (round = 0; round < bench->rounds; round++) {
		list_add_tail(&entries[1], &list);
		list_del(&entries[1]);
	}
	return bench_since(begun);
}

/* Hashes a key that was not in the cache before the copy. */
static __always_inline s64 hash(const struct bench *bench, size_t len)
{
	static const hsiphash_key_t secret = { { 0x6b7771, 0x6b7772 } };
	u64 key[4] = {};
	unsigned int round;
	u64 begun;

	begun = bench_clock();
	for (round = 0; round < bench->rounds; round++)
		key[0] += hsiphash(key, len, &secret);
	return bench_since(begun);
}

static s64 sample_hash(const struct bench *bench)
{
	return hash(bench, 8);
}

static s64 sample_hash32(const struct bench *bench)
{
	return hash(bench, 32);
}

static struct kmem_cache *cache;
static void *objects[BENCH_BURST];

/* About the size of an item with a short key. */
static int begin_cache(const struct bench *bench)
{
	cache = kmem_cache_create("kwq_bench", 160, 0, SLAB_ACCOUNT, NULL);
	return cache ? 0 : -ENOMEM;
}

static void end_cache(const struct bench *bench)
{
	kmem_cache_destroy(cache);
}

static s64 sample_item(const struct bench *bench)
{
	unsigned int round, failed = 0;
	u64 begun, took;
	void *object;

	begun = bench_clock();
	for (round = 0; round < bench->rounds; round++) {
		object = kmem_cache_alloc(cache, GFP_KERNEL_ACCOUNT);
		failed += !object;
		kmem_cache_free(cache, object);
	}
	took = bench_since(begun);
	return failed ? -ENOMEM : took;
}

static s64 sample_items(const struct bench *bench)
{
	unsigned int round, failed = 0;
	u64 begun, took;

	begun = bench_clock();
	for (round = 0; round < bench->rounds; round++) {
		if (kmem_cache_alloc_bulk(cache, GFP_KERNEL_ACCOUNT, bench->burst, objects))
			kmem_cache_free_bulk(cache, bench->burst, objects);
		else
			failed++;
	}
	took = bench_since(begun);
	return failed ? -ENOMEM : took;
}

static unsigned long user_page;

/* A page of the program that loads this module. */
static int begin_copy(const struct bench *bench)
{
	kthread_use_mm(bench_mm);
	user_page = vm_mmap(NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
			    MAP_ANONYMOUS | MAP_PRIVATE, 0);
	if (!IS_ERR_VALUE(user_page))
		return 0;
	kthread_unuse_mm(bench_mm);
	return user_page;
}

static void end_copy(const struct bench *bench)
{
	vm_munmap(user_page, PAGE_SIZE);
	kthread_unuse_mm(bench_mm);
}

static s64 sample_copy(const struct bench *bench)
{
	void __user *user = (void __user *)user_page;
	unsigned int round;
	u64 begun, took;
	u64 word, left = 0;

	begun = bench_clock();
	for (round = 0; round < bench->rounds; round++) {
		left += copy_from_user(&word, user, sizeof(word));
		left += copy_to_user(user, &word, sizeof(word));
	}
	took = bench_since(begun);
	return left ? -EFAULT : took;
}

static s64 sample_word(const struct bench *bench)
{
	u64 __user *user = (u64 __user *)user_page;
	unsigned int round;
	u64 begun, word;

	begun = bench_clock();
	for (round = 0; round < bench->rounds; round++) {
		if (!user_access_begin(user, sizeof(*user)))
			return -EFAULT;
		unsafe_get_user(word, user, fault);
		unsafe_put_user(word, user, fault);
		user_access_end();
	}
	return bench_since(begun);

fault:
	user_access_end();
	return -EFAULT;
}

const struct bench bench_floor_subject[] = {
	{ .name = "floor.lock", .rounds = 64, .burst = 1, .sample = sample_lock },
	{ .name = "floor.clock", .rounds = 64, .burst = 1, .sample = sample_clock },
	{ .name = "floor.list", .rounds = 64, .burst = 1, .sample = sample_list },
	{ .name = "floor.hash.key8", .rounds = 64, .burst = 1, .sample = sample_hash },
	{ .name = "floor.hash.key32", .rounds = 64, .burst = 1, .sample = sample_hash32 },
	{
		.name = "floor.item",
		.rounds = 64,
		.burst = 1,
		.begin = begin_cache,
		.sample = sample_item,
		.end = end_cache,
	},
	{
		.name = "floor.item.bulk64",
		.rounds = 4,
		.burst = BENCH_BURST,
		.begin = begin_cache,
		.sample = sample_items,
		.end = end_cache,
	},
	{
		.name = "floor.copy",
		.rounds = 64,
		.burst = 1,
		.begin = begin_copy,
		.sample = sample_copy,
		.end = end_copy,
	},
	{
		.name = "floor.copy.word",
		.rounds = 64,
		.burst = 1,
		.begin = begin_copy,
		.sample = sample_word,
		.end = end_copy,
	},
	{}
};
