// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A machine whose wall clock is wrong, and is set. The program has a wall clock of its own.
 */
#include <stdatomic.h>
#include <sys/syscall.h>

#include "share-server.h"

#define HOUR (3600 * INT64_C(1000000000))

/* How far it is ahead, in seconds. */
static atomic_long ahead;

static uint64_t true_time(void)
{
	struct timespec now;

	syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
	return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

/* Replaces that of the C library for the engine. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	int err = syscall(SYS_clock_gettime, clock, now);

	if (!err && clock == CLOCK_REALTIME)
		now->tv_sec += ahead;
	return err;
}

static bool is_right(const struct client *c)
{
	int64_t off = engine_wall(c->engine) - true_time();

	return off < HOUR / 3600 && off > -HOUR / 3600;
}

/* Of 2.9 nobody learns the time. */
static bool tells_time(void)
{
	char command[512];

	snprintf(command, sizeof(command), "'%s' --version | grep -Fq 'v2.9.'", server_program());
	return system(command);
}

static void test_wrong(struct client *c)
{
	ahead = 7200;
	open_client(c, (struct engine_options){ .check_ms = 100 }, "clock", 1);
	ok(!is_right(c), "a machine whose clock is wrong, and that knows no server");
	wait_up(c);
	ok(is_right(c), "N11: goes by the server when it is up");
	ok(WAIT(c, c->seen[EVENT_WARNING] || !is_right(c)) &&
	   strstr(c->text[EVENT_WARNING], "s ahead of that"),
	   "N11: is told: %s", c->text[EVENT_WARNING]);
	ahead = -7200;
	/* One that goes by its own clock has nothing to tell. */
	if (!ok(is_right(c), "N11: and goes by the server, also when its clock is set"))
		return close_client(c);
	ok(WAIT(c, strstr(c->text[EVENT_WARNING], "s behind that")), "N11: it is told again: %s",
	   c->text[EVENT_WARNING]);
	close_client(c);
}

static void test_good(struct client *c)
{
	ahead = 0;
	open_client(c, (struct engine_options){ .check_ms = 1 }, "clock", 1);
	wait_up(c);
	for (int i = 0; i < 10; i++)
		publish(c, subject_of(c, i), "x", 0);
	ok(!c->seen[EVENT_WARNING] && is_right(c), "nobody hears of a good clock");
	close_client(c);
}

int main(void)
{
	struct client c;

	prepare();
	need_server();
	start_one(JETSTREAM, "");
	test_good(&c);
	if (tells_time())
		test_wrong(&c);
	return done_testing();
}
