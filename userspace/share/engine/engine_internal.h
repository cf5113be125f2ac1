/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The parts of the engine:
 *
 *   engine_inbox.c          what libnats' threads leave for the caller's thread
 *   engine_subscription.c   subscriptions, and when they may be destroyed
 *   engine_connect.c        a thread that connects, and why it could not
 *   engine_options.c        options of libnats: TLS, users, keys
 *   engine_probe.c          which version a server has
 *   engine_stream.c         the stream: created, or checked
 *   engine_silence.c        when a server is left that stores nothing
 *   engine_clock.c          the time of the servers
 *   engine_ops.c            requests and their answers
 *   engine_tail.c           tails
 *   engine.c                events, time, and the rest
 *
 * Fields without a lock belong to the caller's thread.
 */
#ifndef KWQ_SHARE_ENGINE_INTERNAL_H
#define KWQ_SHARE_ENGINE_INTERNAL_H

#include <pthread.h>

#include <nats/nats.h>
#include <uthash.h>
#include <utlist.h>

#include "engine.h"

enum { TEXT_MAX = 1024, URL_MAX = ENGINE_URL_MAX };

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)
#define NEVER UINT64_MAX

/* ---- engine_inbox.c ------------------------------------------------------- */

enum raw_kind {
	RAW_CONNECTED,	/* @nc, @text: the URL; @server */
	RAW_FAILED,	/* @text; @refused */
	RAW_CLOSED,	/* @nc, @text */
	RAW_ERROR,	/* @nc, @text */
	RAW_REPLY,	/* @msg */
	RAW_URGENT,	/* @msg: an answer that overtakes what has come before it */
	RAW_TAIL,	/* @msg, @id of the tail, @generation */
	RAW_MESSAGE,	/* @msg, @id of the listener */
};

/* A server, as it describes itself. */
struct server_facts {
	char version[64];
	bool has_jetstream, wants_certificate;
};

struct raw {
	struct raw *next;
	enum raw_kind kind;
	natsConnection *nc;
	natsMsg *msg;
	uint64_t id, generation;
	bool refused;
	struct server_facts server;
	char text[];
};

/* Entries in their order. */
struct raws {
	struct raw *first, *last;
};

/*
 * Records of a tail may be very many. A lease would end if the answers to heartbeats waited behind
 * them. So these answers are in a list of their own.
 *
 * @lock: covers @urgent, @others, @nr_messages and @closed
 * @fd: an eventfd, readable while the lists may have something; set once, closed under @lock
 * @closed: nobody takes any more: what comes is freed
 *
 * libnats may call back for some time after a connection was destroyed, and does not say until
 * when. So inboxes are never freed. A program needs one.
 */
struct inbox {
	pthread_mutex_t lock;
	struct raws urgent, others;
	size_t nr_messages;
	bool closed;
	int fd;
	struct inbox *retired;
};

struct inbox *inbox_new(void);
/* Frees what is in it. */
void inbox_retire(struct inbox *inbox);
/* Takes all entries, the urgent ones first. */
struct raw *inbox_take(struct inbox *inbox);
/* Takes an urgent entry, or returns NULL. */
struct raw *inbox_take_urgent(struct inbox *inbox);
/* Waits for an entry, at most until a time of engine_now(). Returns false if it is over already. */
bool inbox_wait(struct inbox *inbox, uint64_t until);
/*
 * Makes an entry with a text. Without memory NULL: then the entry is lost, as if the network had
 * lost it.
 */
struct raw *raw_new(enum raw_kind kind, const char *text);
/* Frees what is in it, too: a message, and the connection of RAW_CONNECTED. */
void raw_free(struct raw *raw);
/* Owns @raw from now on; NULL is allowed. */
void inbox_put(struct inbox *inbox, struct raw *raw);
/* Makes the descriptor readable. */
void inbox_wake(struct inbox *inbox);
/* For the options of connections; the closure is the inbox. */
void inbox_on_closed(natsConnection *nc, void *closure);
void inbox_on_error(natsConnection *nc, natsSubscription *sub, natsStatus status, void *closure);

/* ---- engine_subscription.c ------------------------------------------------ */

/*
 * @nc: its connection, which stays as long as @sub
 * @ended_at: the engine's last number when it ended
 */
struct subscription {
	natsSubscription *sub;
	natsConnection *nc;
	uint64_t ended_at;
	struct subscription *prev, *next;
};

/*
 * Subscribes so that messages come to the inbox as @kind. Returns NULL if the connection is gone,
 * or without memory.
 */
struct subscription *subscription_new(struct engine *engine, const char *subject,
				      enum raw_kind kind, uint64_t id, uint64_t generation);
