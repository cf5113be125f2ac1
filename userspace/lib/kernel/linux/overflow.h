/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
#define check_add_overflow(a, b, to)	__builtin_add_overflow(a, b, to)
#define check_mul_overflow(a, b, to)	__builtin_mul_overflow(a, b, to)
