/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The options that say how a queue limits retries, which create and configure have
 * in common.
 */
#ifndef KWQ_CONFIG_OPTIONS_H
#define KWQ_CONFIG_OPTIONS_H

#include <stdbool.h>

#include "cmd.h"

/* Far from the numbers of a subcommand's own options. */
enum {
	OPT_LIMIT = 1000, OPT_MAX_WAIT, OPT_DEAD_AFTER, OPT_FORGET_AFTER, OPT_COALESCE,
	OPT_NO_COALESCE, OPT_DEAD_AFTER_LOST,
};

#define OPTION_LIMIT	{ "limit", required_argument, NULL, OPT_LIMIT }
#define OPTION_MAX_WAIT	{ "max-wait", required_argument, NULL, OPT_MAX_WAIT }
#define OPTION_DEAD_AFTER { "dead-after", required_argument, NULL, OPT_DEAD_AFTER }
#define OPTION_DEAD_AFTER_LOST { "dead-after-lost", required_argument, NULL, OPT_DEAD_AFTER_LOST }
#define OPTION_FORGET_AFTER { "forget-after", required_argument, NULL, OPT_FORGET_AFTER }
#define OPTION_COALESCE	{ "coalesce", no_argument, NULL, OPT_COALESCE }
#define OPTION_NO_COALESCE { "no-coalesce", no_argument, NULL, OPT_NO_COALESCE }

#define CONFIG_HELP \
	"      --limit SPEC       how long a retry waits; given several times, up to 8, the\n" \
	"                         longest counts: exp:5ms..1000s, fast-slow:5ms*3,10s,\n" \
	"                         bucket:10/s:100, backoff:100ms*2..10s,steps=N,jitter=0.1,\n" \
	"                         or default: exp:5ms..1000s with bucket:10/s:100\n" \
	"      --max-wait DURATION  but no longer than this (0: no such limit)\n" \
	"      --dead-after N     dead when rate-limited more than N times (0: never)\n" \
	"      --dead-after-lost N\n" \
	"                         dead when N workers in a row were lost with it (0: never)\n" \
	"      --forget-after DURATION\n" \
	"                         a count of requeues untouched for so long is 0 (0: never)\n" \
	"      --coalesce         a rate-limited add of what waits already is free\n" \
	"      --no-coalesce      it is not\n"

struct config_options {
	/* What was given; else zero, as in a new queue's. */
	struct kwq_config config;
	struct kwq_limiter limiters[KWQ_LIMITERS_MAX];
	bool limit, max_wait, dead_after, dead_after_lost, forget_after, coalesce;	/* given */
	bool default_limiters;
};

/* Takes one of these options; false if it is none of them. */
bool config_option(struct config_options *o, int opt);

/* Whether there was one. */
bool config_options_given(const struct config_options *o);

/* Changes of a queue what was given, and keeps the rest. Returns as kwq_configure(). */
int config_options_apply(const struct config_options *o, struct kwq *q);

/* What was given, and else as new. Valid as long as *o. */
const struct kwq_config *config_options_new(struct config_options *o);

#endif /* KWQ_CONFIG_OPTIONS_H */
