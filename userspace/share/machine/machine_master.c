// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The errands of the master, its begin and its end.
 */
#include "machine_internal.h"

#include <errno.h>

#include "base/duration.h"

/* Clocks of machines may differ so much in speed within one lease (N5: moved within 2 s). */
#define MARGIN_MAX NS_PER_S

/* A key that was recalled from a machine is not recalled again before. */
#define RECALL_PAUSE (NS_PER_S / 10)

/* The backoff of a queue's default limiter. */
#define REST (5 * NS_PER_MS)
#define LONGEST_REST (1000 * NS_PER_S)

static void master_send(void *arg, const char *name, const struct message *message)
{
	struct machine *m = arg;
	char subject[SUBJECT_MAX];

	if (!machine_subject(subject, m->options.names, name))
		errand_say(m, subject, message);
}

static void master_publish(void *arg, uint64_t op, const struct record *record, uint64_t expected)
{
	errand_publish(arg, OWNER_MASTER, op, record, expected);
}

static void master_erase(void *arg, uint64_t op, uint64_t seq)
{
	struct machine *m = arg;

	errand_note(m, OWNER_MASTER, op, false, engine_erase(m->engine, seq));
}

static void master_read_last(void *arg, uint64_t op, enum record_kind kind,
			     const struct key_hash *hash)
{
	errand_read(arg, OWNER_MASTER, op, &(struct record){ .kind = kind, .hash = *hash });
}

static void master_read_beat(void *arg, uint64_t op, const char *machine)
{
	const struct record beat = { .kind = RECORD_BEAT, .machine = machine };

	errand_read(arg, OWNER_MASTER, op, &beat);
}

static void master_deposed(void *arg)
{
	struct machine *m = arg;

	m->shall |= SHALL_DEPOSE;
}

static void master_renew(void *arg)
{
	struct machine *m = arg;

	m->shall |= SHALL_ELECT;
}

static const struct master_ops master_functions = {
	.send = master_send,
	.publish = master_publish,
	.erase = master_erase,
	.read = master_read_last,
	.read_beat = master_read_beat,
	.deposed = master_deposed,
	.renew = master_renew,
};

void end_master(struct machine *m)
{
	if (!m->master)
		return;
	engine_unfollow(m->engine, m->master_tail);
	engine_unlisten(m->engine, m->asks);
	master_free(m->master);
	m->master = NULL;
	m->epoch = 0;
}

static uint64_t burial_margin(const struct machine *m)
{
	uint64_t margin = m->options.ttl / MARGINS_PER_TTL;

	return margin < MARGIN_MAX ? margin : MARGIN_MAX;
}

static void tell_heard(void *arg, const char *machine, uint64_t seq, uint64_t boot)
{
	struct machine *m = arg;

	master_heard(m->master, machine, seq, boot);
}

void begin_master(struct machine *m)
{
	const struct master_options options = {
		.epoch = m->elected,
		.elected = m->elected_by,
		.margin = burial_margin(m),
		.repeat = repeat_of(m->options.ttl),
		.recall = RECALL_PAUSE,
		.rest = REST,
		.longest_rest = LONGEST_REST,
		.clean = m->options.ttl * TTLS_UNTIL_CLEAN,
		.group_limit = m->group_limit,
		.numbers = LOCAL_NUMBER_MAX,
		.window = window_for(m->options.ttl),
	};
	char subject[SUBJECT_MAX];

	end_master(m);
	m->epoch = m->elected;
	m->master = master_new(&options, &master_functions, m);
	if (!m->master) {
		machine_fail(m, -ENOMEM);
		return;
	}
	member_each_heard(m->member, tell_heard, m);
	master_subject(subject, m->options.names, m->epoch);
	m->asks = engine_listen(m->engine, subject);
	m->master_tail = engine_follow(m->engine, m->options.names->subjects, 1);
	if (m->asks < 0 || m->master_tail < 0)
		machine_fail(m, -ENOMEM);
}
