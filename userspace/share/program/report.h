/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Tells people and programs how a machine of a shared queue is: the service manager, standard
 * output, and a file for Prometheus' node_exporter.
 */
#ifndef KWQ_SHARE_REPORT_H
#define KWQ_SHARE_REPORT_H

#include "queue/metrics.h"
#include "share/machine/complaints.h"
#include "share/machine/machine.h"

/*
 * @queue: its name
 * @urls: of the servers, for people
 * @metrics: the file, or NULL
 * @verbose: tell standard output, too
 * @label: the queue's name in the file
 * @every: the file is written anew after so long, even if nothing has changed, in ns
 * @told: the last text
 * @printed: the last text on standard output
 * @complaints: what standard output was told of an engine that is away
 * @state: the last state, without its texts
 * @has_taken_part: since this machine joined, another one was the master, or none
 * @written: the state that the file has
 * @written_at: when it was written last, boot time in ns
 * @err: why the file could not be written the last time, or 0
 */
struct report {
	const char *queue, *metrics;
	char urls[256];
	bool verbose, has_taken_part;
	uint64_t every;
	struct metrics_queue label;
	char told[COMPLAINT_MAX + 256], printed[COMPLAINT_MAX + 256];
	struct complaints complaints;
	struct machine_state state, written;
	uint64_t written_at;
	int err;
};

/*
 * Writes the first file, of a machine that has not joined yet. Returns 0, or a negative errno value
 * if it cannot be written.
 */
int report_begin(struct report *report, uint64_t now);

/*
 * Tells of a state, unless it is told already. The file is written once a second at most, and a
 * quarter of the lease after the last time at the latest.
 */
void report_tell(struct report *report, const struct machine_state *state, uint64_t now);

/*
 * When report_tell() has to be called even if nothing happens: boot time in ns, or UINT64_MAX for
 * never.
 */
uint64_t report_due(const struct report *report);

/* Tells that this machine has left, in the state that report_tell() was called with last. */
void report_left(struct report *report);

/* Removes the file. */
void report_end(const struct report *report);

#endif /* KWQ_SHARE_REPORT_H */
