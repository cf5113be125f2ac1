/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Made from uapi/linux/kwq.h by selftests/check/abi.py: do not edit.
 *
 * U3: members, numbers and requests that were published never change, for programs of 32 and
 * of 64 bits. A structure may grow at its end, so abi.py changes its size here and adds lines,
 * but takes no member and no number out.
 */
#ifndef KWQ_ABI_LAYOUT_H
#define KWQ_ABI_LAYOUT_H

#include <stddef.h>

#include <linux/kwq.h>

#define KWQ_AT(type, member, offset, size) \
	_Static_assert(offsetof(struct type, member) == (offset) && \
		       sizeof(((struct type *)0)->member) == (size), #type "." #member)
#define KWQ_EQUALS(name, value) _Static_assert(KWQ_##name == (value), #name)

_Static_assert(sizeof(struct kwq_info) == 96, "kwq_info");
KWQ_AT(kwq_info, size, 0, 4);
KWQ_AT(kwq_info, key_max, 4, 4);
KWQ_AT(kwq_info, features, 8, 8);
KWQ_AT(kwq_info, max_items, 16, 8);
KWQ_AT(kwq_info, max_bytes, 24, 8);
KWQ_AT(kwq_info, max_queues, 32, 4);
KWQ_AT(kwq_info, name_max, 36, 4);
KWQ_AT(kwq_info, batch_max, 40, 4);
KWQ_AT(kwq_info, priority_min, 44, 4);
KWQ_AT(kwq_info, priority_max, 48, 4);
KWQ_AT(kwq_info, user_queues, 52, 4);
KWQ_AT(kwq_info, user_queues_left, 56, 4);
KWQ_AT(kwq_info, pad, 60, 4);
KWQ_AT(kwq_info, max_user_bytes, 64, 8);
KWQ_AT(kwq_info, max_total_bytes, 72, 8);
KWQ_AT(kwq_info, user_bytes, 80, 8);
KWQ_AT(kwq_info, user_bytes_left, 88, 8);

_Static_assert(sizeof(struct kwq_backoff) == 32, "kwq_backoff");
KWQ_AT(kwq_backoff, duration, 0, 8);
KWQ_AT(kwq_backoff, cap, 8, 8);
KWQ_AT(kwq_backoff, factor, 16, 4);
KWQ_AT(kwq_backoff, jitter, 20, 4);
KWQ_AT(kwq_backoff, steps, 24, 4);
KWQ_AT(kwq_backoff, pad, 28, 4);

_Static_assert(sizeof(struct kwq_limiter) == 40, "kwq_limiter");
KWQ_AT(kwq_limiter, kind, 0, 4);
KWQ_AT(kwq_limiter, pad, 4, 4);
KWQ_AT(kwq_limiter, u.exponential.base, 8, 8);
KWQ_AT(kwq_limiter, u.exponential.max, 16, 8);
KWQ_AT(kwq_limiter, u.fast_slow.fast, 8, 8);
KWQ_AT(kwq_limiter, u.fast_slow.slow, 16, 8);
KWQ_AT(kwq_limiter, u.fast_slow.nr_fast, 24, 4);
KWQ_AT(kwq_limiter, u.fast_slow.pad, 28, 4);
KWQ_AT(kwq_limiter, u.bucket.period, 8, 8);
KWQ_AT(kwq_limiter, u.bucket.events, 16, 4);
KWQ_AT(kwq_limiter, u.bucket.burst, 20, 4);
KWQ_AT(kwq_limiter, u.backoff, 8, 32);
KWQ_AT(kwq_limiter, u.space, 8, 32);

_Static_assert(sizeof(struct kwq_config) == 48, "kwq_config");
KWQ_AT(kwq_config, size, 0, 4);
KWQ_AT(kwq_config, flags, 4, 4);
KWQ_AT(kwq_config, max_wait, 8, 8);
KWQ_AT(kwq_config, forget_after, 16, 8);
KWQ_AT(kwq_config, dead_after, 24, 4);
KWQ_AT(kwq_config, nr, 28, 4);
KWQ_AT(kwq_config, limiters, 32, 8);
KWQ_AT(kwq_config, limiter_size, 40, 4);
KWQ_AT(kwq_config, dead_after_lost, 44, 4);

_Static_assert(sizeof(struct kwq_create_args) == 328, "kwq_create_args");
KWQ_AT(kwq_create_args, size, 0, 4);
KWQ_AT(kwq_create_args, flags, 4, 4);
KWQ_AT(kwq_create_args, open_flags, 8, 4);
KWQ_AT(kwq_create_args, mode, 12, 4);
KWQ_AT(kwq_create_args, clockid, 16, 4);
KWQ_AT(kwq_create_args, rights, 20, 4);
KWQ_AT(kwq_create_args, max_items, 24, 8);
KWQ_AT(kwq_create_args, max_bytes, 32, 8);
KWQ_AT(kwq_create_args, name, 40, 256);
KWQ_AT(kwq_create_args, config, 296, 8);
KWQ_AT(kwq_create_args, lease, 304, 8);
KWQ_AT(kwq_create_args, aging, 312, 8);
KWQ_AT(kwq_create_args, group_limit, 320, 4);
KWQ_AT(kwq_create_args, outbox, 324, 4);

_Static_assert(sizeof(struct kwq_open_args) == 272, "kwq_open_args");
KWQ_AT(kwq_open_args, size, 0, 4);
KWQ_AT(kwq_open_args, open_flags, 4, 4);
KWQ_AT(kwq_open_args, rights, 8, 4);
KWQ_AT(kwq_open_args, pad, 12, 4);
KWQ_AT(kwq_open_args, name, 16, 256);

_Static_assert(sizeof(struct kwq_unlink_args) == 264, "kwq_unlink_args");
KWQ_AT(kwq_unlink_args, size, 0, 4);
KWQ_AT(kwq_unlink_args, flags, 4, 4);
KWQ_AT(kwq_unlink_args, name, 8, 256);

_Static_assert(sizeof(struct kwq_list_entry) == 272, "kwq_list_entry");
KWQ_AT(kwq_list_entry, uid, 0, 4);
KWQ_AT(kwq_list_entry, gid, 4, 4);
KWQ_AT(kwq_list_entry, mode, 8, 4);
KWQ_AT(kwq_list_entry, pad, 12, 4);
KWQ_AT(kwq_list_entry, name, 16, 256);

_Static_assert(sizeof(struct kwq_list_args) == 280, "kwq_list_args");
KWQ_AT(kwq_list_args, size, 0, 4);
KWQ_AT(kwq_list_args, flags, 4, 4);
KWQ_AT(kwq_list_args, entries, 8, 8);
KWQ_AT(kwq_list_args, nr, 16, 4);
KWQ_AT(kwq_list_args, entry_size, 20, 4);
KWQ_AT(kwq_list_args, after, 24, 256);

_Static_assert(sizeof(struct kwq_batch) == 48, "kwq_batch");
KWQ_AT(kwq_batch, entries, 0, 8);
KWQ_AT(kwq_batch, keys, 8, 8);
KWQ_AT(kwq_batch, results, 16, 8);
KWQ_AT(kwq_batch, extras, 24, 8);
KWQ_AT(kwq_batch, keys_len, 32, 4);
KWQ_AT(kwq_batch, nr, 36, 4);
KWQ_AT(kwq_batch, entry_size, 40, 4);
KWQ_AT(kwq_batch, extra_size, 44, 4);

_Static_assert(sizeof(struct kwq_batch_args) == 56, "kwq_batch_args");
KWQ_AT(kwq_batch_args, size, 0, 4);
KWQ_AT(kwq_batch_args, flags, 4, 4);
KWQ_AT(kwq_batch_args, batch, 8, 48);

_Static_assert(sizeof(struct kwq_add_args) == 72, "kwq_add_args");
KWQ_AT(kwq_add_args, size, 0, 4);
KWQ_AT(kwq_add_args, flags, 4, 4);
KWQ_AT(kwq_add_args, batch, 8, 48);
KWQ_AT(kwq_add_args, deadline, 56, 8);
KWQ_AT(kwq_add_args, resume, 64, 8);

_Static_assert(sizeof(struct kwq_add_entry) == 24, "kwq_add_entry");
KWQ_AT(kwq_add_entry, key_len, 0, 4);
KWQ_AT(kwq_add_entry, flags, 4, 4);
KWQ_AT(kwq_add_entry, priority, 8, 4);
KWQ_AT(kwq_add_entry, pad, 12, 4);
KWQ_AT(kwq_add_entry, time, 16, 8);

_Static_assert(sizeof(struct kwq_add_extra) == 56, "kwq_add_extra");
KWQ_AT(kwq_add_extra, value, 0, 8);
KWQ_AT(kwq_add_extra, group, 8, 8);
KWQ_AT(kwq_add_extra, note, 16, 8);
KWQ_AT(kwq_add_extra, at_most, 24, 8);
KWQ_AT(kwq_add_extra, value_len, 32, 4);
KWQ_AT(kwq_add_extra, group_len, 36, 4);
KWQ_AT(kwq_add_extra, note_len, 40, 4);
KWQ_AT(kwq_add_extra, pad, 44, 4);
KWQ_AT(kwq_add_extra, token, 48, 8);

_Static_assert(sizeof(struct kwq_done_entry) == 16, "kwq_done_entry");
KWQ_AT(kwq_done_entry, ticket, 0, 8);
KWQ_AT(kwq_done_entry, key_len, 8, 4);
KWQ_AT(kwq_done_entry, flags, 12, 4);

_Static_assert(sizeof(struct kwq_extend_entry) == 16, "kwq_extend_entry");
KWQ_AT(kwq_extend_entry, ticket, 0, 8);
KWQ_AT(kwq_extend_entry, key_len, 8, 4);
KWQ_AT(kwq_extend_entry, flags, 12, 4);

_Static_assert(sizeof(struct kwq_remove_entry) == 16, "kwq_remove_entry");
KWQ_AT(kwq_remove_entry, key_len, 0, 4);
KWQ_AT(kwq_remove_entry, flags, 4, 4);
KWQ_AT(kwq_remove_entry, change, 8, 8);

_Static_assert(sizeof(struct kwq_key_entry) == 8, "kwq_key_entry");
KWQ_AT(kwq_key_entry, key_len, 0, 4);
KWQ_AT(kwq_key_entry, flags, 4, 4);

_Static_assert(sizeof(struct kwq_listed) == 120, "kwq_listed");
KWQ_AT(kwq_listed, order, 0, 8);
KWQ_AT(kwq_listed, dirty_for, 8, 8);
KWQ_AT(kwq_listed, processing_for, 16, 8);
KWQ_AT(kwq_listed, waiting_for, 24, 8);
KWQ_AT(kwq_listed, due_in, 32, 8);
KWQ_AT(kwq_listed, dead_for, 40, 8);
KWQ_AT(kwq_listed, lease_left, 48, 8);
KWQ_AT(kwq_listed, state, 56, 4);
KWQ_AT(kwq_listed, order_of, 60, 4);
KWQ_AT(kwq_listed, key_len, 64, 4);
KWQ_AT(kwq_listed, group_len, 68, 4);
KWQ_AT(kwq_listed, value_len, 72, 4);
KWQ_AT(kwq_listed, note_len, 76, 4);
KWQ_AT(kwq_listed, priority, 80, 4);
KWQ_AT(kwq_listed, next_priority, 84, 4);
KWQ_AT(kwq_listed, wait_priority, 88, 4);
KWQ_AT(kwq_listed, requeues, 92, 4);
KWQ_AT(kwq_listed, abandoned, 96, 4);
KWQ_AT(kwq_listed, pid, 100, 4);
KWQ_AT(kwq_listed, change, 104, 8);
KWQ_AT(kwq_listed, token, 112, 8);

_Static_assert(sizeof(struct kwq_list_items_args) == 80, "kwq_list_items_args");
KWQ_AT(kwq_list_items_args, size, 0, 4);
KWQ_AT(kwq_list_items_args, flags, 4, 4);
KWQ_AT(kwq_list_items_args, after, 8, 8);
KWQ_AT(kwq_list_items_args, states, 16, 4);
KWQ_AT(kwq_list_items_args, key_len, 20, 4);
KWQ_AT(kwq_list_items_args, key, 24, 8);
KWQ_AT(kwq_list_items_args, batch, 32, 48);

_Static_assert(sizeof(struct kwq_restore_entry) == 64, "kwq_restore_entry");
KWQ_AT(kwq_restore_entry, key_len, 0, 4);
KWQ_AT(kwq_restore_entry, flags, 4, 4);
KWQ_AT(kwq_restore_entry, state, 8, 4);
KWQ_AT(kwq_restore_entry, priority, 12, 4);
KWQ_AT(kwq_restore_entry, wait_priority, 16, 4);
KWQ_AT(kwq_restore_entry, requeues, 20, 4);
KWQ_AT(kwq_restore_entry, abandoned, 24, 4);
KWQ_AT(kwq_restore_entry, pad, 28, 4);
KWQ_AT(kwq_restore_entry, dirty_for, 32, 8);
KWQ_AT(kwq_restore_entry, waiting_for, 40, 8);
KWQ_AT(kwq_restore_entry, due_in, 48, 8);
KWQ_AT(kwq_restore_entry, dead_for, 56, 8);

_Static_assert(sizeof(struct kwq_advance_args) == 16, "kwq_advance_args");
KWQ_AT(kwq_advance_args, size, 0, 4);
KWQ_AT(kwq_advance_args, flags, 4, 4);
KWQ_AT(kwq_advance_args, time, 8, 8);

_Static_assert(sizeof(struct kwq_got) == 24, "kwq_got");
KWQ_AT(kwq_got, ticket, 0, 8);
KWQ_AT(kwq_got, key_len, 8, 4);
KWQ_AT(kwq_got, priority, 12, 4);
KWQ_AT(kwq_got, abandoned, 16, 4);
KWQ_AT(kwq_got, requeues, 20, 4);

_Static_assert(sizeof(struct kwq_got_extra) == 16, "kwq_got_extra");
KWQ_AT(kwq_got_extra, value_len, 0, 4);
KWQ_AT(kwq_got_extra, group_len, 4, 4);
KWQ_AT(kwq_got_extra, token, 8, 8);

_Static_assert(sizeof(struct kwq_get_args) == 176, "kwq_get_args");
KWQ_AT(kwq_get_args, size, 0, 4);
KWQ_AT(kwq_get_args, flags, 4, 4);
KWQ_AT(kwq_get_args, deadline, 8, 8);
KWQ_AT(kwq_get_args, add, 16, 48);
KWQ_AT(kwq_get_args, done, 64, 48);
KWQ_AT(kwq_get_args, get, 112, 48);
KWQ_AT(kwq_get_args, nr_added, 160, 4);
KWQ_AT(kwq_get_args, nr_done, 164, 4);
KWQ_AT(kwq_get_args, resume, 168, 8);

_Static_assert(sizeof(struct kwq_pause_args) == 16, "kwq_pause_args");
KWQ_AT(kwq_pause_args, size, 0, 4);
KWQ_AT(kwq_pause_args, flags, 4, 4);
KWQ_AT(kwq_pause_args, time, 8, 8);

_Static_assert(sizeof(struct kwq_resume_args) == 8, "kwq_resume_args");
KWQ_AT(kwq_resume_args, size, 0, 4);
KWQ_AT(kwq_resume_args, flags, 4, 4);

_Static_assert(sizeof(struct kwq_shut_down_args) == 8, "kwq_shut_down_args");
KWQ_AT(kwq_shut_down_args, size, 0, 4);
KWQ_AT(kwq_shut_down_args, flags, 4, 4);

_Static_assert(sizeof(struct kwq_drain_args) == 32, "kwq_drain_args");
KWQ_AT(kwq_drain_args, size, 0, 4);
KWQ_AT(kwq_drain_args, flags, 4, 4);
KWQ_AT(kwq_drain_args, deadline, 8, 8);
KWQ_AT(kwq_drain_args, resume, 16, 8);
KWQ_AT(kwq_drain_args, shut_downs, 24, 8);

_Static_assert(sizeof(struct kwq_histogram) == 104, "kwq_histogram");
KWQ_AT(kwq_histogram, sum, 0, 8);
KWQ_AT(kwq_histogram, sum_high, 8, 8);
KWQ_AT(kwq_histogram, counts, 16, 88);

_Static_assert(sizeof(struct kwq_stat) == 944, "kwq_stat");
KWQ_AT(kwq_stat, size, 0, 4);
KWQ_AT(kwq_stat, state, 4, 4);
KWQ_AT(kwq_stat, ready, 8, 8);
KWQ_AT(kwq_stat, waiting, 16, 8);
KWQ_AT(kwq_stat, processing, 24, 8);
KWQ_AT(kwq_stat, items, 32, 8);
KWQ_AT(kwq_stat, bytes, 40, 8);
KWQ_AT(kwq_stat, max_items, 48, 8);
KWQ_AT(kwq_stat, max_bytes, 56, 8);
KWQ_AT(kwq_stat, adds, 64, 8);
KWQ_AT(kwq_stat, coalesced, 72, 8);
KWQ_AT(kwq_stat, gets, 80, 8);
KWQ_AT(kwq_stat, dones, 88, 8);
KWQ_AT(kwq_stat, abandoned, 96, 8);
KWQ_AT(kwq_stat, removed, 104, 8);
KWQ_AT(kwq_stat, dropped, 112, 8);
KWQ_AT(kwq_stat, uid, 120, 4);
KWQ_AT(kwq_stat, gid, 124, 4);
KWQ_AT(kwq_stat, mode, 128, 4);
KWQ_AT(kwq_stat, clockid, 132, 4);
KWQ_AT(kwq_stat, handles, 136, 4);
KWQ_AT(kwq_stat, create_flags, 140, 4);
KWQ_AT(kwq_stat, name, 144, 256);
KWQ_AT(kwq_stat, now, 400, 8);
KWQ_AT(kwq_stat, retries, 408, 8);
KWQ_AT(kwq_stat, rate_limited, 416, 8);
KWQ_AT(kwq_stat, died, 424, 8);
KWQ_AT(kwq_stat, dead, 432, 8);
KWQ_AT(kwq_stat, remembered, 440, 8);
KWQ_AT(kwq_stat, oldest_ready, 448, 8);
KWQ_AT(kwq_stat, longest_running, 456, 8);
KWQ_AT(kwq_stat, unfinished, 464, 8);
KWQ_AT(kwq_stat, queue_duration, 472, 104);
KWQ_AT(kwq_stat, work_duration, 576, 104);
KWQ_AT(kwq_stat, lateness, 680, 104);
KWQ_AT(kwq_stat, lease, 784, 8);
KWQ_AT(kwq_stat, expired, 792, 8);
KWQ_AT(kwq_stat, dirty, 800, 8);
KWQ_AT(kwq_stat, values, 808, 8);
KWQ_AT(kwq_stat, paused_for, 816, 8);
KWQ_AT(kwq_stat, aging, 824, 8);
KWQ_AT(kwq_stat, groups, 832, 8);
KWQ_AT(kwq_stat, blocked, 840, 8);
KWQ_AT(kwq_stat, group_limit, 848, 8);
KWQ_AT(kwq_stat, oldest_waiting, 856, 8);
KWQ_AT(kwq_stat, oldest_dead, 864, 8);
KWQ_AT(kwq_stat, returned, 872, 8);
KWQ_AT(kwq_stat, posted, 880, 8);
KWQ_AT(kwq_stat, id, 888, 8);
KWQ_AT(kwq_stat, last_change, 896, 8);
KWQ_AT(kwq_stat, kept, 904, 8);
KWQ_AT(kwq_stat, unread, 912, 8);
KWQ_AT(kwq_stat, followers, 920, 4);
KWQ_AT(kwq_stat, getters, 924, 4);
KWQ_AT(kwq_stat, term, 928, 8);
KWQ_AT(kwq_stat, refused, 936, 8);

_Static_assert(sizeof(struct kwq_board_slot) == 64, "kwq_board_slot");
KWQ_AT(kwq_board_slot, seq, 0, 4);
KWQ_AT(kwq_board_slot, len, 4, 2);
KWQ_AT(kwq_board_slot, result, 6, 2);
KWQ_AT(kwq_board_slot, key, 8, 56);

_Static_assert(sizeof(struct kwq_board) == 64, "kwq_board");
KWQ_AT(kwq_board, seed, 0, 8);
KWQ_AT(kwq_board, nr_slots, 8, 4);
KWQ_AT(kwq_board, closed, 12, 4);
KWQ_AT(kwq_board, pad, 16, 48);

_Static_assert(sizeof(struct kwq_board_args) == 16, "kwq_board_args");
KWQ_AT(kwq_board_args, size, 0, 4);
KWQ_AT(kwq_board_args, open_flags, 4, 4);
KWQ_AT(kwq_board_args, map_size, 8, 8);

_Static_assert(sizeof(struct kwq_tell_args) == 16, "kwq_tell_args");
KWQ_AT(kwq_tell_args, size, 0, 4);
KWQ_AT(kwq_tell_args, flags, 4, 4);
KWQ_AT(kwq_tell_args, adds, 8, 8);

_Static_assert(sizeof(struct kwq_follow_args) == 16, "kwq_follow_args");
KWQ_AT(kwq_follow_args, size, 0, 4);
KWQ_AT(kwq_follow_args, flags, 4, 4);
KWQ_AT(kwq_follow_args, number, 8, 8);

_Static_assert(sizeof(struct kwq_changes_args) == 96, "kwq_changes_args");
KWQ_AT(kwq_changes_args, size, 0, 4);
KWQ_AT(kwq_changes_args, flags, 4, 4);
KWQ_AT(kwq_changes_args, after, 8, 8);
KWQ_AT(kwq_changes_args, kept, 16, 8);
KWQ_AT(kwq_changes_args, of_queue, 24, 8);
KWQ_AT(kwq_changes_args, deadline, 32, 8);
KWQ_AT(kwq_changes_args, resume, 40, 8);
KWQ_AT(kwq_changes_args, batch, 48, 48);

_Static_assert(sizeof(struct kwq_term_args) == 16, "kwq_term_args");
KWQ_AT(kwq_term_args, size, 0, 4);
KWQ_AT(kwq_term_args, flags, 4, 4);
KWQ_AT(kwq_term_args, until, 8, 8);

_Static_assert(sizeof(struct kwq_bpf_args) == 16, "kwq_bpf_args");
KWQ_AT(kwq_bpf_args, size, 0, 4);
KWQ_AT(kwq_bpf_args, flags, 4, 4);
KWQ_AT(kwq_bpf_args, token, 8, 8);

_Static_assert(sizeof(struct bpf_kwq_options) == 32, "bpf_kwq_options");
KWQ_AT(bpf_kwq_options, token, 0, 8);
KWQ_AT(bpf_kwq_options, flags, 8, 4);
KWQ_AT(bpf_kwq_options, priority, 12, 4);
KWQ_AT(bpf_kwq_options, time, 16, 8);
KWQ_AT(bpf_kwq_options, at_most, 24, 8);

_Static_assert(sizeof(struct kwq_sync_args) == 24, "kwq_sync_args");
KWQ_AT(kwq_sync_args, size, 0, 4);
KWQ_AT(kwq_sync_args, flags, 4, 4);
KWQ_AT(kwq_sync_args, deadline, 8, 8);
KWQ_AT(kwq_sync_args, resume, 16, 8);

KWQ_EQUALS(KEY_MAX, 4096);
KWQ_EQUALS(NAME_MAX, 255);
KWQ_EQUALS(BATCH_MAX, 1024);
KWQ_EQUALS(VALUE_MAX, 65536);
KWQ_EQUALS(NOTE_MAX, 4096);
KWQ_EQUALS(GROUP_MAX, 255);
KWQ_EQUALS(PRIORITY_MIN, -32);
KWQ_EQUALS(PRIORITY_MAX, 31);
KWQ_EQUALS(NO_DEADLINE, 18446744073709551615ULL);
KWQ_EQUALS(AGE_UNKNOWN, 18446744073709551615ULL);
KWQ_EQUALS(FEATURE_DELAYS, 1);
KWQ_EQUALS(FEATURE_PRIORITIES, 2);
KWQ_EQUALS(FEATURE_NAMES, 4);
KWQ_EQUALS(FEATURE_LIMITERS, 8);
KWQ_EQUALS(FEATURE_DEAD, 16);
KWQ_EQUALS(FEATURE_METRICS, 32);
KWQ_EQUALS(FEATURE_MANUAL_CLOCK, 64);
KWQ_EQUALS(FEATURE_LEASES, 128);
KWQ_EQUALS(FEATURE_PAUSE, 256);
KWQ_EQUALS(FEATURE_LIST_ITEMS, 512);
KWQ_EQUALS(FEATURE_GROUPS, 1024);
KWQ_EQUALS(FEATURE_AGING, 2048);
KWQ_EQUALS(FEATURE_VALUES, 4096);
KWQ_EQUALS(FEATURE_DEBOUNCE, 8192);
KWQ_EQUALS(FEATURE_WAIT_ADD, 16384);
KWQ_EQUALS(FEATURE_RESTORE, 32768);
KWQ_EQUALS(FEATURE_SETTLE, 65536);
KWQ_EQUALS(FEATURE_BOARD, 131072);
KWQ_EQUALS(FEATURE_NO_DURATIONS, 262144);
KWQ_EQUALS(FEATURE_CHANGES, 524288);
KWQ_EQUALS(FEATURE_GRANTS, 1048576);
KWQ_EQUALS(FEATURE_NOTES, 2097152);
KWQ_EQUALS(ONE, 65536);
KWQ_EQUALS(LIMITERS_MAX, 8);
KWQ_EQUALS(LIMITER_STEPS_MAX, 256);
KWQ_EQUALS(LIMITER_EXPONENTIAL, 1);
KWQ_EQUALS(LIMITER_FAST_SLOW, 2);
KWQ_EQUALS(LIMITER_BUCKET, 3);
KWQ_EQUALS(LIMITER_BACKOFF, 4);
KWQ_EQUALS(CONFIG_COALESCE, 1);
KWQ_EQUALS(CLOCK_ID_MANUAL, -1);
KWQ_EQUALS(RIGHT_READ, 4);
KWQ_EQUALS(RIGHT_WRITE, 2);
KWQ_EQUALS(RIGHT_MANAGE, 1);
KWQ_EQUALS(CREATE_OR_OPEN, 1);
KWQ_EQUALS(CREATE_VALUES, 2);
KWQ_EQUALS(CREATE_GROUPS, 4);
KWQ_EQUALS(CREATE_NO_DURATIONS, 8);
KWQ_EQUALS(CREATE_CHANGES, 16);
KWQ_EQUALS(CREATE_SYNC, 32);
KWQ_EQUALS(CREATE_OUTBOX, 64);
KWQ_EQUALS(ADD_WAIT, 1);
KWQ_EQUALS(ADD_RELATIVE, 2);
KWQ_EQUALS(ADD_PRIORITY, 1);
KWQ_EQUALS(ADD_AFTER, 2);
KWQ_EQUALS(ADD_AT, 4);
KWQ_EQUALS(ADD_REPLACE, 8);
KWQ_EQUALS(ADD_KEEP, 16);
KWQ_EQUALS(ADD_LATER, 32);
KWQ_EQUALS(ADD_END_WAIT, 64);
KWQ_EQUALS(ADD_RATE_LIMITED, 128);
KWQ_EQUALS(ADD_KICK, 256);
KWQ_EQUALS(ADD_VALUE, 512);
KWQ_EQUALS(ADD_KEEP_VALUE, 1024);
KWQ_EQUALS(ADD_GROUP, 2048);
KWQ_EQUALS(ADD_AT_MOST, 4096);
KWQ_EQUALS(ADD_TOKEN, 8192);
KWQ_EQUALS(ADD_NOTE, 16384);
KWQ_EQUALS(ADDED, 0);
KWQ_EQUALS(COALESCED, 1);
KWQ_EQUALS(DIRTIED, 2);
KWQ_EQUALS(WAITING, 3);
KWQ_EQUALS(DEAD, 4);
KWQ_EQUALS(DIRTY, 5);
KWQ_EQUALS(RESTORED, 6);
KWQ_EQUALS(DONE_FORGET, 1);
KWQ_EQUALS(DONE_DEAD, 2);
KWQ_EQUALS(DONE_RETURN, 4);
KWQ_EQUALS(FINISHED, 0);
KWQ_EQUALS(REQUEUED, 1);
KWQ_EQUALS(STILL_WAITING, 2);
KWQ_EQUALS(BURIED, 4);
KWQ_EQUALS(RETURNED, 8);
KWQ_EQUALS(EXTEND_NOTE, 1);
KWQ_EQUALS(REMOVE_DEAD, 1);
KWQ_EQUALS(REMOVE_REVOKE, 2);
KWQ_EQUALS(REMOVE_UNCHANGED, 4);
KWQ_EQUALS(WAS_READY, 1);
KWQ_EQUALS(WAS_WAITING, 2);
KWQ_EQUALS(WAS_PROCESSING, 4);
KWQ_EQUALS(WAS_DIRTY, 8);
KWQ_EQUALS(WAS_DEAD, 16);
KWQ_EQUALS(WAS_REMEMBERED, 32);
KWQ_EQUALS(IS_READY, 1);
KWQ_EQUALS(IS_WAITING, 2);
KWQ_EQUALS(IS_PROCESSING, 4);
KWQ_EQUALS(IS_DIRTY, 8);
KWQ_EQUALS(IS_DEAD, 16);
KWQ_EQUALS(IS_REMEMBERED, 32);
KWQ_EQUALS(IS_RETURNED, 64);
KWQ_EQUALS(IS_DYING, 128);
KWQ_EQUALS(PRIORITY_NONE, -128);
KWQ_EQUALS(LIST_KEY, 1);
KWQ_EQUALS(LIST_VALUES, 2);
KWQ_EQUALS(LIST_NOTES, 4);
KWQ_EQUALS(ADVANCE_TO, 1);
KWQ_EQUALS(GET_NONBLOCK, 1);
KWQ_EQUALS(GET_RELATIVE, 2);
KWQ_EQUALS(PAUSE_FOR, 1);
KWQ_EQUALS(DRAIN_RELATIVE, 1);
KWQ_EQUALS(HISTOGRAM_BUCKETS, 11);
KWQ_EQUALS(STATE_SHUT_DOWN, 1);
KWQ_EQUALS(STATE_UNLINKED, 2);
KWQ_EQUALS(STATE_PAUSED, 4);
KWQ_EQUALS(STATE_TERM_OVER, 8);
KWQ_EQUALS(BOARD_KEY_MAX, 56);
KWQ_EQUALS(CHANGES_NONBLOCK, 1);
KWQ_EQUALS(CHANGES_RELATIVE, 2);
KWQ_EQUALS(CHANGES_VALUES, 4);
KWQ_EQUALS(CHANGES_GETTERS, 8);
KWQ_EQUALS(CHANGES_NOTES, 16);
KWQ_EQUALS(TERM_RELATIVE, 1);
KWQ_EQUALS(POSTED, 64);
KWQ_EQUALS(SET_MAX, 256);
KWQ_EQUALS(SET_JOINS, 2147483648);
KWQ_EQUALS(SYNC_RELATIVE, 1);

KWQ_EQUALS(IOC_INFO, 0xc004bb00);
KWQ_EQUALS(IOC_CREATE, 0x4004bb01);
KWQ_EQUALS(IOC_OPEN, 0x4004bb02);
KWQ_EQUALS(IOC_UNLINK, 0x4004bb03);
KWQ_EQUALS(IOC_LIST, 0x4004bb04);
KWQ_EQUALS(IOC_ADD, 0xc004bb10);
KWQ_EQUALS(IOC_GET, 0xc004bb11);
KWQ_EQUALS(IOC_DONE, 0x4004bb12);
KWQ_EQUALS(IOC_REMOVE, 0x4004bb13);
KWQ_EQUALS(IOC_LEN, 0x0000bb14);
KWQ_EQUALS(IOC_STAT, 0xc004bb15);
KWQ_EQUALS(IOC_SHUT_DOWN, 0x4004bb16);
KWQ_EQUALS(IOC_SHUTTING_DOWN, 0x0000bb17);
KWQ_EQUALS(IOC_DRAIN, 0xc004bb18);
KWQ_EQUALS(IOC_FORGET, 0x4004bb19);
KWQ_EQUALS(IOC_REQUEUES, 0x4004bb1a);
KWQ_EQUALS(IOC_CONFIGURE, 0x4004bb1b);
KWQ_EQUALS(IOC_CONFIG, 0xc004bb1c);
KWQ_EQUALS(IOC_ADVANCE, 0x4004bb1e);
KWQ_EQUALS(IOC_EXTEND, 0x4004bb1f);
KWQ_EQUALS(IOC_PAUSE, 0x4004bb20);
KWQ_EQUALS(IOC_RESUME, 0x4004bb21);
KWQ_EQUALS(IOC_LIST_ITEMS, 0xc004bb22);
KWQ_EQUALS(IOC_RESTORE, 0x4004bb23);
KWQ_EQUALS(IOC_BOARD, 0xc004bb24);
KWQ_EQUALS(IOC_TELL, 0x4004bb25);
KWQ_EQUALS(IOC_FOLLOW, 0xc004bb26);
KWQ_EQUALS(IOC_CHANGES, 0xc004bb27);
KWQ_EQUALS(IOC_SYNC, 0xc004bb28);
KWQ_EQUALS(IOC_TERM, 0x4004bb29);
KWQ_EQUALS(IOC_BPF, 0xc004bb2a);

#endif /* KWQ_ABI_LAYOUT_H */
