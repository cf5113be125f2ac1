/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The workers of a queue with a handler, for those inside kwq.
 */
#ifndef KWQ_HANDLER_H
#define KWQ_HANDLER_H

#include <linux/kwq.h>
#include <linux/types.h>

struct kwq_workers;

void kwq_tell_workers(struct kwq_workers *workers, u64 nr);
void kwq_end_workers(struct kwq_queue *queue);
struct kwq_holder *kwq_current_worker(const struct kwq_queue *queue);
void kwq_might_wait_for_workers(const struct kwq_queue *queue);

#endif /* KWQ_HANDLER_H */
