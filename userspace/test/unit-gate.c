// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * U5: kwq run --delay, --load and --memfree on files that the test writes.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd.h"
#include "duration.h"
#include "gate.h"
#include "sysload.h"
#include "tap.h"

static char path[32] = "/tmp/kwq-unit-gate-XXXXXX";

static void content(const char *text)
{
	FILE *file = fopen(path, "w");

	fputs(text, file);
	fclose(file);
}

static const struct {
	const char *s;
	int err;
	uint64_t bytes;
} sizes[] = {
	{ "0", 0, 0 },
	{ "12", 0, 12 },
	{ "1K", 0, 1024 },
	{ "1k", 0, 1000 },
	{ "3M", 0, 3 << 20 },
	{ "2g", 0, 2000000000 },
	{ "1T", 0, UINT64_C(1) << 40 },
	{ "1P", 0, UINT64_C(1) << 50 },
	{ "1p", 0, UINT64_C(1000000000000000) },
	{ "18446744073709551615", 0, UINT64_MAX },
	{ "16384P", -ERANGE, 7 },
	{ "18446744073709551616", -ERANGE, 7 },
	{ "000000000000000000000001K", -ERANGE, 7 },
	{ "", -EINVAL, 7 },
	{ "K", -EINVAL, 7 },
	{ "1KB", -EINVAL, 7 },
	{ "1.5G", -EINVAL, 7 },
	{ "-1", -EINVAL, 7 },
};

static void test_sizes(void)
{
	uint64_t bytes;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		bytes = 7;
		ok(sysload_parse_size(sizes[i].s, &bytes) == sizes[i].err &&
		   bytes == sizes[i].bytes, "--memfree \"%s\"", sizes[i].s);
	}
}

static void test_readers(void)
{
	uint64_t n = 0;

	content("0.50 1.25 10.00 3/456 7890\n");
	ok(!sysload_read_running(path, &n) && n == 3, "three processes run");
	content("MemTotal:  100 kB\nMemFree:  1 kB\nMemAvailable:   42 kB\nBuffers: 9 kB\n");
	ok(!sysload_read_available(path, &n) && n == 42 * 1024, "42 KiB are available");
	is_number(sysload_read_running(path, &n), -EBADMSG, "this file has no load");
	content("MemTotal:  100 kB\n");
	is_number(sysload_read_available(path, &n), -EBADMSG, "a kernel without MemAvailable");
	content("MemAvailable: 18446744073709551615 kB\n");
	is_number(sysload_read_available(path, &n), -ERANGE, "more bytes than a number holds");
	content("");
	is_number(sysload_read_running(path, &n), -EBADMSG, "an empty file");
	is_number(sysload_read_running("/no/such/file", &n), -ENOENT, "no file");
	is_number(sysload_read_available("/no/such/file", &n), -ENOENT, "no file either");
	ok(!sysload_read_running("/proc/loadavg", &n) && n > 0, "the real load");
	ok(!sysload_read_available("/proc/meminfo", &n) && n > 0, "the real memory");
}

static bool is_open(struct gate *gate, uint64_t now)
{
	bool open;

	return !gate_look(gate, now, &open) && open;
}

static void test_delay(void)
{
	struct gate gate = { .options.delay = 3 * NS_PER_S };

	ok(is_open(&gate, 1000), "the first job starts at once");
	gate_started(&gate, 1000);
	ok(!is_open(&gate, 1000 + 3 * NS_PER_S - 1), "the next one waits");
	is_number(gate_timeout(&gate, 1000), 3000, "for three seconds");
	is_number(gate_timeout(&gate, 1001), 3000, "rounded up");
	ok(is_open(&gate, 1000 + 3 * NS_PER_S), "and starts then");
	is_number(gate_timeout(&gate, 1000 + 3 * NS_PER_S), 0, "with nothing left to wait for");
	gate.options.delay = UINT64_MAX;
	gate_started(&gate, 1000);
	is_number(gate_timeout(&gate, 1000), 60000, "the longest delay does not overflow");

	gate = (struct gate){ 0 };
	gate_started(&gate, 1000);
	ok(is_open(&gate, 1000), "without a delay, nothing waits");
}

static void test_load(void)
{
	struct gate gate = { .options = { .load = 2, .loadavg = path } };
	bool open;

	content("0 0 0 2/9 1\n");
	ok(is_open(&gate, 5), "one process besides the reader is below 2");
	content("0 0 0 3/9 1\n");
	ok(!is_open(&gate, 5), "two are not");
	is_number(gate.opens, 5 + GATE_LOOK_NS, "the next look is later");
	content("0 0 0 1/9 1\n");
	ok(!is_open(&gate, 6), "nothing is read before");
	ok(is_open(&gate, 5 + GATE_LOOK_NS), "the load is read again then");
	gate.options.loadavg = "/no/such/file";
	is_number(gate_look(&gate, 5 + GATE_LOOK_NS, &open), -ENOENT, "a file that is not there");
}

static void test_memory(void)
{
	struct gate gate = { .options = { .memfree = 4096, .meminfo = path } };

	content("MemAvailable: 4 kB\n");
	ok(is_open(&gate, 5), "just enough memory");
	content("MemAvailable: 3 kB\n");
	ok(!is_open(&gate, 5), "too little");
}

int main(void)
{
	close(mkstemp(path));
	test_sizes();
	test_readers();
	test_delay();
	test_load();
	test_memory();
	unlink(path);
	return done_testing();
}
