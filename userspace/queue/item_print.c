// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "item_print.h"

#include <string.h>

#include "base/cmd.h"
#include "base/duration.h"
#include "base/escape.h"
#include "shared.h"

/* In the order in which they are printed. */
static const struct state {
	uint32_t bit;
	const char *name;
} states[] = {
	{ KWQ_IS_READY, "ready" },
	{ KWQ_IS_RETURNED, "returned" },
	{ KWQ_IS_PROCESSING, "processing" },
	{ KWQ_IS_DIRTY, "dirty" },
	{ KWQ_IS_DYING, "dying" },
	{ KWQ_IS_WAITING, "waiting" },
	{ KWQ_IS_DEAD, "dead" },
	{ KWQ_IS_REMEMBERED, "remembered" },
};

uint32_t item_state_named(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(states); i++)
		if (strlen(states[i].name) == len && !memcmp(states[i].name, name, len))
			return states[i].bit;
	return 0;
}

uint64_t item_age(const struct kwq_listed *item)
{
	switch (item->order_of) {
	case KWQ_IS_PROCESSING:
		return item->processing_for;
	case KWQ_IS_READY:
		return item->dirty_for;
	case KWQ_IS_WAITING:
		return item->waiting_for;
	case KWQ_IS_DEAD:
		return item->dead_for;
	}
	/* Nobody notes when an item became idle. */
	return KWQ_AGE_UNKNOWN;
}

int item_print_states(FILE *to, const struct kwq_listed *item, const char *separator)
{
	const char *before = "";
	int printed = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		if (!(item->state & states[i].bit))
			continue;
		printed += fprintf(to, "%s%s", before, states[i].name);
		before = separator;
	}
	return printed;
}

/* Prints "-" unless the item has this time. */
static void print_time(bool has, uint64_t ns)
{
	if (has)
		printf(" %7llu.%03llus", (unsigned long long)(ns / NS_PER_S),
		       (unsigned long long)(ns % NS_PER_S / NS_PER_MS));
	else
		printf(" %12s", "-");
}

void print_age(uint64_t age)
{
	print_time(age != KWQ_AGE_UNKNOWN, age);
}

const char *short_age(char to[SHORT_TIME_SIZE], uint64_t age)
{
	return age == KWQ_AGE_UNKNOWN ? "-" : short_time(to, age);
}

const char *json_age(char to[JSON_AGE_SIZE], uint64_t age)
{
	if (age == KWQ_AGE_UNKNOWN)
		return "null";
	snprintf(to, JSON_AGE_SIZE, "%llu", (unsigned long long)age);
	return to;
}

void item_print_row(const struct kwq_listed *item, const char *key)
{
	bool has_lease = item->order_of == KWQ_IS_PROCESSING && item->lease_left;
	char group[ESCAPED_SIZE(KWQ_GROUP_MAX)];
	int width = 18;

	width -= item_print_states(stdout, item, "+");
	printf("%*s", width > 0 ? width : 0, "");
	/* The priority that a wait ends with, if the item has none yet. */
	printf(" %4d", item->order_of == KWQ_IS_WAITING &&
	       item->wait_priority != KWQ_PRIORITY_NONE ? item->wait_priority : item->priority);
	print_age(item_age(item));
	print_time(has_lease || item->state & KWQ_IS_WAITING,
		   has_lease ? item->lease_left : item->due_in);
	printf(" %8u %4u", item->requeues, item->abandoned);
	if (item->value_len)
		printf(" %5u", item->value_len);
	else
		printf(" %5s", "-");
	if (item->pid < 0)
		printf(" %7s", shared_machine_name(item->pid));
	else if (item->pid)
		printf(" %7d", item->pid);
	else
		printf(" %7s", "-");
	if (item->token)
		printf(" %5llu", (unsigned long long)item->token);
	else
		printf(" %5s", "-");
	escape_text(group, key + item->key_len, item->group_len);
	printf(" %-8s ", item->group_len ? group : "-");
	print_escaped(stdout, key, item->key_len);
	putchar('\n');
}

void item_print_note(const char *note, size_t len)
{
	const char *end = note + len, *newline;

	for (; note < end; note = newline + 1) {
		newline = memchr(note, '\n', end - note);
		if (!newline)
			newline = end;
		printf("%8s", "");
		print_escaped(stdout, note, newline - note);
		putchar('\n');
	}
}

static void json_time(const char *name, uint64_t ns)
{
	char text[JSON_AGE_SIZE];

	printf(",\"%s_ns\":%s", name, json_age(text, ns));
}

void item_print_json(const struct kwq_listed *item, const char *key, uint32_t with)
{
	const char *group = key + item->key_len, *value = group + item->group_len;
	const char *note = value + (with & KWQ_LIST_VALUES ? item->value_len : 0);

	fputs("{\"states\":[", stdout);
	if (item->state) {
		putchar('"');
		item_print_states(stdout, item, "\",\"");
		putchar('"');
	}
	printf("],\"priority\":%d,\"requeues\":%u,\"abandoned\":%u", item->priority,
	       item->requeues, item->abandoned);
	if (item->state & (KWQ_IS_READY | KWQ_IS_DIRTY))
		json_time("dirty_for", item->dirty_for);
	if (item->state & KWQ_IS_DIRTY)
		printf(",\"next_priority\":%d", item->next_priority);
	if (item->state & KWQ_IS_PROCESSING) {
		json_time("processing_for", item->processing_for);
		if (item->pid < 0)
			printf(",\"machine\":\"%s\"", shared_machine_name(item->pid));
		else
			printf(",\"pid\":%d", item->pid);
		if (item->lease_left)
			json_time("lease_left", item->lease_left);
	}
	if (item->state & KWQ_IS_WAITING) {
		json_time("waiting_for", item->waiting_for);
		json_time("due_in", item->due_in);
		if (item->wait_priority != KWQ_PRIORITY_NONE)
			printf(",\"wait_priority\":%d", item->wait_priority);
	}
	if (item->state & KWQ_IS_DEAD)
		json_time("dead_for", item->dead_for);
	if (item->value_len)
		printf(",\"value_len\":%u", item->value_len);
	if (item->token)
		printf(",\"token\":%llu", (unsigned long long)item->token);
	putchar(',');
	json_bytes(stdout, "key", key, item->key_len);
	if (item->group_len) {
		putchar(',');
		json_bytes(stdout, "group", group, item->group_len);
	}
	if (with & KWQ_LIST_VALUES && item->value_len) {
		putchar(',');
		json_bytes(stdout, "value", value, item->value_len);
	}
	if (with & KWQ_LIST_NOTES && item->note_len) {
		putchar(',');
		json_bytes(stdout, "note", note, item->note_len);
	}
	puts("}");
}

void item_print_header(void)
{
	printf("%-18s %4s %12s %12s %8s %4s %5s %7s %5s %-8s %s\n", "STATE", "PRIO", "AGE",
	       "LEFT", "REQUEUES", "LOST", "VALUE", "PID", "TOKEN", "GROUP", "KEY");
}
