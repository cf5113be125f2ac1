// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq stat --limits: the quota of the user, the limits of queues, and what is left of them.
 */
#include "stat_views.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/escape.h"
#include "queue/owner.h"

enum { NUMBER_SIZE = 24 };

/* One limit. The rest may be less than the difference: others share it. */
struct limit {
	bool known;		/* how much is used, and left */
	uint64_t used, max, left;
};

/* For queues that no quota limits. */
#define NO_LIMIT UINT64_MAX

static struct limit limit_of(uint64_t used, uint64_t max, uint64_t left)
{
	return (struct limit){ .known = true, .used = used, .max = max, .left = left };
}

static struct limit limit_of_queue(uint64_t used, uint64_t max)
{
	return limit_of(used, max, used < max ? max - used : 0);
}

static bool is_exempt(const struct kwq_info *info)
{
	return info->user_queues_left == UINT32_MAX;
}

static struct limit queues_of_user(const struct kwq_info *info)
{
	return limit_of(info->user_queues, info->max_queues,
			is_exempt(info) ? NO_LIMIT : info->user_queues_left);
}

static struct limit bytes_of_user(const struct kwq_info *info)
{
	return limit_of(info->user_bytes, info->max_user_bytes,
			is_exempt(info) ? NO_LIMIT : info->user_bytes_left);
}

/* ---- Text ----------------------------------------------------------------- */

static const char *number(char to[NUMBER_SIZE], bool known, uint64_t n)
{
	snprintf(to, NUMBER_SIZE, "%" PRIu64, n);
	return known ? to : "-";
}

static void print_row(const char *what, struct limit limit, const char *kind, const char *of)
{
	char used[NUMBER_SIZE], max[NUMBER_SIZE], left[NUMBER_SIZE];

	printf("%-6s %12s %12s %12s  %s", what, number(used, limit.known, limit.used),
	       number(max, true, limit.max), limit.known && limit.left == NO_LIMIT ?
	       "unlimited" : number(left, limit.known, limit.left), kind);
	if (of) {
		putchar(' ');
		print_escaped(stdout, of, strlen(of));
	}
	putchar('\n');
}

static void print_text(const struct kwq_info *info, bool no_headings)
{
	const char *user = owner_user(geteuid(), false);

	if (!no_headings)
		printf("%-6s %12s %12s %12s  %s\n", "LIMIT", "USED", "MAX", "LEFT", "OF");
	print_row("queues", queues_of_user(info), "user", user);
	print_row("bytes", bytes_of_user(info), "user", user);
	print_row("bytes", (struct limit){ .max = info->max_total_bytes }, "all users", NULL);
	print_row("items", (struct limit){ .max = info->max_items }, "any queue", NULL);
	print_row("bytes", (struct limit){ .max = info->max_bytes }, "any queue", NULL);
	print_row("bytes", (struct limit){ .max = info->key_max }, "any key", NULL);
}

/* Remembered items have a limit of their own. */
static struct limit items_of_queue(const struct kwq_stat *st)
{
	return limit_of_queue(st->items - st->remembered, st->max_items);
}

static void print_queue(const char *name, const struct kwq_stat *st)
{
	print_row("items", items_of_queue(st), "queue", name);
	print_row("bytes", limit_of_queue(st->bytes, st->max_bytes), "queue", name);
}

/* ---- JSON ----------------------------------------------------------------- */

static void json_limit(const char *name, struct limit limit)
{
	printf("\"%s\":{", name);
	if (limit.known)
		printf("\"used\":%" PRIu64 ",", limit.used);
	printf("\"max\":%" PRIu64, limit.max);
	if (limit.known && limit.left == NO_LIMIT)
		fputs(",\"left\":null", stdout);
	else if (limit.known)
		printf(",\"left\":%" PRIu64, limit.left);
	putchar('}');
}

static void json_begin(const struct kwq_info *info)
{
	const char *user = owner_user(geteuid(), false);

	fputs("{\"user\":{", stdout);
	json_bytes(stdout, "name", user, strlen(user));
	printf(",\"uid\":%u,\"exempt\":%s,", geteuid(), is_exempt(info) ? "true" : "false");
	json_limit("queues", queues_of_user(info));
	putchar(',');
	json_limit("bytes", bytes_of_user(info));
	fputs("},\"all_users\":{", stdout);
	json_limit("bytes", (struct limit){ .max = info->max_total_bytes });
	fputs("},\"any_queue\":{", stdout);
	json_limit("items", (struct limit){ .max = info->max_items });
	putchar(',');
	json_limit("bytes", (struct limit){ .max = info->max_bytes });
	printf("},\"key_bytes_max\":%u,\"name_bytes_max\":%u,\"batch_max\":%u,"
	       "\"priority_min\":%d,\"priority_max\":%d,\"queues\":[", info->key_max,
	       info->name_max, info->batch_max, info->priority_min, info->priority_max);
}

static void json_queue(const char *name, const struct kwq_stat *st, bool first)
{
	fputs(first ? "{" : ",{", stdout);
	json_bytes(stdout, "queue", name, strlen(name));
	putchar(',');
	json_limit("items", items_of_queue(st));
	putchar(',');
	json_limit("bytes", limit_of_queue(st->bytes, st->max_bytes));
	putchar('}');
}

/* ---- The command ---------------------------------------------------------- */

/* Returns the exit status. */
static int look_at(const char *queue, struct kwq_stat *st)
{
	struct kwq *q;
	int err;

	err = open_to_look(&q, queue);
	if (err)
		return complain_open(queue, err);
	*st = (struct kwq_stat){ .size = sizeof(*st) };
	err = kwq_stat(q, st);
	kwq_close(q);
	return err ? complain(queue, err) : STATUS_OK;
}

static int print_queues(char **queues, bool json)
{
	int status = STATUS_OK, one;
	struct kwq_stat st;
	bool first = true;

	for (; *queues; queues++) {
		one = look_at(*queues, &st);
		if (one) {
			status = one;
			continue;
		}
		if (json)
			json_queue(*queues, &st, first);
		else
			print_queue(*queues, &st);
		first = false;
	}
	return status;
}

int stat_limits(char **queues, bool json, bool no_headings)
{
	struct kwq_info info = { .size = sizeof(info) };
	int err = kwq_info(&info), status;

	if (err)
		return complain("/dev/kwq", err);
	if (json)
		json_begin(&info);
	else
		print_text(&info, no_headings);
	status = print_queues(queues, json);
	if (json)
		puts("]}");
	return flush_output() ? status : STATUS_FAILED;
}
