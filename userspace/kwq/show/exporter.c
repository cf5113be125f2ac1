// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq exporter
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/duration.h"
#include "kwq/keys/gather.h"
#include "http.h"
#include "base/number.h"
#include "base/output.h"
#include "base/read_clock.h"
#include "base/signal_fd.h"
#include "queue/textfile.h"

/* In the range of ports that Prometheus' exporters share. */
#define LISTEN_DEFAULT "127.0.0.1:9950"

enum { OPT_LISTEN = OPT_FIRST, OPT_TEXTFILE, OPT_INTERVAL, OPT_CONTROLLER };

static const struct option exporter_options[] = {
	{ "listen", required_argument, NULL, OPT_LISTEN },
	{ "textfile", required_argument, NULL, OPT_TEXTFILE },
	{ "interval", required_argument, NULL, OPT_INTERVAL },
	{ "controller-runtime", no_argument, NULL, OPT_CONTROLLER },
	OPTION_HELP, OPTION_END
};

struct exporter_options {
	const char *listen;
	const char *textfile;
	uint64_t interval;	/* 0 for once */
	bool controller;
};

static struct exporter_options parse_options(int argc, char **argv)
{
	struct exporter_options o = {};
	int opt;

	while ((opt = getopt_long(argc, argv, "h", exporter_options, NULL)) != -1) {
		switch (opt) {
		case OPT_LISTEN:
			o.listen = optarg;
			break;
		case OPT_TEXTFILE:
			o.textfile = optarg;
			break;
		case OPT_INTERVAL:
			o.interval = must_parse_duration("--interval", optarg);
			if (!o.interval)
				usage("--interval %s: must be longer than 0", optarg);
			break;
		case OPT_CONTROLLER:
			o.controller = true;
			break;
		default:
			option_common(opt);
		}
	}
	if (o.listen && o.textfile)
		usage("--listen and --textfile cannot be combined");
	if (o.interval && !o.textfile)
		usage("--interval needs --textfile");
	if (!o.textfile && !http_available)
		usage("this build has no HTTP (libmicrohttpd was missing): use --textfile");
	return o;
}

/* The exported queues, and their names. */
struct source {
	struct gather gather;
	bool controller;
};

/* Writes the numbers of all queues as text. The caller frees *text. */
static int make_text(void *arg, char **text, size_t *len)
{
	struct source *source = arg;
	struct gather *g = &source->gather;
	int err = gather(g);
	FILE *to;

	if (err)
		return err;
	to = open_memstream(text, len);
	if (!to)
		return -ENOMEM;
	metrics_write(to, g->queues, g->nr, source->controller);
	if (fclose(to)) {
		free(*text);
		return -ENOMEM;
	}
	return 0;
}

/* Opens a descriptor for the signals that end the exporter, before any thread starts. */
static int open_signals(void)
{
	static const int ending[] = { SIGTERM, SIGINT, SIGHUP };

	/* A client that disconnects during a write must not end the exporter. */
	signal(SIGPIPE, SIG_IGN);
	return signal_fd_open(ending, ARRAY_SIZE(ending), NULL);
}

/* ---- --textfile ---- */

static int write_text(struct source *source, const char *path)
{
	char *text;
	size_t len;
	int err = make_text(source, &text, &len);

	if (err)
		return complain("/dev/kwq", err);
	err = strcmp(path, "-") ? replace_file(path, text, len, FILE_IS_DURABLE) :
				  write_all(STDOUT_FILENO, text, len);
	free(text);
	if (!err || err == -ECANCELED)
		return STATUS_OK;
	message("%s: %s", path, strerror(-err));
	return STATUS_FAILED;
}

/* Waits until @due or a signal. Returns whether a signal came. */
static bool wait_until(int signals, uint64_t due)
{
	struct pollfd p = { .fd = signals, .events = POLLIN };
	uint64_t now;

	while ((now = read_clock(CLOCK_BOOTTIME)) < due) {
		struct timespec left = {
			.tv_sec = (due - now) / NS_PER_S,
			.tv_nsec = (due - now) % NS_PER_S,
		};

		if (ppoll(&p, 1, &left, NULL) > 0)
			return true;
	}
	/* Notice a signal even if writing takes longer than the interval. */
	return poll(&p, 1, 0) > 0;
}

/* A reader of standard output that stopped reading must not block the end. */
static bool give_up(void *arg)
{
	(void)arg;
	return false;
}

static int write_again_and_again(struct source *source, const struct exporter_options *o)
{
	int signals = open_signals(), status;
	uint64_t due = read_clock(CLOCK_BOOTTIME);

	if (signals < 0)
		return complain("signals", signals);
	write_watch(signals, give_up, NULL);
	for (;;) {
		/* Keep trying after an error: a disk can get space, and the module can
		 * be loaded.
		 */
		status = write_text(source, o->textfile);
		if (status != STATUS_OK && !strcmp(o->textfile, "-"))
			break;
		if (__builtin_add_overflow(due, o->interval, &due))
			due = UINT64_MAX;
		/* Intervals that were missed are skipped. */
		if (due < read_clock(CLOCK_BOOTTIME))
			due = read_clock(CLOCK_BOOTTIME);
		if (wait_until(signals, due)) {
			status = STATUS_OK;
			break;
		}
	}
	close(signals);
	return status;
}

/* ---- --listen ---- */

