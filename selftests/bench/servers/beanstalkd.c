// SPDX-License-Identifier: GPL-2.0-only
/*
 * The protocol of beanstalkd. It does not deduplicate jobs with the same body.
 */
#include <stdio.h>
#include <stdlib.h>

#include "client.h"

static unsigned long long ids[BATCH];

static void add(const char *key)
{
	request("put 0 0 60 %d\r\n%s\r\n", KEY_LEN, key);
}

static void added(void)
{
	expect("INSERTED ");
}

static void get(void)
{
	request("reserve\r\n");
}

static void got(int i)
{
	ids[i] = strtoull(expect("RESERVED "), NULL, 10);
	read_bytes(KEY_LEN);
}

static void done(int i)
{
	request("delete %llu\r\n", ids[i]);
}

static void finished(void)
{
	expect("DELETED");
}

const struct server beanstalkd = {
	.name = "beanstalkd",
	.add = add,
	.added = added,
	.get = get,
	.got = got,
	.done = done,
	.finished = finished,
};
