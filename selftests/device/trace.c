// SPDX-License-Identifier: GPL-2.0-only
/*
 * The outside view of a queue: its tracepoints, through a tracefs instance of the
 * test's own, and its lines in /proc/PID/fdinfo.
 */
#include "kwq_test.h"

#define TRACING	"/sys/kernel/tracing"

FIXTURE(trace)
{
	int dev;
	int q;
	char name[32];
	char dir[128];
	char *text;	/* what was traced */
	char *next;	/* where take_event() goes on */
};

#define TEXT_ROOM	(1 << 20)

typedef FIXTURE_DATA(trace) trace_fixture;

static char *in_instance(trace_fixture *self, const char *file)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", self->dir, file);
	return path;
}

FIXTURE_SETUP(trace)
{
	if (access(TRACING "/events", F_OK))
		SKIP(return, "there is no tracefs at " TRACING);
	snprintf(self->dir, sizeof(self->dir), TRACING "/instances/kwq.%d", getpid());
	ASSERT_EQ(0, mkdir(self->dir, 0755));
	self->text = malloc(TEXT_ROOM);
	ASSERT_NE(NULL, self->text);

	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	snprintf(self->name, sizeof(self->name), "trace.%d", getpid());
	self->q = q_create(self->dev, self->name, 0, O_CLOEXEC, 0700);
	ASSERT_LE(0, self->q);
	ASSERT_EQ(0, write_text(in_instance(self, "events/kwq/enable"), "1"));
}

FIXTURE_TEARDOWN(trace)
{
	write_text(in_instance(self, "events/kwq/enable"), "0");
	close(self->q);
	q_unlink(self->dev, self->name);
	close(self->dev);
	rmdir(self->dir);
	free(self->text);
}

static void read_trace(trace_fixture *self)
{
	int fd = open(in_instance(self, "trace"), O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;

	REQUIRE(fd >= 0);
	while ((n = read(fd, self->text + len, TEXT_ROOM - 1 - len)) > 0)
		len += n;
	REQUIRE(n == 0 && len < TEXT_ROOM - 1);
	self->text[len] = '\0';
	self->next = self->text;
	close(fd);
}

static unsigned long long queue_of(const char *event)
{
	const char *queue = strstr(event, " queue=");

	return queue ? strtoull(queue + strlen(" queue="), NULL, 10) : 0;
}

static long long number_after(const char *event, const char *field)
{
	const char *found = strstr(event, field);

	REQUIRE(found);
	return atoll(found + strlen(field));
}

/*
 * Returns the next event of this queue, as "kwq_add: queue=... name=... ..."; NULL if
 * there is none.
 */
static char *take_event(trace_fixture *self)
{
	char queue[64];
	char *line, *event;

	snprintf(queue, sizeof(queue), " name=%s", self->name);
	while ((line = self->next) && *line) {
		self->next = strchr(line, '\n');
		if (self->next)
			*self->next++ = '\0';
		event = strstr(line, ": kwq_");
		if (event && strstr(event, queue))
			return event + 2;
	}
	return NULL;
}

/* The next event is @want, a format for the queue's id and name and one more argument. */
#define expect_event(self, want, ...)						\
	do {									\
		trace_fixture *self_ = (self);					\
		char *event_ = take_event(self_);				\
		char want_[256];						\
										\
		ASSERT_NE(NULL, event_);					\
		snprintf(want_, sizeof(want_), want, queue_of(event_), self_->name, \
			 __VA_ARGS__);						\
		EXPECT_STREQ(want_, event_);					\
	} while (0)

/* M5: every event with its fields. */
TEST_F(trace, events)
{
	struct item item;
	int other;

	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_COALESCED, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_ADDED, q_add_priority(self->q, "b", 7));
	expect_next(self->q, &item, "b");
	EXPECT_EQ(KWQ_DIRTIED, q_add(self->q, "b"));
	EXPECT_EQ(KWQ_DIRTY, q_add(self->q, "b"));
	EXPECT_EQ(KWQ_REQUEUED, q_done(self->q, item.ticket));
	expect_next(self->q, &item, "b");
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
	other = q_reopen(self->q);
	expect_next(other, &item, "a");
	close(other);
	expect_next(self->q, &item, "a");
	EXPECT_EQ(KWQ_WAITING, q_add_after(self->q, "w", HOUR));
	EXPECT_EQ(0, q_shut_down(self->q));
	EXPECT_EQ(-ETIMEDOUT, q_drain(self->q, 1));
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));

	read_trace(self);
	expect_event(self, "kwq_add: queue=%llu name=%s key=%s prio=0 result=0", "a");
	expect_event(self, "kwq_ready: queue=%llu name=%s key=%s prio=0 due=0 late=0", "a");
	expect_event(self, "kwq_coalesce: queue=%llu name=%s key=%s prio=0 result=1", "a");
	expect_event(self, "kwq_add: queue=%llu name=%s key=%s prio=7 result=0", "b");
	expect_event(self, "kwq_ready: queue=%llu name=%s key=%s prio=7 due=0 late=0", "b");
	expect_event(self, "kwq_get: queue=%llu name=%s key=%s prio=7 result=0", "b");
	expect_event(self, "kwq_add: queue=%llu name=%s key=%s prio=7 result=2", "b");
	expect_event(self, "kwq_coalesce: queue=%llu name=%s key=%s prio=7 result=5", "b");
	expect_event(self, "kwq_done: queue=%llu name=%s key=%s prio=7 result=1", "b");
	expect_event(self, "kwq_ready: queue=%llu name=%s key=%s prio=7 due=0 late=0", "b");
	expect_event(self, "kwq_get: queue=%llu name=%s key=%s prio=7 result=0", "b");
	expect_event(self, "kwq_done: queue=%llu name=%s key=%s prio=7 result=0", "b");
	expect_event(self, "kwq_get: queue=%llu name=%s key=%s prio=0 result=0", "a");
	expect_event(self, "kwq_ready: queue=%llu name=%s key=%s prio=0 due=0 late=0", "a");
	/* The item was lost once. */
	expect_event(self, "kwq_get: queue=%llu name=%s key=%s prio=0 result=1", "a");
	expect_event(self, "kwq_add: queue=%llu name=%s key=%s prio=0 result=3", "w");
	expect_event(self, "kwq_shut_down: queue=%llu name=%s drain=%d", 0);
	expect_event(self, "kwq_shut_down: queue=%llu name=%s drain=%d", 1);
	expect_event(self, "kwq_done: queue=%llu name=%s key=%s prio=0 result=0", "a");
	EXPECT_EQ(NULL, take_event(self));
}

