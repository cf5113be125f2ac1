// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "saved.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A file is a header, and then chunks: one with the queue, one for each item, and one that ends
 * the file. All numbers are in the machine's byte order. Each chunk has its length, and the last
 * one the number of items and the sum of all bytes before it. A change of any structure needs a
 * new version.
 */
static const char magic[8] = "kwqsave";

enum { VERSION = 1, BYTE_ORDER_MARK = 0x01020304, OTHER_BYTE_ORDER = 0x04030201 };

struct header {
	char magic[8];
	uint32_t byte_order;
	uint32_t version;
};

enum chunk_kind { CHUNK_QUEUE = 1, CHUNK_ITEM, CHUNK_END };

struct chunk {
	uint32_t kind;
	uint32_t len;		/* of what follows */
};

struct end {
	uint64_t nr;		/* of items */
	uint64_t sum;		/* of all bytes before this member */
};

/* ---- The checksum --------------------------------------------------------- */

/* CRC-64/XZ: it finds every error burst of up to 64 bits, and others with near certainty. */
static uint64_t crc_table[8][256];

static void init_crc(void)
{
	uint64_t crc;
	int i, j;

	if (crc_table[0][1])
		return;
	for (i = 0; i < 256; i++) {
		crc = i;
		for (j = 0; j < 8; j++)
			crc = crc >> 1 ^ (crc & 1 ? UINT64_C(0xc96c5795d7870f42) : 0);
		crc_table[0][i] = crc;
	}
	for (i = 0; i < 256; i++)
		for (j = 1; j < 8; j++)
			crc_table[j][i] = crc_table[j - 1][i] >> 8 ^
					  crc_table[0][crc_table[j - 1][i] & 0xff];
}

/* Eight bytes at a time, or the checksum would take longer than the file. */
static uint64_t crc_add(uint64_t crc, const void *data, size_t len)
{
	const unsigned char *p = data;
	int i;

	crc = ~crc;
	for (; len >= 8; len -= 8, p += 8) {
		uint64_t next = 0;

		for (i = 0; i < 8; i++)
			next ^= crc_table[7 - i][(crc >> 8 * i ^ p[i]) & 0xff];
		crc = next;
	}
	for (; len; len--, p++)
		crc = crc >> 8 ^ crc_table[0][(crc ^ *p) & 0xff];
	return ~crc;
}

/* ---- Writing -------------------------------------------------------------- */

static int put(struct saved_writer *w, const void *data, size_t len)
{
	w->sum = crc_add(w->sum, data, len);
	if (!len || fwrite(data, len, 1, w->to) == 1)
		return 0;
	return errno ? -errno : -EIO;
}

static int put_chunk(struct saved_writer *w, enum chunk_kind kind, const void *data, size_t len,
		     size_t more)
{
	const struct chunk chunk = { .kind = kind, .len = len + more };
	int err = put(w, &chunk, sizeof(chunk));

	return err ? err : put(w, data, len);
}

bool saved_has_header(int fd)
{
	char begin[sizeof(magic)];

	return pread(fd, begin, sizeof(begin), 0) == sizeof(begin) &&
	       !memcmp(begin, magic, sizeof(magic));
}

int saved_begin(struct saved_writer *w, FILE *to, const struct saved_queue *queue)
{
	struct header header = { .byte_order = BYTE_ORDER_MARK, .version = VERSION };
	int err;

	init_crc();
	*w = (struct saved_writer){ .to = to };
	memcpy(header.magic, magic, sizeof(magic));
	err = put(w, &header, sizeof(header));
	return err ? err : put_chunk(w, CHUNK_QUEUE, queue, sizeof(*queue), 0);
}

int saved_put(struct saved_writer *w, const struct saved_item *item, const void *bytes)
{
	size_t len = saved_bytes(item);
	int err = put_chunk(w, CHUNK_ITEM, item, sizeof(*item), len);

	w->nr++;
	return err ? err : put(w, bytes, len);
}

