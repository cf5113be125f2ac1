/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The three-set algorithm as client-go's workqueue documents it: the order of the keys
 * that are ready, the set of those that need processing, and the set of those that are
 * being processed. And its delays: a heap of times, with a table that finds a key's place
 * in it, kept by a thread.
 *
 * A key is a string, which has to live as long as the queue.
 */
#ifndef PEER_QUEUE_H
#define PEER_QUEUE_H

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NSEC_PER_SEC	1000000000LL

/* Those that are ready, in a ring of a power of two that grows. */
struct order {
	const char **keys;
	size_t size;
	size_t head;
	size_t nr;
};

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t ready;
	struct order order;
	GHashTable *dirty;
	GHashTable *processing;
	bool shut_down;
};

struct wait {
	const char *key;
	int64_t ready_at;
	guint index;
};

struct delaying_queue {
	struct queue queue;
	/* Of all that follows. Taken before the queue's. */
	pthread_mutex_t lock;
	pthread_cond_t earlier;
	GPtrArray *heap;
	GHashTable *known;
	bool stopped;
	pthread_t thread;
};

void queue_init(struct queue *queue);
void queue_destroy(struct queue *queue);
void queue_add(struct queue *queue, const char *key);
const char *queue_get(struct queue *queue);
void queue_done(struct queue *queue, const char *key);
size_t queue_len(struct queue *queue);
void queue_shut_down(struct queue *queue);

int64_t now_ns(void);
void delaying_queue_init(struct delaying_queue *delaying);
void delaying_queue_destroy(struct delaying_queue *delaying);
void delaying_queue_add_at(struct delaying_queue *delaying, const char *key,
			   int64_t ready_at);

#endif /* PEER_QUEUE_H */
