/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints for perf, trace-cmd and bpftrace. They show a queue by its id and name and an
 * item by the first bytes of its key, and no pointers.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kwq

#if !defined(KWQ_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define KWQ_TRACE_H

#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/kwq.h>
#include "queue/queue.h"

#define KWQ_TRACE_TEXT	32

#ifndef KWQ_TRACE_HELPERS
#define KWQ_TRACE_HELPERS
/**
 * kwq_trace_text() - copy user-chosen bytes for a trace
 * @buf: KWQ_TRACE_TEXT bytes; will be ended by a NUL
 * @bytes: the bytes
 * @len: number of bytes
 *
 * Copies the first bytes. Spaces and bytes that are not printable become dots, so that
 * nobody can forge a field or a line.
 */
static inline void kwq_trace_text(char *buf, const u8 *bytes, size_t len)
{
	size_t n = min_t(size_t, len, KWQ_TRACE_TEXT - 1);
	size_t i;

	for (i = 0; i < n; i++)
		buf[i] = bytes[i] > ' ' && bytes[i] < 0x7f ? bytes[i] : '.';
	buf[n] = '\0';
}

/* A small queue has no room for an id: it has 0, and is known by its name. */
static inline u64 kwq_trace_id(const struct kwq_queue *queue)
{
	return kwq_is_small(queue) ? 0 : kwq_queue_bulk_of(queue)->id;
}

static inline void kwq_trace_name(const struct kwq_queue *queue, char *buf)
{
	kwq_trace_text(buf, queue->name, strlen(queue->name));
}

static inline void kwq_trace_key(const struct kwq_queue *queue,
				 const struct kwq_item *item, char *buf)
{
	size_t len = 0;
	const u8 *key = NULL;

	if (!kwq_is_small(queue) && kwq_queue_bulk_of(queue)->key_ops)
		key = kwq_queue_bulk_of(queue)->key_ops->key_of(item, &len);
	kwq_trace_text(buf, key, len);
}

/* Events of items differ in the results that have one. */
#define KWQ_ITEM_EVENT(event, condition)						\
	DEFINE_EVENT_CONDITION(kwq_item_event, event,					\
		TP_PROTO(const struct kwq_queue *queue, const struct kwq_item *item,	\
			 int result),							\
		TP_ARGS(queue, item, result),						\
		TP_CONDITION(condition))
#endif

DECLARE_EVENT_CLASS(kwq_item_event,
	TP_PROTO(const struct kwq_queue *queue, const struct kwq_item *item,
		 int result),
	TP_ARGS(queue, item, result),
	TP_STRUCT__entry(
		__field(u64, queue)
		__array(char, name, KWQ_TRACE_TEXT)
		__array(char, key, KWQ_TRACE_TEXT)
		__field(int, prio)
		__field(u32, requeues)
		__field(int, result)
	),
	TP_fast_assign(
		__entry->queue = kwq_trace_id(queue);
		kwq_trace_name(queue, __entry->name);
		kwq_trace_key(queue, item, __entry->key);
		/* data_race(): kwq_try_coalesce() traces without the lock. */
		__entry->prio = data_race(item->priority);
		/* data_race(): the same */
		__entry->requeues = data_race(item->requeues);
		__entry->result = result;
	),
	TP_printk("queue=%llu name=%s key=%s prio=%d result=%d",
		  __entry->queue, __entry->name, __entry->key, __entry->prio,
		  __entry->result)
);

/* An add that made the item dirty, or began its wait. */
KWQ_ITEM_EVENT(kwq_add,
	       result == KWQ_ADDED || result == KWQ_DIRTIED || result == KWQ_WAITING);

/* An add of an item that was dirty or waiting already. */
KWQ_ITEM_EVENT(kwq_coalesce, result == KWQ_COALESCED || result == KWQ_DIRTY);

/* A hand-out. The result is the item's count of abandoned hand-outs. */
KWQ_ITEM_EVENT(kwq_get, true);

KWQ_ITEM_EVENT(kwq_done, true);

/* The result has the KWQ_WAS_* bits. A drain, a shut down and a cancel drop items without it. */
KWQ_ITEM_EVENT(kwq_remove, result >= 0);

