// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "was.h"

#include <string.h>

#include <kwq.h>

#include "base/cmd.h"

static const struct {
	int bit;
	const char *name;
} states[] = {
	{ KWQ_WAS_READY, "ready" },
	{ KWQ_WAS_WAITING, "waiting" },
	{ KWQ_WAS_PROCESSING, "processing" },
	{ KWQ_WAS_DIRTY, "dirty" },
	{ KWQ_WAS_DEAD, "dead" },
	{ KWQ_WAS_REMEMBERED, "remembered" },
	{ WAS_GONE, "gone" },
};

const char *was(int bits)
{
	static char text[64];
	size_t i;

	text[0] = '\0';
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		if (!(bits & states[i].bit))
			continue;
		if (text[0])
			strcat(text, ",");
		strcat(text, states[i].name);
	}
	return text;
}