#define REQUEUE	"kwq_requeue: queue=%llu name=%s key=%s"

/* M5, L1: a rate-limited add that counts has its event before its consequences. */
TEST_F(trace, requeues)
{
	static const struct kwq_limiter fast_slow[] = { FAST_SLOW(0, SEC, 1) };
	struct kwq_config config = config_of(fast_slow);
	struct kwq_create_args create = {
		.size = sizeof(create),
		.open_flags = O_CLOEXEC,
		.rights = ALL_RIGHTS,
		.mode = 0700,
		.clockid = KWQ_CLOCK_ID_MANUAL,
		.config = user_ptr(&config),
	};
	struct item item;

	config.flags = KWQ_CONFIG_COALESCE;
	config.forget_after = 10 * SEC;
	config.dead_after = 2;
	close(self->q);
	ASSERT_EQ(0, q_unlink(self->dev, self->name));
	set_name(create.name, self->name);
	self->q = request(self->dev, KWQ_IOC_CREATE, &create);
	ASSERT_LE(0, self->q);

	EXPECT_EQ(KWQ_ADDED, q_add_with(self->q, "a", KWQ_ADD_RATE_LIMITED | KWQ_ADD_PRIORITY,
					3, 0));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
	/* The old count of 1 is forgotten by now, so the new count is 1 again. */
	EXPECT_EQ(0, q_advance(self->q, 10 * SEC));
	EXPECT_EQ(KWQ_ADDED, q_add_rate_limited(self->q, "a"));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(KWQ_WAITING, q_add_rate_limited(self->q, "a"));
	/* An add that costs nothing has no such event. */
	EXPECT_EQ(KWQ_COALESCED, q_add_rate_limited(self->q, "a"));
	EXPECT_EQ(0, q_advance(self->q, SEC));
	EXPECT_EQ(KWQ_REQUEUED, q_done(self->q, item.ticket));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(KWQ_DEAD, q_add_rate_limited(self->q, "a"));
	/* Its death has had its event. */
	EXPECT_EQ(KWQ_BURIED, q_done_with(self->q, item.ticket, KWQ_DONE_DEAD));
	EXPECT_EQ(KWQ_ADDED, q_kick(self->q, "a"));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(KWQ_BURIED, q_done_with(self->q, item.ticket, KWQ_DONE_DEAD));

	read_trace(self);
	expect_event(self, REQUEUE " prio=3 requeues=1 result=0", "a");
	expect_event(self, "kwq_add: queue=%llu name=%s key=%s prio=3 result=0", "a");
	expect_event(self, "kwq_ready: queue=%llu name=%s key=%s prio=3 due=0 late=0", "a");
	expect_event(self, "kwq_get: queue=%llu name=%s key=%s prio=3 result=0", "a");
	expect_event(self, "kwq_done: queue=%llu name=%s key=%s prio=3 result=0", "a");
	expect_event(self, REQUEUE " prio=0 requeues=1 result=0", "a");
	expect_event(self, "kwq_add: queue=%llu name=%s key=%s prio=0 result=0", "a");
	expect_event(self, "kwq_ready: queue=%llu name=%s key=%s prio=0 due=0 late=0", "a");
	expect_event(self, "kwq_get: queue=%llu name=%s key=%s prio=0 result=0", "a");
	expect_event(self, REQUEUE " prio=0 requeues=2 result=3", "a");
	expect_event(self, "kwq_add: queue=%llu name=%s key=%s prio=0 result=3", "a");
	expect_event(self, "kwq_coalesce: queue=%llu name=%s key=%s prio=0 result=1", "a");
	expect_event(self, "kwq_done: queue=%llu name=%s key=%s prio=0 result=1", "a");
	expect_event(self, "kwq_ready: queue=%llu name=%s key=%s prio=0 due=0 late=0", "a");
	expect_event(self, "kwq_get: queue=%llu name=%s key=%s prio=0 result=0", "a");
	expect_event(self, REQUEUE " prio=0 requeues=2 result=4", "a");
	expect_event(self, "kwq_done: queue=%llu name=%s key=%s prio=0 result=4", "a");
	expect_event(self, "kwq_add: queue=%llu name=%s key=%s prio=0 result=0", "a");
	expect_event(self, "kwq_ready: queue=%llu name=%s key=%s prio=0 due=0 late=0", "a");
	expect_event(self, "kwq_get: queue=%llu name=%s key=%s prio=0 result=0", "a");
	expect_event(self, REQUEUE " prio=0 requeues=0 result=4", "a");
	expect_event(self, "kwq_done: queue=%llu name=%s key=%s prio=0 result=4", "a");
	EXPECT_EQ(NULL, take_event(self));
}

