// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <stdlib.h>

#include "base/cmd.h"
#include "base/escape.h"
#include "tap.h"

static const struct {
	const char *bytes;
	size_t len;
	const char *text;
	const char *json;
} cases[] = {
#define CASE(bytes, text, json) { bytes, sizeof(bytes) - 1, text, json }
	CASE("", "", "\"key\":\"\""),
	CASE("plain key/1", "plain key/1", "\"key\":\"plain key/1\""),
	CASE("a\\b", "a\\\\b", "\"key\":\"a\\\\b\""),
	CASE("\"q\"", "\"q\"", "\"key\":\"\\\"q\\\"\""),
	CASE("\t\n\r", "\\t\\n\\r", "\"key\":\"\\u0009\\u000a\\u000d\""),
	CASE("a\0b", "a\\x00b", "\"key\":\"a\\u0000b\""),
	CASE("\033[31m\x7f", "\\x1b[31m\\x7f", "\"key\":\"\\u001b[31m\\u007f\""),
	CASE("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
	     "\"key\":\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\""),
	/* C1: U+009B is the CSI of some terminals. */
	CASE("\302\2332J", "\\xc2\\x9b2J", "\"key\":\"\\u009b2J\""),
	CASE("\xc2\xa0", "\xc2\xa0", "\"key\":\"\xc2\xa0\""),
	/* Not UTF-8: a lone byte, truncated, overlong, a surrogate, beyond Unicode. */
	CASE("\xff", "\\xff", "\"key\":\"\\ufffd\",\"key_hex\":\"ff\""),
	CASE("a\x80z", "a\\x80z", "\"key\":\"a\\ufffdz\",\"key_hex\":\"61807a\""),
	CASE("\xe2\x82", "\\xe2\\x82", "\"key\":\"\\ufffd\\ufffd\",\"key_hex\":\"e282\""),
	CASE("\xc0\xaf", "\\xc0\\xaf", "\"key\":\"\\ufffd\\ufffd\",\"key_hex\":\"c0af\""),
	CASE("\xe0\x80\xaf", "\\xe0\\x80\\xaf",
	     "\"key\":\"\\ufffd\\ufffd\\ufffd\",\"key_hex\":\"e080af\""),
	CASE("\xed\xa0\x80", "\\xed\\xa0\\x80",
	     "\"key\":\"\\ufffd\\ufffd\\ufffd\",\"key_hex\":\"eda080\""),
	CASE("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80",
	     "\"key\":\"\\ufffd\\ufffd\\ufffd\\ufffd\",\"key_hex\":\"f4908080\""),
	CASE("\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80",
	     "\"key\":\"\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\",\"key_hex\":\"f888808080\""),
#undef CASE
};

static char *json_of(const char *bytes, size_t len)
{
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	json_bytes(to, "key", bytes, len);
	fclose(to);
	return text;
}

static char *printed(const char *bytes, size_t len)
{
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	print_escaped(to, bytes, len);
	fclose(to);
	return text;
}

/* Converts an escaped text back to its bytes. */
static size_t unescape(char *to, const char *text)
{
	static const char letters[] = "\\ntr", meant[] = "\\\n\t\r";
	char *end = to;

	while (*text) {
		if (*text != '\\') {
			*end++ = *text++;
		} else if (text[1] == 'x') {
			char hex[] = { text[2], text[3], 0 };

			*end++ = strtol(hex, NULL, 16);
			text += 4;
		} else {
			*end++ = meant[strchr(letters, text[1]) - letters];
			text += 2;
		}
	}
	return end - to;
}

/* Every sequence of three of these bytes survives escaping and unescaping. */
static bool always_reversible(void)
{
	static const unsigned char some[] = {
		0, 1, 9, 10, 13, 0x1f, ' ', '"', '0', 'n', 'x', '\\', 0x7e, 0x7f, 0x80, 0x9b,
		0xa0, 0xbf, 0xc0, 0xc2, 0xdf, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5, 0xff,
	};
	const size_t n = sizeof(some);
	char bytes[3], text[ESCAPED_SIZE(3)], back[sizeof(text)];
	size_t i, j;

	for (i = 0; i < n * n * n; i++) {
		bytes[0] = some[i % n];
		bytes[1] = some[i / n % n];
		bytes[2] = some[i / n / n];
		escape_text(text, bytes, 3);
		if (unescape(back, text) != 3 || memcmp(back, bytes, 3))
			return false;
		for (j = 0; text[j]; j++)
			if ((unsigned char)text[j] < 0x20 || text[j] == 0x7f)
				return false;
	}
	return true;
}

static void test_visible(const char *text, const char *wanted)
{
	char *shown = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&shown, &len);

	print_visible(to, text, strlen(text));
	fclose(to);
	is_string(shown, wanted, "a text of which parts are escaped already");
	free(shown);
}

int main(void)
{
	test_visible("a\\x00\\b\\", "a\\x00\\b\\");
	test_visible("\x1b[2J\nkwq: \xff\\n", "\\x1b[2J\\nkwq: \\xff\\n");
	test_visible("\xc3\xa4\xc2\x9b", "\xc3\xa4\\xc2\\x9b");
	test_visible("", "");
	char text[200], *json, *print;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		escape_text(text, cases[i].bytes, cases[i].len);
		is_string(text, cases[i].text, "as text");
		print = printed(cases[i].bytes, cases[i].len);
		is_string(print, cases[i].text, "printed");
		json = json_of(cases[i].bytes, cases[i].len);
		is_string(json, cases[i].json, "as JSON");
		free(print);
		free(json);
	}
	ok(always_reversible(), "no two keys look alike, and none has control characters");
	is_number(utf8_length("", 0), 0, "no UTF-8 where no byte is left");
	is_number(utf8_length("\xc3\xa4", 1), 0, "nor half a character");
	return done_testing();
}