int saved_end(struct saved_writer *w)
{
	struct end end = { .nr = w->nr };
	int err;

	err = put_chunk(w, CHUNK_END, &end.nr, sizeof(end.nr), sizeof(end.sum));
	end.sum = w->sum;
	return err ? err : put(w, &end.sum, sizeof(end.sum));
}

struct saved_item saved_item_of(const struct kwq_listed *listed)
{
	struct saved_item item = {
		.order = listed->order,
		.token = listed->token,
		.dirty_for = listed->dirty_for,
		.waiting_for = listed->waiting_for,
		.due_in = listed->due_in,
		.dead_for = listed->dead_for,
		.state = listed->state,
		.order_of = listed->order_of,
		.priority = listed->priority,
		.wait_priority = listed->wait_priority,
		.requeues = listed->requeues,
		.abandoned = listed->abandoned,
		.key_len = listed->key_len,
		.group_len = listed->group_len,
		.value_len = listed->value_len,
		.note_len = listed->note_len,
	};

	/* One run serves the add that came meanwhile, too, with the higher priority. */
	if (listed->state & KWQ_IS_PROCESSING) {
		item.dirty_for = listed->processing_for;
		if (listed->state & KWQ_IS_DIRTY && listed->next_priority > item.priority)
			item.priority = listed->next_priority;
	}
	return item;
}

static uint64_t left_after(uint64_t left, uint64_t ns)
{
	return left > ns ? left - ns : 0;
}

static uint64_t age_after(uint64_t age, uint64_t ns)
{
	uint64_t sum;

	if (age == KWQ_AGE_UNKNOWN)
		return age;
	return __builtin_add_overflow(age, ns, &sum) || sum > INT64_MAX ? INT64_MAX : sum;
}

void saved_queue_pass(struct saved_queue *queue, uint64_t ns)
{
	if (queue->clockid == KWQ_CLOCK_ID_MANUAL || !(queue->state & KWQ_STATE_PAUSED) ||
	    queue->paused_for == UINT64_MAX)
		return;
	queue->paused_for = left_after(queue->paused_for, ns);
	if (!queue->paused_for)
		queue->state &= ~KWQ_STATE_PAUSED;
}

void saved_item_pass(const struct saved_queue *queue, struct saved_item *item, uint64_t ns)
{
	if (queue->clockid == KWQ_CLOCK_ID_MANUAL)
		return;
	if (item->state & KWQ_IS_WAITING) {
		item->waiting_for = age_after(item->waiting_for, ns);
		item->due_in = left_after(item->due_in, ns);
	}
	if (item->state & (KWQ_IS_READY | KWQ_IS_PROCESSING))
		item->dirty_for = age_after(item->dirty_for, ns);
	if (item->state & KWQ_IS_DEAD)
		item->dead_for = age_after(item->dead_for, ns);
}

void saved_item_lose(struct saved_item *item, uint32_t dead_after_lost)
{
	if (!(item->state & KWQ_IS_PROCESSING))
		return;
	if (item->abandoned < UINT32_MAX)
		item->abandoned++;
	/* An add that came meanwhile, or a time, is a new event, and gets its run. */
	if (dead_after_lost && item->abandoned >= dead_after_lost &&
	    !(item->state & (KWQ_IS_DIRTY | KWQ_IS_WAITING))) {
		item->state = KWQ_IS_DEAD;
		item->dirty_for = 0;
		item->dead_for = 0;
	} else if (item->abandoned > 1) {
		/* Only the first loss puts an item ahead of those that were never tried. */
		item->state = KWQ_IS_READY | (item->state & KWQ_IS_WAITING);
	}
}

uint32_t saved_rank(const struct saved_item *item)
{
	switch (item->order_of) {
	case KWQ_IS_PROCESSING:
		return 0;
	case KWQ_IS_READY:
		return item->state & KWQ_IS_RETURNED ? 1 : 2;
	case KWQ_IS_WAITING:
		return 3;
	case KWQ_IS_DEAD:
		return 4;
	}
	return 5;
}

/* ---- Reading -------------------------------------------------------------- */

