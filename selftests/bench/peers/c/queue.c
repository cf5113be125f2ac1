// SPDX-License-Identifier: GPL-2.0-only
#include "queue.h"

static void order_push(struct order *order, const char *key)
{
	size_t i;

	if (order->nr == order->size) {
		size_t size = order->size ? 2 * order->size : 64;
		const char **keys = g_new(const char *, size);

		for (i = 0; i < order->nr; i++)
			keys[i] = order->keys[(order->head + i) & (order->size - 1)];
		g_free(order->keys);
		order->keys = keys;
		order->size = size;
		order->head = 0;
	}
	order->keys[(order->head + order->nr++) & (order->size - 1)] = key;
}

static const char *order_pop(struct order *order)
{
	const char *key = order->keys[order->head];

	order->head = (order->head + 1) & (order->size - 1);
	order->nr--;
	return key;
}

void queue_init(struct queue *queue)
{
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->ready, NULL);
	queue->order = (struct order){};
	queue->dirty = g_hash_table_new(g_str_hash, g_str_equal);
	queue->processing = g_hash_table_new(g_str_hash, g_str_equal);
	queue->shut_down = false;
}

void queue_destroy(struct queue *queue)
{
	g_hash_table_destroy(queue->dirty);
	g_hash_table_destroy(queue->processing);
	g_free(queue->order.keys);
	pthread_cond_destroy(&queue->ready);
	pthread_mutex_destroy(&queue->lock);
}

static void make_ready(struct queue *queue, const char *key)
{
	order_push(&queue->order, key);
	pthread_cond_signal(&queue->ready);
}

/* Marks a key as in need of processing. */
void queue_add(struct queue *queue, const char *key)
{
	pthread_mutex_lock(&queue->lock);
	if (!queue->shut_down && !g_hash_table_contains(queue->dirty, key)) {
		g_hash_table_add(queue->dirty, (void *)key);
		if (!g_hash_table_contains(queue->processing, key))
			make_ready(queue, key);
	}
	pthread_mutex_unlock(&queue->lock);
}

/* Hands out the first ready key; NULL when the queue is shut down and empty. */
const char *queue_get(struct queue *queue)
{
	const char *key = NULL;

	pthread_mutex_lock(&queue->lock);
	while (!queue->order.nr && !queue->shut_down)
		pthread_cond_wait(&queue->ready, &queue->lock);
	if (queue->order.nr) {
		key = order_pop(&queue->order);
		g_hash_table_add(queue->processing, (void *)key);
		g_hash_table_remove(queue->dirty, key);
	}
	pthread_mutex_unlock(&queue->lock);
	return key;
}

/* Ends the processing of a key. If it was added meanwhile it is ready again. */
void queue_done(struct queue *queue, const char *key)
{
	pthread_mutex_lock(&queue->lock);
	g_hash_table_remove(queue->processing, key);
	if (g_hash_table_contains(queue->dirty, key))
		make_ready(queue, key);
	pthread_mutex_unlock(&queue->lock);
}

/* The number of ready keys. */
size_t queue_len(struct queue *queue)
{
	size_t nr;

	pthread_mutex_lock(&queue->lock);
	nr = queue->order.nr;
	pthread_mutex_unlock(&queue->lock);
	return nr;
}

/* Refuses adds from now on and wakes everyone. */
void queue_shut_down(struct queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->shut_down = true;
	pthread_cond_broadcast(&queue->ready);
	pthread_mutex_unlock(&queue->lock);
}
