/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The commands of this machine that ask this kwq share for keys of all machines: see
 * queue/shared.h. Never waits for any of them.
 */
#ifndef KWQ_SHARE_CALLERS_H
#define KWQ_SHARE_CALLERS_H

#include "share/machine/machine.h"

struct callers;

/*
 * Listens for the queue with this id. Returns 0 or a negative errno value; -EADDRINUSE if somebody
 * else does.
 */
int callers_open(struct callers **callers, struct machine *machine, uint64_t queue);

/* Ends all connections. NULL does nothing. */
void callers_close(struct callers *callers);

/* A descriptor that is readable when callers_step() should be called. */
int callers_fd(const struct callers *callers);

/* Takes what they ask. */
void callers_step(struct callers *callers);

#endif /* KWQ_SHARE_CALLERS_H */
