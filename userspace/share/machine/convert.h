/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Events of the local queues and results of the engine, in the words of the cores. Pure: the
 * simulation of the tests uses these functions, too.
 */
#ifndef KWQ_SHARE_CONVERT_H
#define KWQ_SHARE_CONVERT_H

#include "share/engine/engine.h"
#include "share/local/local.h"
#include "share/member/member.h"

/*
 * The add of a LOCAL_ADD: the one that is ready, or with @waits, the one that waits for a time. The
 * bytes are those of the event. @shift: how far the servers are ahead of the clock of this machine,
 * in ns; due times in the stream are theirs.
 */
struct member_add convert_add(const struct local_event *event, bool waits, int64_t shift);

/* The end of a LOCAL_ENDED. */
struct member_end convert_end(const struct local_event *event, int64_t shift);

/* The result of an operation. */
enum op_result convert_result(enum engine_result result);

#endif /* KWQ_SHARE_CONVERT_H */
