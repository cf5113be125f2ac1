// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/kwq_backoff.h>
#include <linux/limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "core/core.h"
#include "core/limiter.h"
#include "core/line.h"
#include "tests/core/core_calls.h"
#include "model.h"
#include "random.h"
#include "sequence.h"

struct run {
	struct kwq_bulk bulk;	/* of @core, if it is large */
	struct kwq_core core;
	struct kwq_holder holder[NR_HOLDERS];
	struct kwq_grouped_item of[NR_ITEMS];
	struct kwq_group group[NR_GROUPS];	/* the first one stands for none */
	struct model model;
	s64 now;
	bool no_durations;
	struct difference *difference;
	FILE *out;	/* of a run that is printed: the model alone */
};

/* ---- The operands of an operation ---- */

static const u8 shares[NR_KINDS] = {
	[ADD]			= 14,
	[ADD_AT]		= 12,
	[ADD_RATE_LIMITED]	= 12,
	[GET]			= 16,
	[GET_ITEM]		= 3,
	[DONE]			= 13,
	[BURY]			= 2,
	[CLOCK]			= 9,
	[EXPIRE]		= 9,
	[ABANDON]		= 4,
	[UNGET]			= 4,
	[GIVE_BACK]		= 2,
	[REMOVE]		= 2,
	[COALESCE]		= 1,
	[EXPEDITE]		= 2,
	[AWAIT]			= 1,
	[FLUSH]			= 2,
	[PAUSE]			= 1,
	[FORGET]		= 1,
	[GIVE_UP]		= 2,
	[DROP]			= 2,
	[DISABLE]		= 1,
	[ENABLE]		= 1,
	[CANCEL_ALL]		= 1,
	[ITEM_INIT]		= 1,
	[CONFIGURE]		= 2,
	[WHEN]			= 1,
	[BACKOFF]		= 1,
	[REQUEUES]		= 1,
	[ABANDONED]		= 1,
	[SHUT_DOWN]		= 1,
	[SET_GROUP]		= 1,
	[AGING]			= 1,
	[RESTORE]		= 1,
};

enum kind op_kind(const struct op *op)
{
	unsigned int code = op->kind % NR_CODES;
	enum kind kind = 0;

	while (code >= shares[kind])
		code -= shares[kind++];
	return kind;
}

static int op_item(const struct op *op)
{
	return op->who % NR_ITEMS;
}

static int op_holder(const struct op *op)
{
	return op->who / NR_ITEMS % NR_HOLDERS;
}

/* Picks mostly an item that is being processed, if there is one. */
static int op_processing(const struct run *run, const struct op *op)
{
	int order[NR_ITEMS];
	int nr = model_processing(&run->model, order);

	return nr && op->how & 0x18 ? order[op->who % nr] : op_item(op);
}

static int op_priority(const struct run *run, const struct op *op)
{
	static const s8 few[] = { KWQ_PRIORITY_NONE, KWQ_PRIORITY_NONE, 0, -1, 1, 2,
				  KWQ_PRIORITY_MIN, KWQ_PRIORITY_MAX };

	if (run->model.small)
		return op->priority < 0 ? KWQ_PRIORITY_NONE : 0;
	/* A few priorities, so that items often share one. */
	if (op->priority < 0)
		return few[op->priority & 7];
	return op->priority % KWQ_NR_PRIORITIES + KWQ_PRIORITY_MIN;
}

static enum kwq_wait_policy op_policy(const struct op *op)
{
	return op->how & 0x40 ? op->how & 3 : KWQ_WAIT_EARLIER;
}

static s64 later(s64 now, u64 ns)
{
	return ns > (u64)(S64_MAX - now) ? S64_MAX : now + (s64)ns;
}

/*
 * A time: near, at a bound of the histograms, far, at the end, in the past, or that of
 * another item.
 */
static s64 op_time(const struct run *run, const struct op *op)
{
	u64 value = op->value >> 4;
	u64 bound = 1000;
	int order[NR_ITEMS];
	int nr;

	switch (op->value % 16) {
	case 0:
		return run->now;
	case 1:
		return run->now > (s64)(value % 16) ? run->now - (s64)(value % 16) : 0;
	case 2:
		return S64_MAX - (s64)(value % 4);
	case 3:
		return later(run->now, value << (value % 36));
	case 4:
		for (; value % 11; value--)
			bound *= 10;
		return later(run->now, bound + (value / 11) % 3 - 1);
	case 5:
	case 6:
	case 7:
		nr = model_waiting(&run->model, order);
		if (!nr)
			return later(run->now, value % 8);
		return later(run->model.item[order[value % nr]].when, value / 8 % 3) - 1;
	default:
		return later(run->now, value % 16);
	}
}

/* ---- Configurations ---- */

static u64 some_length(u64 *state)
{
	u64 value = random_next(state);

	switch (value % 8) {
	case 0:
		return S64_MAX - (value >> 8) % 3;
	case 1:
		return value >> (value >> 8) % 64 >> 1;
	case 2:
		return 1ULL << (value >> 8) % 63;
	case 3:
		return (value >> 8) % 10000;
	case 4:
		/* Sometimes a length that is too long. */
		return (value >> 8) % 16 ? 0 : 1ULL << 63;
	default:
		return (value >> 8) % 20;
	}
}

static u32 some_number(u64 *state)
{
	u64 value = random_next(state);

	return value % 4 ? (value >> 8) % 6 : value >> 32 >> (value >> 8) % 32;
}

static void some_limiter(u64 *state, struct kwq_limiter *limiter)
{
	limiter->kind = random_next(state) % 64 ? random_next(state) % 4 + 1 : some_number(state);
	switch (limiter->kind) {
	case KWQ_LIMITER_EXPONENTIAL:
		limiter->u.exponential.base = some_length(state);
		limiter->u.exponential.max = some_length(state);
		break;
	case KWQ_LIMITER_FAST_SLOW:
		limiter->u.fast_slow.fast = some_length(state);
		limiter->u.fast_slow.slow = some_length(state);
		limiter->u.fast_slow.nr_fast = some_number(state);
		break;
	case KWQ_LIMITER_BUCKET:
		limiter->u.bucket.period = some_length(state);
		limiter->u.bucket.events = some_number(state);
		limiter->u.bucket.burst = some_number(state);
		break;
	case KWQ_LIMITER_BACKOFF:
		limiter->u.backoff.duration = some_length(state);
		limiter->u.backoff.cap = some_length(state);
		limiter->u.backoff.factor = random_next(state) % 4 ?
			KWQ_ONE + some_number(state) * 1000 : some_number(state);
		limiter->u.backoff.jitter = random_next(state) % 2 ? 0 : some_number(state) * 7000;
		limiter->u.backoff.steps = some_number(state);
		break;
	default:
		break;
	}
	/* Sometimes a value in a member that must be zero. */
	if (random_next(state) % 64 == 0)
		limiter->u.space[random_next(state) % 4] = some_number(state);
	if (random_next(state) % 128 == 0)
		limiter->pad = 1;
}

static void some_config(u32 value, struct kwq_limiter_config *config)
{
	u64 state = value;
	u32 i;

	memset(config, 0, sizeof(*config));
	config->flags = random_next(&state) % 32 ? random_next(&state) % 2 : some_number(&state);
	config->dead_after = random_next(&state) % 2 ? 0 : some_number(&state);
	config->dead_after_lost = random_next(&state) % 2 ? 0 : some_number(&state);
	config->max_wait = random_next(&state) % 4 ? 0 : some_length(&state);
	config->forget_after = random_next(&state) % 2 ? 0 : some_length(&state);
	config->nr = random_next(&state) % 32 ? random_next(&state) % 4 :
						random_next(&state) % (KWQ_LIMITERS_MAX + 2);
	for (i = 0; i < config->nr && i < KWQ_LIMITERS_MAX; i++)
		some_limiter(&state, &config->limiters[i]);
}

/* ---- Printing as a KUnit case ---- */

static const char item_names[NR_ITEMS] = { 'a', 'b', 'c', 'd', 'e' };
static const char holder_names[NR_HOLDERS] = { 'x', 'y', 'z' };

static const char *priority_name(int priority)
{
	static char name[8];

	if (priority == KWQ_PRIORITY_NONE)
		return "NONE";
	snprintf(name, sizeof(name), "%d", priority);
	return name;
}

