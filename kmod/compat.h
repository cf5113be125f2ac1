/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between the kernels that kwq is built for. The code uses the
 * newest name of a thing; here the older kernels get it. No other file asks for
 * the kernel's version.
 */
#ifndef KWQ_COMPAT_H
#define KWQ_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#error "kwq needs Linux 6.12 or newer"
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock_id, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock_id, mode);
	timer->function = function;
}
#endif

/* MODULE_IMPORT_NS() takes a string since 6.13. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define KWQ_IMPORT_KUNIT_NS	MODULE_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING)
#else
#define KWQ_IMPORT_KUNIT_NS	MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING")
#endif

#endif /* KWQ_COMPAT_H */
