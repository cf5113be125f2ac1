// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "path_adder.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "queue/add_result.h"
#include "base/cmd.h"
#include "base/duration.h"
#include "base/escape.h"

/* How long a wait for room goes on before it looks for a signal again. */
#define WAIT_NS	NS_PER_S

static void report(struct path_adder *a, const char *key, size_t len, int result)
{
	char text[ESCAPED_SIZE(KWQ_KEY_MAX)];

	if (result >= 0) {
		if (a->json) {
			putchar('{');
			json_bytes(stdout, "key", key, len);
			printf(",\"result\":\"%s\"}\n", add_result(result));
			return;
		}
		if (!a->verbose)
			return;
		printf("%s\t", add_result(result));
		print_escaped(stdout, key, len);
		putchar('\n');
		return;
	}
	a->failed++;
	message("%s: %s: %s", a->queue, escape_text(text, key, len),
		result == -ENOSPC || result == -EDQUOT ?
		"the key is too large for the queue (see kwq stat)" : meaning(result));
}

static bool has_values(const struct path_adder *a)
{
	struct kwq_stat st = { .size = sizeof(st) };

	return a->wants_values && !kwq_stat(a->q, &st) && st.create_flags & KWQ_CREATE_VALUES;
}

/* How the keys from number @first on are added. */
static void set_options(struct path_adder *a, unsigned int first, bool values)
{
	struct kwq_add_extra *extra;
	struct kwq_add_entry *entry;
	unsigned int i;

	for (i = first; i < a->nr; i++) {
		entry = &a->entries[i];
		extra = &a->extras[i];
		entry->flags = a->after ? KWQ_ADD_AFTER | KWQ_ADD_REPLACE | KWQ_ADD_AT_MOST : 0;
		entry->time = a->after;
		*extra = (struct kwq_add_extra){ .at_most = a->at_most };
		if (!values)
			continue;
		entry->flags |= KWQ_ADD_VALUE | KWQ_SET_JOINS;
		extra->value = kwq_ptr(&a->values[i]);
		extra->value_len = sizeof(a->values[i]);
	}
}

/* Adds the keys from number @first on, once. Returns as kwq_add_batch(). */
static int submit(struct path_adder *a, unsigned int first, size_t at)
{
	bool values = has_values(a), extras = a->after || values;
	struct kwq_batch batch = {
		.entries = kwq_ptr(a->entries + first),
		.keys = kwq_ptr(a->keys + at),
		.results = kwq_ptr(a->results + first),
		.extras = extras ? kwq_ptr(a->extras + first) : 0,
		.keys_len = a->bytes - at,
		.nr = a->nr - first,
		.entry_size = sizeof(a->entries[0]),
		.extra_size = extras ? sizeof(a->extras[0]) : 0,
	};

	set_options(a, first, values);
	return kwq_add_batch_wait_within(a->q, &batch, *a->stop ? 0 : WAIT_NS);
}

static bool was_removed(const struct path_adder *a)
{
	struct kwq_stat st = { .size = sizeof(st) };

	return !queue_is_fd(a->queue) && !kwq_stat(a->q, &st) && st.state & KWQ_STATE_UNLINKED;
}

/*
 * Goes on with the next queue of that name, as kwq run does, and waits until there is one. Returns
 * 0 or a negative errno value.
 */
static int follow_name(struct path_adder *a)
{
	const struct timespec pause = { .tv_nsec = 100 * NS_PER_MS };
	struct kwq *next;
	int err;

	while ((err = open_queue(&next, a->queue, a->rights)) == -ENOENT) {
		if (*a->stop)
			return -EINTR;
		if (!a->is_removed)
			message("%s: removed; waiting until a queue of that name exists", a->queue);
		a->is_removed = true;
		nanosleep(&pause, NULL);
	}
	if (err)
		return err;
	message("%s: exists again", a->queue);
	a->is_removed = false;
	kwq_close(a->q);
	a->q = next;
	return 0;
}

/* Drops the first keys, which are added. The rest stays, for a message of how much it is. */
static void forget_added(struct path_adder *a, unsigned int first, size_t at)
{
	memmove(a->entries, a->entries + first, (a->nr - first) * sizeof(a->entries[0]));
	memmove(a->values, a->values + first, (a->nr - first) * sizeof(a->values[0]));
	memmove(a->keys, a->keys + at, a->bytes - at);
	a->nr -= first;
	a->bytes -= at;
}

/* Adds all keys. Returns 0, -EAGAIN if the queue was removed meanwhile, or another error. */
static int add_all(struct path_adder *a)
{
	unsigned int first = 0, end;
	size_t at = 0;
	int taken;

	while (first < a->nr) {
		taken = submit(a, first, at);
		if (taken == -ETIMEDOUT || taken == -EINTR) {
			if (*a->stop)
				break;
			if (was_removed(a))
				return -EAGAIN;
			continue;
		}
		if (taken < 0)
			return taken;
		for (end = first + taken; first < end; at += a->entries[first++].key_len) {
			if (a->results[first] == -ESHUTDOWN)
				return -ESHUTDOWN;
			report(a, a->keys + at, a->entries[first].key_len, a->results[first]);
		}
	}
	/* Nobody may ever get what was added to such a queue. */
	if (first && was_removed(a))
		return -EAGAIN;
	forget_added(a, first, at);
	return a->nr ? -EINTR : 0;
}

int path_adder_flush(struct path_adder *a)
{
	int err;

	while ((err = add_all(a)) == -EAGAIN) {
		err = follow_name(a);
		if (err)
			break;
	}
	if (a->verbose || a->json)
		fflush(stdout);
	return err;
}

int path_adder_add(struct path_adder *a, const char *path, uint32_t bits)
{
	size_t len = strlen(path);
	int err;

	if (len > KWQ_KEY_MAX) {
		a->failed++;
		message("%s: %.60s...: the path has %zu bytes, a key at most %d: not added",
			a->queue, path, len, KWQ_KEY_MAX);
		return 0;
	}
	if (a->nr == PATH_ADDER_KEYS || sizeof(a->keys) - a->bytes < len) {
		err = path_adder_flush(a);
		if (err)
			return err;
	}
	a->entries[a->nr] = (struct kwq_add_entry){ .key_len = len };
	a->values[a->nr++] = bits;
	memcpy(a->keys + a->bytes, path, len);
	a->bytes += len;
	return 0;
}
