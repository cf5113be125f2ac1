// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "window.h"

/* An answer within the first time is fast, after the second slow. */
#define FAST (UINT64_C(50) * 1000000)
#define SLOW (UINT64_C(200) * 1000000)

/*
 * A slow answer counts once for all operations that were sent before it, as a loss does in TCP. A
 * window that is not used does not grow, as in RFC 7661: nobody knows that the engine could serve a
 * wider one.
 */
void window_answer(struct window *window, size_t under_way, uint64_t sent_at, uint64_t now,
		   bool is_known)
{
	uint64_t took = now - sent_at;

	if (is_known && took < FAST) {
		window->size += window->size < window->most && under_way > window->size / 2;
		return;
	}
	if ((is_known && took < SLOW) || sent_at < window->narrowed_at)
		return;
	window->narrowed_at = now;
	window->size -= window->size / 4;
	if (window->size < window->least)
		window->size = window->least;
}
