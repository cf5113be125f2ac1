// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Records and messages as CBOR. Each is a map with short text keys. The number "v" goes up only if
 * an older reader would misunderstand what is written; a member that it may ignore is just added.
 */
#include "record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kwq.h>

#include "wire.h"

enum { FORMAT = 1 };

/* ---- The members ---------------------------------------------------------- */

enum member {
	VERSION,
	KEY,
	VALUE,
	GROUP,
	PRIORITY,
	REQUEUES,
	ABANDONED,
	DUE,
	PAST,
	THROUGH,
	VALUED,
	NOTE,
	NOTED,
	STATE,
	MACHINE,
	TTL,
	DEAD,
	EPOCH,
	HELD,
	MESSAGE,
	SLOT,
	NUMBER,
	HUNGRY,
	UNTAKEN,
	HASH,
	TOKEN,
	VERSIONS,
	OUTCOME,
	REVOKES,
	REQUEST,
	WAS,
	MEMBERS
};

/* PAIR: a token. TRIPLE: versions. LIST: of held keys. */
enum type { UNSIGNED, SIGNED, BYTES, TEXT, FLAG, PAIR, TRIPLE, LIST };

#define EPOCH_MAX (((RECORD_ELECTIONS_MAX + 1) << EPOCH_SEQ_BITS) - 1)

/* @max: of UNSIGNED, or the bytes of BYTES and TEXT. */
static const struct {
	char name[4];
	enum type type;
	uint64_t min, max;
} shapes[MEMBERS] = {
	[VERSION] = { "v", UNSIGNED, 1, UINT64_MAX },
	[KEY] = { "k", BYTES, 1, KWQ_KEY_MAX },
	[VALUE] = { "d", BYTES, 0, KWQ_VALUE_MAX },
	[GROUP] = { "g", BYTES, 0, KWQ_GROUP_MAX },
	[PRIORITY] = { "p", SIGNED },
	[REQUEUES] = { "q", UNSIGNED, 0, UINT32_MAX },
	[ABANDONED] = { "a", UNSIGNED, 0, UINT32_MAX },
	[DUE] = { "t", UNSIGNED, 0, UINT64_MAX },
	[PAST] = { "b", UNSIGNED, 0, UINT64_MAX },
	[THROUGH] = { "w", UNSIGNED, 0, UINT64_MAX },
	[VALUED] = { "j", UNSIGNED, 0, UINT64_MAX },
	[NOTE] = { "nt", BYTES, 1, KWQ_NOTE_MAX },
	[NOTED] = { "nj", UNSIGNED, 0, UINT64_MAX },
	[STATE] = { "s", UNSIGNED, 0, RETRY_REMEMBERED },
	[MACHINE] = { "m", TEXT, 1, MACHINE_MAX - 1 },
	[TTL] = { "r", UNSIGNED, 1, RECORD_TTL_MAX },
	[DEAD] = { "x", FLAG },
	[EPOCH] = { "e", UNSIGNED, 0, EPOCH_MAX },
	[HELD] = { "l", LIST },
	[MESSAGE] = { "i", UNSIGNED, 0, MESSAGE_REPLY },
	[SLOT] = { "o", UNSIGNED, 0, UINT32_MAX },
	[NUMBER] = { "n", UNSIGNED, 0, UINT64_MAX },
	[HUNGRY] = { "y", FLAG },
	[UNTAKEN] = { "f", UNSIGNED, 0, UINT32_MAX },
	[HASH] = { "h", BYTES, HASH_LEN, HASH_LEN },
	[TOKEN] = { "c", PAIR },
	[VERSIONS] = { "u", TRIPLE },
	[OUTCOME] = { "z", UNSIGNED, 0, OUTCOME_RETURNED },
	[REVOKES] = { "rv", FLAG },
	[REQUEST] = { "rq", UNSIGNED, 0, REQUEST_END_WAIT },
	[WAS] = { "wa", UNSIGNED, 0, UINT32_MAX },
};

