/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Records and names that outlive the call that brought them.
 */
#ifndef KWQ_SHARE_COPY_H
#define KWQ_SHARE_COPY_H

#include "share/wire/record.h"

/*
 * Returns a copy of @record in one block, which the caller frees, or NULL without memory. Key,
 * value, group and note are in the block. The copy has no machine and no list of held keys.
 */
struct record *record_copy(const struct record *record);

/* The same for @work alone: all else in the record is zero. */
struct record *work_copy(const struct work *work);

/* How many bytes its key, value, group and note have. */
size_t work_bytes(const struct work *work);

bool same_bytes(struct bytes a, struct bytes b);
bool same_hash(const struct key_hash *a, const struct key_hash *b);
bool same_token(struct token a, struct token b);

/* Whether two runs of one key would be alike. */
bool same_work(const struct work *a, const struct work *b);

/* Whether @a is lower than @b: the epoch counts first. */
bool token_less(struct token a, struct token b);

#endif /* KWQ_SHARE_COPY_H */
