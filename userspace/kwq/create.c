// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq create, and kwq open: create queues, and run commands that inherit a queue.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "cmd.h"
#include "config_options.h"
#include "duration.h"
#include "number.h"

enum {
	OPT_MAX_ITEMS = OPT_FIRST, OPT_MAX_BYTES, OPT_CLOCK, OPT_LEASE, OPT_GROUPS, OPT_GROUP_LIMIT,
	OPT_AGING, OPT_VALUES, OPT_NO_DURATIONS,
};

static const struct option create_options[] = {
	{ "unnamed", no_argument, NULL, 'u' },
	{ "mode", required_argument, NULL, 'm' },
	{ "max-items", required_argument, NULL, OPT_MAX_ITEMS },
	{ "max-bytes", required_argument, NULL, OPT_MAX_BYTES },
	{ "clock", required_argument, NULL, OPT_CLOCK },
	{ "lease", required_argument, NULL, OPT_LEASE },
	{ "groups", no_argument, NULL, OPT_GROUPS },
	{ "group-limit", required_argument, NULL, OPT_GROUP_LIMIT },
	{ "aging", required_argument, NULL, OPT_AGING },
	{ "values", no_argument, NULL, OPT_VALUES },
	{ "no-durations", no_argument, NULL, OPT_NO_DURATIONS },
	{ "or-open", no_argument, NULL, 'p' },
	OPTION_LIMIT, OPTION_MAX_WAIT, OPTION_DEAD_AFTER, OPTION_DEAD_AFTER_LOST,
	OPTION_FORGET_AFTER, OPTION_COALESCE, OPTION_NO_COALESCE,
	OPTION_HELP, OPTION_END
};

static const struct option open_options[] = {
	{ "read", no_argument, NULL, 'r' },
	{ "write", no_argument, NULL, 'w' },
	{ "manage", no_argument, NULL, 'x' },
	{ "nonblock", no_argument, NULL, 'n' },
	OPTION_HELP, OPTION_END
};

static mode_t parse_mode(const char *s)
{
	mode_t mode = 0;
	const char *c;

	for (c = s; *c >= '0' && *c <= '7' && mode <= 0777; c++)
		mode = mode * 8 + (*c - '0');
	if (c == s || *c || mode > 0777)
		usage("--mode %s: must be an octal number from 0 to 777", s);
	return mode;
}

static clockid_t parse_clock(const char *s)
{
	if (!strcmp(s, "monotonic"))
		return CLOCK_MONOTONIC;
	if (!strcmp(s, "boottime"))
		return CLOCK_BOOTTIME;
	if (!strcmp(s, "manual"))
		return KWQ_CLOCK_ID_MANUAL;
	usage("--clock %s: must be monotonic, boottime or manual", s);
}

/* Explains why the kernel refused a queue as invalid: a limit, or the name. */
static int complain_invalid(const char *name, const struct kwq_create_options *options)
{
	struct kwq_info info = { .size = sizeof(info) };

	if (kwq_info(&info))
		return complain(name, -EINVAL);
	if (options->max_items > info.max_items)
		message("--max-items: too high; the module allows up to %llu",
			(unsigned long long)info.max_items);
	else if (options->max_bytes > info.max_bytes)
		message("--max-bytes: too high; the module allows up to %llu",
			(unsigned long long)info.max_bytes);
	else
		return complain_open(name, -EINVAL);
	return STATUS_FAILED;
}

struct create_options {
	struct kwq_create_options queue;
	struct config_options config;
	bool unnamed;
};

static void parse_create_option(struct create_options *o, int opt)
{
	switch (opt) {
	case 'u':
		o->unnamed = true;
		break;
	case 'm':
		o->queue.mode = parse_mode(optarg);
		break;
	case OPT_MAX_ITEMS:
		o->queue.max_items = must_parse_number("--max-items", optarg, 1, UINT64_MAX);
		break;
	case OPT_MAX_BYTES:
		o->queue.max_bytes = must_parse_number("--max-bytes", optarg, 1, UINT64_MAX);
		break;
	case OPT_CLOCK:
		o->queue.clockid = parse_clock(optarg);
		break;
	case OPT_LEASE:
		o->queue.lease = must_parse_short_duration("--lease", optarg);
		break;
	case OPT_GROUPS:
		o->queue.groups = true;
		break;
	case OPT_GROUP_LIMIT:
		o->queue.groups = true;
		o->queue.group_limit = must_parse_number("--group-limit", optarg, 0, UINT32_MAX);
		break;
	case OPT_AGING:
		o->queue.aging = must_parse_short_duration("--aging", optarg);
		break;
	case OPT_VALUES:
		o->queue.values = true;
		break;
	case OPT_NO_DURATIONS:
		o->queue.no_durations = true;
		break;
	case 'p':
		o->queue.or_open = true;
		break;
	default:
		if (!config_option(&o->config, opt))
			option_common(opt);
	}
}

