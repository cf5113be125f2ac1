// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The part of kwq-cgroups that runs in the kernel. */
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* Enough for a word and a number of 64 bits. */
#define KEY_BYTES	32

extern int bpf_kwq_add(__u64 token, const void *key, __u32 key__sz, __u64 flags) __ksym;

/* These members of the kernel's structures, wherever the running kernel has them. */
struct kernfs_node {
	const char *name;
	__u64 id;
} __attribute__((preserve_access_index));

struct cgroup {
	struct kernfs_node *kn;
} __attribute__((preserve_access_index));

struct cgroup_subsys_state {
	struct cgroup *cgroup;
} __attribute__((preserve_access_index));

struct cgroup_file {
	struct kernfs_node *kn;
} __attribute__((preserve_access_index));

struct mem_cgroup {
	struct cgroup_subsys_state css;
	struct cgroup_file events_local_file;
} __attribute__((preserve_access_index));

struct task_group {
	struct cgroup_subsys_state css;
} __attribute__((preserve_access_index));

struct cfs_rq {
	struct task_group *tg;
} __attribute__((preserve_access_index));

/* Set by the loader. */
const volatile __u64 token;

static __always_inline void add(const char *key, long len)
{
	if (len < 2)
		return;
	/* The verifier understands no comparison with both bounds at once. */
	barrier_var(len);
	if (len <= KEY_BYTES)
		/* Without the 0 at the end. */
		bpf_kwq_add(token, key, len - 1, 0);
}

/* The scheduler has stopped a cgroup that has used up its cpu.max, and holds locks of its own. */
SEC("fentry/throttle_cfs_rq")
int BPF_PROG(throttled, struct cfs_rq *cfs_rq)
{
	__u64 id = cfs_rq->tg->css.cgroup->kn->id;
	char key[KEY_BYTES];

	add(key, BPF_SNPRINTF(key, sizeof(key), "cpu %llu", id));
	return 0;
}

/* A file of a cgroup has changed. memory.events.local does for this cgroup's own limits only. */
SEC("fentry/cgroup_file_notify")
int BPF_PROG(limited, struct cgroup_file *file)
{
	static const char events[] = "memory.events.local";
	struct mem_cgroup *memcg;
	char name[sizeof(events)], key[KEY_BYTES];
	__u64 id;

	if (bpf_probe_read_kernel_str(name, sizeof(name), BPF_CORE_READ(file, kn, name)) !=
	    sizeof(events) ||
	    bpf_strncmp(name, sizeof(name), events))
		return 0;
	memcg = (void *)file - bpf_core_field_offset(struct mem_cgroup, events_local_file);
	id = BPF_CORE_READ(memcg, css.cgroup, kn, id);
	add(key, BPF_SNPRINTF(key, sizeof(key), "memory %llu", id));
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
