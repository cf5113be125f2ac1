/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The checker's counters, outside of the queue, and the rules of the store that holds them. They
 * are in a file. If the machines are network namespaces of one kernel, all adders and workers map
 * it. If they are virtual machines, the server of serve.c alone maps it.
 */
#ifndef SHARE_COUNTERS_H
#define SHARE_COUNTERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * struct key_counters - one key
 * @wanted: raised before each add
 * @acked: the highest @wanted whose add was acknowledged as replicated
 * @seen: the highest @wanted that a run stored: see &struct claim
 * @token: the highest token of a run that has begun. The store refuses lower ones.
 * @due: for a delayed key: when its only add becomes due, on CLOCK_BOOTTIME
 * @runs: runs that have begun
 * @running: the run that began last: &struct claim.who, 0 after its end
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
 * @stage: 0: adders work; 1: they end; 2: virtual machines end
 * @is_held: no run ends
 *
 * Without a fault all of these are 0, and with any fault the first four are:
 * @early: runs of a delayed key before its time
 * @same: runs with the token of an earlier run
 * @untold: runs without a token, or without the value that names their wish
 * @broken: runs with a token lower than that of another run, which had begun before their done. It
 *	was accepted.
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
	_Atomic uint32_t stage, is_held;
	_Atomic uint64_t early, same, untold, broken;
	_Atomic uint64_t late_begins, late_stores, overlaps;
	_Atomic uint64_t adds, acks, add_errors, runs, extra, dones, late_dones;
	_Atomic uint64_t retries, deaths, returns, early_by;
	struct key_counters keys[];
};

/**
 * struct claim - a run, as the store knows it
 * @number: the key
 * @is_known: the key has counters. Without them no function here does anything.
 * @token: the token
 * @has_wish: @wanted is from the value of the item: the run fulfils this wish and no later one.
 *	Otherwise the store sets @wanted to the last wish at the begin.
 * @wanted: the wish that the run fulfils. 0 with @has_wish: the value was lost.
 * @is_late: a run with a higher token has begun
 * @who: the process, or the connection, of the worker
 */
struct claim {
	uint64_t number, token, wanted;
	uint32_t who;
	bool is_known, has_wish, is_late;
};

extern struct counters *counters;
/* Whether the worker that &struct claim.who names may still work on its run. */
extern bool (*is_at_work)(uint32_t who);

uint64_t boot_time(void);
void raise_to(_Atomic uint64_t *counter, uint64_t value);
void counters_init(const char *path, uint64_t plain, uint64_t delayed);
void counters_map(const char *path);

void claim_begin(struct claim *claim);
void claim_store(struct claim *claim);
void claim_leave(struct claim *claim);
void claim_end(struct claim *claim, bool is_accepted);

/* How many keys of @from to before @to have an acknowledged wish that no run has stored. */
uint64_t count_left(uint64_t from, uint64_t to, bool is_told);
/* How many of their adds were acknowledged. */
uint64_t count_acked(uint64_t from, uint64_t to);
/* Adds @n to the counter @name. Returns false if there is no such counter of adders and workers. */
bool counters_count(const char *name, uint64_t n);
void counters_show(void);
int counters_verdict(bool is_quiet);

#endif