/* Where an item is in the file, and among those that are restored. */
struct saved_place {
	uint64_t offset;
	uint64_t order;
	uint64_t sum;		/* of the item and its bytes */
	uint32_t rank;
	uint32_t len;
};

/* The file, as it is read from the first byte to the last. */
struct stream {
	int fd;
	uint64_t offset;	/* of the next byte */
	uint64_t sum;		/* of all bytes before it */
	size_t at, end;		/* in @buffer */
	unsigned char buffer[1 << 16];
};

/* Reads up to @len bytes. Returns how many there were, or a negative errno value. */
static ssize_t stream_read(struct stream *s, void *to, size_t len)
{
	size_t got = 0;

	while (got < len) {
		size_t some = s->end - s->at;
		ssize_t n;

		if (!some) {
			n = read(s->fd, s->buffer, sizeof(s->buffer));
			if (n < 0 && errno == EINTR)
				continue;
			if (n < 0)
				return -errno;
			if (!n)
				break;
			s->at = 0;
			s->end = n;
			continue;
		}
		if (some > len - got)
			some = len - got;
		memcpy((char *)to + got, s->buffer + s->at, some);
		s->at += some;
		got += some;
	}
	s->sum = crc_add(s->sum, to, got);
	s->offset += got;
	return got;
}

static const char foreign[] = "not a file of kwq save";
static const char truncated[] = "truncated: it ends before its end";
static const char damaged[] = "damaged";

/* Reads exactly @len bytes. Returns NULL, or what is wrong. */
static const char *must_read(struct stream *s, void *to, size_t len)
{
	ssize_t n = stream_read(s, to, len);

	if (n < 0)
		return strerror(-n);
	return (size_t)n < len ? truncated : NULL;
}

static const char *read_header(struct stream *s)
{
	struct header header;
	ssize_t n = stream_read(s, &header, sizeof(header));

	if (n < 0)
		return strerror(-n);
	if ((size_t)n < sizeof(header.magic) || memcmp(header.magic, magic, sizeof(magic)))
		return foreign;
	if ((size_t)n < sizeof(header))
		return truncated;
	if (header.byte_order == OTHER_BYTE_ORDER)
		return "saved on a machine with another byte order";
	if (header.byte_order != BYTE_ORDER_MARK)
		return damaged;
	return header.version == VERSION ? NULL : "saved by a newer kwq";
}

static bool is_sound_queue(const struct saved_queue *queue)
{
	return queue->config.nr <= KWQ_LIMITERS_MAX && !queue->config.limiters &&
	       memchr(queue->name, '\0', sizeof(queue->name));
}

static const char *read_queue(struct stream *s, struct saved_queue *queue)
{
	const char *wrong;
	struct chunk chunk;

	wrong = must_read(s, &chunk, sizeof(chunk));
	if (wrong)
		return wrong;
	if (chunk.kind != CHUNK_QUEUE || chunk.len != sizeof(*queue))
		return damaged;
	wrong = must_read(s, queue, sizeof(*queue));
	if (!wrong && !is_sound_queue(queue))
		return damaged;
	return wrong;
}

static int compare_places(const void *a, const void *b)
{
	const struct saved_place *one = a, *other = b;

	if (one->rank != other->rank)
		return one->rank < other->rank ? -1 : 1;
	if (one->order != other->order)
		return one->order < other->order ? -1 : 1;
	return one->offset < other->offset ? -1 : one->offset > other->offset;
}

static bool is_sound_item(const struct saved_item *item, size_t len)
{
	return item->key_len && item->key_len <= KWQ_KEY_MAX &&
	       item->group_len <= KWQ_GROUP_MAX && item->value_len <= KWQ_VALUE_MAX &&
	       item->note_len <= KWQ_NOTE_MAX && len == sizeof(*item) + saved_bytes(item);
}