#define BIT(member) (UINT32_C(1) << (member))
#define WORK (BIT(KEY) | BIT(VALUE) | BIT(GROUP) | BIT(NOTE) | BIT(PRIORITY) | BIT(REQUEUES) | \
	      BIT(ABANDONED))
#define SOURCES (BIT(VALUED) | BIT(NOTED))

struct kind_members {
	uint32_t required, optional;
};

static const struct kind_members of_record[] = {
	[RECORD_ADD] = { BIT(KEY), WORK | SOURCES },
	[RECORD_TIMED] = { BIT(KEY) | BIT(DUE) | BIT(PAST) | BIT(THROUGH), WORK | SOURCES },
	[RECORD_RETRY] = { BIT(KEY) | BIT(DUE) | BIT(STATE), WORK | SOURCES },
	[RECORD_EPOCH] = { BIT(MACHINE) | BIT(EPOCH), 0 },
	[RECORD_JOIN] = { BIT(MACHINE) | BIT(TTL), 0 },
	[RECORD_BEAT] = { BIT(MACHINE) | BIT(EPOCH), BIT(DEAD) | BIT(HELD) },
};

/* A done has the key, or its hash. */
static const struct kind_members of_message[] = {
	[MESSAGE_ASK] = { BIT(EPOCH) | BIT(MACHINE) | BIT(SLOT) | BIT(NUMBER),
			  BIT(HUNGRY) | BIT(UNTAKEN) },
	[MESSAGE_GRANT] = { BIT(EPOCH) | BIT(KEY) | BIT(TOKEN) | BIT(VERSIONS) | BIT(SLOT) |
			    BIT(NUMBER), WORK },
	[MESSAGE_DONE] = { BIT(EPOCH) | BIT(MACHINE) | BIT(TOKEN) | BIT(VERSIONS) | BIT(OUTCOME) |
			   BIT(DUE), WORK | BIT(HASH) | BIT(UNTAKEN) },
	[MESSAGE_CONFIRM] = { BIT(EPOCH) | BIT(HASH) | BIT(TOKEN), 0 },
	[MESSAGE_RECALL] = { BIT(EPOCH) | BIT(HASH) | BIT(TOKEN), BIT(REVOKES) },
	[MESSAGE_REQUEST] = { BIT(EPOCH) | BIT(MACHINE) | BIT(SLOT) | BIT(NUMBER) | BIT(HASH) |
			      BIT(REQUEST), 0 },
	[MESSAGE_REPLY] = { BIT(EPOCH) | BIT(SLOT) | BIT(NUMBER) | BIT(WAS), 0 },
};

/* Both structures, as far as they are written. */
struct contents {
	uint32_t has;
	uint64_t numbers[MEMBERS];
	struct bytes bytes[MEMBERS];
	int priority;
	struct token token;
	struct versions versions;
	const struct held *held;
	size_t nr_held;
};

/* ---- Encoding ------------------------------------------------------------- */

static void have_number(struct contents *c, enum member which, uint64_t number)
{
	c->has |= BIT(which);
	c->numbers[which] = number;
}

static void have_bytes(struct contents *c, enum member which, struct bytes bytes)
{
	c->has |= BIT(which);
	c->bytes[which] = bytes;
}

/* Members that are absent are read as 0. */
static void have_unless_0(struct contents *c, enum member which, uint64_t number)
{
	if (number)
		have_number(c, which, number);
}

static void have_machine(struct contents *c, const char *machine)
{
	have_bytes(c, MACHINE, (struct bytes){ machine, machine ? strlen(machine) : 0 });
}

static void have_work(struct contents *c, const struct work *work)
{
	have_bytes(c, KEY, work->key);
	if (work->has_value)
		have_bytes(c, VALUE, work->value);
	if (work->has_group)
		have_bytes(c, GROUP, work->group);
	if (work->note.len)
		have_bytes(c, NOTE, work->note);
	if (work->priority) {
		c->has |= BIT(PRIORITY);
		c->priority = work->priority;
	}
	have_unless_0(c, REQUEUES, work->requeues);
	have_unless_0(c, ABANDONED, work->abandoned);
}

