/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The three-set algorithm as client-go's workqueue documents it: the order of the ready
 * keys, the set of keys that need processing, and the set of keys being processed. It
 * also has delays: a heap of times, with a table of each key's place in it, kept by a
 * thread.
 *
 * A key is a string, which must live as long as the queue.
 */
#ifndef PEER_QUEUE_H
#define PEER_QUEUE_H

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NSEC_PER_SEC	1000000000LL

/* The ready keys, in a growing ring whose size is a power of two. */
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
	/* Protects everything below. Taken before the queue's lock. */
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