/* Owns @subscription from now on; NULL is allowed. It is destroyed later. */
void subscription_end(struct engine *engine, struct subscription *subscription);
/* An answer to operation @id came over the engine's connection. */
void subscriptions_on_reply(struct engine *engine, uint64_t id);
void subscriptions_on_closed(struct engine *engine, const natsConnection *nc);
/* Forgets those that libnats may still use. They are never freed. */
void subscriptions_abandon(struct engine *engine);

/* ---- engine_connect.c, engine_options.c, engine_probe.c ------------------- */

struct connector;

struct connector *connector_new(const struct engine_options *options, struct inbox *inbox);
/* Waits for its thread. */
void connector_free(struct connector *connector);
/* Asks for a connection: RAW_CONNECTED will come, and RAW_FAILED for each round that failed. */
void connector_want(struct connector *connector);

/* How long to wait after a round: longer each time, if a server refuses the login. */
uint64_t connector_pause_ms(unsigned int retry_ms, unsigned int denials);

/*
 * Why something did not work.
 *
 * @refused: somebody has to change something
 * @denied: the server refused the login
 * @is_local: a file of this machine is wrong, whichever server is asked
 */
struct why {
	bool refused, denied, is_local;
	char text[TEXT_MAX];
};

/* Returns options for one URL, or NULL. */
natsOptions *options_new(const struct engine_options *options, struct inbox *inbox, const char *url,
			 struct why *why);
/* Whether a URL, or an option, asks for TLS. */
bool options_want_tls(const struct engine_options *options, const char *url);
/* Connects, reads what the server says of itself, and hangs up. Returns whether that worked. */
bool probe_server(const char *url, struct server_facts *facts, struct why *why);
/* Whether kwq works with a version. Versions that it cannot read count as new ones. */
bool version_is_known_good(const char *version, unsigned int replicas, struct why *why);
/* Returns the known faults of a version that works, or NULL. */
const char *version_warning(const char *version);

/* ---- Requests: engine_ops.c ----------------------------------------------- */

enum reply_kind {
	REPLY_DATA,
	REPLY_NOBODY,	/* no server answers on that subject: nothing has happened */
	REPLY_REFUSED,	/* permissions: nothing has happened */
	REPLY_TIMEOUT,
	REPLY_LOST,	/* the connection has ended */
};

struct reply {
	enum reply_kind kind;
	struct bytes data;
	const char *text;
};

struct op;

typedef void (*op_ended)(struct engine *engine, struct op *op, const struct reply *reply);

/* Each list is in the order of time, since all its members wait equally long. */
enum op_list { LIST_USERS, LIST_OWN, LIST_PAUSED, LISTS };

/* The part of an urgent answer's subject before the number of its operation. */
#define URGENT "u."

/*
 * @is_write: it is counted by silence_writes()
 * @pause_kind, @pause_text: how it ends if nothing comes until @until
 * @sent_at: when it was sent
 * @tail, @seq: what the one who began it needs
 */
struct op {
	uint64_t id;
	op_ended ended;
	enum op_list list;
	uint64_t sent_at, until;
	uint64_t tail, seq;
	bool is_write;
	enum reply_kind pause_kind;
	const char *pause_text;
	struct op *prev, *next;
	UT_hash_handle hh;
	char subject[];
};

/* Sends a request. Returns its operation, or NULL: no connection, or no memory. */
struct op *op_begin(struct engine *engine, const char *subject, struct bytes data,
		    enum op_list list, op_ended ended);
/* The same with a JSON text. */
struct op *op_ask(struct engine *engine, op_ended ended, const char *subject, const char *json);
/* Forgets an operation: its end is not reported. */
void op_cancel(struct engine *engine, uint64_t id);
void ops_on_reply(struct engine *engine, natsMsg *msg);
/* Ends what the server has refused for a subject. Returns whether it was an operation. */
bool ops_on_permission(struct engine *engine, const char *subject, const char *text);
void ops_end_all(struct engine *engine, const char *text);
void ops_check_time(struct engine *engine, uint64_t now);
/* The number of the server's error, or 0. */
unsigned int reply_error(const struct reply *reply);
/* The answer of the server. Returns @to. */
char *reply_text(const struct reply *reply, char to[TEXT_MAX]);

/* ---- engine_stream.c ------------------------------------------------------ */

/* Begins to look for the stream. */
void engine_stream_open(struct engine *engine);
/* Looks whether the stream is still there. */
/* The stream cannot be used until somebody changes something: says why, and tries again later. */
void stream_refuse(struct engine *engine, const char *text);
void stream_check(struct engine *engine);
void stream_on_time(struct engine *engine, uint64_t now);

/* ---- engine_silence.c ----------------------------------------------------- */

