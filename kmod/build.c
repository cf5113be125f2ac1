// SPDX-License-Identifier: GPL-2.0-only
/*
 * All that a call passes through, compiled as one file, as the scheduler's are in
 * kernel/sched/build_policy.c: a cycle of one key goes through some forty functions of
 * these files, and to call them was a third of what they cost. For who reads them they
 * are as apart as ever: each includes what it needs, and core.c knows no lock.
 *
 * Functions that are passed through most are __flatten: all that they call is compiled
 * into them (by gcc), but for what says noinline, because it is seldom needed.
 */
#include "backoff.c"
#include "limiter.c"
#include "waiting.c"
#include "core.c"
#include "pace.c"
#include "pollers.c"
#include "queue.c"
#include "handler.c"
#include "cancel.c"
#include "until.c"
#include "table.c"
#include "quota.c"
#include "lease.c"
#include "keyed.c"
#include "dead.c"
#include "stat.c"
#include "names.c"
#include "handle.c"
#include "entries.c"
#include "batch.c"
#include "chardev.c"
/* Last: sparse forgets what kwq_keyed_unlock() does to the lock once it is exported. */
#include "items.c"
