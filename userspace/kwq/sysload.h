/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * How busy the machine is, read from files of proc(5).
 */
#ifndef KWQ_SYSLOAD_H
#define KWQ_SYSLOAD_H

#include <stdint.h>

/*
 * Reads the number of processes that run now, this one included, from @path, which is
 * /proc/loadavg outside tests. Returns 0, -EBADMSG if the file is no such file, or a
 * negative errno value.
 */
int sysload_read_running(const char *path, uint64_t *running);

/* As sysload_read_running(), for the bytes of available memory, from /proc/meminfo. */
int sysload_read_available(const char *path, uint64_t *bytes);

/* The number of processors that this process may use. */
unsigned int sysload_processors(void);

/*
 * Parses a number of bytes as GNU parallel writes it: K, M, G, T and P are powers of
 * 1024, and k, m, g, t and p are powers of 1000. Returns 0, -EINVAL or -ERANGE.
 */
int sysload_parse_size(const char *s, uint64_t *bytes);

#endif /* KWQ_SYSLOAD_H */