/* A socket address. The family is at the same place in all members. */
union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/*
 * Parses ADDRESS:PORT, [ADDRESS]:PORT or :PORT. Only numeric: a name may have several
 * addresses.
 */
static bool parse_address(const char *argument, union address *address)
{
	const char *colon = strrchr(argument, ':');
	char host[INET6_ADDRSTRLEN] = "";
	size_t len = colon ? (size_t)(colon - argument) : 0;
	uint64_t port;

	memset(address, 0, sizeof(*address));
	if (!colon || parse_number(colon + 1, 0, UINT16_MAX, &port))
		return false;
	if (!len) {
		/* An IPv6 socket that also accepts IPv4, as mapped addresses. */
		address->v6.sin6_family = AF_INET6;
		address->v6.sin6_port = htons(port);
		return true;
	}
	if (len >= 2 && argument[0] == '[' && argument[len - 1] == ']') {
		if (len - 2 >= sizeof(host))
			return false;
		memcpy(host, argument + 1, len - 2);
		address->v6.sin6_family = AF_INET6;
		address->v6.sin6_port = htons(port);
		return inet_pton(AF_INET6, host, &address->v6.sin6_addr) == 1;
	}
	if (len >= sizeof(host))
		return false;
	memcpy(host, argument, len);
	address->v4.sin_family = AF_INET;
	address->v4.sin_port = htons(port);
	return inet_pton(AF_INET, host, &address->v4.sin_addr) == 1;
}

static int listen_at(const union address *address)
{
	int on = 1, off = 0, fd, err;

	fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* Connections of a former exporter in TIME_WAIT must not block the port. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (address->any.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(fd, &address->any, address->any.sa_family == AF_INET ?
				    sizeof(address->v4) : sizeof(address->v6)) ||
	    listen(fd, SOMAXCONN)) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

/* Listens on every IPv4 address, for machines without IPv6. */
static int listen_v4(const union address *v6)
{
	union address v4 = {
		.v4.sin_family = AF_INET,
		.v4.sin_port = v6->v6.sin6_port,
	};

	return listen_at(&v4);
}

/* With port 0 the kernel chooses the port, so the user has to be told. */
static void tell_address(int fd)
{
	char host[INET6_ADDRSTRLEN];
	union address address;
	socklen_t len = sizeof(address);

	if (getsockname(fd, &address.any, &len))
		return;
	if (address.any.sa_family == AF_INET6)
		message("listening on http://[%s]:%u/metrics",
			inet_ntop(AF_INET6, &address.v6.sin6_addr, host, sizeof(host)),
			ntohs(address.v6.sin6_port));
	else
		message("listening on http://%s:%u/metrics",
			inet_ntop(AF_INET, &address.v4.sin_addr, host, sizeof(host)),
			ntohs(address.v4.sin_port));
}

static int serve(struct source *source, const char *argument)
{
	union address address;
	const char *why;
	int signals, fd;
	struct http *http;

	if (!parse_address(argument, &address))
		usage("--listen %s: must be an address and a port such as " LISTEN_DEFAULT,
		      argument);
	why = http_load();
	if (why) {
		message("HTTP needs libmicrohttpd: %s; --textfile does not", why);
		return STATUS_FAILED;
	}
	fd = listen_at(&address);
	if (fd == -EAFNOSUPPORT && argument[0] == ':')
		fd = listen_v4(&address);
	if (fd < 0) {
		message("--listen %s: %s", argument, strerror(-fd));
		return STATUS_FAILED;
	}
	signals = open_signals();
	if (signals < 0)
		return complain("signals", signals);
	http = http_start(fd, make_text, source);
	if (!http) {
		message("--listen %s: %s", argument, strerror(errno));
		return STATUS_FAILED;
	}
	tell_address(fd);
	wait_until(signals, UINT64_MAX);
	http_stop(http);
	close(signals);
	return STATUS_OK;
}

static int exporter_main(int argc, char **argv)
{
	struct exporter_options o = parse_options(argc, argv);
	struct source source = { .controller = o.controller };
	int status;

	gather_init(&source.gather, argv + optind);
	if (!o.textfile)
		status = serve(&source, o.listen ? o.listen : LISTEN_DEFAULT);
	else if (o.interval)
		status = write_again_and_again(&source, &o);
	else
		status = write_text(&source, o.textfile);
	gather_free(&source.gather);
	return status;
}

const struct command command_exporter = {
	.name = "exporter",
	.arguments = "[OPTION...] [QUEUE...]",
	.summary = "Serve the metrics of queues to Prometheus",
	.options =
	"      --listen ADDRESS:PORT  serve /metrics there (" LISTEN_DEFAULT ");\n"
	"                             :PORT means all addresses of the machine\n"
	"      --textfile FILE        write FILE for node_exporter instead; - means\n"
	"                             standard output\n"
	"      --interval DURATION    write FILE again after each interval\n"
	"      --controller-runtime   the label controller beside name, and metrics by\n"
	"                             the names of controller-runtime, too\n"
	"  -h, --help\n"
	"\n"
	"Without QUEUE: all named queues that may be opened.\n",
	.examples =
	"  kwq exporter                             Prometheus asks port 9950\n"
	"  kwq exporter --textfile kwq.prom --interval 15s\n",
	.table = exporter_options,
	.main = exporter_main,
};