static const char *note_place(struct saved_reader *r, const struct saved_place *place)
{
	/* Room for a power of two. */
	if (!(r->nr & (r->nr - 1))) {
		struct saved_place *places = reallocarray(r->places, r->nr ? 2 * r->nr : 1,
							  sizeof(*places));

		if (!places)
			return strerror(ENOMEM);
		r->places = places;
	}
	r->places[r->nr++] = *place;
	return NULL;
}

static const char *read_item(struct stream *s, struct saved_reader *r, size_t len)
{
	static unsigned char bytes[SAVED_BYTES_MAX];
	struct saved_place place = { .offset = s->offset, .len = len };
	struct saved_item item;
	const char *wrong;

	if (len < sizeof(item))
		return damaged;
	wrong = must_read(s, &item, sizeof(item));
	if (wrong)
		return wrong;
	if (!is_sound_item(&item, len))
		return damaged;
	wrong = must_read(s, bytes, len - sizeof(item));
	if (wrong)
		return wrong;
	place.sum = crc_add(crc_add(0, &item, sizeof(item)), bytes, len - sizeof(item));
	place.rank = saved_rank(&item);
	place.order = item.order;
	r->has_values |= item.value_len || item.note_len;
	r->has_groups |= item.group_len;
	return note_place(r, &place);
}

static const char *read_end(struct stream *s, const struct saved_reader *r, size_t len)
{
	struct end end;
	const char *wrong;
	uint64_t sum;
	ssize_t n;
	char more;

	if (len != sizeof(end))
		return damaged;
	wrong = must_read(s, &end.nr, sizeof(end.nr));
	if (wrong)
		return wrong;
	sum = s->sum;
	wrong = must_read(s, &end.sum, sizeof(end.sum));
	if (wrong)
		return wrong;
	n = stream_read(s, &more, 1);
	if (n < 0)
		return strerror(-n);
	return n || end.nr != r->nr || end.sum != sum ? damaged : NULL;
}

static const char *read_chunks(struct stream *s, struct saved_reader *r)
{
	struct chunk chunk;
	const char *wrong;

	for (;;) {
		wrong = must_read(s, &chunk, sizeof(chunk));
		if (wrong)
			return wrong;
		if (chunk.kind == CHUNK_END)
			return read_end(s, r, chunk.len);
		if (chunk.kind != CHUNK_ITEM)
			return damaged;
		wrong = read_item(s, r, chunk.len);
		if (wrong)
			return wrong;
	}
}

const char *saved_open(struct saved_reader *r, int fd)
{
	static struct stream s;		/* too large for the stack */
	const char *wrong;

	init_crc();
	memset(r, 0, sizeof(*r));
	r->fd = fd;
	s.fd = fd;
	s.offset = 0;
	s.sum = 0;
	s.at = 0;
	s.end = 0;
	wrong = read_header(&s);
	if (!wrong)
		wrong = read_queue(&s, &r->queue);
	if (!wrong)
		wrong = read_chunks(&s, r);
	if (!wrong && r->nr)
		qsort(r->places, r->nr, sizeof(*r->places), compare_places);
	return wrong;
}

void saved_close(struct saved_reader *r)
{
	free(r->places);
	r->places = NULL;
}

static bool read_at(int fd, void *to, size_t len, uint64_t offset)
{
	ssize_t n;

	while (len) {
		n = pread(fd, to, len, offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		to = (char *)to + n;
		len -= n;
		offset += n;
	}
	return true;
}

bool saved_get(const struct saved_reader *r, uint64_t i, struct saved_item *item, void *bytes)
{
	const struct saved_place *place = &r->places[i];
	struct {
		struct saved_item item;
		/* Most items fit, and need one call. */
		unsigned char bytes[256];
	} first;
	size_t some = place->len < sizeof(first) ? place->len : sizeof(first);
	size_t len = place->len - sizeof(*item), here = some - sizeof(*item);

	if (!read_at(r->fd, &first, some, place->offset) ||
	    !read_at(r->fd, (char *)bytes + here, len - here, place->offset + some))
		return false;
	*item = first.item;
	memcpy(bytes, first.bytes, here);
	return crc_add(crc_add(0, item, sizeof(*item)), bytes, len) == place->sum;
}
