// SPDX-License-Identifier: GPL-2.0-only
/*
 * The list of a queue's dead items (L11).
 */
#include "keyed.h"

/**
 * kwq_keyed_list_dead() - list dead items, oldest death first (L11)
 * @keyed: the queue
 * @after: list only deaths with a higher number than this
 * @buffer: buffer for at most KWQ_ITEMS_PER_HOLD items
 *
 * Return: how many items were filled in; -EMSGSIZE if the first key does not fit.
 */
int kwq_keyed_list_dead(struct kwq_keyed *keyed, u64 after,
			struct kwq_dead_buffer *buffer)
{
	const struct kwq_core *core = &keyed->queue.core;
	const struct kwq_keyed_item *ki;
	struct kwq_item *item;
	unsigned long flags;
	int ret = 0;
	u32 nr = 0;
	ktime_t now;

	buffer->keys_len = 0;
	spin_lock_irqsave(&keyed->queue.lock, flags);
	now = kwq_now_locked(&keyed->queue);
	for (item = kwq_core_next_dead(core, after); item && nr < buffer->max_items;
	     item = kwq_core_next_dead(core, item->death), nr++) {
		ki = kwq_keyed_item_of(item);
		if (ki->key_len > buffer->max_key_bytes - buffer->keys_len) {
			ret = nr ? 0 : -EMSGSIZE;
			break;
		}
		memcpy(buffer->keys + buffer->keys_len, ki->key, ki->key_len);
		buffer->keys_len += ki->key_len;
		buffer->entries[nr] = (struct kwq_dead_entry){
			.number = item->death,
			.age = kwq_listed_age(item->since, now),
			.key_len = ki->key_len,
			.priority = item->priority,
			.requeues = item->requeues,
			.abandoned = item->abandoned,
		};
	}
	spin_unlock_irqrestore(&keyed->queue.lock, flags);
	return ret ?: nr;
}
