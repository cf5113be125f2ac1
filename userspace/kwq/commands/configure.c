// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq configure
 */
#include <fcntl.h>

#include "base/cmd.h"
#include "queue/config_options.h"
#include "base/duration.h"
#include "queue/limit_spec.h"

static const struct option configure_options[] = {
	OPTION_COALESCE, OPTION_NO_COALESCE,
	OPTION_RETRY, OPTION_MAX_WAIT, OPTION_DEAD_AFTER, OPTION_DEAD_AFTER_LOST,
	OPTION_FORGET_AFTER,
	OPTION_JSON, OPTION_HELP, OPTION_END
};

/* The text of a duration; @none if it is 0. */
static const char *duration_or(const char *none, uint64_t ns)
{
	static char text[DURATION_SIZE];

	return ns ? print_duration(text, ns) : none;
}

static void print_number(const char *name, __u32 number)
{
	if (number)
		printf("%-17s%u\n", name, number);
	else
		printf("%-17s%s\n", name, "never");
}

static void print_text(const struct kwq_config *config, const struct kwq_limiter *limiters)
{
	char spec[LIMIT_SPEC_SIZE];
	__u32 i;

	for (i = 0; i < config->nr; i++)
		printf("%-17s%s\n", "retry", limit_spec_print(spec, &limiters[i]));
	printf("%-17s%s\n", "max-wait", duration_or("none", config->max_wait));
	print_number("dead-after", config->dead_after);
	print_number("dead-after-lost", config->dead_after_lost);
	printf("%-17s%s\n", "forget-after", duration_or("never", config->forget_after));
	printf("%-17s%s\n", "coalesce", config->flags & KWQ_CONFIG_COALESCE ? "yes" : "no");
}

static void print_json(const struct kwq_config *config, const struct kwq_limiter *limiters)
{
	char spec[LIMIT_SPEC_SIZE];
	__u32 i;

	fputs("{\"retry\":[", stdout);
	for (i = 0; i < config->nr; i++)
		printf("%s\"%s\"", i ? "," : "", limit_spec_print(spec, &limiters[i]));
	printf("],\"max_wait_ns\":%llu,\"dead_after\":%u,\"dead_after_lost\":%u,",
	       (unsigned long long)config->max_wait, config->dead_after,
	       config->dead_after_lost);
	printf("\"forget_after_ns\":%llu,\"coalesce\":%s}\n",
	       (unsigned long long)config->forget_after,
	       config->flags & KWQ_CONFIG_COALESCE ? "true" : "false");
}

static int print_config(const char *queue, bool json)
{
	struct kwq_limiter limiters[KWQ_LIMITERS_MAX];
	struct kwq_config config = {
		.size = sizeof(config),
		.nr = ARRAY_SIZE(limiters),
		.limiters = kwq_ptr(limiters),
		.limiter_size = sizeof(limiters[0]),
	};
	struct kwq *q = must_open_to_look(queue);
	int err;

	must_have_limiters(q, queue);
	err = kwq_config(q, &config);
	if (err)
		return complain(queue, err);
	if (json)
		print_json(&config, limiters);
	else
		print_text(&config, limiters);
	return flush_output() ? STATUS_OK : STATUS_FAILED;
}

static int configure_main(int argc, char **argv)
{
	static struct config_options o;
	const char *queue;
	bool json = false;
	struct kwq *q;
	int opt, err;

	while ((opt = getopt_long(argc, argv, "h", command_table(), NULL)) != -1) {
		if (opt == OPT_JSON)
			json = true;
		else if (!config_option(&o, opt))
			option_common(opt);
	}
	queue = only_argument(argc, argv, "QUEUE");
	if (!config_options_given(&o))
		return print_config(queue, json);
	if (json)
		usage("--json prints the configuration; it cannot be combined with a change");

	q = must_open_queue(queue, KWQ_RIGHT_MANAGE);
	must_have_limiters(q, queue);
	err = config_options_apply(&o, q);
	return err ? complain(queue, err) : STATUS_OK;
}

const struct command command_configure = {
	.name = "configure",
	.arguments = "[OPTION...] QUEUE",
	.summary = "Change how a queue limits retries; without OPTION print it",
	.options =
	CONFIG_HELP
	"      --json             print the configuration as a JSON object\n"
	"  -h, --help\n"
	"\n"
	"Settings without an option stay unchanged. --retry replaces all limiters.\n",
	.brief =
	"      --retry SPEC        how long a retry waits, such as exp:5ms..1000s or\n"
	"                          bucket:10/s:100; several times: the longest counts\n"
	"      --max-wait DURATION longest wait of a retry (0: no limit)\n"
	"      --dead-after N|never\n"
	"                          a key is dead when rate-limited more than N times (25)\n"
	"      --dead-after-lost N|never\n"
	"                          a key is dead when lost by N workers in a row (3)\n"
	"      --json              print the configuration as a JSON object\n"
	"      --help=all          all options\n"
	"\n"
	"Settings without an option stay unchanged. --retry replaces all limiters.\n",
	.examples =
	"  kwq configure jobs                       print the settings\n"
	"  kwq configure --retry exp:1s..10m jobs   wait 1 s, 2 s, ... 10 min\n",
	.table = configure_options,
	.nr_debug = 2,
	.debug_options = COALESCE_HELP,
	.main = configure_main,
};
