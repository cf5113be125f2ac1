// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cmd.h"
#include "kwq/keys/keys.h"
#include "tap.h"

static struct keys keys;

/* Feeds text through a pipe in writes of @piece bytes. */
static void feed(const char *text, size_t len, size_t piece, bool null)
{
	char *no_arguments[2] = { "kwq", NULL };
	int ends[2];

	if (pipe(ends))
		exit(1);
	if (!fork()) {
		close(ends[0]);
		while (len) {
			size_t part = len < piece ? len : piece;

			if (write(ends[1], text, part) != (ssize_t)part)
				_exit(1);
			text += part;
			len -= part;
		}
		_exit(0);
	}
	close(ends[1]);
	optind = 1;
	keys_init(&keys, 1, no_arguments, null);
	keys.fd = ends[0];
}

/* Returns all results of keys_next() as text: "[key]1 !empty2 !long3 ". */
static char *collect(void)
{
	static char text[200000];
	char *end = text;
	const char *key;
	size_t len;
	int ret;

	*text = '\0';
	while ((ret = keys_next(&keys, &key, &len))) {
		if (ret > 0) {
			*end++ = '[';
			if (len > 100)
				end += sprintf(end, "%zu of %c", len, *key);
			else
				end = mempcpy(end, key, len);
			*end++ = ']';
		} else {
			end += sprintf(end, ret == -EINVAL ? "!empty" :
				       ret == -EMSGSIZE ? "!long" : "!%d", ret);
		}
		end += sprintf(end, "%llu ", keys.line);
	}
	close(keys.fd);
	wait(NULL);
	return text;
}

static const struct {
	const char *text;
	bool null;
	size_t len;
	const char *wanted;
} inputs[] = {
#define INPUT(text, null, wanted) { text, null, sizeof(text) - 1, wanted }
	INPUT("", false, ""),
	INPUT("a\nb\n", false, "[a]1 [b]2 "),
	INPUT("a\nb", false, "[a]1 [b]2 "),
	INPUT("a\n\nb\n", false, "[a]1 !empty2 [b]3 "),
	INPUT("\n", false, "!empty1 "),
	INPUT("a b\tc\n", false, "[a b\tc]1 "),
	INPUT("a\r\n", false, "[a\r]1 "),
	INPUT("a\nb\0c\0\0d", true, "[a\nb]1 [c]2 !empty3 [d]4 "),
#undef INPUT
};

static void test_inputs(void)
{
	static const size_t pieces[] = { 1, 3, 65536 };
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(inputs); i++) {
		for (j = 0; j < 3; j++) {
			feed(inputs[i].text, inputs[i].len, pieces[j], inputs[i].null);
			is_string(collect(), inputs[i].wanted, "keys of an input");
		}
	}
}

/* Makes lines of these lengths, each of another letter. */
static size_t lines(char *to, const size_t *lengths, size_t nr)
{
	char *end = to;
	size_t i;

	for (i = 0; i < nr; i++) {
		memset(end, 'a' + i, lengths[i]);
		end += lengths[i];
		*end++ = '\n';
	}
	return end - to;
}

static void test_lengths(void)
{
	static const size_t lengths[] = { 4096, 4097, 1, 200000, 4096, 65536, 4096, 4096 };
	static const size_t pieces[] = { 1000, 4097, 65536, 1000000 };
	static const char wanted[] =
		"[4096 of a]1 !long2 [c]3 !long4 [4096 of e]5 !long6 [4096 of g]7 [4096 of h]8 ";
	static char text[1000000];
	size_t len = lines(text, lengths, 8), i;

	for (i = 0; i < 4; i++) {
		feed(text, len, pieces[i], false);
		is_string(collect(), wanted, "long keys, and those that are too long");
		feed(text, 4096 + 1 + 4097, pieces[i], false);
		is_string(collect(), "[4096 of a]1 !long2 ",
			  "one that is too long at the end, without newline");
		feed(text, 4096, pieces[i], false);
		is_string(collect(), "[4096 of a]1 ", "the longest, without newline");
	}
}

