/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Keys and names for people and for JSON: bytes of any value made into text. Pure.
 */
#ifndef KWQ_ESCAPE_H
#define KWQ_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Room for the escaped form of @len bytes, with the NUL. */
#define ESCAPED_SIZE(len) (4 * (len) + 1)

/*
 * How many bytes the UTF-8 sequence at @s takes, of @left; 0 where there is none
 * that is valid.
 */
size_t utf8_length(const char *s, size_t left);

/*
 * Makes text without control characters, that can be told from every other's:
 * backslash, newline, tab and carriage return become \\ \n \t \r, other control
 * characters and what is not UTF-8 become \xHH for each byte. @to has
 * ESCAPED_SIZE(@len) bytes. Returns @to.
 */
char *escape_text(char *to, const char *bytes, size_t len);

/* The same to a stream. */
void print_escaped(FILE *to, const char *bytes, size_t len);

/*
 * A JSON string. What is not UTF-8 becomes U+FFFD; returns false if there was
 * any, so that the string does not tell the bytes.
 */
bool json_string(FILE *to, const char *bytes, size_t len);

/*
 * "name":"bytes", and behind it, if that string does not tell the bytes,
 * ,"name_hex":"6279..." with all of them.
 */
void json_bytes(FILE *to, const char *name, const char *bytes, size_t len);

#endif /* KWQ_ESCAPE_H */
