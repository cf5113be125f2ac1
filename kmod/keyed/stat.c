// SPDX-License-Identifier: GPL-2.0-only
/* State and counters of a queue (M1, M2, M3). */
#include <linux/cred.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/string_helpers.h>
#include <linux/uidgid.h>
#include "hold.h"
#include "timens.h"

static void stat_changes(const struct kwq_changes *changes, struct kwq_stat *stat)
{
	stat->id = changes->id;
	stat->last_change = changes->last;
	stat->kept = changes->kept;
	stat->unread = changes->nr_unread;
	stat->followers = !!changes->follower;
	stat->getters += changes->nr_seeking;
}

/**
 * kwq_keyed_stat() - read a queue's state and counters
 * @keyed: the queue
 * @stat: filled in, except @stat->size
 *
 * All numbers are from the same moment, but the age of the oldest wait takes a look at every item,
 * and only if an item is waiting.
 *
 * Context: process; may sleep.
 */
void kwq_keyed_stat(struct kwq_keyed *keyed, struct kwq_stat *stat)
{
	const struct kwq_core *core = &keyed->queue.core;
	const struct kwq_bulk *bulk = &keyed->of_core;
	struct kwq_gauges gauges = {};
	const struct kwq_item *dead;
	bool looks_at_dead;
	unsigned long flags;
	ktime_t now, term;

	memset(stat, 0, sizeof(*stat));
	stat->max_items = keyed->limits.max_items;
	stat->max_bytes = keyed->limits.max_bytes;
	stat->lease = keyed->limits.lease;
	stat->aging = keyed->limits.aging;
	stat->group_limit = keyed->limits.group_limit;
	stat->uid = from_kuid_munged(current_user_ns(), keyed->owner);
	stat->gid = from_kgid_munged(current_user_ns(), keyed->group);
	stat->mode = keyed->mode;
	stat->create_flags = (keyed->limits.values ? KWQ_CREATE_VALUES : 0) |
			     (keyed->limits.groups ? KWQ_CREATE_GROUPS : 0) |
			     (keyed->limits.no_durations ? KWQ_CREATE_NO_DURATIONS : 0) |
			     (keyed->limits.changes ? KWQ_CREATE_CHANGES : 0) |
			     (keyed->limits.sync ? KWQ_CREATE_SYNC : 0) |
			     (keyed->outbox ? KWQ_CREATE_OUTBOX : 0);
	stat->clockid = keyed->queue.clock == KWQ_CLOCK_MANUAL ?
			KWQ_CLOCK_ID_MANUAL : kwq_timer_clockid(&keyed->queue);
	stat->refused = atomic_long_read(&keyed->refused);
	strscpy(stat->name, keyed->queue.name, sizeof(stat->name));
	if (READ_ONCE(keyed->unlinked))
		stat->state |= KWQ_STATE_UNLINKED;

	spin_lock_irqsave(&keyed->queue.lock, flags);
	if (core->shut_down)
		stat->state |= KWQ_STATE_SHUT_DOWN;
	now = kwq_now_locked(&keyed->queue);
	stat->paused_for = kwq_pause_left_locked(&keyed->queue, now);
	if (stat->paused_for)
		stat->state |= KWQ_STATE_PAUSED;
	if (kwq_term_is_over_locked(keyed))
		stat->state |= KWQ_STATE_TERM_OVER;
	term = keyed->term;
	stat->ready = core->nr_ready;
	stat->waiting = bulk->nr_waiting;
	stat->processing = core->nr_processing;
	stat->dirty = core->nr_dirty_processing;
	stat->items = keyed->nr_items;
	stat->bytes = keyed->nr_bytes;
	stat->values = keyed->nr_values;
	stat->adds = bulk->adds;
	stat->coalesced = bulk->coalesced;
	stat->gets = bulk->gets;
	stat->dones = bulk->dones;
	stat->abandoned = bulk->abandoned;
	stat->returned = bulk->returned;
	stat->posted = keyed->posted;
	stat->expired = keyed->expired;
	stat->removed = bulk->removed;
	stat->dropped = bulk->dropped;
	stat->handles = keyed->nr_handles;
	stat->retries = bulk->retries;
	stat->rate_limited = bulk->rate_limited;
	stat->died = bulk->died;
	stat->dead = bulk->nr_dead;
	stat->remembered = keyed->nr_remembered;
	stat->queue_duration = bulk->queue_duration;
	stat->work_duration = bulk->work_duration;
	stat->lateness = bulk->lateness;
	stat->blocked = bulk->order.nr_blocked;
	if (keyed->limits.groups)
		stat->groups = keyed->groups->table.nr_nodes;
	stat->getters = keyed->of_queue.nr_getters;
	if (keyed->changes)
		stat_changes(keyed->changes, stat);
	if (!keyed->limits.no_durations)
		kwq_core_gauges(core, &gauges, now);
	dead = kwq_core_first_dead(core);
	stat->oldest_dead = dead ? kwq_age(dead->since, now) : 0;
	keyed->has_older_dead &= !!dead;
	/* Without durations the first one may have died at an unknown time, and others not. */
	looks_at_dead = keyed->has_older_dead || (dead && dead->since == KWQ_NO_TIME);
	spin_unlock_irqrestore(&keyed->queue.lock, flags);

	if (stat->waiting)
		stat->oldest_waiting = kwq_keyed_oldest(keyed, KWQ_ITEM_WAITING, now);
	if (looks_at_dead)
		stat->oldest_dead = kwq_keyed_oldest(keyed, KWQ_ITEM_DEAD, now);
	stat->now = kwq_caller_time(keyed, now);
	stat->term = term == KTIME_MAX ? KWQ_NO_DEADLINE : kwq_caller_time(keyed, term);
	stat->oldest_ready = gauges.oldest_ready;
	stat->longest_running = gauges.longest_running;
	stat->unfinished = gauges.unfinished;
}

