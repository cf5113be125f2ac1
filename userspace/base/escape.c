// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "escape.h"

#include <string.h>

static const char hex[] = "0123456789abcdef";

size_t utf8_length(const char *s, size_t left)
{
	static const unsigned long least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *u = (const unsigned char *)s;
	unsigned long code;
	size_t len, i;

	if (!left)
		return 0;
	if (u[0] < 0x80)
		return 1;
	if (u[0] >= 0xf8 || u[0] < 0xc0)
		return 0;
	len = u[0] >= 0xf0 ? 4 : u[0] >= 0xe0 ? 3 : 2;
	if (len > left)
		return 0;

	code = u[0] & (0x7f >> len);
	for (i = 1; i < len; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (u[i] & 0x3f);
	}
	/* Not UTF-8: an overlong form, a surrogate, or beyond Unicode. */
	if (code < least[len] || (code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff)
		return 0;
	return len;
}

/* The letter after the backslash, or 0 if the character has no short escape. */
static char short_escape(char c)
{
	switch (c) {
	case '\\':
		return '\\';
	case '\n':
		return 'n';
	case '\t':
		return 't';
	case '\r':
		return 'r';
	default:
		return 0;
	}
}

/* C0, DEL and C1 (U+0080 to U+009F). Some terminals obey C1, too. */
static bool is_control(const char *s, size_t len)
{
	unsigned char first = s[0];

	if (len == 1)
		return first < 0x20 || first == 0x7f;
	return len == 2 && first == 0xc2 && (unsigned char)s[1] < 0xa0;
}

/*
 * Escapes the character at @s and sets *len to its length. Returns the end of the text
 * at @to.
 */
static char *escape_one(char *to, const char *s, size_t left, size_t *len)
{
	char c = short_escape(*s);
	size_t i;

	*len = utf8_length(s, left);
	if (c) {
		*to++ = '\\';
		*to++ = c;
		return to;
	}
	if (*len && !is_control(s, *len)) {
		memcpy(to, s, *len);
		return to + *len;
	}
	if (!*len)
		*len = 1;
	for (i = 0; i < *len; i++) {
		unsigned char byte = s[i];

		*to++ = '\\';
		*to++ = 'x';
		*to++ = hex[byte >> 4];
		*to++ = hex[byte & 15];
	}
	return to;
}

char *escape_text(char *to, const char *bytes, size_t len)
{
	char *end = to;
	size_t i, step;

	for (i = 0; i < len; i += step)
		end = escape_one(end, bytes + i, len - i, &step);
	*end = '\0';
	return to;
}

/* The value of a hexadecimal digit as escape_text() writes it, or -1. */
static int digit(char c)
{
	const char *at = c ? strchr(hex, c) : NULL;

	return at ? (int)(at - hex) : -1;
}

/* Reads what follows a backslash. Returns its length; 0 if it is no escape. */
static size_t unescape_one(char *to, const char *text, size_t left)
{
	static const char letters[] = "\\ntr", bytes[] = "\\\n\t\r";
	const char *at = left && *text ? strchr(letters, *text) : NULL;

	if (at) {
		*to = bytes[at - letters];
		return 1;
	}
	if (left < 3 || *text != 'x' || digit(text[1]) < 0 || digit(text[2]) < 0)
		return 0;
	*to = digit(text[1]) << 4 | digit(text[2]);
	return 3;
}

ssize_t unescape_text(char *to, const char *text, size_t len)
{
	char *begin = to;
	size_t i = 0, step;

	while (i < len) {
		if (text[i] != '\\') {
			*to++ = text[i++];
			continue;
		}
		step = unescape_one(to++, text + i + 1, len - i - 1);
		if (!step)
			return -1;
		i += 1 + step;
	}
	return to - begin;
}

void print_escaped(FILE *to, const char *bytes, size_t len)
{
	char one[ESCAPED_SIZE(4)];
	size_t i, step;

	for (i = 0; i < len; i += step) {
		char *end = escape_one(one, bytes + i, len - i, &step);

		fwrite(one, 1, end - one, to);
	}
}

void print_visible(FILE *to, const char *text, size_t len)
{
	const char *end = text + len, *backslash;

	for (; text < end; text = backslash + 1) {
		backslash = memchr(text, '\\', end - text);
		if (!backslash) {
			print_escaped(to, text, end - text);
			return;
		}
		print_escaped(to, text, backslash - text);
		fputc('\\', to);
	}
}

/* Writes the JSON escape of a character. Returns false if the character needs none. */
static bool json_escape(FILE *to, unsigned char c)
{
	if (c == '"' || c == '\\')
		fprintf(to, "\\%c", c);
	else if (c < 0x20 || (c >= 0x7f && c < 0xa0))
		fprintf(to, "\\u%04x", c);
	else
		return false;
	return true;
}

bool json_string(FILE *to, const char *bytes, size_t len)
{
	bool exact = true;
	size_t i, step;

	fputc('"', to);
	for (i = 0; i < len; i += step) {
		step = utf8_length(bytes + i, len - i);
		if (!step) {
			fputs("\\ufffd", to);
			exact = false;
			step = 1;
		} else if (step == 2 && is_control(bytes + i, step)) {
			/* U+0080 to U+009F: the code equals the second byte of the
			 * sequence.
			 */
			json_escape(to, bytes[i + 1]);
		} else if (step > 1 || !json_escape(to, bytes[i])) {
			fwrite(bytes + i, 1, step, to);
		}
	}
	fputc('"', to);
	return exact;
}

void json_bytes(FILE *to, const char *name, const char *bytes, size_t len)
{
	size_t i;

	fprintf(to, "\"%s\":", name);
	if (json_string(to, bytes, len))
		return;
	fprintf(to, ",\"%s_hex\":\"", name);
	for (i = 0; i < len; i++) {
		fputc(hex[(unsigned char)bytes[i] >> 4], to);
		fputc(hex[(unsigned char)bytes[i] & 15], to);
	}
	fputc('"', to);
}