static int encode_versions(struct buffer *to, struct versions v)
{
	return wire_number(to, v.add) ?: wire_number(to, v.timed) ?: wire_number(to, v.retry);
}

static int encode_token(struct buffer *to, struct token token)
{
	return wire_number(to, token.epoch) ?: wire_number(to, token.number);
}

static int encode_held(struct buffer *to, const struct held *held)
{
	return wire_array(to, 6) ?: wire_bytes(to, (struct bytes){ held->hash.bytes, HASH_LEN }) ?:
	       encode_token(to, held->token) ?: encode_versions(to, held->versions);
}

static int encode_list(struct buffer *to, const struct contents *c)
{
	int err = wire_array(to, c->nr_held);

	for (size_t i = 0; i < c->nr_held && !err; i++)
		err = encode_held(to, &c->held[i]);
	return err;
}

static bool is_text(struct bytes bytes)
{
	return !bytes.len || !memchr(bytes.at, '\0', bytes.len);
}

/* A timed add may name none. */
static bool is_priority(int64_t priority)
{
	return (priority >= KWQ_PRIORITY_MIN && priority <= KWQ_PRIORITY_MAX) ||
	       priority == KWQ_PRIORITY_NONE;
}

static bool is_between(uint64_t number, enum member which)
{
	return number >= shapes[which].min && number <= shapes[which].max;
}

static bool is_within(const struct contents *c, enum member which)
{
	switch (shapes[which].type) {
	case UNSIGNED:
		return is_between(c->numbers[which], which);
	case BYTES:
		return is_between(c->bytes[which].len, which);
	case TEXT:
		return is_between(c->bytes[which].len, which) && is_text(c->bytes[which]);
	case SIGNED:
		return is_priority(c->priority);
	default:
		return true;
	}
}

static int encode_member(struct buffer *to, const struct contents *c, enum member which)
{
	int err = wire_text(to, shapes[which].name);

	if (err)
		return err;
	switch (shapes[which].type) {
	case UNSIGNED:
		return wire_number(to, c->numbers[which]);
	case SIGNED:
		return wire_integer(to, c->priority);
	case FLAG:
		return wire_bool(to, c->numbers[which]);
	case BYTES:
		return wire_bytes(to, c->bytes[which]);
	/* The callers' texts have a NUL. */
	case TEXT:
		return wire_text(to, c->bytes[which].at);
	case PAIR:
		return wire_array(to, 2) ?: encode_token(to, c->token);
	case TRIPLE:
		return wire_array(to, 3) ?: encode_versions(to, c->versions);
	case LIST:
		return encode_list(to, c);
	}
	return -EINVAL;
}

static int encode(struct buffer *to, struct contents *c)
{
	int err;

	have_number(c, VERSION, FORMAT);
	to->len = 0;
	err = wire_map(to, __builtin_popcount(c->has));
	for (enum member m = 0; m < MEMBERS && !err; m++)
		if (c->has & BIT(m))
			err = is_within(c, m) ? encode_member(to, c, m) : -EINVAL;
	return err;
}

int record_encode(struct buffer *to, const struct record *record)
{
	struct contents c = { .held = record->held, .nr_held = record->nr_held };

	have_unless_0(&c, VALUED, record->valued);
	have_unless_0(&c, NOTED, record->noted);
	switch (record->kind) {
	case RECORD_RETRY:
		have_number(&c, STATE, record->state);
		break;
	case RECORD_TIMED:
		have_number(&c, PAST, record->past);
		have_number(&c, THROUGH, record->through);
		break;
	case RECORD_JOIN:
		have_number(&c, TTL, record->ttl);
		break;
	case RECORD_EPOCH:
		have_number(&c, EPOCH, record->epoch);
		break;
	case RECORD_BEAT:
		have_number(&c, EPOCH, record->epoch);
		have_unless_0(&c, DEAD, record->is_dead);
		if (record->nr_held)
			c.has |= BIT(HELD);
		break;
	default:
		break;
	}
	if (record->kind == RECORD_TIMED || record->kind == RECORD_RETRY)
		have_number(&c, DUE, record->due);
	if (of_record[record->kind].required & BIT(KEY))
		have_work(&c, &record->work);
	else
		have_machine(&c, record->machine);
	return encode(to, &c);
}

