// SPDX-License-Identifier: GPL-2.0-only
/*
 * The state machine as a whole: every operation in every state, and many random operations
 * against a model without lists and trees. Half of the rounds have groups (Q16).
 */
#include <kunit/test.h>
#include <linux/math64.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <uapi/linux/kwq.h>
#include "core/core.h"
#include "core/limiter.h"
#include "core_check.h"

/* ---- Every operation in every state ---- */

#define NONE	KWQ_PRIORITY_NONE

/* The states: ready, processing, processing and dirty, each also waiting; cancelled; dead. */
#define R	KWQ_ITEM_DIRTY
#define P	KWQ_ITEM_PROCESSING
#define PD	(KWQ_ITEM_PROCESSING | KWQ_ITEM_DIRTY)
#define W	KWQ_ITEM_WAITING
#define C	KWQ_ITEM_DISABLED
#define D	KWQ_ITEM_DEAD

enum op {
	ADD,		/* now */
	ADD_END_WAIT,
	ADD_AT,		/* for a time later than now, and than any wait */
	ADD_DUE,	/* for now */
	GET,
	GET_ITEM,	/* this one, even if it waits */
	EXPEDITE,
	DONE,
	DONE_OTHER,	/* by another holder */
	BURY,
	BURY_OTHER,	/* by another holder */
	GIVE_BACK,
	GIVE_OTHER,	/* by another holder */
	UNGET,
	ABANDON,
	REMOVE,
	CANCEL,
	EXPIRE,		/* when the wait is over */
	DROP,		/* drops waiting times, after a shut down */
	NR_OPS
};

static const char *const op_names[NR_OPS] = {
	[ADD]		= "add",
	[ADD_END_WAIT]	= "add, ending the wait",
	[ADD_AT]	= "add for later",
	[ADD_DUE]	= "add for now",
	[GET]		= "get",
	[GET_ITEM]	= "get this item",
	[EXPEDITE]	= "expedite",
	[DONE]		= "done",
	[DONE_OTHER]	= "done by another",
	[BURY]		= "bury",
	[BURY_OTHER]	= "bury by another",
	[GIVE_BACK]	= "give back",
	[GIVE_OTHER]	= "give back by another",
	[UNGET]		= "unget",
	[ABANDON]	= "abandon",
	[REMOVE]	= "remove",
	[CANCEL]	= "cancel",
	[EXPIRE]	= "expire",
	[DROP]		= "drop waiting",
};

static const char *const state_names[] = {
	[0]	= "idle",
	[R]	= "ready",
	[P]	= "processing",
	[PD]	= "processing and dirty",
	[W]	= "waiting",
	[R | W]	= "ready and waiting",
	[P | W]	= "processing and waiting",
	[PD | W] = "processing, dirty and waiting",
	[C]	= "cancelled",
	[P | C]	= "processing and cancelled",
};

/* Results of GET, EXPIRE and DROP: the item or nothing. */
#define IT	100
#define NIL	101
/* UNGET and ABANDON return nothing. */
#define VOID	102

