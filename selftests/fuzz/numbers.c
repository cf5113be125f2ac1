// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random numbers: times, sizes and limits. Bugs are at the edges, so most numbers are near one.
 */
#include "fuzz.h"

__u64 any_time(struct fuzzer *f)
{
	switch (any(f, 12)) {
	case 0:
		return 0;
	case 1:
		return TIME_MAX - any(f, 2);
	case 2:
		return ~0ULL - any(f, 2);
	case 3:
		return HOUR;
	case 4:
		return now_ns() + any(f, MSEC);
	case 5:
		return any(f, 20) * MSEC;
	default:
		return any(f, 100 * USEC);
	}
}

__u64 any_deadline(struct fuzzer *f)
{
	if (one_in(f, 16))
		return KWQ_NO_DEADLINE;
	return one_in(f, 2) ? any_time(f) : now_ns() + any(f, MSEC);
}

/* How long an item has been in a state. */
__u64 any_age(struct fuzzer *f)
{
	if (one_in(f, 2))
		return 0;
	return one_in(f, 8) ? KWQ_AGE_UNKNOWN : any_time(f);
}

/* The allocator's sizes are powers of two, and the halves between them. */
static __u32 near_an_allocation(struct fuzzer *f, __u32 max)
{
	__u32 power = 1;

	while (power <= max / 2 && !one_in(f, 16))
		power *= 2;
	if (one_in(f, 4))
		power += power / 2;
	/* The headers of items and values have less than 200 bytes. */
	return one_in(f, 2) ? power - any(f, 200) : power + any(f, 5) - 2;
}

/* From 0 to @max. */
__u32 any_size(struct fuzzer *f, __u32 max)
{
	__u32 size;

	switch (any(f, 4)) {
	case 0:
		size = any(f, 40);
		break;
	case 1:
		size = near_an_allocation(f, max);
		break;
	case 2:
		/* Each order of magnitude is as likely as the others. */
		size = any(f, max + 1) >> any(f, 12);
		break;
	default:
		return any(f, max + 1);
	}
	/* A number below zero is a large one. */
	return size > max ? max : size;
}

__u64 any_max_items(struct fuzzer *f)
{
	if (!one_in(f, wants(f, WANT_FULL) ? 3 : 2))
		return 0;
	if (one_in(f, 2))
		return 1 + any(f, 40);
	return (1U << any(f, 13)) + any(f, 3) - 1 + one_in(f, 16);
}

/* Around multiples of an item, of a value, and of the steps in which quotas are charged. */
__u64 any_max_bytes(struct fuzzer *f)
{
	static const __u32 units[] = { 175, 207, 512, 4096, 8192, 16384, 32768, 65536, 131072 };

	if (!wants(f, WANT_FULL) && one_in(f, 2))
		return 0;
	switch (any(f, 6)) {
	case 0:
		return 1 + any(f, 20000);
	case 1:
		return (1ULL << (10 + any(f, 9))) + any(f, 400) - 200;
	case 2:
		return units[any(f, ARRAY_SIZE(units))] * (1 + any(f, 4)) + any(f, 200);
	default:
		return 1 + any(f, 4 * KWQ_VALUE_MAX);
	}
}
