/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * NATS JetStream as an event loop sees it: one stream, whose records have versions, and messages
 * that may be lost.
 *
 * Context: one thread calls everything. No call waits for the network, except engine_close(), which
 * may take some seconds. libnats has threads of its own; they only append to a list.
 *
 * An operation that is under way when the connection ends is RESULT_UNKNOWN: it may have happened,
 * and it may still happen. engine_next() connects again for ever, and follows where it was.
 */
#ifndef KWQ_SHARE_ENGINE_H
#define KWQ_SHARE_ENGINE_H

#include "share/wire/record.h"

struct engine;

/**
 * struct engine_options - how to reach the engine, and what is wanted there
 * @urls: nats://HOST[:PORT] or tls://HOST[:PORT], ended by NULL; all servers, since one may be away
 * @credentials: file with a JWT and its seed (.creds), or NULL
 * @nkey: file with the seed of an NKey, or NULL
 * @user_file: file with a user's name and, on the second line, the password, or NULL
 * @token_file: file with a token, or NULL
 * @ca: file with certificates that are trusted, or NULL for those of the system
 * @certificate, @key: files of this machine's certificate and its key, both or none
 * @client: what the server calls this client in its lists
 * @names: of the queue
 * @replicas: servers that keep each record, 1 to 5
 * @max_bytes: of a stream that has to be created; 0 for no limit of its own
 * @may_shrink: half of @max_bytes will do, and half of that, if there is no room for more
 * @timeout_ms: how long an operation waits for its answer; 0 for 10,000
 * @retry_ms: between two rounds of attempts to connect; 0 for 1,000. Up to 30 s if a server refuses
 *	the login.
 * @silent_ms: after so long without a write that was stored, another server is tried; 0 for never
 * @check_ms: how often to look whether others have changed the stream; 0 for 10,000
 * @max_in_flight: most operations under way; 0 for 16,384. Publishes of heartbeats and elections
 *	are never too many.
 *
 * The texts have to stay until engine_close().
 */
struct engine_options {
	const char *const *urls;
	const char *credentials, *nkey, *user_file, *token_file;
	const char *ca, *certificate, *key;
	const char *client;
	const struct names *names;
	unsigned int replicas;
	bool may_shrink;
	uint64_t max_bytes;
	unsigned int timeout_ms;
	unsigned int retry_ms;
	unsigned int silent_ms;
	unsigned int check_ms;
	unsigned int max_in_flight;
};

enum engine_event_kind {
	/* The stream can be used. Operations are accepted until the next DOWN or REFUSED. */
	EVENT_UP,
	/* The engine is away; @text says why. Comes again if the reason changes. */
	EVENT_DOWN,
	/* As DOWN, but somebody has to change something: see @text. It is tried again, too. */
	EVENT_REFUSED,
	/* @text: what somebody should know. */
	EVENT_WARNING,
	/* An operation has ended: @id, @result, @text, and what the operation says. */
	EVENT_ENDED,
	/* A record: @id of the tail, @subject, @seq, @time, @data. */
	EVENT_ENTRY,
	/* All records that were there when the tail began have been passed. Once a tail. @id */
	EVENT_CAUGHT_UP,
	/* A message: @id of the listener, @subject, @data. */
	EVENT_MESSAGE,
};

enum engine_result {
	RESULT_OK,
	RESULT_WRONG_SEQUENCE,	/* publish: the last sequence number is another one */
	RESULT_FULL,		/* publish: a limit of the stream, the account or the server */
	RESULT_GONE,		/* erase: there is no such sequence number (any more) */
	RESULT_NONE,		/* read: the subject has no record */
	RESULT_REFUSED,		/* not done, and it will not be: permissions, or too long */
	RESULT_UNKNOWN,		/* no answer: it may have happened, and may still happen */
};

/**
 * struct engine_event - what engine_next() returns
 * @text: for people; never NULL
 * @time: ENTRY: when it was stored, by the clock of the server that led the stream then, in ns
 *	since 1970
 * @subject, @data: "" and no bytes if there are none
 *
 * All that it points to is valid until the next call of engine_next() or engine_close().
 */
struct engine_event {
	enum engine_event_kind kind;
	enum engine_result result;
	uint64_t id;
	uint64_t seq, time;
	const char *text;
	const char *subject;
	struct bytes data;
};

/**
 * engine_url_is_valid() - whether engine_open() can use a URL
 *
 * Return: true for nats:// or tls://, a host, and perhaps a port; a user may be before the host.
 */
bool engine_url_is_valid(const char *url);

enum { ENGINE_URL_MAX = 512 };

/**
 * engine_shown_url() - a URL for messages, without its user and password
 *
 * Return: @to, which has it.
 */
const char *engine_shown_url(const char *url, char to[ENGINE_URL_MAX]);

