// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq run --dry-run: prints the commands for the keys that are ready, in the order of their
 * hand-out. Takes nothing from the queue.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"
#include "base/escape.h"
#include "kwq/keys/item_sort.h"
#include "kwq/job/job.h"
#include "kwq/job/shell_quote.h"
#include "kwq/job/template.h"
#include "worker.h"

struct dry_run {
	const struct run_options *options;
	const char **keys;	/* of the next command: the first @nr of KWQ_BATCH_MAX */
	size_t nr;
	unsigned long long seq;
};

/* Prints the command for the first @nr of the keys. */
static int print_command(struct dry_run *dry, size_t nr)
{
	struct template_values values = {
		.keys = dry->keys,
		.nr = nr,
		.slot = dry->seq % dry->options->jobs + 1,
	};
	char **filled;
	size_t i;

	values.seq = ++dry->seq;
	if (dry->options->input == INPUT_KEY) {
		shell_quote_words(stdout, dry->options->command);
		fputs("\t# standard input:", stdout);
		for (i = 0; i < nr; i++)
			printf(" %s", dry->keys[i]);
	} else {
		filled = template_fill(dry->options->command, &values);
		if (!filled)
			return -ENOMEM;
		shell_quote_words(stdout, filled);
		free(filled);
	}
	putchar('\n');
	return 0;
}

/* How many of the keys fit into one command. */
static size_t fit(const struct dry_run *dry)
{
	struct template_values values = { .keys = dry->keys, .nr = dry->nr, .seq = dry->seq };

	if (dry->options->input == INPUT_KEY || dry->nr == 1)
		return dry->nr;
	return template_fit(dry->options->command, &values, JOB_COMMAND_MAX);
}

/* Prints the commands for the keys that are collected. */
static int print_commands_for_keys(struct dry_run *dry)
{
	size_t nr, i;
	int err = 0;

	while (dry->nr && !err) {
		nr = fit(dry);
		err = nr ? print_command(dry, nr) : -ENOMEM;
		for (i = 0; i < nr; i++)
			free((void *)dry->keys[i]);
		dry->nr -= nr;
		memmove(dry->keys, dry->keys + nr, dry->nr * sizeof(*dry->keys));
	}
	return err;
}

/* The key as an argument or, for standard input, as a text. NULL if memory is missing. */
static char *print_key(const struct dry_run *dry, const char *key, size_t len)
{
	char *text;

	if (dry->options->input != INPUT_KEY)
		return strndup(key, len);
	text = malloc(ESCAPED_SIZE(len));
	return text ? escape_text(text, key, len) : NULL;
}

/* As kwq run: a key that has failed or ended its worker runs alone. */
static bool runs_alone(const struct dry_run *dry, const struct kwq_listed *item)
{
	return item->abandoned || (dry->options->use_limiters && item->requeues);
}

static bool is_unfit(const struct dry_run *dry, const char *key, size_t len)
{
	char text[ESCAPED_SIZE(KWQ_KEY_MAX)];
	const char *why = key_unfitness(dry->options, key, len);

	if (why && !dry->options->quiet)
		message("%s: %s: %s", dry->options->queue, escape_text(text, key, len), why);
	return why;
}

static int take(struct dry_run *dry, const struct kwq_listed *item, const char *key)
{
	bool alone = runs_alone(dry, item);
	int err = 0;

	if (is_unfit(dry, key, item->key_len))
		return 0;
	if (alone)
		err = print_commands_for_keys(dry);
	if (err)
		return err;
	dry->keys[dry->nr] = print_key(dry, key, item->key_len);
	if (!dry->keys[dry->nr])
		return -ENOMEM;
	dry->nr++;
	if (alone || dry->nr == dry->options->keys_max)
		err = print_commands_for_keys(dry);
	return err;
}

static int print_all(struct dry_run *dry, const struct item_sorted *ready)
{
	const struct kwq_listed *item;
	size_t i;
	int err;

	dry->keys = calloc(KWQ_BATCH_MAX, sizeof(*dry->keys));
	if (!dry->keys)
		return -ENOMEM;
	for (i = 0, err = 0; i < ready->nr && !err; i++) {
		item = &ready->rows[i].item;
		err = take(dry, item, item_sorted_key(ready, i));
	}
	return err ? err : print_commands_for_keys(dry);
}

int print_commands(const struct run_options *options)
{
	struct dry_run dry = { .options = options };
	struct item_sorted ready = { 0 };
	struct kwq *q;
	int err;

	q = must_open_queue(options->queue, KWQ_RIGHT_READ);
	must_list_items(q, options->queue);
	err = item_sorted_list(&ready, q, KWQ_IS_READY);
	if (!err)
		err = print_all(&dry, &ready);
	if (err)
		return complain(options->queue, err);
	if (!ready.nr && !options->quiet)
		message("%s: no key is ready", options->queue);
	return flush_output() ? STATUS_OK : STATUS_FAILED;
}
