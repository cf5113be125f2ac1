/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * CBOR (RFC 8949), one item at a time. A reader points into the bytes that it reads, and allocates
 * nothing: no length that the sender claims costs memory.
 */
#ifndef KWQ_SHARE_WIRE_H
#define KWQ_SHARE_WIRE_H

#include "record.h"

enum wire_kind {
	WIRE_NUMBER,	/* 0 or more */
	WIRE_NEGATIVE,	/* -1 - number */
	WIRE_BYTES,
	WIRE_TEXT,
	WIRE_ARRAY,	/* of @number items, which follow */
	WIRE_MAP,	/* of @number pairs, which follow */
	WIRE_TAG,	/* of the item that follows */
	WIRE_BOOL,
	WIRE_OTHER,	/* floating point, null, undefined */
	WIRE_REFUSED,	/* of unknown length: kwq writes none */
};

struct wire_item {
	enum wire_kind kind;
	uint64_t number;
	struct bytes bytes;
};

/* Reads one item. Removes it from @from. Returns whether there was a whole one. */
bool wire_read(struct bytes *from, struct wire_item *item);

/* Passes over one item and all that it contains. Returns whether it was whole. */
bool wire_skip(struct bytes *from);

/* These append an item. Return 0 or -ENOMEM. */
int wire_number(struct buffer *to, uint64_t number);
int wire_integer(struct buffer *to, int64_t number);
int wire_bool(struct buffer *to, bool value);
int wire_bytes(struct buffer *to, struct bytes bytes);
int wire_text(struct buffer *to, const char *text);
int wire_array(struct buffer *to, size_t len);
int wire_map(struct buffer *to, size_t pairs);
#endif
