// SPDX-License-Identifier: GPL-2.0-only
/*
 * The types of the kernel functions that kwq calls. They are compared when the module is
 * compiled, and generate no code.
 *
 * The type of a kernel function may change without a warning of the compiler. For example,
 * kmem_cache_alloc_bulk() returns a bool since 7.2. Code that used its result as a number
 * still compiled, and leaked all objects but one. On a kernel where a function has another
 * type than below, kwq does not compile. Then read what has changed, adapt the calls, and
 * write the new type here. If a function has two types in the supported kernels, compat.h
 * gets a wrapper that is right for both and compares them.
 *
 * The list has every function and macro that the sources name and that has a number in its
 * type. The compiler compares pointer types by itself, at each call. `make check` reports
 * entries that are missing here.
 */
#include <linux/anon_inodes.h>
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/bug.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/dcache.h>
#include <linux/delay.h>
#include <linux/fault-inject-usercopy.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/fs_struct.h>
#include <linux/fsnotify_backend.h>
#include <linux/hash.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/kref.h>
#include <linux/kstrtox.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/overflow.h>
#include <linux/poll.h>
#include <linux/preempt.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/seqlock.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/uidgid.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include "compat.h"

#define COMPLAINT(what)	"the kernel's " what " is of another type than kmod/prototypes.c says"

