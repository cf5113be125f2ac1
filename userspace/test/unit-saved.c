// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* U8: the files of kwq save: what is written is read, and what is not whole is refused. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cmd.h"
#include "kwq/keep/saved.h"
#include "tap.h"

static const struct saved_queue queue = {
	.saved_at = 5, .max_items = 100, .lease = 7, .state = KWQ_STATE_PAUSED, .mode = 0640,
	.config = { .nr = 1, .dead_after = 3 }, .name = "jobs",
	.limiters = { { .kind = KWQ_LIMITER_EXPONENTIAL, .u.exponential = { 1, 2 } } },
};

/* In the order in which they are to be restored, by their keys. */
static const struct {
	struct saved_item item;
	const char *bytes;	/* key, group and value */
} items[] = {
	{ { .order_of = KWQ_IS_READY, .state = KWQ_IS_READY, .order = 9, .key_len = 1 }, "f" },
	{ { .order_of = KWQ_IS_DEAD, .state = KWQ_IS_DEAD, .order = 1, .key_len = 1 }, "i" },
	{ { .order_of = KWQ_IS_WAITING, .state = KWQ_IS_WAITING, .order = 70, .key_len = 1,
	    .group_len = 2, .value_len = 3 }, "hGGVVV" },
	{ { .order_of = KWQ_IS_PROCESSING, .state = KWQ_IS_PROCESSING, .order = 50,
	    .key_len = 1 }, "b" },
	{ { .order_of = KWQ_IS_READY, .state = KWQ_IS_READY, .order = 3, .key_len = 1 }, "e" },
	{ { .order_of = KWQ_IS_REMEMBERED, .state = KWQ_IS_REMEMBERED, .requeues = 4,
	    .key_len = 1 }, "j" },
	{ { .order_of = KWQ_IS_READY, .state = KWQ_IS_READY | KWQ_IS_RETURNED, .order = 12,
	    .key_len = 1 }, "d" },
	{ { .order_of = KWQ_IS_PROCESSING, .state = KWQ_IS_PROCESSING, .order = 40,
	    .key_len = 1 }, "a" },
	{ { .order_of = KWQ_IS_WAITING, .state = KWQ_IS_WAITING, .order = 60, .key_len = 1 }, "g" },
	{ { .order_of = KWQ_IS_READY, .state = KWQ_IS_READY | KWQ_IS_RETURNED, .order = 11,
	    .key_len = 1 }, "c" },
};

enum { NR = ARRAY_SIZE(items) };

static char path[32] = "/tmp/kwq-unit-saved.XXXXXX";

/* Writes the items into the file. Returns its length. */
static size_t write_all(void)
{
	FILE *to = fopen(path, "w");
	struct saved_writer w;
	int err, i;
	long len;

	err = saved_begin(&w, to, &queue);
	for (i = 0; !err && i < NR; i++)
		err = saved_put(&w, &items[i].item, items[i].bytes);
	if (!err)
		err = saved_end(&w);
	is_number(err, 0, "a queue is written");
	len = ftell(to);
	fclose(to);
	return len;
}

/* The answer of saved_open() about the first @len bytes of @bytes. */
static const char *judge(const unsigned char *bytes, size_t len)
{
	struct saved_reader r;
	const char *wrong;
	int fd = open(path, O_RDWR | O_TRUNC);

	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len || lseek(fd, 0, SEEK_SET))
		abort();
	wrong = saved_open(&r, fd);
	saved_close(&r);
	close(fd);
	return wrong;
}

