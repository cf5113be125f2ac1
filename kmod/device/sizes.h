/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * U3: sizes of the structures of the ABI as first published, which are the least that a caller may
 * pass. Structures may grow at their end, so the compiler refuses one that did until its readers
 * accept the first size as well.
 */
#ifndef KWQ_SIZES_H
#define KWQ_SIZES_H

#include <linux/build_bug.h>
#include <uapi/linux/kwq.h>

/* Arguments of an add were those of the other batches at first. */
#define KWQ_ADD_FIRST	sizeof(struct kwq_batch_args)
static_assert(sizeof(struct kwq_add_args) == 72);

#define KWQ_FIRST_SIZE(name, size)							\
	static_assert(sizeof(struct name) == (size), "struct " #name " has grown: define "	\
		      "its first size, " #size ", as KWQ_ADD_FIRST is, and accept it where "	\
		      "the device checks the size")

KWQ_FIRST_SIZE(kwq_info, 96);
KWQ_FIRST_SIZE(kwq_create_args, 328);
KWQ_FIRST_SIZE(kwq_open_args, 272);
KWQ_FIRST_SIZE(kwq_unlink_args, 264);
KWQ_FIRST_SIZE(kwq_list_args, 280);
KWQ_FIRST_SIZE(kwq_list_entry, 272);
KWQ_FIRST_SIZE(kwq_batch, 48);
KWQ_FIRST_SIZE(kwq_batch_args, 56);
KWQ_FIRST_SIZE(kwq_add_entry, 24);
KWQ_FIRST_SIZE(kwq_done_entry, 16);
KWQ_FIRST_SIZE(kwq_extend_entry, 16);
KWQ_FIRST_SIZE(kwq_remove_entry, 16);
KWQ_FIRST_SIZE(kwq_got, 24);
KWQ_FIRST_SIZE(kwq_get_args, 176);
KWQ_FIRST_SIZE(kwq_add_extra, 56);
KWQ_FIRST_SIZE(kwq_got_extra, 16);
KWQ_FIRST_SIZE(kwq_shut_down_args, 8);
KWQ_FIRST_SIZE(kwq_drain_args, 32);
KWQ_FIRST_SIZE(kwq_stat, 944);
KWQ_FIRST_SIZE(kwq_pause_args, 16);
KWQ_FIRST_SIZE(kwq_resume_args, 8);
KWQ_FIRST_SIZE(kwq_histogram, 104);
KWQ_FIRST_SIZE(kwq_config, 48);
KWQ_FIRST_SIZE(kwq_limiter, 40);
KWQ_FIRST_SIZE(kwq_backoff, 32);
KWQ_FIRST_SIZE(kwq_key_entry, 8);
KWQ_FIRST_SIZE(kwq_restore_entry, 64);
KWQ_FIRST_SIZE(kwq_list_items_args, 80);
KWQ_FIRST_SIZE(kwq_listed, 120);
KWQ_FIRST_SIZE(kwq_advance_args, 16);
KWQ_FIRST_SIZE(kwq_board, 64);
KWQ_FIRST_SIZE(kwq_board_slot, 64);
KWQ_FIRST_SIZE(kwq_board_args, 16);
KWQ_FIRST_SIZE(kwq_tell_args, 16);
KWQ_FIRST_SIZE(kwq_follow_args, 16);
KWQ_FIRST_SIZE(kwq_changes_args, 96);
KWQ_FIRST_SIZE(kwq_sync_args, 24);
KWQ_FIRST_SIZE(kwq_term_args, 16);
KWQ_FIRST_SIZE(kwq_bpf_args, 16);
KWQ_FIRST_SIZE(bpf_kwq_options, 32);

#endif /* KWQ_SIZES_H */
