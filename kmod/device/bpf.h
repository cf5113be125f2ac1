/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KWQ_BPF_H
#define KWQ_BPF_H

#include <linux/err.h>
#include <linux/kconfig.h>
#include <linux/types.h>

struct kwq_bpf;
struct kwq_keyed;

#if IS_ENABLED(CONFIG_BPF_SYSCALL)
int kwq_bpf_register(void);
void kwq_bpf_unregister(void);
struct kwq_bpf *kwq_bpf_open(struct kwq_keyed *keyed, u32 rights);
u64 kwq_bpf_token(const struct kwq_bpf *bpf);
void kwq_bpf_close(struct kwq_bpf *bpf);
#else
static inline int kwq_bpf_register(void) { return 0; }
static inline void kwq_bpf_unregister(void) { }

static inline struct kwq_bpf *kwq_bpf_open(struct kwq_keyed *keyed, u32 rights)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline u64 kwq_bpf_token(const struct kwq_bpf *bpf) { return 0; }
static inline void kwq_bpf_close(struct kwq_bpf *bpf) { }
#endif

#endif /* KWQ_BPF_H */