static const char *policy_name(enum kwq_wait_policy policy)
{
	static const char *const names[] = {
		[KWQ_WAIT_EARLIER] = "KWQ_WAIT_EARLIER",
		[KWQ_WAIT_REPLACE] = "KWQ_WAIT_REPLACE",
		[KWQ_WAIT_KEEP] = "KWQ_WAIT_KEEP",
		[KWQ_WAIT_LATER] = "KWQ_WAIT_LATER",
	};

	return names[policy];
}

static const char *error_name(int error)
{
	switch (error) {
	case -ESHUTDOWN:
		return "-ESHUTDOWN";
	case -ENOENT:
		return "-ENOENT";
	case -EPERM:
		return "-EPERM";
	case -EBUSY:
		return "-EBUSY";
	default:
		return "-EINVAL";
	}
}

static const char *add_name(int result)
{
	static const char *const names[] = {
		[KWQ_ADDED] = "KWQ_ADDED",
		[KWQ_COALESCED] = "KWQ_COALESCED",
		[KWQ_DIRTIED] = "KWQ_DIRTIED",
		[KWQ_WAITING] = "KWQ_WAITING",
		[KWQ_DEAD] = "KWQ_DEAD",
		[KWQ_DIRTY] = "KWQ_DIRTY",
		[KWQ_RESTORED] = "KWQ_RESTORED",
	};

	return result < 0 ? error_name(result) : names[result];
}

static const char *nothing_or_add_name(int result)
{
	return result ? add_name(result) : "0";
}

static const char *done_name(int result)
{
	static const char *const names[] = {
		[KWQ_FINISHED] = "KWQ_FINISHED",
		[KWQ_REQUEUED] = "KWQ_REQUEUED",
		[KWQ_STILL_WAITING] = "KWQ_STILL_WAITING",
		[KWQ_REQUEUED | KWQ_STILL_WAITING] = "KWQ_REQUEUED | KWQ_STILL_WAITING",
		[KWQ_BURIED] = "KWQ_BURIED",
		[KWQ_RETURNED] = "KWQ_RETURNED",
		[KWQ_RETURNED | KWQ_STILL_WAITING] = "KWQ_RETURNED | KWQ_STILL_WAITING",
	};

	return result < 0 ? error_name(result) : names[result];
}

static const char *was_name(int was)
{
	static const char *const names[] = {
		"KWQ_WAS_READY", "KWQ_WAS_WAITING", "KWQ_WAS_PROCESSING", "KWQ_WAS_DIRTY",
		"KWQ_WAS_DEAD",
	};
	static char all[128];
	int i;

	if (was < 0)
		return error_name(was);
	if (!was)
		return "0";
	all[0] = '\0';
	for (i = 0; i < 5; i++) {
		if (!(was & 1 << i))
			continue;
		if (all[0])
			strcat(all, " | ");
		strcat(all, names[i]);
	}
	return all;
}

static const char *number_name(u64 number)
{
	static char name[32];

	snprintf(name, sizeof(name), number > INT32_MAX ? "%lluULL" : "%llu",
		 (unsigned long long)number);
	return name;
}

/* Prints an operation with the answer of the model. */
static void __attribute__((format(printf, 3, 4)))
say(const struct run *run, const char *answer, const char *format, ...)
{
	va_list args;

	if (!run->out)
		return;
	fprintf(run->out, answer ? "\tKUNIT_EXPECT_EQ(test, " : "\t");
	va_start(args, format);
	vfprintf(run->out, format, args);
	va_end(args);
	if (answer)
		fprintf(run->out, ",\n\t\t\t%s)", answer);
	fprintf(run->out, ";\n");
}

static void __attribute__((format(printf, 3, 4)))
say_item(const struct run *run, int nr, const char *format, ...)
{
	va_list args;

	if (!run->out)
		return;
	fprintf(run->out, "\tKUNIT_EXPECT_PTR_EQ(test, ");
	va_start(args, format);
	vfprintf(run->out, format, args);
	va_end(args);
	if (nr == NOBODY)
		fprintf(run->out, ",\n\t\t\t    (struct kwq_item *)NULL);\n");
	else
		fprintf(run->out, ",\n\t\t\t    &t->%c);\n", item_names[nr]);
}

static void say_limiter(FILE *out, const struct kwq_limiter *limiter)
{
	int i;

	fprintf(out, "\t\t\t\t{ .kind = %u, .pad = %u, .u.space = {", limiter->kind, limiter->pad);
	for (i = 0; i < 4; i++)
		fprintf(out, "%s %#llxULL", i ? "," : "", (unsigned long long)limiter->u.space[i]);
	fprintf(out, " } },\n");
}

static void say_config(const struct run *run, const struct kwq_limiter_config *config, bool valid)
{
	FILE *out = run->out;
	u32 i;

	if (!out)
		return;
	fprintf(out, "\t{\n\t\tstatic const struct kwq_limiter_config config = {\n");
	fprintf(out, "\t\t\t.flags = %u, .dead_after = %u, .dead_after_lost = %u, .nr = %u,\n",
		config->flags, config->dead_after, config->dead_after_lost, config->nr);
	fprintf(out, "\t\t\t.max_wait = %lluULL, .forget_after = %lluULL,\n",
		(unsigned long long)config->max_wait, (unsigned long long)config->forget_after);
	fprintf(out, "\t\t\t.limiters = {\n");
	for (i = 0; i < config->nr && i < KWQ_LIMITERS_MAX; i++)
		say_limiter(out, &config->limiters[i]);
	fprintf(out, "\t\t\t},\n\t\t};\n");
	fprintf(out, "\n\t\tKUNIT_EXPECT_EQ(test, kwq_limiter_config_check(&config),\n"
		"\t\t\t\t%s);\n",
		valid ? "0" : "-EINVAL");
	if (valid)
		fprintf(out, "\t\tkwq_test_limit(test, &t->core.limiter, &config, %lld);\n",
			(long long)run->now);
	fprintf(out, "\t}\n");
}

/* Prints the backoff before its steps. */
static void say_backoff(const struct run *run, const struct kwq_backoff *b, u64 reset, u64 now,
			bool valid)
{
	FILE *out = run->out;

	if (!out)
		return;
	/* core_test.c itself does not need <linux/kwq_backoff.h>. */
	fprintf(out, "\t{\n\t\tstatic const struct kwq_backoff backoff = {\n");
	fprintf(out, "\t\t\t.duration = %lluULL, .cap = %lluULL,\n",
		(unsigned long long)b->duration, (unsigned long long)b->cap);
	fprintf(out, "\t\t\t.factor = %u, .jitter = %u, .steps = %u, .pad = %u,\n\t\t};\n",
		b->factor, b->jitter, b->steps, b->pad);
	fprintf(out, "\t\tstruct kwq_backoff_manager manager;\n\n");
	fprintf(out, "\t\tKUNIT_EXPECT_EQ(test, kwq_backoff_check(&backoff), %s);\n",
		valid ? "0" : "-EINVAL");
	fprintf(out, "\t\tkwq_backoff_manager_init(&manager, &backoff, %lluULL, %llu);\n",
		(unsigned long long)reset, (unsigned long long)now);
	if (!valid)
		fprintf(out, "\t}\n");
}

/* M1: the time of an add without options, a hand-out or a done. */
static s64 stamp(const struct run *run)
{
	return run->no_durations ? KWQ_NO_TIME : run->now;
}

/* Any number, in C. */
static const char *time_name(s64 time)
{
	static char name[32];

	if (time == KWQ_NO_TIME)
		return "KWQ_NO_TIME";
	snprintf(name, sizeof(name), "%lld", (long long)time);
	return name;
}

/* ---- Comparing ---- */

static bool __attribute__((format(printf, 4, 5)))
same(struct run *run, s64 got, s64 wanted, const char *format, ...)
{
	struct difference *difference = run->difference;
	va_list args;

	if (got == wanted)
		return true;
	va_start(args, format);
	vsnprintf(difference->what, sizeof(difference->what), format, args);
	va_end(args);
	difference->got = got;
	difference->wanted = wanted;
	return false;
}

/* The printed operation contains the expected answer, so no further check is printed. */
static bool answered(struct run *run, s64 got, s64 wanted)
{
	return same(run, got, wanted, "%s", "");
}

