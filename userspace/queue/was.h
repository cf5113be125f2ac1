/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The former state of a key that was taken out of its queue.
 */
#ifndef KWQ_WAS_H
#define KWQ_WAS_H

/* Beside KWQ_WAS_* bits: somebody else has taken out a key that was listed. */
enum { WAS_GONE = 1 << 30 };

/* The names of these bits: "ready", "waiting,processing", ... Valid until the next call. */
const char *was(int bits);

#endif /* KWQ_WAS_H */
