/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Made from uapi/linux/kwq.h by selftests/check/abi.py: do not edit.
 *
 * Requests and counters, for programs of the tests.
 */
#ifndef KWQ_ABI_TABLES_H
#define KWQ_ABI_TABLES_H

/* Each request, in the order of their numbers, and the size of its argument. */
#define KWQ_REQUESTS(X) \
	X(INFO, sizeof(struct kwq_info)) X(CREATE, sizeof(struct kwq_create_args)) \
	X(OPEN, sizeof(struct kwq_open_args)) X(UNLINK, sizeof(struct kwq_unlink_args)) \
	X(LIST, sizeof(struct kwq_list_args)) X(ADD, sizeof(struct kwq_add_args)) \
	X(GET, sizeof(struct kwq_get_args)) X(DONE, sizeof(struct kwq_batch_args)) \
	X(REMOVE, sizeof(struct kwq_batch_args)) X(LEN, 0) X(STAT, sizeof(struct kwq_stat)) \
	X(SHUT_DOWN, sizeof(struct kwq_shut_down_args)) X(SHUTTING_DOWN, 0) \
	X(DRAIN, sizeof(struct kwq_drain_args)) X(FORGET, sizeof(struct kwq_batch_args)) \
	X(REQUEUES, sizeof(struct kwq_batch_args)) X(CONFIGURE, sizeof(struct kwq_config)) \
	X(CONFIG, sizeof(struct kwq_config)) X(ADVANCE, sizeof(struct kwq_advance_args)) \
	X(EXTEND, sizeof(struct kwq_batch_args)) X(PAUSE, sizeof(struct kwq_pause_args)) \
	X(RESUME, sizeof(struct kwq_resume_args)) \
	X(LIST_ITEMS, sizeof(struct kwq_list_items_args)) \
	X(RESTORE, sizeof(struct kwq_batch_args)) X(BOARD, sizeof(struct kwq_board_args)) \
	X(TELL, sizeof(struct kwq_tell_args)) X(FOLLOW, sizeof(struct kwq_follow_args)) \
	X(CHANGES, sizeof(struct kwq_changes_args)) X(SYNC, sizeof(struct kwq_sync_args)) \
	X(TERM, sizeof(struct kwq_term_args)) X(BPF, sizeof(struct kwq_bpf_args))

/* Offset and length of the addresses in the argument of a request. */
#define KWQ_ADDRESSES(X) \
	X(CREATE, 296, 8) X(LIST, 8, 8) X(ADD, 8, 32) X(GET, 16, 32) X(GET, 64, 32) \
	X(GET, 112, 32) X(DONE, 8, 32) X(REMOVE, 8, 32) X(FORGET, 8, 32) X(REQUEUES, 8, 32) \
	X(CONFIGURE, 32, 8) X(CONFIG, 32, 8) X(EXTEND, 8, 32) X(LIST_ITEMS, 24, 40) \
	X(RESTORE, 8, 32) X(CHANGES, 48, 32)

/* The members of struct kwq_stat but its name, and their sizes. */
#define KWQ_STAT_MEMBERS(X) \
	X(size, 4) X(state, 4) X(ready, 8) X(waiting, 8) X(processing, 8) X(items, 8) \
	X(bytes, 8) X(max_items, 8) X(max_bytes, 8) X(adds, 8) X(coalesced, 8) X(gets, 8) \
	X(dones, 8) X(abandoned, 8) X(removed, 8) X(dropped, 8) X(uid, 4) X(gid, 4) \
	X(mode, 4) X(clockid, 4) X(handles, 4) X(create_flags, 4) X(now, 8) X(retries, 8) \
	X(rate_limited, 8) X(died, 8) X(dead, 8) X(remembered, 8) X(oldest_ready, 8) \
	X(longest_running, 8) X(unfinished, 8) X(queue_duration.sum, 8) \
	X(queue_duration.sum_high, 8) X(queue_duration.counts, 88) X(work_duration.sum, 8) \
	X(work_duration.sum_high, 8) X(work_duration.counts, 88) X(lateness.sum, 8) \
	X(lateness.sum_high, 8) X(lateness.counts, 88) X(lease, 8) X(expired, 8) X(dirty, 8) \
	X(values, 8) X(paused_for, 8) X(aging, 8) X(groups, 8) X(blocked, 8) \
	X(group_limit, 8) X(oldest_waiting, 8) X(oldest_dead, 8) X(returned, 8) X(posted, 8) \
	X(id, 8) X(last_change, 8) X(kept, 8) X(unread, 8) X(followers, 4) X(getters, 4) \
	X(term, 8) X(refused, 8)

/* All flags of a queue, and all states of an item. */
#define KWQ_ALL_CREATE	0x7fU
#define KWQ_ALL_IS	0xffU

#endif /* KWQ_ABI_TABLES_H */
