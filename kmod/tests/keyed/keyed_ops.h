/* SPDX-License-Identifier: GPL-2.0-only */
/* A queue with two handles, and the operations of batch entries, for tests below the device. */
#ifndef KWQ_TESTS_KEYED_OPS_H
#define KWQ_TESTS_KEYED_OPS_H

#include <kunit/test.h>
#include <linux/string.h>
#include "keyed/hold.h"

/* The beginning of what test->priv points to, if a suite uses the functions below. */
#define KWQ_TEST_HANDLES		\
	struct kwq_keyed *keyed;	\
	struct kwq_handle *x;		\
	struct kwq_handle *y

#define KEY(literal) \
	(&(struct kwq_key){ (const u8 *)(literal), sizeof(literal) - 1 })

static const struct kwq_patience __maybe_unused at_once = { .nonblock = true };
static const struct kwq_patience __maybe_unused for_ever = { .deadline = KTIME_MAX };

static inline struct kwq_key key_of(const char *bytes)
{
	return (struct kwq_key){ .bytes = (const u8 *)bytes, .len = strlen(bytes) };
}

int kwq_test_begin(struct kunit *test, size_t size, const struct kwq_limits *limits, u32 rights);
void kwq_test_open(struct kunit *test, enum kwq_clock clock, const struct kwq_limits *limits,
		   u32 rights);
void kwq_test_open_again(struct kunit *test, const struct kwq_limits *limits, u32 rights);
void kwq_test_expect_sound(struct kunit *test);
void kwq_test_close(struct kunit *test);
void kwq_test_close_handle(struct kwq_handle **handle);
const char *kwq_test_broken_handle(const struct kwq_handle *handle);
int kwq_keyed_add(struct kwq_keyed *keyed, const struct kwq_key *key,
		  const struct kwq_add_options *options);
int kwq_keyed_add_with(struct kwq_keyed *keyed, const struct kwq_key *key,
		       const struct kwq_add_options *options, struct kwq_extras *extras);
bool kwq_test_fill_stock(struct kwq_stock *stock, struct kwq_keyed *keyed,
			 const struct kwq_key *key, u32 nr);
void kwq_test_count_as(struct kwq_keyed *keyed, enum kwq_quota_kind kind);
int kwq_keyed_remove(struct kwq_keyed *keyed, const struct kwq_key *key, u32 flags);
int kwq_keyed_forget(struct kwq_keyed *keyed, const struct kwq_key *key);
int kwq_keyed_num_requeues(struct kwq_keyed *keyed, const struct kwq_key *key);
int kwq_handle_done(struct kwq_handle *handle, u64 ticket, u32 done_flags);
int kwq_handle_done_key(struct kwq_handle *handle, const struct kwq_key *key,
			u32 done_flags);
int kwq_handle_extend(struct kwq_handle *handle, u64 ticket);
int kwq_handle_note(struct kwq_handle *handle, u64 ticket, struct kwq_extras *extras);
int kwq_handle_extend_key(struct kwq_handle *handle, const struct kwq_key *key);

#endif /* KWQ_TESTS_KEYED_OPS_H */
