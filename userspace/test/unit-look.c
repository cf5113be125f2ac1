// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Q15: kwq keys, with a list that comes in pages, some of them empty. The test replaces the
 * kernel by wrapping ioctl() and open() (the linker's --wrap).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cmd.h"
#include "tap.h"
#include "wrap-open.h"

enum { NS_PER_S = 1000000000 };

struct fake {
	struct kwq_listed item;
	const char *key;
};

static const struct fake some[] = {
	{ { .state = KWQ_IS_WAITING, .order = 50, .waiting_for = 1500000000, .due_in = 2 * NS_PER_S,
	    .wait_priority = KWQ_PRIORITY_NONE, .requeues = 3 }, "later" },
	{ { .state = KWQ_IS_READY, .order = 9, .dirty_for = 1000000 }, "second" },
	{ { .state = KWQ_IS_READY, .order = 8, .dirty_for = 2000000 }, "first" },
	{ { .state = KWQ_IS_PROCESSING | KWQ_IS_DIRTY | KWQ_IS_WAITING, .order = 77,
	    .processing_for = 3 * (__u64)NS_PER_S, .lease_left = 7 * (__u64)NS_PER_S,
	    .dirty_for = 5, .waiting_for = 6, .due_in = 8, .wait_priority = 2,
	    .next_priority = 4, .pid = 4711, .abandoned = 2 }, "young\n" },
	{ { .state = KWQ_IS_READY | KWQ_IS_RETURNED, .order = 10 }, "returned" },
	{ { .state = KWQ_IS_READY, .order = 11, .priority = 5, .token = 77 }, "urgent" },
	{ { .state = KWQ_IS_DEAD, .order = 2, .dead_for = 60 * (__u64)NS_PER_S, .abandoned = 3 },
	  "dead\xff" },
	{ { .state = KWQ_IS_PROCESSING, .order = 76, .processing_for = 4 * (__u64)NS_PER_S },
	  "old" },
	{ { .state = KWQ_IS_WAITING, .order = 49, .value_len = 7, .group_len = 4 }, "sooner" },
	{ { .state = KWQ_IS_REMEMBERED, .requeues = 1 }, "idle" },
};

/* These are found by their keys only. */
static const struct fake unmeasured[] = {
	{ { .state = KWQ_IS_PROCESSING | KWQ_IS_DIRTY, .dirty_for = KWQ_AGE_UNKNOWN,
	    .processing_for = KWQ_AGE_UNKNOWN }, "unmeasured" },
	{ { .state = KWQ_IS_DEAD, .dead_for = KWQ_AGE_UNKNOWN }, "departed" },
};

/* The list has so many items that are ready, or @some if this is 0. */
static unsigned int many;
/* The result of the second page; 0 for none. */
static int page_error;

static int fails(int err)
{
	errno = err;
	return -1;
}

static __u32 order_of(__u32 state)
{
	static const __u32 ranks[] = {
		KWQ_IS_PROCESSING, KWQ_IS_READY, KWQ_IS_WAITING, KWQ_IS_DEAD
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ranks); i++)
		if (state & ranks[i] || (!i && state & KWQ_IS_DIRTY))
			return ranks[i];
	return KWQ_IS_REMEMBERED;
}

/* Puts an item into the page. Returns the length of its key. */
static size_t put(const struct kwq_list_items_args *req, unsigned int nr, size_t at,
		  const struct kwq_listed *item, const char *key)
{
	struct kwq_listed *entry = (struct kwq_listed *)(uintptr_t)req->batch.entries + nr;
	size_t len = strlen(key);

	*entry = *item;
	entry->order_of = order_of(item->state & req->states);
	entry->key_len = len;
	memcpy((char *)(uintptr_t)req->batch.keys + at, key, len);
	if (item->group_len) {
		memcpy((char *)(uintptr_t)req->batch.keys + at + len, "g\tab", 4);
		len += 4;
	}
	if (req->flags & KWQ_LIST_VALUES && item->value_len) {
		memcpy((char *)(uintptr_t)req->batch.keys + at + len, "a\nvalue", 7);
		len += 7;
	}
	return len;
}

