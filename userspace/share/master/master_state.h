/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Shared by the files of the master.
 */
#ifndef KWQ_SHARE_MASTER_STATE_H
#define KWQ_SHARE_MASTER_STATE_H

#include "share/core/copy.h"
#include "share/core/hash.h"
#include "master.h"
#include "share/core/order.h"
#include "share/core/timed.h"

/* A key has a record of each of these kinds, or none. */
enum { KEY_RECORDS = RECORD_RETRY + 1 };

/*
 * An operation of a key or of a machine, which have one at a time.
 *
 * @id: in the table of operations; 0 if none is on its way
 * @start: orders it, again if its result is unknown
 * @finish: gets its result
 * @sent_at: when the engine was told last
 * @start_at: when it is ordered again, if @is_late
 * @is_held: it waits for room in the window
 */
struct op {
	UT_hash_handle hh;
	struct op *prev, *next;
	uint64_t id, sent_at, start_at;
	bool is_late, is_held;
	void (*start)(struct master *master, struct op *op);
	void (*finish)(struct master *master, struct op *op, enum op_result result, uint64_t seq,
		       const struct record *record);
	struct master_key *key;
	struct peer *peer;
};

/* A done is processed in this order. */
enum stage {
	STAGE_NONE,
	STAGE_RETRY,	/* a retry is written */
	STAGE_TIMED,	/* a timed add beside the run gets the newest value of that */
	STAGE_ADD,	/* the same for an add */
	STAGE_ERASE,	/* the granted versions are erased */
	STAGE_REQUEST,	/* of no machine: what a person wants is done with it */
};

/*
 * @prev, @next: in @bookings or @ending of its holder, the youngest last
 * @holder: NULL if it is dead, and its done is being processed
 * @erased: a bit for each kind whose version is erased
 * @kind: of the record that is being written or erased
 * @valued: the version whose value was granted, 0 if that is unknown
 * @noted: the same of the note. A run that ends well ends all notes up to this one.
 * @is_loss: its holder, or a worker there, has died with it
 * @result: the record to write, or NULL
 * @base: the version that is to be replaced
 * @expected: what the publish expects
 * @written: the sequence number of what counts as written, until the tail has delivered it; else 0
 * @recall_at: when it may be recalled, boot time
 * @priority: the highest since the grant
 * @was: STAGE_REQUEST: what the key was, KWQ_WAS_* bits
 * @known: STAGE_REQUEST: the record that the tail had delivered when one was read, 0 for none
 */
struct booking {
	struct master_key *prev, *next;
	struct peer *holder;
	struct token token;
	struct versions versions;
	enum stage stage;
	unsigned int erased;
	enum record_kind kind;
	struct record *result;
	uint64_t base, expected, written, valued, noted, known;
	uint64_t recall_at;
	unsigned int recalls;
	int priority;
	uint32_t was;
	bool is_loss;
};

/* The pauses of a key that stays on its machine. The longest is 0.1 s times 2^23, 10 days. */
enum { STAYS = 24 };

enum { COUNT_READY, COUNT_WAITING, COUNT_BOOKED, COUNT_DEAD, COUNT_REMEMBERED, COUNTS };

/*
 * @records: the newest record received, of each kind
 * @granted: the highest version granted, of each kind
 * @is_ahead: it goes ahead when it is ready again
 * @rest: until when it is not granted after a loss, unless it is added meanwhile
 * @counted: bits of the counters that count it
 * @stays: it was recalled for an add, and is not recalled for another one until @stays_until
 * @stay: its list, which is that of the length of the pause
 * @next_stay: the list of the next pause, until it has run
 * @is_added_again: since then
 * @recall_prev, @recall_next: among the keys that were recalled just now, if @is_recalled
 * @requests: that wait for it, the oldest first
 * @served: the one that is being done, or NULL
 */
struct master_key {
	UT_hash_handle hh;
	struct key_hash hash;
	struct record *records[KEY_RECORDS];
	struct versions granted;
	struct order_item order;
	struct due_item due[KEY_RECORDS], rest;
	bool is_booked, is_ahead, is_recalled, stays, is_added_again;
	struct booking booking;
	struct master_key *recall_prev, *recall_next, *stay_prev, *stay_next;
	uint64_t recalled_at, stays_until;
	unsigned int stay, next_stay;
	struct op op;
	unsigned int counted;
	struct request *requests, *served;
};

