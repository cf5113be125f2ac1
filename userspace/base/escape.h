/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Converts keys and names, which are arbitrary bytes, to text and to JSON. Pure.
 */
#ifndef KWQ_ESCAPE_H
#define KWQ_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* Room for the escaped form of @len bytes, with the NUL. */
#define ESCAPED_SIZE(len) (4 * (len) + 1)

/*
 * The length of the UTF-8 sequence at @s, of which @left bytes exist; 0 if it is not
 * valid.
 */
size_t utf8_length(const char *s, size_t left);

/*
 * Escapes bytes so that the text has no control characters and different bytes give
 * different texts. Backslash, newline, tab and carriage return become \\ \n \t \r.
 * Other control characters, and bytes that are not UTF-8, become \xHH for each byte.
 * @to has ESCAPED_SIZE(@len) bytes. Returns @to.
 */
char *escape_text(char *to, const char *bytes, size_t len);

/*
 * The reverse: @to has @len bytes. Returns the number of bytes, or -1 if @text is not what
 * escape_text() writes.
 */
ssize_t unescape_text(char *to, const char *text, size_t len);

/* As escape_text(), to a stream. */
void print_escaped(FILE *to, const char *bytes, size_t len);

/*
 * Prints a text of which parts are escaped already: control characters, and bytes that are not
 * UTF-8, as print_escaped() does, but backslashes as they are. So no text of others can change the
 * terminal, or begin a line of its own in a log.
 */
void print_visible(FILE *to, const char *text, size_t len);

/*
 * Writes a JSON string with U+FFFD for each byte that is not UTF-8. Returns false if
 * there was one: then the string does not identify the bytes.
 */
bool json_string(FILE *to, const char *bytes, size_t len);

/*
 * Writes "name":"bytes". If the string does not identify the bytes, appends
 * ,"name_hex":"6279..." with all of them.
 */
void json_bytes(FILE *to, const char *name, const char *bytes, size_t len);

#endif /* KWQ_ESCAPE_H */
