// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "each_key.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/escape.h"
#include "keys.h"

enum {
	BATCH_ENTRIES = 256,
	BATCH_BYTES = 16 * KWQ_KEY_MAX,
	ENTRY_SIZE_MAX = sizeof(struct kwq_add_entry),
	/* How many keys with one reason have a line. */
	LINES_MAX = 10,
	REASONS_MAX = 16,
};

/* The current batch, and the origin of its keys. */
struct collector {
	struct kwq *q;
	const char *queue;
	const struct key_verb *verb;
	const struct key_options *options;
	struct keys keys;
	int status;
	int over;		/* the error that ended everything, or 0 */
	FILE *refused;		/* gets the refused keys; NULL: nobody wants them */
	struct {
		int err;
		unsigned long long nr;
	} reasons[REASONS_MAX];

	unsigned int nr;
	size_t bytes;
	__u64 entries[BATCH_ENTRIES * ENTRY_SIZE_MAX / sizeof(__u64)];
	__s32 results[BATCH_ENTRIES];
	char key_bytes[BATCH_BYTES];
	/* The keys in full; a batch of tickets holds no keys. */
	struct {
		size_t at, len;
		size_t sent;	/* the number of its bytes in the batch */
		unsigned long long line;
	} of[BATCH_ENTRIES];
	char shown[BATCH_BYTES];
	size_t shown_bytes;
};

bool key_option(struct key_options *options, int opt)
{
	switch (opt) {
	case '0':
		options->null = true;
		return true;
	case 'q':
		options->quiet = true;
		return true;
	case 'v':
		options->verbose = true;
		return true;
	case OPT_JSON:
		options->json = true;
		return true;
	default:
		return false;
	}
}

static const char *refusal(const struct collector *c, int err)
{
	return c->verb->refusal ? c->verb->refusal(err) : NULL;
}

static const char *why(const struct collector *c, int err)
{
	const char *text = refusal(c, err);

	if (text)
		return text;
	return err == -EINVAL ? "empty key" : meaning(err);
}

/* Why a call failed, and with it all keys from there on. */
static const char *why_all(const struct collector *c, int err)
{
	const char *text = refusal(c, err);

	return text ? text : meaning(err);
}

static const char *kind_of_line(const struct collector *c)
{
	if (c->verb->next)
		return "item";
	return c->keys.arguments ? "argument" : "line";
}

/* With --json each key gets one object, also a key that was not sent. */
static void print_refusal(const struct collector *c, unsigned long long line,
			  const char *key, size_t len, const char *text)
{
	if (!c->options->json)
		return;
	putchar('{');
	if (key)
		json_bytes(stdout, "key", key, len);
	else
		printf("\"%s\":%llu", kind_of_line(c), line);
	fputs(",\"error\":", stdout);
	json_string(stdout, text, strlen(text));
	puts("}");
}

/* Notes a key for --refused. */
static void keep_refused(struct collector *c, const char *key, size_t len)
{
	if (!c->refused || !key)
		return;
	if (memchr(key, c->keys.delimiter, len)) {
		message("%s: a key with a newline is not in %s: see --null", c->queue,
			c->options->refused);
		return;
	}
	fwrite(key, 1, len, c->refused);
	putc(c->keys.delimiter, c->refused);
}

/* Whether the next key with this error gets a line. */
static bool gets_line(struct collector *c, int err)
{
	unsigned int i = 0;

	while (i < REASONS_MAX - 1 && c->reasons[i].nr && c->reasons[i].err != err)
		i++;
	c->reasons[i].err = err;
	return ++c->reasons[i].nr <= LINES_MAX || c->options->verbose;
}

/* Says how many keys had no line. */
static void sum_up(const struct collector *c)
{
	unsigned long long more;
	unsigned int i;

	for (i = 0; i < REASONS_MAX && c->reasons[i].nr && !c->options->verbose; i++) {
		more = c->reasons[i].nr - LINES_MAX;
		if (c->reasons[i].nr > LINES_MAX)
			message("%s: %llu more key%s: %s", c->queue, more, more == 1 ? "" : "s",
				why(c, c->reasons[i].err));
	}
}

