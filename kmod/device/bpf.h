/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KWQ_BPF_H
#define KWQ_BPF_H

#include <linux/err.h>
#include <linux/printk.h>
#include <linux/types.h>
#include "compat.h"

struct bpf_kwq_options;
struct kwq_bpf;
struct kwq_keyed;

#if KWQ_HAS_BPF
/* BPF programs call these two, and nothing else does. */
int bpf_kwq_add(u64 token, const void *key, u32 key__sz, u64 flags);
int bpf_kwq_add_value(const struct bpf_kwq_options *options, const void *key, u32 key__sz,
		      const void *value, u32 value__sz);

int kwq_bpf_register(void);
void kwq_bpf_unregister(void);
struct kwq_bpf *kwq_bpf_open(struct kwq_keyed *keyed, u32 rights);
u64 kwq_bpf_token(const struct kwq_bpf *bpf);
void kwq_bpf_close(struct kwq_bpf *bpf);
#else
static inline int kwq_bpf_register(void)
{
	pr_info("kwq: BPF programs cannot add keys, because that takes Linux 6.12 with BPF\n");
	return 0;
}

static inline void kwq_bpf_unregister(void) { }

static inline struct kwq_bpf *kwq_bpf_open(struct kwq_keyed *keyed, u32 rights)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline u64 kwq_bpf_token(const struct kwq_bpf *bpf) { return 0; }
static inline void kwq_bpf_close(struct kwq_bpf *bpf) { }
#endif

#endif /* KWQ_BPF_H */
