// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq create, and kwq open: queues, and commands that inherit one.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "cmd.h"
#include "config_options.h"
#include "duration.h"
#include "number.h"

enum { OPT_MAX_ITEMS = OPT_FIRST, OPT_MAX_BYTES, OPT_CLOCK, OPT_LEASE };

static const struct option create_options[] = {
	{ "unnamed", no_argument, NULL, 'u' },
	{ "mode", required_argument, NULL, 'm' },
	{ "max-items", required_argument, NULL, OPT_MAX_ITEMS },
	{ "max-bytes", required_argument, NULL, OPT_MAX_BYTES },
	{ "clock", required_argument, NULL, OPT_CLOCK },
	{ "lease", required_argument, NULL, OPT_LEASE },
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
		usage("--mode %s: not an octal number from 0 to 777", s);
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
	usage("--clock %s: not monotonic, boottime or manual", s);
}

/* What is wrong with a queue that the kernel finds invalid: a limit, or the name. */
static int complain_invalid(const char *name, const struct kwq_create_options *options)
{
	struct kwq_info info = { .size = sizeof(info) };

	if (kwq_info(&info))
		return complain(name, -EINVAL);
	if (options->max_items > info.max_items)
		message("--max-items: the module's highest is %llu",
			(unsigned long long)info.max_items);
	else if (options->max_bytes > info.max_bytes)
		message("--max-bytes: the module's highest is %llu",
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
	case 'p':
		o->queue.or_open = true;
		break;
	default:
		if (!config_option(&o->config, opt))
			option_common(opt);
	}
}

/* Up to the first argument that is none: a CMD has options of its own. */
static void parse_create_options(struct create_options *o, int argc, char **argv)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "+um:ph", create_options, NULL)) != -1)
		parse_create_option(o, opt);
}

/* What a module lacks: it would call the queue invalid, or the structure too long. */
static bool module_lacks_something(const struct create_options *o)
{
	if (o->queue.config && !module_has(KWQ_FEATURE_LIMITERS))
		message("the kernel's kwq is older than this command and has no limiters");
	else if (o->queue.clockid == KWQ_CLOCK_ID_MANUAL && !module_has(KWQ_FEATURE_MANUAL_CLOCK))
		message("the kernel's kwq is older than this command and has no manual clock");
	else if (o->queue.lease && !module_has(KWQ_FEATURE_LEASES))
		message("the kernel's kwq is older than this command and has no leases");
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
			usage("--unnamed comes before CMD, and there is no NAME");
		if (optind < argc)
			usage("\"%s\" is one argument too many", argv[optind]);
	} else if (o.queue.or_open) {
		usage("--unnamed and --or-open exclude each other");
	} else if (optind == argc) {
		usage("--unnamed needs a CMD, or the queue would be gone at once");
	}

	if (config_options_given(&o.config))
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
	.arguments = "[OPTION...] NAME | --unnamed [OPTION...] [--] CMD [ARGUMENT...]",
	.summary = "Make a queue",
	.options =
	"  -m, --mode MODE        permission bits, less the umask (700)\n"
	"      --max-items N      most items at once (the module's highest)\n"
	"      --max-bytes N      most bytes of memory (the module's highest)\n"
	"      --clock monotonic|boottime|manual\n"
	"                         whether delays leave out the time asleep (monotonic), or\n"
	"                         only kwq advance makes time pass, for tests\n"
	"      --lease DURATION   whoever holds a key for so long without kwq extend loses it\n"
	"                         (0: never)\n"
	CONFIG_HELP
	"  -p, --or-open          no error if a queue of that name exists\n"
	"  -u, --unnamed          a queue without a name, for CMD as its descriptor\n"
	"                         KWQ_FD; it lives as long as that is open\n"
	"  -h, --help\n",
	.main = create_main,
};

const struct command command_open = {
	.name = "open",
	.arguments = "[OPTION...] QUEUE [--] CMD [ARGUMENT...]",
	.summary = "Run CMD with a handle of its own, as the descriptor KWQ_FD",
	.options =
	"  -r, --read       open for get, done, extend, forget and requeues\n"
	"  -w, --write      open for add\n"
	"  -x, --manage     open for remove, configure, shutdown, drain and advance\n"
	"  -n, --nonblock   get does not wait\n"
	"  -h, --help\n"
	"\n"
	"  kwq open jobs -- sh -c 'key=$(kwq get fd:$KWQ_FD) && work \"$key\" &&\n"
	"          kwq done fd:$KWQ_FD \"$key\"'\n"
	"\n"
	"Without -r, -w and -x CMD may do all of that.\n"
	"What CMD got and did not finish is given back when it ends.\n",
	.main = open_main,
};
