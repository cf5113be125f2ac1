/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between the kernels that kwq is built for. The code uses the
 * newest name of a thing; here the older kernels get it. No other file asks for
 * the kernel's version.
 *
 * docs/kernels.md has a table of the kernels that kwq is tested on. This is
 * known of them, as far as it concerns kwq:
 *
 * 6.1	<linux/cleanup.h> is of 6.5 and <kunit/visibility.h> of 6.3; the 6.1 series
 *	got both later. KUnit itself has what the tests use since 6.12 at the latest.
 *	include/config/kernel.release of Debian's headers is not what uname -r says;
 *	the Makefile takes UTS_RELEASE.
 * 6.3	KUnit has <kunit/static_stub.h>; below.
 * 6.10	__assign_str() has lost its second argument. The tracepoints have arrays of
 *	a fixed size instead.
 * 6.12	no_llseek is gone. No file_operations here names it.
 * 6.13	hrtimer_setup() sets the function as well; below. hrtimer_init() went in
 *	6.15, and the function is private since: hrtimer_update_function() would
 *	change it, which kwq never does.
 *	MODULE_IMPORT_NS() takes a string; below.
 *	A module outside of the tree is built in its own folder, to which $(src) is
 *	relative: kmod/Kbuild. EXTRA_CFLAGS, gone in 6.15, was never used.
 * 6.15	del_timer_sync() is timer_delete_sync(), and in 6.16 from_timer() is
 *	timer_container_of(). No timer_list is used: delays are hrtimers.
 * 6.17	WQ_PERCPU, which a workqueue that is not WQ_UNBOUND is to name in the end;
 *	below. It came to stable series, too: no version tells who else has it.
 * 6.18	A generator of KUnit's parameters is told the test, and io_uring_cmd_done()
 *	has lost an argument (<linux/io_uring/cmd.h>, which in 6.1 is
 *	<linux/io_uring.h>). The tests use KUNIT_ARRAY_PARAM_DESC(), which writes
 *	the generator; there are no io_uring commands.
 *	dev_get_flags() is netif_get_flags(), at the latest. The sample needs neither.
 * 7.1	current_umask() is in <linux/fs_struct.h>, at the latest. Older kernels have
 *	that header, too.
 * 7.2	kmem_cache_alloc_bulk() returns a bool; below. A handle of KCOV's is a
 *	structure. struct kwq_queue has what kcov_common_handle() returns.
 * 7.3	hrtimer_callback_running() is in <linux/hrtimer_bases.h>; below.
 */
#ifndef KWQ_COMPAT_H
#define KWQ_COMPAT_H

#include <linux/build_bug.h>
#include <linux/hrtimer.h>
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

/* Without stubs nobody replaces a function. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define KUNIT_STATIC_STUB_REDIRECT(real, args...) ((void)(real))
#else
#include <kunit/static_stub.h>
#endif

/* hrtimer_callback_running() */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 3, 0)
#include <linux/hrtimer_bases.h>
#endif

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

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define KWQ_IMPORT_KUNIT_NS	MODULE_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING)
#else
#define KWQ_IMPORT_KUNIT_NS	MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING")
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define KWQ_WQ_PERCPU	0

static inline unsigned int kwq_wq_flags(unsigned int flags)
{
	return flags;
}
#else
#define KWQ_WQ_PERCPU	WQ_PERCPU

static inline unsigned int kwq_wq_flags(unsigned int flags)
{
	return flags & WQ_UNBOUND ? flags : flags | WQ_PERCPU;
}
#endif

/*
 * Returns how many objects were allocated: @nr or none. kmem_cache_alloc_bulk()
 * returned their number before 7.2, which was one of these, and returns a bool since.
 * As a condition both mean the same.
 */
static inline u32 kwq_alloc_bulk(struct kmem_cache *cache, gfp_t flags, u32 nr, void **objects)
{
	static_assert(__same_type(kmem_cache_alloc_bulk(cache, flags, nr, objects), int) ||
		      __same_type(kmem_cache_alloc_bulk(cache, flags, nr, objects), bool));

	return kmem_cache_alloc_bulk(cache, flags, nr, objects) ? nr : 0;
}

/* Nothing else may call it: code that takes its result for a number compiles on every kernel. */
#undef kmem_cache_alloc_bulk
#define kmem_cache_alloc_bulk	kwq_alloc_bulk_is_to_be_called_instead

#endif /* KWQ_COMPAT_H */
