/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * How many operations of one kind may be under way. Heartbeats wait behind them in the engine, and
 * a lease ends without its heartbeats. So the window is narrower while answers are slow, and wider
 * while they are fast.
 */
#ifndef KWQ_SHARE_WINDOW_H
#define KWQ_SHARE_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Times are in ns.
 *
 * @size: how many operations may be under way
 * @least, @most: the bounds of that, above 0
 * @usual: up to this size, answers that are not slow make it wider
 * @fast, @slow: an answer that takes less is fast, and one that takes this or more is slow
 * @narrowed_at: when it became smaller last
 */
struct window {
	size_t size, least, usual, most;
	uint64_t fast, slow, narrowed_at;
};

/* The window of a machine at first. @ttl: how long a heartbeat lasts. */
struct window window_for(uint64_t ttl);

/*
 * One of @under_way operations has ended.
 *
 * @sent_at, @now: boot time in ns
 * @is_known: the engine has told its result
 */
void window_answer(struct window *window, size_t under_way, uint64_t sent_at, uint64_t now,
		   bool is_known);

#endif /* KWQ_SHARE_WINDOW_H */
