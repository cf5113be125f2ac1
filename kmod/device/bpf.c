// SPDX-License-Identifier: GPL-2.0-only
/*
 * BPF programs that add keys (E1 to E4).
 *
 * A program names a queue by a token, a random number that a descriptor with the write right gives
 * out. All who know it may add: since a program is loaded once and may be run by anybody, there is
 * no caller whose rights could be checked. The token ends with the last descriptor of that handle.
 *
 * A program may run anywhere, also in an NMI and under kwq's own locks, so the kfuncs only call
 * kwq_add_key(), which may be called anywhere, too.
 */
#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/cleanup.h>
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include "bpf.h"
#include "compat.h"
#include "keyed/keyed.h"

/**
 * struct kwq_bpf - a token
 * @node: in tokens; written with tokens_lock held, read under RCU
 * @token: the number; constant
 * @keys: where its programs add; constant
 * @free: frees it once no program uses it any more
 */
struct kwq_bpf {
	struct hlist_node node;
	u64 token;
	struct kwq_key_queue *keys;
	struct rcu_work free;
};

static DEFINE_HASHTABLE(tokens, 8);
static DEFINE_MUTEX(tokens_lock);

/* Tokens that end; a workqueue of its own, because the module waits for all of them at its end. */
static struct workqueue_struct *free_wq;

/* The token is random, so its lowest bits choose a bucket as well as any. */
static struct kwq_bpf *find_token(u64 token)
{
	struct kwq_bpf *bpf;

	hlist_for_each_entry_rcu(bpf, &tokens[token % HASH_SIZE(tokens)], node,
				 lockdep_is_held(&tokens_lock))
		if (bpf->token == token)
			return bpf;
	return NULL;
}

/* With @is_valid false the queue refuses the add, and counts that. */
static int add_by_token(u64 token, bool is_valid, const void *key, u32 len,
			const struct kwq_key_options *options)
{
	struct kwq_bpf *bpf;

	/* Programs that may sleep run without it. */
	guard(rcu)();
	bpf = find_token(token);
	/* No key has 0 bytes. */
	return bpf ? kwq_add_key(bpf->keys, key, is_valid ? len : 0, options) : -ENOENT;
}

/**
 * bpf_kwq_add() - add a key to a queue (E1)
 * @token: the queue's token, from KWQ_IOC_BPF
 * @key: the bytes of the key
 * @key__sz: their number, 1 to KWQ_KEY_MAX
 * @flags: 0
 *
 * Return: as kwq_add_key(); -ENOENT also if there is no such token.
 */
__bpf_kfunc int bpf_kwq_add(u64 token, const void *key, u32 key__sz, u64 flags)
{
	return add_by_token(token, !flags, key, key__sz, NULL);
}

/**
 * bpf_kwq_add_value() - add a key with a value, perhaps after a delay (E1)
 * @options: the queue's token, and how to add
 * @key: the bytes of the key
 * @key__sz: their number, 1 to KWQ_KEY_MAX
 * @value: the bytes of the value; without KWQ_ADD_VALUE they are ignored
 * @value__sz: their number
 *
 * Return: as bpf_kwq_add().
 */
__bpf_kfunc int bpf_kwq_add_value(const struct bpf_kwq_options *options, const void *key,
				  u32 key__sz, const void *value, u32 value__sz)
{
	/* They may be in a map, which others write meanwhile. */
	u32 flags = READ_ONCE(options->flags);
	const struct kwq_key_options asked = {
		.flags = flags & ~KWQ_SET_JOINS,
		.priority = options->priority,
		.time = options->time,
		.at_most = options->at_most,
		.value = value,
		.value_len = flags & KWQ_ADD_VALUE ? value__sz : 0,
		.is_set = flags & KWQ_SET_JOINS,
	};

	return add_by_token(options->token, !(flags & KWQ_ADD_GROUP), key, key__sz, &asked);
}

BTF_KFUNCS_START(kfunc_ids)
BTF_ID_FLAGS(func, bpf_kwq_add, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_kwq_add_value, KF_TRUSTED_ARGS)
BTF_KFUNCS_END(kfunc_ids)

