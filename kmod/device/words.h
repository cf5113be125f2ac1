/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * copy_from_user() and copy_to_user(), word by word where that is cheaper. For little data their
 * calls and checks cost more than the copy.
 */
#ifndef KWQ_WORDS_H
#define KWQ_WORDS_H

#include <linux/fault-inject-usercopy.h>
#include <linux/types.h>
#include <linux/uaccess.h>

/*
 * The largest sizes that are worth it: of what the compiler knows, where the longest frequent
 * request is struct kwq_get_args, and of a short key.
 */
#define KWQ_WORDS_MAX		176
#define KWQ_SHORT_KEY_MAX	64

/* The machine must allow unaligned words. */
static __always_inline bool kwq_is_little(size_t size)
{
	if (!IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS))
		return false;
	return __builtin_constant_p(size) ? size <= KWQ_WORDS_MAX :
					    likely(size <= KWQ_SHORT_KEY_MAX);
}

/**
 * kwq_copy_from_user() - copy_from_user(), word by word if that is cheaper
 * @to: destination
 * @from: source, of any alignment
 * @size: number of bytes
 *
 * Reads each byte once.
 *
 * Context: process; may sleep.
 * Return: 0 or -EFAULT. After -EFAULT part of @to may be written.
 */
static __always_inline int kwq_copy_from_user(void *to, const void __user *from, size_t size)
{
	const unsigned long __user *words = from;
	size_t nr = size / sizeof(*words), i = 0;

	if (!kwq_is_little(size))
		return copy_from_user(to, from, size) ? -EFAULT : 0;
	might_fault();
	if (should_fail_usercopy() || !user_read_access_begin(from, size))
		return -EFAULT;
	if (__builtin_constant_p(size)) {
#pragma GCC unroll 32
		for (; i < nr; i++)
			unsafe_get_user(((unsigned long *)to)[i], words + i, fault);
	}
	for (; i < nr; i++)
		unsafe_get_user(((unsigned long *)to)[i], words + i, fault);
	for (i *= sizeof(*words); i < size; i++)
		unsafe_get_user(((u8 *)to)[i], (const u8 __user *)from + i, fault);
	user_read_access_end();
	return 0;

fault:
	user_read_access_end();
	return -EFAULT;
}

/**
 * kwq_copy_to_user() - copy_to_user(), word by word if that is cheaper
 * @to: destination, of any alignment
 * @from: source
 * @size: number of bytes
 *
 * Context: process; may sleep.
 * Return: 0 or -EFAULT. After -EFAULT part of @to may be written.
 */
static __always_inline int kwq_copy_to_user(void __user *to, const void *from, size_t size)
{
	if (!kwq_is_little(size))
		return copy_to_user(to, from, size) ? -EFAULT : 0;
	might_fault();
	if (should_fail_usercopy() || !user_write_access_begin(to, size))
		return -EFAULT;
	unsafe_copy_to_user(to, from, size, fault);
	user_write_access_end();
	return 0;

fault:
	user_write_access_end();
	return -EFAULT;
}

/**
 * kwq_put_user() - put_user() that fault injection can fail
 * @value: the value
 * @to: destination
 *
 * Context: process; may sleep.
 * Return: 0 or -EFAULT.
 */
#define kwq_put_user(value, to)						\
({									\
	typeof(to) to_ = (to);						\
	const typeof(*to_) value_ = (value);				\
	kwq_copy_to_user(to_, &value_, sizeof(value_));			\
})

#endif /* KWQ_WORDS_H */