/* From now on the server has to say something definite about the stream. */
void silence_opens(struct engine *engine);
/* A write was sent. op_remove() counts it down. */
void silence_writes(struct engine *engine);
/* The engine has stored a write, or said why it cannot. */
void silence_ends(struct engine *engine);
void silence_check_time(struct engine *engine, uint64_t now);

/* ---- engine_clock.c ------------------------------------------------------- */

/* The time as a server writes it, in ns since 1970, or 0. */
uint64_t clock_parse(const char *text);
/* An answer to a request of @sent_at, boot time, has the time @server, or 0. */
void clock_learn(struct engine *engine, uint64_t server, uint64_t sent_at);

/* ---- engine_tail.c -------------------------------------------------------- */

struct tail;

void tails_on_up(struct engine *engine);
void tails_on_down(struct engine *engine);
/* Owns @msg. */
void tails_on_message(struct engine *engine, uint64_t id, uint64_t generation, natsMsg *msg);
void tails_check_time(struct engine *engine, uint64_t now);
void tails_free(struct engine *engine);

/* ---- engine.c ------------------------------------------------------------- */

enum phase {
	PHASE_OFFLINE,	/* the connector works */
	PHASE_OPENING,	/* connected; the stream is not known to be usable */
	PHASE_UP,
};

struct queued {
	struct queued *next;
	struct engine_event event;
	natsMsg *msg;
	void *memory;
	char text[];
};

struct listener {
	uint64_t id;
	struct subscription *sub;
	struct listener *prev, *next;
	char filter[];
};

/*
 * @said: the last DOWN or REFUSED, so that a text comes once
 * @has_made: this engine has made the stream
 * @created: when the stream was made, as the server writes it; "" before the first time
 * @last_seq: the highest sequence number that the stream has told of
 * @asked_at_seq: the same when the stream was asked for
 * @routine_at: when the stream is looked at, to see what others have done to it
 * @missing_since: since when a server says that there is no stream, or 0
 * @limit: of the stream in bytes, or 0
 * @bytes: of the stream, as it said last
 * @sent, @sent_before: bytes of adds since then, and those before the question that is under way
 * @wall_at_boot: the time of the servers less the boot time, or 0 while it is unknown
 * @stored_at: when it has stored a write last
 * @silent_since: what silence_check_time() counts from, or NEVER if nothing is waited for
 * @nr_writes: writes without an answer
 * @replies, @urgent: the subscriptions of answers
 * @ended: subscriptions that are destroyed when libnats does not use them any more
 * @raw: taken from the inbox, not looked at yet
 * @armed: when the timer fires, or NEVER
 * @in_next: events are being made for a caller of engine_next(), who needs no wake-up
 */
struct engine {
	struct engine_options options;
	struct inbox *inbox;
	struct connector *connector;
	int epoll, timer;
	enum phase phase;
	natsConnection *nc;
	struct server_facts server;
	char url[URL_MAX];
	char said[TEXT_MAX], warned[64];
	char created[64];
	uint64_t last_seq, asked_at_seq, routine_at;
	uint64_t limit, bytes, sent, sent_before;
	uint64_t wall_at_boot, stored_at, silent_since;
	size_t nr_writes;
	uint64_t open_at, missing_since;
	bool is_checking, has_made;
	uint64_t check_at;
	char reply_prefix[64];
	struct subscription *replies, *urgent, *ended;
	uint64_t last_id;
	struct op *ops, *lists[LISTS];
	unsigned int nr_users_ops;
	struct tail *tails;
	struct listener *listeners;
	struct raw *raw;
	struct queued *events, *last_event, *taken;
	uint64_t armed;
	bool in_next;
};

uint64_t engine_now(void);
void engine_arm(struct engine *engine, uint64_t at);

/* Notes that the stream has a record of this number. */
static inline void engine_note_seq(struct engine *engine, uint64_t seq)
{
	if (seq > engine->last_seq)
		engine->last_seq = seq;
}

/*
 * Queues an event. Copies the text and, unless there is a @msg that has it, the subject. @msg and
 * @memory are freed with the event; its data has to be in one of them.
 */
void engine_tell(struct engine *engine, const struct engine_event *event, natsMsg *msg,
		 void *memory);
/* Queues a state with a text, if it has not just been said. */
void engine_tell_state(struct engine *engine, enum engine_event_kind kind,
		       const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Drops the events of a tail or a listener that were not taken. */
void engine_forget_events(struct engine *engine, uint64_t id);
/* The stream can be used; cannot be used any more; the connection has to be made anew. */
void engine_up(struct engine *engine);
void engine_not_up(struct engine *engine, const char *why);
void engine_reconnect(struct engine *engine, const char *why);
#endif