/* Stops at the first argument that is not an option: CMD has options of its own. */
static void parse_create_options(struct create_options *o, int argc, char **argv)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "+um:ph", create_options, NULL)) != -1)
		parse_create_option(o, opt);
}

/*
 * Older modules would report a lease or limiter as EINVAL or E2BIG. Name the missing
 * feature instead.
 */
static bool module_lacks_something(const struct create_options *o)
{
	if (o->queue.config && !module_has(KWQ_FEATURE_LIMITERS))
		message("the kernel's kwq is older than this command and has no limiters");
	else if (o->queue.clockid == KWQ_CLOCK_ID_MANUAL && !module_has(KWQ_FEATURE_MANUAL_CLOCK))
		message("the kernel's kwq is older than this command and has no manual clock");
	else if (o->queue.lease && !module_has(KWQ_FEATURE_LEASES))
		message("the kernel's kwq is older than this command and has no leases");
	else if (o->queue.groups && !module_has(KWQ_FEATURE_GROUPS))
		message("the kernel's kwq is older than this command and has no groups");
	else if (o->queue.aging && !module_has(KWQ_FEATURE_AGING))
		message("the kernel's kwq is older than this command and has no aging");
	else if (o->queue.values && !module_has(KWQ_FEATURE_VALUES))
		message("the kernel's kwq is older than this command and has no values");
	else if (o->queue.no_durations && !module_has(KWQ_FEATURE_NO_DURATIONS))
		message("the kernel's kwq is older than this command and always measures durations");
	else
		return false;
	return true;
}

static int create_main(int argc, char **argv)
{
	struct create_options o = {
		.queue = {
			.size = sizeof(o.queue),
			.open_flags = O_CLOEXEC,
			.mode = 0700,
			.clockid = CLOCK_MONOTONIC,
		},
	};
	const char *name = NULL;
	struct kwq *q;
	int err;

	parse_create_options(&o, argc, argv);
	if (!o.unnamed) {
		if (optind == argc)
			usage("NAME is missing");
		name = must_be_name(argv[optind++]);
		parse_create_options(&o, argc, argv);
		if (o.unnamed)
			usage("--unnamed goes before CMD, and excludes NAME");
		if (optind < argc)
			usage("\"%s\" is one argument too many", argv[optind]);
	} else if (o.queue.or_open) {
		usage("--unnamed and --or-open cannot be combined");
	} else if (optind == argc) {
		usage("--unnamed needs a CMD: without one nobody could use the queue");
	}

	if (o.queue.no_durations && (o.queue.lease || o.queue.aging ||
				     o.config.config.forget_after))
		usage("--no-durations excludes --lease, --aging and --forget-after: they need the durations");

	/* The first version of the module has no limiters, and so no retries to count. */
	if (config_options_given(&o.config) || module_has(KWQ_FEATURE_LIMITERS))
		o.queue.config = config_options_new(&o.config);
	if (module_lacks_something(&o))
		return STATUS_FAILED;
	err = kwq_create(&q, name, &o.queue);
	if (err == -EINVAL)
		return complain_invalid(name ? name : "unnamed queue", &o.queue);
	if (err)
		return complain(name ? name : "unnamed queue", err);
	return o.unnamed ? exec_with_queue(q, argv + optind) : STATUS_OK;
}

struct open_options {
	unsigned int rights;
	bool nonblock;
};

static void parse_open_options(struct open_options *o, int argc, char **argv)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "+rwxnh", open_options, NULL)) != -1) {
		switch (opt) {
		case 'r':
			o->rights |= KWQ_RIGHT_READ;
			break;
		case 'w':
			o->rights |= KWQ_RIGHT_WRITE;
			break;
		case 'x':
			o->rights |= KWQ_RIGHT_MANAGE;
			break;
		case 'n':
			o->nonblock = true;
			break;
		default:
			option_common(opt);
		}
	}
}

