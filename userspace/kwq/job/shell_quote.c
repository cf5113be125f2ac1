// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "shell_quote.h"

#include <stdbool.h>
#include <string.h>

#include "base/escape.h"

/* No shell gives these a meaning. A word that begins with ~, # or = would have one. */
static const char plain[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789%+,-./:@_";

/* Whether escape_text() would change more than a backslash. */
static bool needs_escapes(const char *word)
{
	size_t left = strlen(word), len;

	for (; left; word += len, left -= len) {
		len = utf8_length(word, left);
		if (!len || (unsigned char)*word < 0x20 || *word == 0x7f ||
		    (len == 2 && (unsigned char)word[0] == 0xc2 &&
		     (unsigned char)word[1] < 0xa0))
			return true;
	}
	return false;
}

/* Prints @word with @instead in place of each apostrophe. */
static void print_without_quotes(FILE *to, const char *word, const char *instead, bool escape)
{
	size_t len;

	for (;;) {
		len = strcspn(word, "'");
		if (escape)
			print_escaped(to, word, len);
		else
			fwrite(word, 1, len, to);
		if (!word[len])
			return;
		fputs(instead, to);
		word += len + 1;
	}
}

void shell_quote(FILE *to, const char *word)
{
	bool escape = needs_escapes(word);

	if (*word && !word[strspn(word, plain)]) {
		fputs(word, to);
		return;
	}
	fputs(escape ? "$'" : "'", to);
	print_without_quotes(to, word, escape ? "\\'" : "'\\''", escape);
	fputc('\'', to);
}

void shell_quote_words(FILE *to, char **words)
{
	bool first = true;

	for (; *words; words++) {
		if (!first)
			fputc(' ', to);
		first = false;
		shell_quote(to, *words);
	}
}
