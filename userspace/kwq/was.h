/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The former state of a key that was taken out of its queue.
 */
#ifndef KWQ_WAS_H
#define KWQ_WAS_H

/* The names of KWQ_WAS_* bits: "ready", "waiting,processing", ... Valid until the next call. */
const char *was(int bits);

#endif /* KWQ_WAS_H */
