// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random strings: names of queues, keys, values and names of groups.
 */
#include "fuzz.h"

#define HOT	28	/* keys on which processes meet */
#define KEYS	4096	/* all keys, which fill queues */
#define SHORT	16

/* Names that several processes share. */
void any_name(struct fuzzer *f, __u8 to[KWQ_NAME_MAX + 1])
{
	static const char *const names[] = { "fuzz-a", "fuzz-b", "fuzz-c", "fuzz-\xff d" };

	if (one_in(f, 24))
		memset(to, 'x', KWQ_NAME_MAX + any(f, 2));
	else if (one_in(f, 24))
		set_name(to, one_in(f, 2) ? "fuzz/a" : "..");
	else
		set_name(to, names[any(f, ARRAY_SIZE(names))]);
}

/*
 * Each number has one key, so that all processes have the same ones. Most are short. A small item
 * has room for up to 40 bytes, and the longest key takes two pages.
 */
static __u32 length_of(__u32 number)
{
	static const __u32 long_ones[] = { 100, 1000, KWQ_KEY_MAX };

	if (number < HOT - ARRAY_SIZE(long_ones))
		return 1 + number % 5;
	if (number < HOT)
		return long_ones[number - (HOT - ARRAY_SIZE(long_ones))];
	switch (number % 16) {
	case 0:
		return 1 + number * 7 % KWQ_KEY_MAX;
	case 1:
		return KWQ_KEY_MAX - number / 16 % 3;
	case 2:
		return (8U << number / 16 % 10) - number / 256 % 3;
	case 3:
		return 30 + number / 16 % 20;
	default:
		return 4 + number % 12;
	}
}

static __u32 next_fresh(struct fuzzer *f)
{
	bool has_to_be_short = wants(f, WANT_SHORT);
	__u32 number;

	do {
		number = HOT + f->fresh++ % (KEYS - HOT);
	} while (has_to_be_short && length_of(number) > SHORT);
	return number;
}

static __u32 any_number(struct fuzzer *f)
{
	if (wants(f, WANT_FRESH))
		return next_fresh(f);
	if (one_in(f, 4))
		return any(f, KEYS);
	return any(f, one_in(f, 8) ? HOT : HOT - 3);
}

/* Returns the length of the key, or 0 if it has no room. */
__u32 any_key(struct fuzzer *f, __u8 *to, __u32 room)
{
	__u32 number = any_number(f), len = length_of(number);
	char digits[8];

	if (len > room)
		return 0;
	memset(to, 'a' + number % 32, len);
	if (number >= HOT) {
		snprintf(digits, sizeof(digits), "%04x", number);
		memcpy(to, digits, len < 4 ? len : 4);
	}
	return len;
}

/* The values of a batch may overlap. Rarely one is too long, or not in the room. */
void any_value(struct fuzzer *f, struct kwq_add_extra *extra)
{
	extra->value_len = any_size(f, one_in(f, 64) ? KWQ_VALUE_MAX + 1 : f->area);
	if (extra->value_len)
		extra->value = address(f, VALUES);
}

/* The same for notes. */
void any_note(struct fuzzer *f, struct kwq_add_extra *extra)
{
	extra->note_len = any_size(f, one_in(f, 64) ? KWQ_NOTE_MAX + 1 : KWQ_NOTE_MAX);
	if (extra->note_len > f->area)
		extra->note_len = f->area;
	if (extra->note_len)
		extra->note = address(f, VALUES);
}

/* Few groups, so that they have several items. */
void any_group(struct fuzzer *f, struct kwq_add_extra *extra)
{
	__u32 number = any(f, 8);

	if (!number)
		return;
	extra->group = address(f, VALUES) + number;
	extra->group_len = one_in(f, 64) ? KWQ_GROUP_MAX + any(f, 2) : number;
}