static void have_hash(struct contents *c, const struct message *message)
{
	have_bytes(c, HASH, (struct bytes){ message->hash.bytes, HASH_LEN });
}

static void have_key_of(struct contents *c, const struct message *message)
{
	if (message->work.key.len) {
		have_work(c, &message->work);
		return;
	}
	have_hash(c, message);
	have_unless_0(c, ABANDONED, message->work.abandoned);
}

int message_encode(struct buffer *to, const struct message *message)
{
	struct contents c = { .token = message->token, .versions = message->versions };

	have_number(&c, MESSAGE, message->kind);
	have_number(&c, EPOCH, message->epoch);
	switch (message->kind) {
	case MESSAGE_ASK:
		have_machine(&c, message->machine);
		have_unless_0(&c, HUNGRY, message->is_hungry);
		have_unless_0(&c, UNTAKEN, message->untaken);
		break;
	case MESSAGE_GRANT:
		have_work(&c, &message->work);
		break;
	case MESSAGE_DONE:
		have_machine(&c, message->machine);
		have_key_of(&c, message);
		have_number(&c, OUTCOME, message->outcome);
		have_number(&c, DUE, message->due);
		have_unless_0(&c, UNTAKEN, message->untaken);
		break;
	case MESSAGE_REQUEST:
		have_machine(&c, message->machine);
		have_number(&c, REQUEST, message->request);
		have_hash(&c, message);
		break;
	case MESSAGE_REPLY:
		have_number(&c, WAS, message->was);
		break;
	case MESSAGE_CONFIRM:
	case MESSAGE_RECALL:
		have_unless_0(&c, REVOKES, message->revokes);
		have_hash(&c, message);
		break;
	}
	if (of_message[message->kind].required & BIT(SLOT)) {
		have_number(&c, SLOT, message->slot);
		have_number(&c, NUMBER, message->number);
	}
	c.has |= of_message[message->kind].required & (BIT(TOKEN) | BIT(VERSIONS));
	return encode(to, &c);
}

/* ---- Decoding ------------------------------------------------------------- */

static enum member find_member(struct bytes name)
{
	for (enum member m = 0; m < MEMBERS; m++)
		if (strlen(shapes[m].name) == name.len &&
		    !memcmp(shapes[m].name, name.at, name.len))
			return m;
	return MEMBERS;
}

static bool decode_number(struct bytes *from, uint64_t *number)
{
	struct wire_item item;

	if (!wire_read(from, &item) || item.kind != WIRE_NUMBER)
		return false;
	*number = item.number;
	return true;
}

/*
 * Reads the head of an array of at least @len items. Returns how many more it has, or a negative
 * number.
 */
static int64_t decode_array(struct bytes *from, uint64_t len)
{
	struct wire_item item;

	if (!wire_read(from, &item) || item.kind != WIRE_ARRAY || item.number < len ||
	    item.number > from->len)
		return -1;
	return item.number - len;
}

static bool skip_more(struct bytes *from, int64_t more)
{
	while (more-- > 0)
		if (!wire_skip(from))
			return false;
	return true;
}

static bool decode_versions(struct bytes *from, struct versions *v)
{
	return decode_number(from, &v->add) && decode_number(from, &v->timed) &&
	       decode_number(from, &v->retry);
}

static bool decode_token(struct bytes *from, struct token *token)
{
	return decode_number(from, &token->epoch) && decode_number(from, &token->number);
}

