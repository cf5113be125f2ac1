/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A set of exit statuses, 1 to 255. Pure.
 */
#ifndef KWQ_STATUS_SET_H
#define KWQ_STATUS_SET_H

#include <stdbool.h>
#include <stdint.h>

struct status_set {
	bool has[256];
};

/* Adds a list such as "1,2,100-110" to @set. Returns 0, or -EINVAL with @set unchanged. */
int status_set_parse(struct status_set *set, const char *list);

#endif /* KWQ_STATUS_SET_H */
