/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * kwq share --list: the keys of a shared queue, as the engine has them.
 */
#ifndef KWQ_SHARE_LIST_H
#define KWQ_SHARE_LIST_H

#include "share_options.h"

/*
 * Prints the keys. Changes nothing in the engine, and needs no local queue. Returns an exit status,
 * after a message unless that is STATUS_OK.
 */
int share_list(const struct share_options *options);

#endif /* KWQ_SHARE_LIST_H */