/* Missing rows are not allowed: UNGET and ABANDON need a processing item. */
static const struct transition {
	u8 from;
	enum op op;
	int result;
	u8 to;
	u8 readied;
} transitions[] = {
	{ 0,	  ADD,		KWQ_ADDED,	R,	1 },
	{ 0,	  ADD_END_WAIT,	KWQ_ADDED,	R,	1 },
	{ 0,	  ADD_AT,	KWQ_WAITING,	W,	0 },
	{ 0,	  ADD_DUE,	KWQ_ADDED,	R,	1 },
	{ 0,	  GET,		NIL,		0,	0 },
	{ 0,	  GET_ITEM,	-ENOENT,	0,	0 },
	{ 0,	  EXPEDITE,	-ENOENT,	0,	0 },
	{ 0,	  DONE,		-ENOENT,	0,	0 },
	{ 0,	  DONE_OTHER,	-ENOENT,	0,	0 },
	{ 0,	  BURY,	-ENOENT,	0,	0 },
	{ 0,	  BURY_OTHER,	-ENOENT,	0,	0 },
	{ 0,	  GIVE_BACK,	-ENOENT,	0,	0 },
	{ 0,	  GIVE_OTHER,	-ENOENT,	0,	0 },
	{ 0,	  REMOVE,	-ENOENT,	0,	0 },
	{ 0,	  CANCEL,	0,	C,	0 },
	{ 0,	  EXPIRE,	NIL,		0,	0 },
	{ 0,	  DROP,		NIL,		0,	0 },

	{ R,	  ADD,		KWQ_COALESCED,	R,	0 },
	{ R,	  ADD_END_WAIT,	KWQ_COALESCED,	R,	0 },
	{ R,	  ADD_AT,	KWQ_WAITING,	R | W,	0 },
	{ R,	  ADD_DUE,	KWQ_COALESCED,	R,	0 },
	{ R,	  GET,		IT,		P,	0 },
	{ R,	  GET_ITEM,	0,	P,	0 },
	{ R,	  EXPEDITE,	-ENOENT,	R,	0 },
	{ R,	  DONE,		-ENOENT,	R,	0 },
	{ R,	  DONE_OTHER,	-ENOENT,	R,	0 },
	{ R,	  BURY,	-ENOENT,	R,	0 },
	{ R,	  BURY_OTHER,	-ENOENT,	R,	0 },
	{ R,	  GIVE_BACK,	-ENOENT,	R,	0 },
	{ R,	  GIVE_OTHER,	-ENOENT,	R,	0 },
	{ R,	  REMOVE,	KWQ_WAS_READY,	0,	0 },
	{ R,	  CANCEL,	KWQ_WAS_READY,	C,	0 },
	{ R,	  EXPIRE,	NIL,		R,	0 },
	{ R,	  DROP,		NIL,		R,	0 },

	{ P,	  ADD,		KWQ_DIRTIED,	PD,	0 },
	{ P,	  ADD_END_WAIT,	KWQ_DIRTIED,	PD,	0 },
	{ P,	  ADD_AT,	KWQ_WAITING,	P | W,	0 },
	{ P,	  ADD_DUE,	KWQ_DIRTIED,	PD,	0 },
	{ P,	  GET,		NIL,		P,	0 },
	{ P,	  GET_ITEM,	-EBUSY,	P,	0 },
	{ P,	  EXPEDITE,	-ENOENT,	P,	0 },
	{ P,	  DONE,		KWQ_FINISHED,	0,	0 },
	{ P,	  DONE_OTHER,	-EPERM,		P,	0 },
	{ P,	  BURY,	KWQ_BURIED,	D,	0 },
	{ P,	  BURY_OTHER,	-EPERM,	P,	0 },
	{ P,	  GIVE_BACK,	KWQ_RETURNED,	R,	1 },
	{ P,	  GIVE_OTHER,	-EPERM,	P,	0 },
	{ P,	  UNGET,	VOID,		R,	1 },
	{ P,	  ABANDON,	VOID,		R,	1 },
	{ P,	  REMOVE,	KWQ_WAS_PROCESSING, P,	0 },
	{ P,	  CANCEL,	KWQ_WAS_PROCESSING, P | C,	0 },
	{ P,	  EXPIRE,	NIL,		P,	0 },
	{ P,	  DROP,		NIL,		P,	0 },

	{ PD,	  ADD,		KWQ_DIRTY,	PD,	0 },
	{ PD,	  ADD_END_WAIT,	KWQ_DIRTY,	PD,	0 },
	{ PD,	  ADD_AT,	KWQ_WAITING,	PD | W,	0 },
	{ PD,	  ADD_DUE,	KWQ_DIRTY,	PD,	0 },
	{ PD,	  GET,		NIL,		PD,	0 },
	{ PD,	  GET_ITEM,	-EBUSY,	PD,	0 },
	{ PD,	  EXPEDITE,	-ENOENT,	PD,	0 },
	{ PD,	  DONE,		KWQ_REQUEUED,	R,	1 },
	{ PD,	  DONE_OTHER,	-EPERM,		PD,	0 },
	{ PD,	  BURY,	KWQ_REQUEUED,	R,	1 },
	{ PD,	  BURY_OTHER,	-EPERM,	PD,	0 },
	{ PD,	  GIVE_BACK,	KWQ_RETURNED,	R,	1 },
	{ PD,	  GIVE_OTHER,	-EPERM,	PD,	0 },
	{ PD,	  UNGET,	VOID,		R,	1 },
	{ PD,	  ABANDON,	VOID,		R,	1 },
	{ PD,	  REMOVE,	KWQ_WAS_PROCESSING | KWQ_WAS_DIRTY, P, 0 },
	{ PD,	  CANCEL,	KWQ_WAS_PROCESSING | KWQ_WAS_DIRTY, P | C,	0 },
	{ PD,	  EXPIRE,	NIL,		PD,	0 },
	{ PD,	  DROP,		NIL,		PD,	0 },

	{ W,	  ADD,		KWQ_ADDED,	R | W,	1 },
	{ W,	  ADD_END_WAIT,	KWQ_ADDED,	R,	1 },
	{ W,	  ADD_AT,	KWQ_COALESCED,	W,	0 },
	{ W,	  ADD_DUE,	KWQ_ADDED,	R,	1 },
	{ W,	  GET,		NIL,		W,	0 },
	{ W,	  GET_ITEM,	0,	P,	1 },
	{ W,	  EXPEDITE,	KWQ_ADDED,	R,	1 },
	{ W,	  DONE,		-ENOENT,	W,	0 },
	{ W,	  DONE_OTHER,	-ENOENT,	W,	0 },
	{ W,	  BURY,	-ENOENT,	W,	0 },
	{ W,	  BURY_OTHER,	-ENOENT,	W,	0 },
	{ W,	  GIVE_BACK,	-ENOENT,	W,	0 },
	{ W,	  GIVE_OTHER,	-ENOENT,	W,	0 },
	{ W,	  REMOVE,	KWQ_WAS_WAITING, 0,	0 },
	{ W,	  CANCEL,	KWQ_WAS_WAITING,	C,	0 },
	{ W,	  EXPIRE,	IT,		R,	1 },
	{ W,	  DROP,		IT,		0,	0 },

	{ R | W,  ADD,		KWQ_COALESCED,	R | W,	0 },
	{ R | W,  ADD_END_WAIT,	KWQ_COALESCED,	R,	0 },
	{ R | W,  ADD_AT,	KWQ_COALESCED,	R | W,	0 },
	{ R | W,  ADD_DUE,	KWQ_COALESCED,	R,	0 },
	{ R | W,  GET,		IT,		P | W,	0 },
	{ R | W,  GET_ITEM,	0,	P,	0 },
	{ R | W,  EXPEDITE,	KWQ_COALESCED,	R,	0 },
	{ R | W,  DONE,		-ENOENT,	R | W,	0 },
	{ R | W,  DONE_OTHER,	-ENOENT,	R | W,	0 },
	{ R | W,  BURY,	-ENOENT,	R | W,	0 },
	{ R | W,  BURY_OTHER,	-ENOENT,	R | W,	0 },
	{ R | W,  GIVE_BACK,	-ENOENT,	R | W,	0 },
	{ R | W,  GIVE_OTHER,	-ENOENT,	R | W,	0 },
	{ R | W,  REMOVE,	KWQ_WAS_READY | KWQ_WAS_WAITING, 0, 0 },
	{ R | W,  CANCEL,	KWQ_WAS_READY | KWQ_WAS_WAITING, C,	0 },
	{ R | W,  EXPIRE,	IT,		R,	0 },
	{ R | W,  DROP,		IT,		R,	0 },

	{ P | W,  ADD,		KWQ_DIRTIED,	PD | W,	0 },
	{ P | W,  ADD_END_WAIT,	KWQ_DIRTIED,	PD,	0 },
	{ P | W,  ADD_AT,	KWQ_COALESCED,	P | W,	0 },
	{ P | W,  ADD_DUE,	KWQ_DIRTIED,	PD,	0 },
	{ P | W,  GET,		NIL,		P | W,	0 },
	{ P | W,  GET_ITEM,	-EBUSY,	P | W,	0 },
	{ P | W,  EXPEDITE,	KWQ_DIRTIED,	PD,	0 },
	{ P | W,  DONE,		KWQ_STILL_WAITING,	W,	0 },
	{ P | W,  DONE_OTHER,	-EPERM,		P | W,	0 },
	{ P | W,  BURY,	KWQ_STILL_WAITING,	W,	0 },
	{ P | W,  BURY_OTHER,	-EPERM,	P | W,	0 },
	{ P | W,  GIVE_BACK,	KWQ_RETURNED | KWQ_STILL_WAITING,	R | W,	1 },
	{ P | W,  GIVE_OTHER,	-EPERM,	P | W,	0 },
	{ P | W,  UNGET,	VOID,		R | W,	1 },
	{ P | W,  ABANDON,	VOID,		R | W,	1 },
	{ P | W,  REMOVE,	KWQ_WAS_PROCESSING | KWQ_WAS_WAITING, P, 0 },
	{ P | W,  CANCEL,	KWQ_WAS_PROCESSING | KWQ_WAS_WAITING, P | C,	0 },
	{ P | W,  EXPIRE,	IT,		PD,	0 },
	{ P | W,  DROP,		IT,		P,	0 },

	{ PD | W, ADD,		KWQ_DIRTY,	PD | W,	0 },
	{ PD | W, ADD_END_WAIT,	KWQ_DIRTY,	PD,	0 },
	{ PD | W, ADD_AT,	KWQ_COALESCED,	PD | W,	0 },
	{ PD | W, ADD_DUE,	KWQ_DIRTY,	PD,	0 },
	{ PD | W, GET,		NIL,		PD | W,	0 },
	{ PD | W, GET_ITEM,	-EBUSY,	PD | W,	0 },
	{ PD | W, EXPEDITE,	KWQ_DIRTY,	PD,	0 },
	{ PD | W, DONE,		KWQ_REQUEUED | KWQ_STILL_WAITING, R | W, 1 },
	{ PD | W, DONE_OTHER,	-EPERM,		PD | W,	0 },
	{ PD | W, BURY,	KWQ_REQUEUED | KWQ_STILL_WAITING,	R | W,	1 },
	{ PD | W, BURY_OTHER,	-EPERM,	PD | W,	0 },
	{ PD | W, GIVE_BACK,	KWQ_RETURNED | KWQ_STILL_WAITING,	R | W,	1 },
	{ PD | W, GIVE_OTHER,	-EPERM,	PD | W,	0 },
	{ PD | W, UNGET,	VOID,		R | W,	1 },
	{ PD | W, ABANDON,	VOID,		R | W,	1 },
	{ PD | W, REMOVE,	KWQ_WAS_PROCESSING | KWQ_WAS_DIRTY |
				KWQ_WAS_WAITING, P,	0 },
	{ PD | W, CANCEL,	KWQ_WAS_PROCESSING | KWQ_WAS_DIRTY |
				KWQ_WAS_WAITING, P | C,	0 },
	{ PD | W, EXPIRE,	IT,		PD,	0 },
	{ PD | W, DROP,		IT,		PD,	0 },

	{ C,	  ADD,		-ESHUTDOWN,	C,	0 },
	{ C,	  ADD_END_WAIT,	-ESHUTDOWN,	C,	0 },
	{ C,	  ADD_AT,	-ESHUTDOWN,	C,	0 },
	{ C,	  ADD_DUE,	-ESHUTDOWN,	C,	0 },
	{ C,	  GET,		NIL,		C,	0 },
	{ C,	  GET_ITEM,	-ENOENT,	C,	0 },
	{ C,	  EXPEDITE,	-ESHUTDOWN,	C,	0 },
	{ C,	  DONE,		-ENOENT,	C,	0 },
	{ C,	  DONE_OTHER,	-ENOENT,	C,	0 },
	{ C,	  BURY,	-ENOENT,	C,	0 },
	{ C,	  BURY_OTHER,	-ENOENT,	C,	0 },
	{ C,	  GIVE_BACK,	-ENOENT,	C,	0 },
	{ C,	  GIVE_OTHER,	-ENOENT,	C,	0 },
	{ C,	  REMOVE,	-ENOENT,	C,	0 },
	{ C,	  CANCEL,	0,		C,	0 },
	{ C,	  EXPIRE,	NIL,		C,	0 },
	{ C,	  DROP,		NIL,		C,	0 },

	{ P | C,  ADD,		-ESHUTDOWN,	P | C,	0 },
	{ P | C,  ADD_END_WAIT,	-ESHUTDOWN,	P | C,	0 },
	{ P | C,  ADD_AT,	-ESHUTDOWN,	P | C,	0 },
	{ P | C,  ADD_DUE,	-ESHUTDOWN,	P | C,	0 },
	{ P | C,  GET,		NIL,		P | C,	0 },
	{ P | C,  GET_ITEM,	-EBUSY,	P | C,	0 },
	{ P | C,  EXPEDITE,	-ESHUTDOWN,	P | C,	0 },
	{ P | C,  DONE,		KWQ_FINISHED,	C,	0 },
	{ P | C,  DONE_OTHER,	-EPERM,		P | C,	0 },
	{ P | C,  BURY,	KWQ_FINISHED,	C,	0 },
	{ P | C,  BURY_OTHER,	-EPERM,	P | C,	0 },
	{ P | C,  GIVE_BACK,	KWQ_FINISHED,	C,	0 },
	{ P | C,  GIVE_OTHER,	-EPERM,	P | C,	0 },
	{ P | C,  UNGET,	VOID,		C,	0 },
	{ P | C,  ABANDON,	VOID,		C,	0 },
	{ P | C,  REMOVE,	KWQ_WAS_PROCESSING, P | C, 0 },
	{ P | C,  CANCEL,	KWQ_WAS_PROCESSING, P | C, 0 },
	{ P | C,  EXPIRE,	NIL,		P | C,	0 },
	{ P | C,  DROP,		NIL,		P | C,	0 },
};

