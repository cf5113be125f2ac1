/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The environment of a job: ours with what concerns its key.
 */
#ifndef KWQ_ENVIRONMENT_H
#define KWQ_ENVIRONMENT_H

struct child;

/*
 * Makes the environment of a job. The caller frees the result, which is one block. Returns NULL if
 * memory is missing.
 */
char **environment_make(const struct child *child);

#endif /* KWQ_ENVIRONMENT_H */
