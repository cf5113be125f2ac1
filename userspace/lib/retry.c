// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Counts of requeues, and the retry configuration.
 */
#include "internal.h"

int kwq_forget(struct kwq *q, const void *key, size_t len)
{
	struct kwq_key_entry entry = { .key_len = len };

	return kwq_one(q, KWQ_IOC_FORGET, &entry, sizeof(entry), key, len);
}

int kwq_num_requeues(struct kwq *q, const void *key, size_t len)
{
	struct kwq_key_entry entry = { .key_len = len };

	return kwq_one(q, KWQ_IOC_REQUEUES, &entry, sizeof(entry), key, len);
}

int kwq_configure(struct kwq *q, const struct kwq_config *config)
{
	return kwq_ioctl(q->fd, KWQ_IOC_CONFIGURE, (void *)config);
}

int kwq_config(const struct kwq *q, struct kwq_config *config)
{
	return kwq_ioctl(q->fd, KWQ_IOC_CONFIG, config);
}
