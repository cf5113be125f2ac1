/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between the kernels that kwq supports. The code uses the newest name of
 * each function, and this header provides it on older kernels. No other file checks the
 * kernel's version.
 *
 * docs/kernels.md lists the kernels that kwq is tested on. These changes concern kwq.
 * "Below" means that this header deals with the change.
 *
 * 6.1	<linux/cleanup.h> is new in 6.5, and <kunit/visibility.h> in 6.3. The 6.1
 *	series got both later. KUnit has what the tests use since 6.12 at the latest.
 *	In Debian's headers, include/config/kernel.release is not the release that
 *	uname -r shows. So the Makefile uses UTS_RELEASE.
 * 6.3	KUnit has <kunit/static_stub.h>. Below.
 * 6.8	fsnotify_add_mark() loses its last argument, and in 6.10 it takes the object that is
 *	marked instead of one of its members. Below.
 * 6.10	__assign_str() loses its second argument. The tracepoints use arrays of a fixed
 *	size instead.
 * 6.12	no_llseek is removed. No file_operations of kwq uses it.
 * 6.13	hrtimer_setup() is new, and sets the function as well. Below. 6.15 removes
 *	hrtimer_init() and makes the function private. Only hrtimer_update_function()
 *	changes it, and kwq never does.
 *	A module outside of the tree is built in its own folder, and $(src) is relative
 *	to that: see kmod/Kbuild. kwq does not use EXTRA_CFLAGS, which 6.15 removes.
 * 6.15	del_timer_sync() becomes timer_delete_sync(). In 6.16 from_timer() becomes
 *	timer_container_of(). kwq has no timer_list: its timers are hrtimers.
 * 6.17	WQ_PERCPU is new. Every workqueue without WQ_UNBOUND will have to use it.
 *	Below. Some stable series have it, too, so no version tells whether it exists.
 *	system_unbound_wq becomes system_dfl_wq. Below.
 * 6.18	Generators of KUnit's parameters get the test as an argument. The tests use
 *	KUNIT_ARRAY_PARAM_DESC(), which defines the generator.
 *	io_uring_cmd_done() loses an argument. Its header is <linux/io_uring/cmd.h>, but
 *	<linux/io_uring.h> in 6.1. kwq has no io_uring commands.
 *	dev_get_flags() becomes netif_get_flags(), at the latest. The sample uses neither.
 * 7.1	current_umask() is in <linux/fs_struct.h>, at the latest. Older kernels have
 *	that header, too.
 * 7.2	kmem_cache_alloc_bulk() returns a bool. Below.
 */
#ifndef KWQ_COMPAT_H
#define KWQ_COMPAT_H

#include <linux/btf.h>
#include <linux/build_bug.h>
#include <linux/fsnotify_backend.h>
#include <linux/hrtimer.h>
#include <linux/kconfig.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <linux/workqueue.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "kwq needs Linux 6.1 or newer"
#elif LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
#if !__has_include(<linux/cleanup.h>) || !__has_include(<kunit/visibility.h>)
#error "kwq needs Linux 6.5 or newer, or a newer release of this 6.1: it lacks <linux/cleanup.h>"
#endif
#endif

/* 6.9. For what is written before it is read, so that the compiler need not zero it. */
#ifndef __uninitialized
#if __has_attribute(__uninitialized__)
#define __uninitialized		__attribute__((__uninitialized__))
#else
#define __uninitialized
#endif
#endif

/* Without stubs, no test replaces a function. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define KUNIT_STATIC_STUB_REDIRECT(real, args...) ((void)(real))
#else
#include <kunit/static_stub.h>
#endif

static inline void kwq_vm_flags_mod(struct vm_area_struct *vma, vm_flags_t set, vm_flags_t clear)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
#else
	static_assert(__same_type(vm_flags_mod,
				  void (struct vm_area_struct *, vm_flags_t, vm_flags_t)));
	vm_flags_mod(vma, set, clear);
#endif
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static_assert(__same_type(hrtimer_init, void (struct hrtimer *, clockid_t, enum hrtimer_mode)));

static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock_id, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock_id, mode);
	timer->function = function;
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define KWQ_WQ_PERCPU	0
#define kwq_unbound_wq()	system_unbound_wq

static inline unsigned int kwq_wq_flags(unsigned int flags)
{
	return flags;
}
#else
#define KWQ_WQ_PERCPU	WQ_PERCPU
#define kwq_unbound_wq()	system_dfl_wq

static inline unsigned int kwq_wq_flags(unsigned int flags)
{
	return flags & WQ_UNBOUND ? flags : flags | WQ_PERCPU;
}
#endif

/*
 * Returns how many objects were allocated: @nr or 0. kmem_cache_alloc_bulk() returns this
 * number before 7.2, and a bool since. As a condition both mean the same.
 */
static inline u32 kwq_alloc_bulk(struct kmem_cache *cache, gfp_t flags, u32 nr, void **objects)
{
	static_assert(__same_type(kmem_cache_alloc_bulk(cache, flags, nr, objects), int) ||
		      __same_type(kmem_cache_alloc_bulk(cache, flags, nr, objects), bool));

	return kmem_cache_alloc_bulk(cache, flags, nr, objects) ? nr : 0;
}

/*
 * Nothing else may call it, because code that uses its result as a number compiles on every
 * kernel.
 */
#undef kmem_cache_alloc_bulk
#define kmem_cache_alloc_bulk	kwq_alloc_bulk_is_to_be_called_instead

/*
 * 6.1 has kfuncs, too. But its verifier lets pointers be NULL, it has no registration for programs
 * of all types, and Debian's headers lack what BTF is made with. No kernel in between was tried.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define KWQ_HAS_BPF	0
#else
#define KWQ_HAS_BPF	IS_ENABLED(CONFIG_BPF_SYSCALL)
#endif

#ifdef CONFIG_FSNOTIFY
/* Before 6.8 with the identity of the filesystem, which only fanotify needs. */
static inline int kwq_add_sb_mark(struct fsnotify_mark *mark, struct super_block *sb)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
	return fsnotify_add_mark(mark, &sb->s_fsnotify_marks, FSNOTIFY_OBJ_TYPE_SB, 0, NULL);
#elif LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
	return fsnotify_add_mark(mark, &sb->s_fsnotify_marks, FSNOTIFY_OBJ_TYPE_SB, 0);
#else
	static_assert(__same_type(fsnotify_add_mark,
				  int (struct fsnotify_mark *, void *, unsigned int, int)));
	return fsnotify_add_mark(mark, sb, FSNOTIFY_OBJ_TYPE_SB, 0);
#endif
}

/* Before 6.10 it takes a member of a structure that modules do not know. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#define KWQ_HAS_MOUNT_MARKS	0

static inline int kwq_add_mount_mark(struct fsnotify_mark *mark, struct vfsmount *mnt)
{
	return -EOPNOTSUPP;
}
#else
#define KWQ_HAS_MOUNT_MARKS	1

static inline int kwq_add_mount_mark(struct fsnotify_mark *mark, struct vfsmount *mnt)
{
	return fsnotify_add_mark(mark, mnt, FSNOTIFY_OBJ_TYPE_VFSMOUNT, 0);
}
#endif
#endif

/* It says that no pointer may be NULL, which may become the rule for all kfuncs. */
#ifndef KF_TRUSTED_ARGS
#define KF_TRUSTED_ARGS		0
#endif

#endif /* KWQ_COMPAT_H */
