/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KWQ_CHARDEV_H
#define KWQ_CHARDEV_H

int kwq_chardev_register(void);
void kwq_chardev_unregister(void);

#endif /* KWQ_CHARDEV_H */
