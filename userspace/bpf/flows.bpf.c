// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The part of kwq-flows that runs in the kernel. */
#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define AF_INET		2
#define AF_INET6	10

extern int bpf_kwq_add(__u64 token, const void *key, __u32 key__sz, __u64 flags) __ksym;

/* These members of the kernel's structure, wherever the running kernel has them. */
struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	struct {
		__u8 bytes[16];
	} skc_v6_daddr, skc_v6_rcv_saddr;
} __attribute__((preserve_access_index));

struct sock {
	struct sock_common __sk_common;
} __attribute__((preserve_access_index));

/* Set by the loader. */
const volatile __u64 token;

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(flows, const struct sock *sk)
{
	const struct sock_common *flow = &sk->__sk_common;
	__u16 here = flow->skc_num, there = bpf_ntohs(flow->skc_dport);
	char key[128];
	long len;

	if (flow->skc_family == AF_INET)
		len = BPF_SNPRINTF(key, sizeof(key), "tcp %pI4:%d %pI4:%d", &flow->skc_rcv_saddr,
				   here, &flow->skc_daddr, there);
	else if (flow->skc_family == AF_INET6)
		len = BPF_SNPRINTF(key, sizeof(key), "tcp [%pI6]:%d [%pI6]:%d",
				   &flow->skc_v6_rcv_saddr, here, &flow->skc_v6_daddr, there);
	else
		return 0;
	if (len < 2)
		return 0;
	/* The verifier understands no comparison with both bounds at once. */
	barrier_var(len);
	if (len <= (long)sizeof(key))
		/* Without the 0 at the end. */
		bpf_kwq_add(token, key, len - 1, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
