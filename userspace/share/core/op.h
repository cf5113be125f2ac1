/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Operations on the stream, between the cores of kwq share and the engine.
 *
 * A core numbers its operations. The engine carries each one out, or tries to, and reports its
 * number and result later: never from within the callback that ordered it.
 */
#ifndef KWQ_SHARE_OP_H
#define KWQ_SHARE_OP_H

#include <stdint.h>

/* A publish that expects this sequence number is not compared. */
#define EXPECT_ANY UINT64_MAX

/* A time that does not come. */
#define NEVER UINT64_MAX

enum op_result {
	OP_OK,
	OP_WRONG_SEQUENCE, /* publish: the subject has another message, or none (10071) */
	OP_NOT_FOUND, /* erase, read: there is no such message, or (10043) not any more */
	OP_DAMAGED, /* read: there is one, and nobody can tell what it was */
	OP_UNKNOWN, /* not acknowledged in time: it may have happened, or may happen later */
};

/*
 * @boot: CLOCK_BOOTTIME in ns: leases and repeats
 * @wall: CLOCK_REALTIME in ns: due times
 */
struct instant {
	uint64_t boot, wall;
};

#endif /* KWQ_SHARE_OP_H */
