// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Backoff, Step and BackoffManager of k8s.io/apimachinery/pkg/util/wait, in
 * integers. This file is compiled into libkwq, too.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kwq_backoff.h>
#include <linux/limits.h>
#include <linux/overflow.h>

#define LONGEST		((__u64)S64_MAX)

/* @x times @factor / KWQ_ONE, rounded down; saturates at LONGEST. */
static __u64 scaled(__u64 x, __u32 factor)
{
	__u64 whole, part = (x % KWQ_ONE) * factor / KWQ_ONE;

	if (check_mul_overflow(x / KWQ_ONE, (__u64)factor, &whole) ||
	    check_add_overflow(whole, part, &whole) || whole > LONGEST)
		return LONGEST;
	return whole;
}

/* @x plus a random part of up to @jitter / KWQ_ONE of it. */
static __u64 jittered(__u64 x, __u32 jitter, __u32 random)
{
	__u64 most = scaled(x, jitter);
	/* most x random / 2^32, in two halves that cannot overflow. */
	__u64 part = (most >> 32) * random + (((most & U32_MAX) * random) >> 32);

	return part > LONGEST - x ? LONGEST : x + part;
}

int kwq_backoff_check(const struct kwq_backoff *backoff)
{
	if (backoff->duration > LONGEST || backoff->cap > LONGEST || backoff->pad)
		return -EINVAL;
	return 0;
}
EXPORT_SYMBOL_GPL(kwq_backoff_check);

/* Moves @backoff->duration on to the next one. */
static void grow(struct kwq_backoff *backoff)
{
	if (!backoff->steps)
		return;
	backoff->steps--;
	if (!backoff->factor)
		return;
	backoff->duration = scaled(backoff->duration, backoff->factor);
	if (backoff->cap && backoff->duration > backoff->cap) {
		backoff->duration = backoff->cap;
		backoff->steps = 0;
	}
}

__u64 kwq_backoff_step(struct kwq_backoff *backoff, __u32 random)
{
	__u64 duration = backoff->duration;

	grow(backoff);
	return jittered(duration, backoff->jitter, random);
}
EXPORT_SYMBOL_GPL(kwq_backoff_step);

__u64 kwq_backoff_after(const struct kwq_backoff *backoff, __u32 steps, __u32 random)
{
	struct kwq_backoff b = *backoff;
	__u64 before;

	while (steps-- && b.steps) {
		before = b.duration;
		grow(&b);
		if (b.duration == before)
			break;
	}
	return jittered(b.duration, b.jitter, random);
}
EXPORT_SYMBOL_GPL(kwq_backoff_after);

void kwq_backoff_manager_init(struct kwq_backoff_manager *manager,
			      const struct kwq_backoff *backoff, __u64 reset,
			      __u64 now)
{
	manager->initial = *backoff;
	manager->backoff = *backoff;
	manager->reset = reset;
	manager->last = now;
	manager->from_reset = false;
}
EXPORT_SYMBOL_GPL(kwq_backoff_manager_init);

__u64 kwq_backoff_manager_step(struct kwq_backoff_manager *manager, __u64 now,
			       __u32 random)
{
	bool over = !manager->reset || (now > manager->last &&
					now - manager->last > manager->reset);

	if (over)
		manager->backoff = manager->initial;
	/* If the clock went back, count from its new time. */
	if (over || !manager->from_reset || now < manager->last)
		manager->last = now;
	return kwq_backoff_step(&manager->backoff, random);
}
EXPORT_SYMBOL_GPL(kwq_backoff_manager_step);
