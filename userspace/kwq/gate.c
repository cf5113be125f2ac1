// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "gate.h"

#include "duration.h"
#include "sysload.h"

enum { TIMEOUT_MS_MAX = 60000 };

void gate_started(struct gate *gate, uint64_t now)
{
	if (!gate->options.delay)
		return;
	if (__builtin_add_overflow(now, gate->options.delay, &gate->opens))
		gate->opens = UINT64_MAX;
}

static int read_busy(const struct gate_options *options, bool *busy)
{
	uint64_t running = 0, available = UINT64_MAX;
	int err = 0;

	if (options->load)
		err = sysload_read_running(options->loadavg, &running);
	if (!err && options->memfree)
		err = sysload_read_available(options->meminfo, &available);
	/* The reader itself runs, too. */
	*busy = running > options->load || available < options->memfree;
	return err;
}

int gate_look(struct gate *gate, uint64_t now, bool *open)
{
	bool busy = false;
	int err;

	*open = false;
	if (now < gate->opens)
		return 0;
	if (gate->options.load || gate->options.memfree) {
		err = read_busy(&gate->options, &busy);
		if (err)
			return err;
	}
	*open = !busy;
	if (busy)
		gate->opens = now + GATE_LOOK_NS;
	return 0;
}

int gate_timeout(const struct gate *gate, uint64_t now)
{
	uint64_t ms;

	if (now >= gate->opens)
		return 0;
	ms = (gate->opens - now - 1) / NS_PER_MS + 1;
	return ms < TIMEOUT_MS_MAX ? ms : TIMEOUT_MS_MAX;
}
