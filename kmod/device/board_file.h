/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KWQ_DEVICE_BOARD_FILE_H
#define KWQ_DEVICE_BOARD_FILE_H

#include <linux/types.h>

struct kwq_keyed;

int kwq_board_open(struct kwq_keyed *keyed, u32 open_flags, u64 __user *map_size);

#endif /* KWQ_DEVICE_BOARD_FILE_H */