static char *take_ready(trace_fixture *self, const char *key)
{
	char *event;

	do {
		event = take_event(self);
		REQUIRE(event);
	} while (strncmp(event, "kwq_ready: ", 11) || !strstr(event, key));
	return event;
}

/* M5, D5: the event shows how late an item is, and that it is not early. */
TEST_F(trace, due_and_late)
{
	__u64 before, between, at;
	long long due, late;
	struct item item;
	char *event;

	before = now_ns();
	ASSERT_EQ(KWQ_WAITING, q_add_after(self->q, "after", MSEC));
	ASSERT_EQ(1, q_wait_get(self->q, &item));
	between = now_ns();
	at = between + MSEC;
	ASSERT_LE(0, q_add_at(self->q, "at", at));
	ASSERT_EQ(1, q_wait_get(self->q, &item));

	read_trace(self);
	event = take_ready(self, " key=after ");
	due = number_after(event, " due=");
	late = number_after(event, " late=");
	EXPECT_LE(before + MSEC, due);
	EXPECT_LE(0, late);
	EXPECT_LE(due + late, between);

	event = take_ready(self, " key=at ");
	due = number_after(event, " due=");
	late = number_after(event, " late=");
	EXPECT_LE(0, late);
	/* Unless the time had passed when the item was added. */
	if (due)
		EXPECT_EQ(at, due);
}

/*
 * D5: no item is early, by the clock that the kernel itself read. The times are close
 * together: one expiry handles several, and might take one too early.
 */
TEST_F(trace, none_is_early)
{
	__u64 ahead = 5 * MSEC, base;
	bool in_time;
	struct item item;
	char *event;
	char key[16];
	int n = 0;

	/* Repeat until all items are added before the first is due. */
	do {
		ahead *= 2;
		base = now_ns() + ahead;
		for (int i = 0; i < 200; i++) {
			snprintf(key, sizeof(key), "%d", i);
			ASSERT_LE(0, q_add_at(self->q, key, base + i * 7 * USEC));
		}
		in_time = now_ns() < base;
		for (int i = 0; i < 200; i++) {
			ASSERT_EQ(1, q_wait_get(self->q, &item));
			ASSERT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
		}
	} while (!in_time);
	read_trace(self);
	while ((event = take_event(self))) {
		if (strncmp(event, "kwq_ready: ", 11) || !number_after(event, " due="))
			continue;
		n++;
		EXPECT_LE(0, number_after(event, " late=")) {
			TH_LOG("%s", event);
		}
	}
	EXPECT_LE(200, n);
}

