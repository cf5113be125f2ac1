/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sequences of operations. The core and the model execute them and are compared after
 * each operation.
 */
#ifndef MODEL_SEQUENCE_H
#define MODEL_SEQUENCE_H

#include <linux/types.h>
#include <stddef.h>
#include <stdio.h>

/*
 * One operation. Any bytes are a valid one: operands are taken modulo the number of
 * choices, and operations that the queue's state forbids are skipped. So a part of a
 * sequence is a sequence, and so are a fuzzer's bytes.
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
	GET_ITEM,
	DONE,
	BURY,
	CLOCK,		/* the time goes on */
	EXPIRE,
	ABANDON,
	UNGET,
	GIVE_BACK,
	REMOVE,
	COALESCE,
	EXPEDITE,
	AWAIT,
	FLUSH,
	PAUSE,		/* or resume */
	FORGET,
	GIVE_UP,
	DROP,
	DISABLE,
	ENABLE,
	CANCEL_ALL,
	ITEM_INIT,	/* of a disabled item */
	CONFIGURE,
	WHEN,		/* the limiters alone are asked */
	BACKOFF,	/* a few steps of one */
	REQUEUES,	/* as if the item had been tried very often */
	ABANDONED,	/* as if its holder had vanished very often */
	SHUT_DOWN,
	SET_GROUP,
	AGING,
	RESTORE,
	NR_KINDS
};

/* The kinds share this many values of op.kind; frequent kinds have more of them. */
#define NR_CODES	128

enum kind op_kind(const struct op *op);

/* A difference between core and model. */
struct difference {
	size_t at;		/* the operation after which they do */
	char what[360];		/* in C, as a test would write it */
	long long got;
	long long wanted;
};

/* Returns true if core and model agree to the end. */
bool sequence_run(const struct op *ops, size_t nr, struct difference *difference);

/* Shrinks a failing sequence as far as it still fails. Returns its new length. */
size_t sequence_shrink(struct op *ops, size_t nr, bool (*fails)(const struct op *ops, size_t nr));

/*
 * Prints the sequence as a case for kmod/tests/core/core_test.c that ends with the
 * difference. If @difference is NULL, the last operation is one that never returns.
 */
void sequence_print(FILE *out, const struct op *ops, size_t nr, const char *name,
		    const struct difference *difference);

#endif /* MODEL_SEQUENCE_H */
