/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The checker's counters, outside of the queue: in a file that all its processes map. They run in
 * several network namespaces of one kernel, so they have one memory and one clock.
 */
#ifndef CLUSTER_COUNTERS_H
#define CLUSTER_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

/**
 * struct key_counters - one key
 * @wanted: raised before each add
 * @acked: the highest @wanted whose add was acknowledged as replicated
 * @seen: the highest @wanted that a run read at its begin and then stored
 * @token: the highest token of a run that has begun. The store refuses lower ones.
 * @due: for a delayed key: when its only add becomes due, on CLOCK_BOOTTIME
 * @runs: runs that have begun
 * @running: the process of the run that began last, 0 after its end
 */
struct key_counters {
	_Atomic uint64_t wanted, acked, seen, token, due;
	_Atomic uint32_t runs, running;
};

/**
 * struct counters - the file
 * @nr_keys: all keys
 * @nr_plain: keys that are added again and again. The others are delayed, and are added once.
 * @next_delayed: the next delayed key
 * @stopped: adders end
 *
 * Without a fault all of these are 0, and with any fault the first four are:
 * @early: runs of a delayed key before its time
 * @same: runs with the token of an earlier run
 * @untold: runs without a token
 * @broken: runs with a token lower than that of an earlier run, whose done was accepted
 * @late_begins: runs whose token was refused when they began
 * @late_stores: runs whose token was refused when they stored
 * @overlaps: runs that began while the process of an earlier one worked; the earlier one is refused
 *
 * Of all adders and workers:
 * @adds, @acks, @add_errors: adds, those that were acknowledged, and those that were refused.
 * @runs, @extra: runs, and those that began when the last wish was fulfilled already.
 * @dones, @late_dones: dones that were accepted, and refused
 * @retries, @deaths, @returns: what workers did instead of a done
 * @early_by: the longest time of an early run, in ns
 */
struct counters {
	uint64_t nr_keys, nr_plain;
	_Atomic uint64_t next_delayed;
	_Atomic uint32_t stopped;
	_Atomic uint64_t early, same, untold, broken;
	_Atomic uint64_t late_begins, late_stores, overlaps;
	_Atomic uint64_t adds, acks, add_errors, runs, extra, dones, late_dones;
	_Atomic uint64_t retries, deaths, returns, early_by;
	struct key_counters keys[];
};

#endif
