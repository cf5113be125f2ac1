// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/limits.h>
#include <string.h>

#include "model.h"

#define NONE	KWQ_PRIORITY_NONE

void model_item_init(struct model_item *item)
{
	int group = item->group;

	memset(item, 0, sizeof(*item));
	item->group = group;
}

void model_init(struct model *model)
{
	memset(model, 0, sizeof(*model));
	rate_init(&model->rate);
}

bool model_is_idle(const struct model_item *item)
{
	return !item->dirty && !item->processing && !item->waiting && !item->dead;
}

/* ---- Orders ---- */

/* Q1 Q12 O1 */
static bool ready_before(const struct model_item *a, const struct model_item *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority;
	if (a->returned != b->returned)
		return a->returned;
	return a->ready_place < b->ready_place;
}

/* D4 */
static bool waits_before(const struct model_item *a, const struct model_item *b)
{
	return a->when < b->when || (a->when == b->when && a->wait_place < b->wait_place);
}

static bool runs_before(const struct model_item *a, const struct model_item *b)
{
	return a->run_place < b->run_place;
}

static bool died_before(const struct model_item *a, const struct model_item *b)
{
	return a->dead_place < b->dead_place;
}

static bool is_queued(const struct model_item *item)
{
	return item->queued;
}

static bool is_waiting(const struct model_item *item)
{
	return item->waiting;
}

static bool is_processing(const struct model_item *item)
{
	return item->processing;
}

static bool is_dead(const struct model_item *item)
{
	return item->dead && !item->processing;
}

static int in_order(const struct model *model, int order[NR_ITEMS],
		    bool (*is_there)(const struct model_item *item),
		    bool (*before)(const struct model_item *a, const struct model_item *b))
{
	int i, place, nr = 0;

	for (i = 0; i < NR_ITEMS; i++) {
		if (!is_there(&model->item[i]))
			continue;
		for (place = nr++; place > 0; place--) {
			if (!before(&model->item[i], &model->item[order[place - 1]]))
				break;
			order[place] = order[place - 1];
		}
		order[place] = i;
	}
	return nr;
}

int model_ready(const struct model *model, int order[NR_ITEMS])
{
	return in_order(model, order, is_queued, ready_before);
}

int model_waiting(const struct model *model, int order[NR_ITEMS])
{
	return in_order(model, order, is_waiting, waits_before);
}

int model_processing(const struct model *model, int order[NR_ITEMS])
{
	return in_order(model, order, is_processing, runs_before);
}

int model_dead(const struct model *model, int order[NR_ITEMS])
{
	return in_order(model, order, is_dead, died_before);
}

int model_nr_dirty_processing(const struct model *model)
{
	int i, nr = 0;

	for (i = 0; i < NR_ITEMS; i++)
		nr += model->item[i].dirty && model->item[i].processing;
	return nr;
}

/* ---- Q16: groups ---- */

static int first_of_group(const struct model *model, int group)
{
	int order[NR_ITEMS], nr = model_ready(model, order), i;

	for (i = 0; i < nr; i++)
		if (model->item[order[i]].group == group)
			return order[i];
	return NOBODY;
}

static u32 nr_offered_of(const struct model *model, int group)
{
	u32 ready = 0, running = 0;
	int i;

	for (i = 0; i < NR_ITEMS; i++) {
		ready += model->item[i].queued && model->item[i].group == group;
		running += model->item[i].processing && model->item[i].run_group == group;
	}
	if (!model->grouped || !model->group_limit || !group)
		return ready;
	if (running >= model->group_limit)
		return 0;
	return ready < model->group_limit - running ? ready : model->group_limit - running;
}

u32 model_nr_offered(const struct model *model)
{
	u32 nr = 0;
	int i;

	for (i = 0; i < NR_GROUPS; i++)
		nr += nr_offered_of(model, i);
	return nr;
}