static int number_of(const struct run *run, const struct kwq_item *item)
{
	if (!item)
		return NOBODY;
	return container_of(item, struct kwq_grouped_item, item) - run->of;
}

static u8 state_of(const struct model_item *item)
{
	return (item->dirty ? KWQ_ITEM_DIRTY : 0) |
	       (item->processing ? KWQ_ITEM_PROCESSING : 0) |
	       (item->waiting ? KWQ_ITEM_WAITING : 0) |
	       (item->dead ? KWQ_ITEM_DEAD : 0) |
	       (item->disables ? KWQ_ITEM_DISABLED : 0);
}

static bool same_item(struct run *run, int nr)
{
	const struct kwq_item *item = &run->of[nr].item;
	const struct model_item *wanted = &run->model.item[nr];
	const char name = item_names[nr];

	if (!same(run, item->state, state_of(wanted), "t->%c.state", name) ||
	    !same(run, item->requeues, wanted->requeues, "t->%c.requeues", name) ||
	    !same(run, kwq_core_num_requeues(&run->core, item, run->now),
		  model_num_requeues(&run->model, nr, run->now),
		  "kwq_core_num_requeues(&t->core, &t->%c, %lld)", name, (long long)run->now))
		return false;
	if (!model_is_idle(wanted) &&
	    !same(run, item->abandoned, wanted->abandoned, "t->%c.abandoned", name))
		return false;
	if ((wanted->dirty || wanted->processing) &&
	    !same(run, item->priority, wanted->priority, "t->%c.priority", name))
		return false;
	if (wanted->dirty && wanted->processing &&
	    !same(run, item->next_priority, wanted->next_priority, "t->%c.next_priority", name))
		return false;
	if (wanted->dirty && !run->model.small && !(wanted->waiting && wanted->processing) &&
	    !same(run, item->dirtied, wanted->dirtied, "t->%c.dirtied", name))
		return false;
	if (wanted->waiting &&
	    (!same(run, item->wait_priority, wanted->wait_priority, "t->%c.wait_priority", name) ||
	     !same(run, kwq_core_due(&run->core, item), wanted->when,
		   "kwq_core_due(&t->core, &t->%c)", name) ||
	     !same(run, kwq_core_waiting_since(&run->core, item), wanted->wait_since,
		   "kwq_core_waiting_since(&t->core, &t->%c)", name)))
		return false;
	if (wanted->processing &&
	    !same(run, item->holder == &run->holder[wanted->holder], true,
		  "t->%c.holder == &t->%c", name, holder_names[wanted->holder]))
		return false;
	return (!wanted->processing && !wanted->dead) ||
	       same(run, item->since, wanted->since, "t->%c.since", name);
}

static bool same_histogram(struct run *run, const char *name, const struct kwq_histogram *got,
			   const struct model_histogram *wanted)
{
	int i;

	if (!same(run, got->sum, (u64)wanted->sum, "t->bulk.%s.sum", name) ||
	    !same(run, got->sum_high, (u64)(wanted->sum >> 64), "t->bulk.%s.sum_high", name))
		return false;
	for (i = 0; i < KWQ_HISTOGRAM_BUCKETS; i++)
		if (!same(run, got->counts[i], wanted->counts[i], "t->bulk.%s.counts[%d]", name, i))
			return false;
	return true;
}

static bool same_counters(struct run *run)
{
	const struct kwq_core *core = &run->core;
	const struct model *model = &run->model;

	return same(run, core->readied, (u32)model->readied, "t->core.readied") &&
	       same(run, core->ended, model->ended, "t->core.ended") &&
	       same(run, core->flushes, (u16)model->flushes, "t->core.flushes") &&
	       same(run, core->nr_before, model_nr_before(model), "t->core.nr_before") &&
	       same(run, core->paused, model->pauses, "t->core.paused") &&
	       same(run, core->nr_dirty_processing, model_nr_dirty_processing(model),
		    "t->core.nr_dirty_processing") &&
	       same(run, core->shut_down, model->shut_down, "t->core.shut_down") &&
	       same(run, kwq_core_is_small(core), model->small, "kwq_core_is_small(&t->core)");
}

/* M1: only a large core counts them. */
static bool same_metrics(struct run *run)
{
	const struct kwq_bulk *bulk = &run->bulk;
	const struct model *model = &run->model;

	if (model->small)
		return true;
	return same(run, bulk->adds, model->adds, "t->bulk.adds") &&
	       same(run, bulk->coalesced, model->coalesced, "t->bulk.coalesced") &&
	       same(run, bulk->gets, model->gets, "t->bulk.gets") &&
	       same(run, bulk->dones, model->dones, "t->bulk.dones") &&
	       same(run, bulk->abandoned, model->abandoned, "t->bulk.abandoned") &&
	       same(run, bulk->returned, model->returned, "t->bulk.returned") &&
	       same(run, bulk->removed, model->removed, "t->bulk.removed") &&
	       same(run, bulk->dropped, model->dropped, "t->bulk.dropped") &&
	       same(run, bulk->retries, model->retries, "t->bulk.retries") &&
	       same(run, bulk->rate_limited, model->rate_limited, "t->bulk.rate_limited") &&
	       same(run, bulk->died, model->died, "t->bulk.died") &&
	       same_histogram(run, "queue_duration", &bulk->queue_duration,
			      &model->queue_duration) &&
	       same_histogram(run, "work_duration", &bulk->work_duration, &model->work_duration) &&
	       same_histogram(run, "lateness", &bulk->lateness, &model->lateness);
}

/* A queue without durations does not ask for the gauges. */
static bool same_gauges(struct run *run)
{
	struct kwq_gauges got, wanted;

	if (run->model.small || run->no_durations)
		return true;
	memset(&got, 0xff, sizeof(got));
	kwq_core_gauges(&run->core, &got, run->now);
	model_gauges(&run->model, &wanted, run->now);
	return same(run, got.oldest_ready, wanted.oldest_ready, "@oldest_ready") &&
	       same(run, got.longest_running, wanted.longest_running, "@longest_running") &&
	       same(run, got.unfinished, wanted.unfinished, "@unfinished");
}

/* Compares a list with @order: the same items in the same order, and no others. */
static bool same_list(struct run *run, const struct list_head *list, const char *name,
		      const int *order, int nr)
{
	const struct list_head *at = list;
	int i;

	for (i = 0; i < nr; i++) {
		const struct list_head *last = at;

		at = at->next;
		if (!same(run, at == list ? NOBODY :
			  number_of(run, list_entry(at, struct kwq_item, link)), order[i],
			  "@%s", name) ||
		    !same(run, at->prev == last, true, "@%s", name))
			return false;
	}
	return same(run, at->next == list && list->prev == at, true, "@%s", name);
}

/* The same for the ring of dead items, of which the core has the last one. */
static bool same_ring(struct run *run, const struct list_head *last, const int *order, int nr)
{
	const struct list_head *at = last;
	int i;

	if (!same(run, !last, !nr, "@dead"))
		return false;
	for (i = 0; i < nr; i++) {
		const struct list_head *before = at;

		at = at->next;
		if (!same(run, number_of(run, list_entry(at, struct kwq_item, link)), order[i],
			  "@dead") ||
		    !same(run, at->prev == before, true, "@dead"))
			return false;
	}
	return same(run, at == last, true, "@dead");
}

static bool same_line(struct run *run, const struct kwq_line *line, const char *name,
		      const int *order, int nr)
{
	struct hlist_node *const *link = &line->nodes.first;
	const struct hlist_node *node;
	int i;

	for (i = 0; i < nr; i++, link = &node->next) {
		node = *link;
		if (!same(run, !node ? NOBODY :
			  number_of(run, hlist_entry(node, struct kwq_item, node)), order[i],
			  "@%s", name) ||
		    !same(run, node->pprev == link, true, "@%s", name))
			return false;
	}
	return same(run, !*link && line->end == link, true, "@%s", name);
}

/* K6: the processing items of a small core, and behind them the ready ones, are one list. */
static bool same_items(struct run *run)
{
	const struct list_head *list = &run->core.items, *at = list;
	int order[2 * NR_ITEMS];
	int nr = model_processing(&run->model, order);
	int all = nr + model_ready(&run->model, order + nr);
	int i;

	for (i = 0; i < nr; i++)
		at = at->next;
	return same_list(run, list, "items", order, all) &&
	       same(run, run->core.first_ready == at->next, true, "@items");
}

