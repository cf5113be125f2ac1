/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sequences of operations, carried out by the core and by the model, which are
 * compared after each.
 */
#ifndef MODEL_SEQUENCE_H
#define MODEL_SEQUENCE_H

#include <linux/types.h>
#include <stddef.h>
#include <stdio.h>

/*
 * One operation. Any bytes are one: what they name is taken modulo what there is, and
 * what is not allowed in the state that the queue is in is left out. So a sequence
 * stays one when some of it is taken away, and a fuzzer's bytes are one, too.
 */
struct op {
	u8 kind;
	u8 who;		/* item and holder */
	s8 priority;
	u8 how;
	u32 value;
};

enum kind {
	ADD,
	ADD_AT,
	ADD_RATE_LIMITED,
	GET,
	DONE,
	CLOCK,		/* the time goes on */
	EXPIRE,
	ABANDON,
	UNGET,
	REMOVE,
	FORGET,
	GIVE_UP,
	DROP,
	CANCEL,
	CANCEL_ALL,
	ITEM_INIT,	/* of what was cancelled */
	CONFIGURE,
	WHEN,		/* the limiters alone are asked */
	BACKOFF,	/* a few steps of one */
	REQUEUES,	/* as if the item had been tried very often */
	ABANDONED,	/* as if its holder had vanished very often */
	SHUT_DOWN,
	NR_KINDS
};

/* Of so many values of op.kind each kind is; some are more than others. */
#define NR_CODES	128

enum kind op_kind(const struct op *op);

/* Where core and model differ. */
struct difference {
	size_t at;		/* the operation after which they do */
	char what[160];		/* in C, as a test would write it */
	long long got;
	long long wanted;
};

/* Returns true if core and model agree all the way. */
bool sequence_run(const struct op *ops, size_t nr, struct difference *difference);

/* Makes the sequence as short and simple as it may be while it fails; returns its length. */
size_t sequence_shrink(struct op *ops, size_t nr, bool (*fails)(const struct op *ops, size_t nr));

/*
 * Prints it as a case for kmod/tests/core_test.c, which ends with what is different; or,
 * for NULL, with an operation that does not come to its end.
 */
void sequence_print(FILE *out, const struct op *ops, size_t nr, const char *name,
		    const struct difference *difference);

#endif /* MODEL_SEQUENCE_H */
