// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "complaints.h"

#include <stdio.h>
#include <string.h>

#define PAUSE (60 * UINT64_C(1000000000))

static bool same(const char *kept, const char *text)
{
	/* A text that is too long is cut off. */
	return !strncmp(kept, text, COMPLAINT_MAX - 1);
}

static void keep(char kept[COMPLAINT_MAX], const char *text)
{
	snprintf(kept, COMPLAINT_MAX, "%s", text);
}

bool complaints_may_say(struct complaints *c, const char *text, uint64_t now)
{
	unsigned int i;

	for (i = 0; i < COMPLAINTS_KEPT; i++)
		if (c->said[i].text[0] && same(c->said[i].text, text))
			break;
	if (i < COMPLAINTS_KEPT && now - c->said[i].at < PAUSE)
		return false;
	if (i == COMPLAINTS_KEPT) {
		i = c->next;
		c->next = (i + 1) % COMPLAINTS_KEPT;
	}
	keep(c->said[i].text, text);
	c->said[i].at = now;
	return true;
}

void complaints_set(struct complaints *c, const char *state)
{
	keep(c->state, state);
}

const char *complaints_due(struct complaints *c, uint64_t now)
{
	/* An engine that was never away is no news. */
	if (!strcmp(c->state, c->told) || (!c->told[0] && !strcmp(c->state, COMPLAINTS_GOOD)))
		return NULL;
	if (!complaints_may_say(c, c->state, now))
		return NULL;
	keep(c->told, c->state);
	return c->told;
}