/* Q16: compares the ready items of a group, and where it waits for its turn. */
static bool same_group(struct run *run, int nr, const int *all, int nr_all)
{
	const struct model_group *wanted = &run->model.group[nr];
	const struct kwq_group *group = nr ? &run->group[nr] : &run->bulk.order.ungrouped;
	const struct kwq_item *head, *item;
	const struct rb_node *node;
	int i, at = 0, order[NR_ITEMS];

	for (i = 0; i < nr_all; i++)
		if (run->model.item[all[i]].group == nr)
			order[at++] = all[i];
	if (!same(run, group->nr_ready, at, "group %d: nr_ready", nr) ||
	    !same(run, group->place, wanted->where, "group %d: place", nr))
		return false;
	if (wanted->where == IN_BAND &&
	    (!same(run, group->priority, wanted->priority, "group %d: priority", nr) ||
	     !same(run, group->lane == KWQ_LANE_RETURNED, wanted->returned, "group %d: lane", nr)))
		return false;
	i = 0;
	for (node = rb_first(&group->levels); node; node = rb_next(node)) {
		head = &container_of(node, struct kwq_grouped_item, member.level)->item;
		item = head;
		do {
			if (!same(run, number_of(run, item), i < at ? order[i++] : NOBODY,
				  "@ready"))
				return false;
			item = list_entry(item->link.next, struct kwq_item, link);
		} while (item != head);
	}
	return same(run, i, at, "@ready");
}

/* Compares the groups of a list with those of the model, in their order. */
static bool same_groups(struct run *run, const struct kwq_line *line, int where, int priority,
			bool returned)
{
	int order[NR_GROUPS], nr = model_groups(&run->model, where, priority, returned, order), i;
	struct hlist_node *const *link = &line->nodes.first;

	for (i = 0; i < nr; i++, link = &(*link)->next)
		if (!same(run, *link == (order[i] ? &run->group[order[i]].node :
						    &run->bulk.order.ungrouped.node),
			  true, "@ready"))
			return false;
	return same(run, !*link && line->end == link, true, "@ready");
}

static bool same_ready_in_groups(struct run *run, const int *order, int nr)
{
	int lane, level, i;

	for (i = 0; i < NR_GROUPS; i++)
		if (!same_group(run, i, order, nr))
			return false;
	for (lane = 0; lane < KWQ_NR_LANES; lane++)
		for (level = 0; level < KWQ_NR_PRIORITIES; level++)
			if (!same(run, !(run->bulk.occupied[lane] & 1ULL << level),
				  kwq_line_is_empty(&run->bulk.bands[lane][level]),
				  "t->bulk.occupied[%d]", lane) ||
			    !same_groups(run, &run->bulk.bands[lane][level], IN_BAND,
					 level + KWQ_PRIORITY_MIN, lane == KWQ_LANE_RETURNED))
				return false;
	return same_groups(run, &run->bulk.order.blocked, BLOCKED, 0, false) &&
	       same(run, run->bulk.order.nr_blocked, nr - model_nr_offered(&run->model),
		    "t->bulk.order.nr_blocked");
}

/* Compares band by band: items of one priority and lane are adjacent in the order. */
static bool same_ready(struct run *run)
{
	u64 occupied[KWQ_NR_LANES] = {};
	int order[NR_ITEMS];
	int nr = model_ready(&run->model, order);
	int next = run->model.pauses ? NOBODY : model_next(&run->model, run->now);
	int lane, i, end;

	if (!same(run, run->core.nr_ready, nr, "t->core.nr_ready") ||
	    !same(run, number_of(run, kwq_core_first_ready(&run->core)),
		  model_any_ready(&run->model), "@ready") ||
	    !same(run, number_of(run, kwq_core_peek(&run->core, run->now)), next, "@next") ||
	    !same(run, kwq_core_can_get(&run->core), next != NOBODY, "kwq_core_can_get(&t->core)"))
		return false;
	if (run->model.small)
		return same_items(run);
	if (run->model.grouped)
		return same_ready_in_groups(run, order, nr);
	for (i = 0; i < nr; i = end) {
		const struct model_item *item = &run->model.item[order[i]];
		int level = item->priority - KWQ_PRIORITY_MIN;

		lane = item->returned ? KWQ_LANE_RETURNED : KWQ_LANE_FRESH;
		for (end = i + 1; end < nr; end++) {
			const struct model_item *next = &run->model.item[order[end]];

			if (next->priority != item->priority || next->returned != item->returned)
				break;
		}
		if (!same_line(run, &run->bulk.bands[lane][level], "ready", order + i, end - i))
			return false;
		occupied[lane] |= 1ULL << level;
	}
	for (lane = 0; lane < KWQ_NR_LANES; lane++)
		if (!same(run, run->bulk.occupied[lane], occupied[lane], "t->bulk.occupied[%d]",
			  lane))
			return false;
	return true;
}

/*
 * Inserts an item by its time, behind items of the same time. Returns the new number of
 * items.
 */
static int insert(const struct run *run, const struct hlist_node *node, int *order, int nr)
{
	const struct kwq_item *item = container_of(node, const struct kwq_item, wait.node);
	int i;

	if (nr == NR_ITEMS)
		return nr + 1;
	for (i = nr; i && run->of[order[i - 1]].item.wait.expires > item->wait.expires; i--)
		order[i] = order[i - 1];
	order[i] = number_of(run, item);
	return nr + 1;
}

/* The waiting items of the core, in the order in which they become due. */
static int in_order(const struct run *run, int order[NR_ITEMS])
{
	const struct kwq_waiting *waiting = &run->bulk.waiting;
	const struct hlist_node *node;
	const struct kwq_line *waits;
	int nr = 0;
	size_t i;

	for (i = 0; i < KWQ_WAITING_LEVELS * KWQ_WAITING_SLOTS; i++) {
		waits = &waiting->slots[i / KWQ_WAITING_SLOTS][i % KWQ_WAITING_SLOTS].waits;
		for (node = waits->nodes.first; node && nr <= NR_ITEMS; node = node->next)
			nr = insert(run, node, order, nr);
	}
	for (node = waiting->opening.nodes.first; node && nr <= NR_ITEMS; node = node->next)
		nr = insert(run, node, order, nr);
	return nr;
}

/* K6: the same of a small core. A tree that links more items than there are is broken. */
static int in_order_by_time(const struct run *run, int order[NR_ITEMS])
{
	const struct rb_node *node;
	int nr = 0;

	for (node = rb_first(&run->core.by_time); node && nr < NR_ITEMS; node = rb_next(node))
		order[nr++] = number_of(run, rb_entry(node, struct kwq_item, by_time));
	return node ? NR_ITEMS + 1 : nr;
}

static bool same_waiting(struct run *run)
{
	int order[NR_ITEMS], waiting[NR_ITEMS];
	int nr = model_waiting(&run->model, order);
	int found = run->model.small ? in_order_by_time(run, waiting) : in_order(run, waiting);
	int i;

	if ((!run->model.small && !same(run, run->bulk.nr_waiting, nr, "t->bulk.nr_waiting")) ||
	    !same(run, kwq_core_has_waiting(&run->core), nr > 0,
		  "kwq_core_has_waiting(&t->core)") ||
	    !same(run, found, nr, "@waiting") ||
	    !same(run, kwq_core_next_time(&run->core), nr && !run->model.shut_down ?
		  run->model.item[order[0]].when : S64_MAX, "kwq_core_next_time(&t->core)"))
		return false;
	for (i = 0; i < nr; i++)
		if (!same(run, waiting[i], order[i], "@waiting"))
			return false;
	return true;
}

/* All items that are processing are in one line, or list. */
static bool same_line_of_processing(struct run *run, const int *order, int nr)
{
	return (run->model.small ||
		same_line(run, &run->bulk.processing, "processing", order, nr)) &&
	       same(run, number_of(run, kwq_core_first_processing(&run->core)),
		    nr ? order[0] : NOBODY, "@processing");
}

