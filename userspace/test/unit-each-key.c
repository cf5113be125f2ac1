// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * U5: the results of add, done and remove for each key. submit() replaces the kernel.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cmd.h"
#include "kwq/keys/each_key.h"
#include "tap.h"

enum { NEVER_FAILS = 1000 };

/*
 * The number of entries taken before the error, and that error: of a key, or of the
 * call.
 */
static int good;
static int key_error, call_error;

static int fill(void *entry, const char *key, size_t len, const void *context)
{
	(void)key;
	(void)context;
	*(struct kwq_add_entry *)entry = (struct kwq_add_entry){ .key_len = len };
	return len;
}

static int submit(struct kwq *q, const struct kwq_batch *batch)
{
	__s32 *results = (void *)(uintptr_t)batch->results;
	__u32 i;

	(void)q;
	for (i = 0; i < batch->nr && good; i++, good--)
		results[i] = 0;
	if (i < batch->nr && call_error)
		return i ? (int)i : call_error;
	for (; i < batch->nr; i++)
		results[i] = key_error;
	return batch->nr;
}

static const char *outcome(int result)
{
	(void)result;
	return "added";
}

static const struct key_verb verb = {
	.entry_size = sizeof(struct kwq_add_entry),
	.fill = fill,
	.submit = submit,
	.outcome = outcome,
};

/* The verb under test. */
static const struct key_verb *the_verb = &verb;