/**
 * engine_open() - begin to connect
 * @options: is copied; what it points to is not
 *
 * Return: the engine, which the caller closes, or NULL with errno: ENOMEM, EMFILE, EAGAIN (no
 * thread), EINVAL (no URL, or a certificate without its key).
 */
struct engine *engine_open(const struct engine_options *options);

/**
 * engine_close() - end the connection and free everything
 *
 * Operations that are under way have no event any more. NULL does nothing.
 */
void engine_close(struct engine *engine);

/**
 * engine_fd() - a descriptor that is readable when engine_next() should be called
 *
 * Return: the descriptor, which belongs to the engine. It can be in poll(2) and epoll(7).
 */
int engine_fd(const struct engine *engine);

/**
 * engine_next() - take the next event
 *
 * To be called until it returns false, and then again when engine_fd() is readable. Also does what
 * has to be done at some time: time-outs, and connecting anew.
 *
 * Return: whether there was one.
 */
bool engine_next(struct engine *engine, struct engine_event *event);

/**
 * engine_is_up() - whether operations are accepted
 */
bool engine_is_up(const struct engine *engine);

/**
 * engine_wall() - what time it is
 *
 * Return: the time of the server that leads the stream, in ns since 1970. It goes on by the boot
 * clock, so it does not jump when somebody sets the wall clock of this machine. Until the engine is
 * up for the first time, it is that wall clock.
 */
uint64_t engine_wall(const struct engine *engine);

/* Whether this engine has made the stream, which was not there before. */
bool engine_has_made_stream(const struct engine *engine);

/* For engine_publish(): whatever the last record of the subject is. */
#define ENGINE_ANY UINT64_MAX

/**
 * engine_has_room() - ask whether the stream has room for an add
 * @engine: the engine
 * @bytes: of the record
 *
 * A part of the stream is reserved for heartbeats, without which all work ends, and for retries. A
 * server may refuse even records that replace others.
 *
 * Return: true if so, or if the stream has no limit of its own.
 */
bool engine_has_room(struct engine *engine, size_t bytes);

/* An add of so many bytes is published now, and takes room until the stream says how full it is. */
void engine_take_room(struct engine *engine, size_t bytes);

/**
 * engine_publish() - write a record
 * @subject: one of the stream
 * @expected: the sequence number that the subject's last record must have; 0 if it must have none;
 *	ENGINE_ANY
 *
 * Ends in OK with the sequence number of the record, WRONG_SEQUENCE, FULL, REFUSED or UNKNOWN. Each
 * call writes one record at most, and records are not recognised as repeated. Operations
 * under way may be written in any order.
 *
 * Return: the number of the operation, above 0; or -ENOTCONN (wait for EVENT_UP), -EAGAIN (too many
 * are under way: wait for an end), -EINVAL (no subject), -ENOMEM.
 */
int64_t engine_publish(struct engine *engine, const char *subject, struct bytes data,
		       uint64_t expected);

/**
 * engine_erase() - delete the record with a sequence number, and no other
 *
 * Ends in OK, GONE, REFUSED or UNKNOWN.
 *
 * Return: as engine_publish().
 */
int64_t engine_erase(struct engine *engine, uint64_t seq);

/**
 * engine_read() - read the last record of a subject, from the stream's leader
 *
 * Ends in OK with @seq, @subject and @data, or in NONE, REFUSED or UNKNOWN.
 *
 * Return: as engine_publish().
 */
int64_t engine_read(struct engine *engine, const char *subject);

/**
 * engine_follow() - follow records, in the order of their sequence numbers, without a gap
 * @filter: a subject, or one with * and >
 * @first: the first sequence number; 0 or 1 for the first record
 *
 * Only the last record of a subject is kept, so what was replaced before it came does not come.
 * Deletions are not reported. Goes on over lost connections. Reads the copy of any server.
 *
 * Return: the number of the tail, above 0, or -ENOMEM.
 */
int64_t engine_follow(struct engine *engine, const char *filter, uint64_t first);

/**
 * engine_unfollow() - end a tail
 *
 * Events of it that were not taken yet do not come any more.
 */
void engine_unfollow(struct engine *engine, int64_t tail);

/**
 * engine_listen() - receive messages
 * @filter: a subject outside of the stream, or one with * and >
 *
 * Messages may be lost, above all while the connection is away, or if engine_next() is not called.
 *
 * Return: the number of the listener, above 0, or -ENOMEM.
 */
int64_t engine_listen(struct engine *engine, const char *filter);

/**
 * engine_unlisten() - receive no more messages
 */
void engine_unlisten(struct engine *engine, int64_t listener);

/**
 * engine_say() - send a message, which may be lost
 *
 * Return: 0, or -ENOTCONN, -EMSGSIZE or -ENOMEM.
 */
int engine_say(struct engine *engine, const char *subject, struct bytes data);
#endif
