// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L11: kwq keys, kick and cancel with a queue whose dead items the kernel lists in no useful order,
 * and whose items die as fast as they are kicked. The test replaces the kernel by wrapping ioctl()
 * and open() (the linker's --wrap).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cmd.h"
#include "tap.h"
#include "wrap-open.h"

enum { DEAD = 100, PAGE = 30, FASTER = 7 };

/* How many items are dead. */
static unsigned int nr_dead = DEAD;
/* After the first page, if not 0. */
static int list_error;
/* Of all dead items. */
static __u64 age;
static bool out_of_memory;
/* The result of every FASTER-th item. */
static int refusal = -ENOENT;

static int fails(int err)
{
	errno = -err;
	return -1;
}

/* Lists the last death first, and after an empty page. */
static int list(struct kwq_list_items_args *req)
{
	struct kwq_listed *entries = (void *)(uintptr_t)req->batch.entries;
	char *keys = (void *)(uintptr_t)req->batch.keys;
	unsigned int before = req->after ? req->after - 1 : 0, i, number;

	if (req->states != KWQ_IS_DEAD || req->flags & ~KWQ_LIST_NOTES || req->batch.nr < PAGE)
		return fails(-EINVAL);
	if (!req->after) {
		req->after = 1;
		return 0;
	}
	if (before && list_error)
		return fails(list_error);
	for (i = 0; i < PAGE && before + i < nr_dead; i++) {
		char key[5];

		number = nr_dead - before - i;
		entries[i] = (struct kwq_listed){
			.order = number,
			.order_of = KWQ_IS_DEAD,
			.state = KWQ_IS_DEAD,
			.dead_for = age,
			.key_len = 4,
			.group_len = 1,
		};
		snprintf(key, sizeof(key), "k%03u", number);
		memcpy(keys + 5 * i, key, 4);
		keys[5 * i + 4] = 'g';
	}
	req->after = before + i < nr_dead ? before + i + 1 : 0;
	return i;
}

/* Every FASTER-th item gets @refusal, as if somebody else were faster. */
static int each(const struct kwq_batch *batch, int result)
{
	__s32 *results = (void *)(uintptr_t)batch->results;
	static unsigned int nr;
	unsigned int i;

	for (i = 0; i < batch->nr; i++)
		results[i] = nr++ % FASTER ? result : refusal;
	return i;
}

static int answer(int fd, unsigned long request, void *arg)
{
	(void)fd;
	switch (request) {
	case KWQ_IOC_OPEN:
		return dup(STDIN_FILENO);
	case KWQ_IOC_STAT:
	case KWQ_IOC_CONFIG:
		return 0;
	case KWQ_IOC_LIST_ITEMS:
		return list(arg);
	case KWQ_IOC_ADD:
		return each(&((struct kwq_batch_args *)arg)->batch, KWQ_ADDED);
	case KWQ_IOC_REMOVE:
		return each(&((struct kwq_batch_args *)arg)->batch, KWQ_WAS_DEAD);
	default:
		return fails(-ENOTTY);
	}
}

void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size)
{
	return out_of_memory ? NULL : __real_realloc(p, size);
}

static int open_device(int flags)
{
	return open("/dev/null", flags);
}

static char said[65536];

