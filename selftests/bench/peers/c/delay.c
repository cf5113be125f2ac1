// SPDX-License-Identifier: GPL-2.0-only
#include <time.h>
#include "queue.h"

int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

static struct wait *wait_at(const struct delaying_queue *delaying, guint index)
{
	return g_ptr_array_index(delaying->heap, index);
}

static void place(struct delaying_queue *delaying, guint index, struct wait *wait)
{
	delaying->heap->pdata[index] = wait;
	wait->index = index;
}

static void sift_up(struct delaying_queue *delaying, struct wait *wait)
{
	guint index = wait->index;

	while (index) {
		struct wait *parent = wait_at(delaying, (index - 1) / 2);

		if (parent->ready_at <= wait->ready_at)
			break;
		place(delaying, index, parent);
		index = (index - 1) / 2;
	}
	place(delaying, index, wait);
}

static void sift_down(struct delaying_queue *delaying, struct wait *wait)
{
	guint index = wait->index, child;

	while ((child = 2 * index + 1) < delaying->heap->len) {
		struct wait *least = wait_at(delaying, child);

		if (child + 1 < delaying->heap->len &&
		    wait_at(delaying, child + 1)->ready_at < least->ready_at)
			least = wait_at(delaying, ++child);
		if (wait->ready_at <= least->ready_at)
			break;
		place(delaying, index, least);
		index = child;
	}
	place(delaying, index, wait);
}

static void push_wait(struct delaying_queue *delaying, struct wait *wait)
{
	g_ptr_array_add(delaying->heap, wait);
	wait->index = delaying->heap->len - 1;
	sift_up(delaying, wait);
}

static struct wait *pop_wait(struct delaying_queue *delaying)
{
	struct wait *first = wait_at(delaying, 0);
	struct wait *last = wait_at(delaying, delaying->heap->len - 1);

	g_ptr_array_set_size(delaying->heap, delaying->heap->len - 1);
	if (first != last) {
		last->index = 0;
		sift_down(delaying, last);
	}
	return first;
}

/* Adds due keys, and sleeps until the earliest time, or until an earlier one is added. */
static void *keep_times(void *data)
{
	struct delaying_queue *delaying = data;
	struct timespec until;
	struct wait *wait;

	pthread_mutex_lock(&delaying->lock);
	while (!delaying->stopped) {
		int64_t now = now_ns();

		while (delaying->heap->len && wait_at(delaying, 0)->ready_at <= now) {
			wait = pop_wait(delaying);
			g_hash_table_remove(delaying->known, wait->key);
			queue_add(&delaying->queue, wait->key);
			g_free(wait);
		}
		if (!delaying->heap->len) {
			pthread_cond_wait(&delaying->earlier, &delaying->lock);
			continue;
		}
		until.tv_sec = wait_at(delaying, 0)->ready_at / NSEC_PER_SEC;
		until.tv_nsec = wait_at(delaying, 0)->ready_at % NSEC_PER_SEC;
		pthread_cond_timedwait(&delaying->earlier, &delaying->lock, &until);
	}
	pthread_mutex_unlock(&delaying->lock);
	return NULL;
}

void delaying_queue_init(struct delaying_queue *delaying)
{
	pthread_condattr_t monotonic;

	queue_init(&delaying->queue);
	pthread_mutex_init(&delaying->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&delaying->earlier, &monotonic);
	pthread_condattr_destroy(&monotonic);
	delaying->heap = g_ptr_array_new();
	delaying->known = g_hash_table_new(g_str_hash, g_str_equal);
	delaying->stopped = false;
	if (pthread_create(&delaying->thread, NULL, keep_times, delaying))
		g_error("there is no thread to be had");
}

void delaying_queue_destroy(struct delaying_queue *delaying)
{
	guint i;

	pthread_mutex_lock(&delaying->lock);
	delaying->stopped = true;
	pthread_cond_signal(&delaying->earlier);
	pthread_mutex_unlock(&delaying->lock);
	pthread_join(delaying->thread, NULL);

	for (i = 0; i < delaying->heap->len; i++)
		g_free(wait_at(delaying, i));
	g_ptr_array_free(delaying->heap, TRUE);
	g_hash_table_destroy(delaying->known);
	pthread_cond_destroy(&delaying->earlier);
	pthread_mutex_destroy(&delaying->lock);
	queue_destroy(&delaying->queue);
}

/* Adds a key at a time. If the key has a time already, the earlier one counts. */
void delaying_queue_add_at(struct delaying_queue *delaying, const char *key,
			   int64_t ready_at)
{
	struct wait *wait;

	pthread_mutex_lock(&delaying->lock);
	wait = g_hash_table_lookup(delaying->known, key);
	if (!wait) {
		wait = g_new(struct wait, 1);
		wait->key = key;
		wait->ready_at = ready_at;
		g_hash_table_insert(delaying->known, (void *)key, wait);
		push_wait(delaying, wait);
	} else if (ready_at < wait->ready_at) {
		wait->ready_at = ready_at;
		sift_up(delaying, wait);
	}
	if (wait_at(delaying, 0) == wait)
		pthread_cond_signal(&delaying->earlier);
	pthread_mutex_unlock(&delaying->lock);
}