static void test_read(void)
{
	static char bytes[SAVED_BYTES_MAX];
	struct saved_reader r;
	struct saved_item item;
	char order[NR + 1] = "";
	bool same = true;
	int fd = open(path, O_RDONLY), i, j;

	ok(!saved_open(&r, fd), "a whole file is read");
	ok(!memcmp(&r.queue, &queue, sizeof(queue)), "with its queue");
	is_number(r.nr, NR, "and all items");
	ok(r.has_values && r.has_groups, "some with a value or a group");
	for (i = 0; i < NR; i++) {
		same &= saved_get(&r, i, &item, bytes);
		order[i] = bytes[0];
		for (j = 0; j < NR; j++)
			if (items[j].bytes[0] == bytes[0])
				same &= !memcmp(&item, &items[j].item, sizeof(item)) &&
					!memcmp(bytes, items[j].bytes, strlen(items[j].bytes));
	}
	ok(same, "as they were written");
	is_string(order, "abcdefghij", "in the order in which they are to be restored");
	saved_close(&r);
	close(fd);
}

static void test_damage(const unsigned char *whole, size_t len)
{
	unsigned char *copy = malloc(len + 1);
	size_t i, refused = 0;

	memcpy(copy, whole, len);
	copy[len] = 0;
	ok(!judge(whole, len), "the whole file is sound");
	for (i = 0; i < len; i++)
		refused += !!judge(whole, i);
	is_number(refused, len, "every shorter one is refused");
	is_string(judge(whole, len - 1), "truncated: it ends before its end", "and why");
	ok(judge(copy, len + 1), "a longer one is refused");
	for (i = refused = 0; i < len; i++) {
		copy[i] ^= 1 << i % 8;
		refused += !!judge(copy, len);
		copy[i] ^= 1 << i % 8;
	}
	is_number(refused, len, "a change of any byte is found");
	is_string(judge(copy, 0), "not a file of kwq save", "an empty file is a foreign one");
	copy[0] = 'x';
	is_string(judge(copy, len), "not a file of kwq save", "so is any other");
	memcpy(copy, whole, len);
	memcpy(copy + 8, (unsigned char[]){ copy[11], copy[10], copy[9], copy[8] }, 4);
	is_string(judge(copy, len), "saved on a machine with another byte order", "another byte order");
	memcpy(copy, whole, len);
	*(uint32_t *)(copy + 12) = 2;
	is_string(judge(copy, len), "saved by a newer kwq", "a newer version");
	free(copy);
}

/* A file that changes behind the back of its reader. */
static void test_change(const unsigned char *whole, size_t len)
{
	static char bytes[SAVED_BYTES_MAX];
	struct saved_reader r;
	struct saved_item item;
	int fd = open(path, O_RDWR | O_TRUNC), i;
	bool all = true;

	if (write(fd, whole, len) != (ssize_t)len || lseek(fd, 0, SEEK_SET))
		abort();
	ok(!saved_open(&r, fd), "a file that will change");
	if (ftruncate(fd, len / 2))
		abort();
	for (i = 0; i < NR; i++)
		all &= saved_get(&r, i, &item, bytes);
	ok(!all, "the change is found");
	saved_close(&r);
	close(fd);
}

/* U8: a processing item is saved as ready, for both the run that ends and the next one. */
static void test_listed(void)
{
	const struct kwq_listed listed = {
		.state = KWQ_IS_PROCESSING | KWQ_IS_DIRTY, .order_of = KWQ_IS_PROCESSING,
		.priority = 1, .next_priority = 4, .processing_for = 9, .dirty_for = 2,
	};
	const struct kwq_listed unmeasured = {
		.state = KWQ_IS_PROCESSING, .order_of = KWQ_IS_PROCESSING,
		.processing_for = KWQ_AGE_UNKNOWN,
	};
	struct saved_item item = saved_item_of(&listed);

	is_number(item.priority, 4, "the higher priority of two runs");
	is_number(item.dirty_for, 9, "the age of the first one");
	item = saved_item_of(&unmeasured);
	ok(item.dirty_for == KWQ_AGE_UNKNOWN, "M1: an age that is not known is saved as such");
}