/* A queue that is full of keys which nobody works on stays full until somebody is told. */
static void tell_of_dead(const struct collector *c)
{
	struct kwq_stat st = { .size = sizeof(st) };
	bool full = c->over == -ENOSPC || c->over == -ETIMEDOUT;
	unsigned int i;

	for (i = 0; i < REASONS_MAX; i++)
		full |= c->reasons[i].nr && c->reasons[i].err == -ENOSPC;
	if (full && !kwq_stat(c->q, &st) && st.dead)
		message("%s: %llu of its %llu keys are dead letters: kwq keys --dead lists them, and kwq cancel --all --state dead or kwq kick makes room",
			c->queue, (unsigned long long)st.dead, (unsigned long long)st.items);
}

/*
 * Reports an error of the key at line or argument @line. @key is NULL if the input was
 * not a valid key.
 */
static void refuse(struct collector *c, unsigned long long line, const char *key,
		   size_t len, int err)
{
	char text[ESCAPED_SIZE(KWQ_KEY_MAX)];

	/* An error that ended everything determines the status; a single key does not
	 * override it.
	 */
	if (!c->over)
		c->status = STATUS_FAILED;
	print_refusal(c, line, key, len, why(c, err));
	keep_refused(c, key, len);
	if (c->options->quiet || !gets_line(c, err))
		return;
	if (key)
		escape_text(text, key, len);
	message("%s: %s %llu: %s%s%s", c->queue, kind_of_line(c), line, key ? text : "",
		key ? ": " : "", why(c, err));
}

/* Ends the command: one message covers this key and all later ones. */
static void give_up(struct collector *c, int err)
{
	if (!c->over) {
		message("%s: %s", c->queue, why_all(c, err));
		c->status = status_of(err);
	}
	c->over = err;
}

/* Refuses a key after give_up(), or because the call that contained it failed. */
static void refuse_with_all(struct collector *c, unsigned long long line,
			    const char *key, size_t len)
{
	print_refusal(c, line, key, len, why_all(c, c->over));
	keep_refused(c, key, len);
}

/* Prints the result of a key: a word, or a number. */
static void print_outcome(const struct collector *c, int result)
{
	if (c->verb->count)
		printf("%d", result);
	else
		printf(c->options->json ? "\"%s\"" : "%s", c->verb->outcome(result));
}

static void accept_key(const struct collector *c, const char *key, size_t len,
		       int result)
{
	if (c->options->json) {
		putchar('{');
		json_bytes(stdout, "key", key, len);
		printf(",\"%s\":", c->verb->count ? c->verb->count : "result");
		print_outcome(c, result);
		puts("}");
	} else if (c->options->verbose) {
		print_outcome(c, result);
		putchar('\t');
		print_escaped(stdout, key, len);
		putchar('\n');
	}
}

static void report(struct collector *c, unsigned int i)
{
	const char *key = c->shown + c->of[i].at;
	int result = c->results[i];

	if (result >= 0) {
		accept_key(c, key, c->of[i].len, result);
		return;
	}
	/* A queue that is shut down stays so. */
	if (result == -ESHUTDOWN) {
		give_up(c, result);
		refuse_with_all(c, c->of[i].line, key, c->of[i].len);
		return;
	}
	refuse(c, c->of[i].line, key, c->of[i].len, result);
}

static void *entry_at(struct collector *c, unsigned int i)
{
	return (char *)c->entries + i * c->verb->entry_size;
}

/* Sends the collected keys. If the kernel took only part of the batch, sends the rest, too. */
static void flush(struct collector *c)
{
	size_t size = c->verb->entry_size, sent = 0;
	unsigned int first = 0, i;

	while (first < c->nr && !c->over) {
		size_t keys_len = c->bytes - sent;
		struct kwq_batch batch = {
			.entries = kwq_ptr(entry_at(c, first)),
			.keys = keys_len ? kwq_ptr(c->key_bytes + sent) : 0,
			.results = kwq_ptr(c->results + first),
			.keys_len = keys_len,
			.nr = c->nr - first,
			.entry_size = size,
		};
		int taken = c->verb->submit(c->q, &batch);

		if (taken <= 0) {
			give_up(c, taken ? taken : -EIO);
			break;
		}
		for (i = first; i < first + taken; i++) {
			sent += c->of[i].sent;
			report(c, i);
		}
		first += taken;
	}
	for (i = first; i < c->nr; i++)
		refuse_with_all(c, c->of[i].line, c->shown + c->of[i].at, c->of[i].len);
	c->nr = 0;
	c->bytes = 0;
	c->shown_bytes = 0;
}