static void test_many(void)
{
	enum { NR = 100000 };
	char *text = malloc(NR * 8), *end = text, wanted[16];
	const char *key;
	size_t len;
	bool good = true;
	int i;

	for (i = 0; i < NR; i++)
		end += sprintf(end, "%d\n", i);
	feed(text, end - text, 5000, false);
	for (i = 0; i < NR && good; i++) {
		sprintf(wanted, "%d", i);
		good = keys_next(&keys, &key, &len) == 1 && len == strlen(wanted) &&
			!memcmp(key, wanted, len);
	}
	ok(good, "many keys in their order");
	is_number(keys_next(&keys, &key, &len), 0, "and then no more");
	close(keys.fd);
	wait(NULL);
	free(text);
}

static void test_reading(void)
{
	const char *key;
	size_t len;

	feed("a\nb\nc", 5, 5, false);
	ok(keys_would_read(&keys), "before the first key it would read");
	keys_next(&keys, &key, &len);
	ok(!keys_would_read(&keys), "a whole line is there: it would not");
	keys_next(&keys, &key, &len);
	ok(keys_would_read(&keys), "half a line is there: it would");
	keys_next(&keys, &key, &len);
	ok(!keys_would_read(&keys), "at the end it would not");
	close(keys.fd);
	wait(NULL);
}

static void test_error(void)
{
	const char *key;
	size_t len;
	int ends[2];

	feed("x", 1, 1, false);
	close(keys.fd);
	wait(NULL);
	if (pipe(ends))
		exit(1);
	keys.fd = ends[1];	/* cannot be read */
	is_number(keys_next(&keys, &key, &len), 0, "input that cannot be read ends");
	is_number(keys.error, -EBADF, "and the error is kept");
	close(ends[0]);
	close(ends[1]);
}

/* Whether a process sleeps, by /proc/PID/stat. */
static bool sleeps(pid_t pid)
{
	char path[40], state = 0;
	FILE *stat;

	sprintf(path, "/proc/%d/stat", pid);
	stat = fopen(path, "r");
	if (!stat)
		return true;
	if (fscanf(stat, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(stat);
	return state == 'S';
}

/* A read of a non-blocking input returns at once, so keys_next() must wait itself. */
static void test_nonblocking(void)
{
	char *no_arguments[2] = { "kwq", NULL };
	pid_t reader = getpid();
	int ends[2];

	if (pipe(ends))
		exit(1);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	if (!fork()) {
		while (!sleeps(reader))
			sched_yield();
		_exit(write(ends[1], "a\nb", 3) != 3);
	}
	close(ends[1]);
	optind = 1;
	keys_init(&keys, 1, no_arguments, false);
	keys.fd = ends[0];
	is_string(collect(), "[a]1 [b]2 ", "U5: non-blocking input is waited for");
	is_number(keys.error, 0, "U5: and is no error");
}

static void test_arguments(void)
{
	static char longest[4098];
	char *argv[7] = { "add", "queue", "one", "", longest, "two\n", NULL };
	char where[40];

	memset(longest, 'x', 4097);
	optind = 2;
	keys_init(&keys, 6, argv, false);
	ok(!keys_would_read(&keys), "arguments need no reading");
	keys.fd = -1;
	is_string(collect(), "[one]1 !empty2 !long3 [two\n]4 ", "keys of arguments");
	is_string(keys_where(&keys, where, sizeof(where)), "argument 4", "where an argument is");
	keys.arguments = NULL;
	is_string(keys_where(&keys, where, sizeof(where)), "line 4", "where a line is");
}

int main(void)
{
	test_inputs();
	test_lengths();
	test_many();
	test_reading();
	test_error();
	test_nonblocking();
	test_arguments();
	return done_testing();
}
