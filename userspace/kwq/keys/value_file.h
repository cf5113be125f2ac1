/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The argument of --value-file.
 */
#ifndef KWQ_VALUE_FILE_H
#define KWQ_VALUE_FILE_H

#include <stddef.h>

/*
 * Reads a value, of any bytes, from a file or, for "-", from standard input. *len receives the
 * number of its bytes, which is KWQ_VALUE_MAX + 1 if there are more than KWQ_VALUE_MAX. Ends
 * the program if the file cannot be read. The next call overwrites the bytes.
 */
const char *must_read_value(const char *path, size_t *len);

#endif /* KWQ_VALUE_FILE_H */