int model_groups(const struct model *model, int where, int priority, bool returned,
		 int order[NR_GROUPS])
{
	int i, place, nr = 0;

	for (i = 0; i < NR_GROUPS; i++) {
		const struct model_group *group = &model->group[i];

		if (!model->grouped || (int)group->where != where)
			continue;
		if (where == IN_BAND &&
		    (group->priority != priority || group->returned != returned))
			continue;
		for (place = nr++; place > 0; place--) {
			if (group->turn > model->group[order[place - 1]].turn)
				break;
			order[place] = order[place - 1];
		}
		order[place] = i;
	}
	return nr;
}

enum turn { KEEPS, TOOK, AGAIN };

/* After a change of its items: a group that comes to another place comes last there. */
static void find_place(struct model *model, int nr, enum turn turn)
{
	struct model_group *group = &model->group[nr];
	int best = first_of_group(model, nr);
	struct model_group new = {};

	if (!model->grouped)
		return;
	if (best != NOBODY) {
		new.where = nr_offered_of(model, nr) ? IN_BAND : BLOCKED;
		if (new.where == IN_BAND) {
			new.priority = model->item[best].priority;
			new.returned = model->item[best].returned;
		}
	}
	if (turn == KEEPS && new.where == group->where && new.priority == group->priority &&
	    new.returned == group->returned)
		return;
	new.turn = turn == AGAIN ? --model->first_place : ++model->last_place;
	*group = new;
}

/* Each item that can be handed out, and could not before, wakes somebody. */
static void note_offer(struct model *model, u32 before)
{
	u32 after = model_nr_offered(model);

	if (after > before)
		model->readied += after - before;
}

static void join_queue(struct model *model, struct model_item *item, enum turn turn)
{
	u32 before = model_nr_offered(model);

	item->queued = true;
	note_offer(model, before);
	find_place(model, item->group, turn);
}

static void leave_queue(struct model *model, struct model_item *item, enum turn turn)
{
	item->queued = false;
	find_place(model, item->group, turn);
}

void model_set_group(struct model *model, int nr, int group)
{
	struct model_item *item = &model->item[nr];
	u32 before = model_nr_offered(model);
	u64 readied = model->readied;

	if (item->group == group)
		return;
	if (!item->queued) {
		item->group = group;
		return;
	}
	leave_queue(model, item, KEEPS);
	item->group = group;
	item->ready_place = ++model->last_place;
	join_queue(model, item, KEEPS);
	model->readied = readied;
	note_offer(model, before);
}

/* ---- Q16 Q17: who is next ---- */

/* Is it the first one of its band, or that of the first group in its band? */
static bool stands_for_band(const struct model *model, int nr)
{
	const struct model_item *item = &model->item[nr];
	int order[NR_ITEMS], groups[NR_GROUPS], nr_ready, i;

	if (model->grouped) {
		if (model->group[item->group].where != IN_BAND ||
		    first_of_group(model, item->group) != nr)
			return false;
		model_groups(model, IN_BAND, item->priority, item->returned, groups);
		return groups[0] == item->group;
	}
	nr_ready = model_ready(model, order);
	for (i = 0; i < nr_ready; i++)
		if (model->item[order[i]].priority == item->priority &&
		    model->item[order[i]].returned == item->returned)
			return order[i] == nr;
	return false;
}

/* Is it the first one of its priority and lane in its group? */
static bool stands_for_level(const struct model *model, int nr)
{
	int order[NR_ITEMS], nr_ready = model_ready(model, order), i;

	for (i = 0; i < nr_ready; i++)
		if (model->item[order[i]].group == model->item[nr].group &&
		    model->item[order[i]].priority == model->item[nr].priority &&
		    model->item[order[i]].returned == model->item[nr].returned)
			return order[i] == nr;
	return false;
}

static u64 aged_priority(const struct model *model, const struct model_item *item, s64 now)
{
	u64 age = now > item->dirtied ? (u64)now - (u64)item->dirtied : 0;
	u64 priority = item->priority - KWQ_PRIORITY_MIN;

	if (model->aging)
		priority += age / model->aging;
	return priority < 63 ? priority : 63;
}

