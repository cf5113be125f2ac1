/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Reads members of the JSON (RFC 8259) that nats-server answers. Nothing is allocated, and no depth
 * of nesting costs stack. A damaged text has no members.
 */
#ifndef KWQ_SHARE_JSON_H
#define KWQ_SHARE_JSON_H

#include "share/wire/record.h"

/*
 * Finds a member of an object by a path, such as "error.err_code". Returns whether it is there.
 * @value is then its text, which points into @json.
 */
bool json_find(struct bytes json, const char *path, struct bytes *value);

/* A number of 0 or more, or @missing if it is something else, or not there. */
uint64_t json_number(struct bytes json, const char *path, uint64_t missing);

/* Whether it is true. */
bool json_is_true(struct bytes json, const char *path);

/*
 * Copies a string, as far as it fits, with a NUL. Escapes that are not ASCII become '?'. Without
 * the member it is empty. Returns @to.
 */
char *json_text(struct bytes json, const char *path, char *to, size_t size);

/* Whether it is a string, and is @text. */
bool json_equals(struct bytes json, const char *path, const char *text);

/* Whether it is an array of one string, which is @text. */
bool json_is_list_of(struct bytes json, const char *path, const char *text);
#endif
