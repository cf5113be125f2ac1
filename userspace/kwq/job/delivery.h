/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Whether the reader of a pipe has read what was written (U6).
 */
#ifndef KWQ_DELIVERY_H
#define KWQ_DELIVERY_H

#include <stdbool.h>

struct delivery {
	int fd;		/* the pipe; -1 if @fd was none */
	int size;	/* its size before */
};

/* Only a pipe has a reader that may go away. For all else a write is the delivery. */
void delivery_begin(struct delivery *delivery, int fd);

/*
 * Waits until the reader has read everything. Returns 0, or -EPIPE if the reader has gone before
 * that.
 */
int delivery_await(const struct delivery *delivery);

/* Gives the pipe its size back. */
void delivery_end(const struct delivery *delivery);

#endif /* KWQ_DELIVERY_H */