/* Returns the exit status, or -1 if the command did not end by itself. */
static int run(const struct command *of, int argc, char **argv)
{
	size_t filled = 0;
	int ends[2], status;
	ssize_t got;

	if (pipe(ends))
		exit(1);
	fflush(stdout);
	if (!fork()) {
		alarm(60);
		close(ends[0]);
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		command = of;
		exit(of->main(argc, argv));
	}
	close(ends[1]);
	while ((got = read(ends[0], said + filled, sizeof(said) - 1 - filled)) > 0)
		filled += got;
	said[filled] = '\0';
	close(ends[0]);
	wait(&status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int keys(char *option)
{
	char *argv[5] = { "keys", "--dead", option, "q", NULL };

	return run(&command_keys, 4, argv);
}

static int kick(char *option)
{
	char *argv[5] = { "kick", "--dead", option, "q", NULL };

	return run(&command_kick, 4, argv);
}

static int cancel(void)
{
	char *argv[7] = { "cancel", "--leave-jobs", "--all", "--state", "dead", "q", NULL };

	return run(&command_cancel, 6, argv);
}

static int count(const char *line)
{
	const char *at = said;
	int nr = 0;

	for (; (at = strstr(at, line)); at += strlen(line))
		nr++;
	return nr;
}

/* Tells whether the keys of all dead items were said once, in the order of their deaths. */
static bool said_in_order(void)
{
	const char *at = said;
	unsigned int i;

	for (i = 1; i <= nr_dead; i++) {
		char key[8];

		snprintf(key, sizeof(key), "k%03u", i);
		at = strstr(at, key);
		if (!at || count(key) != 1)
			return false;
	}
	return true;
}

static void test_order(void)
{
	enum { GONE = (DEAD + FASTER - 1) / FASTER };

	is_number(keys("-l"), STATUS_OK, "L11: a list");
	is_number(count("\n"), 1 + DEAD, "of all that are dead");
	ok(said_in_order(), "the oldest death first");
	is_number(keys("--json"), STATUS_OK, "L11: as JSON");
	is_number(count("\"dead_for_ns\":"), DEAD, "with all of them");
	ok(said_in_order(), "the oldest death first, too");
	is_number(kick("-av"), STATUS_OK, "L11: what dies again is not kicked again");
	is_number(count("kicked\tk"), DEAD - GONE, "as many as were dead then");
	is_number(count("gone\tk"), GONE, "L11: it is no error if somebody was faster");
	ok(said_in_order(), "the oldest death first");
	is_number(cancel(), STATUS_WAS_DEAD, "L11: nor with cancel");
	is_number(count("dead\tk"), DEAD - GONE, "which ends too");
	is_number(count("gone\tk"), GONE, "and tells what was gone");
}

static void test_fails(void)
{
	list_error = -EBADF;
	is_number(kick("-av"), STATUS_FAILED, "a list that fails");
	is_number(count("\tk"), 0, "is not begun to be kicked");
	is_number(count("lacks the right"), 1, "and the failure is told, once");
	is_number(cancel(), STATUS_FAILED, "a cancel of it");
	is_number(count("lacks the right"), 1, "tells it, too");
	is_number(keys("--json"), STATUS_FAILED, "keys of it");
	is_number(count("\"dead_for_ns\":"), 0, "prints nothing");
	list_error = 0;
}

/* The list is in memory, because it has to be sorted. */
static void test_memory(void)
{
	out_of_memory = true;
	is_number(keys("-l"), STATUS_FAILED, "O4: a list without memory");
	is_number(strcmp(said, "kwq: keys: q: Cannot allocate memory\n"), 0, "says so, and no more");
	is_number(kick("-a"), STATUS_FAILED, "O4: nor is it kicked");
	out_of_memory = false;
}

static void test_none(void)
{
	nr_dead = 0;
	is_number(keys("--json"), STATUS_OK, "L11: nothing is dead");
	is_number(strcmp(said, ""), 0, "so the list is empty");
	nr_dead = DEAD;
}

static void test_refused(void)
{
	refusal = -ENOSPC;
	is_number(kick("-a"), STATUS_FAILED, "an item that cannot be kicked");
	is_number(count("kwq: kick: q: item 8: k008: the queue is full (see kwq stat)\n"), 1,
		  "is told, with its number");
	refusal = -ENOENT;
}

/* The columns of a row behind the age, and the begin of its key. */
#define BEHIND_AGE "            -        0    0     -       -     - g        k"

static void test_age(void)
{
	age = 61500000000;
	is_number(keys("-l"), STATUS_OK, "L11: ages");
	is_number(count("      61.500s" BEHIND_AGE), DEAD, "in seconds");
	is_number(keys("--json"), STATUS_OK, "L11: as JSON");
	is_number(count("\"dead_for_ns\":61500000000,"), DEAD, "in ns");
	age = KWQ_AGE_UNKNOWN;
	is_number(keys("-l"), STATUS_OK, "M1: ages that are not known");
	is_number(count("            -" BEHIND_AGE), DEAD, "M1: are not 0");
	is_number(keys("--json"), STATUS_OK, "M1: as JSON");
	is_number(count("\"dead_for_ns\":null,"), DEAD, "M1: they are null");
	age = 0;
}

int main(void)
{
	test_age();
	test_order();
	test_fails();
	test_memory();
	test_none();
	test_refused();
	return done_testing();
}