/* U8: time goes on while a queue is in its file. */
static void test_pass(void)
{
	struct saved_queue real = { .state = KWQ_STATE_PAUSED, .paused_for = 9 };
	struct saved_queue manual = { .clockid = KWQ_CLOCK_ID_MANUAL, .state = KWQ_STATE_PAUSED };
	struct saved_item item = {
		.state = KWQ_IS_READY | KWQ_IS_WAITING,
		.dirty_for = 1, .waiting_for = 2, .due_in = 7,
	};
	struct saved_item dead = { .state = KWQ_IS_DEAD, .dead_for = UINT64_MAX - 1 };
	struct saved_item unknown = { .state = KWQ_IS_READY, .dirty_for = KWQ_AGE_UNKNOWN };

	saved_item_pass(&manual, &item, 5);
	is_number(item.due_in, 7, "a manual clock does not go on");
	saved_item_pass(&real, &item, 5);
	is_number(item.due_in, 2, "a wait is shorter");
	is_number(item.waiting_for, 7, "and has lasted longer");
	is_number(item.dirty_for, 6, "so has the time in which it was ready");
	is_number(item.dead_for, 0, "it is not dead");
	saved_item_pass(&real, &item, 5);
	is_number(item.due_in, 0, "a wait that is over is due");
	saved_item_pass(&real, &dead, 5);
	ok(dead.dead_for == INT64_MAX, "an age does not wrap");
	saved_item_pass(&real, &unknown, 5);
	ok(unknown.dirty_for == KWQ_AGE_UNKNOWN, "and is not known later");
	saved_queue_pass(&real, 5);
	is_number(real.paused_for, 4, "a pause is shorter");
	saved_queue_pass(&real, 5);
	ok(!(real.state & KWQ_STATE_PAUSED), "or over");
	manual.paused_for = 1;
	saved_queue_pass(&manual, 5);
	is_number(manual.paused_for, 1, "but not by a manual clock");
	real = (struct saved_queue){ .state = KWQ_STATE_PAUSED, .paused_for = UINT64_MAX };
	saved_queue_pass(&real, 5);
	ok(real.paused_for == UINT64_MAX, "nor if it has no end");
}

/* L12: a machine has ended, and with it the worker of an item that was being processed. */
static void test_lose(void)
{
	static const struct {
		uint32_t state, abandoned, limit, then;
		const char *what;
	} losses[] = {
		{ KWQ_IS_READY, 5, 3, KWQ_IS_READY, "an item without a worker loses none" },
		{ KWQ_IS_PROCESSING, 0, 3, KWQ_IS_PROCESSING, "a first loss leaves it ahead" },
		{ KWQ_IS_PROCESSING, 1, 3, KWQ_IS_READY, "a second one does not" },
		{ KWQ_IS_PROCESSING, 2, 3, KWQ_IS_DEAD, "the last one makes it dead" },
		{ KWQ_IS_PROCESSING, 2, 0, KWQ_IS_READY, "if there is a last one" },
		{ KWQ_IS_PROCESSING | KWQ_IS_DIRTY, 2, 3, KWQ_IS_READY, "not after an add" },
		{ KWQ_IS_PROCESSING | KWQ_IS_WAITING, 2, 3, KWQ_IS_READY | KWQ_IS_WAITING,
		  "nor before its time" },
	};
	struct saved_item item;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(losses); i++) {
		item = (struct saved_item){
			.state = losses[i].state, .abandoned = losses[i].abandoned, .dirty_for = 7,
		};
		saved_item_lose(&item, losses[i].limit);
		ok(item.state == losses[i].then &&
		   item.abandoned == losses[i].abandoned + (i > 0) &&
		   (item.dirty_for == 7) == (item.state != KWQ_IS_DEAD), "L12: %s", losses[i].what);
	}
}

int main(void)
{
	unsigned char *whole;
	size_t len;
	int fd = mkstemp(path);

	close(fd);
	len = write_all();
	test_read();
	whole = malloc(len);
	fd = open(path, O_RDONLY);
	if (read(fd, whole, len) != (ssize_t)len)
		abort();
	close(fd);
	test_damage(whole, len);
	test_change(whole, len);
	test_listed();
	test_pass();
	test_lose();
	free(whole);
	unlink(path);
	return done_testing();
}
