/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Names of processes, as ps(1) shows them.
 */
#ifndef KWQ_PROCESS_NAME_H
#define KWQ_PROCESS_NAME_H

#include <sys/types.h>

/* The kernel keeps 15 bytes; each may need four when escaped. */
enum { PROCESS_NAME_SIZE = 64 };

/* The escaped name, or "-" if there is no such process. Returns @to. */
char *process_name(char *to, pid_t pid);

#endif /* KWQ_PROCESS_NAME_H */