static bool same_processing(struct run *run)
{
	int order[NR_ITEMS], held[NR_HOLDERS] = {};
	int nr = model_processing(&run->model, order);
	int i;

	if (!same(run, run->core.nr_processing, nr, "t->core.nr_processing") ||
	    !same_line_of_processing(run, order, nr))
		return false;
	for (i = 0; i < nr; i++)
		held[run->model.item[order[i]].holder]++;
	for (i = 0; i < NR_HOLDERS; i++)
		if (!same(run, run->holder[i].nr_held, held[i], "t->%c.nr_held",
			  holder_names[i]))
			return false;
	if (!same(run, kwq_core_is_drained(&run->core), run->model.shut_down && !nr &&
		  !run->core.nr_ready, "kwq_core_is_drained(&t->core)"))
		return false;

	return true;
}

static bool same_dead(struct run *run)
{
	int order[NR_ITEMS];
	int nr = model_dead(&run->model, order);

	if (!run->model.small && !same(run, run->bulk.nr_dead, nr, "t->bulk.nr_dead"))
		return false;
	return same_ring(run, run->core.dead, order, nr) &&
	       same(run, number_of(run, kwq_core_first_dead(&run->core)), nr ? order[0] : NOBODY,
		    "@dead");
}

static bool same_all(struct run *run)
{
	int nr;

	for (nr = 0; nr < NR_ITEMS; nr++)
		if (!same_item(run, nr))
			return false;
	return same_ready(run) && same_waiting(run) && same_processing(run) && same_dead(run) &&
	       same_counters(run) && same_metrics(run) && same_gauges(run);
}

/* ---- Executing ---- */

static bool do_add(struct run *run, const struct op *op)
{
	int nr = op_item(op), priority = op_priority(run, op);
	bool end_wait = op->how & 4;
	s64 now = end_wait || priority != KWQ_PRIORITY_NONE ? run->now : stamp(run);
	int wanted = model_add(&run->model, nr, priority, end_wait, now);

	say(run, add_name(wanted), "kwq_core_add(&t->core, &t->%c, %s, %s, %s)", item_names[nr],
	    priority_name(priority), end_wait ? "true" : "false", time_name(now));
	return run->out || answered(run, kwq_core_add(&run->core, &run->of[nr].item, priority,
						      end_wait, now), wanted);
}

/* D9 D7: a bound for a postponed wait, near or beyond the end of the clock. */
static u64 op_at_most(const struct op *op)
{
	static const u64 some[] = { 1, 2, 5, 12, 1000, 1ULL << 40, S64_MAX, ~0ULL };

	return some[op->how >> 2 & 7];
}

static bool do_add_debounced(struct run *run, const struct op *op)
{
	int nr = op_item(op), priority = op_priority(run, op);
	s64 when = op_time(run, op), latest;
	u64 at_most = op_at_most(op);
	int wanted;

	if (!run->out) {
		latest = kwq_core_latest(&run->core, &run->of[nr].item, at_most, run->now);
		if (!answered(run, latest, model_latest(&run->model, nr, at_most, run->now)))
			return false;
	}
	latest = model_latest(&run->model, nr, at_most, run->now);
	say(run, number_name(latest), "kwq_core_latest(&t->core, &t->%c, %lluULL, %lld)",
	    item_names[nr], (unsigned long long)at_most, (long long)run->now);
	if (latest < when)
		when = latest;
	wanted = model_add_at(&run->model, nr, priority, when, KWQ_WAIT_REPLACE, run->now);
	say(run, add_name(wanted),
	    "kwq_core_add_at(&t->core, &t->%c, %s, %lld, KWQ_WAIT_REPLACE, %lld)",
	    item_names[nr], priority_name(priority), (long long)when, (long long)run->now);
	return run->out || answered(run, kwq_core_add_at(&run->core, &run->of[nr].item, priority,
							 when,
							 KWQ_WAIT_REPLACE, run->now), wanted);
}

static bool do_add_at(struct run *run, const struct op *op)
{
	int nr = op_item(op), priority = op_priority(run, op);
	enum kwq_wait_policy policy = op_policy(op);
	s64 when = op_time(run, op);
	int wanted;

	if (op->how & 0x80)
		return do_add_debounced(run, op);
	wanted = model_add_at(&run->model, nr, priority, when, policy, run->now);
	say(run, add_name(wanted), "kwq_core_add_at(&t->core, &t->%c, %s, %lld, %s, %lld)",
	    item_names[nr], priority_name(priority), (long long)when, policy_name(policy),
	    (long long)run->now);
	return run->out || answered(run, kwq_core_add_at(&run->core, &run->of[nr].item, priority,
							 when,
							 policy, run->now), wanted);
}

static bool do_add_rate_limited(struct run *run, const struct op *op)
{
	int nr = op_item(op), priority = op_priority(run, op);
	enum kwq_wait_policy policy = op_policy(op);
	int wanted = model_add_rate_limited(&run->model, nr, priority, policy, run->now, op->value);

	say(run, add_name(wanted),
	    "kwq_core_add_rate_limited(&t->core, &t->%c, %s, %s, %lld, %u)", item_names[nr],
	    priority_name(priority), policy_name(policy), (long long)run->now, op->value);
	return run->out || answered(run, kwq_core_add_rate_limited(&run->core, &run->of[nr].item,
								   priority, policy, run->now,
								   op->value), wanted);
}

static bool do_get(struct run *run, const struct op *op)
{
	int holder = op_holder(op);
	s64 now = stamp(run);
	int wanted = model_get(&run->model, holder, now);

	say_item(run, wanted, "kwq_test_get(&t->core, &t->%c, %s)", holder_names[holder],
		 time_name(now));
	return run->out || answered(run, number_of(run, kwq_test_get(&run->core,
								     &run->holder[holder],
								     now)), wanted);
}

static bool do_get_item(struct run *run, const struct op *op)
{
	int nr = op_item(op), holder = op_holder(op);
	s64 now = stamp(run);
	int wanted = model_get_item(&run->model, holder, nr, now);

	say(run, nothing_or_add_name(wanted), "kwq_core_get_item(&t->core, &t->%c, &t->%c, %s)",
	    item_names[nr], holder_names[holder], time_name(now));
	return run->out || answered(run, kwq_core_get_item(&run->core, &run->of[nr].item,
							   &run->holder[holder], now),
				    wanted);
}

static bool do_coalesce(struct run *run, const struct op *op)
{
	int nr = op_item(op);
	int wanted = model_coalesce(&run->model, nr);

	say(run, nothing_or_add_name(wanted), "kwq_core_coalesce(&t->core, &t->%c)",
	    item_names[nr]);
	return run->out || answered(run, kwq_core_coalesce(&run->core, &run->of[nr].item), wanted);
}

/* M1: only a core without durations gets ages that are not known. */
static u64 some_age(const struct run *run, const struct op *op)
{
	return run->no_durations && op->value & 8 ? KWQ_AGE_UNKNOWN : op->value >> 4 & 31;
}

/* A saved item of any kind. */
static void some_saved_item(const struct run *run, const struct op *op,
			    struct kwq_restored *restored)
{
	static const u32 states[] = {
		KWQ_IS_READY, KWQ_IS_READY | KWQ_IS_RETURNED, KWQ_IS_WAITING,
		KWQ_IS_READY | KWQ_IS_WAITING, KWQ_IS_READY | KWQ_IS_RETURNED | KWQ_IS_WAITING,
		KWQ_IS_DEAD, 0,
	};
	int priority = op_priority(run, op);

	memset(restored, 0, sizeof(*restored));
	restored->state = states[op->how % ARRAY_SIZE(states)];
	restored->priority = priority == KWQ_PRIORITY_NONE ? 0 : priority;
	restored->requeues = op->value >> 20 & 3;
	restored->abandoned = op->value >> 22 & 3;
	if (restored->state & KWQ_IS_READY)
		restored->dirty_for = some_age(run, op);
	if (restored->state & KWQ_IS_WAITING) {
		restored->wait_priority = op->how & 0x80 ? KWQ_PRIORITY_NONE : priority;
		restored->waiting_for = op->value >> 9 & 31;
		restored->due = op_time(run, op);
	}
	if (restored->state & KWQ_IS_DEAD)
		restored->dead_for = some_age(run, op);
}

