/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A file that is always whole: its readers see the old content or the new.
 */
#ifndef KWQ_TEXTFILE_H
#define KWQ_TEXTFILE_H

#include <stddef.h>

/*
 * Puts a file with this content, and mode 0644, in the place of the one at @path.
 * Returns 0 or a negative errno value, and then the old file is as it was.
 */
int replace_file(const char *path, const char *bytes, size_t len);

#endif /* KWQ_TEXTFILE_H */
