// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "template.h"

#include <stdlib.h>
#include <string.h>

static const char place[] = "{}";

enum { PLACE_LEN = sizeof(place) - 1 };

bool template_has_place(char **argv)
{
	for (; *argv; argv++)
		if (strstr(*argv, place))
			return true;
	return false;
}

/* The length of the filled-in argument, without the NUL. */
static size_t filled_len(const char *argument, size_t key_len)
{
	size_t len = 0;
	const char *at;

	while ((at = strstr(argument, place))) {
		len += at - argument + key_len;
		argument = at + PLACE_LEN;
	}
	return len + strlen(argument);
}

/* Writes the filled-in argument with its NUL. Returns the address behind the NUL. */
static char *fill(char *to, const char *argument, const char *key, size_t key_len)
{
	const char *at;

	while ((at = strstr(argument, place))) {
		memcpy(to, argument, at - argument);
		to += at - argument;
		memcpy(to, key, key_len);
		to += key_len;
		argument = at + PLACE_LEN;
	}
	return mempcpy(to, argument, strlen(argument) + 1);
}

char **template_fill(char **argv, const char *key)
{
	bool append = !template_has_place(argv);
	size_t nr = 0, bytes = 0, key_len = strlen(key);
	char **filled, *text;

	for (; argv[nr]; nr++)
		bytes += filled_len(argv[nr], key_len) + 1;
	if (append)
		bytes += key_len + 1;

	filled = malloc((nr + append + 1) * sizeof(*filled) + bytes);
	if (!filled)
		return NULL;
	text = (char *)(filled + nr + append + 1);
	for (nr = 0; argv[nr]; nr++) {
		filled[nr] = text;
		text = fill(text, argv[nr], key, key_len);
	}
	if (append) {
		filled[nr++] = text;
		memcpy(text, key, key_len + 1);
	}
	filled[nr] = NULL;
	return filled;
}