static bool do_restore(struct run *run, const struct op *op)
{
	struct kwq_restored restored;
	int nr = op_item(op), wanted;

	if (run->model.small)
		return true;
	some_saved_item(run, op, &restored);
	wanted = model_restore(&run->model, nr, &restored, run->now);
	say(run, add_name(wanted),
	    "kwq_core_restore(&t->core, &t->%c, &(struct kwq_restored){ .state = %u, "
	    ".priority = %d, .wait_priority = %d, .requeues = %u, .abandoned = %u, "
	    ".dirty_for = %lluULL, .waiting_for = %llu, .dead_for = %lluULL, .due = %lld }, %lld)",
	    item_names[nr], restored.state, restored.priority, restored.wait_priority,
	    restored.requeues, restored.abandoned, (unsigned long long)restored.dirty_for,
	    (unsigned long long)restored.waiting_for, (unsigned long long)restored.dead_for,
	    (long long)restored.due, (long long)run->now);
	return run->out || answered(run, kwq_core_restore(&run->core, &run->of[nr].item, &restored,
							  run->now), wanted);
}

static bool do_expedite(struct run *run, const struct op *op)
{
	int nr = op_item(op);
	int wanted = model_expedite(&run->model, nr, run->now);

	say(run, add_name(wanted), "kwq_core_expedite(&t->core, &t->%c, %lld)", item_names[nr],
	    (long long)run->now);
	return run->out || answered(run, kwq_core_expedite(&run->core, &run->of[nr].item, run->now),
				    wanted);
}

/* As kwq_run_sync() does before it sleeps. */
static void do_await(struct run *run, const struct op *op)
{
	int nr = op_processing(run, op);

	if (!run->model.item[nr].processing)
		return;
	model_await(&run->model, nr);
	run->of[nr].item.marks |= KWQ_MARK_AWAITED;
	say(run, NULL, "t->%c.marks |= KWQ_MARK_AWAITED", item_names[nr]);
}

static void do_flush(struct run *run)
{
	if (model_nr_before(&run->model))
		return;
	model_begin_flush(&run->model);
	say(run, NULL, "kwq_core_begin_flush(&t->core)");
	if (!run->out)
		kwq_core_begin_flush(&run->core);
}

/* A queue is paused for a short time only, as little happens then. */
static bool do_pause(struct run *run, const struct op *op)
{
	if (!run->model.pauses || op->value % 8 == 0) {
		run->model.pauses++;
		say(run, NULL, "kwq_core_pause(&t->core)");
		if (!run->out)
			kwq_core_pause(&run->core);
		return true;
	}
	run->model.pauses--;
	say(run, run->model.pauses ? "false" : "true", "kwq_core_resume(&t->core)");
	return run->out || answered(run, kwq_core_resume(&run->core), !run->model.pauses);
}

/* Mostly through the holder. */
/* The ways in which a holder finishes an item. */
struct way {
	const char *name;
	int (*of_model)(struct model *model, int holder, int item, s64 now);
	int (*of_core)(struct kwq_core *core, struct kwq_holder *holder, struct kwq_item *item,
		       ktime_t now);
};

static const struct way done_way = { "kwq_core_done", model_done, kwq_core_done };
static const struct way bury_way = { "kwq_test_bury", model_bury, kwq_test_bury };
static const struct way give_back_way = {
	"kwq_core_give_back", model_give_back, kwq_core_give_back
};

static bool do_finish(struct run *run, const struct op *op, const struct way *way)
{
	int nr = op_processing(run, op);
	int holder = op->how & 7 ? run->model.item[nr].holder : op_holder(op);
	s64 now = stamp(run);
	int wanted = way->of_model(&run->model, holder, nr, now);

	say(run, done_name(wanted), "%s(&t->core, &t->%c, &t->%c, %s)", way->name,
	    holder_names[holder], item_names[nr], time_name(now));
	return run->out || answered(run, way->of_core(&run->core, &run->holder[holder],
						      &run->of[nr].item, now), wanted);
}

/* The clock never goes back, and stops at its end. */
static void do_clock(struct run *run, const struct op *op)
{
	s64 when = op_time(run, op);

	if (when > run->now)
		run->now = when;
}

static bool do_expire(struct run *run)
{
	int wanted = model_expire(&run->model, run->now);
	unsigned int budget = UINT_MAX;

	say_item(run, wanted, "kwq_core_expire(&t->core, %lld, &(unsigned int){ UINT_MAX })",
		 (long long)run->now);
	return run->out || answered(run, number_of(run, kwq_core_expire(&run->core, run->now,
									 &budget)),
				    wanted);
}

static const char *abandon_name(int result)
{
	return result == KWQ_DEAD ? "KWQ_DEAD" : done_name(result);
}

static bool do_abandon(struct run *run, const struct op *op)
{
	int nr = op_processing(run, op), wanted;

	if (!run->model.item[nr].processing)
		return true;
	wanted = model_abandon(&run->model, nr, run->now);
	say(run, abandon_name(wanted), "kwq_core_abandon(&t->core, &t->%c, %lld)",
	    item_names[nr], (long long)run->now);
	return run->out ||
	       answered(run, kwq_core_abandon(&run->core, &run->of[nr].item, run->now), wanted);
}

static void do_unget(struct run *run, const struct op *op)
{
	int nr = op_processing(run, op);

	if (!run->model.item[nr].processing)
		return;
	model_unget(&run->model, nr);
	say(run, NULL, "kwq_core_unget(&t->core, &t->%c)", item_names[nr]);
	if (!run->out)
		kwq_core_unget(&run->core, &run->of[nr].item);
}

static bool do_remove(struct run *run, const struct op *op)
{
	int nr = op_item(op);
	int wanted = model_remove(&run->model, nr);

	say(run, was_name(wanted), "kwq_core_remove(&t->core, &t->%c)", item_names[nr]);
	return run->out || answered(run, kwq_core_remove(&run->core, &run->of[nr].item), wanted);
}

static void do_cancel_all(struct run *run)
{
	if (!run->model.shut_down)
		return;
	model_cancel_all(&run->model);
	say(run, NULL, "kwq_core_cancel_all(&t->core)");
	if (!run->out)
		kwq_core_cancel_all(&run->core);
}

static bool do_disable(struct run *run, const struct op *op)
{
	int nr = op_item(op);
	int wanted = model_disable(&run->model, nr);

	say(run, was_name(wanted), "kwq_core_disable(&t->core, &t->%c)", item_names[nr]);
	return run->out || answered(run, kwq_core_disable(&run->core, &run->of[nr].item), wanted);
}

/* A cancel enables its item when nobody processes it any more. */
static void do_enable(struct run *run, const struct op *op)
{
	int nr = op_item(op);

	if (!run->model.item[nr].disables || run->model.item[nr].processing)
		return;
	model_enable(&run->model, nr);
	say(run, NULL, "kwq_core_enable(&t->%c)", item_names[nr]);
	if (!run->out)
		kwq_core_enable(&run->of[nr].item);
}

static void do_item_init(struct run *run, const struct op *op)
{
	int nr = op_item(op);

	if (!run->model.item[nr].disables || !model_is_idle(&run->model.item[nr]))
		return;
	model_item_init(&run->model.item[nr]);
	say(run, NULL, "kwq_item_init(&t->%c)", item_names[nr]);
	kwq_item_init(&run->of[nr].item);
}

static bool do_forget(struct run *run, const struct op *op)
{
	int nr = op_item(op);
	u32 wanted = model_forget(&run->model, nr, run->now);

	say(run, number_name(wanted), "kwq_core_forget(&t->core, &t->%c, %lld)", item_names[nr],
	    (long long)run->now);
	return run->out || answered(run, kwq_core_forget(&run->core, &run->of[nr].item, run->now),
				    wanted);
}

static bool do_give_up(struct run *run, const struct op *op)
{
	int nr = op_item(op);
	s64 now = stamp(run);
	int wanted = model_give_up(&run->model, nr, now);

	say(run, add_name(wanted), "kwq_core_give_up(&t->core, &t->%c, %s)", item_names[nr],
	    time_name(now));
	return run->out || answered(run, kwq_core_give_up(&run->core, &run->of[nr].item, now),
				    wanted);
}

static bool do_drop(struct run *run)
{
	int order[NR_ITEMS];
	int nr;

	if (!run->model.shut_down)
		return true;
	say(run, NULL, "kwq_core_drop(&t->core)");
	/* Only the core knows which of several items it dropped. */
	if (!run->out)
		nr = number_of(run, kwq_core_drop(&run->core));
	else
		nr = model_waiting(&run->model, order) || model_dead(&run->model, order) ?
			order[0] : NOBODY;
	if (!same(run, model_may_drop(&run->model, nr), true, "@dropped"))
		return false;
	if (nr != NOBODY)
		model_drop(&run->model, nr);
	return true;
}

