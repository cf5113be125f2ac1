// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq stat, and kwq len
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd.h"
#include "escape.h"

static const struct option stat_options[] = {
	OPTION_JSON, OPTION_HELP, OPTION_END
};

static const struct option len_options[] = {
	OPTION_HELP, OPTION_END
};

/* The numbers, in the order in which both formats tell them. */
static const struct number {
	const char *name;
	size_t offset;
} numbers[] = {
#define NUMBER(member) { #member, offsetof(struct kwq_stat, member) }
	NUMBER(ready), NUMBER(waiting), NUMBER(processing),
	NUMBER(items), NUMBER(max_items), NUMBER(bytes), NUMBER(max_bytes),
	NUMBER(adds), NUMBER(coalesced), NUMBER(gets), NUMBER(dones),
	NUMBER(abandoned), NUMBER(removed), NUMBER(dropped),
#undef NUMBER
};

static unsigned long long value(const struct kwq_stat *st, const struct number *n)
{
	__u64 v;

	memcpy(&v, (const char *)st + n->offset, sizeof(v));
	return v;
}

static const char *clock_name(const struct kwq_stat *st)
{
	return st->clockid == CLOCK_BOOTTIME ? "boottime" : "monotonic";
}

static void print_text(const struct kwq_stat *st)
{
	const char *name = (const char *)st->name;
	size_t i;

	printf("%-12s", "name");
	print_escaped(stdout, name, strlen(name));
	printf("\n%-12s%s%s\n", "state",
	       st->state & KWQ_STATE_SHUT_DOWN ? "shut down" : "open",
	       st->state & KWQ_STATE_UNLINKED ? ", unlinked" : "");
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		printf("%-12s%llu\n", numbers[i].name, value(st, &numbers[i]));
	printf("%-12s%u\n", "handles", st->handles);
	printf("%-12s%u\n%-12s%u\n%-12s%04o\n", "uid", st->uid, "gid", st->gid,
	       "mode", st->mode);
	printf("%-12s%s\n", "clock", clock_name(st));
}

static void print_json(const struct kwq_stat *st)
{
	size_t i;

	putchar('{');
	json_bytes(stdout, "name", (const char *)st->name, strlen((const char *)st->name));
	printf(",\"shut_down\":%s,\"unlinked\":%s",
	       st->state & KWQ_STATE_SHUT_DOWN ? "true" : "false",
	       st->state & KWQ_STATE_UNLINKED ? "true" : "false");
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		printf(",\"%s\":%llu", numbers[i].name, value(st, &numbers[i]));
	printf(",\"handles\":%u,\"uid\":%u,\"gid\":%u,\"mode\":\"%04o\",\"clock\":\"%s\"}\n",
	       st->handles, st->uid, st->gid, st->mode, clock_name(st));
}

/* To look at a queue, either access will do. */
static struct kwq *open_to_look(const char *queue)
{
	struct kwq *q;
	int err = open_queue(&q, queue, O_RDONLY);

	if (err == -EACCES)
		err = open_queue(&q, queue, O_WRONLY);
	if (err)
		exit(complain_open(queue, err));
	return q;
}

static int stat_main(int argc, char **argv)
{
	struct kwq_stat st = { .size = sizeof(st) };
	const char *queue;
	bool json = false;
	int opt, err;

	while ((opt = getopt_long(argc, argv, "h", stat_options, NULL)) != -1) {
		if (opt != OPT_JSON)
			option_common(opt);
		json = true;
	}
	queue = only_argument(argc, argv, "QUEUE");
	err = kwq_stat(open_to_look(queue), &st);
	if (err)
		return complain(queue, err);
	if (json)
		print_json(&st);
	else
		print_text(&st);
	return flush_output() ? STATUS_OK : STATUS_FAILED;
}

static int len_main(int argc, char **argv)
{
	const char *queue;
	int opt, len;

	while ((opt = getopt_long(argc, argv, "h", len_options, NULL)) != -1)
		option_common(opt);
	queue = only_argument(argc, argv, "QUEUE");
	len = kwq_len(open_to_look(queue));
	if (len < 0)
		return complain(queue, len);
	printf("%d\n", len);
	return flush_output() ? STATUS_OK : STATUS_FAILED;
}

const struct command command_stat = {
	.name = "stat",
	.arguments = "[--json] QUEUE",
	.summary = "Tell a queue's state and counters",
	.options =
	"      --json       a JSON object\n"
	"  -h, --help\n",
	.main = stat_main,
};

const struct command command_len = {
	.name = "len",
	.arguments = "QUEUE",
	.summary = "Tell how many keys are ready",
	.options = "  -h, --help\n",
	.main = len_main,
};
