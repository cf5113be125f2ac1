/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Records of the stream, and messages between machines. record.c turns these
 * structures into CBOR and back, and makes the subjects.
 */
#ifndef KWQ_SHARE_RECORD_H
#define KWQ_SHARE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

enum { MACHINE_MAX = 128, HASH_LEN = 16 };

/* Bytes that somebody else owns. */
struct bytes {
	const void *at;
	size_t len;
};

/* The first 16 bytes of SHA-256 of a key: its name in subjects and tables. */
struct key_hash {
	uint8_t bytes[HASH_LEN];
};

/* A machine holds and asks for so many keys at most: a promise lists them all in one message. */
enum { HELD_MAX = 10000 };

/*
 * The token of workers has no room for more elections. A longer lease is that of no machine, in ns.
 */
#define RECORD_ELECTIONS_MAX ((UINT64_C(1) << 21) - 1)
#define RECORD_TTL_MAX (UINT64_C(3600) * 1000000000)

/*
 * An epoch: how many elections there were, and in its low bits the sequence number of its record.
 * So no two elections have one epoch, even if somebody has made the stream anew.
 */
enum { EPOCH_SEQ_BITS = 42 };

static inline uint64_t epoch_of(uint64_t count, uint64_t seq)
{
	return count << EPOCH_SEQ_BITS | (seq & ((UINT64_C(1) << EPOCH_SEQ_BITS) - 1));
}

static inline uint64_t epoch_count(uint64_t epoch)
{
	return epoch >> EPOCH_SEQ_BITS;
}

/* The number of a grant: compare the epoch first. */
struct token {
	uint64_t epoch, number;
};

/* Sequence numbers in the stream of the records that a grant covers; 0 for none. */
struct versions {
	uint64_t add, timed, retry;
};

/* The contents of an add, a grant and a retry. Without a note, @note is empty. */
struct work {
	struct bytes key, value, group, note;
	bool has_value, has_group;
	int priority;		/* KWQ_PRIORITY_MIN to KWQ_PRIORITY_MAX */
	uint32_t requeues, abandoned;
};

enum record_kind {
	RECORD_ADD,	/* a.HASH */
	RECORD_TIMED,	/* t.HASH */
	RECORD_RETRY,	/* r.HASH */
	RECORD_EPOCH,	/* c.e */
	RECORD_JOIN,	/* c.j.MACHINE */
	RECORD_BEAT,	/* c.m.MACHINE: a heartbeat, or a burial */
};

enum retry_state { RETRY_WAITING, RETRY_DEAD, RETRY_REMEMBERED };

/* A key that a machine holds, as its promise lists it. */
struct held {
	struct key_hash hash;
	struct token token;
	struct versions versions;
};

/*
 * @seq: its sequence number, when it was received
 * @due: TIMED and RETRY: ns since 1970
 * @past, @through: TIMED: see timed.h
 * @valued: ADD, TIMED, RETRY: the version of the add or timed add whose value it has. 0: its own;
 *	RETRY: unknown
 * @noted: the same for the note, also of a RETRY: the version of the record that brought it. 0: its
 *	own
 * @machine: JOIN, BEAT, EPOCH
 * @ttl: JOIN: how long the machine may be silent, in ns
 * @epoch: EPOCH: this one, without its sequence number until it is stored; BEAT: the promised one,
 *	or of a burial the highest one that its sender knows
 */
struct record {
	enum record_kind kind;
	uint64_t seq;
	struct key_hash hash;
	struct work work;
	uint64_t due, past, through, valued, noted;
	enum retry_state state;
	const char *machine;
	bool is_dead;
	uint64_t ttl, epoch;
	const struct held *held;
	size_t nr_held;
};

enum message_kind {
	MESSAGE_ASK, MESSAGE_GRANT, MESSAGE_DONE, MESSAGE_CONFIRM, MESSAGE_RECALL, MESSAGE_REQUEST,
	MESSAGE_REPLY,
};

/* A person wants this of a key, on whichever machine. */
enum request_kind {
	REQUEST_REMOVE,		/* it is gone, and its job ends */
	REQUEST_DROP,		/* a dead key is gone */
	REQUEST_KICK,		/* a dead key is ready */
	REQUEST_END_WAIT,	/* a waiting key is ready */
};

/* A machine has so many requests that are not answered, at most. */
enum { REQUESTS_MAX = 64 };

enum outcome {
	OUTCOME_DONE,		/* and its count of requeues is 0 */
	OUTCOME_REMEMBERED,	/* done, and it keeps its count of requeues */
	OUTCOME_RETRY,		/* again at @due */
	OUTCOME_DEAD,
	OUTCOME_RETURNED,	/* nobody has begun: ready again, ahead */
};

/*
 * @machine: ASK, DONE, REQUEST: the sender
 * @slot, @number: ASK, GRANT, REQUEST, REPLY: which ask or request of the machine this is or
 *	answers
 * @is_hungry: ASK: a worker sleeps there
 * @untaken: ASK, DONE: how many keys the machine holds that no worker has taken
 * @work: GRANT; DONE: the same work with its new counts, if the outcome is RETRY, REMEMBERED or
 *	DEAD, and with a note only if that is a new one
 * @revokes: RECALL: also from a worker, whose job ends
 * @request: REQUEST
 * @was: REPLY: what the key was, KWQ_WAS_* bits; 0 if it was not there, or not so
 */