static const struct btf_kfunc_id_set kfunc_set = {
	.owner = THIS_MODULE,
	.set = &kfunc_ids,
};

static bool is_registered __ro_after_init;

/* Without BTF no program can name the functions. A module that has none registers them in vain. */
static bool __init has_btf(void)
{
#if !defined(MODULE)
	return IS_ENABLED(CONFIG_DEBUG_INFO_BTF);
#elif defined(CONFIG_DEBUG_INFO_BTF_MODULES)
	return THIS_MODULE->btf_data_size;
#else
	return false;
#endif
}

static void __init register_kfuncs(void)
{
	int err;

	if (!has_btf()) {
		pr_info("kwq: BPF programs cannot add keys, because the module was built without BTF: that takes pahole, and the vmlinux of the kernel\n");
		return;
	}
	/* For programs of all types. */
	err = register_btf_kfunc_id_set(BPF_PROG_TYPE_UNSPEC, &kfunc_set);
	if (err)
		pr_info("kwq: BPF programs cannot add keys (%d)\n", err);
	is_registered = !err;
}

/**
 * kwq_bpf_register() - let BPF programs add keys (E3)
 *
 * Return: 0 or -ENOMEM.
 */
int __init kwq_bpf_register(void)
{
	free_wq = alloc_workqueue("kwq_bpf", WQ_UNBOUND, 1);
	if (!free_wq)
		return -ENOMEM;
	register_kfuncs();
	return 0;
}

/**
 * kwq_bpf_unregister() - wait until all tokens are freed; no handle is left
 *
 * Context: process; sleeps.
 */
void kwq_bpf_unregister(void)
{
	/* A token that has just ended is on the workqueue only after a grace period. */
	rcu_barrier();
	destroy_workqueue(free_wq);
}

static void free_bpf(struct work_struct *work)
{
	struct kwq_bpf *bpf = container_of(to_rcu_work(work), struct kwq_bpf, free);

	kwq_key_queue_put(bpf->keys);
	kfree(bpf);
}

/* Returns false if the token exists already. */
static bool publish_token(struct kwq_bpf *bpf)
{
	guard(mutex)(&tokens_lock);
	bpf->token = get_random_u64();
	/* 0 is what a program has that was not told any. */
	if (!bpf->token || find_token(bpf->token))
		return false;
	hlist_add_head_rcu(&bpf->node, &tokens[bpf->token % HASH_SIZE(tokens)]);
	return true;
}

/**
 * kwq_bpf_open() - make a token for a handle
 * @keyed: its queue
 * @rights: its KWQ_RIGHT_* bits
 *
 * Context: process; may sleep.
 * Return: the token, for kwq_bpf_close(); or an ERR_PTR(): -EOPNOTSUPP, or as kwq_key_queue_get().
 */
struct kwq_bpf *kwq_bpf_open(struct kwq_keyed *keyed, u32 rights)
{
	struct kwq_key_queue *keys;
	struct kwq_bpf *bpf;

	if (!is_registered)
		return ERR_PTR(-EOPNOTSUPP);
	bpf = kzalloc(sizeof(*bpf), GFP_KERNEL_ACCOUNT);
	if (!bpf)
		return ERR_PTR(-ENOMEM);
	keys = kwq_key_queue_open(keyed, rights);
	if (IS_ERR(keys)) {
		kfree(bpf);
		return ERR_CAST(keys);
	}
	bpf->keys = keys;
	INIT_RCU_WORK(&bpf->free, free_bpf);
	while (!publish_token(bpf))
		;
	return bpf;
}

/**
 * kwq_bpf_token() - the number of a token
 * @bpf: the token
 *
 * Return: the number.
 */
u64 kwq_bpf_token(const struct kwq_bpf *bpf)
{
	return bpf->token;
}

/**
 * kwq_bpf_close() - end a token
 * @bpf: the token; NULL for none
 *
 * Programs that run now may still add.
 *
 * Context: process; may sleep.
 */
void kwq_bpf_close(struct kwq_bpf *bpf)
{
	if (!bpf)
		return;
	scoped_guard(mutex, &tokens_lock)
		hlist_del_rcu(&bpf->node);
	queue_rcu_work(free_wq, &bpf->free);
}
