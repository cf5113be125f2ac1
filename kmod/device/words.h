/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * copy_from_user() and copy_to_user() of a few words each: what there is to call and to
 * check for these costs more than to copy them.
 */
#ifndef KWQ_WORDS_H
#define KWQ_WORDS_H

#include <linux/fault-inject-usercopy.h>
#include <linux/types.h>
#include <linux/uaccess.h>

/* The most bytes that are worth it: struct kwq_get is the longest request of a hot path. */
#define KWQ_WORDS_MAX	152

/* Of a size that the compiler knows, and where words need not be aligned. */
#define kwq_is_words(size)						\
	(IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS) &&		\
	 __builtin_constant_p(size) && (size) <= KWQ_WORDS_MAX)

/**
 * kwq_words_from_user() - copy_from_user(), word by word if that is cheaper
 * @to: where to, aligned
 * @from: where from, with any alignment
 * @size: bytes
 *
 * Context: process; may sleep.
 * Return: 0 or -EFAULT, with some of @to written.
 */
static __always_inline int kwq_words_from_user(void *to, const void __user *from, size_t size)
{
	const unsigned long __user *from_word = from;
	unsigned long *to_word = to;
	size_t i;

	if (!kwq_is_words(size) || size % sizeof(*to_word))
		return copy_from_user(to, from, size) ? -EFAULT : 0;
	might_fault();
	if (should_fail_usercopy() || !user_read_access_begin(from, size))
		return -EFAULT;
#pragma GCC unroll 32
	for (i = 0; i < size / sizeof(*to_word); i++)
		unsafe_get_user(to_word[i], from_word + i, fault);
	user_read_access_end();
	return 0;

fault:
	user_read_access_end();
	return -EFAULT;
}

/**
 * kwq_words_to_user() - copy_to_user(), word by word if that is cheaper
 * @to: where to, with any alignment
 * @from: where from
 * @size: bytes
 *
 * Context: process; may sleep.
 * Return: 0 or -EFAULT, with some of @to written.
 */
static __always_inline int kwq_words_to_user(void __user *to, const void *from, size_t size)
{
	if (!kwq_is_words(size))
		return copy_to_user(to, from, size) ? -EFAULT : 0;
	might_fault();
	if (!user_write_access_begin(to, size))
		return -EFAULT;
	unsafe_copy_to_user(to, from, size, fault);
	user_write_access_end();
	return 0;

fault:
	user_write_access_end();
	return -EFAULT;
}

#endif /* KWQ_WORDS_H */