static bool has_room(const struct collector *c)
{
	return c->nr < BATCH_ENTRIES && c->shown_bytes + KWQ_KEY_MAX <= BATCH_BYTES;
}

/*
 * Refuses a key that cannot enter the batch. The keys before it are sent and reported
 * first.
 */
static void refuse_at_once(struct collector *c, const char *key, size_t len, int err)
{
	flush(c);
	if (c->over)
		refuse_with_all(c, c->keys.line, key, len);
	else
		refuse(c, c->keys.line, key, len, err);
}

static bool would_read(const struct collector *c)
{
	return !c->verb->next && keys_would_read(&c->keys);
}

/* As keys_next(). An error of the list ends the command. */
static int next_key(struct collector *c, const char **key, size_t *len)
{
	int ret;

	if (!c->verb->next)
		return keys_next(&c->keys, key, len);
	ret = c->verb->next(c->verb->list, key, len);
	if (ret > 0)
		c->keys.line++;
	if (ret < 0) {
		flush(c);
		if (!c->over)
			give_up(c, ret);
		return 0;
	}
	return ret;
}

/*
 * Whether to take another key. After give_up() with --json, keys that were already read
 * still get their objects, but no more input is read. With --refused all of it is.
 */
static bool goes_on(const struct collector *c)
{
	return !c->over || c->refused || (c->options->json && !would_read(c));
}

/* Keys of an earlier call may be in the file, so it is appended to. */
static void must_open_refused(struct collector *c)
{
	const char *path = c->options->refused;
	struct stat in, out;

	if (!path)
		return;
	c->refused = fopen(path, "ae");
	if (!c->refused) {
		message("--refused %s: %s", path, strerror(errno));
		exit(STATUS_FAILED);
	}
	/* It would never end. */
	if (!c->keys.arguments && !fstat(STDIN_FILENO, &in) && S_ISREG(in.st_mode) &&
	    !fstat(fileno(c->refused), &out) && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
		usage("--refused %s: standard input is this file", path);
}

static void close_refused(struct collector *c)
{
	bool failed;

	if (!c->refused)
		return;
	failed = ferror(c->refused);
	if (!fclose(c->refused) && !failed)
		return;
	message("--refused %s: %s", c->options->refused, strerror(errno));
	c->status = STATUS_FAILED;
}

static void collect(struct collector *c, const char *key, size_t len)
{
	void *entry = entry_at(c, c->nr);
	int sent;

	sent = c->verb->fill(entry, key, len, c->verb->context);
	if (sent < 0) {
		refuse_at_once(c, key, len, sent);
		return;
	}
	memcpy(c->key_bytes + c->bytes, key, sent);
	memcpy(c->shown + c->shown_bytes, key, len);
	c->of[c->nr].at = c->shown_bytes;
	c->of[c->nr].len = len;
	c->of[c->nr].sent = sent;
	c->of[c->nr].line = c->keys.line;
	c->bytes += sent;
	c->shown_bytes += len;
	c->nr++;
}

int each_key(struct kwq *q, const char *queue, const struct key_verb *verb,
	     const struct key_options *options, int argc, char **argv)
{
	static struct collector c;	/* too large for the stack */
	const char *key;
	size_t len;
	int ret;

	c.q = q;
	c.queue = queue;
	c.verb = verb;
	c.options = options;
	keys_init(&c.keys, argc, argv, options->null);
	must_open_refused(&c);

	for (;;) {
		/* Send the batch before a read that may block: no key may lie here
		 * unsent while its sender is slow.
		 */
		if (!has_room(&c) || would_read(&c)) {
			flush(&c);
			fflush(stdout);
		}
		if (!goes_on(&c))
			break;
		ret = next_key(&c, &key, &len);
		if (!ret)
			break;
		if (ret < 0)
			refuse_at_once(&c, NULL, 0, ret);
		else
			collect(&c, key, len);
	}
	flush(&c);
	close_refused(&c);
	if (!options->quiet) {
		sum_up(&c);
		tell_of_dead(&c);
	}

	if (c.keys.error) {
		message("standard input: %s", strerror(-c.keys.error));
		c.status = STATUS_FAILED;
	}
	if (!flush_output() && !c.status)
		c.status = STATUS_FAILED;
	return c.status;
}
