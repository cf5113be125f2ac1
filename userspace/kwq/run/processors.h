/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The processors of this machine.
 */
#ifndef KWQ_PROCESSORS_H
#define KWQ_PROCESSORS_H

/* How many of them this program may use: at least 1. */
unsigned int processors(void);

#endif /* KWQ_PROCESSORS_H */
