// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "json.h"

#include <stdlib.h>
#include <string.h>

struct cursor {
	const char *at, *end;
};

static void skip_space(struct cursor *c)
{
	while (c->at < c->end &&
	       (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
		c->at++;
}

static bool take(struct cursor *c, char wanted)
{
	skip_space(c);
	if (c->at == c->end || *c->at != wanted)
		return false;
	c->at++;
	return true;
}

/* Passes over a string. Returns whether it has an end. */
static bool skip_string(struct cursor *c)
{
	if (!take(c, '"'))
		return false;
	for (; c->at < c->end; c->at++) {
		if (*c->at == '"') {
			c->at++;
			return true;
		}
		if (*c->at == '\\' && ++c->at == c->end)
			break;
	}
	return false;
}

/* Passes over an object or an array. The kinds of brackets are not compared. */
static bool skip_nested(struct cursor *c)
{
	size_t depth = 0;

	while (c->at < c->end) {
		switch (*c->at) {
		case '"':
			if (!skip_string(c))
				return false;
			continue;
		case '{':
		case '[':
			depth++;
			break;
		case '}':
		case ']':
			c->at++;
			if (!--depth)
				return true;
			continue;
		}
		c->at++;
	}
	return false;
}

static bool skip_value(struct cursor *c)
{
	const char *start;

	skip_space(c);
	if (c->at == c->end)
		return false;
	if (*c->at == '"')
		return skip_string(c);
	if (*c->at == '{' || *c->at == '[')
		return skip_nested(c);
	for (start = c->at; c->at < c->end && !strchr(",}] \t\r\n", *c->at); c->at++)
		;
	return c->at > start;
}

/* Finds a member of one object. The server's names have no escapes. */
static bool find_here(struct bytes json, const char *name, size_t len, struct bytes *value)
{
	struct cursor c = { json.at, (const char *)json.at + json.len };
	const char *key;
	size_t key_len;

	if (!take(&c, '{'))
		return false;
	do {
		skip_space(&c);
		key = c.at + 1;
		if (!skip_string(&c))
			return false;
		key_len = c.at - 1 - key;
		if (!take(&c, ':'))
			return false;
		skip_space(&c);
		value->at = c.at;
		if (!skip_value(&c))
			return false;
		value->len = c.at - (const char *)value->at;
		if (key_len == len && !memcmp(key, name, len))
			return true;
	} while (take(&c, ','));
	return false;
}

bool json_find(struct bytes json, const char *path, struct bytes *value)
{
	size_t len;

	for (;; path += len + 1) {
		len = strcspn(path, ".");
		if (!find_here(json, path, len, value))
			return false;
		if (!path[len])
			return true;
		json = *value;
	}
}

uint64_t json_number(struct bytes json, const char *path, uint64_t missing)
{
	struct bytes value;
	const char *digits;
	uint64_t number = 0;

	if (!json_find(json, path, &value))
		return missing;
	digits = value.at;
	for (size_t i = 0; i < value.len; i++) {
		if (digits[i] < '0' || digits[i] > '9' ||
		    __builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, digits[i] - '0', &number))
			return missing;
	}
	return number;
}

bool json_is_true(struct bytes json, const char *path)
{
	struct bytes value;

	return json_find(json, path, &value) && value.len == 4 && !memcmp(value.at, "true", 4);
}

static char unescape(const char **at, const char *end)
{
	static const char escapes[] = "nrtbf", meant[] = "\n\r\t\b\f";
	const char *found;
	char hex[5] = { 0 };
	long code;

	if (**at != 'u') {
		found = strchr(escapes, **at);
		return found ? meant[found - escapes] : **at;
	}
	if (end - *at < 5)
		return '?';
	memcpy(hex, *at + 1, 4);
	*at += 4;
	code = strtol(hex, NULL, 16);
	return code > 0 && code < 128 ? code : '?';
}

/* Copies a string, whose text includes its quotes. */
static void copy_string(struct bytes text, char *to, size_t size)
{
	const char *at = text.at, *end = at + text.len - 1;
	size_t len = 0;

	for (at++; at < end && len < size - 1; at++) {
		if (*at == '\\' && ++at < end)
			to[len++] = unescape(&at, end);
		else
			to[len++] = *at;
	}
	to[len] = '\0';
}

static bool is_string(struct bytes text)
{
	return text.len >= 2 && *(const char *)text.at == '"';
}

char *json_text(struct bytes json, const char *path, char *to, size_t size)
{
	struct bytes value;

	to[0] = '\0';
	if (json_find(json, path, &value) && is_string(value))
		copy_string(value, to, size);
	return to;
}

bool json_is_list_of(struct bytes json, const char *path, const char *text)
{
	struct bytes value;
	struct cursor c;
	char got[512];

	if (!json_find(json, path, &value))
		return false;
	c = (struct cursor){ value.at, (const char *)value.at + value.len };
	if (!take(&c, '['))
		return false;
	skip_space(&c);
	value.at = c.at;
	if (!skip_string(&c))
		return false;
	value.len = c.at - (const char *)value.at;
	copy_string(value, got, sizeof(got));
	return take(&c, ']') && !strcmp(got, text);
}

bool json_equals(struct bytes json, const char *path, const char *text)
{
	char got[512];

	return !strcmp(json_text(json, path, got, sizeof(got)), text);
}