static bool decode_held(struct bytes *from, struct held *held)
{
	int64_t more = decode_array(from, 6);
	struct wire_item item;

	if (more < 0 || !wire_read(from, &item) || item.kind != WIRE_BYTES ||
	    item.bytes.len != HASH_LEN)
		return false;
	memcpy(held->hash.bytes, item.bytes.at, HASH_LEN);
	return decode_token(from, &held->token) && decode_versions(from, &held->versions) &&
	       skip_more(from, more);
}

static int add_held(struct record_memory *memory, size_t nr, const struct held *held)
{
	size_t size = memory->size ? 2 * memory->size : 16;
	struct held *list;

	if (nr == memory->size) {
		list = reallocarray(memory->held, size, sizeof(*list));
		if (!list)
			return -ENOMEM;
		memory->held = list;
		memory->size = size;
	}
	memory->held[nr] = *held;
	return 0;
}

static int decode_list(struct bytes *from, struct contents *c, struct record_memory *memory)
{
	int64_t left = decode_array(from, 0);
	struct held held;

	if (left < 0)
		return -EBADMSG;
	for (; left; left--, c->nr_held++) {
		if (!decode_held(from, &held))
			return -EBADMSG;
		if (add_held(memory, c->nr_held, &held))
			return -ENOMEM;
	}
	c->held = memory->held;
	return 0;
}

static bool decode_priority(const struct wire_item *item, int *priority)
{
	int64_t number = (int64_t)item->number;

	if (item->kind == WIRE_NEGATIVE)
		number = -1 - number;
	if ((item->kind != WIRE_NUMBER && item->kind != WIRE_NEGATIVE) ||
	    item->number > (uint64_t)INT32_MAX || !is_priority(number))
		return false;
	*priority = number;
	return true;
}

static bool decode_plain(struct bytes *from, struct contents *c, enum member which)
{
	static const enum wire_kind kinds[] = {
		[UNSIGNED] = WIRE_NUMBER,
		[BYTES] = WIRE_BYTES,
		[TEXT] = WIRE_TEXT,
		[FLAG] = WIRE_BOOL,
	};
	struct wire_item item;

	if (!wire_read(from, &item))
		return false;
	if (shapes[which].type == SIGNED)
		return decode_priority(&item, &c->priority);
	if (item.kind != kinds[shapes[which].type])
		return false;
	c->numbers[which] = item.number;
	c->bytes[which] = item.bytes;
	return is_within(c, which);
}

static bool decode_numbers(struct bytes *from, struct contents *c, enum member which)
{
	int64_t more = decode_array(from, shapes[which].type == PAIR ? 2 : 3);
	bool good;

	if (more < 0)
		return false;
	if (shapes[which].type == PAIR)
		good = decode_token(from, &c->token);
	else
		good = decode_versions(from, &c->versions);
	return good && skip_more(from, more);
}

static int decode_member(struct bytes *from, struct contents *c, struct record_memory *memory)
{
	struct wire_item name;
	enum member which;

	if (!wire_read(from, &name) || name.kind != WIRE_TEXT)
		return -EBADMSG;
	which = find_member(name.bytes);
	if (which == MEMBERS)
		return wire_skip(from) ? 0 : -EBADMSG;
	if (c->has & BIT(which))
		return -EBADMSG;
	c->has |= BIT(which);
	switch (shapes[which].type) {
	case LIST:
		return decode_list(from, c, memory);
	case PAIR:
	case TRIPLE:
		return decode_numbers(from, c, which) ? 0 : -EBADMSG;
	default:
		return decode_plain(from, c, which) ? 0 : -EBADMSG;
	}
}

/*
 * A newer version is recognised before anything else of it is judged. kwq writes the version first.
 * If others do not, their newer records count as damaged.
 */
