// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The time of the servers. Due times are wall-clock times in the stream, and machines may have
 * wrong clocks, or clocks that somebody sets. So all machines go by the server that leads the
 * stream, which tells its time in each answer about the stream.
 */
#include "engine_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A machine whose clock differs by more is told. */
#define TOLERANCE SECOND

static uint64_t wall_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * SECOND + now.tv_nsec;
}

/* The fraction of a second behind the point, in ns. */
static uint64_t fraction(const char *digits)
{
	uint64_t value = 0, unit = SECOND / 10;

	for (; *digits >= '0' && *digits <= '9'; digits++, unit /= 10)
		value += (*digits - '0') * unit;
	return value;
}

uint64_t clock_parse(const char *text)
{
	struct tm tm = { 0 };
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	time_t seconds = rest ? timegm(&tm) : -1;

	if (seconds < 0)
		return 0;
	return seconds * SECOND + (*rest == '.' ? fraction(rest + 1) : 0);
}

/* How far the wall clock of this machine is ahead of the servers. */
static int64_t ahead(const struct engine *engine)
{
	return wall_now() - engine_wall(engine);
}

static void warn(struct engine *engine)
{
	struct engine_event event = { .kind = EVENT_WARNING };
	int64_t by = ahead(engine);
	char text[160];

	if (by <= (int64_t)TOLERANCE && by >= -(int64_t)TOLERANCE)
		return;
	snprintf(text, sizeof(text),
		 "the clock of this machine is %llu s %s that of the servers: delays go by theirs; set it right, for example by NTP",
		 (llabs(by) + SECOND / 2) / SECOND, by > 0 ? "ahead of" : "behind");
	event.text = text;
	engine_tell(engine, &event, NULL, NULL);
}

/*
 * The server has written its time between the request and the answer. As long as what is known fits
 * into that, it stays, because a new guess would be no better.
 */
void clock_learn(struct engine *engine, uint64_t server, uint64_t sent_at)
{
	uint64_t now = engine_now(), latest = server - sent_at, earliest = server - now;

	if (!server)
		return;
	if (!engine->wall_at_boot)
		engine->wall_at_boot = wall_now() - now;
	if (engine->wall_at_boot < earliest)
		engine->wall_at_boot = earliest;
	else if (engine->wall_at_boot > latest)
		engine->wall_at_boot = latest;
	warn(engine);
}

uint64_t engine_wall(const struct engine *engine)
{
	return engine->wall_at_boot ? engine->wall_at_boot + engine_now() : wall_now();
}
