// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "share_options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/duration.h"
#include "base/number.h"
#include "base/options_list.h"

enum {
	OPT_NATS = OPT_FIRST,
	OPT_REPLICAS,
	OPT_TTL,
	OPT_HOST,
	OPT_PREFETCH,
	OPT_STOP,
	OPT_ONLY_WORK,
	OPT_CREDS,
	OPT_NKEY,
	OPT_USER_FILE,
	OPT_TOKEN_FILE,
	OPT_CA,
	OPT_CERT,
	OPT_KEY,
	OPT_STREAM_BYTES,
	OPT_METRICS,
};

static const struct option options[] = {
	{ "nats", required_argument, NULL, OPT_NATS },
	{ "replicas", required_argument, NULL, OPT_REPLICAS },
	{ "ttl", required_argument, NULL, OPT_TTL },
	{ "host", required_argument, NULL, OPT_HOST },
	{ "prefetch", required_argument, NULL, OPT_PREFETCH },
	{ "stop-timeout", required_argument, NULL, OPT_STOP },
	{ "no-master", no_argument, NULL, OPT_ONLY_WORK },
	{ "creds", required_argument, NULL, OPT_CREDS },
	{ "nkey", required_argument, NULL, OPT_NKEY },
	{ "user-file", required_argument, NULL, OPT_USER_FILE },
	{ "token-file", required_argument, NULL, OPT_TOKEN_FILE },
	{ "ca", required_argument, NULL, OPT_CA },
	{ "cert", required_argument, NULL, OPT_CERT },
	{ "key", required_argument, NULL, OPT_KEY },
	{ "stream-bytes", required_argument, NULL, OPT_STREAM_BYTES },
	{ "metrics", required_argument, NULL, OPT_METRICS },
	OPTION_MODE, OPTION_MAX_ITEMS, OPTION_MAX_BYTES, OPTION_LEASE, OPTION_GROUP_LIMIT,
	OPTION_AGING, OPTION_SYNC,
	OPTION_RETRY, OPTION_MAX_WAIT, OPTION_DEAD_AFTER, OPTION_DEAD_AFTER_LOST,
	OPTION_FORGET_AFTER,
	OPTION_VERBOSE, OPTION_HELP, OPTION_END
};

/* The time that a machine may be silent: above the pause of an engine whose leader has died. */
#define TTL_DEFAULT (12 * NS_PER_S)
#define TTL_MIN (2 * NS_PER_S)
#define TTL_MAX (3600 * NS_PER_S)
/*
 * Without a limit of its own a stream grows until the server refuses all records, and then the ends
 * of keys and heartbeats, too. With one, adds leave room for these.
 */
#define STREAM_BYTES (UINT64_C(1) << 30)
/* A long lease is no reason to stay with a server that stores nothing. */
#define SILENT_MAX (10 * NS_PER_S)

/* Several URLs in one argument are separated by commas, or spaces. */
static void add_urls(struct share_options *o, char *urls)
{
	char shown[ENGINE_URL_MAX];
	char *url, *rest;

	for (url = strtok_r(urls, ", ", &rest); url; url = strtok_r(NULL, ", ", &rest)) {
		if (o->nr_urls == URLS_MAX)
			usage("--nats: at most %d servers", URLS_MAX);
		if (!engine_url_is_valid(url))
			usage("--nats %s: must be nats://HOST[:PORT], or tls://HOST[:PORT] for TLS",
			      engine_shown_url(url, shown));
		o->urls[o->nr_urls++] = url;
	}
}

/* How to get in. Returns false for an option of another kind. */
static bool login_option(struct engine_options *e, int opt)
{
	switch (opt) {
	case OPT_CREDS:
		e->credentials = optarg;
		break;
	case OPT_NKEY:
		e->nkey = optarg;
		break;
	case OPT_USER_FILE:
		e->user_file = optarg;
		break;
	case OPT_TOKEN_FILE:
		e->token_file = optarg;
		break;
	case OPT_CA:
		e->ca = optarg;
		break;
	case OPT_CERT:
		e->certificate = optarg;
		break;
	case OPT_KEY:
		e->key = optarg;
		break;
	default:
		return false;
	}
	return true;
}

/* Of a stream that has to be created. Returns false for an option of another kind. */
static bool stream_option(struct engine_options *e, int opt)
{
	switch (opt) {
	case OPT_REPLICAS:
		e->replicas = must_parse_number("--replicas", optarg, 1, 5);
		break;
	case OPT_STREAM_BYTES:
		e->max_bytes = must_parse_number("--stream-bytes", optarg, 0, INT64_MAX);
		e->may_shrink = false;
		break;
	default:
		return false;
	}
	return true;
}

static uint64_t must_parse_ttl(const char *text)
{
	uint64_t ttl = must_parse_duration("--ttl", text);

	if (ttl < TTL_MIN || ttl > TTL_MAX)
		usage("--ttl %s: must be from 2s to 1h", text);
	return ttl;
}