/*
 * A rate-limited add, with its result. If the item now waits, there is a kwq_add event, too.
 * The result is KWQ_DEAD if the item is dead or will be at its done. An item that dies because
 * it was lost too often or given up has an event with KWQ_DEAD, too.
 */
DEFINE_EVENT_PRINT(kwq_item_event, kwq_requeue,
	TP_PROTO(const struct kwq_queue *queue, const struct kwq_item *item,
		 int result),
	TP_ARGS(queue, item, result),
	TP_printk("queue=%llu name=%s key=%s prio=%d requeues=%u result=%d",
		  __entry->queue, __entry->name, __entry->key, __entry->prio,
		  __entry->requeues, __entry->result)
);

/*
 * An item became ready. @due is the time for which it was waiting, and @late how much later
 * it is now, in ns. Both are 0 if it was not waiting.
 */
TRACE_EVENT(kwq_ready,
	TP_PROTO(const struct kwq_queue *queue, const struct kwq_item *item,
		 ktime_t due, ktime_t late),
	TP_ARGS(queue, item, due, late),
	TP_STRUCT__entry(
		__field(u64, queue)
		__array(char, name, KWQ_TRACE_TEXT)
		__array(char, key, KWQ_TRACE_TEXT)
		__field(int, prio)
		__field(s64, due)
		__field(s64, late)
	),
	TP_fast_assign(
		__entry->queue = kwq_trace_id(queue);
		kwq_trace_name(queue, __entry->name);
		kwq_trace_key(queue, item, __entry->key);
		__entry->prio = item->priority;
		__entry->due = due;
		__entry->late = late;
	),
	TP_printk("queue=%llu name=%s key=%s prio=%d due=%lld late=%lld",
		  __entry->queue, __entry->name, __entry->key, __entry->prio,
		  __entry->due, __entry->late)
);

DECLARE_EVENT_CLASS(kwq_until_event,
	TP_PROTO(const struct kwq_queue *queue, ktime_t until),
	TP_ARGS(queue, until),
	TP_STRUCT__entry(
		__field(u64, queue)
		__array(char, name, KWQ_TRACE_TEXT)
		__field(s64, until)
	),
	TP_fast_assign(
		__entry->queue = kwq_trace_id(queue);
		kwq_trace_name(queue, __entry->name);
		__entry->until = until;
	),
	TP_printk("queue=%llu name=%s until=%lld",
		  __entry->queue, __entry->name, __entry->until)
);

/*
 * A pause began or ended. @until is the end of a timed pause, KTIME_MAX for a pause that has to
 * be resumed, and 0 for the end of a pause.
 */
DEFINE_EVENT(kwq_until_event, kwq_pause,
	TP_PROTO(const struct kwq_queue *queue, ktime_t until),
	TP_ARGS(queue, until));

/*
 * A manager set a term, or it ended. @until is the end of the term, KTIME_MAX for no end, and 0 if
 * the end has come.
 */
DEFINE_EVENT(kwq_until_event, kwq_term,
	TP_PROTO(const struct kwq_queue *queue, ktime_t until),
	TP_ARGS(queue, until));

/* A program told that the board answered so many adds since it last told. */
TRACE_EVENT(kwq_tell,
	TP_PROTO(const struct kwq_queue *queue, u64 adds),
	TP_ARGS(queue, adds),
	TP_STRUCT__entry(
		__field(u64, queue)
		__array(char, name, KWQ_TRACE_TEXT)
		__field(u64, adds)
	),
	TP_fast_assign(
		__entry->queue = kwq_trace_id(queue);
		kwq_trace_name(queue, __entry->name);
		__entry->adds = adds;
	),
	TP_printk("queue=%llu name=%s adds=%llu",
		  __entry->queue, __entry->name, __entry->adds)
);

TRACE_EVENT(kwq_shut_down,
	TP_PROTO(const struct kwq_queue *queue, bool drain),
	TP_ARGS(queue, drain),
	TP_STRUCT__entry(
		__field(u64, queue)
		__array(char, name, KWQ_TRACE_TEXT)
		__field(bool, drain)
	),
	TP_fast_assign(
		__entry->queue = kwq_trace_id(queue);
		kwq_trace_name(queue, __entry->name);
		__entry->drain = drain;
	),
	TP_printk("queue=%llu name=%s drain=%d",
		  __entry->queue, __entry->name, __entry->drain)
);

#endif /* KWQ_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH queue
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