static bool do_configure(struct run *run, const struct op *op)
{
	struct kwq_rate_limiter *limiter;
	struct kwq_limiter_config config;
	bool valid;

	some_config(op->value, &config);
	if (run->no_durations)
		config.forget_after = 0;
	valid = rate_is_valid(&config);
	if (valid)
		rate_configure(&run->model.rate, &config, run->now);
	say_config(run, &config, valid);
	if (run->out)
		return true;
	if (!answered(run, kwq_limiter_config_check(&config), valid ? 0 : -EINVAL))
		return false;
	if (!valid)
		return true;
	limiter = malloc(kwq_rate_limiter_size(&config));
	if (!limiter)
		abort();
	kwq_rate_limiter_init(limiter, &config);
	kwq_rate_limiter_replace(limiter, run->core.limiter, run->now);
	free(run->core.limiter);
	run->core.limiter = limiter;
	return same(run, limiter->jitters, rate_jitters(&run->model.rate),
		    "t->core.limiter->jitters") &&
	       same(run, !memcmp(&limiter->config, &run->model.rate.config, sizeof(config)), true,
		    "!memcmp(&t->core.limiter->config, &config, sizeof(config))");
}

static bool do_when(struct run *run, const struct op *op)
{
	u32 requeues = op->value >> op->how % 32;
	u64 wanted = rate_when(&run->model.rate, requeues, run->now, op->value);

	say(run, number_name(wanted), "kwq_rate_limiter_when(t->core.limiter, %u, %lld, %u)",
	    requeues, (long long)run->now, op->value);
	if (run->out)
		return true;
	return answered(run, kwq_rate_limiter_when(run->core.limiter, requeues, run->now,
						   op->value), wanted);
}

static void some_backoff(u32 value, struct kwq_backoff *b, u64 *reset)
{
	u64 state = value;

	memset(b, 0, sizeof(*b));
	b->duration = some_length(&state);
	b->cap = some_length(&state);
	b->factor = random_next(&state) % 4 ? KWQ_ONE + some_number(&state) * 1000 :
					      some_number(&state);
	b->jitter = some_number(&state) * 7000;
	b->steps = some_number(&state);
	b->pad = random_next(&state) % 32 == 0;
	*reset = random_next(&state) % 8 ? some_length(&state) % 30 : KWQ_NO_RESET;
}

/* B1 B2: runs a manager, which sometimes starts over. */
static bool do_backoff(struct run *run, const struct op *op)
{
	struct kwq_backoff_manager manager;
	struct kwq_backoff backoff, left;
	u64 now = op->who, reset, last = now, wanted;
	bool valid, from_reset = op->value >> 16 & 1;
	int i;

	some_backoff(op->value, &backoff, &reset);
	valid = rate_is_valid_backoff(&backoff);
	say_backoff(run, &backoff, reset, now, valid);
	if (!run->out && !answered(run, kwq_backoff_check(&backoff), valid ? 0 : -EINVAL))
		return false;
	if (!valid)
		return true;
	left = backoff;
	kwq_backoff_manager_init(&manager, &backoff, reset, now);
	manager.from_reset = from_reset;
	if (run->out && from_reset)
		fprintf(run->out, "\t\tmanager.from_reset = true;\n");
	for (i = 0; i < 8; i++) {
		now += (op->how >> i & 1) * 20 + op->who % 16;
		if (!reset || now - last > reset) {
			left = backoff;
			last = now;
		}
		if (!from_reset)
			last = now;
		wanted = rate_backoff_step(&left, op->value);
		say(run, number_name(wanted), "kwq_backoff_manager_step(&manager, %llu, %u)",
		    (unsigned long long)now, op->value);
		say(run, number_name(left.steps), "manager.backoff.steps");
		if (run->out)
			continue;
		if (!answered(run, kwq_backoff_manager_step(&manager, now, op->value), wanted) ||
		    !answered(run, manager.backoff.duration, left.duration) ||
		    !answered(run, manager.backoff.steps, left.steps))
			return false;
	}
	if (run->out)
		fprintf(run->out, "\t}\n");
	return true;
}

static void do_requeues(struct run *run, const struct op *op)
{
	int nr = op_item(op);

	/* An idle or disabled item without requeues does not get any before its next
	 * add.
	 */
	if ((model_is_idle(&run->model.item[nr]) || run->model.item[nr].disables) &&
	    !run->model.item[nr].requeues)
		return;
	run->model.item[nr].requeues = U32_MAX - op->value % 3;
	run->of[nr].item.requeues = run->model.item[nr].requeues;
	say(run, NULL, "t->%c.requeues = U32_MAX - %u", item_names[nr], op->value % 3);
}

static void do_abandoned(struct run *run, const struct op *op)
{
	int nr = op_processing(run, op);

	if (!run->model.item[nr].processing)
		return;
	run->model.item[nr].abandoned = U32_MAX - op->value % 3;
	run->of[nr].item.abandoned = run->model.item[nr].abandoned;
	say(run, NULL, "t->%c.abandoned = U32_MAX - %u", item_names[nr], op->value % 3);
}

static void do_shut_down(struct run *run, const struct op *op)
{
	/* Otherwise little would happen before the shut down. */
	if (op->value % 4)
		return;
	run->model.shut_down = true;
	run->model.ended = true;
	say(run, NULL, "kwq_core_shut_down(&t->core, false)");
	if (!run->out)
		kwq_core_shut_down(&run->core, false);
}

static const char *group_name(int group)
{
	static const char *const names[NR_GROUPS] = { "NULL", "&t->g", "&t->h" };

	return names[group];
}

static void set_group(struct run *run, int nr, int group)
{
	model_set_group(&run->model, nr, group);
	say(run, NULL, "kwq_core_set_group(&t->core, &t->%c, %s)", item_names[nr],
	    group_name(group));
	if (!run->out)
		kwq_core_set_group(&run->core, &run->of[nr].item,
				   group ? &run->group[group] : NULL);
}

static void do_set_group(struct run *run, const struct op *op)
{
	if (run->model.grouped)
		set_group(run, op_item(op), op->value % NR_GROUPS);
}

/* Off, short, or of any length. */
static void do_aging(struct run *run, const struct op *op)
{
	u64 aging = op->value >> 4;

	if (run->model.small || run->no_durations)
		return;
	if (op->value % 4 == 0)
		aging = 0;
	else if (op->value % 4 < 3)
		aging %= 8;
	else
		aging <<= aging % 32;
	run->model.aging = aging;
	say(run, NULL, "kwq_core_set_aging(&t->core, %lluULL)", (unsigned long long)aging);
	if (!run->out)
		kwq_core_set_aging(&run->core, aging);
}

static bool do_op(struct run *run, const struct op *op)
{
	switch (op_kind(op)) {
	case ADD:
		return do_add(run, op);
	case ADD_AT:
		return do_add_at(run, op);
	case ADD_RATE_LIMITED:
		return do_add_rate_limited(run, op);
	case GET:
		return do_get(run, op);
	case GET_ITEM:
		return do_get_item(run, op);
	case COALESCE:
		return do_coalesce(run, op);
	case EXPEDITE:
		return do_expedite(run, op);
	case RESTORE:
		return do_restore(run, op);
	case AWAIT:
		do_await(run, op);
		return true;
	case FLUSH:
		do_flush(run);
		return true;
	case PAUSE:
		return do_pause(run, op);
	case DONE:
		return do_finish(run, op, &done_way);
	case BURY:
		return do_finish(run, op, &bury_way);
	case GIVE_BACK:
		return do_finish(run, op, &give_back_way);
	case CLOCK:
		do_clock(run, op);
		return true;
	case EXPIRE:
		return do_expire(run);
	case ABANDON:
		return do_abandon(run, op);
	case UNGET:
		do_unget(run, op);
		return true;
	case REMOVE:
		return do_remove(run, op);
	case FORGET:
		return do_forget(run, op);
	case GIVE_UP:
		return do_give_up(run, op);
	case DROP:
		return do_drop(run);
	case DISABLE:
		return do_disable(run, op);
	case ENABLE:
		do_enable(run, op);
		return true;
	case CANCEL_ALL:
		do_cancel_all(run);
		return true;
	case ITEM_INIT:
		do_item_init(run, op);
		return true;
	case CONFIGURE:
		return do_configure(run, op);
	case WHEN:
		return do_when(run, op);
	case BACKOFF:
		return do_backoff(run, op);
	case REQUEUES:
		do_requeues(run, op);
		return true;
	case ABANDONED:
		do_abandoned(run, op);
		return true;
	case SET_GROUP:
		do_set_group(run, op);
		return true;
	case AGING:
		do_aging(run, op);
		return true;
	default:
		do_shut_down(run, op);
		return true;
	}
}

