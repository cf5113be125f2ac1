// SPDX-License-Identifier: GPL-2.0-only
/*
 * A queue of keys as one would build it in redis: a list of ready keys, a set of keys
 * that need processing and a set of keys being processed. Scripts (*.lua) change them
 * together; the server runs one script at a time. It has no delays and no counters, and
 * nothing gives items of dead workers back.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client.h"

#define SHA1_LEN	40

enum script { ADD, GET, DONE, NR_SCRIPTS };

static const char *const files[NR_SCRIPTS] = {
	[ADD] = "add.lua",
	[GET] = "get.lua",
	[DONE] = "done.lua",
};

static char names[NR_SCRIPTS][SHA1_LEN + 1];
static char held[BATCH][KEY_LEN + 1];

static void load(enum script script)
{
	FILE *file = fopen(files[script], "re");
	static char text[4096];
	size_t len;

	if (!file)
		fail(files[script], strerror(errno));
	len = fread(text, 1, sizeof(text), file);
	fclose(file);
	if (!len || len == sizeof(text))
		fail(files[script], "empty, or too long");
	request("*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$%zu\r\n%.*s\r\n", len, (int)len, text);
	expect("$40");
	memcpy(names[script], read_bytes(SHA1_LEN), SHA1_LEN);
}

static void begin(void)
{
	for (int i = 0; i < NR_SCRIPTS; i++)
		load(i);
}

static void call(enum script script, const char *key)
{
	request("*4\r\n$7\r\nEVALSHA\r\n$%d\r\n%s\r\n$1\r\n0\r\n$%d\r\n%s\r\n", SHA1_LEN,
		names[script], KEY_LEN, key);
}

static void add(const char *key)
{
	call(ADD, key);
}

static void added(void)
{
	expect(":0");
}

static void get(void)
{
	request("*3\r\n$7\r\nEVALSHA\r\n$%d\r\n%s\r\n$1\r\n0\r\n", SHA1_LEN, names[GET]);
}

static void got(int i)
{
	expect("$8");
	memcpy(held[i], read_bytes(KEY_LEN), KEY_LEN);
}

static void done(int i)
{
	call(DONE, held[i]);
}

static void finished(void)
{
	expect(":0");
}

const struct server redis = {
	.name = "redis",
	.begin = begin,
	.add = add,
	.added = added,
	.get = get,
	.got = got,
	.done = done,
	.finished = finished,
};