static void child(int argc, char **argv, const char *input, int out)
{
	static const struct key_options options = { .json = true, .quiet = true };
	int ends[2];

	if (pipe(ends) || write(ends[1], input, strlen(input)) < 0)
		_exit(99);
	close(ends[1]);
	dup2(ends[0], STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	if (!freopen("/dev/null", "w", stderr))
		_exit(99);
	command = &command_add;
	optind = 1;
	exit(each_key(NULL, "q", the_verb, &options, argc, argv));
}

/* Returns the output of the command, followed by its exit status. */
static const char *json(int argc, char **argv, const char *input)
{
	static char text[300000];
	size_t filled = 0;
	ssize_t got;
	int ends[2], status;

	if (pipe(ends))
		exit(1);
	fflush(stdout);
	if (!fork()) {
		close(ends[0]);
		child(argc, argv, input, ends[1]);
	}
	close(ends[1]);
	while ((got = read(ends[0], text + filled, sizeof(text) - filled - 20)) > 0)
		filled += got;
	close(ends[0]);
	wait(&status);
	sprintf(text + filled, "%d", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	return text;
}

#define ADDED(key)	"{\"key\":\"" key "\",\"result\":\"added\"}\n"
#define ERROR(key, why)	"{\"key\":\"" key "\",\"error\":\"" why "\"}\n"
#define DOWN(key)	ERROR(key, "the queue is shut down")

static char *no_arguments[2] = { "add", NULL };

static void test_no_keys(void)
{
	static char input[5000], longest[4098];
	char *argv[6] = { "add", "a", "", longest, "b", NULL };

	good = NEVER_FAILS;
	memset(longest, 'x', 4097);
	snprintf(input, sizeof(input), "a\n\n%s\nb\n", longest);
	is_string(json(1, no_arguments, input),
		  ADDED("a") "{\"line\":2,\"error\":\"empty key\"}\n"
		  "{\"line\":3,\"error\":\"key too long (more than 4096 bytes)\"}\n"
		  ADDED("b") "1", "U5: lines that are no keys have an object, in their place");
	is_string(json(5, argv, ""),
		  ADDED("a") "{\"argument\":2,\"error\":\"empty key\"}\n"
		  "{\"argument\":3,\"error\":\"key too long (more than 4096 bytes)\"}\n"
		  ADDED("b") "1", "U5: arguments that are no keys, too");
}

static void test_shut_down(void)
{
	char *many[1002] = { "add" };
	const char *text;
	int i, nr = 0;

	good = 1;
	key_error = -ESHUTDOWN;
	is_string(json(1, no_arguments, "a\nb\n\nc\n"),
		  ADDED("a") DOWN("b") "{\"line\":3,\"error\":\"the queue is shut down\"}\n"
		  DOWN("c") "5", "U5: each key that a shut down refuses has an object");

	for (i = 1; i <= 1000; i++)
		many[i] = "k";
	text = json(1001, many, "");
	for (i = 0; text[i]; i++)
		nr += text[i] == '\n';
	is_number(nr, 1000, "U5: also the arguments that were not sent any more");
	key_error = 0;
}

/* A slow writer must not delay the end: this test keeps the pipe open for writing. */
static void test_does_not_wait(void)
{
	int ends[2], status = -1;

	good = 0;
	key_error = -ESHUTDOWN;
	if (pipe(ends) || write(ends[1], "a\nb", 3) != 3)
		exit(1);
	fflush(stdout);
	if (!fork()) {
		static const struct key_options options = { .json = true };

		alarm(60);
		dup2(ends[0], STDIN_FILENO);
		if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
			_exit(99);
		command = &command_add;
		optind = 1;
		_exit(each_key(NULL, "q", &verb, &options, 1, no_arguments));
	}
	wait(&status);
	is_number(WIFEXITED(status) ? WEXITSTATUS(status) : -1, STATUS_SHUT_DOWN,
		  "U5: after a shut down nobody is waited for");
	close(ends[0]);
	close(ends[1]);
	key_error = 0;
}

static void test_call_fails(void)
{
	good = 2;
	call_error = -EBADF;
	is_string(json(1, no_arguments, "a\nb\nc\nd\n"),
		  ADDED("a") ADDED("b")
		  ERROR("c", "the descriptor lacks the right (see kwq open --help)")
		  ERROR("d", "the descriptor lacks the right (see kwq open --help)")
		  "1", "U5: each key of a call that failed has an object");
	call_error = 0;
}

static void test_refused(void)
{
	good = 1;
	key_error = -ENOSPC;
	is_string(json(1, no_arguments, "a\nb\n"), ADDED("a")
		  ERROR("b", "the queue is full (see kwq stat)") "1",
		  "U5: a key that is refused by itself has an object");
	key_error = 0;
}

static const char *const listed[] = { "a", "b", "c" };
static int list_error;

static int next(void *list, const char **key, size_t *len)
{
	size_t *i = list;

	if (*i == ARRAY_SIZE(listed))
		return list_error;
	*key = listed[(*i)++];
	*len = 1;
	return 1;
}

static void test_list(void)
{
	static size_t at;
	struct key_verb of_list = verb;

	of_list.next = next;
	of_list.list = &at;
	the_verb = &of_list;
	good = NEVER_FAILS;
	is_string(json(1, no_arguments, "from standard input\n"),
		  ADDED("a") ADDED("b") ADDED("c") "0",
		  "U5: keys from a list, and from nowhere else");
	list_error = -EIO;
	is_string(json(1, no_arguments, ""), ADDED("a") ADDED("b") ADDED("c") "1",
		  "U5: a list that fails has been taken as far as it went");
	good = 1;
	key_error = -ENOSPC;
	list_error = 0;
	is_string(json(1, no_arguments, ""),
		  ADDED("a") ERROR("b", "the queue is full (see kwq stat)")
		  ERROR("c", "the queue is full (see kwq stat)") "1",
		  "U5: listed keys are refused one by one");
	key_error = 0;
	the_verb = &verb;
}

static void test_count(void)
{
	struct key_verb counting = verb;

	counting.count = "requeues";
	counting.outcome = NULL;
	the_verb = &counting;
	good = NEVER_FAILS;
	is_string(json(1, no_arguments, "a\n"), "{\"key\":\"a\",\"requeues\":0}\n0",
		  "L9: a result that is a count is a number");
	the_verb = &verb;
}

int main(void)
{
	test_no_keys();
	test_shut_down();
	test_does_not_wait();
	test_call_fails();
	test_refused();
	test_list();
	test_count();
	return done_testing();
}