static void describe(const struct transition *p, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s: %s", state_names[p->from],
		 op_names[p->op]);
}

KUNIT_ARRAY_PARAM(transition, transitions, describe);

#define WAIT_OVER	10
#define LATER		20

struct machine {
	struct kwq_bulk bulk;	/* of @core, if it is large */
	struct kwq_core core;
	struct kwq_holder holder;
	struct kwq_holder other;
	struct kwq_item item;
};

/* Brings a new item into a state. */
static void enter(struct kunit *test, struct machine *m, u8 state)
{
	kwq_core_init(&m->core, KWQ_LARGE);
	kwq_holder_init(&m->holder);
	kwq_holder_init(&m->other);
	kwq_item_init(&m->item);
	if (state & (R | P))
		kwq_core_add(&m->core, &m->item, NONE, false, 0);
	if (state & P)
		kwq_test_get(&m->core, &m->holder, 0);
	if ((state & PD) == PD)
		kwq_core_add(&m->core, &m->item, NONE, false, 0);
	if (state & W)
		kwq_core_add_at(&m->core, &m->item, NONE, WAIT_OVER,
				KWQ_WAIT_EARLIER, 0);
	if (state & C)
		kwq_core_disable(&m->core, &m->item);
	KUNIT_ASSERT_EQ(test, m->item.state, state);
}

static int it_or_nil(struct kunit *test, const struct machine *m,
		     const struct kwq_item *item)
{
	if (item)
		KUNIT_EXPECT_PTR_EQ(test, item, &m->item);
	return item ? IT : NIL;
}

static int carry_out(struct kunit *test, struct machine *m, enum op op)
{
	struct kwq_core *core = &m->core;
	struct kwq_item *item = &m->item;
	unsigned int budget = UINT_MAX;

	switch (op) {
	case ADD:
		return kwq_core_add(core, item, NONE, false, 0);
	case ADD_END_WAIT:
		return kwq_core_add(core, item, NONE, true, 0);
	case ADD_AT:
		return kwq_core_add_at(core, item, NONE, LATER,
				       KWQ_WAIT_EARLIER, 0);
	case ADD_DUE:
		return kwq_core_add_at(core, item, NONE, 0,
				       KWQ_WAIT_EARLIER, 0);
	case GET:
		return it_or_nil(test, m, kwq_test_get(core, &m->holder, 0));
	case GET_ITEM:
		return kwq_core_get_item(core, item, &m->holder, 0);
	case EXPEDITE:
		return kwq_core_expedite(core, item, 0);
	case DONE:
		return kwq_core_done(core, &m->holder, item, 0);
	case DONE_OTHER:
		return kwq_core_done(core, &m->other, item, 0);
	case BURY:
		return kwq_test_bury(core, &m->holder, item, 0);
	case BURY_OTHER:
		return kwq_test_bury(core, &m->other, item, 0);
	case GIVE_BACK:
		return kwq_core_give_back(core, &m->holder, item, 0);
	case GIVE_OTHER:
		return kwq_core_give_back(core, &m->other, item, 0);
	case UNGET:
		kwq_core_unget(core, item);
		return VOID;
	case ABANDON:
		kwq_core_abandon(core, item, 0);
		return VOID;
	case REMOVE:
		return kwq_core_remove(core, item);
	case CANCEL:
		return kwq_core_disable(core, item);
	case EXPIRE:
		return it_or_nil(test, m, kwq_core_expire(core, WAIT_OVER, &budget));
	case DROP:
		return it_or_nil(test, m, kwq_core_drop(core));
	default:
		return VOID;
	}
}

static void expect_state(struct kunit *test, struct machine *m, u8 state)
{
	struct kwq_holder *const holders[] = { &m->holder, &m->other };

	KUNIT_EXPECT_EQ(test, m->item.state, state);
	KUNIT_EXPECT_EQ(test, m->core.nr_ready, (state & PD) == R);
	KUNIT_EXPECT_EQ(test, m->core.nr_processing, !!(state & P));
	KUNIT_EXPECT_EQ(test, m->bulk.nr_waiting, !!(state & W));
	KUNIT_EXPECT_EQ(test, m->holder.nr_held, !!(state & P));
	KUNIT_EXPECT_EQ(test, kwq_item_is_idle(&m->item), !(state & ~C));
	KUNIT_EXPECT_STREQ(test, "",
			   kwq_core_broken(&m->core, holders, 2) ?: "");
}

/* Q2 Q3 Q4 Q6 Q11 D1 D3 O1 O2 K3 K9 */
static void operation_in_state(struct kunit *test)
{
	const struct transition *p = test->param_value;
	struct machine *m = test->priv;
	bool ends = p->from & C && p->from & P && !(p->to & P);
	u64 readied;

	enter(test, m, p->from);
	readied = m->core.readied;
	KUNIT_EXPECT_EQ(test, carry_out(test, m, p->op), p->result);
	KUNIT_EXPECT_EQ(test, m->core.readied - readied, p->readied);
	KUNIT_EXPECT_EQ(test, m->core.ended, ends);
	expect_state(test, m, p->to);
}