/* Q16: of half of the large cores. */
static void group_items(struct run *run, u32 value)
{
	int i;

	run->model.grouped = true;
	run->model.group_limit = value >> 28 & 3;
	say(run, NULL, "kwq_core_group_items(&t->core, %u)", run->model.group_limit);
	if (!run->out)
		kwq_core_group_items(&run->core, run->model.group_limit);
	for (i = 0; i < NR_ITEMS; i++)
		set_group(run, i, (value >> 2 * i) % NR_GROUPS);
}

/* The first operation also selects the form of the core (K6), and whether it has durations (M1). */
static void run_init(struct run *run, const struct op *ops, size_t nr)
{
	bool small = nr && ops[0].kind >= NR_CODES;
	int i;

	static_assert(offsetof(struct run, core) - offsetof(struct run, bulk) ==
		      offsetof(struct kwq_large_core, core), "they are adjacent");
	memset(run, 0, sizeof(*run));
	kwq_core_init(&run->core, small ? KWQ_SMALL : KWQ_LARGE);
	for (i = 0; i < NR_GROUPS; i++)
		kwq_group_init(&run->group[i]);
	for (i = 0; i < NR_HOLDERS; i++)
		kwq_holder_init(&run->holder[i]);
	for (i = 0; i < NR_ITEMS; i++)
		kwq_grouped_item_init(&run->of[i], NULL);
	model_init(&run->model);
	run->model.small = small;
	run->no_durations = nr && ops[0].how >= 192;
}

static void begin(struct run *run, const struct op *ops, size_t nr)
{
	if (!nr || run->model.small)
		return;
	if (ops[0].value >> 31)
		group_items(run, ops[0].value);
}

bool sequence_run(const struct op *ops, size_t nr, struct difference *difference)
{
	struct run run;
	size_t i;

	run_init(&run, ops, nr);
	run.difference = difference;
	begin(&run, ops, nr);
	for (i = 0; i < nr && do_op(&run, &ops[i]) && same_all(&run); i++) {
		/* As the queue does when it has woken drainers. */
		run.core.ended = false;
		run.model.ended = false;
	}
	difference->at = i;
	free(run.core.limiter);
	return i == nr;
}

/* ---- Shrinking ---- */

typedef bool fails_fn(const struct op *ops, size_t nr);

/* Removes @length operations at a time, wherever the rest still fails. */
static size_t leave_out(struct op *ops, size_t nr, size_t length, fails_fn *fails)
{
	struct op shorter[nr];
	size_t at = 0;

	while (at + length <= nr) {
		memcpy(shorter, ops, at * sizeof(*ops));
		memcpy(shorter + at, ops + at + length, (nr - at - length) * sizeof(*ops));
		if (fails(shorter, nr - length)) {
			nr -= length;
			memcpy(ops, shorter, nr * sizeof(*ops));
		} else {
			at++;
		}
	}
	return nr;
}

/* Replaces the operation by @simple if the sequence still fails. */
static void simplify_by(struct op *ops, size_t nr, size_t at, struct op simple, fails_fn *fails)
{
	struct op before = ops[at];

	ops[at] = simple;
	if (!fails(ops, nr))
		ops[at] = before;
}

static void simplify(struct op *ops, size_t nr, fails_fn *fails)
{
	struct op simple;
	size_t at;

	for (at = 0; at < nr; at++) {
		simple = ops[at];
		simple.priority = -8;	/* none */
		simplify_by(ops, nr, at, simple, fails);
		simple = ops[at];
		simple.how = 0;
		simplify_by(ops, nr, at, simple, fails);
		simple = ops[at];
		simple.who = 0;
		simplify_by(ops, nr, at, simple, fails);
		simple = ops[at];
		simple.value = 0x18;	/* a time a ns from now */
		simplify_by(ops, nr, at, simple, fails);
	}
}

size_t sequence_shrink(struct op *ops, size_t nr, fails_fn *fails)
{
	size_t length, before;

	do {
		before = nr;
		for (length = nr / 2; length; length /= 2)
			nr = leave_out(ops, nr, length, fails);
		simplify(ops, nr, fails);
	} while (nr < before);
	return nr;
}

/* ---- Printing ---- */

/* The items of @order are linked from @first on. */
static void print_links(const struct run *run, const char *first, const char *link,
			const int *order, int nr)
{
	int i, j;

	for (i = 0; i < nr; i++) {
		fprintf(run->out, "\tKUNIT_EXPECT_PTR_EQ(test, t->%s", first);
		for (j = 0; j < i; j++)
			fprintf(run->out, "->next");
		fprintf(run->out, ", &t->%c.%s);\n", item_names[order[i]], link);
	}
}

static void print_order(const struct run *run, const char *what)
{
	int order[NR_ITEMS];
	int nr, i;

	if (!strcmp(what, "next")) {
		i = run->model.pauses ? NOBODY : model_next(&run->model, run->now);
		say_item(run, i, "kwq_core_peek(&t->core, %lld)", (long long)run->now);
		return;
	}
	if (!strcmp(what, "ready")) {
		/* The gets of an ordered core also depend on the time, on turns and on limits. */
		nr = run->model.grouped || run->model.aging ? 0 : model_ready(&run->model, order);
		for (i = 0; i < nr; i++)
			fprintf(run->out, "\tEXPECT_GET(test, t, &t->%c);\n", item_names[order[i]]);
		if (!run->model.grouped && !run->model.aging)
			fprintf(run->out, "\tEXPECT_GET(test, t, NULL);\n");
		return;
	}
	if (!strcmp(what, "waiting")) {
		nr = model_waiting(&run->model, order);
		for (i = 0; i < nr; i++)
			fprintf(run->out, "\tEXPECT_EXPIRE(test, t, KTIME_MAX, &t->%c);\n",
				item_names[order[i]]);
		fprintf(run->out, "\tEXPECT_EXPIRE(test, t, KTIME_MAX, NULL);\n");
		return;
	}
	if (!strcmp(what, "dead")) {
		print_links(run, "core.dead->next", "link", order, model_dead(&run->model, order));
		return;
	}
	nr = model_processing(&run->model, order);
	if (run->model.small)
		print_links(run, "core.items.next", "link", order, nr);
	else
		print_links(run, "bulk.processing.nodes.first", "node", order, nr);
}

static void print_gauge(const struct run *run, const char *what, long long wanted)
{
	fprintf(run->out, "\t{\n\t\tstruct kwq_gauges gauges;\n\n");
	fprintf(run->out, "\t\tkwq_core_gauges(&t->core, &gauges, %lld);\n", (long long)run->now);
	fprintf(run->out, "\t\tKUNIT_EXPECT_EQ(test, gauges.%s, %lld);\n\t}\n", what, wanted);
}

void sequence_print(FILE *out, const struct op *ops, size_t nr, const char *name,
		    const struct difference *difference)
{
	const char *what = difference ? difference->what : "";
	struct run run;
	size_t i;

	run_init(&run, ops, nr);
	run.out = out;
	fprintf(out, "static void %s(struct kunit *test)\n{\n", name);
	fprintf(out, "\tstruct core_test *t = test->priv;\n\n");
	if (run.model.small)
		fprintf(out, "\tkwq_core_init(&t->core, KWQ_SMALL);\n");
	begin(&run, ops, nr);
	for (i = 0; i < nr; i++)
		do_op(&run, &ops[i]);

	if (!strcmp(what, "@ready") || !strcmp(what, "@next") || !strcmp(what, "@waiting") ||
	    !strcmp(what, "@items") || !strcmp(what, "@processing") || !strcmp(what, "@dead"))
		print_order(&run, what + 1);
	else if (what[0] == '@')
		print_gauge(&run, what + 1, difference->wanted);
	else if (what[0])
		fprintf(out, "\tKUNIT_EXPECT_EQ(test, %s, %s);\n", what,
			time_name(difference->wanted));
	fprintf(out, "}\n");
}