/* Q17: the first rule that tells them apart. */
static bool is_next_before(const struct model *model, int a, int b, s64 now)
{
	const struct model_item *first = &model->item[a], *second = &model->item[b];
	u64 aged_first = aged_priority(model, first, now);
	u64 aged_second = aged_priority(model, second, now);

	if (aged_first != aged_second)
		return aged_first > aged_second;
	if (model->aging && first->dirtied != second->dirtied)
		return first->dirtied < second->dirtied;
	if (first->returned != second->returned)
		return first->returned;
	return first->priority > second->priority;
}

int model_next(const struct model *model, s64 now)
{
	int i, best = NOBODY, group;

	for (i = 0; i < NR_ITEMS; i++)
		if (model->item[i].queued && stands_for_band(model, i) &&
		    (best == NOBODY || is_next_before(model, i, best, now)))
			best = i;
	if (best == NOBODY || !model->grouped)
		return best;
	group = model->item[best].group;
	if (!model->aging)
		return best;
	for (i = 0, best = NOBODY; i < NR_ITEMS; i++)
		if (model->item[i].queued && model->item[i].group == group &&
		    stands_for_level(model, i) &&
		    (best == NOBODY || is_next_before(model, i, best, now)))
			best = i;
	return best;
}

static int first_blocked(const struct model *model)
{
	int groups[NR_GROUPS];

	if (!model_groups(model, BLOCKED, 0, false, groups))
		return NOBODY;
	return first_of_group(model, groups[0]);
}

int model_any_ready(const struct model *model)
{
	int order[NR_ITEMS], nr = model_ready(model, order), i;

	for (i = 0; i < nr; i++)
		if (stands_for_band(model, order[i]))
			return order[i];
	return first_blocked(model);
}

static int first(const struct model *model, int (*list)(const struct model *, int *))
{
	int order[NR_ITEMS];

	return list(model, order) ? order[0] : NOBODY;
}

/* ---- M1 M2 ---- */

static void record(struct model_histogram *histogram, s64 from, s64 to)
{
	u64 length = to > from ? (u64)to - (u64)from : 0;
	u64 bound = 1000;
	int i;

	/* A core without durations. */
	if (to == KWQ_NO_TIME)
		return;
	for (i = 0; i < KWQ_HISTOGRAM_BUCKETS - 1 && length > bound; i++)
		bound *= 10;
	histogram->counts[i]++;
	histogram->sum += length;
}

void model_gauges(const struct model *model, struct kwq_gauges *gauges, s64 now)
{
	int order[NR_ITEMS];
	int i, nr;

	memset(gauges, 0, sizeof(*gauges));
	nr = model_ready(model, order);
	for (i = 0; i < nr; i++) {
		const struct model_item *item = &model->item[order[i]];

		/* An item behind another one of the same kind cannot be the oldest. */
		if (!stands_for_band(model, order[i]) && order[i] != first_blocked(model))
			continue;
		if (now > item->dirtied && (u64)now - item->dirtied > gauges->oldest_ready)
			gauges->oldest_ready = (u64)now - item->dirtied;
	}
	nr = model_processing(model, order);
	for (i = 0; i < nr; i++) {
		u64 age = now - model->item[order[i]].since;

		if (age > gauges->longest_running)
			gauges->longest_running = age;
		if (__builtin_add_overflow(gauges->unfinished, age, &gauges->unfinished))
			gauges->unfinished = ~0ULL;
	}
}

/* ---- Q: adds ---- */

static void get_ready(struct model *model, struct model_item *item, int priority, bool in_front)
{
	item->dirty = true;
	item->priority = priority;
	item->ready_place = in_front ? --model->first_place : ++model->last_place;
	join_queue(model, item, in_front ? AGAIN : KEEPS);
}

/* ---- K9: flush ---- */

unsigned long model_nr_before(const struct model *model)
{
	unsigned long nr = 0;
	int i;

	for (i = 0; i < NR_ITEMS; i++)
		nr += model->item[i].dirty_before + model->item[i].run_before;
	return nr;
}

static void look_for_end_of_flush(struct model *model)
{
	if (!model->flushing || model_nr_before(model))
		return;
	model->flushing = false;
	model->flushes++;
	model->ended = true;
}

