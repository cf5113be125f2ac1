/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The retry options shared by kwq create and kwq configure.
 */
#ifndef KWQ_CONFIG_OPTIONS_H
#define KWQ_CONFIG_OPTIONS_H

#include <stdbool.h>

#include "base/cmd.h"

/* Out of the range of the subcommands' own options. */
enum {
	OPT_RETRY = 1000, OPT_MAX_WAIT, OPT_DEAD_AFTER, OPT_FORGET_AFTER, OPT_COALESCE,
	OPT_NO_COALESCE, OPT_DEAD_AFTER_LOST,
};

#define OPTION_RETRY	{ "retry", required_argument, NULL, OPT_RETRY }
#define OPTION_MAX_WAIT	{ "max-wait", required_argument, NULL, OPT_MAX_WAIT }
#define OPTION_DEAD_AFTER { "dead-after", required_argument, NULL, OPT_DEAD_AFTER }
#define OPTION_DEAD_AFTER_LOST { "dead-after-lost", required_argument, NULL, OPT_DEAD_AFTER_LOST }
#define OPTION_FORGET_AFTER { "forget-after", required_argument, NULL, OPT_FORGET_AFTER }
#define OPTION_COALESCE	{ "coalesce", no_argument, NULL, OPT_COALESCE }
#define OPTION_NO_COALESCE { "no-coalesce", no_argument, NULL, OPT_NO_COALESCE }

#define CONFIG_HELP \
	"      --retry SPEC       how long a retry waits; given several times, up to 8, the\n" \
	"                         longest counts: exp:5ms..1000s, fast-slow:5ms*3,10s,\n" \
	"                         bucket:10/s:100, backoff:100ms*2..10s,steps=N,jitter=0.1,\n" \
	"                         or default: exp:5ms..1000s with bucket:10/s:100\n" \
	"      --max-wait DURATION  longest wait of a retry (0: no limit)\n" \
	"      --dead-after N|never\n" \
	"                         a key is dead when rate-limited more than N times (25)\n" \
	"      --dead-after-lost N|never\n" \
	"                         a key is dead when lost by N workers in a row (3)\n" \
	"      --forget-after DURATION\n" \
	"                         reset the requeues of a key idle for so long (0: never)\n"

/* The options that only kwq debug takes. */
#define COALESCE_HELP \
	"      --coalesce         ignore a rate-limited add of a key that waits already\n" \
	"      --no-coalesce      count it, and take a token for it\n"

struct config_options {
	/* Zero, as in a new queue, except for the given options. */
	struct kwq_config config;
	struct kwq_limiter limiters[KWQ_LIMITERS_MAX];
	bool retry, max_wait, dead_after, dead_after_lost, forget_after, coalesce;	/* given */
	bool default_limiters;
};

/* Takes one of these options. Returns false for any other. */
bool config_option(struct config_options *o, int opt);

/* Whether any of these options was given. */
bool config_options_given(const struct config_options *o);

/*
 * Changes the given settings of a queue and keeps the others. Returns as
 * kwq_configure().
 */
int config_options_apply(const struct config_options *o, struct kwq *q);

/* How many retries a key of a new queue has if --dead-after is not given. */
#define DEAD_AFTER_DEFAULT 25
#define DEAD_AFTER_LOST_DEFAULT 3

/*
 * The configuration of a new queue: the given settings, defaults otherwise. Valid as
 * long as *o.
 */
const struct kwq_config *config_options_new(struct config_options *o);

#endif /* KWQ_CONFIG_OPTIONS_H */
