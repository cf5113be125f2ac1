// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Support for modules that are older than this command. The first version had no
 * limiters, dead items or manual clocks. Leases came later, and then lists of items.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/cmd.h"

bool module_has(uint64_t feature)
{
	struct kwq_info info = { .size = sizeof(info) };

	/* If the module cannot be asked, assume the feature; the actual request will
	 * report the error.
	 */
	return kwq_info(&info) || info.features & feature;
}

/* Asks the queue itself, because an inherited queue needs no access to /dev/kwq. */
bool queue_has_limiters(const struct kwq *q)
{
	struct kwq_config config = { .size = sizeof(config) };

	return kwq_config(q, &config) != -ENOTTY;
}

static void lacks(const char *queue, const char *what)
{
	message("%s: the kernel's kwq is older than this command and has no %s", queue, what);
	exit(STATUS_FAILED);
}

void must_have_limiters(const struct kwq *q, const char *queue)
{
	if (!queue_has_limiters(q))
		lacks(queue, "limiters");
}

/* A module with leases has the member lease in its statistics. */
void must_have_leases(const struct kwq *q, const char *queue)
{
	struct kwq_stat st = { .size = sizeof(st) };

	if (!kwq_stat(q, &st) && st.size <= offsetof(struct kwq_stat, lease))
		lacks(queue, "leases");
}

/* A module that lists items has the member oldest_waiting in its statistics. */
void must_list_items(const struct kwq *q, const char *queue)
{
	struct kwq_stat st = { .size = sizeof(st) };

	if (!kwq_stat(q, &st) && st.size <= offsetof(struct kwq_stat, oldest_waiting))
		lacks(queue, "lists of keys");
}