void model_begin_flush(struct model *model)
{
	int i;

	for (i = 0; i < NR_ITEMS; i++) {
		model->item[i].dirty_before = model->item[i].dirty;
		model->item[i].run_before = model->item[i].processing;
	}
	model->flushing = true;
	look_for_end_of_flush(model);
}

void model_await(struct model *model, int nr)
{
	model->item[nr].awaited = true;
}

/* Q12: the priority of a dirty item can only rise. */
static void raise(struct model *model, struct model_item *item, int priority)
{
	if (priority == NONE)
		return;
	if (item->processing) {
		if (priority > item->next_priority)
			item->next_priority = priority;
	} else if (priority > item->priority) {
		u64 readied = model->readied;

		leave_queue(model, item, KEEPS);
		item->priority = priority;
		item->ready_place = ++model->last_place;
		join_queue(model, item, KEEPS);
		model->readied = readied;
	}
}

/* Q12: the priority of an add that names none. */
static int kept(const struct model_item *item)
{
	if (item->processing || item->dead)
		return item->priority;
	if (!item->waiting)
		return 0;
	return item->wait_priority != NONE ? item->wait_priority : item->priority;
}

/* M1: while an item is waiting and processing, nobody notes when it becomes dirty. */
static void leave_wait_or_run(struct model_item *item)
{
	if (item->waiting && item->processing)
		item->dirtied = item->since;
}

/* D9: a waiting item of a small core keeps the start of its wait instead. */
static void note_time(const struct model *model, struct model_item *item, s64 now)
{
	if (!model->small || !item->waiting)
		item->since = now;
}

/* Q1 Q2 Q4: adds an item that is not dead. */
static int add(struct model *model, struct model_item *item, int priority, s64 now)
{
	if (item->dirty) {
		model->coalesced++;
		raise(model, item, priority);
		return item->processing ? KWQ_DIRTY : KWQ_COALESCED;
	}
	model->adds++;
	item->dirtied = now;
	if (item->processing) {
		item->dirty = true;
		item->next_priority = priority;
		return KWQ_DIRTIED;
	}
	item->returned = false;
	get_ready(model, item, priority, false);
	return KWQ_ADDED;
}

static bool refuses(const struct model *model, const struct model_item *item)
{
	return model->shut_down || item->disables;
}

int model_coalesce(struct model *model, int nr)
{
	struct model_item *item = &model->item[nr];

	if (refuses(model, item))
		return -ESHUTDOWN;
	if (!item->dirty && !item->waiting)
		return 0;
	model->coalesced++;
	return item->dirty && item->processing ? KWQ_DIRTY : KWQ_COALESCED;
}

/* L10 */
u32 model_num_requeues(const struct model *model, int nr, s64 now)
{
	const struct model_item *item = &model->item[nr];
	u64 forget_after = model->rate.config.forget_after;

	if (forget_after && model_is_idle(item) && (u64)now - (u64)item->since >= forget_after)
		return 0;
	return item->requeues;
}

/*
 * L11: any add but a rate-limited one revives the item. L12: its losses belong to its
 * former life.
 */
static void revive(struct model_item *item)
{
	if (item->dead)
		item->requeues = 0;
	if (item->dead && !item->processing)
		item->abandoned = 0;
	item->dead = false;
}

int model_add(struct model *model, int nr, int priority, bool end_wait, s64 now)
{
	struct model_item *item = &model->item[nr];
	int result;

	if (refuses(model, item))
		return -ESHUTDOWN;
	item->requeues = model_num_requeues(model, nr, now);
	if (priority == NONE && !item->dirty)
		priority = kept(item);
	revive(item);
	result = add(model, item, priority, now);
	/* D3 Q12 */
	if (end_wait && item->waiting) {
		raise(model, item, item->wait_priority);
		if (result != KWQ_DIRTIED)
			leave_wait_or_run(item);
		item->waiting = false;
	}
	return result;
}

/* ---- D: delays ---- */

