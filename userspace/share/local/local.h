/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The two queues of a shared queue on this machine.
 *
 * Programs use the queue QUEUE. Their adds go to its outbox, the queue QUEUE.outbox, because it was
 * created with KWQ_CREATE_OUTBOX. Keys that this machine was granted are put into QUEUE. Both
 * queues are followed:
 *
 *	outbox	an item that is ready or waiting is an add to be published. When it is stored, it is
 *		removed, unless it has changed meanwhile. Then it comes again. So does a dead item
 *		that is of no grant, such as one that was loaded.
 *	QUEUE	an item that is neither ready nor processing any more has ended. It is removed
 *		before anybody hears of its end, so that no worker can get it again.
 *
 * A worker's AddRateLimited, Forget and NumRequeues go to the outbox, too. So the outbox remembers
 * the count of requeues of a key that is worked on. And the end of a key is told when the adds that
 * came before it are stored. So a retry is never lost, and neither is what a worker added before it
 * ended a key. That wait has a bound: see local_hold_ends().
 */
#ifndef KWQ_SHARE_LOCAL_H
#define KWQ_SHARE_LOCAL_H

#include "share/wire/record.h"

struct kwq;
struct local;

/* The highest number of a token. */
#define LOCAL_NUMBER_MAX ((1ULL << 30) - 1)

enum {
	/* Adds that are read and not yet stored, at most. */
	LOCAL_ADDS_MAX = 4096,
	/* The same while ends wait for their own adds in a full stream, and the bytes of those. */
	LOCAL_ADDS_AHEAD = 65536,
	LOCAL_BYTES_AHEAD = 16 << 20,
};

enum local_event_kind {
	LOCAL_ADD,	/* an add is to be published */
	LOCAL_TAKEN,	/* a worker has begun with a key that was granted */
	LOCAL_UNTAKEN,	/* it has given the key back, or has died */
	LOCAL_ENDED,	/* a key that was granted has ended, and QUEUE has it no more */
	LOCAL_QUEUE,	/* QUEUE itself has changed, or a worker waits: see local_state() */
};

/*
 * @work: ADD, TAKEN, UNTAKEN: valid until the next call; ENDED: valid until local_confirmed()
 * @hash: of the key; not with QUEUE
 * @id: ADD: for local_stored(); ENDED: for local_confirmed()
 * @is_ready, @is_waiting: ADD: at least one of them
 * @wait_priority: ADD, with @is_waiting: the priority for @due, or KWQ_PRIORITY_NONE
 * @due: ADD with @is_waiting, and ENDED with OUTCOME_RETRY: wall clock, in ns since 1970
 * @token: TAKEN, ENDED: of the grant
 */
struct local_event {
	enum local_event_kind kind;
	struct work work;
	struct key_hash hash;
	uint64_t id;
	bool is_ready, is_waiting;
	int wait_priority;
	uint64_t due;
	struct token token;
	enum outcome outcome;
};

/*
 * The state of QUEUE besides its items. It is over, too, if its outbox was shut down or removed.
 *
 * @getters: workers that wait for a key
 * @paused_for: how long it is still paused, in ns; UINT64_MAX until it is resumed. No event tells
 *	of the end of that time.
 */
struct local_state {
	bool is_paused, is_shut_down, is_unlinked;
	uint32_t group_limit, getters;
	uint64_t paused_for, ready, processing, outbox;
};

/**
 * local_open() - follow both queues
 * @local: receives the handle; NULL on failure
 * @queue: a queue with KWQ_CREATE_OUTBOX, KWQ_CREATE_CHANGES and a lease; its handle has all rights
 * @outbox: its outbox, likewise with all rights and KWQ_CREATE_CHANGES
 *
 * Both handles belong to the new one on success. Keys that QUEUE has are removed, even from their
 * workers: no machine may work on what it was granted in an earlier life.
 *
 * Return: 0 or a negative errno value; -EBUSY if another program follows one of the queues.
 */
int local_open(struct local **local, struct kwq *queue, struct kwq *outbox);

/* Stops following, and frees everything. Items of both queues stay where they are. */
void local_close(struct local *local);

/*
 * Descriptors that have POLLPRI when local_next() may have an event. That of the outbox is -1 while
 * so many adds are not stored that no more are read. poll(2) takes that.
 */
int local_queue_fd(const struct local *local);
int local_outbox_fd(const struct local *local);

