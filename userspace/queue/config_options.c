// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "config_options.h"

#include <string.h>

#include "base/duration.h"
#include "limit_spec.h"
#include "base/number.h"

static void add_limiter(struct config_options *o, const char *spec)
{
	const char *why;

	if (!strcmp(spec, "default")) {
		o->default_limiters = true;
	} else {
		if (o->config.nr == KWQ_LIMITERS_MAX)
			usage("--retry %s: too many limiters (at most %d)", spec,
			      KWQ_LIMITERS_MAX);
		why = limit_spec_parse(spec, &o->limiters[o->config.nr]);
		if (why)
			usage("--retry %s: %s", spec, why);
		o->config.nr++;
	}
	if (o->default_limiters && (o->retry || o->config.nr))
		usage("--retry default cannot be combined with another --retry");
	o->retry = true;
}

/* Returns 0 for never, as the kernel has it. */
static uint32_t parse_bound(const char *option, const char *s)
{
	return strcmp(s, "never") ? must_parse_number(option, s, 0, UINT32_MAX) : 0;
}

bool config_option(struct config_options *o, int opt)
{
	switch (opt) {
	case OPT_RETRY:
		add_limiter(o, optarg);
		return true;
	case OPT_MAX_WAIT:
		o->config.max_wait = must_parse_short_duration("--max-wait", optarg);
		o->max_wait = true;
		return true;
	case OPT_DEAD_AFTER:
		o->config.dead_after = parse_bound("--dead-after", optarg);
		o->dead_after = true;
		return true;
	case OPT_DEAD_AFTER_LOST:
		o->config.dead_after_lost = parse_bound("--dead-after-lost", optarg);
		o->dead_after_lost = true;
		return true;
	case OPT_FORGET_AFTER:
		o->config.forget_after = must_parse_short_duration("--forget-after", optarg);
		o->forget_after = true;
		return true;
	case OPT_COALESCE:
		o->config.flags |= KWQ_CONFIG_COALESCE;
		o->coalesce = true;
		return true;
	case OPT_NO_COALESCE:
		o->config.flags &= ~KWQ_CONFIG_COALESCE;
		o->coalesce = true;
		return true;
	default:
		return false;
	}
}

bool config_options_given(const struct config_options *o)
{
	return o->retry || o->max_wait || o->dead_after || o->dead_after_lost ||
	       o->forget_after || o->coalesce;
}

/* No limiters in the configuration means the default ones. */
static void set_limiters(struct kwq_config *config, const struct kwq_limiter *limiters,
			 __u32 nr)
{
	config->nr = nr;
	config->limiters = nr ? kwq_ptr(limiters) : 0;
	config->limiter_size = nr ? sizeof(*limiters) : 0;
}

const struct kwq_config *config_options_new(struct config_options *o)
{
	o->config.size = sizeof(o->config);
	if (!o->dead_after)
		o->config.dead_after = DEAD_AFTER_DEFAULT;
	if (!o->dead_after_lost)
		o->config.dead_after_lost = DEAD_AFTER_LOST_DEFAULT;
	set_limiters(&o->config, o->limiters, o->config.nr);
	return &o->config;
}

int config_options_apply(const struct config_options *o, struct kwq *q)
{
	struct kwq_limiter limiters[KWQ_LIMITERS_MAX];
	struct kwq_config config = { .size = sizeof(config) };
	int err;

	set_limiters(&config, limiters, ARRAY_SIZE(limiters));
	err = kwq_config(q, &config);
	if (err)
		return err;

	if (o->retry)
		set_limiters(&config, o->limiters, o->config.nr);
	if (o->max_wait)
		config.max_wait = o->config.max_wait;
	if (o->dead_after)
		config.dead_after = o->config.dead_after;
	if (o->dead_after_lost)
		config.dead_after_lost = o->config.dead_after_lost;
	if (o->forget_after)
		config.forget_after = o->config.forget_after;
	if (o->coalesce)
		config.flags = (config.flags & ~KWQ_CONFIG_COALESCE) | o->config.flags;
	return kwq_configure(q, &config);
}
