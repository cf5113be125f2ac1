// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq create, and kwq open: create queues, and run commands that inherit a queue.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cmd.h"
#include "queue/queue_options.h"

enum { OPT_OUTBOX = OPT_FIRST };

static const struct option create_options[] = {
	{ "outbox", required_argument, NULL, OPT_OUTBOX },
	OPTION_COALESCE, OPTION_NO_COALESCE,
	{ "unnamed", no_argument, NULL, 'u' },
	{ "or-open", no_argument, NULL, 'p' },
	OPTION_MODE, OPTION_MAX_ITEMS, OPTION_MAX_BYTES, OPTION_CLOCK, OPTION_LEASE, OPTION_GROUPS,
	OPTION_GROUP_LIMIT, OPTION_AGING, OPTION_NO_VALUES, OPTION_NO_DURATIONS, OPTION_CHANGES,
	OPTION_SYNC,
	OPTION_RETRY, OPTION_MAX_WAIT, OPTION_DEAD_AFTER, OPTION_DEAD_AFTER_LOST,
	OPTION_FORGET_AFTER,
	OPTION_HELP, OPTION_END
};

static const struct option open_options[] = {
	{ "read", no_argument, NULL, 'r' },
	{ "write", no_argument, NULL, 'w' },
	{ "manage", no_argument, NULL, 'x' },
	{ "nonblock", no_argument, NULL, 'n' },
	OPTION_HELP, OPTION_END
};

struct create_options {
	struct queue_options of;
	const char *outbox;	/* a QUEUE argument; NULL for none */
	bool unnamed;
};

static void parse_create_option(struct create_options *o, int opt)
{
	switch (opt) {
	case 'u':
		o->unnamed = true;
		break;
	case 'p':
		o->of.queue.or_open = true;
		break;
	case OPT_OUTBOX:
		o->outbox = optarg;
		break;
	default:
		if (!queue_option(&o->of, opt))
			option_common(opt);
	}
}

/* Stops at the first argument that is not an option: CMD has options of its own. */
static void parse_create_options(struct create_options *o, int argc, char **argv)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "+um:ph", command_table(), NULL)) != -1)
		parse_create_option(o, opt);
}

/* Explains why the kernel refused the outbox. Returns false if it refused something else. */
static bool complain_outbox(const struct create_options *o, int err)
{
	struct kwq_stat st = { .size = sizeof(st) };

	if (!o->outbox || (err != -EBADF && err != -EINVAL))
		return false;
	/* STAT needs no right. */
	if (kwq_stat(o->of.queue.outbox, &st))
		return false;
	if (err == -EBADF)
		message("--outbox %s: %s", o->outbox, meaning(err));
	else if (st.create_flags & KWQ_CREATE_OUTBOX)
		message("--outbox %s: the queue has an outbox itself", o->outbox);
	else if (st.clockid != o->of.queue.clockid)
		message("--outbox %s: the queue has another clock; --clock has to be the same",
			o->outbox);
	else
		return false;
	return true;
}

/*
 * U9: kwq_create() has refused a queue of a stranger. Neither is one whose mode lets users in
 * that --mode keeps out. Returns the exit status.
 */
static int check_opened(const struct kwq *q, const char *name, const struct queue_options *o)
{
	struct kwq_stat st = { .size = sizeof(st) };
	mode_t wanted = o->queue.mode;
	int err = kwq_stat(q, &st);

	if (err)
		return complain(name, err);
	if (!o->mode_given || (st.mode & 0777) == wanted)
		return STATUS_OK;
	if (st.mode & 0777 & ~wanted) {
		message("%s: exists already with mode %04o, which lets more users in than %04o: remove it first, or name its mode",
			name, st.mode & 0777, wanted);
		return STATUS_FAILED;
	}
	message("%s: exists already with mode %04o, and keeps it", name, st.mode & 0777);
	return STATUS_OK;
}