/* A function of this type. */
#define FUNCTION(returns, name, arguments)						\
	static_assert(__same_type(name, returns arguments), COMPLAINT(#name "()"))

/* A macro, or a function that is a macro in some kernels. A call of it has a value of this type. */
#define VALUE(type, call)								\
	static_assert(__same_type(call, type), COMPLAINT(#call))

/* The type depends on the architecture. The code works with both. */
#define EITHER(type, other, call)							\
	static_assert(__same_type(call, type) || __same_type(call, other),		\
		      COMPLAINT(#call))

/* The code only tests whether it is 0. */
#define CONDITION(call)									\
	static_assert(__same_type(call, int) || __same_type(call, long) ||		\
		      __same_type(call, bool), COMPLAINT(#call))

/* BPF */
FUNCTION(int, register_btf_kfunc_id_set, (enum bpf_prog_type, const struct btf_kfunc_id_set *));

/* Errors in pointers */
FUNCTION(void *, ERR_PTR, (long));
FUNCTION(bool, IS_ERR, (const void *));
FUNCTION(long, PTR_ERR, (const void *));
FUNCTION(int, PTR_ERR_OR_ZERO, (const void *));

/* Memory */
FUNCTION(size_t, kmalloc_size_roundup, (size_t));
FUNCTION(void, kmem_cache_free_bulk, (struct kmem_cache *, size_t, void **));
FUNCTION(unsigned long, totalram_pages, (void));

/* Bytes */
FUNCTION(void *, memchr_inv, (const void *, int, size_t));
FUNCTION(void *, memset32, (u32 *, u32, size_t));

/* The memory of programs */
FUNCTION(unsigned long, clear_user, (void __user *, unsigned long));
FUNCTION(unsigned long, copy_from_user, (void *, const void __user *, unsigned long));
FUNCTION(int, copy_struct_from_user, (void *, size_t, const void __user *, size_t));
FUNCTION(unsigned long, copy_to_user, (void __user *, const void *, unsigned long));
FUNCTION(bool, should_fail_usercopy, (void));

/* Arithmetic */
FUNCTION(u64, div64_u64, (u64, u64));
FUNCTION(u64, div64_u64_rem, (u64, u64, u64 *));
FUNCTION(u64, div_u64, (u64, u32));
FUNCTION(u64, div_u64_rem, (u64, u32, u32 *));
FUNCTION(bool, is_power_of_2, (unsigned long));
FUNCTION(u64, mul_u64_u64_shr, (u64, u64, unsigned int));

/* Atomic operations */
FUNCTION(void, atomic64_add, (s64, atomic64_t *));
FUNCTION(void, atomic64_sub, (s64, atomic64_t *));
FUNCTION(bool, atomic_dec_and_test, (atomic_t *));
FUNCTION(int, atomic_inc_return, (atomic_t *));
FUNCTION(int, atomic_read, (const atomic_t *));
FUNCTION(long, atomic_long_read, (const atomic_long_t *));
FUNCTION(s64, atomic64_inc_return, (atomic64_t *));
FUNCTION(s64, atomic64_read, (const atomic64_t *));
FUNCTION(void, atomic64_set, (atomic64_t *, s64));
FUNCTION(s64, atomic64_sub_return, (s64, atomic64_t *));
FUNCTION(bool, atomic64_try_cmpxchg, (atomic64_t *, s64 *, s64));
FUNCTION(int, atomic_dec_return, (atomic_t *));
FUNCTION(int, atomic_read_acquire, (const atomic_t *));
FUNCTION(int, kref_get_unless_zero, (struct kref *));
FUNCTION(int, kref_put, (struct kref *, void (*)(struct kref *)));
FUNCTION(bool, refcount_dec_and_test, (refcount_t *));
FUNCTION(void, refcount_set, (refcount_t *, int));

/* Lists, locks, sleepers */
FUNCTION(void, __add_wait_queue_entry_tail,
	 (struct wait_queue_head *, struct wait_queue_entry *));
FUNCTION(int, __wake_up, (struct wait_queue_head *, unsigned int, int, void *));
FUNCTION(int, wake_up_process, (struct task_struct *));
FUNCTION(void, init_waitqueue_func_entry, (struct wait_queue_entry *, wait_queue_func_t));
FUNCTION(int, hlist_empty, (const struct hlist_head *));
FUNCTION(int, list_empty, (const struct list_head *));
FUNCTION(int, list_is_last, (const struct list_head *, const struct list_head *));
FUNCTION(int, default_wake_function, (struct wait_queue_entry *, unsigned int, int, void *));
FUNCTION(void, prepare_to_wait, (struct wait_queue_head *, struct wait_queue_entry *, int));
FUNCTION(bool, prepare_to_wait_exclusive,
	 (struct wait_queue_head *, struct wait_queue_entry *, int));
FUNCTION(int, schedule_hrtimeout_range, (ktime_t *, u64, enum hrtimer_mode));
FUNCTION(int, schedule_hrtimeout_range_clock,
	 (ktime_t *, u64, enum hrtimer_mode, clockid_t));
FUNCTION(void, spin_unlock_irqrestore, (spinlock_t *, unsigned long));
FUNCTION(int, waitqueue_active, (struct wait_queue_head *));

/* Time */
FUNCTION(int, hrtimer_cancel, (struct hrtimer *));
FUNCTION(bool, hrtimer_is_queued, (struct hrtimer *));
FUNCTION(void, hrtimer_setup,
	 (struct hrtimer *, enum hrtimer_restart (*)(struct hrtimer *), clockid_t,
	  enum hrtimer_mode));
FUNCTION(void, hrtimer_start, (struct hrtimer *, ktime_t, enum hrtimer_mode));
FUNCTION(ktime_t, hrtimer_get_expires, (const struct hrtimer *));
FUNCTION(void, usleep_range, (unsigned long, unsigned long));
FUNCTION(bool, llist_add, (struct llist_node *, struct llist_head *));
FUNCTION(bool, irq_work_queue, (struct irq_work *));
FUNCTION(void, irq_work_sync, (struct irq_work *));
FUNCTION(ktime_t, ktime_add_safe, (ktime_t, ktime_t));
FUNCTION(ktime_t, ktime_get, (void));
FUNCTION(ktime_t, ktime_get_boottime, (void));
FUNCTION(ktime_t, timespec64_to_ktime, (struct timespec64));

/* Hashes and random numbers */
FUNCTION(void, get_random_bytes, (void *, size_t));
FUNCTION(u32, get_random_u32, (void));
FUNCTION(u64, get_random_u64, (void));
FUNCTION(u32, hash_ptr, (const void *, unsigned int));
FUNCTION(u32, hsiphash, (const void *, size_t, const hsiphash_key_t *));
FUNCTION(u64, siphash, (const void *, size_t, const siphash_key_t *));

/* Processes, users and their rights */
FUNCTION(uid_t, __kuid_val, (kuid_t));
FUNCTION(int, current_umask, (void));
FUNCTION(int, fatal_signal_pending, (struct task_struct *));
FUNCTION(gid_t, from_kgid_munged, (struct user_namespace *, kgid_t));
FUNCTION(uid_t, from_kuid_munged, (struct user_namespace *, kuid_t));
FUNCTION(int, in_group_p, (kgid_t));
FUNCTION(bool, kthread_should_stop, (void));
FUNCTION(bool, kgid_has_mapping, (struct user_namespace *, kgid_t));
FUNCTION(bool, kuid_has_mapping, (struct user_namespace *, kuid_t));
FUNCTION(bool, ns_capable, (struct user_namespace *, int));
FUNCTION(bool, ns_capable_noaudit, (struct user_namespace *, int));
FUNCTION(bool, pid_has_task, (struct pid *, enum pid_type));
FUNCTION(pid_t, pid_nr_ns, (struct pid *, struct pid_namespace *));
FUNCTION(int, signal_pending, (struct task_struct *));
FUNCTION(int, signal_pending_state, (unsigned int, struct task_struct *));
FUNCTION(bool, uid_eq, (kuid_t, kuid_t));

/* Files and namespaces */
FUNCTION(struct file *, anon_inode_getfile,
	 (const char *, const struct file_operations *, void *, int));
FUNCTION(void, fd_install, (unsigned int, struct file *));
FUNCTION(struct file *, fget, (unsigned int));
FUNCTION(int, get_unused_fd_flags, (unsigned int));
FUNCTION(int, misc_register, (struct miscdevice *));
FUNCTION(int, vm_insert_page, (struct vm_area_struct *, unsigned long, struct page *));
FUNCTION(void *, net_generic, (const struct net *, unsigned int));
FUNCTION(__poll_t, poll_requested_events, (const poll_table *));
FUNCTION(void, put_unused_fd, (unsigned int));
FUNCTION(int, register_pernet_subsys, (struct pernet_operations *));
FUNCTION(void, seq_escape_str,
	 (struct seq_file *, const char *, unsigned int, const char *));

/* Files that change */
FUNCTION(bool, d_is_dir, (const struct dentry *));
FUNCTION(char *, dentry_path_raw, (const struct dentry *, char *, int));
FUNCTION(struct file *, fget_raw, (unsigned int));
FUNCTION(unsigned int, read_seqbegin, (const seqlock_t *));
FUNCTION(unsigned int, read_seqretry, (const seqlock_t *, unsigned int));
#ifdef CONFIG_FSNOTIFY
FUNCTION(int, fsnotify_add_inode_mark, (struct fsnotify_mark *, struct inode *, int));
FUNCTION(struct fsnotify_group *, fsnotify_alloc_group, (const struct fsnotify_ops *, int));
FUNCTION(struct dentry *, fsnotify_data_dentry, (const void *, int));
FUNCTION(struct inode *, fsnotify_data_inode, (const void *, int));
#endif

/* Workqueues */
FUNCTION(bool, cancel_work_sync, (struct work_struct *));
FUNCTION(bool, flush_work, (struct work_struct *));
FUNCTION(bool, queue_work, (struct workqueue_struct *, struct work_struct *));
FUNCTION(bool, queue_rcu_work, (struct workqueue_struct *, struct rcu_work *));
FUNCTION(unsigned int, work_busy, (struct work_struct *));

/* Parameters of the module */
FUNCTION(int, kstrtouint, (const char *, unsigned int, unsigned int *));
FUNCTION(int, kstrtoul, (const char *, unsigned int, unsigned long *));
FUNCTION(int, param_get_uint, (char *, const struct kernel_param *));
FUNCTION(int, param_get_ulong, (char *, const struct kernel_param *));

/* Never called. A macro may contain statements, which need a function around them. */
static void __maybe_unused values(void)
{
	unsigned long flags = 0;
	u32 __user *there = NULL;
	struct work_struct *work = NULL;
	struct wait_queue_head wait;
	struct {
		u32 nr;
		u32 entries[];
	} *list = NULL;
	spinlock_t *lock = NULL;
	char name[8];
	u32 number;
	size_t size;

	EITHER(unsigned int, unsigned long, __ffs(flags));
	VALUE(struct workqueue_struct *, alloc_workqueue("%s", 0, 0, name));
	VALUE(bool, check_add_overflow(size, size, &size));
	VALUE(bool, check_mul_overflow(size, size, &size));
	VALUE(int, fls64((u64)0));
	CONDITION(d_unlinked((struct dentry *)NULL));
	CONDITION(get_user(number, there));
	VALUE(unsigned long, get_zeroed_page(GFP_KERNEL));
	VALUE(unsigned int, hweight32(number));
	EITHER(unsigned int, unsigned long, hweight64((u64)0));
	VALUE(unsigned int, hweight8(number));
	EITHER(unsigned long, int, in_nmi());
	CONDITION(in_task());
	CONDITION(irqs_disabled());
	VALUE(void *, kcalloc(size, size, GFP_KERNEL));
	VALUE(void *, kmalloc(size, GFP_KERNEL));
	VALUE(void *, kmalloc_array(size, size, GFP_KERNEL));
	VALUE(void *, kmem_cache_alloc((struct kmem_cache *)NULL, GFP_KERNEL));
	VALUE(struct kmem_cache *, kmem_cache_create(name, 8, 0, 0, NULL));
	VALUE(char *, kstrdup(name, GFP_KERNEL));
	VALUE(ktime_t, ktime_add((ktime_t)0, (ktime_t)0));
	VALUE(ktime_t, ktime_add_ns((ktime_t)0, 0));
	VALUE(ktime_t, ktime_sub((ktime_t)0, (ktime_t)0));
	VALUE(void *, kvmalloc(size, GFP_KERNEL));
	VALUE(void *, kvzalloc(size, GFP_KERNEL));
	VALUE(u32, lower_32_bits((u64)0));
	VALUE(void *, kzalloc(size, GFP_KERNEL));
	VALUE(u64, mul_u64_u64_div_u64((u64)0, (u64)0, (u64)1));
	CONDITION(preemptible());
	CONDITION(put_user(number, there));
	VALUE(unsigned long, roundup_pow_of_two(flags));
	CONDITION(spin_trylock(lock));
	CONDITION(spin_trylock_irqsave(lock, flags));
	VALUE(ssize_t, strscpy(name, "", sizeof(name)));
	VALUE(size_t, struct_size(list, entries, size));
	CONDITION(time_after(flags, flags));
	VALUE(u32, upper_32_bits((u64)0));
	VALUE(void *, __vmalloc(size, GFP_KERNEL));
	VALUE(void *, vmalloc(size));
	VALUE(int, wait_event_interruptible(wait, number));
	VALUE(int, wait_event_killable(wait, number));
	CONDITION(work_pending(work));
}

/*
 * These need no comparison. Some declare something, or their value has the type of their
 * arguments, a pointer or structure type, or no type. Others have a type that the compiler
 * knows. The value of the rest is stored in a variable of the same type, whatever that is.
 *
 * __acquires __aligned __array array_index_nospec clamp_t cmpxchg compat_ptr_ioctl cond_resched
 * container_of container_of_const __counted_by current_fsgid current_fsuid
 * current_user_ns data_race __field free_page guard hash_add hash_for_each
 * hash_for_each_possible hlist_entry hlist_for_each_entry hlist_for_each_entry_rcu
 * hlist_for_each_entry_safe init_module
 * init_wait init_waitqueue_head
 * likely list_entry list_first_entry
 * list_first_entry_or_null list_for_each_entry list_for_each_entry_reverse list_last_entry
 * list_next_entry llist_for_each_entry_safe lock_map_acquire lock_map_release
 * local_irq_restore local_irq_save lockdep_assert_held lockdep_init_map lockdep_is_held max max3
 * max_t memcmp memcpy memset might_fault might_sleep min min3 min_t module_exit module_init
 * module_param module_param_cb module_param_named __must_hold offsetof offsetofend
 * poll_to_key preempt_disable_notrace preempt_enable_notrace pr_info pr_warn_ratelimited rb_entry
 * rb_entry_safe rb_first_cached __releases
 * round_down round_up rounddown __same_type
 * scoped_guard __section __set_current_state set_current_state sizeof_field smp_mb
 * smp_load_acquire smp_rmb smp_store_mb smp_store_release smp_wmb spin_lock_init
 * spin_lock_irqsave static_assert strchr strcmp strlen strnlen
 * struct_size_t swap this_cpu_ptr u64_to_user_ptr unlikely unsafe_copy_to_user
 * try_cmpxchg unsafe_get_user wait_var_event wake_up wake_up_all wake_up_nr xchg
 */
