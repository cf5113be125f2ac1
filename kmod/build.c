// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compiles all files that a call passes through as one file, like
 * kernel/sched/build_policy.c. The files stay separate for readers: each includes what it
 * needs, and core.c knows no lock.
 *
 * The most frequent entry points are __flatten, so gcc inlines everything that they call.
 * Functions that are seldom needed are noinline, and stay out. A cycle of a key passes
 * through some forty functions. Without __flatten it takes 20 to 26 % more instructions.
 * docs/performance.md has the figures, and what they cost in text.
 */
#include "core/backoff.c"
#include "core/limiter.c"
#include "core/waiting.c"
#include "core/groups.c"
#include "core/aging.c"
#include "core/core.c"
#include "queue/clock.c"
#include "queue/workers.c"
#include "queue/unlock.c"
#include "queue/timer.c"
#include "queue/expire.c"
#include "queue/add.c"
#include "queue/post.c"
#include "queue/get.c"
#include "queue/shut_down.c"
#include "queue/cancel.c"
#include "queue/flush.c"
#include "queue/run.c"
#include "queue/pause.c"
#include "queue/handler.c"
#include "queue/queue.c"
#include "queue/backoff_until.c"
#if IS_ENABLED(CONFIG_KWQ_DEV)
#include "keyed/table.c"
#include "keyed/quota.c"
#include "keyed/memory.c"
#include "keyed/handout.c"
#include "keyed/term.c"
#include "keyed/poll.c"
#include "keyed/room.c"
#include "keyed/board.c"
#include "keyed/changes.c"
#include "keyed/follow.c"
#include "keyed/keyed.c"
#include "keyed/life.c"
#include "keyed/values.c"
#include "keyed/list.c"
#include "keyed/stat.c"
#include "keyed/names.c"
#include "keyed/handle.c"
#include "keyed/producer.c"
#include "device/entries.c"
#include "device/batch.c"
#include "device/extras.c"
#include "device/board_file.c"
#if KWQ_HAS_BPF
#include "device/bpf.c"
#endif
#include "device/chardev.c"
/* Last, because sparse forgets what kwq_keyed_unlock() does to the lock once it is exported. */
#include "keyed/group_names.c"
#include "keyed/items.c"
#endif