/* D1: the item's time has come. */
static int end_wait(struct model *model, struct model_item *item, bool waited, s64 now)
{
	int priority = item->wait_priority;

	if (priority == NONE && !item->dirty)
		priority = kept(item);
	if (waited)
		leave_wait_or_run(item);
	item->waiting = false;
	return add(model, item, priority, now);
}

/* D2 Q12 */
static void merge_wait_priority(struct model_item *item, int priority,
				enum kwq_wait_policy policy)
{
	if (priority != NONE &&
	    (policy == KWQ_WAIT_REPLACE || item->wait_priority == NONE ||
	     priority > item->wait_priority))
		item->wait_priority = priority;
}

static s64 merge_times(s64 first, s64 second, enum kwq_wait_policy policy)
{
	switch (policy) {
	case KWQ_WAIT_EARLIER:
		return second < first ? second : first;
	case KWQ_WAIT_REPLACE:
		return second;
	case KWQ_WAIT_KEEP:
		return first;
	default:
		return second > first ? second : first;
	}
}

static int wait(struct model *model, int nr, int priority, s64 when,
		enum kwq_wait_policy policy, s64 now)
{
	struct model_item *item = &model->item[nr];
	bool waited = item->waiting, moved;

	model->retries++;
	if (waited) {
		merge_wait_priority(item, priority, policy);
		when = merge_times(item->when, when, policy);
	} else {
		item->wait_priority = priority;
		if (!item->processing)
			item->since = now;
		item->wait_since = model->small && item->since != KWQ_NO_TIME ? item->since : now;
	}
	moved = !waited || when != item->when;
	if (moved)
		item->wait_place = ++model->last_place;
	item->waiting = true;
	item->when = when;

	/* D4: an item that had this time already keeps its place, too. */
	if (moved && when <= now && first(model, model_waiting) == nr)
		return end_wait(model, item, waited, now);
	/* D9 M1: a small core that has no time of the hand-out has that of the wait. */
	if (model->small)
		item->since = item->wait_since;
	if (!waited)
		return KWQ_WAITING;
	model->coalesced++;
	return KWQ_COALESCED;
}

int model_add_at(struct model *model, int nr, int priority, s64 when,
		 enum kwq_wait_policy policy, s64 now)
{
	struct model_item *item = &model->item[nr];

	if (refuses(model, item))
		return -ESHUTDOWN;
	item->requeues = model_num_requeues(model, nr, now);
	/* Q12: an idle item has no priority; a dead one keeps it. */
	if (model_is_idle(item))
		item->priority = 0;
	revive(item);
	return wait(model, nr, priority, when, policy, now);
}

/* M1: the time that was so long ago; none if that is not known. */
static s64 ago(s64 now, u64 age)
{
	return age == KWQ_AGE_UNKNOWN ? KWQ_NO_TIME : now - (s64)age;
}

/* U8: nobody else uses the item, so it gets all that was saved. */
static void restore(struct model *model, struct model_item *item,
		    const struct kwq_restored *restored, s64 now)
{
	if (restored->state & (KWQ_IS_READY | KWQ_IS_DEAD))
		item->abandoned = restored->abandoned;
	item->priority = restored->priority;
	item->since = now;
	if (restored->state & KWQ_IS_READY) {
		model->adds++;
		item->dirtied = ago(now, restored->dirty_for);
		item->returned = restored->state & KWQ_IS_RETURNED;
		get_ready(model, item, restored->priority, false);
	}
	if (restored->state & KWQ_IS_WAITING) {
		item->waiting = true;
		item->when = restored->due;
		item->wait_priority = restored->wait_priority;
		item->wait_place = ++model->last_place;
		item->since = now - (s64)restored->waiting_for;
		item->wait_since = item->since;
		if (item->when <= now && first(model, model_waiting) == item - model->item)
			end_wait(model, item, false, now);
	}
	if (restored->state & KWQ_IS_DEAD) {
		model->died++;
		item->dead = true;
		item->dead_place = ++model->last_place;
		item->since = ago(now, restored->dead_for);
	}
}

