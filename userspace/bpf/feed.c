// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Feeds a queue by a BPF program until a signal ends this one. Nothing is done for an event here:
 * the program in the kernel adds the keys.
 */
#include <errno.h>
#include <fcntl.h>
#include <kwq.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "feed.h"

/* Prints it, with an advice. Returns the exit status. */
static int complain(const struct feed *feed, const char *what, int err, const char *advice)
{
	fprintf(stderr, "%s: %s: %s%s%s\n", feed->name, what, strerror(-err), *advice ? ": " : "",
		advice);
	return 1;
}

static const char *advice_for_load(int err)
{
	switch (-err) {
	case EPERM:
		return "this takes CAP_BPF and CAP_PERFMON";
	case ENOENT:
	case ESRCH:
		return "this kernel lacks the place where the program would be attached";
	default:
		return "";
	}
}

int feed(const struct feed *feed, int argc, char **argv)
{
	const char *queue = argc == 2 ? argv[1] : "";
	sigset_t ends;
	uint64_t token;
	struct kwq *q;
	int err, signal;

	if (!strcmp(queue, "-h") || !strcmp(queue, "--help")) {
		printf("Usage: %s QUEUE\n\n%s", feed->name, feed->help);
		return 0;
	}
	if (!*queue || *queue == '-') {
		fprintf(stderr, "Usage: %s QUEUE\n", feed->name);
		return 2;
	}
	/* Before it is attached, so that no signal comes between. */
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);

	err = kwq_open(&q, queue, KWQ_RIGHT_WRITE, O_CLOEXEC);
	if (err)
		return complain(feed, queue, err, err == -ENOENT ? "kwq create makes it" : "");
	err = kwq_bpf_token(q, &token);
	if (err)
		return complain(feed, queue, err, err == -EOPNOTSUPP ?
				"dmesg | grep kwq tells what BPF programs lack here" : "");
	err = feed->start(token);
	if (err)
		return complain(feed, "the BPF program", err, advice_for_load(err));
	/* A test, or a script, waits for this line. */
	printf("%s: feeding %s\n", feed->name, queue);
	fflush(stdout);
	sigwait(&ends, &signal);
	return 0;
}
