/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * copy_from_user() and copy_to_user() for a few words. For so little data their calls and
 * checks cost more than the copy.
 */
#ifndef KWQ_WORDS_H
#define KWQ_WORDS_H

#include <linux/fault-inject-usercopy.h>
#include <linux/types.h>
#include <linux/uaccess.h>

/* The largest size that is worth it. The longest frequent request is struct kwq_get_args. */
#define KWQ_WORDS_MAX	176

/* The compiler must know the size, and the machine must allow unaligned words. */
#define kwq_is_words(size)						\
	(IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS) &&		\
	 __builtin_constant_p(size) && (size) <= KWQ_WORDS_MAX)

/**
 * kwq_words_from_user() - copy_from_user(), word by word if that is cheaper
 * @to: destination, aligned
 * @from: source, of any alignment
 * @size: number of bytes
 *
 * Context: process; may sleep.
 * Return: 0 or -EFAULT. After -EFAULT part of @to may be written.
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
 * @to: destination, of any alignment
 * @from: source
 * @size: number of bytes
 *
 * Context: process; may sleep.
 * Return: 0 or -EFAULT. After -EFAULT part of @to may be written.
 */
static __always_inline int kwq_words_to_user(void __user *to, const void *from, size_t size)
{
	if (!kwq_is_words(size))
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
	kwq_words_to_user(to_, &value_, sizeof(value_));		\
})

/**
 * kwq_few_from_user() - copy_from_user() of few bytes, such as a short key
 * @to: destination
 * @from: source, of any alignment
 * @size: number of bytes
 *
 * Reads each byte once.
 *
 * Context: process; may sleep.
 * Return: 0 or -EFAULT. After -EFAULT part of @to may be written.
 */
static __always_inline int kwq_few_from_user(void *to, const void __user *from, size_t size)
{
	if (!IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS))
		return copy_from_user(to, from, size) ? -EFAULT : 0;
	might_fault();
	if (should_fail_usercopy() || !user_read_access_begin(from, size))
		return -EFAULT;
	for (; size >= sizeof(long); size -= sizeof(long)) {
		unsafe_get_user(*(unsigned long *)to, (const unsigned long __user *)from, fault);
		to += sizeof(long);
		from += sizeof(long);
	}
	for (; size; size--)
		unsafe_get_user(*(u8 *)to++, (const u8 __user *)from++, fault);
	user_read_access_end();
	return 0;

fault:
	user_read_access_end();
	return -EFAULT;
}

/**
 * kwq_few_to_user() - copy_to_user() of few bytes, such as a short key
 * @to: destination, of any alignment
 * @from: source
 * @size: number of bytes
 *
 * Context: process; may sleep.
 * Return: 0 or -EFAULT. After -EFAULT part of @to may be written.
 */
static __always_inline int kwq_few_to_user(void __user *to, const void *from, size_t size)
{
	if (!IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS))
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

#endif /* KWQ_WORDS_H */