/**
 * local_next() - the next thing that has happened
 * @local: the handle
 * @event: receives it
 * @now: on the caller's clock, in ns
 *
 * Adds of the outbox come only while fewer than LOCAL_ADDS_MAX are not yet stored: see
 * local_limit_adds(). The next add of a key comes when the one before it is stored.
 *
 * Return: 1 with an event, 0 without, or a negative errno value.
 */
int local_next(struct local *local, struct local_event *event, uint64_t now);

/* When local_next() may have an event though nothing happens; UINT64_MAX for never. */
uint64_t local_next_due(const struct local *local);

/* Sets how many adds may be read and not yet stored, below LOCAL_ADDS_MAX. */
void local_limit_adds(struct local *local, unsigned int most);

/**
 * local_hold_ends() - how long ends wait for the adds that came before them
 * @local: the handle
 * @most: at most, in ns; 0: not at all
 *
 * Ends make room in the stream. So they must not wait for adds for which it has none. And a long
 * backlog of adds must not keep keys and groups from other machines.
 *
 * After this time an end waits only for an add of its own key, if the outbox has one. Adds of other
 * keys may come after the end. With 0, adds are read far ahead for that: see LOCAL_ADDS_AHEAD.
 */
void local_hold_ends(struct local *local, uint64_t most);

/*
 * Whether the end of the key with this hash waits for an add of the key, and for nothing else. The
 * stream has to take that add, even if it is nearly full: only then the key makes room.
 */
bool local_end_needs_add(const struct local *local, const struct key_hash *hash);

/**
 * local_stored() - an add is safe in the stream
 * @local: the handle
 * @id: &local_event.id of the add
 *
 * The outbox forgets the item, and lets calls return that wait for it (KWQ_CREATE_SYNC). An item
 * that was added again meanwhile stays, and comes again. Calls that wait for it go on waiting.
 *
 * Return: 0 or a negative errno value.
 */
int local_stored(struct local *local, uint64_t id);

/**
 * local_confirmed() - the end of a key is safe in the stream
 * @local: the handle
 * @id: &local_event.id of the end
 */
void local_confirmed(struct local *local, uint64_t id);

/**
 * local_start() - let a worker get a key that was granted
 * @local: the handle
 * @hash: of the key
 * @work: the key and what came with it; the call copies it
 * @token: of the grant
 *
 * Workers see the token as elections * 2^42 + number * 2^14. Each further hand-out here has the
 * next token: see &kwq_add_extra.token.
 *
 * Return: 0 or a negative errno value: -ENOSPC and -EDQUOT if QUEUE is full, -ESHUTDOWN if one of
 * the queues is shut down, -EOVERFLOW for a token that does not fit.
 */
int local_start(struct local *local, const struct key_hash *hash, const struct work *work,
		struct token token);

/* The token of a grant as workers see it, for the first hand-out. */
uint64_t local_token(struct token token);

/**
 * local_take_back() - take a key back that no worker has begun
 * @local: the handle
 * @hash: of the key
 * @token: of its grant
 *
 * On success a later event tells its end, with OUTCOME_RETURNED.
 *
 * Return: 0; -ENOENT if it was not granted, or -EBUSY if a worker has it, or it has just ended.
 */
int local_take_back(struct local *local, const struct key_hash *hash, struct token token);

/**
 * local_revoke() - take a key back, even from its worker, whose job is killed
 * @local: the handle
 * @hash: of the key
 * @token: of its grant
 *
 * On success a later event tells its end: with OUTCOME_RETURNED if no worker had it, else with
 * OUTCOME_DONE.
 *
 * Return: 0; -ENOENT if it was not granted; -EBUSY if it has just ended.
 */
int local_revoke(struct local *local, const struct key_hash *hash, struct token token);

/**
 * local_revoke_all() - take back all keys that were granted, even from their workers
 * @local: the handle
 *
 * No event follows for them. The caller has confirmed the ends that it was told of.
 *
 * Return: 0 or a negative errno value.
 */
int local_revoke_all(struct local *local);

/**
 * local_set_term() - set when workers lose what was granted
 * @local: the handle
 * @boot: CLOCK_BOOTTIME in ns; 0 ends all work at once
 *
 * The kernel keeps to it, even if this process is stopped: see kwq_set_term().
 *
 * Return: 0 or a negative errno value.
 */
int local_set_term(struct local *local, uint64_t boot);

/* Reads &struct local_state. Returns 0 or a negative errno value. */
int local_state(struct local *local, struct local_state *state);

#endif /* KWQ_SHARE_LOCAL_H */
