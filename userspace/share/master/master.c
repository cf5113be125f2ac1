// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <stdlib.h>
#include <string.h>

#include "master_state.h"

void master_fail(struct master *master)
{
	master->has_failed = true;
}

static bool is_over(const struct master *master)
{
	return master->has_failed || master->is_deposed;
}

/*
 * Other operations are burials. They are few, and all keys wait for them. So they do not wait for
 * the window.
 */
static bool is_of_a_key(const struct op *op)
{
	return op->key;
}

bool op_register(struct master *master, struct op *op)
{
	op->id = ++master->last_op;
	op->sent_at = master->now.boot;
	HASH_ADD(hh, master->ops_by_id, id, sizeof(op->id), op);
	if (HASH_HAS(op)) {
		master->nr_under_way += is_of_a_key(op);
		return true;
	}
	op->id = 0;
	master_fail(master);
	return false;
}

static bool has_room(const struct master *master)
{
	return master->nr_under_way < master->window.size;
}

void op_order(struct master *master, struct op *op)
{
	if (!is_of_a_key(op) || has_room(master)) {
		op->start(master, op);
		return;
	}
	op->is_held = true;
	DL_APPEND(master->held_ops, op);
}

void key_order(struct master *master, struct master_key *key,
	       void (*start)(struct master *, struct op *),
	       void (*finish)(struct master *, struct op *, enum op_result, uint64_t,
			      const struct record *))
{
	key->op.start = start;
	key->op.finish = finish;
	op_order(master, &key->op);
}

void op_order_later(struct master *master, struct op *op)
{
	op->start_at = master->now.boot + master->options.repeat;
	op->is_late = true;
	DL_APPEND(master->late_ops, op);
}

void op_forget(struct master *master, struct op *op)
{
	if (op->id) {
		HASH_DEL(master->ops_by_id, op);
		master->nr_under_way -= is_of_a_key(op);
	}
	if (op->is_late)
		DL_DELETE(master->late_ops, op);
	if (op->is_held)
		DL_DELETE(master->held_ops, op);
	op->id = 0;
	op->is_late = false;
	op->is_held = false;
}

/* The list is in the order of the times, because all wait equally long. */
static void late_ops_tick(struct master *master)
{
	struct op *op;

	while (!is_over(master) && (op = master->late_ops) && op->start_at <= master->now.boot) {
		op_forget(master, op);
		op_order(master, op);
	}
}

static void held_ops_start(struct master *master)
{
	struct op *op;

	while (!is_over(master) && (op = master->held_ops) && has_room(master)) {
		op_forget(master, op);
		op->start(master, op);
	}
}

/* After any event. */
static void go_on(struct master *master)
{
	held_ops_start(master);
	serve(master);
}

struct master *master_new(const struct master_options *options, const struct master_ops *ops,
			  void *arg)
{
	struct master *master = calloc(1, sizeof(*master));

	if (!master)
		return NULL;
	master->options = *options;
	master->ops = ops;
	master->arg = arg;
	master->window = options->window;
	order_init(&master->order, options->group_limit);
	return master;
}

void master_free(struct master *master)
{
	struct master_key *key, *next_key;
	struct peer *peer, *next_peer;

	if (!master)
		return;
	HASH_ITER(hh, master->keys, key, next_key)
		key_free(master, key);
	HASH_ITER(hh, master->peers, peer, next_peer)
		peer_free(master, peer);
	order_destroy(&master->order);
	due_destroy(&master->due);
	due_destroy(&master->resting);
	free(master);
}

static void (*const record_functions[])(struct master *master, const struct record *record) = {
	[RECORD_ADD] = key_record,
	[RECORD_TIMED] = key_record,
	[RECORD_RETRY] = key_record,
	[RECORD_EPOCH] = epoch_record,
	[RECORD_JOIN] = peer_record,
	[RECORD_BEAT] = peer_record,
};

void master_record(struct master *master, const struct record *record, struct instant now)
{
	if (is_over(master))
		return;
	master->now = now;
	record_functions[record->kind](master, record);
	go_on(master);
}

void master_message(struct master *master, const struct message *message, struct instant now)
{
	if (is_over(master) || message->epoch != master->options.epoch)
		return;
	master->now = now;
	if (message->kind == MESSAGE_ASK)
		ask_message(master, message);
	else if (message->kind == MESSAGE_DONE)
		done_message(master, message);
	else if (message->kind == MESSAGE_REQUEST)
		request_message(master, message);
	go_on(master);
}

static void finish(struct master *master, uint64_t id, enum op_result result, uint64_t seq,
		   const struct record *record, struct instant now)
{
	struct op *op;

	if (is_over(master))
		return;
	master->now = now;
	HASH_FIND(hh, master->ops_by_id, &id, sizeof(id), op);
	if (!op)
		return;
	if (is_of_a_key(op))
		window_answer(&master->window, master->nr_under_way, op->sent_at, now.boot,
			      result != OP_UNKNOWN);
	op_forget(master, op);
	op->finish(master, op, result, seq, record);
	go_on(master);
}

void master_result(struct master *master, uint64_t op, enum op_result result, uint64_t seq,
		   struct instant now)
{
	finish(master, op, result, seq, NULL, now);
}

void master_read(struct master *master, uint64_t op, enum op_result result,
		 const struct record *record, struct instant now)
{
	bool is_there = result == OP_OK || result == OP_DAMAGED;

	finish(master, op, result, is_there ? record->seq : 0, record, now);
}

void master_tick(struct master *master, struct instant now)
{
	if (is_over(master))
		return;
	master->now = now;
	late_ops_tick(master);
	keys_tick(master);
	peers_tick(master);
	recalls_tick(master);
	go_on(master);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

struct instant master_next_due(const struct master *master)
{
	const struct due_item *due = due_first(&master->due);
	const struct due_item *rest = due_first(&master->resting);
	struct instant next = { .boot = NEVER, .wall = NEVER };

	if (is_over(master))
		return next;
	if (due)
		next.wall = due->time;
	next.boot = earlier(peers_next_due(master), recalls_next_due(master));
	if (rest)
		next.boot = earlier(next.boot, rest->time);
	if (master->late_ops)
		next.boot = earlier(next.boot, master->late_ops->start_at);
	return next;
}

struct master_status master_status(const struct master *master)
{
	struct master_status status = {
		.epoch = master->options.epoch,
		.ready = master->counts[COUNT_READY],
		.waiting = master->counts[COUNT_WAITING],
		.booked = master->counts[COUNT_BOOKED],
		.dead = master->counts[COUNT_DEAD],
		.remembered = master->counts[COUNT_REMEMBERED],
		.missing = peers_missing(master),
		.hungry = master->nr_hungry,
		.window = master->window.size,
		.is_serving = master->is_serving,
	};
	const struct peer *peer;

	for (peer = master->peers; peer; peer = peer->hh.next)
		status.machines += peer->join && !peer->is_dead;
	return status;
}

bool master_has_failed(const struct master *master)
{
	return master->has_failed;
}