struct message {
	enum message_kind kind;
	uint64_t epoch;
	const char *machine;
	uint32_t slot;
	uint64_t number;
	bool is_hungry;
	uint32_t untaken;
	struct key_hash hash;
	struct token token;
	struct versions versions;
	struct work work;
	enum outcome outcome;
	uint64_t due;
	bool revokes;
	enum request_kind request;
	uint32_t was;
};

/* ---- Names ---------------------------------------------------------------- */

/* Room for every subject, and for the name of every stream, with the NUL. */
enum { SUBJECT_MAX = 640, STREAM_MAX = 256 };

/* The names of a queue in the engine. */
struct names {
	char stream[STREAM_MAX];	/* kwq-Q */
	char subjects[STREAM_MAX + 8];	/* kwq.Q.>: all subjects of the stream */
	char control[STREAM_MAX + 8];	/* kwq.Q.c.>: epochs, joins and heartbeats */
	char root[STREAM_MAX];		/* kwq.Q */
	char messages[STREAM_MAX];	/* kwq-to.Q: what machines say to each other */
};

/**
 * names_init() - make the names of a queue
 * @names: where they go
 * @queue: its name: any bytes but '/' and NUL, 1 to KWQ_NAME_MAX
 *
 * Bytes other than letters, digits, '-' and '_' become =XX. A name that is too long for a stream
 * then ends in its SHA-256 instead. So two queues never have one name.
 *
 * Return: 0, or -EINVAL for a name that no queue has, or -EIO if libcrypto fails.
 */
int names_init(struct names *names, const char *queue);

/**
 * key_hash_of() - what a key is called
 *
 * Return: 0, or -EIO if libcrypto fails.
 */
int key_hash_of(struct key_hash *hash, struct bytes key);

/**
 * record_subject() - the subject of a record
 * @subject: where it goes
 * @record: its kind and, by the kind, its hash or its machine
 *
 * Return: 0, or -EINVAL for a machine without a name, or with one of MACHINE_MAX bytes or more.
 */
int record_subject(char subject[SUBJECT_MAX], const struct names *names,
		   const struct record *record);

/**
 * subject_shown() - a received subject, for messages
 * @to: receives it, with ? for each byte that no subject of kwq share has
 * @subject: of anybody's record
 *
 * Return: @to
 */
const char *subject_shown(char to[SUBJECT_MAX], const char *subject);

/**
 * master_subject() - where the master of an epoch receives asks and dones
 */
void master_subject(char subject[SUBJECT_MAX], const struct names *names, uint64_t epoch);

/**
 * machine_subject() - where a machine receives grants, confirmations and recalls
 *
 * Return: as record_subject().
 */
int machine_subject(char subject[SUBJECT_MAX], const struct names *names, const char *machine);

/* ---- Encoding ------------------------------------------------------------- */

/* Bytes that grow. All 0 is an empty one; the owner frees @bytes. */
struct buffer {
	uint8_t *bytes;
	size_t len, size;
};

/*
 * Memory of a decoded record or message, besides the bytes it was decoded from. All 0 at first.
 */
struct record_memory {
	char machine[MACHINE_MAX];
	struct held *held;
	size_t size;
};

/**
 * record_encode() - make the payload of a record
 * @to: is overwritten
 *
 * Only what the kind has is written. The hash of a key, and the sequence number, are not in it.
 *
 * Return: 0; -ENOMEM; or -EINVAL if a member is out of its limits, so that record_decode() would
 * refuse it.
 */
int record_encode(struct buffer *to, const struct record *record);

/**
 * record_decode() - read a record that anybody may have written
 * @record: where it goes. It points into @payload and @memory, and is valid as long as both.
 * @subject: that it came with
 * @seq: its sequence number
 *
 * Members that are unknown are passed over: newer versions may write them.
 *
 * Return: 0; -EBADMSG if it is damaged, or is not what its subject says; -EPROTONOSUPPORT if only a
 * newer version can read it; -ENOMEM.
 */
int record_decode(struct record *record, struct record_memory *memory, const struct names *names,
		  const char *subject, uint64_t seq, struct bytes payload);

/**
 * record_fault() - what to say of a record that record_decode() refuses
 *
 * Return: the rest of a sentence that begins with the record; NULL if the record is not to blame.
 */
const char *record_fault(int err);

/**
 * record_damaged_beat() - what a damaged heartbeat still tells: whose it is
 * @record: where it goes: a heartbeat that promises nothing. It points into @memory.
 * @subject: that it came with
 * @seq: its sequence number
 *
 * Return: 0, or -EBADMSG if it is no heartbeat.
 */
int record_damaged_beat(struct record *record, struct record_memory *memory,
			const struct names *names, const char *subject, uint64_t seq);

/**
 * message_encode() - make the payload of a message
 *
 * Of a key either the key itself or, if @message->work.key is empty, the hash is written.
 *
 * Return: as record_encode().
 */
int message_encode(struct buffer *to, const struct message *message);

/**
 * message_decode() - read a message that anybody may have sent
 *
 * Return: as record_decode().
 */
int message_decode(struct message *message, struct record_memory *memory, struct bytes payload);

/* Frees what it holds. */
void record_memory_free(struct record_memory *memory);
#endif