/* The beginning of a key, with only printable characters. */
TEST_F(trace, keys)
{
	static const char odd[] = "a b\n\xff\x01z";
	char longest[KWQ_KEY_MAX];

	memset(longest, 'k', sizeof(longest));
	EXPECT_EQ(KWQ_ADDED, q_add_bytes(self->q, odd, sizeof(odd) - 1, 0, 0, 0));
	EXPECT_EQ(KWQ_ADDED, q_add_bytes(self->q, longest, sizeof(longest), 0, 0, 0));
	read_trace(self);
	expect_event(self, "kwq_add: queue=%llu name=%s key=%s prio=0 result=0", "a.b...z");
	expect_event(self, "kwq_ready: queue=%llu name=%s key=%s prio=0 due=0 late=0", "a.b...z");
	expect_event(self, "kwq_add: queue=%llu name=%s key=%.31s prio=0 result=0", longest);
}

/* O6: a queue's name cannot imitate another field, a line or an escape sequence. */
TEST_F(trace, names)
{
	char name[64];
	int q;

	snprintf(name, sizeof(name), "%s key=x\n\x1b[2J\xff", self->name);
	q = q_create(self->dev, name, 0, O_CLOEXEC, 0700);
	ASSERT_LE(0, q);
	EXPECT_EQ(0, q_unlink(self->dev, name));
	EXPECT_EQ(0, q_shut_down(q));
	close(q);
	read_trace(self);
	expect_event(self, "kwq_shut_down: queue=%llu name=%s.key=x..[2J. drain=%d", 0);
	EXPECT_EQ(NULL, take_event(self));
}

/* A failed request has no event. */
TEST_F(trace, nothing_of_errors)
{
	EXPECT_EQ(-ENOENT, q_done_key(self->q, "a"));
	EXPECT_EQ(-ESTALE, q_done(self->q, 1));
	EXPECT_EQ(-ENOENT, q_remove(self->q, "a"));
	EXPECT_EQ(0, q_shut_down(self->q));
	EXPECT_EQ(-ESHUTDOWN, q_add(self->q, "a"));
	read_trace(self);
	expect_event(self, "kwq_shut_down: queue=%llu name=%s drain=%d", 0);
	EXPECT_EQ(NULL, take_event(self));
}

/* Q20: a term is set, and it ends. */
TEST_F(trace, term)
{
	EXPECT_EQ(0, q_term(self->q, 1));
	EXPECT_EQ(0, q_term(self->q, KWQ_NO_DEADLINE));
	read_trace(self);
	expect_event(self, "kwq_term: queue=%llu name=%s until=%d", 1);
	expect_event(self, "kwq_term: queue=%llu name=%s until=%d", 0);
	expect_event(self, "kwq_term: queue=%llu name=%s until=%lld", (long long)INT64_MAX);
	EXPECT_EQ(NULL, take_event(self));
}

/* M5: who takes keys out is seen, too, and which states they had. */
TEST_F(trace, remove)
{
	struct item item;

	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(KWQ_DIRTIED, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	EXPECT_EQ(KWQ_WAS_PROCESSING | KWQ_WAS_DIRTY, q_remove(self->q, "a"));
	EXPECT_EQ(KWQ_WAS_READY, q_remove(self->q, "b"));
	read_trace(self);
	/* Three adds, a get, and two that became ready. */
	for (int i = 0; i < 6; i++)
		ASSERT_NE(NULL, take_event(self));
	expect_event(self, "kwq_remove: queue=%llu name=%s key=a prio=0 result=%d",
		     KWQ_WAS_PROCESSING | KWQ_WAS_DIRTY);
	expect_event(self, "kwq_remove: queue=%llu name=%s key=b prio=0 result=%d", KWQ_WAS_READY);
	EXPECT_EQ(NULL, take_event(self));
}

/* M5: the fields have fixed sizes and can be used in filters. None is a pointer. */
TEST_F(trace, formats)
{
	static const char * const events[] = {
		"kwq_add", "kwq_coalesce", "kwq_get", "kwq_done", "kwq_requeue", "kwq_ready",
		"kwq_remove", "kwq_shut_down", "kwq_pause", "kwq_term",
	};
	char path[128], format[4096];

	for (int i = 0; i < ARRAY_SIZE(events); i++) {
		snprintf(path, sizeof(path), TRACING "/events/kwq/%s/format", events[i]);
		ASSERT_LT(0, read_text(path, format, sizeof(format)));
		EXPECT_NE(NULL, strstr(format, "field:u64 queue;"));
		EXPECT_NE(NULL, strstr(format, "field:char name[32];"));
		EXPECT_EQ(NULL, strstr(format, "%p"));
		if (strcmp(events[i], "kwq_shut_down") && strcmp(events[i], "kwq_pause") &&
		    strcmp(events[i], "kwq_term")) {
			EXPECT_NE(NULL, strstr(format, "field:char key[32];"));
			EXPECT_NE(NULL, strstr(format, "field:int prio;"));
		}
		if (!strcmp(events[i], "kwq_requeue"))
			EXPECT_NE(NULL, strstr(format, "field:u32 requeues;"));
		if (!strcmp(events[i], "kwq_ready")) {
			EXPECT_NE(NULL, strstr(format, "field:s64 due;"));
			EXPECT_NE(NULL, strstr(format, "field:s64 late;"));
		}
	}
	ASSERT_EQ(0, write_text(in_instance(self, "events/kwq/kwq_add/filter"),
				"key == \"b\" && prio > 3"));
	ASSERT_EQ(0, write_text(in_instance(self, "events/kwq/kwq_ready/enable"), "0"));
	EXPECT_EQ(KWQ_ADDED, q_add_priority(self->q, "a", 5));
	EXPECT_EQ(KWQ_ADDED, q_add_priority(self->q, "b", 5));
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "c"));
	read_trace(self);
	expect_event(self, "kwq_add: queue=%llu name=%s key=%s prio=5 result=0", "b");
	EXPECT_EQ(NULL, take_event(self));
}