static int decode(struct bytes from, struct contents *c, struct record_memory *memory)
{
	struct wire_item map;
	int err;

	if (!wire_read(&from, &map) || map.kind != WIRE_MAP)
		return -EBADMSG;
	for (; map.number; map.number--) {
		err = decode_member(&from, c, memory);
		if (err)
			return err;
		if (c->has & BIT(VERSION) && c->numbers[VERSION] > FORMAT)
			return -EPROTONOSUPPORT;
	}
	return from.len || !(c->has & BIT(VERSION)) ? -EBADMSG : 0;
}

/* Whether all is there. Members that do not belong to the kind are ignored, as unknown ones are. */
static bool is_complete(struct contents *c, const struct kind_members *kind)
{
	if (kind->required & ~c->has)
		return false;
	c->has &= kind->required | kind->optional;
	for (enum member m = 0; m < MEMBERS; m++)
		if (!(c->has & BIT(m)))
			c->numbers[m] = 0;
	if (!(c->has & BIT(TOKEN)))
		c->token = (struct token){ 0 };
	if (!(c->has & BIT(VERSIONS)))
		c->versions = (struct versions){ 0 };
	return true;
}

static void take_work(struct work *work, const struct contents *c)
{
	*work = (struct work){
		.key = c->bytes[KEY],
		.has_value = c->has & BIT(VALUE),
		.has_group = c->has & BIT(GROUP),
		.priority = c->has & BIT(PRIORITY) ? c->priority : 0,
		.requeues = c->has & BIT(REQUEUES) ? c->numbers[REQUEUES] : 0,
		.abandoned = c->has & BIT(ABANDONED) ? c->numbers[ABANDONED] : 0,
	};
	if (work->has_value)
		work->value = c->bytes[VALUE];
	if (work->has_group)
		work->group = c->bytes[GROUP];
	if (c->has & BIT(NOTE))
		work->note = c->bytes[NOTE];
}

static const char *take_machine(struct record_memory *memory, const struct contents *c)
{
	memcpy(memory->machine, c->bytes[MACHINE].at, c->bytes[MACHINE].len);
	memory->machine[c->bytes[MACHINE].len] = '\0';
	return memory->machine;
}

/* The kind of a record, by its subject. Negative if the stream has no such subject. */
static int kind_of(const struct names *names, const char *subject)
{
	static const struct {
		const char *prefix;
		enum record_kind kind;
	} kinds[] = {
		{ "a.", RECORD_ADD }, { "t.", RECORD_TIMED }, { "r.", RECORD_RETRY },
		{ "c.e", RECORD_EPOCH }, { "c.j.", RECORD_JOIN }, { "c.m.", RECORD_BEAT },
	};
	size_t len = strlen(names->root);

	if (strncmp(subject, names->root, len) || subject[len] != '.')
		return -EBADMSG;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strncmp(subject + len + 1, kinds[i].prefix, strlen(kinds[i].prefix)))
			return kinds[i].kind;
	return -EBADMSG;
}

static int take_record(struct record *record, struct record_memory *memory,
		       const struct contents *c)
{
	if (c->has & BIT(KEY)) {
		take_work(&record->work, c);
		if (key_hash_of(&record->hash, record->work.key))
			return -ENOMEM;
	}
	if (c->has & BIT(MACHINE))
		record->machine = take_machine(memory, c);
	record->due = c->numbers[DUE];
	record->past = c->numbers[PAST];
	record->through = c->numbers[THROUGH];
	record->valued = c->numbers[VALUED];
	record->noted = c->numbers[NOTED];
	record->state = c->numbers[STATE];
	record->ttl = c->numbers[TTL];
	record->epoch = c->numbers[EPOCH];
	if (record->kind == RECORD_EPOCH)
		record->epoch = epoch_of(epoch_count(record->epoch), record->seq);
	record->is_dead = c->has & BIT(DEAD) && c->numbers[DEAD];
	if (c->has & BIT(HELD)) {
		record->held = c->held;
		record->nr_held = c->nr_held;
	}
	return 0;
}

