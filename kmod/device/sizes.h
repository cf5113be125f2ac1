/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sizes of the structures of the ABI: as first published, and now. Structures may grow at
 * their end. The sizes as first published stay: they are the least that a caller may pass.
 */
#ifndef KWQ_SIZES_H
#define KWQ_SIZES_H

#include <linux/build_bug.h>
#include <uapi/linux/kwq.h>

#define KWQ_INFO_FIRST		96
#define KWQ_CREATE_FIRST	328
#define KWQ_OPEN_FIRST		272
#define KWQ_UNLINK_FIRST	264
#define KWQ_LIST_FIRST		280
#define KWQ_LIST_ENTRY_FIRST	272
#define KWQ_BATCH_ARGS_FIRST	56
#define KWQ_ADD_ENTRY_FIRST	24
#define KWQ_DONE_ENTRY_FIRST	16
#define KWQ_EXTEND_ENTRY_FIRST	16
#define KWQ_REMOVE_ENTRY_FIRST	16
#define KWQ_KEY_ENTRY_FIRST	8
#define KWQ_RESTORE_ENTRY_FIRST	64
#define KWQ_GET_FIRST		176
#define KWQ_GOT_FIRST		24
#define KWQ_ADD_EXTRA_FIRST	40
#define KWQ_GOT_EXTRA_FIRST	16
#define KWQ_LIST_DEAD_FIRST	64
#define KWQ_DEAD_ENTRY_FIRST	32
#define KWQ_LIST_ITEMS_FIRST	80
#define KWQ_LISTED_FIRST	120
#define KWQ_ADVANCE_FIRST	16
#define KWQ_SHUT_DOWN_FIRST	8
#define KWQ_DRAIN_FIRST		32
#define KWQ_STAT_FIRST		936
#define KWQ_PAUSE_FIRST		16
#define KWQ_RESUME_FIRST	8
#define KWQ_BOARD_ARGS_FIRST	16
#define KWQ_TELL_FIRST		16
#define KWQ_FOLLOW_FIRST	16
#define KWQ_CHANGES_FIRST	96
#define KWQ_SYNC_FIRST		40
#define KWQ_TERM_FIRST		16
#define KWQ_CONFIG_FIRST	48
#define KWQ_LIMITER_FIRST	40

static_assert(sizeof(struct kwq_info) == 96);
static_assert(sizeof(struct kwq_create_args) == 328);
static_assert(sizeof(struct kwq_open_args) == 272);
static_assert(sizeof(struct kwq_unlink_args) == 264);
static_assert(sizeof(struct kwq_list_args) == 280);
static_assert(sizeof(struct kwq_list_entry) == 272);
static_assert(sizeof(struct kwq_batch) == 48);
static_assert(sizeof(struct kwq_batch_args) == 56);
static_assert(sizeof(struct kwq_add_args) == 72);
static_assert(sizeof(struct kwq_add_entry) == 24);
static_assert(sizeof(struct kwq_done_entry) == 16);
static_assert(sizeof(struct kwq_extend_entry) == 16);
static_assert(sizeof(struct kwq_remove_entry) == 16);
static_assert(sizeof(struct kwq_got) == 24);
static_assert(sizeof(struct kwq_get_args) == 176);
static_assert(sizeof(struct kwq_add_extra) == 40);
static_assert(sizeof(struct kwq_got_extra) == 16);
static_assert(sizeof(struct kwq_shut_down_args) == 8);
static_assert(sizeof(struct kwq_drain_args) == 32);
static_assert(sizeof(struct kwq_stat) == 936);
static_assert(sizeof(struct kwq_pause_args) == 16);
static_assert(sizeof(struct kwq_resume_args) == 8);
static_assert(sizeof(struct kwq_histogram) == 104);
static_assert(sizeof(struct kwq_config) == 48);
static_assert(sizeof(struct kwq_limiter) == 40);
static_assert(sizeof(struct kwq_backoff) == 32);
static_assert(sizeof(struct kwq_key_entry) == 8);
static_assert(sizeof(struct kwq_restore_entry) == 64);
static_assert(sizeof(struct kwq_dead_entry) == 32);
static_assert(sizeof(struct kwq_list_dead_args) == 64);
static_assert(sizeof(struct kwq_list_items_args) == 80);
static_assert(sizeof(struct kwq_listed) == 120);
static_assert(sizeof(struct kwq_advance_args) == 16);
static_assert(sizeof(struct kwq_board) == 64);
static_assert(sizeof(struct kwq_board_slot) == 64);
static_assert(sizeof(struct kwq_board_args) == 16);
static_assert(sizeof(struct kwq_tell_args) == 16);
static_assert(sizeof(struct kwq_follow_args) == 16);
static_assert(sizeof(struct kwq_changes_args) == 96);
static_assert(sizeof(struct kwq_sync_args) == 40);
static_assert(sizeof(struct kwq_term_args) == 16);

#endif /* KWQ_SIZES_H */
