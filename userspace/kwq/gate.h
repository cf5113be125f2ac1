/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * kwq run --delay, --load and --memfree: whether the next job may start now.
 */
#ifndef KWQ_GATE_H
#define KWQ_GATE_H

#include <stdbool.h>
#include <stdint.h>

/* How often a busy machine is looked at again. */
#define GATE_LOOK_NS UINT64_C(500000000)

struct gate_options {
	uint64_t delay;		/* ns between two starts; 0: none */
	unsigned int load;	/* start only below so many running processes; 0: any */
	uint64_t memfree;	/* start only with so many bytes available; 0: any */
	const char *loadavg, *meminfo;	/* the files to read */
};

struct gate {
	struct gate_options options;
	uint64_t opens;		/* monotonic ns; before that, nothing is read */
};

/* Notes that a job has started at @now. */
void gate_started(struct gate *gate, uint64_t now);

/*
 * Looks whether a job may start at @now. Returns 0 and sets *open, or the negative errno
 * value of a file that cannot be read. A closed gate has the time of the next look in
 * gate->opens.
 */
int gate_look(struct gate *gate, uint64_t now, bool *open);

/* Milliseconds from @now until the next look, rounded up, at most a minute. */
int gate_timeout(const struct gate *gate, uint64_t now);

#endif /* KWQ_GATE_H */
