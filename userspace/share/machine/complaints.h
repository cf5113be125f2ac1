/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Chooses the messages about the engine that are printed. An engine that comes and goes, or that
 * refuses each add, would fill the journal. So each text is printed once a minute at most.
 *
 * It prints nothing, and has no clock: the caller does, and tells the time.
 */
#ifndef KWQ_SHARE_COMPLAINTS_H
#define KWQ_SHARE_COMPLAINTS_H

#include <stdbool.h>
#include <stdint.h>

enum { COMPLAINT_MAX = 1024, COMPLAINTS_KEPT = 8 };

/*
 * @state: what is the case: why the engine is away, or COMPLAINTS_GOOD; "" at first
 * @told: the state that was printed last; "" before the first one
 * @said: the last texts, and when they were printed, boot time in ns
 * @next: which of them the next text replaces
 */
struct complaints {
	char state[COMPLAINT_MAX], told[COMPLAINT_MAX];
	struct {
		uint64_t at;
		char text[COMPLAINT_MAX];
	} said[COMPLAINTS_KEPT];
	unsigned int next;
};

#define COMPLAINTS_GOOD "the engine is there again"

/* Whether a text is to be printed now: it was not within the last minute. Counts it as printed. */
bool complaints_may_say(struct complaints *c, const char *text, uint64_t now);

/* The engine is away, and why; or it is there: COMPLAINTS_GOOD. */
void complaints_set(struct complaints *c, const char *state);

/*
 * Returns the state if it is to be printed now, and counts it as printed. Otherwise NULL. A state
 * that lasts is printed when its minute is over, so that the last one printed is the true one.
 */
const char *complaints_due(struct complaints *c, uint64_t now);

#endif /* KWQ_SHARE_COMPLAINTS_H */
