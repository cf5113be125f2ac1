/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The arguments of kwq share.
 */
#ifndef KWQ_SHARE_SHARE_OPTIONS_H
#define KWQ_SHARE_SHARE_OPTIONS_H

#include "queue/queue_options.h"
#include "share/machine/machine.h"

enum { URLS_MAX = 32 };

/*
 * @queue: its name
 * @engine: without names
 * @create: of local queues that have to be created
 * @stop_timeout: after a signal, how long workers may go on, in ns
 * @metrics: the file for Prometheus, or NULL
 */
struct share_options {
	const char *queue;
	struct engine_options engine;
	struct machine_options machine;
	struct queue_options create;
	uint64_t stop_timeout;
	const char *metrics;
	bool verbose;
	const char *urls[URLS_MAX + 1];
	unsigned int nr_urls;
	struct names names;
	char host[MACHINE_MAX];
};

/*
 * Fills @o, whose address has to stay. Ends the program, after a message, if the arguments are
 * wrong.
 */
void share_options_parse(struct share_options *o, int argc, char **argv);

/* Prints all options, for the completion of the shells. Returns an exit status. */
int share_options_list(void);

#endif /* KWQ_SHARE_SHARE_OPTIONS_H */