int model_restore(struct model *model, int nr, const struct kwq_restored *restored, s64 now)
{
	struct model_item *item = &model->item[nr];
	int result = KWQ_COALESCED;
	u32 requeues;

	if (refuses(model, item))
		return -ESHUTDOWN;
	if (model_is_idle(item)) {
		requeues = model_num_requeues(model, nr, now);
		item->requeues = requeues > restored->requeues ? requeues : restored->requeues;
		restore(model, item, restored, now);
		return KWQ_RESTORED;
	}
	if (restored->state & KWQ_IS_WAITING && !(restored->state & KWQ_IS_READY))
		return model_add_at(model, nr, restored->wait_priority, restored->due,
				    KWQ_WAIT_EARLIER, now);
	if (restored->state & KWQ_IS_READY)
		result = model_add(model, nr, restored->priority, false, now);
	if (restored->state & KWQ_IS_WAITING)
		model_add_at(model, nr, restored->wait_priority, restored->due, KWQ_WAIT_EARLIER,
			     now);
	return result;
}

/* D9 D7: until when a wait may be postponed. */
s64 model_latest(const struct model *model, int nr, u64 at_most, s64 now)
{
	const struct model_item *item = &model->item[nr];
	s64 since = item->waiting ? item->wait_since : now;

	/* A restored item may have waited since before the clock began. */
	__int128 latest = (__int128)since + at_most;

	return latest > S64_MAX ? S64_MAX : (s64)latest;
}

int model_expire(struct model *model, s64 now)
{
	int nr = first(model, model_waiting);

	if (model->shut_down || nr == NOBODY || model->item[nr].when > now)
		return NOBODY;
	record(&model->lateness, model->item[nr].when, now);
	end_wait(model, &model->item[nr], true, now);
	return nr;
}

/* K9 */
int model_expedite(struct model *model, int nr, s64 now)
{
	struct model_item *item = &model->item[nr];

	if (refuses(model, item))
		return -ESHUTDOWN;
	return item->waiting ? end_wait(model, item, true, now) : -ENOENT;
}

/* ---- L: retries ---- */

/* L11 */
static int die(struct model *model, struct model_item *item, s64 now)
{
	if (item->dirty || item->waiting) {
		model->coalesced++;
		return item->dirty && item->processing ? KWQ_DIRTY : KWQ_COALESCED;
	}
	model->died++;
	item->dead = true;
	if (!item->processing) {
		item->since = now;
		item->dead_place = ++model->last_place;
	}
	return KWQ_DEAD;
}

/* L1 L10 L11 */
int model_add_rate_limited(struct model *model, int nr, int priority,
			   enum kwq_wait_policy policy, s64 now, u32 random)
{
	const struct kwq_limiter_config *config = &model->rate.config;
	struct model_item *item = &model->item[nr];
	u64 delay;
	s64 when;

	if (refuses(model, item))
		return -ESHUTDOWN;
	if (item->dead)
		return KWQ_DEAD;
	if (item->waiting && config->flags & KWQ_CONFIG_COALESCE) {
		merge_wait_priority(item, priority, policy);
		model->coalesced++;
		return KWQ_COALESCED;
	}
	item->requeues = model_num_requeues(model, nr, now);
	if (config->dead_after && item->requeues >= config->dead_after)
		return die(model, item, now);

	delay = rate_when(&model->rate, item->requeues, now, random);
	model->rate_limited++;
	if (item->requeues < U32_MAX)
		item->requeues++;
	/* D1 D3 */
	if (!delay && policy == KWQ_WAIT_EARLIER) {
		model->retries++;
		if (priority == NONE && !item->dirty)
			priority = kept(item);
		return add(model, item, priority, now);
	}
	if (model_is_idle(item))
		item->priority = 0;
	/* D7 */
	when = delay > (u64)(S64_MAX - now) ? S64_MAX : now + (s64)delay;
	return wait(model, nr, priority, when, policy, now);
}

/* L8 L10 */
u32 model_forget(struct model *model, int nr, s64 now)
{
	u32 had = model_num_requeues(model, nr, now);

	model->item[nr].requeues = 0;
	return had;
}

