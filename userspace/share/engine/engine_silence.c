// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A server that stores nothing is left for another one. It may be cut off from the other servers:
 * then it answers clients and reads, but no write reaches a majority. Or the connection is dead,
 * and libnats does not notice, because its timer goes by the wall clock, which somebody has set
 * back.
 */
#include "engine_internal.h"

#include <stdio.h>

static uint64_t limit_of(const struct engine *engine)
{
	return engine->options.silent_ms * MS;
}

static void count_from(struct engine *engine, uint64_t since)
{
	engine->silent_since = since;
	if (engine->options.silent_ms)
		engine_arm(engine, since + limit_of(engine));
}

void silence_opens(struct engine *engine)
{
	if (engine->silent_since == NEVER)
		count_from(engine, engine_now());
}

/*
 * The time since the last write that was stored counts, so that a lease outlives the change of the
 * server. But each write has half of the time for its answer.
 */
void silence_writes(struct engine *engine)
{
	uint64_t earliest = engine_now() - limit_of(engine) / 2;

	engine->nr_writes++;
	if (engine->silent_since == NEVER)
		count_from(engine, engine->stored_at > earliest ? engine->stored_at : earliest);
}

void silence_ends(struct engine *engine)
{
	engine->stored_at = engine_now();
	engine->silent_since = NEVER;
	if (engine->nr_writes)
		count_from(engine, engine->stored_at);
}

void silence_check_time(struct engine *engine, uint64_t now)
{
	char text[256];

	if (!engine->options.silent_ms || engine->silent_since == NEVER)
		return;
	if (now - engine->silent_since < limit_of(engine)) {
		engine_arm(engine, engine->silent_since + limit_of(engine));
		return;
	}
	/* The same text each time, so that it is told once. */
	snprintf(text, sizeof(text),
		 "it has stored nothing for %u.%u s: is it cut off from the other servers, or is its disk full? After a full disk, make room and restart nats-server",
		 engine->options.silent_ms / 1000, engine->options.silent_ms % 1000 / 100);
	engine_reconnect(engine, text);
}