static int create_main(int argc, char **argv)
{
	struct create_options o = { .unnamed = false };
	const char *name = NULL;
	struct kwq *q;
	bool ended;
	int err;

	queue_options_init(&o.of);
	parse_create_options(&o, argc, argv);
	ended = options_have_ended(argv);
	if (!o.unnamed) {
		if (optind == argc)
			usage("NAME is missing");
		name = must_be_name(argv[optind++]);
		if (!ended)
			parse_create_options(&o, argc, argv);
		if (o.unnamed)
			usage("--unnamed goes before CMD, and excludes NAME");
		if (optind < argc)
			usage("\"%s\" is one argument too many", argv[optind]);
	} else if (o.of.queue.or_open) {
		usage("--unnamed and --or-open cannot be combined");
	} else if (optind == argc) {
		usage("--unnamed needs a CMD: without one nobody could use the queue");
	}

	/* A descriptor stays open: CMD may use it, too. */
	if (o.outbox)
		o.of.queue.outbox = must_open_queue(o.outbox, KWQ_RIGHT_WRITE);
	must_have_queue_options(&o.of);
	err = create_queue(&q, name, &o.of.queue);
	if (err && complain_outbox(&o, err))
		return STATUS_FAILED;
	if (err)
		return complain_create(name ? name : "unnamed queue", &o.of.queue, err);
	if (o.of.queue.or_open)
		return check_opened(q, name, &o.of);
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
	bool ended;
	int err;

	parse_open_options(&o, argc, argv);
	ended = options_have_ended(argv);
	if (optind == argc)
		usage("QUEUE is missing");
	queue = argv[optind++];
	if (!ended)
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
	QUEUE_HELP
	"      --changes          programs may follow the changes, as kwq keep does\n"
	"      --sync             implies --changes; adds and dones wait until kwq keep has them\n"
	"                         on the disk\n"
	"  -p, --or-open          no error if a queue of that name exists; it stays unchanged\n"
	"  -u, --unnamed          create a queue without a name and run CMD, which inherits it\n"
	"                         as descriptor KWQ_FD; it lives as long as that is open\n"
	"  -h, --help\n",
	.brief =
	"  -m, --mode MODE         permission bits, whatever the umask is (700)\n"
	"      --lease DURATION    a worker loses a key that it holds for longer (never)\n"
	"      --group-limit N     at most N keys of one group are worked on at once\n"
	"      --retry SPEC        how long a retry waits, such as exp:5ms..1000s or\n"
	"                          bucket:10/s:100; several times: the longest counts\n"
	"      --dead-after N|never\n"
	"                          a key is dead when rate-limited more than N times (25)\n"
	"      --max-items N       largest number of keys (the module's maximum)\n"
	"  -p, --or-open           no error if a queue of that name exists\n"
	"  -u, --unnamed           run CMD, which inherits a queue without a name as the\n"
	"                          descriptor KWQ_FD\n"
	"      --help=all          all options\n",
	.examples =
	"  kwq create --retry exp:1s..1m jobs   failed keys wait 1 s, 2 s, ... 1 min\n"
	"  kwq create -m 770 --lease 5m shared  for a group; lost after 5 min\n",
	.table = create_options,
	.nr_debug = 3,
	.debug_options =
	"      --clock manual     a clock that only kwq debug advance moves\n"
	"      --outbox QUEUE     adds go to QUEUE instead, from which a manager takes them\n"
	COALESCE_HELP,
	.main = create_main,
};

const struct command command_open = {
	.name = "open",
	.arguments = "[OPTION...] QUEUE [--] CMD [ARGUMENT...]",
	.summary = "Run CMD with a handle of the queue as descriptor KWQ_FD",
	.options =
	"  -r, --read       allow get, done and keys; kick and cancel need it, too\n"
	"  -w, --write      allow add, and kick\n"
	"  -x, --manage     allow cancel, configure, pause, resume and drain\n"
	"  -n, --nonblock   get does not wait\n"
	"  -h, --help\n"
	"\n"
	"  kwq open jobs -- ./worker            it calls kwq get fd:$KWQ_FD, kwq done ...\n"
	"  kwq open -w jobs -- ./producer       it may only add\n"
	"\n"
	"Without -r, -w and -x CMD has all these rights.\n"
	"When CMD ends, the queue takes back the keys that CMD got and did not finish.\n",
	.table = open_options,
	.main = open_main,
};