/* fdinfo */

static void read_fdinfo(int q, char *text, size_t room)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", q);
	REQUIRE(read_text(path, text, room) > 0);
}

#define expect_line(q, line)							\
	do {									\
		char text_[1024];						\
										\
		read_fdinfo(q, text_, sizeof(text_));				\
		EXPECT_NE(NULL, strstr(text_, "\n" line "\n")) {		\
			TH_LOG("%s", text_);					\
		}								\
	} while (0)

TEST(fdinfo)
{
	static const char odd[] = "trace fdinfo\n\\\x1b[2J\x9b";
	int dev = open_device(), q = new_queue(dev), other = q_reopen(q);
	struct item item;

	ASSERT_LE(0, other);
	expect_line(q, "kwq-name:\t");
	/* U9 */
	expect_line(q, "kwq-rights:\trwx");
	for (__u32 rights = 1; rights < ALL_RIGHTS; rights++) {
		static const char *const texts[] = {
			"", "--x", "-w-", "-wx", "r--", "r-x", "rw-",
		};
		int narrow = q_open_with(q, NULL, rights, O_CLOEXEC);
		char text[1024];

		ASSERT_LE(0, narrow);
		read_fdinfo(narrow, text, sizeof(text));
		ASSERT_NE(NULL, strstr(text, "kwq-rights:\t"));
		EXPECT_EQ(0, strncmp(strstr(text, "kwq-rights:\t") + 12, texts[rights], 3));
		close(narrow);
	}
	expect_line(q, "kwq-ready:\t0");
	ASSERT_EQ(KWQ_ADDED, q_add(q, "a"));
	ASSERT_EQ(KWQ_ADDED, q_add(q, "b"));
	ASSERT_EQ(KWQ_ADDED, q_add(q, "c"));
	ASSERT_EQ(KWQ_WAITING, q_add_after(q, "w", HOUR));
	ASSERT_EQ(1, q_try_get(other, &item));
	expect_line(q, "kwq-ready:\t2");
	expect_line(q, "kwq-waiting:\t1");
	expect_line(q, "kwq-processing:\t1");
	/* The items that this handle holds, and those of the other one. */
	expect_line(q, "kwq-held:\t0");
	expect_line(other, "kwq-held:\t1");
	expect_line(q, "kwq-shut-down:\t0");
	expect_line(q, "kwq-paused:\t0");
	expect_line(q, "kwq-term-over:\t0");
	ASSERT_EQ(0, q_term(q, 0));
	expect_line(q, "kwq-term-over:\t1");
	ASSERT_EQ(0, q_term(q, KWQ_NO_DEADLINE));
	ASSERT_EQ(0, q_shut_down(q));
	expect_line(q, "kwq-waiting:\t0");
	expect_line(other, "kwq-shut-down:\t1");
	close(other);
	close(q);

	/* A name stays on its line and consists of text only. */
	q = q_create(dev, odd, 0, O_CLOEXEC, 0700);
	ASSERT_LE(0, q);
	EXPECT_EQ(0, q_unlink(dev, odd));
	expect_line(q, "kwq-name:\ttrace\\040fdinfo\\012\\134\\033[2J\\233");
	close(q);
	close(dev);
}

TEST_HARNESS_MAIN