/* Q8: the same after a shut down, without adds and times. */
static void operation_after_shut_down(struct kunit *test)
{
	const struct transition *p = test->param_value;
	struct machine *m = test->priv;
	int result = p->result;
	u8 to = p->to;

	switch (p->op) {
	case ADD:
	case ADD_END_WAIT:
	case ADD_AT:
	case ADD_DUE:
	case EXPEDITE:
		result = -ESHUTDOWN;
		to = p->from;
		break;
	case GET_ITEM:
		/* The wait does not count any more. */
		if (p->from == W)
			result = -ENOENT;
		if (p->from & W)
			to = p->from & R && !(p->from & P) ? P | W : p->from;
		break;
	case EXPIRE:
		result = NIL;
		to = p->from;
		break;
	case DONE:
	case BURY:
	case GIVE_BACK:
		if (result > 0)
			result &= ~(KWQ_STILL_WAITING | KWQ_BURIED);
		/* Q10: a buried item is not kept. */
		to &= ~D;
		break;
	default:
		break;
	}
	enter(test, m, p->from);
	kwq_core_shut_down(&m->core, true);
	KUNIT_EXPECT_EQ(test, carry_out(test, m, p->op), result);
	expect_state(test, m, to);
	KUNIT_EXPECT_EQ(test, kwq_core_next_time(&m->core), KTIME_MAX);
	KUNIT_EXPECT_EQ(test, kwq_core_is_drained(&m->core), !(to & PD));
}

/* Checks that the table misses no row. */
static void table_is_complete(struct kunit *test)
{
	u8 state;
	int op, i;

	for (state = 0; state < ARRAY_SIZE(state_names); state++) {
		if (!state_names[state])
			continue;
		for (op = 0; op < NR_OPS; op++) {
			int rows = 0;

			for (i = 0; i < ARRAY_SIZE(transitions); i++)
				rows += transitions[i].from == state &&
					transitions[i].op == op;
			KUNIT_EXPECT_EQ_MSG(test, rows, (op != UNGET &&
							 op != ABANDON) ||
							(state & P),
					    "%s: %s", state_names[state],
					    op_names[op]);
		}
	}
}

/* ---- Many operations at random ---- */

#define NR_ITEMS	6
#define NR_HOLDERS	3
#define NR_GROUPS	3	/* the first one is that of all items without a group */
#define NR_ROUNDS	100
#define OPS_A_ROUND	512

/*
 * An item as a user sees it. The order of ready items, and of equal times, is a number:
 * nothing is linked.
 */
struct model_item {
	bool queued;		/* ready */
	bool dirty;
	bool processing;
	bool waiting;
	bool dead;		/* or due to be dead at its done */
	int disables;
	bool returned;		/* given back when it last became ready */
	int holder;
	int group;
	int run_group;		/* in which the run counts */
	int priority;
	int pending_priority;
	int wait_priority;
	ktime_t when;
	ktime_t wait_since;	/* the first add of this wait */
	ktime_t since;		/* when it became idle or dead */
	s64 order;
	s64 wait_order;
	s64 death_order;
	u32 abandoned;
	u32 requeues;
};

/* Q16: where a group waits for its turn. The lower comes first. */
struct model_group {
	int where;		/* KWQ_GROUP_* */
	int priority;
	bool returned;
	s64 turn;
};

struct model {
	struct model_item item[NR_ITEMS];
	struct model_group group[NR_GROUPS];
	bool grouped;
	u32 group_limit;
	u64 aging;
	struct kwq_limiter_config config;
	bool shut_down;
	ktime_t now;
	s64 last;		/* the highest order so far */
	s64 first;		/* the lowest */
	u64 adds, coalesced, gets, dones, abandoned, returned, removed, dropped, readied;
	u64 retries, rate_limited, died;
	u16 flushes;
	bool ended;
};

struct random_test {
	struct rnd_state rnd;
	struct kwq_bulk bulk;	/* of @core, if it is large */
	struct kwq_core core;
	struct kwq_holder holder[NR_HOLDERS];
	struct kwq_grouped_item of[NR_ITEMS];
	struct kwq_group group[NR_GROUPS];
	struct model model;
	const char *what;	/* the operation under way */
};

static u32 below(struct random_test *r, u32 n)
{
	return prandom_u32_state(&r->rnd) % n;
}

static bool model_comes_before(const struct model_item *a,
			       const struct model_item *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority;
	if (a->returned != b->returned)
		return a->returned;
	return a->order < b->order;
}

/* Q16: the first ready item of a group; without groups, of all items. */
static struct model_item *model_first_of(struct model *m, int group)
{
	struct model_item *first = NULL;
	int i;

	for (i = 0; i < NR_ITEMS; i++) {
		struct model_item *mi = &m->item[i];

		if (mi->queued && mi->group == group &&
		    (!first || model_comes_before(mi, first)))
			first = mi;
	}
	return first;
}

static u32 model_offered(const struct model *m)
{
	u32 ready[NR_GROUPS] = {}, running[NR_GROUPS] = {}, nr = 0;
	int i;

	for (i = 0; i < NR_ITEMS; i++) {
		ready[m->item[i].group] += m->item[i].queued;
		running[m->item[i].run_group] += m->item[i].processing;
	}
	for (i = 0; i < NR_GROUPS; i++) {
		if (m->group_limit && i)
			ready[i] = min(ready[i], m->group_limit - min(running[i], m->group_limit));
		nr += ready[i];
	}
	return nr;
}

static bool model_offers(const struct model *m, int group)
{
	u32 running = 0;
	int i;

	for (i = 0; i < NR_ITEMS; i++)
		running += m->item[i].processing && m->item[i].run_group == group;
	return !m->group_limit || !group || running < m->group_limit;
}

enum turn { KEEPS, TOOK, AGAIN };

static void model_place(struct model *m, int nr, enum turn turn)
{
	struct model_item *first = model_first_of(m, nr);
	struct model_group new = { .where = KWQ_GROUP_NOWHERE }, *group = &m->group[nr];

	if (first)
		new.where = model_offers(m, nr) ? KWQ_GROUP_IN_BAND : KWQ_GROUP_BLOCKED;
	if (new.where == KWQ_GROUP_IN_BAND) {
		new.priority = first->priority;
		new.returned = first->returned;
	}
	if (turn == KEEPS && new.where == group->where && new.priority == group->priority &&
	    new.returned == group->returned)
		return;
	new.turn = turn == AGAIN ? --m->first : ++m->last;
	*group = new;
}

static void model_note_offer(struct model *m, u32 before)
{
	u32 after = model_offered(m);

	if (after > before)
		m->readied += after - before;
}

static void model_join(struct model *m, struct model_item *mi, enum turn turn)
{
	u32 before = model_offered(m);

	mi->queued = true;
	model_note_offer(m, before);
	model_place(m, mi->group, turn);
}

static void model_leave(struct model *m, struct model_item *mi, enum turn turn)
{
	mi->queued = false;
	model_place(m, mi->group, turn);
}

/* The end of a run, before what becomes of its item. */
static void model_end_run(struct model *m, struct model_item *mi)
{
	u32 before = model_offered(m);

	mi->processing = false;
	model_note_offer(m, before);
	model_place(m, mi->run_group, KEEPS);
}

static void model_begin_run(struct model *m, struct model_item *mi, int holder)
{
	mi->dirty = false;
	mi->processing = true;
	mi->holder = holder;
	mi->run_group = mi->group;
	model_leave(m, mi, TOOK);
	m->gets++;
}

static void model_get_ready(struct model *m, struct model_item *mi,
			    int priority, bool returned)
{
	mi->dirty = true;
	mi->priority = priority;
	mi->returned = returned;
	mi->order = ++m->last;
	model_join(m, mi, KEEPS);
}

static void model_raise(struct model *m, struct model_item *mi, int priority)
{
	u64 readied = m->readied;

	model_leave(m, mi, KEEPS);
	mi->priority = priority;
	mi->order = ++m->last;
	model_join(m, mi, KEEPS);
	m->readied = readied;
}

