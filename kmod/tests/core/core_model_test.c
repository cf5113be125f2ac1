// SPDX-License-Identifier: GPL-2.0-only
/* Every operation in every state. They come at random in selftests/models/core. */
#include <kunit/test.h>
#include <uapi/linux/kwq.h>
#include "core/core.h"
#include "core_check.h"
#include "tests/form.h"

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
	kwq_core_init(&m->core, kwq_test_form);
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
	KWQ_EXPECT_METRIC(test, m, nr_waiting, !!(state & W));
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

static int core_model_test_init(struct kunit *test)
{
	test->priv = kunit_kzalloc(test, sizeof(struct machine), GFP_KERNEL);
	return test->priv ? 0 : -ENOMEM;
}

#define CORE_MODEL_TEST_OF_BOTH						\
	KUNIT_CASE_PARAM(operation_in_state, transition_gen_params),	\
	KUNIT_CASE_PARAM(operation_after_shut_down, transition_gen_params)

static struct kunit_case core_model_test_cases[] = {
	CORE_MODEL_TEST_OF_BOTH,
	KUNIT_CASE(table_is_complete),
	{}
};

static struct kunit_case core_model_test_small_cases[] = {
	CORE_MODEL_TEST_OF_BOTH,
	{}
};

KWQ_TEST_SUITES(core_model_test, "kwq-core-model", core_model_test_init, NULL);
