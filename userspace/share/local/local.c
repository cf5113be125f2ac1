// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The two queues of a shared queue on this machine: see local.h.
 */
#include "local_internal.h"

#include <errno.h>
#include <stdlib.h>

static bool next_of_queues(struct local *l, struct local_event *event)
{
	uint64_t of_queues = l->queue.args.of_queue + l->outbox.args.of_queue;

	if (l->of_queues == of_queues)
		return false;
	l->of_queues = of_queues;
	*event = (struct local_event){ .kind = LOCAL_QUEUE };
	return true;
}

int local_next(struct local *l, struct local_event *event, uint64_t now)
{
	int ret;

	l->now = now;
	ret = granted_next(l, event);
	if (!ret)
		ret = next_of_queues(l, event);
	if (!ret)
		ret = added_next(l, event);
	if (!ret)
		ret = next_of_queues(l, event);
	if (!ret)
		ret = ended_next(l, event);
	return ret;
}

/* ---- The queues ----------------------------------------------------------- */

/* Takes out what QUEUE was granted in an earlier life. An item without a token is no grant. */
static int revoke_former(struct local *l)
{
	const struct kwq_listed *listed;
	const char *bytes;
	int ret;

	item_list_begin(&l->one, l->queue.q, ALL_STATES);
	while ((ret = item_list_next(&l->one, &listed, &bytes)) > 0) {
		if (!listed->token)
			continue;
		ret = item_remove(l->queue.q, bytes, listed->key_len, KWQ_REMOVE_REVOKE, 0);
		if (ret < 0 && ret != -ENOENT)
			return ret;
	}
	return ret;
}

int local_open(struct local **local, struct kwq *queue, struct kwq *outbox)
{
	struct local *l = calloc(1, sizeof(*l));
	int err;

	*local = NULL;
	if (!l)
		return -ENOMEM;
	err = follower_open(&l->outbox, outbox);
	if (!err)
		err = follower_open(&l->queue, queue);
	l->queue.args.flags |= KWQ_CHANGES_GETTERS;
	if (!err)
		err = revoke_former(l);
	if (err) {
		follower_close(&l->queue);
		follower_close(&l->outbox);
		free(l);
		return err;
	}
	l->most_added = LOCAL_ADDS_MAX;
	l->most_held = UINT64_MAX;
	*local = l;
	return 0;
}

void local_close(struct local *l)
{
	struct granted *g, *next_granted;
	struct ended *ended, *next_ended;
	struct added *added, *next_added;

	if (!l)
		return;
	HASH_ITER(hh, l->granted, g, next_granted)
		granted_forget(l, g);
	HASH_ITER(hh, l->ended, ended, next_ended) {
		ended_forget(l, ended);
		ended_free(ended);
	}
	HASH_ITER(hh, l->added, added, next_added) {
		HASH_DEL(l->added, added);
		free(added);
	}
	follower_close(&l->queue);
	follower_close(&l->outbox);
	kwq_close(l->queue.q);
	kwq_close(l->outbox.q);
	free(l);
}

int local_queue_fd(const struct local *l)
{
	return kwq_fd(l->queue.q);
}

int local_outbox_fd(const struct local *l)
{
	/* It would be ready all the time, while nothing is read. */
	if (added_are_many(l))
		return -1;
	return kwq_fd(l->outbox.q);
}

int local_set_term(struct local *l, uint64_t boot)
{
	return kwq_set_term(l->queue.q, boot);
}

int local_state(struct local *l, struct local_state *state)
{
	struct kwq_stat of_queue = { .size = sizeof(of_queue) };
	struct kwq_stat of_outbox = { .size = sizeof(of_outbox) };
	int err = kwq_stat(l->queue.q, &of_queue);

	if (!err)
		err = kwq_stat(l->outbox.q, &of_outbox);
	if (err)
		return err;
	*state = (struct local_state){
		.is_paused = of_queue.state & KWQ_STATE_PAUSED,
		.is_shut_down = (of_queue.state | of_outbox.state) & KWQ_STATE_SHUT_DOWN,
		.is_unlinked = (of_queue.state | of_outbox.state) & KWQ_STATE_UNLINKED,
		.group_limit = of_queue.group_limit,
		.getters = of_queue.getters,
		.paused_for = of_queue.paused_for,
		.ready = of_queue.ready,
		.processing = of_queue.processing,
		.outbox = of_outbox.ready + of_outbox.waiting,
	};
	return 0;
}
