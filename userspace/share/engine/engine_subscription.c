// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Subscriptions. libnats has a thread for each, which appends messages to the inbox. Another thread
 * of a connection reads them from its socket. For each message it looks up the subscription. Before
 * 3.6, libnats does not hold the subscription after that, so it may be freed while the reader uses
 * it. Issue 637 of nats.c has this; test/share-ended.c shows it. Debian 12 has 3.4.
 *
 * So a subscription that has ended is destroyed later: when the reader has passed all messages for
 * it. Two events tell that. An answer has come to a request that was sent after the end. Or the
 * connection is closed: libnats says so after it has joined the reader, or from the reader.
 */
#include "engine_internal.h"

#include <stdlib.h>

/* For a subscription's thread. It is freed when that thread has ended. */
struct ear {
	struct inbox *inbox;
	enum raw_kind kind;
	uint64_t id, generation;
};

static void on_message(natsConnection *nc, natsSubscription *sub, natsMsg *msg, void *closure)
{
	const struct ear *ear = closure;
	struct raw *raw = raw_new(ear->kind, "");

	(void)sub;
	if (!raw) {
		natsMsg_Destroy(msg);
		return;
	}
	raw->nc = nc;
	raw->msg = msg;
	raw->id = ear->id;
	raw->generation = ear->generation;
	inbox_put(ear->inbox, raw);
}

static natsSubscription *subscribe(struct inbox *inbox, natsConnection *nc, const char *subject,
				   enum raw_kind kind, uint64_t id, uint64_t generation)
{
	struct ear *ear = malloc(sizeof(*ear));
	natsSubscription *sub = NULL;

	if (!ear)
		return NULL;
	*ear = (struct ear){ inbox, kind, id, generation };
	if (natsConnection_Subscribe(&sub, nc, subject, on_message, ear) != NATS_OK) {
		free(ear);
		return NULL;
	}
	/*
	 * Nothing is dropped there: operations and tails are bounded, and other messages are here.
	 */
	natsSubscription_SetPendingLimits(sub, -1, -1);
	/*
	 * This fails if the connection is closed already. Then the ear stays: nobody knows whether
	 * its thread has ended.
	 */
	natsSubscription_SetOnCompleteCB(sub, free, ear);
	return sub;
}

struct subscription *subscription_new(struct engine *engine, const char *subject,
				      enum raw_kind kind, uint64_t id, uint64_t generation)
{
	struct subscription *subscription = calloc(1, sizeof(*subscription));

	if (!subscription)
		return NULL;
	subscription->nc = engine->nc;
	subscription->sub = subscribe(engine->inbox, engine->nc, subject, kind, id, generation);
	if (subscription->sub)
		return subscription;
	free(subscription);
	return NULL;
}

void subscription_end(struct engine *engine, struct subscription *subscription)
{
	if (!subscription)
		return;
	/* Fails if the connection is closed. */
	natsSubscription_Unsubscribe(subscription->sub);
	subscription->ended_at = engine->last_id;
	DL_APPEND(engine->ended, subscription);
}

static void destroy(struct engine *engine, struct subscription *subscription)
{
	DL_DELETE(engine->ended, subscription);
	natsSubscription_Destroy(subscription->sub);
	free(subscription);
}

void subscriptions_on_reply(struct engine *engine, uint64_t id)
{
	struct subscription *subscription, *next;

	DL_FOREACH_SAFE(engine->ended, subscription, next)
		if (subscription->nc == engine->nc && subscription->ended_at < id)
			destroy(engine, subscription);
}

void subscriptions_on_closed(struct engine *engine, const natsConnection *nc)
{
	struct subscription *subscription, *next;

	DL_FOREACH_SAFE(engine->ended, subscription, next)
		if (subscription->nc == nc)
			destroy(engine, subscription);
}

void subscriptions_abandon(struct engine *engine)
{
	struct subscription *subscription, *next;

	DL_FOREACH_SAFE(engine->ended, subscription, next)
		free(subscription);
	engine->ended = NULL;
}