/**
 * kwq_handle_show() - write what /proc/PID/fdinfo shows of a handle
 * @handle: the handle
 * @seq: where to
 *
 * All numbers are from the same moment.
 *
 * Context: process.
 */
void kwq_handle_show(struct kwq_handle *handle, struct seq_file *seq)
{
	struct kwq_keyed *keyed = handle->keyed;
	const struct kwq_core *core = &keyed->queue.core;
	unsigned long flags;
	bool is_term_over;

	seq_puts(seq, "kwq-name:\t");
	seq_escape_str(seq, keyed->queue.name, ESCAPE_OCTAL | ESCAPE_NP | ESCAPE_APPEND, " \\");
	seq_printf(seq, "\nkwq-id:\t%llu\n", keyed->of_queue.id);
	seq_printf(seq, "kwq-rights:\t%c%c%c\n",
		   handle->rights & KWQ_RIGHT_READ ? 'r' : '-',
		   handle->rights & KWQ_RIGHT_WRITE ? 'w' : '-',
		   handle->rights & KWQ_RIGHT_MANAGE ? 'x' : '-');
	spin_lock_irqsave(&keyed->queue.lock, flags);
	/* Before the numbers, because the end of a term takes items from their holders. */
	is_term_over = kwq_term_is_over_locked(keyed);
	seq_printf(seq, "kwq-ready:\t%u\n", core->nr_ready);
	seq_printf(seq, "kwq-waiting:\t%lu\n", keyed->of_core.nr_waiting);
	seq_printf(seq, "kwq-processing:\t%u\n", core->nr_processing);
	seq_printf(seq, "kwq-held:\t%u\n", handle->holder.nr_held);
	seq_printf(seq, "kwq-shut-down:\t%d\n", core->shut_down);
	seq_printf(seq, "kwq-paused:\t%d\n",
		   !!kwq_pause_left_locked(&keyed->queue, kwq_now_locked(&keyed->queue)));
	seq_printf(seq, "kwq-term-over:\t%d\n", is_term_over);
	spin_unlock_irqrestore(&keyed->queue.lock, flags);
}