static int open_main(int argc, char **argv)
{
	struct open_options o = {};
	const char *queue;
	struct kwq *q;
	int err;

	parse_open_options(&o, argc, argv);
	if (optind == argc)
		usage("QUEUE is missing");
	queue = argv[optind++];
	parse_open_options(&o, argc, argv);
	if (optind == argc)
		usage("CMD is missing");
	err = open_own_queue(&q, queue, o.rights ? o.rights : KWQ_RIGHTS_ALL,
			     o.nonblock ? O_NONBLOCK : 0);
	if (err)
		return complain_open(queue, err);
	return exec_with_queue(q, argv + optind);
}

const struct command command_create = {
	.name = "create",
	.arguments = "[OPTION...] NAME | --unnamed [--] CMD [ARGUMENT...]",
	.summary = "Create a queue",
	.options =
	"  -m, --mode MODE        permission bits, less the umask (700)\n"
	"      --max-items N      largest number of items (the module's maximum)\n"
	"      --max-bytes N      largest number of bytes of memory (the module's maximum)\n"
	"      --clock monotonic|boottime|manual\n"
	"                         boottime counts the time asleep; manual, for tests, moves\n"
	"                         only by kwq advance (monotonic)\n"
	"      --lease DURATION   visibility timeout: a worker that holds a key for longer\n"
	"                         without kwq extend loses it (0: never)\n"
	"      --groups           keys may belong to groups, which take turns: kwq add --group\n"
	"      --group-limit N    at most N keys of one group are worked on at once; 0 for any\n"
	"                         number; implies --groups (0)\n"
	"      --aging DURATION   a key that has been ready for so long counts as one priority\n"
	"                         higher, and so on, so that none starves (0: never)\n"
	"      --values           keys may carry values: see kwq add\n"
	"      --no-durations     be faster, and do not measure for how long keys are ready or\n"
	"                         processed; excludes --lease, --aging, --forget-after\n"
	CONFIG_HELP
	"  -p, --or-open          no error if a queue of that name exists; it stays unchanged\n"
	"  -u, --unnamed          create a queue without a name and run CMD, which inherits it\n"
	"                         as descriptor KWQ_FD; it lives as long as that is open\n"
	"  -h, --help\n",
	.brief =
	"  -m, --mode MODE         permission bits, less the umask (700)\n"
	"      --lease DURATION    a worker loses a key that it holds for longer (never)\n"
	"      --group-limit N     at most N keys of one group are worked on at once\n"
	"      --values            keys may carry values: see kwq add\n"
	"      --limit SPEC        how long a retry waits, such as exp:5ms..1000s or\n"
	"                          bucket:10/s:100; several times: the longest counts\n"
	"      --dead-after N|never\n"
	"                          a key is dead when rate-limited more than N times (25)\n"
	"      --max-items N       largest number of keys (the module's maximum)\n"
	"  -p, --or-open           no error if a queue of that name exists\n"
	"  -u, --unnamed           run CMD, which inherits a queue without a name as the\n"
	"                          descriptor KWQ_FD\n"
	"      --help=all          all options\n",
	.examples =
	"  kwq create --limit exp:1s..1m jobs   failed keys wait 1 s, 2 s, ... 1 min\n"
	"  kwq create -m 770 --lease 5m shared  for a group; lost after 5 min\n",
	.main = create_main,
};

const struct command command_open = {
	.name = "open",
	.arguments = "[OPTION...] QUEUE [--] CMD [ARGUMENT...]",
	.summary = "Run CMD with a handle of the queue as descriptor KWQ_FD",
	.options =
	"  -r, --read       allow get, done, extend, forget, requeues and dead ls\n"
	"  -w, --write      allow add and dead kick\n"
	"  -x, --manage     allow remove, dead drop, configure, shutdown, drain, advance\n"
	"  -n, --nonblock   get does not wait\n"
	"  -h, --help\n"
	"\n"
	"  kwq open jobs -- ./worker            it calls kwq get fd:$KWQ_FD, kwq done ...\n"
	"  kwq open -w jobs -- ./producer       it may only add\n"
	"\n"
	"Without -r, -w and -x CMD has all these rights.\n"
	"When CMD ends, the queue takes back the keys that CMD got and did not finish.\n",
	.main = open_main,
};