static void model_set_group(struct model *m, struct model_item *mi, int group)
{
	u64 readied = m->readied;
	u32 before = model_offered(m);

	if (mi->group == group)
		return;
	if (!mi->queued) {
		mi->group = group;
		return;
	}
	model_leave(m, mi, KEEPS);
	mi->group = group;
	mi->order = ++m->last;
	model_join(m, mi, KEEPS);
	m->readied = readied;
	model_note_offer(m, before);
}

/* The priority of an item, for an add that names none. */
static int model_kept(const struct model_item *mi)
{
	if (mi->dirty || mi->processing)
		return mi->priority;
	if (!mi->waiting)
		return 0;
	return mi->wait_priority != NONE ? mi->wait_priority : mi->priority;
}

static int model_add_now(struct model *m, struct model_item *mi, int priority)
{
	if (mi->dirty) {
		m->coalesced++;
		if (mi->processing) {
			if (priority != NONE && priority > mi->pending_priority)
				mi->pending_priority = priority;
			return KWQ_DIRTY;
		}
		if (priority != NONE && priority > mi->priority)
			model_raise(m, mi, priority);
		return KWQ_COALESCED;
	}

	if (priority == NONE)
		priority = model_kept(mi);
	m->adds++;
	if (mi->processing) {
		mi->dirty = true;
		mi->pending_priority = priority;
		return KWQ_DIRTIED;
	}
	model_get_ready(m, mi, priority, false);
	return KWQ_ADDED;
}

static struct model_item *model_first_waiting(struct model *m)
{
	struct model_item *first = NULL;
	int i;

	for (i = 0; i < NR_ITEMS; i++) {
		struct model_item *mi = &m->item[i];

		if (mi->waiting &&
		    (!first || mi->when < first->when ||
		     (mi->when == first->when &&
		      mi->wait_order < first->wait_order)))
			first = mi;
	}
	return first;
}

/* The item of its priority and lane that is next: that of the group whose turn it is. */
static bool model_is_next(struct model *m, struct model_item *mi)
{
	int i;

	if (mi != model_first_of(m, mi->group) && m->grouped)
		return false;
	if (m->grouped && m->group[mi->group].where != KWQ_GROUP_IN_BAND)
		return false;
	for (i = 0; i < NR_ITEMS; i++) {
		struct model_item *other = &m->item[i];

		if (other == mi || !other->queued || other->priority != mi->priority ||
		    other->returned != mi->returned)
			continue;
		if (!m->grouped) {
			if (other->order < mi->order)
				return false;
		} else if (other == model_first_of(m, other->group) &&
			   m->group[other->group].where == KWQ_GROUP_IN_BAND &&
			   m->group[other->group].turn < m->group[mi->group].turn) {
			return false;
		}
	}
	return true;
}

/* Q17: the core's own note of when the item became dirty counts. */
static bool aged_before(struct random_test *r, const struct model_item *a,
			const struct model_item *b)
{
	const struct model *m = &r->model;
	s64 dirtied_a = r->of[a - m->item].item.dirtied;
	s64 dirtied_b = r->of[b - m->item].item.dirtied;
	s64 level_a = a->priority, level_b = b->priority;

	if (m->aging) {
		level_a = min(level_a + div64_s64(m->now - dirtied_a, m->aging), 31LL);
		level_b = min(level_b + div64_s64(m->now - dirtied_b, m->aging), 31LL);
	}
	if (level_a != level_b)
		return level_a > level_b;
	if (m->aging && dirtied_a != dirtied_b)
		return dirtied_a < dirtied_b;
	if (a->returned != b->returned)
		return a->returned;
	return a->priority > b->priority;
}

static struct model_item *model_first_ready(struct random_test *r)
{
	struct model *m = &r->model;
	struct model_item *first = NULL, *mi, *older;

	for (mi = m->item; mi < m->item + NR_ITEMS; mi++)
		if (mi->queued && model_is_next(m, mi) && (!first || aged_before(r, mi, first)))
			first = mi;
	if (!first || !m->grouped || !m->aging)
		return first;
	/* The group's own items are compared, too: the first one of each priority and lane. */
	for (mi = m->item; mi < m->item + NR_ITEMS; mi++) {
		if (!mi->queued || mi->group != first->group)
			continue;
		for (older = m->item; older < m->item + NR_ITEMS; older++)
			if (older->queued && older->group == mi->group &&
			    older->priority == mi->priority && older->returned == mi->returned &&
			    older->order < mi->order)
				break;
		if (older == m->item + NR_ITEMS && aged_before(r, mi, first))
			first = mi;
	}
	return first;
}

static int model_end_wait(struct model *m, struct model_item *mi)
{
	int priority = mi->wait_priority;

	if (!mi->dirty && !mi->processing)
		priority = model_kept(mi);
	mi->waiting = false;
	return model_add_now(m, mi, priority);
}

static u32 model_requeues(const struct model *m, const struct model_item *mi)
{
	bool idle = !mi->dirty && !mi->processing && !mi->waiting && !mi->dead;
	u64 age = m->now - mi->since;

	return idle && m->config.forget_after && age >= m->config.forget_after ?
	       0 : mi->requeues;
}

static void model_revive(struct model_item *mi)
{
	if (mi->dead)
		mi->requeues = 0;
	if (mi->dead && !mi->processing)
		mi->abandoned = 0;
	mi->dead = false;
}

static int model_add(struct model *m, struct model_item *mi, int priority,
		     bool end_wait)
{
	int ret;

	if (m->shut_down || mi->disables)
		return -ESHUTDOWN;
	mi->requeues = model_requeues(m, mi);
	/* A dead item is not idle: it keeps its priority. */
	if (priority == NONE && mi->dead && !mi->processing && !mi->dirty)
		priority = mi->priority;
	model_revive(mi);
	ret = model_add_now(m, mi, priority);
	/* The add of the wait happens now; the item is dirty already. */
	if (end_wait && mi->waiting) {
		model_add_now(m, mi, mi->wait_priority);
		m->coalesced--;
		mi->waiting = false;
	}
	return ret;
}

static void model_merge_priority(struct model_item *mi, int priority,
				 enum kwq_wait_policy policy)
{
	if (priority != NONE &&
	    (policy == KWQ_WAIT_REPLACE || priority > mi->wait_priority))
		mi->wait_priority = priority;
}

static int model_wait(struct model *m, struct model_item *mi, int priority,
		      ktime_t when, enum kwq_wait_policy policy)
{
	bool waited = mi->waiting;
	bool move = !waited ||
		    (policy == KWQ_WAIT_REPLACE && when != mi->when) ||
		    (policy == KWQ_WAIT_EARLIER && when < mi->when) ||
		    (policy == KWQ_WAIT_LATER && when > mi->when);

	m->retries++;
	if (!waited) {
		mi->wait_priority = priority;
		mi->wait_since = m->now;
	} else {
		model_merge_priority(mi, priority, policy);
	}
	if (move) {
		mi->when = when;
		mi->wait_order = ++m->last;
	}
	mi->waiting = true;

	if (move && mi->when <= m->now && model_first_waiting(m) == mi)
		return model_end_wait(m, mi);
	if (!waited)
		return KWQ_WAITING;
	m->coalesced++;
	return KWQ_COALESCED;
}

static int model_add_at(struct model *m, struct model_item *mi, int priority,
			ktime_t when, enum kwq_wait_policy policy)
{
	if (m->shut_down || mi->disables)
		return -ESHUTDOWN;
	mi->requeues = model_requeues(m, mi);
	if (!mi->dirty && !mi->processing && !mi->waiting && !mi->dead)
		mi->priority = 0;
	model_revive(mi);
	return model_wait(m, mi, priority, when, policy);
}

static void model_bury(struct model *m, struct model_item *mi)
{
	mi->since = m->now;
	mi->death_order = ++m->last;
}

