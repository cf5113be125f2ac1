/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Runs the simulation with many seeds, or one of them aloud.
 *
 * PROGRAM [SEEDS [FIRST]]	more seeds, from another one on
 * PROGRAM trace SEED		all that happens
 */
#ifndef KWQ_TEST_SHARE_SEEDS_H
#define KWQ_TEST_SHARE_SEEDS_H

#include <inttypes.h>
#include <stdlib.h>

#include "sim.h"
#include "tap.h"

enum { MOST_FAILURES = 10 };

static const char *const modes[] = { "calm", "deaths", "faults", "killer" };

struct sums {
	uint64_t runs, extra, elections, deaths, moved, recalls, failures, events;
};

static struct sums sums[MODES];

static inline enum mode mode_of(uint64_t seed)
{
	if (seed % 8 == 7)
		return MODE_KILLER;
	return seed % 4 < MODE_FAULTS ? seed % 4 : MODE_FAULTS;
}

static inline const char *run_seed(uint64_t seed, bool trace)
{
	static char text[300];
	struct sim *sim = calloc(1, sizeof(*sim));
	enum mode mode = mode_of(seed);
	struct sums *sum = &sums[mode];
	const char *failure;

	sim->trace = trace;
	failure = sim_run(sim, seed, mode);
	if (failure) {
		snprintf(text, sizeof(text), "seed %llu (%s): %s", (unsigned long long)seed,
			 modes[mode], failure);
		failure = text;
	}
	sum->runs += sim->runs;
	sum->extra += sim->extra_runs;
	sum->elections += sim->elections;
	sum->deaths += sim->deaths;
	sum->moved += sim->moved;
	sum->recalls += sim->recalls;
	sum->failures += sim->failures;
	sum->events += sim->events;
	sim_end(sim);
	free(sim);
	return failure;
}

static inline void show_sums(const char *mode, const struct sums *sum)
{
	printf("# %s: %" PRIu64 " runs, %" PRIu64 " extra, %" PRIu64 " elections, ", mode,
	       sum->runs, sum->extra, sum->elections);
	printf("%" PRIu64 " deaths, %" PRIu64 " keys moved, %" PRIu64 " recalls, ", sum->deaths,
	       sum->moved, sum->recalls);
	printf("%" PRIu64 " times no memory, %" PRIu64 " events\n", sum->failures, sum->events);
}

static inline void test_seeds(uint64_t seeds, uint64_t first)
{
	uint64_t seed, failed = 0;
	int mode;

	for (seed = first; seed < first + seeds && failed < MOST_FAILURES; seed++) {
		const char *failure = run_seed(seed, false);

		if (failure) {
			ok(false, "%s", failure);
			failed++;
		}
	}
	ok(!failed, "nothing is lost, nothing overlaps, nothing is early: %llu seeds",
	   (unsigned long long)seeds);
	for (mode = 0; mode < MODES; mode++)
		show_sums(modes[mode], &sums[mode]);
	printf("# %llu seeds failed\n", (unsigned long long)failed);
}

/* Runs the seed that the arguments name, if they name one. */
static inline bool trace_seed(int argc, char **argv)
{
	const char *failure;

	if (argc != 3 || strcmp(argv[1], "trace"))
		return false;
	failure = run_seed(strtoull(argv[2], NULL, 10), true);
	ok(!failure, "%s", failure ? failure : "passed");
	return true;
}

/* @seeds: if the arguments have no number */
static inline void run_seeds(int argc, char **argv, uint64_t seeds)
{
	test_seeds(argc > 1 ? strtoull(argv[1], NULL, 10) : seeds,
		   argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
}

#endif /* KWQ_TEST_SHARE_SEEDS_H */