/* L11 */
int model_give_up(struct model *model, int nr, s64 now)
{
	struct model_item *item = &model->item[nr];

	if (refuses(model, item))
		return -ESHUTDOWN;
	return item->dead ? KWQ_DEAD : die(model, item, now);
}

/* ---- Q5 Q6: get and done ---- */

static void hand_out(struct model *model, int nr, int holder, s64 now)
{
	struct model_item *item = &model->item[nr];

	item->run_before = item->dirty_before;
	item->dirty_before = false;
	item->dirty = false;
	item->processing = true;
	item->holder = holder;
	item->run_group = item->group;
	leave_queue(model, item, TOOK);
	note_time(model, item, now);
	item->run_place = ++model->last_place;
	model->gets++;
	record(&model->queue_duration, item->dirtied, now);
}

int model_get(struct model *model, int holder, s64 now)
{
	int nr = model_next(model, now);

	/* Q14 */
	if (nr == NOBODY || model->pauses)
		return NOBODY;
	hand_out(model, nr, holder, now);
	return nr;
}

/* K9 */
int model_get_item(struct model *model, int holder, int nr, s64 now)
{
	struct model_item *item = &model->item[nr];

	if (item->processing)
		return -EBUSY;
	if (item->waiting && !model->shut_down)
		end_wait(model, item, true, now);
	if (!item->dirty)
		return -ENOENT;
	hand_out(model, nr, holder, now);
	return 0;
}

/* Ends the holding of an item. K3: a disabled item ends here, however its run ended. */
static bool let_go(struct model *model, struct model_item *item)
{
	u32 before = model_nr_offered(model);

	item->processing = false;
	note_offer(model, before);
	find_place(model, item->run_group, KEEPS);
	model->ended |= item->awaited;
	item->awaited = false;
	if (!item->disables && !model->cancelled)
		return false;
	item->dirty_before = false;
	item->run_before = false;
	look_for_end_of_flush(model);
	item->dead = false;
	item->dirty = false;
	item->abandoned = 0;
	if (item->disables)
		model->ended = true;
	if (model->cancelled) {
		item->requeues = 0;
		model->removed++;
	}
	return true;
}

/* Q8: a shut down drops the counts of requeues, too. */
static void drop(struct model *model, struct model_item *item)
{
	if (item->dead)
		item->abandoned = 0;
	leave_wait_or_run(item);
	item->waiting = false;
	item->dead = false;
	if (model_is_idle(item))
		item->requeues = 0;
	model->dropped++;
}

int model_done(struct model *model, int holder, int nr, s64 now)
{
	struct model_item *item = &model->item[nr];
	int result = KWQ_FINISHED;

	if (!item->processing)
		return -ENOENT;
	if (item->holder != holder)
		return -EPERM;
	model->dones++;
	record(&model->work_duration, item->since, now);
	item->abandoned = 0;
	leave_wait_or_run(item);
	note_time(model, item, now);
	if (let_go(model, item))
		return KWQ_FINISHED;
	item->run_before = false;
	look_for_end_of_flush(model);
	if (item->waiting && !model->shut_down)
		result |= KWQ_STILL_WAITING;
	if (item->dirty) {
		item->returned = false;
		get_ready(model, item, item->next_priority, false);
		return result | KWQ_REQUEUED;
	}
	/* Q10 */
	if (item->dead && model->shut_down)
		drop(model, item);
	else if (item->dead)
		item->dead_place = ++model->last_place;
	return result;
}

/* L11: an add or a time that came meanwhile saves the item. */
int model_bury(struct model *model, int holder, int nr, s64 now)
{
	struct model_item *item = &model->item[nr];
	int result;

	if (item->processing && item->holder == holder)
		model_give_up(model, nr, now);
	result = model_done(model, holder, nr, now);
	if (result < 0)
		return result;
	return item->dead && !item->processing ? KWQ_BURIED : result;
}

/* ---- O: items that come back undone ---- */

/* L11: an item that nobody finished does not die. */
static int undone_priority(struct model_item *item)
{
	item->dead = false;
	return item->dirty && item->next_priority > item->priority ? item->next_priority :
								     item->priority;
}