/* Ready items, the last one first. */
static int list_many(struct kwq_list_items_args *req)
{
	unsigned int nr = 0, i = req->after;
	size_t at = 0;
	char key[16];

	for (; i < many && nr < req->batch.nr && at + sizeof(key) < req->batch.keys_len; i++) {
		struct kwq_listed item = { .state = KWQ_IS_READY, .order = many - i };

		snprintf(key, sizeof(key), "%u", many - i);
		at += put(req, nr++, at, &item, key);
	}
	req->after = i < many ? i : 0;
	return nr;
}

static int list_key(const struct kwq_list_items_args *req)
{
	const char *key = (char *)(uintptr_t)req->key;
	const struct fake *fake;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(some) + ARRAY_SIZE(unmeasured); i++) {
		fake = i < ARRAY_SIZE(some) ? &some[i] : &unmeasured[i - ARRAY_SIZE(some)];
		if (strlen(fake->key) != req->key_len || memcmp(fake->key, key, req->key_len))
			continue;
		if (!(fake->item.state & req->states))
			return 0;
		put(req, 0, 0, &fake->item, fake->key);
		return 1;
	}
	return fails(ENOENT);
}

/* Two items a page, and every other page is empty. */
static int list(struct kwq_list_items_args *req)
{
	unsigned int nr = 0, page = req->after;
	size_t at = 0, i;

	if (many)
		return list_many(req);
	if (req->flags & KWQ_LIST_KEY)
		return list_key(req);
	if (page == 1 && page_error)
		return fails(page_error);
	for (i = page; page % 2 == 0 && i < page + 2 && i < ARRAY_SIZE(some); i++)
		if (some[i].item.state & req->states)
			at += put(req, nr++, at, &some[i].item, some[i].key);
	req->after = page + 1 < ARRAY_SIZE(some) ? page + 1 : 0;
	return nr;
}

static int answer(int fd, unsigned long request, void *arg)
{
	(void)fd;
	switch (request) {
	case KWQ_IOC_OPEN:
		return dup(STDIN_FILENO);
	case KWQ_IOC_STAT:
		return 0;
	case KWQ_IOC_LIST_ITEMS:
		return list(arg);
	default:
		return fails(ENOTTY);
	}
}

static int open_device(int flags)
{
	return open("/dev/null", flags);
}

static char said[1 << 20];

