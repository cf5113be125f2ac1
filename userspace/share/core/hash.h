/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * uthash, with a failed allocation that is reported: afterwards the element has no table.
 */
#ifndef KWQ_SHARE_HASH_H
#define KWQ_SHARE_HASH_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

/* Whether the last HASH_ADD of @element worked. */
#define HASH_HAS(element) ((bool)(element)->hh.tbl)

#endif /* KWQ_SHARE_HASH_H */
