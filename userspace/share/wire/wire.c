// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cbor.h>

/* ---- Reading -------------------------------------------------------------- */

static void set(void *into, enum wire_kind kind, uint64_t number)
{
	struct wire_item *item = into;

	*item = (struct wire_item){ .kind = kind, .number = number };
}

static void set_bytes(void *into, enum wire_kind kind, cbor_data at, size_t len)
{
	struct wire_item *item = into;

	*item = (struct wire_item){ .kind = kind, .bytes = { at, len } };
}

/* libcbor 0.10 passes lengths of 64 bits, also on machines of 32. */
#if CBOR_MAJOR_VERSION == 0 && CBOR_MINOR_VERSION < 10
typedef size_t length_t;
#else
typedef uint64_t length_t;
#endif

#define ON_NUMBER(bits)									\
	static void on_uint##bits(void *into, uint##bits##_t n) { set(into, WIRE_NUMBER, n); }	\
	static void on_negint##bits(void *into, uint##bits##_t n) { set(into, WIRE_NEGATIVE, n); }
ON_NUMBER(8)
ON_NUMBER(16)
ON_NUMBER(32)
ON_NUMBER(64)

static void on_bytes(void *into, cbor_data at, length_t len)
{
	set_bytes(into, WIRE_BYTES, at, len);
}

static void on_text(void *into, cbor_data at, length_t len)
{
	set_bytes(into, WIRE_TEXT, at, len);
}

static void on_array(void *into, length_t len)
{
	set(into, WIRE_ARRAY, len);
}

static void on_map(void *into, length_t pairs)
{
	set(into, WIRE_MAP, pairs);
}

static void on_tag(void *into, uint64_t tag)
{
	set(into, WIRE_TAG, tag);
}

static void on_bool(void *into, bool value)
{
	set(into, WIRE_BOOL, value);
}

static void on_float(void *into, float value)
{
	(void)value;
	set(into, WIRE_OTHER, 0);
}

static void on_double(void *into, double value)
{
	(void)value;
	set(into, WIRE_OTHER, 0);
}

static void on_other(void *into)
{
	set(into, WIRE_OTHER, 0);
}

static void on_refused(void *into)
{
	set(into, WIRE_REFUSED, 0);
}

static const struct cbor_callbacks callbacks = {
	.uint8 = on_uint8, .uint16 = on_uint16, .uint32 = on_uint32, .uint64 = on_uint64,
	.negint8 = on_negint8, .negint16 = on_negint16,
	.negint32 = on_negint32, .negint64 = on_negint64,
	.byte_string = on_bytes, .string = on_text, .array_start = on_array, .map_start = on_map,
	.tag = on_tag, .boolean = on_bool, .null = on_other, .undefined = on_other,
	.float2 = on_float, .float4 = on_float, .float8 = on_double,
	.byte_string_start = on_refused, .string_start = on_refused,
	.indef_array_start = on_refused, .indef_map_start = on_refused,
	.indef_break = on_refused,
};

bool wire_read(struct bytes *from, struct wire_item *item)
{
	struct cbor_decoder_result result;

	if (!from->len)
		return false;
	item->kind = WIRE_REFUSED;
	result = cbor_stream_decode(from->at, from->len, &callbacks, item);
	if (result.status != CBOR_DECODER_FINISHED || item->kind == WIRE_REFUSED ||
	    result.read > from->len)
		return false;
	from->at = (const uint8_t *)from->at + result.read;
	from->len -= result.read;
	return true;
}

/* How many items follow that belong to this one. More than there can be if it is damaged. */
static uint64_t contained(const struct wire_item *item)
{
	switch (item->kind) {
	case WIRE_ARRAY:
		return item->number;
	case WIRE_MAP:
		return item->number > UINT64_MAX / 2 ? UINT64_MAX : item->number * 2;
	case WIRE_TAG:
		return 1;
	default:
		return 0;
	}
}

bool wire_skip(struct bytes *from)
{
	struct wire_item item;
	uint64_t left = 1, more;

	while (left--) {
		if (!wire_read(from, &item))
			return false;
		more = contained(&item);
		/* Each item has a byte at least. So the sum cannot overflow. */
		if (more > from->len)
			return false;
		left += more;
	}
	return true;
}

/* ---- Writing -------------------------------------------------------------- */

/* The longest head of an item. */
enum { HEAD = 9 };

/* Returns where @len more bytes go, or NULL without memory. */
static uint8_t *room(struct buffer *to, size_t len)
{
	size_t size = to->size ? to->size : 256;
	uint8_t *bytes;

	while (size - to->len < len)
		size *= 2;
	if (size != to->size) {
		bytes = realloc(to->bytes, size);
		if (!bytes)
			return NULL;
		to->bytes = bytes;
		to->size = size;
	}
	return to->bytes + to->len;
}

#define PUT(to, encode, value) ({					\
	struct buffer *to_ = (to);					\
	uint8_t *at_ = room(to_, HEAD);					\
									\
	if (at_)							\
		to_->len += encode(value, at_, HEAD);			\
	at_ ? 0 : -ENOMEM;						\
})

static int put_contents(struct buffer *to, const void *from, size_t len)
{
	uint8_t *at = room(to, len);

	if (!at)
		return -ENOMEM;
	if (len)
		memcpy(at, from, len);
	to->len += len;
	return 0;
}

int wire_number(struct buffer *to, uint64_t number)
{
	return PUT(to, cbor_encode_uint, number);
}

int wire_integer(struct buffer *to, int64_t number)
{
	if (number >= 0)
		return wire_number(to, number);
	return PUT(to, cbor_encode_negint, (uint64_t)(-1 - number));
}

int wire_bool(struct buffer *to, bool value)
{
	return PUT(to, cbor_encode_bool, value);
}

int wire_bytes(struct buffer *to, struct bytes bytes)
{
	return PUT(to, cbor_encode_bytestring_start, bytes.len) ?:
		       put_contents(to, bytes.at, bytes.len);
}

int wire_text(struct buffer *to, const char *text)
{
	int err = PUT(to, cbor_encode_string_start, strlen(text));

	return err ? err : put_contents(to, text, strlen(text));
}

int wire_array(struct buffer *to, size_t len)
{
	return PUT(to, cbor_encode_array_start, len);
}

int wire_map(struct buffer *to, size_t pairs)
{
	return PUT(to, cbor_encode_map_start, pairs);
}
