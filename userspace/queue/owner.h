/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Names of users and groups.
 */
#ifndef KWQ_OWNER_H
#define KWQ_OWNER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The name of a user or a group, or the number as text if it has none or with @numeric. The
 * last name of each kind is kept, since many queues have the same owner. Valid until the next
 * call for the same kind.
 */
const char *owner_user(uint32_t uid, bool numeric);
const char *owner_group(uint32_t gid, bool numeric);

#endif /* KWQ_OWNER_H */