/* K9: the next run counts for both. */
static void carry_on(struct model_item *item)
{
	item->dirty_before |= item->run_before;
	item->run_before = false;
}

/* Returns false if it is cancelled, and so ends. */
static bool put_back(struct model *model, struct model_item *item)
{
	int priority = undone_priority(item);
	bool moved = priority > item->priority || item->run_group != item->group;

	/* Q17: it was dirty before its hand-out. */
	if (item->dirty && !model->small && item->since < item->dirtied)
		item->dirtied = item->since;
	leave_wait_or_run(item);
	if (let_go(model, item))
		return false;
	carry_on(item);
	get_ready(model, item, priority, !moved);
	return true;
}

/* O2 */
void model_unget(struct model *model, int nr)
{
	model->gets--;
	put_back(model, &model->item[nr]);
}

/* O2 */
int model_give_back(struct model *model, int holder, int nr, s64 now)
{
	struct model_item *item = &model->item[nr];

	if (!item->processing)
		return -ENOENT;
	if (item->holder != holder)
		return -EPERM;
	model->returned++;
	if (!put_back(model, item)) {
		note_time(model, item, now);
		return KWQ_FINISHED;
	}
	return item->waiting && !model->shut_down ? KWQ_RETURNED | KWQ_STILL_WAITING : KWQ_RETURNED;
}

/* O1 L12 */
int model_abandon(struct model *model, int nr, s64 now)
{
	u32 limit = model->rate.config.dead_after_lost;
	struct model_item *item = &model->item[nr];
	bool was_to_die = item->dead;
	int priority = undone_priority(item);

	model->abandoned++;
	leave_wait_or_run(item);
	if (item->abandoned < U32_MAX)
		item->abandoned++;
	if (let_go(model, item)) {
		note_time(model, item, now);
		return KWQ_FINISHED;
	}
	if (limit && item->abandoned >= limit && !item->dirty && !item->waiting) {
		model->died += !was_to_die;
		item->dead = true;
		item->since = now;
		item->run_before = false;
		look_for_end_of_flush(model);
		item->dead_place = ++model->last_place;
		/* Q10 */
		if (model->shut_down)
			drop(model, item);
		return KWQ_DEAD;
	}
	carry_on(item);
	if (!item->dirty)
		item->dirtied = now;
	item->returned = item->abandoned == 1 && !model->small;
	get_ready(model, item, priority, model->small && item->abandoned == 1);
	return KWQ_REQUEUED;
}

/* ---- Q8 Q10 Q11 K3: ends ---- */

int model_remove(struct model *model, int nr)
{
	struct model_item *item = &model->item[nr];
	int was = 0;

	if (model_is_idle(item))
		return -ENOENT;
	if (item->waiting)
		was |= KWQ_WAS_WAITING;
	if (item->dead)
		was |= KWQ_WAS_DEAD;
	if (item->processing)
		was |= KWQ_WAS_PROCESSING;
	if (item->dirty)
		was |= item->processing ? KWQ_WAS_DIRTY : KWQ_WAS_READY;
	item->dirty = false;
	if (item->queued)
		leave_queue(model, item, KEEPS);
	item->dirty_before = false;
	look_for_end_of_flush(model);
	leave_wait_or_run(item);
	item->waiting = false;
	item->dead = false;
	item->requeues = 0;
	if (!item->processing)
		item->abandoned = 0;
	model->removed++;
	return was;
}

int model_disable(struct model *model, int nr)
{
	int was = model_remove(model, nr);

	model->item[nr].disables++;
	return was == -ENOENT ? 0 : was;
}

/* K8: of an item that is not processing. */
void model_enable(struct model *model, int nr)
{
	model->item[nr].disables--;
}

/* K3: in a queue that is shut down. Items being processed continue. */
void model_cancel_all(struct model *model)
{
	model->cancelled = true;
}

bool model_may_drop(const struct model *model, int nr)
{
	if (first(model, model_waiting) != NOBODY)
		return nr != NOBODY && model->item[nr].waiting;
	return nr == first(model, model_dead);
}

void model_drop(struct model *model, int nr)
{
	drop(model, &model->item[nr]);
}