static int model_die(struct model *m, struct model_item *mi)
{
	if (mi->dirty || mi->waiting) {
		m->coalesced++;
		return mi->dirty && mi->processing ? KWQ_DIRTY : KWQ_COALESCED;
	}
	m->died++;
	mi->dead = true;
	if (!mi->processing)
		model_bury(m, mi);
	return KWQ_DEAD;
}

static int model_give_up(struct model *m, struct model_item *mi)
{
	if (m->shut_down || mi->disables)
		return -ESHUTDOWN;
	return mi->dead ? KWQ_DEAD : model_die(m, mi);
}

static int model_retry(struct model *m, struct model_item *mi, int priority,
		       enum kwq_wait_policy policy)
{
	if (m->shut_down || mi->disables)
		return -ESHUTDOWN;
	if (mi->dead)
		return KWQ_DEAD;
	if (mi->waiting && m->config.flags & KWQ_CONFIG_COALESCE) {
		model_merge_priority(mi, priority, policy);
		m->coalesced++;
		return KWQ_COALESCED;
	}
	mi->requeues = model_requeues(m, mi);
	if (m->config.dead_after && mi->requeues >= m->config.dead_after)
		return model_die(m, mi);
	m->rate_limited++;
	mi->requeues++;
	/* 1, 2, 4, 8, 8, ... */
	if (!mi->dirty && !mi->processing && !mi->waiting)
		mi->priority = 0;
	return model_wait(m, mi, priority,
			  m->now + (1 << min(mi->requeues - 1, 3U)), policy);
}

static struct model_item *model_first_dead(struct model *m)
{
	struct model_item *first = NULL;
	int i;

	for (i = 0; i < NR_ITEMS; i++) {
		struct model_item *mi = &m->item[i];

		if (mi->dead && !mi->processing &&
		    (!first || mi->death_order < first->death_order))
			first = mi;
	}
	return first;
}

static int model_priority_undone(const struct model_item *mi)
{
	return mi->dirty && mi->pending_priority > mi->priority ?
	       mi->pending_priority : mi->priority;
}

static int model_remove(struct model *m, struct model_item *mi)
{
	int was = 0;

	if (mi->waiting)
		was |= KWQ_WAS_WAITING;
	if (mi->processing)
		was |= KWQ_WAS_PROCESSING;
	if (mi->processing && mi->dirty)
		was |= KWQ_WAS_DIRTY;
	if (mi->queued) {
		model_leave(m, mi, KEEPS);
		was |= KWQ_WAS_READY;
		mi->abandoned = 0;
	}
	if (mi->dead) {
		was |= KWQ_WAS_DEAD;
		if (!mi->processing)
			mi->abandoned = 0;
	}
	mi->waiting = false;
	mi->dirty = false;
	mi->dead = false;
	if (!was)
		return -ENOENT;
	mi->requeues = 0;
	m->removed++;
	return was;
}

static void model_drop(struct model *m, struct model_item *mi)
{
	if (mi->dead)
		mi->abandoned = 0;
	mi->waiting = false;
	mi->dead = false;
	if (!mi->dirty && !mi->processing)
		mi->requeues = 0;
	m->dropped++;
}

static struct kwq_item *item_of(struct random_test *r,
				const struct model_item *mi)
{
	return mi ? &r->of[mi - r->model.item].item : NULL;
}

static int random_priority(struct random_test *r)
{
	/* Few levels, so that items meet, with both ends. */
	static const int levels[] = {
		NONE, NONE, NONE, 0, 1, -1, KWQ_PRIORITY_MIN, KWQ_PRIORITY_MAX,
	};

	return levels[below(r, ARRAY_SIZE(levels))];
}

static const char *try_add(struct random_test *r, int i)
{
	int priority = random_priority(r);
	bool end_wait = !below(r, 4);

	r->what = "add";
	if (kwq_core_add(&r->core, &r->of[i].item, priority, end_wait,
			 r->model.now) !=
	    model_add(&r->model, &r->model.item[i], priority, end_wait))
		return "the result is wrong";
	return NULL;
}

static const char *try_add_at(struct random_test *r, int i)
{
	int priority = random_priority(r);
	enum kwq_wait_policy policy = below(r, 4);
	ktime_t when = below(r, 64) ? r->model.now + below(r, 12) - 3 : KTIME_MAX;

	r->what = "add_at";
	if (kwq_core_add_at(&r->core, &r->of[i].item, priority, when, policy,
			    r->model.now) !=
	    model_add_at(&r->model, &r->model.item[i], priority, when, policy))
		return "the result is wrong";
	return NULL;
}

/* D9 */
static const char *try_add_debounced(struct random_test *r, int i)
{
	struct model_item *mi = &r->model.item[i];
	ktime_t now = r->model.now, since = mi->waiting ? mi->wait_since : now;
	u64 at_most = below(r, 64) ? 1 + below(r, 12) : U64_MAX;
	ktime_t latest = at_most == U64_MAX ? KTIME_MAX : since + at_most;
	ktime_t when = min(now + below(r, 8), latest);
	int priority = random_priority(r);

	r->what = "add_debounced";
	if (kwq_core_latest(&r->core, &r->of[i].item, at_most, now) != latest)
		return "the latest time is another";
	if (kwq_core_add_at(&r->core, &r->of[i].item, priority, when, KWQ_WAIT_REPLACE, now) !=
	    model_add_at(&r->model, mi, priority, when, KWQ_WAIT_REPLACE))
		return "the result is wrong";
	return NULL;
}

static const char *try_retry(struct random_test *r, int i)
{
	int priority = random_priority(r);
	enum kwq_wait_policy policy = below(r, 4);

	r->what = "add_rate_limited";
	if (kwq_core_add_rate_limited(&r->core, &r->of[i].item, priority, policy,
				      r->model.now, 0) !=
	    model_retry(&r->model, &r->model.item[i], priority, policy))
		return "the result is wrong";
	return NULL;
}

static const char *try_give_up(struct random_test *r, int i)
{
	r->what = "give_up";
	if (kwq_core_give_up(&r->core, &r->of[i].item, r->model.now) !=
	    model_give_up(&r->model, &r->model.item[i]))
		return "the result is wrong";
	return NULL;
}

static const char *try_forget(struct random_test *r, int i)
{
	struct model_item *mi = &r->model.item[i];
	u32 requeues = model_requeues(&r->model, mi);

	r->what = "forget";
	if (kwq_core_num_requeues(&r->core, &r->of[i].item, r->model.now) != requeues)
		return "num_requeues tells another number";
	if (kwq_core_forget(&r->core, &r->of[i].item, r->model.now) != requeues)
		return "the result is wrong";
	mi->requeues = 0;
	return NULL;
}

static const char *try_get(struct random_test *r)
{
	struct model_item *mi = model_first_ready(r);
	int holder = below(r, NR_HOLDERS);

	r->what = "get";
	if (kwq_core_peek(&r->core, r->model.now) != item_of(r, mi))
		return "peek shows another item";
	if (kwq_test_get(&r->core, &r->holder[holder], r->model.now) !=
	    item_of(r, mi))
		return "another item comes out";
	if (mi)
		model_begin_run(&r->model, mi, holder);
	return NULL;
}

/* Q16: moves an item, or lets items age otherwise (Q17). */
static const char *try_reorder(struct random_test *r, int i)
{
	int group = below(r, NR_GROUPS);

	r->what = "reorder";
	if (below(r, 4) == 0) {
		r->model.aging = below(r, 8);
		kwq_core_set_aging(&r->core, r->model.aging);
	} else if (r->model.grouped) {
		kwq_core_set_group(&r->core, &r->of[i].item, group ? &r->group[group] : NULL);
		model_set_group(&r->model, &r->model.item[i], group);
	}
	return NULL;
}