static const char host_letters[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

static void set_host(struct share_options *o, const char *host)
{
	size_t len = strlen(host);

	if (!len || len > MACHINE_MAX - 18 || strspn(host, host_letters) != len)
		usage("--host %s: must be 1 to %d letters, digits, - and _", host,
		      MACHINE_MAX - 18);
	snprintf(o->host, sizeof(o->host), "%s", host);
}

/* The host name, with other bytes replaced. */
static void set_default_host(struct share_options *o)
{
	char *at;

	if (gethostname(o->host, MACHINE_MAX - 18) || !o->host[0])
		snprintf(o->host, sizeof(o->host), "machine");
	o->host[MACHINE_MAX - 18] = '\0';
	for (at = o->host; *at; at++)
		if (!strchr(host_letters, *at))
			*at = '-';
}

/* Returns false for an option that is none of the machine's. */
static bool machine_option(struct share_options *o, int opt)
{
	switch (opt) {
	case OPT_TTL:
		o->machine.ttl = must_parse_ttl(optarg);
		break;
	case OPT_HOST:
		set_host(o, optarg);
		break;
	case OPT_PREFETCH:
		o->machine.slots = must_parse_number("--prefetch", optarg, 1, 1000);
		break;
	case OPT_STOP:
		o->stop_timeout = must_parse_duration("--stop-timeout", optarg);
		break;
	case OPT_ONLY_WORK:
		o->machine.is_candidate = false;
		break;
	case OPT_METRICS:
		if (!strcmp(optarg, "-") || !*optarg)
			usage("--metrics is written anew again and again: name a FILE");
		o->metrics = optarg;
		break;
	case 'v':
		o->verbose = true;
		break;
	default:
		return stream_option(&o->engine, opt) || queue_option(&o->create, opt);
	}
	return true;
}

static void set_defaults(struct share_options *o)
{
	*o = (struct share_options){
		.engine = {
			.replicas = 1,
			.max_bytes = STREAM_BYTES,
			.may_shrink = true,
		},
		.machine = { .ttl = TTL_DEFAULT, .slots = 4, .is_candidate = true },
		.stop_timeout = 60 * NS_PER_S,
	};
	queue_options_init(&o->create);
	o->create.queue.clockid = CLOCK_BOOTTIME;
	o->create.queue.values = true;
	o->create.queue.groups = true;
	o->create.queue.changes = true;
}

/* The name of an option, for messages. */
static const char *name_of(int opt)
{
	const struct option *option = options;

	while (option->name && option->val != opt)
		option++;
	return option->name;
}

/* There has to be room for the name of the outbox, which is the queue's with this end. */
static const char outbox_end[] = ".outbox";

static void set_names(struct share_options *o)
{
	size_t most = KWQ_NAME_MAX - strlen(outbox_end);
	int err = strlen(o->queue) > most ? -EINVAL : names_init(&o->names, o->queue);

	if (err == -EINVAL)
		usage("%s: this cannot be the name of a shared queue: a name has 1 to %zu bytes, and no /",
		      o->queue, most);
	if (err)
		exit(complain(o->queue, err));
}

/* The checks that need all options. */
static void check(struct share_options *o)
{
	if (!o->nr_urls)
		usage("--nats URL is missing: the servers of NATS, as nats://HOST");
	if (!!o->engine.credentials + !!o->engine.nkey + !!o->engine.user_file +
	    !!o->engine.token_file > 1)
		usage("only one of --creds, --nkey, --user-file and --token-file can be given");
	if (!o->engine.certificate != !o->engine.key)
		usage("--cert and --key belong together");
	if (!o->host[0])
		set_default_host(o);
	set_names(o);
	must_have_queue_options(&o->create);
}

/* Ends the program, after a message, if a file cannot be read. @file may be NULL. */
static void must_be_readable(int opt, const char *file)
{
	int fd, err = 0;
	char byte;

	if (!file)
		return;
	fd = open(file, O_RDONLY | O_CLOEXEC);
	/* A folder can be opened. */
	if (fd < 0 || read(fd, &byte, 1) < 0)
		err = errno;
	if (fd >= 0)
		close(fd);
	if (!err)
		return;
	message("--%s %s: %s", name_of(opt), file, strerror(err));
	exit(STATUS_FAILED);
}

/*
 * They are read at each connection, so that a change counts. A file that is missing from the start
 * is told of before anything is done.
 */
static void check_files(const struct engine_options *e)
{
	must_be_readable(OPT_CA, e->ca);
	must_be_readable(OPT_CERT, e->certificate);
	must_be_readable(OPT_KEY, e->key);
	must_be_readable(OPT_CREDS, e->credentials);
	must_be_readable(OPT_NKEY, e->nkey);
	must_be_readable(OPT_USER_FILE, e->user_file);
	must_be_readable(OPT_TOKEN_FILE, e->token_file);
}

/* The lease has to outlive the change to another server. */
static unsigned int silent_ms(uint64_t ttl)
{
	return ttl / 2 < SILENT_MAX ? ttl / 2 / NS_PER_MS : SILENT_MAX / NS_PER_MS;
}

/* Where the engine and the machine find what they need. */
static void connect_parts(struct share_options *o)
{
	o->engine.urls = o->urls;
	o->engine.names = &o->names;
	o->engine.client = o->host;
	o->engine.silent_ms = silent_ms(o->machine.ttl);
	o->machine.names = &o->names;
	o->machine.host = o->host;
}

void share_options_parse(struct share_options *o, int argc, char **argv)
{
	int opt;

	set_defaults(o);
	while ((opt = getopt_long(argc, argv, "m:vh", options, NULL)) != -1) {
		if (opt == OPT_NATS)
			add_urls(o, optarg);
		else if (!machine_option(o, opt) && !login_option(&o->engine, opt))
			option_common(opt);
	}
	o->queue = must_be_name(only_argument(argc, argv, "QUEUE"));
	check(o);
	check_files(&o->engine);
	connect_parts(o);
}

int share_options_list(void)
{
	struct command share = *command;

	share.table = options;
	options_list(&share);
	return flush_output() ? STATUS_OK : STATUS_FAILED;
}
