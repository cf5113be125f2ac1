/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The words for the results of adds.
 */
#ifndef KWQ_ADD_RESULT_H
#define KWQ_ADD_RESULT_H

/* "added", "coalesced" and so on, for a result that is not an error. */
const char *add_result(int result);

#endif /* KWQ_ADD_RESULT_H */