static const char *try_get_item(struct random_test *r, int i)
{
	struct model_item *mi = &r->model.item[i];
	int holder = below(r, NR_HOLDERS);
	int expected = 0;

	r->what = "get_item";
	if (mi->processing) {
		expected = -EBUSY;
	} else {
		if (mi->waiting && !r->model.shut_down)
			model_end_wait(&r->model, mi);
		if (!mi->dirty)
			expected = -ENOENT;
	}
	if (kwq_core_get_item(&r->core, &r->of[i].item, &r->holder[holder],
			      r->model.now) != expected)
		return "the result is wrong";
	if (!expected)
		model_begin_run(&r->model, mi, holder);
	return NULL;
}

static const char *try_expedite(struct random_test *r, int i)
{
	struct model_item *mi = &r->model.item[i];
	int expected = -ENOENT;

	r->what = "expedite";
	if (r->model.shut_down || mi->disables)
		expected = -ESHUTDOWN;
	else if (mi->waiting)
		expected = model_end_wait(&r->model, mi);
	if (kwq_core_expedite(&r->core, &r->of[i].item, r->model.now) != expected)
		return "the result is wrong";
	return NULL;
}

/* kwq_core_broken() compares the count with the items' colours. */
static const char *try_flush(struct random_test *r)
{
	r->what = "flush";
	if (!r->core.nr_before)
		kwq_core_begin_flush(&r->core);
	return NULL;
}

/* Ends the holding of an item by its holder. Returns the result of the done. */
static int model_done(struct model *m, struct model_item *mi)
{
	int result = mi->dirty ? KWQ_REQUEUED : KWQ_FINISHED;

	if (mi->waiting && !m->shut_down)
		result |= KWQ_STILL_WAITING;
	model_end_run(m, mi);
	m->ended |= !!mi->disables;
	mi->abandoned = 0;
	m->dones++;
	if (mi->dirty)
		model_get_ready(m, mi, mi->pending_priority, false);
	else
		mi->since = m->now;
	if (mi->dead && m->shut_down)
		model_drop(m, mi);
	else if (mi->dead)
		model_bury(m, mi);
	return result;
}

/* Q6 */
static int model_check_holder(const struct model_item *mi, int holder)
{
	if (!mi->processing)
		return -ENOENT;
	return mi->holder == holder ? 0 : -EPERM;
}

static const char *try_done(struct random_test *r, int i)
{
	struct model_item *mi = &r->model.item[i];
	int holder = below(r, NR_HOLDERS);
	int expected = model_check_holder(mi, holder) ?: model_done(&r->model, mi);

	r->what = "done";
	if (kwq_core_done(&r->core, &r->holder[holder], &r->of[i].item,
			  r->model.now) != expected)
		return "the result is wrong";
	return NULL;
}

static const char *try_bury(struct random_test *r, int i)
{
	struct model_item *mi = &r->model.item[i];
	int holder = below(r, NR_HOLDERS);
	int expected = model_check_holder(mi, holder);

	r->what = "bury";
	if (!expected) {
		model_give_up(&r->model, mi);
		expected = model_done(&r->model, mi);
		if (mi->dead)
			expected = KWQ_BURIED;
	}
	if (kwq_test_bury(&r->core, &r->holder[holder], &r->of[i].item, r->model.now) != expected)
		return "the result is wrong";
	return NULL;
}

/* Returns false if the item was cancelled. */
static bool model_put_back(struct model *m, struct model_item *mi)
{
	bool moved;

	model_end_run(m, mi);
	if (mi->disables) {
		mi->abandoned = 0;
		m->ended = true;
		return false;
	}
	/* At its old place, but in a new band or group at the tail. */
	moved = model_priority_undone(mi) > mi->priority || mi->run_group != mi->group;
	mi->order = moved ? ++m->last : --m->first;
	mi->priority = model_priority_undone(mi);
	mi->dirty = true;
	mi->dead = false;
	model_join(m, mi, moved ? KEEPS : AGAIN);
	return true;
}

static const char *try_give_back(struct random_test *r, int i)
{
	struct model_item *mi = &r->model.item[i];
	int holder = below(r, NR_HOLDERS);
	int expected = model_check_holder(mi, holder);
	bool waits = mi->waiting && !r->model.shut_down;

	r->what = "give_back";
	if (!expected) {
		r->model.returned++;
		if (model_put_back(&r->model, mi))
			expected = KWQ_RETURNED | (waits ? KWQ_STILL_WAITING : 0);
		else
			mi->since = r->model.now;
	}
	if (kwq_core_give_back(&r->core, &r->holder[holder], &r->of[i].item, r->model.now) !=
	    expected)
		return "the result is wrong";
	return NULL;
}

static const char *try_unget(struct random_test *r, int i)
{
	struct model_item *mi = &r->model.item[i];

	if (!mi->processing)
		return NULL;
	r->what = "unget";
	kwq_core_unget(&r->core, &r->of[i].item);
	r->model.gets--;
	model_put_back(&r->model, mi);
	return NULL;
}

static const char *try_abandon(struct random_test *r, int i)
{
	u32 limit = r->model.config.dead_after_lost;
	struct model_item *mi = &r->model.item[i];
	int ret;

	if (!mi->processing)
		return NULL;
	r->what = "abandon";
	ret = kwq_core_abandon(&r->core, &r->of[i].item, r->model.now);
	model_end_run(&r->model, mi);
	r->model.abandoned++;
	if (mi->disables) {
		mi->abandoned = 0;
		mi->since = r->model.now;
		r->model.ended = true;
		return ret == KWQ_FINISHED ? NULL : "the result is wrong";
	}
	mi->abandoned++;
	if (limit && mi->abandoned >= limit && !mi->dirty && !mi->waiting) {
		r->model.died += !mi->dead;
		mi->dead = true;
		if (r->model.shut_down)
			model_drop(&r->model, mi);
		else
			model_bury(&r->model, mi);
		return ret == KWQ_DEAD ? NULL : "the result is wrong";
	}
	mi->dead = false;
	model_get_ready(&r->model, mi, model_priority_undone(mi), mi->abandoned == 1);
	return ret == KWQ_REQUEUED ? NULL : "the result is wrong";
}

static const char *try_remove(struct random_test *r, int i)
{
	r->what = "remove";
	if (kwq_core_remove(&r->core, &r->of[i].item) !=
	    model_remove(&r->model, &r->model.item[i]))
		return "the result is wrong";
	return NULL;
}

/* Disables an item, perhaps again, or enables or initialises it once it is idle. */
static const char *try_disable(struct random_test *r, int i)
{
	struct model_item *mi = &r->model.item[i];
	int was;

	r->what = "disable";
	if (mi->disables && !mi->processing && below(r, 2)) {
		kwq_core_enable(&r->of[i].item);
		mi->disables--;
		return NULL;
	}
	if (mi->disables && !mi->processing) {
		kwq_item_init(&r->of[i].item);
		*mi = (struct model_item){ .group = mi->group };
		return NULL;
	}
	was = model_remove(&r->model, mi);
	mi->disables++;
	if (kwq_core_disable(&r->core, &r->of[i].item) != max(was, 0))
		return "the result is wrong";
	return NULL;
}

static const char *try_expire(struct random_test *r)
{
	unsigned int budget = UINT_MAX;
	struct model_item *mi = NULL;

	r->what = "expire";
	r->model.now += below(r, 3);
	if (!r->model.shut_down)
		mi = model_first_waiting(&r->model);
	if (kwq_core_next_time(&r->core) != (mi ? mi->when : KTIME_MAX))
		return "next tells another time";
	if (mi && mi->when > r->model.now)
		mi = NULL;
	if (kwq_core_expire(&r->core, r->model.now, &budget) != item_of(r, mi))
		return "another item is due";
	if (mi)
		model_end_wait(&r->model, mi);
	return NULL;
}

