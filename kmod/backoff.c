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

/* @x times @factor / KWQ_ONE, rounded down; LONGEST where that is more. */
static __u64 scaled(__u64 x, __u32 factor)
{
	__u64 whole, part = (x % KWQ_ONE) * factor / KWQ_ONE;

	if (check_mul_overflow(x / KWQ_ONE, (__u64)factor, &whole) ||
	    check_add_overflow(whole, part, &whole) || whole > LONGEST)
		return LONGEST;
	return whole;
}

/* A part of @x, up to @jitter / KWQ_ONE of it, that @random chooses. */
static __u64 jittered(__u64 x, __u32 jitter, __u32 random)
{
	__u64 most = scaled(x, jitter);
	/* most x random / 2^32, in halves that fit. */
	__u64 part = (most >> 32) * random + (((most & U32_MAX) * random) >> 32);

	return part > LONGEST - x ? LONGEST : x + part;
}

/**
 * kwq_backoff_check() - is a backoff well formed
 * @backoff: the backoff
 *
 * Return: 0, or -EINVAL.
 */
int kwq_backoff_check(const struct kwq_backoff *backoff)
{
	if (backoff->duration > LONGEST || backoff->cap > LONGEST || backoff->pad)
		return -EINVAL;
	return 0;
}
EXPORT_SYMBOL_GPL(kwq_backoff_check);

/* Makes @backoff->duration the next one. */
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

/**
 * kwq_backoff_step() - the next pause (B1)
 * @backoff: the backoff; moves on by one step
 * @random: chooses the jitter, evenly from 0 (none) to U32_MAX (almost all)
 *
 * The pause is the duration and its jitter. While steps last the duration is then
 * multiplied by the factor; one beyond the cap is the cap, and uses the steps up.
 *
 * Return: the pause in ns, rounded down.
 */
__u64 kwq_backoff_step(struct kwq_backoff *backoff, __u32 random)
{
	__u64 duration = backoff->duration;

	grow(backoff);
	return jittered(duration, backoff->jitter, random);
}
EXPORT_SYMBOL_GPL(kwq_backoff_step);

/**
 * kwq_backoff_after() - the pause after some steps
 * @backoff: the backoff
 * @steps: how many were made
 * @random: as for kwq_backoff_step()
 *
 * As many steps are made as the backoff has, or until the pause stays as it is.
 *
 * Return: the pause in ns.
 */
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

/**
 * kwq_backoff_manager_init() - start a manager
 * @manager: the manager
 * @backoff: what it starts with, and starts over with
 * @reset: it starts over when more time than this has passed, in ns; KWQ_NO_RESET for
 *	never, and 0 for each time
 * @now: the time it is
 *
 * The time counts from the last step. Set @manager->from_reset afterwards to have it
 * count from the last reset.
 */
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

/**
 * kwq_backoff_manager_step() - the next pause, or the first again (B2)
 * @manager: the manager
 * @now: the time it is
 * @random: as for kwq_backoff_step()
 *
 * Return: the pause in ns.
 */
__u64 kwq_backoff_manager_step(struct kwq_backoff_manager *manager, __u64 now,
			       __u32 random)
{
	bool over = !manager->reset || (now > manager->last &&
					now - manager->last > manager->reset);

	if (over)
		manager->backoff = manager->initial;
	/* A clock that goes back counts from there. */
	if (over || !manager->from_reset || now < manager->last)
		manager->last = now;
	return kwq_backoff_step(&manager->backoff, random);
}
EXPORT_SYMBOL_GPL(kwq_backoff_manager_step);
