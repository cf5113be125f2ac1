/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Drops the keys of a queue that was removed, so that its workers do not run them.
 */
#ifndef KWQ_DROP_H
#define KWQ_DROP_H

#include <kwq.h>

/*
 * Removes all keys. Keys in processing stay with their holders until they are done, but nothing
 * else is due for them then. Needs the rights to read and to manage. Returns 0 or a
 * negative errno value.
 */
int drop_keys(struct kwq *q);

#endif /* KWQ_DROP_H */