static const char *try_drop(struct random_test *r)
{
	struct kwq_item *item = kwq_core_drop(&r->core);
	struct model_item *mi = NULL;

	if (item)
		mi = &r->model.item[container_of(item, struct kwq_grouped_item, item) - r->of];

	r->what = "drop";
	/* Waiting items first, in any order. */
	if (model_first_waiting(&r->model) ? !mi || !mi->waiting :
					     mi != model_first_dead(&r->model))
		return "another item is dropped";
	if (mi)
		model_drop(&r->model, mi);
	return NULL;
}

static const char *try_one(struct random_test *r)
{
	int i = below(r, NR_ITEMS);

	switch (below(r, 25)) {
	case 0:
	case 1:
	case 2:
		return try_add(r, i);
	case 3:
		return try_add_debounced(r, i);
	case 4:
	case 5:
		return try_add_at(r, i);
	case 6:
	case 7:
	case 8:
		return try_get(r);
	case 9:
	case 10:
		return try_done(r, i);
	case 11:
		return try_unget(r, i);
	case 12:
		return try_abandon(r, i);
	case 13:
		return below(r, 2) ? try_remove(r, i) : try_disable(r, i);
	case 14:
	case 15:
	case 16:
		return try_retry(r, i);
	case 17:
		return below(r, 2) ? try_give_up(r, i) : try_forget(r, i);
	case 18:
		return try_get_item(r, i);
	case 19:
		return below(r, 2) ? try_expedite(r, i) : try_flush(r);
	case 20:
		return try_reorder(r, i);
	case 21:
		return try_bury(r, i);
	case 22:
		return try_give_back(r, i);
	default:
		if (r->model.shut_down && below(r, 2))
			return try_drop(r);
		return try_expire(r);
	}
}

static const char *item_differs(const struct random_test *r, int i)
{
	const struct model_item *mi = &r->model.item[i];
	const struct kwq_item *item = &r->of[i].item;

	if (item->state != (mi->dirty ? KWQ_ITEM_DIRTY : 0) +
			   (mi->processing ? KWQ_ITEM_PROCESSING : 0) +
			   (mi->waiting ? KWQ_ITEM_WAITING : 0) +
			   (mi->dead ? KWQ_ITEM_DEAD : 0) +
			   (mi->disables ? KWQ_ITEM_DISABLED : 0))
		return "an item's state is wrong";
	if ((mi->dirty || mi->processing) && item->priority != mi->priority)
		return "an item's priority is wrong";
	if (mi->processing && item->holder != &r->holder[mi->holder])
		return "an item's holder is wrong";
	if (mi->waiting && kwq_core_due(&r->core, item) != mi->when)
		return "an item's time is wrong";
	if (item->abandoned != mi->abandoned)
		return "an item's abandonments are wrong";
	if (item->requeues != mi->requeues)
		return "an item's requeues are wrong";
	if (mi->dead && !mi->processing && item->since != mi->since)
		return "an item's death was at another time";
	return NULL;
}

static const char *core_differs(const struct random_test *r)
{
	const struct kwq_core *core = &r->core;
	const struct kwq_bulk *bulk = &r->bulk;
	const struct model *m = &r->model;

	if (bulk->adds != m->adds || bulk->coalesced != m->coalesced)
		return "adds or coalesced is wrong";
	if (bulk->gets != m->gets || bulk->dones != m->dones)
		return "gets or dones is wrong";
	if (bulk->abandoned != m->abandoned || bulk->removed != m->removed)
		return "abandoned or removed is wrong";
	if (bulk->returned != m->returned)
		return "returned is wrong";
	if (bulk->dropped != m->dropped || core->readied != m->readied)
		return "dropped or readied is wrong";
	if (bulk->retries != m->retries || bulk->rate_limited != m->rate_limited)
		return "retries or rate_limited is wrong";
	if (bulk->died != m->died || core->ended != (m->ended || core->flushes != m->flushes))
		return "died or ended is wrong";
	return NULL;
}

static const char *differs(struct random_test *r)
{
	struct kwq_holder *holders[NR_HOLDERS];
	const char *wrong;
	int i;

	for (i = 0; i < NR_HOLDERS; i++)
		holders[i] = &r->holder[i];
	wrong = kwq_core_broken(&r->core, holders, NR_HOLDERS);
	for (i = 0; !wrong && i < NR_ITEMS; i++)
		wrong = item_differs(r, i);
	wrong = wrong ?: core_differs(r);
	/* As the queue does when it has woken drainers. */
	r->core.ended = false;
	r->model.ended = false;
	r->model.flushes = r->core.flushes;
	return wrong;
}

/* Configures L10, L11, L12 and coalescing, or none of them. */
static void configure(struct kunit *test, struct random_test *r, int round)
{
	struct kwq_limiter_config *config = &r->model.config;

	config->flags = round & 1 ? KWQ_CONFIG_COALESCE : 0;
	config->dead_after = round & 2 ? 3 : 0;
	config->dead_after_lost = round & 8 ? 2 : 0;
	config->forget_after = round & 4 ? 5 : 0;
	config->nr = 1;
	config->limiters[0].kind = KWQ_LIMITER_EXPONENTIAL;
	config->limiters[0].u.exponential.base = 1;
	config->limiters[0].u.exponential.max = 8;
	kwq_test_limit(test, &r->core.limiter, config, 0);
}

static void start_round(struct kunit *test, struct random_test *r, int round)
{
	int i;

	kwq_core_init(&r->core, KWQ_LARGE);
	for (i = 0; i < NR_HOLDERS; i++)
		kwq_holder_init(&r->holder[i]);
	memset(&r->model, 0, sizeof(r->model));
	for (i = 0; i < NR_GROUPS; i++)
		kwq_group_init(&r->group[i]);
	if (round & 16) {
		r->model.grouped = true;
		r->model.group_limit = round % 3;
		kwq_core_group_items(&r->core, r->model.group_limit);
	}
	for (i = 0; i < NR_ITEMS; i++) {
		r->model.item[i].group = r->model.grouped ? i % NR_GROUPS : 0;
		kwq_grouped_item_init(&r->of[i], r->model.item[i].group ?
				      &r->group[r->model.item[i].group] : NULL);
	}
	r->model.now = 1000;
	configure(test, r, round);
}

/* All rules of Q, D, L and O for the core, in combination. */
static void random_operations(struct kunit *test)
{
	struct random_test *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	const char *wrong;
	int round, n;

	KUNIT_ASSERT_NOT_NULL(test, r);
	prandom_seed_state(&r->rnd, 20261120);

	for (round = 0; round < NR_ROUNDS; round++) {
		start_round(test, r, round);
		for (n = 0; n < OPS_A_ROUND; n++) {
			/* The last eighth of a round comes after a shut down. */
			if (n == OPS_A_ROUND / 8 * 7) {
				kwq_core_shut_down(&r->core, true);
				r->model.shut_down = true;
			}
			r->what = "nothing";
			wrong = try_one(r) ?: differs(r);
			if (wrong) {
				KUNIT_FAIL(test, "round %d, operation %d, %s: %s",
					   round, n, r->what, wrong);
				return;
			}
		}
		cond_resched();
	}
}

static int core_model_test_init(struct kunit *test)
{
	test->priv = kunit_kzalloc(test, sizeof(struct machine), GFP_KERNEL);
	return test->priv ? 0 : -ENOMEM;
}

static struct kunit_case core_model_test_cases[] = {
	KUNIT_CASE_PARAM(operation_in_state, transition_gen_params),
	KUNIT_CASE_PARAM(operation_after_shut_down, transition_gen_params),
	KUNIT_CASE(table_is_complete),
	KUNIT_CASE_SLOW(random_operations),
	{}
};

static struct kunit_suite core_model_test_suite = {
	.name = "kwq-core-model",
	.init = core_model_test_init,
	.test_cases = core_model_test_cases,
};

kunit_test_suite(core_model_test_suite);