/*
 * A request of a machine, by its slot.
 *
 * @prev, @next: in @requests of its key
 * @key: NULL if it was answered
 * @was: what the key was, KWQ_WAS_* bits
 */
struct request {
	struct request *prev, *next;
	struct master_key *key;
	struct peer *peer;
	uint64_t number;
	enum request_kind what;
	uint32_t was;
};

/*
 * An ask of a slot: it waits, or was answered.
 *
 * @prev, @next: among those that wait, if @is_waiting
 * @heard_at: when it came last. A machine repeats an ask that waits.
 */
struct ask {
	UT_hash_handle hh;
	struct ask *prev, *next;
	struct peer *peer;
	uint32_t slot;
	uint64_t number, heard_at;
	bool is_hungry, is_waiting;
	struct key_hash answered;
	struct token token;
};

/*
 * A machine.
 *
 * @join, @beat: sequence numbers of its records, 0 for none
 * @ttl: how long it may be silent, as its join says
 * @heard_at: when the last of them was received
 * @early_beat, @early_at: a heartbeat that the candidate received
 * @bury_at: it is not buried before
 * @stored: the heartbeat that the stream had when a burial failed, 0 for none, or NEVER if none
 *	has failed since @beat was received
 * @clean_at: when its records are erased, NEVER if it is alive
 * @bookings, @ending: its keys without a done, and those whose done is processed
 * @hungry: how many of its asks wait for sleeping workers
 * @untaken: keys that no worker there has taken, as far as the master knows
 * @working: what its workers had of an older master, as its last heartbeat says
 * @requests: by slot; NULL if it never had any
 */
struct peer {
	UT_hash_handle hh;
	uint64_t join, beat, ttl, heard_at, early_beat, early_at, bury_at, clean_at;
	uint64_t stored;
	bool has_promised, is_dead;
	struct ask *asks;
	struct master_key *bookings, *ending;
	size_t nr_bookings, hungry, untaken, nr_working;
	struct held *working;
	struct request *requests;
	struct op op;
	char name[];
};

struct master {
	struct master_options options;
	const struct master_ops *ops;
	void *arg;
	struct instant now;
	bool has_failed, is_deposed, knows_members, is_serving, is_used_up;
	uint64_t last_op, last_number;
	struct op *ops_by_id, *late_ops, *held_ops;
	/* Operations of keys that may be under way, and those that are. */
	struct window window;
	size_t nr_under_way;
	struct master_key *keys;
	struct order order;
	struct due_heap due, resting;
	struct peer *peers;
	struct ask *hungry, *others;
	struct master_key *recalled, *staying[STAYS];
	size_t nr_hungry, nr_recalled;
	uint64_t drop_at;
	size_t counts[COUNTS];
};

/* master.c */

/* Memory has run out. */
void master_fail(struct master *master);

/* Orders @op. An operation of a key waits here until the window has room. */
void op_order(struct master *master, struct op *op);

/* The same of the operation of @key: @start tells the engine, and @finish gets the result. */
void key_order(struct master *master, struct master_key *key,
	       void (*start)(struct master *, struct op *),
	       void (*finish)(struct master *, struct op *, enum op_result, uint64_t,
			      const struct record *));

/* Gives @op a number, before @op->start tells the engine. Returns false if memory has run out. */
bool op_register(struct master *master, struct op *op);

/* Orders @op again, after a while. */
void op_order_later(struct master *master, struct op *op);

/* Forgets @op, whose result does not matter any more. */
void op_forget(struct master *master, struct op *op);

/* master_keys.c */

struct master_key *key_find(struct master *master, const struct key_hash *hash);

/* Finds or makes it. Returns NULL if memory has run out. */
struct master_key *key_get(struct master *master, const struct key_hash *hash);

/* A record of a key. */
void key_record(struct master *master, const struct record *record);

/*
 * After any change of @key: puts it where it belongs, and frees it if nothing is known of it.
 */
void key_settle(struct master *master, struct master_key *key);

/* The versions that a grant would cover now. All are 0 if the key is not dirty. */
struct versions key_covered(const struct master *master, const struct master_key *key);

/* The version of the newest add or timed add whose value the key has. */
uint64_t key_value_version(const struct master_key *key);

/* Whether the run that is being ended ends the note of @record, which may have none. */
bool key_ends_note(const struct master_key *key, const struct record *record);

/* The version of the newest note that the key has, 0 without one. */
uint64_t key_note_version(const struct master_key *key);

