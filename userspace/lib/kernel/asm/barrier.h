/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The kernel's barriers. C's fences are at least as strong: a release fence also orders loads
 * before it, and both order all memory of this process, which may be shared with others.
 */
#define smp_mb()	__atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_rmb()	__atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_wmb()	__atomic_thread_fence(__ATOMIC_RELEASE)
