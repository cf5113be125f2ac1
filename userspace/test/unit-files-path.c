// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * K12: what the module kwq_files calls an event, and how it puts a key together.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>

#include <linux/kwq_files.h>

#include "tap.h"

typedef uint32_t u32;

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* In the kernel they have the values of inotify. */
#define FS_CREATE	IN_CREATE
#define FS_CLOSE_WRITE	IN_CLOSE_WRITE
#define FS_MOVED_FROM	IN_MOVED_FROM
#define FS_MOVED_TO	IN_MOVED_TO
#define FS_DELETE	IN_DELETE
#define FS_ATTRIB	IN_ATTRIB

#include "../../kmod/files/path.h"

static void test_events(void)
{
	u32 all = 0, bit;

	for (bit = 1; bit && bit <= KWQ_FILES_EVENTS; bit <<= 1) {
		u32 mask = kwq_files_mask(bit);

		ok(mask && !(mask & (mask - 1)) && kwq_files_bits(mask) == bit,
		   "event %u is one of the kernel's, and back", bit);
		all |= mask;
	}
	is_number(kwq_files_mask(KWQ_FILES_EVENTS), all, "all of them");
	is_number(kwq_files_bits(all), KWQ_FILES_EVENTS, "and back");
	is_number(kwq_files_bits(~all), 0, "others are none");
	is_number(kwq_files_mask(~KWQ_FILES_EVENTS), 0, "also the other way");
}

/* Puts a key together in a buffer of its own, so that a sanitizer sees what is beside. */
static void is_key(const char *path, struct kwq_files_key key, const char *wanted,
		   const char *what)
{
	char *room = malloc(KWQ_FILES_ROOM);
	size_t path_len = strlen(path);
	const char *got;
	u32 len = 0;

	key.room = room;
	key.path = room + KWQ_FILES_PATH_SIZE - 1 - path_len;
	memcpy(key.path, path, path_len + 1);
	key.name_len = key.name ? strlen(key.name) : 0;
	key.prefix = key.prefix ? key.prefix : "";
	key.prefix_len = strlen(key.prefix);
	got = kwq_files_put_together(&key, &len);
	if (!wanted)
		ok(!got, "%s", what);
	else
		ok(got && got >= room && got + len <= room + KWQ_FILES_ROOM &&
		   len == strlen(wanted) && !memcmp(got, wanted, len), "%s", what);
	free(room);
}

#define KEY(...) ((struct kwq_files_key){ __VA_ARGS__ })

static void test_keys(void)
{
	is_key("/a/b/c", KEY(.depth = 1), "c", "a file in the folder itself");
	is_key("/a/b/c", KEY(.depth = 2), "b/c", "and deeper");
	is_key("/a/b/c", KEY(.depth = 3), "a/b/c", "in the root of the filesystem");
	is_key("/a/b", KEY(.name = "c"), "c", "a name in the folder itself");
	is_key("/", KEY(.name = "c"), "c", "which is the root");
	is_key("/a/b", KEY(.depth = 1, .name = "c"), "b/c", "a name deeper");
	is_key("/a/b", KEY(.depth = 2, .name = "c", .is_folder = true), "a/b/c/", "of a folder");
	is_key("/a", KEY(.name = "c", .is_folder = true), "c/", "a folder in the folder itself");
	is_key("/a/b", KEY(.depth = 1, .prefix = "/home/"), "/home/b", "with a prefix");
	is_key("/a", KEY(.name = "c", .prefix = "x:"), "x:c", "also before a name");
}

static char *text_of(char c, size_t len)
{
	char *text = malloc(len + 1);

	memset(text, c, len);
	text[len] = '\0';
	return text;
}

static void test_lengths(void)
{
	char *path = text_of('p', KWQ_KEY_MAX), *name = text_of('n', NAME_MAX);
	char *prefix = text_of('x', KWQ_KEY_MAX), *wanted = text_of('x', KWQ_KEY_MAX);

	path[0] = '/';
	is_key(path, KEY(.depth = 1), path + 1, "the longest path");
	is_key(path, KEY(.depth = 1, .prefix = "x"), memcpy(wanted + 1, path + 1, KWQ_KEY_MAX - 1) ?
	       wanted : NULL, "with a prefix it is the longest key");
	is_key(path, KEY(.depth = 1, .prefix = "xy"), NULL, "and no longer one");
	is_key(path, KEY(.depth = 1, .name = "n"), NULL, "nor with a name");
	is_key(path, KEY(.name = name), name, "a long name in a folder with a long path");
	is_key(path, KEY(.name = name, .is_folder = true, .prefix = prefix), NULL,
	       "all of them are longest");
	prefix[KWQ_KEY_MAX - NAME_MAX] = '\0';
	memset(wanted, 'x', KWQ_KEY_MAX);
	memcpy(wanted + KWQ_KEY_MAX - NAME_MAX, name, NAME_MAX);
	is_key("/", KEY(.name = name, .prefix = prefix), wanted, "a long prefix, and a long name");
	is_key("/", KEY(.name = name, .prefix = prefix, .is_folder = true), NULL,
	       "without room for a slash");
	free(wanted);
	free(prefix);
	free(name);
	free(path);
}

int main(void)
{
	test_events();
	test_keys();
	test_lengths();
	return done_testing();
}