/* Returns the exit status. The output is in @said. */
static int keys(const char *options)
{
	char words[200], *argv[12] = { "keys" }, *word, *rest;
	int ends[2], status, argc = 1;
	size_t filled = 0;
	ssize_t got;

	snprintf(words, sizeof(words), "%s", options);
	for (word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	argv[argc++] = "q";
	if (pipe(ends))
		exit(1);
	fflush(stdout);
	if (!fork()) {
		alarm(60);
		close(ends[0]);
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		command = &command_keys;
		optind = 1;
		exit(command_keys.main(argc, argv));
	}
	close(ends[1]);
	while ((got = read(ends[0], said + filled, sizeof(said) - 1 - filled)) > 0)
		filled += got;
	said[filled] = '\0';
	close(ends[0]);
	wait(&status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_order(void)
{
	is_number(keys(""), STATUS_OK, "Q15: all keys");
	is_string(said, "old\nyoung\\n\nurgent\nreturned\nfirst\nsecond\nsooner\nlater\ndead\\xff\n",
		  "Q15: sorted, without remembered ones");
	is_number(keys("--unsorted"), STATUS_OK, "Q15: unsorted");
	is_string(said, "later\nsecond\nfirst\nyoung\\n\nreturned\nurgent\ndead\\xff\nold\nsooner\n",
		  "as they come");
	is_number(keys("--state waiting"), STATUS_OK, "Q15: a state");
	is_string(said, "sooner\nlater\nyoung\\n\n", "waiting ones by their times");
	is_number(keys("--state dirty,remembered --state dead"), STATUS_OK, "several states");
	is_string(said, "young\\n\ndead\\xff\nidle\n", "are added up");
	is_number(keys("--state returned -0"), STATUS_OK, "Q15: unescaped");
	ok(!memcmp(said, "returned\0", 10), "each key ends with NUL");
	is_number(keys("--state dying"), STATUS_OK, "Q15: a state that no key has");
	is_string(said, "", "no key");
}

static void test_long(void)
{
	is_number(keys("-l"), STATUS_OK, "Q15: in detail");
	is_string(said,
		  "STATE              PRIO          AGE         LEFT REQUEUES LOST VALUE     PID TOKEN GROUP    KEY\n"
		  "processing            0       4.000s            -        0    0     -       -     - -        old\n"
		  "processing+dirty+waiting    0       3.000s       7.000s        0    2     -    4711     - -        young\\n\n"
		  "ready                 5       0.000s            -        0    0     -       -    77 -        urgent\n"
		  "ready+returned        0       0.000s            -        0    0     -       -     - -        returned\n"
		  "ready                 0       0.002s            -        0    0     -       -     - -        first\n"
		  "ready                 0       0.001s            -        0    0     -       -     - -        second\n"
		  "waiting               0       0.000s       0.000s        0    0     7       -     - g\\tab    sooner\n"
		  "waiting               0       1.500s       2.000s        3    0     -       -     - -        later\n"
		  "dead                  0      60.000s            -        0    3     -       -     - -        dead\\xff\n"
		  "        lost 3 times: its workers died, or its leases ended\n",
		  "a line for each key, below the header, and why a dead one has no note");
	is_number(keys("-l --unsorted --state remembered"), STATUS_OK, "Q15: a remembered key");
	is_string(said,
		  "STATE              PRIO          AGE         LEFT REQUEUES LOST VALUE     PID TOKEN GROUP    KEY\n"
		  "remembered            0            -            -        1    0     -       -     - -        idle\n",
		  "has no age");
}

static void test_json(void)
{
	is_number(keys("--json --state processing,dead"), STATUS_OK, "Q15: as JSON");
	is_string(said,
		  "{\"states\":[\"processing\"],\"priority\":0,\"requeues\":0,\"abandoned\":0,"
		  "\"processing_for_ns\":4000000000,\"pid\":0,\"key\":\"old\"}\n"
		  "{\"states\":[\"processing\",\"dirty\",\"waiting\"],\"priority\":0,\"requeues\":0,"
		  "\"abandoned\":2,\"dirty_for_ns\":5,\"next_priority\":4,"
		  "\"processing_for_ns\":3000000000,\"pid\":4711,\"lease_left_ns\":7000000000,"
		  "\"waiting_for_ns\":6,\"due_in_ns\":8,\"wait_priority\":2,"
		  "\"key\":\"young\\u000a\"}\n"
		  "{\"states\":[\"dead\"],\"priority\":0,\"requeues\":0,\"abandoned\":3,"
		  "\"dead_for_ns\":60000000000,\"key\":\"dead\\ufffd\",\"key_hex\":\"64656164ff\"}\n",
		  "a line for each key, with what it has");
	is_number(keys("--json --key urgent"), STATUS_OK, "N3: of a key with a token");
	is_string(said,
		  "{\"states\":[\"ready\"],\"priority\":5,\"requeues\":0,\"abandoned\":0,"
		  "\"dirty_for_ns\":0,\"token\":77,\"key\":\"urgent\"}\n", "is printed");
	is_number(keys("--json --state waiting --key later"), STATUS_OK, "of a waiting key");
	is_string(said,
		  "{\"states\":[\"waiting\"],\"priority\":0,\"requeues\":3,\"abandoned\":0,"
		  "\"waiting_for_ns\":1500000000,\"due_in_ns\":2000000000,\"key\":\"later\"}\n",
		  "without a priority that nobody named");
	is_number(keys("--json --state waiting --value --key sooner"), STATUS_OK, "Q18: a value");
	is_string(said,
		  "{\"states\":[\"waiting\"],\"priority\":0,\"requeues\":0,\"abandoned\":0,"
		  "\"waiting_for_ns\":0,\"due_in_ns\":0,\"wait_priority\":0,\"value_len\":7,"
		  "\"key\":\"sooner\",\"group\":\"g\\u0009ab\",\"value\":\"a\\u000avalue\"}\n", "is printed");
	is_number(keys("--json --unsorted --state waiting --value"), STATUS_OK, "Q18: among others");
	ok(strstr(said, "\"key\":\"later\"}\n") && strstr(said, "\"value\":\"a\\u000avalue\"}\n") &&
	   strstr(said, "\"key\":\"young\\u000a\"}\n"), "it is the one of its key");
	is_number(keys("--json --state waiting"), STATUS_OK, "Q18: without values");
	ok(strstr(said, "\"value_len\":7,\"key\":\"sooner\",\"group\":\"g\\u0009ab\"}\n"), "only its length is printed");
}

static void test_unknown_ages(void)
{
	is_number(keys("-l --key unmeasured"), STATUS_OK, "M1: a queue without durations");
	is_string(said,
		  "STATE              PRIO          AGE         LEFT REQUEUES LOST VALUE     PID TOKEN GROUP    KEY\n"
		  "processing+dirty      0            -            -        0    0     -       -     - -        unmeasured\n",
		  "M1: the age is not 0");
	is_number(keys("--json --key unmeasured"), STATUS_OK, "M1: as JSON");
	is_string(said,
		  "{\"states\":[\"processing\",\"dirty\"],\"priority\":0,\"requeues\":0,"
		  "\"abandoned\":0,\"dirty_for_ns\":null,\"next_priority\":0,"
		  "\"processing_for_ns\":null,\"pid\":0,\"key\":\"unmeasured\"}\n",
		  "M1: it is null");
	is_number(keys("--json --key departed"), STATUS_OK, "M1: a death at a done");
	is_string(said,
		  "{\"states\":[\"dead\"],\"priority\":0,\"requeues\":0,\"abandoned\":0,"
		  "\"dead_for_ns\":null,\"key\":\"departed\"}\n", "M1: has no age");
}

static void test_key(void)
{
	is_number(keys("-k first"), STATUS_OK, "Q15: one key");
	is_string(said, "first\n", "is printed");
	is_number(keys("-k idle"), STATUS_OK, "Q15: in any state");
	is_string(said, "idle\n", "is printed");
	is_number(keys("--key first --state dead"), STATUS_OK, "one key, in another state");
	is_string(said, "", "is not printed");
	is_number(keys("--key none"), STATUS_FAILED, "a key that is not there");
	is_string(said, "kwq: keys: q: the queue has no such key\n", "is an error");
}

static void test_errors(void)
{
	page_error = EBADF;
	is_number(keys(""), STATUS_FAILED, "a list that fails");
	ok(strstr(said, "lacks the right") && !strstr(said, "later"), "prints only that: %s", said);
	is_number(keys("--unsorted"), STATUS_FAILED, "an unsorted one");
	ok(strstr(said, "lacks the right") && strstr(said, "later"), "has printed a page");
	page_error = 0;
}

static void test_many(void)
{
	unsigned int i, n;
	char *line;

	many = 100000;
	is_number(keys(""), STATUS_OK, "Q15: many keys");
	for (line = said, i = 1; i <= many; i++, line = strchr(line, '\n') + 1)
		if (sscanf(line, "%u\n", &n) != 1 || n != i || !strchr(line, '\n'))
			break;
	is_number(i, many + 1, "sorted");
	is_number(keys("--unsorted"), STATUS_OK, "Q15: many keys, unsorted");
	for (line = said, i = 0; (line = strchr(line, '\n')); line++)
		i++;
	is_number(i, many, "as many");
	many = 0;
}

int main(void)
{
	test_order();
	test_long();
	test_json();
	test_unknown_ages();
	test_key();
	test_errors();
	test_many();
	return done_testing();
}