const char *record_fault(int err)
{
	switch (err) {
	case -EBADMSG:
		return "is damaged: nobody can tell what it was";
	case -EPROTONOSUPPORT:
		return "is of a newer kwq share, and is skipped here: install that one here, too";
	default:
		return NULL;
	}
}

int record_damaged_beat(struct record *record, struct record_memory *memory,
			const struct names *names, const char *subject, uint64_t seq)
{
	size_t prefix = strlen(names->root) + strlen(".c.m."), len = strlen(subject);
	struct contents c = { 0 };

	if (kind_of(names, subject) != RECORD_BEAT || len - prefix >= MACHINE_MAX)
		return -EBADMSG;
	c.bytes[MACHINE] = (struct bytes){ subject + prefix, len - prefix };
	*record = (struct record){
		.kind = RECORD_BEAT, .seq = seq, .machine = take_machine(memory, &c),
	};
	return 0;
}

int record_decode(struct record *record, struct record_memory *memory, const struct names *names,
		  const char *subject, uint64_t seq, struct bytes payload)
{
	char expected[SUBJECT_MAX];
	struct contents c = { 0 };
	int kind = kind_of(names, subject), err;

	if (kind < 0)
		return kind;
	err = decode(payload, &c, memory);
	if (err)
		return err;
	if (!is_complete(&c, &of_record[kind]))
		return -EBADMSG;
	*record = (struct record){ .kind = kind, .seq = seq };
	err = take_record(record, memory, &c);
	if (err)
		return err;
	/* They name records that were there before. */
	if (record->through >= seq || record->valued >= seq || record->noted >= seq)
		return -EBADMSG;
	return record_subject(expected, names, record) || strcmp(expected, subject) ? -EBADMSG : 0;
}

static int take_hash(struct message *message, const struct contents *c)
{
	struct key_hash said;

	if (c->has & BIT(KEY)) {
		take_work(&message->work, c);
		if (key_hash_of(&message->hash, message->work.key))
			return -ENOMEM;
	}
	if (!(c->has & BIT(HASH)))
		return c->has & BIT(KEY) || message->kind == MESSAGE_ASK ||
		       message->kind == MESSAGE_REPLY ? 0 : -EBADMSG;
	memcpy(said.bytes, c->bytes[HASH].at, HASH_LEN);
	if (c->has & BIT(KEY) && memcmp(said.bytes, message->hash.bytes, HASH_LEN))
		return -EBADMSG;
	message->hash = said;
	return 0;
}

int message_decode(struct message *message, struct record_memory *memory, struct bytes payload)
{
	struct contents c = { 0 };
	int err = decode(payload, &c, memory);
	enum message_kind kind;

	if (err)
		return err;
	if (!(c.has & BIT(MESSAGE)))
		return -EBADMSG;
	kind = c.numbers[MESSAGE];
	if (!is_complete(&c, &of_message[kind]))
		return -EBADMSG;
	*message = (struct message){
		.kind = kind,
		.epoch = c.numbers[EPOCH],
		.slot = c.numbers[SLOT],
		.number = c.numbers[NUMBER],
		.is_hungry = c.numbers[HUNGRY],
		.untaken = c.numbers[UNTAKEN],
		.token = c.token,
		.versions = c.versions,
		.outcome = c.numbers[OUTCOME],
		.due = c.numbers[DUE],
		.revokes = c.numbers[REVOKES],
		.request = c.numbers[REQUEST],
		.was = c.numbers[WAS],
		.work.abandoned = c.numbers[ABANDONED],
	};
	/* Its key goes into a record. */
	if (kind == MESSAGE_DONE && !(c.has & BIT(KEY)) && message->outcome != OUTCOME_DONE &&
	    message->outcome != OUTCOME_RETURNED)
		return -EBADMSG;
	if (c.has & BIT(MACHINE))
		message->machine = take_machine(memory, &c);
	return take_hash(message, &c);
}

void record_memory_free(struct record_memory *memory)
{
	free(memory->held);
	*memory = (struct record_memory){ 0 };
}