/* The contents of a grant of these versions. The bytes are the key's. */
struct work key_work(const struct master_key *key, const struct versions *versions);

/* Books it, when it is out of the order: @holder has these versions, under this token. */
void key_book(struct master *master, struct master_key *key, struct peer *holder,
	      struct token token, const struct versions *versions);

/* Its done is processed from now on, so it cannot be recalled. */
void key_begin_end(struct master_key *key);

/* Ends the booking. */
void key_unbook(struct master *master, struct master_key *key);

/* Ends the booking as if it had not been granted. */
void key_take_back(struct master *master, struct master_key *key, bool ahead);

void key_free(struct master *master, struct master_key *key);

/* Some keys whose times have come become ready. The next call takes more. */
void keys_tick(struct master *master);

/* The record of a kind, if its version is higher than the granted one. */
const struct record *key_fresh(const struct master_key *key, enum record_kind kind);

uint64_t *version_of(struct versions *versions, enum record_kind kind);

/* master_done.c */

void done_message(struct master *master, const struct message *message);

void done_confirm(struct master *master, const char *machine, const struct key_hash *hash,
		  struct token token);

/* Writes @result over the record of its kind, as a part of the booking. */
void done_publish(struct master *master, struct master_key *key, struct record *result);

/* The tail has delivered a record of @key. */
void done_record_received(struct master *master, struct master_key *key);

/* master_losses.c */

/* How often a worker or a machine has died with @key since a run of it has ended. */
uint32_t key_losses(const struct master_key *key);

/* @key, which is booked, comes back with so many losses: when they are in the stream. */
void loss_begin(struct master *master, struct master_key *key, uint32_t losses);
void loss_is_stored(struct master *master, struct master_key *key);

/* @key may be granted at once. */
void rest_end(struct master *master, struct master_key *key);
void rests_tick(struct master *master);

/* A heartbeat that promises nothing to this master. */
void working_heard(struct master *master, struct peer *peer, const struct record *record);
void working_forget(struct peer *peer);

/* @peer is dead: books for it what it worked on. */
void working_book(struct master *master, struct peer *peer);

/* master_peers.c */

/* Books @key, which is not booked, for what a master of an older epoch has granted. */
void key_book_former(struct master *master, struct master_key *key, struct peer *peer,
		     const struct held *held);

struct peer *peer_find(struct master *master, const char *name);
void peer_record(struct master *master, const struct record *record);
void epoch_record(struct master *master, const struct record *record);
void peers_tick(struct master *master);
uint64_t peers_next_due(const struct master *master);
size_t peers_missing(const struct master *master);
void peer_free(struct master *master, struct peer *peer);

/* master_grants.c */

void ask_message(struct master *master, const struct message *message);

/* Grants what is ready to those who ask, and recalls keys for sleeping workers. */
void serve(struct master *master);

/* The machine is dead: its asks are. */
void asks_free(struct master *master, struct peer *peer);

/* master_requests.c */

void request_message(struct master *master, const struct message *message);

/* @key, which nobody has, is wanted by a person. */
void request_begin(struct master *master, struct master_key *key);

/* The tail has delivered what a request of @key waits for. */
void request_record_received(struct master *master, struct master_key *key);

/* A job of @key has ended. */
void requests_job_ended(struct master_key *key);

/* Before @key is freed. */
void requests_forget(struct master_key *key);

/* The machine is dead: nobody waits for the replies. */
void requests_free(struct master *master, struct peer *peer);

/* master_recalls.c */

/* Asks the machine for @key. With @revokes, its job ends. */
void send_recall(struct master *master, const struct master_key *key, bool revokes);

/* N6: nobody sleeps while another machine has keys that wait for a worker. */
void recall_for_the_hungry(struct master *master);

/* N2: @key became dirty while it is booked. If no worker has taken it, one run is enough. */
void recall_to_coalesce(struct master *master, struct master_key *key);

/* @peer has told how many of its keys no worker has taken. */
void recalls_untaken(struct peer *peer, uint32_t untaken);

/* Before its booking ends. */
void recall_forget(struct master *master, struct master_key *key);

/* Before @key is freed, and when it has run. */
void stay_forget(struct master *master, struct master_key *key);

void recalls_tick(struct master *master);
uint64_t recalls_next_due(const struct master *master);

#endif /* KWQ_SHARE_MASTER_STATE_H */
