// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "window.h"

/* An answer is fast within this time, or within this part of a longer TTL. */
#define FAST (UINT64_C(50) * 1000000)

enum { FAST_PART = 96, SLOW_TIMES = 4 };

struct window window_for(uint64_t ttl)
{
	uint64_t fast = ttl / FAST_PART > FAST ? ttl / FAST_PART : FAST;

	return (struct window){
		.size = 64, .least = 16, .usual = 64, .most = 4096,
		.fast = fast, .slow = fast * SLOW_TIMES,
	};
}

/* A slow answer counts once for all operations that were sent before it, as a loss does in TCP. */
static void narrow(struct window *window, uint64_t sent_at, uint64_t now)
{
	if (sent_at < window->narrowed_at)
		return;
	window->narrowed_at = now;
	window->size -= window->size / 4;
	if (window->size < window->least)
		window->size = window->least;
}

/*
 * A window that is not used does not grow, as in RFC 7661: nobody knows that the engine could serve
 * a wider one.
 */
void window_answer(struct window *window, size_t under_way, uint64_t sent_at, uint64_t now,
		   bool is_known)
{
	uint64_t took = now - sent_at;
	size_t most = took < window->fast ? window->most : window->usual;

	if (!is_known || took >= window->slow)
		narrow(window, sent_at, now);
	else if (window->size < most && under_way > window->size / 2)
		window->size++;
}
