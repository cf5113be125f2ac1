// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "environment.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"

enum { NUMBER_MAX = 24 };

/*
 * kwq run sets these variables, or takes them away. KWQ_FD of an enclosing kwq open does not
 * concern the job, and the service manager hears kwq run alone.
 */
static const char *const ours[] = {
	"KWQ_KEY", "KWQ_GROUP", "KWQ_VALUE", "KWQ_FD", "KWQ_ATTEMPT", "KWQ_ABANDONED", "KWQ_TICKET",
	"KWQ_KEYS", "KWQ_TOKEN", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC",
};

enum { OURS = sizeof(ours) / sizeof(*ours) };

static bool is_ours(const char *variable)
{
	size_t len = strcspn(variable, "=");
	int i;

	for (i = 0; i < OURS; i++)
		if (strlen(ours[i]) == len && !memcmp(variable, ours[i], len))
			return true;
	return false;
}

/* Also the unset ones, which have no text, in the order of @ours. */
struct texts {
	const char *text[OURS];
	char numbers[5][NUMBER_MAX];
};

static void set_texts(struct texts *texts, const struct child *child)
{
	memset(texts->text, 0, sizeof(texts->text));
	snprintf(texts->numbers[0], NUMBER_MAX, "%u", child->attempt);
	snprintf(texts->numbers[1], NUMBER_MAX, "%u", child->abandoned);
	snprintf(texts->numbers[2], NUMBER_MAX, "%llu", (unsigned long long)child->ticket);
	snprintf(texts->numbers[3], NUMBER_MAX, "%u", child->keys);
	snprintf(texts->numbers[4], NUMBER_MAX, "%llu", (unsigned long long)child->token);
	texts->text[0] = child->key;
	texts->text[1] = child->group;
	texts->text[2] = child->value;
	/* Without the text of KWQ_FD, [3]. */
	texts->text[4] = texts->numbers[0];
	texts->text[5] = texts->numbers[1];
	if (child->keys)
		texts->text[7] = texts->numbers[3];
	else
		texts->text[6] = texts->numbers[2];
	if (child->token)
		texts->text[8] = texts->numbers[4];
}

char **environment_make(const struct child *child)
{
	size_t nr = 0, bytes = 0;
	struct texts texts;
	char **made, *to;
	int i, at = 0;

	set_texts(&texts, child);
	while (environ[nr])
		nr++;
	for (i = 0; i < OURS; i++)
		if (texts.text[i])
			bytes += strlen(ours[i]) + 1 + strlen(texts.text[i]) + 1;
	made = malloc((nr + OURS + 1) * sizeof(*made) + bytes);
	if (!made)
		return NULL;
	to = (char *)(made + nr + OURS + 1);
	for (nr = 0; environ[nr]; nr++)
		if (!is_ours(environ[nr]))
			made[at++] = environ[nr];
	for (i = 0; i < OURS; i++) {
		if (!texts.text[i])
			continue;
		made[at++] = to;
		to = stpcpy(stpcpy(stpcpy(to, ours[i]), "="), texts.text[i]) + 1;
	}
	made[at] = NULL;
	return made;
}
