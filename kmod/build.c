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
#include "core/backoff.c"
#include "core/limiter.c"
#include "core/waiting.c"
#include "core/core.c"
#include "queue/pace.c"
#include "queue/pollers.c"
#include "queue/queue.c"
#include "queue/handler.c"
#include "queue/cancel.c"
#include "queue/until.c"
#include "keyed/table.c"
#include "keyed/quota.c"
#include "keyed/lease.c"
#include "keyed/keyed.c"
#include "keyed/dead.c"
#include "keyed/stat.c"
#include "keyed/names.c"
#include "keyed/handle.c"
#include "device/entries.c"
#include "device/batch.c"
#include "device/chardev.c"
/* Last: sparse forgets what kwq_keyed_unlock() does to the lock once it is exported. */
#include "keyed/items.c"
