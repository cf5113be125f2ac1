// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Writes records of a shared queue, for test-share.sh:
 *
 *	write-records URL QUEUE keys	one key in each state
 *	write-records URL QUEUE idle	keys that nobody works on, now
 *	write-records URL QUEUE damaged	a record that is no CBOR
 *	write-records URL QUEUE newer	a record of a version to come
 *	write-records URL QUEUE last	the last election that is possible
 *	write-records URL QUEUE purge	nothing: it removes all records
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <linux/kwq.h>

#include "share/engine/engine.h"

#define HOUR UINT64_C(3600000000000)

static struct engine *engine;
static struct names names;
static uint64_t wall;

static void die(const char *what)
{
	fprintf(stderr, "write-records: %s\n", what);
	exit(1);
}

static struct engine_event wait_for(enum engine_event_kind kind)
{
	struct pollfd fd = { .fd = engine_fd(engine), .events = POLLIN };
	struct engine_event event;

	for (;;) {
		while (engine_next(engine, &event)) {
			if (event.kind == kind)
				return event;
			if (event.kind == EVENT_DOWN || event.kind == EVENT_REFUSED)
				die(event.text);
		}
		poll(&fd, 1, -1);
	}
}

static void publish(const char *subject, const void *at, size_t len)
{
	struct bytes data = { at, len };

	if (engine_publish(engine, subject, data, ENGINE_ANY) < 0 ||
	    wait_for(EVENT_ENDED).result != RESULT_OK)
		die("publish");
}

/* Writes a record of a key, whose bytes are those of @work or of @key. */
static void put(const char *key, struct record record)
{
	static struct buffer buffer;
	char subject[SUBJECT_MAX];

	record.work.key = (struct bytes){ key, strlen(key) };
	if (key_hash_of(&record.hash, record.work.key) ||
	    record_subject(subject, &names, &record) || record_encode(&buffer, &record))
		die(key);
	publish(subject, buffer.bytes, buffer.len);
}

static void put_keys(void)
{
	const struct record add = { .kind = RECORD_ADD };
	const struct record new = {
		.kind = RECORD_ADD,
		.work = { .priority = 5, .group = { "red", 3 }, .has_group = true },
	};
	const struct record later = { .kind = RECORD_TIMED, .due = wall + HOUR };
	const struct record first = {
		.kind = RECORD_TIMED, .due = wall + HOUR,
		.work = { .priority = -3, .group = { "old", 3 }, .has_group = true },
	};
	const struct record last = {
		.kind = RECORD_TIMED, .due = wall + 3 * HOUR,
		.work = { .priority = 4, .group = { "new", 3 }, .has_group = true },
	};
	const struct record overdue = { .kind = RECORD_TIMED, .due = wall - HOUR };
	const struct record owed = {
		.kind = RECORD_TIMED, .due = wall + HOUR, .past = wall - HOUR, .through = 1,
	};
	const struct record again = {
		.kind = RECORD_RETRY, .due = wall + 2 * HOUR, .work = { .requeues = 3 },
	};
	const struct record soon = {
		.kind = RECORD_RETRY, .due = wall + HOUR / 2,
		.work = { .priority = 7, .requeues = 1 },
	};
	const struct record now_again = { .kind = RECORD_RETRY, .due = wall - HOUR };
	const struct record delayed = {
		.kind = RECORD_TIMED, .due = wall + HOUR,
		.work = { .priority = KWQ_PRIORITY_NONE },
	};
	const struct record low = { .kind = RECORD_ADD, .work = { .priority = -3 } };
	const struct record dead = {
		.kind = RECORD_RETRY, .state = RETRY_DEAD, .work = { .requeues = 25 },
	};
	const struct record told = {
		.kind = RECORD_RETRY, .state = RETRY_DEAD,
		.work = { .requeues = 25, .note = { "exit status 1\nno\tspace\n", 23 } },
	};
	const struct record remembered = {
		.kind = RECORD_RETRY, .state = RETRY_REMEMBERED, .work = { .requeues = 2 },
	};

	put("new", new);
	put("later", first);
	put("overdue", overdue);
	put("owed", owed);
	put("again", again);
	put("now again", now_again);
	put("given\tup", told);
	put("\xff", dead);
	put("revived", dead);
	put("revived", add);
	put("dead, added", dead);
	put("dead, added", later);
	put("known", remembered);
	put("known and new", remembered);
	put("known and new", add);
	put("both", first);
	put("both", new);
	put("both", soon);
	put("delayed", delayed);
	put("low, delayed", low);
	put("low, delayed", delayed);
	/* The last record of a subject counts, and the group of the last add. */
	put("later", last);
}

static void put_idle_keys(void)
{
	const struct record dead = { .kind = RECORD_RETRY, .state = RETRY_DEAD };
	const struct record later = { .kind = RECORD_TIMED, .due = wall + HOUR };
	const struct record again = { .kind = RECORD_RETRY, .due = wall + HOUR };

	put("dead", dead);
	put("dead, added", dead);
	put("dead, added", later);
	put("later", later);
	put("again", again);
}

static void put_bytes(const char *bytes, size_t len)
{
	char subject[SUBJECT_MAX];

	snprintf(subject, sizeof(subject), "%s.a.%032d", names.root, 0);
	publish(subject, bytes, len);
}

static void put_last_election(void)
{
	const struct record last = {
		.kind = RECORD_EPOCH, .machine = "gone", .epoch = epoch_of(RECORD_ELECTIONS_MAX, 0),
	};

	put("", last);
}

static void purge(void)
{
	char subject[SUBJECT_MAX];
	struct bytes nothing = { "", 0 };

	snprintf(subject, sizeof(subject), "$JS.API.STREAM.PURGE.%s", names.stream);
	if (engine_say(engine, subject, nothing))
		die("purge");
	/* The server carries out what one connection asks for in its order. */
	if (engine_read(engine, names.root) < 0)
		die("read");
	wait_for(EVENT_ENDED);
}

int main(int argc, char **argv)
{
	const char *urls[2] = { 0 };
	struct engine_options options = {
		.urls = urls, .names = &names, .client = "write-records", .replicas = 1,
	};
	struct timespec now;

	if (argc != 4 || names_init(&names, argv[2]))
		die("URL QUEUE keys|idle|damaged|newer|last|purge");
	urls[0] = argv[1];
	clock_gettime(CLOCK_REALTIME, &now);
	wall = now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
	engine = engine_open(&options);
	if (!engine)
		die("engine_open");
	wait_for(EVENT_UP);
	if (!strcmp(argv[3], "keys"))
		put_keys();
	else if (!strcmp(argv[3], "idle"))
		put_idle_keys();
	else if (!strcmp(argv[3], "damaged"))
		put_bytes("\xff", 1);
	else if (!strcmp(argv[3], "last"))
		put_last_election();
	else if (!strcmp(argv[3], "purge"))
		purge();
	else
		put_bytes("\xa2\x61v\x02\x61k\x41k", 8);
	engine_close(engine);
	return 0;
}
