/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Replaces a file atomically: readers see the old content or the new, never a part.
 */
#ifndef KWQ_TEXTFILE_H
#define KWQ_TEXTFILE_H

#include <stddef.h>

enum durability {
	FILE_IS_DURABLE,	/* the new content survives a power cut: waits for the disk */
	FILE_IS_FLEETING,	/* never waits for the disk; a power cut may leave any content */
};

/*
 * Replaces the file at @path with this content and mode 0644. On failure the old file
 * is unchanged. Returns 0 or a negative errno value.
 */
int replace_file(const char *path, const char *bytes, size_t len, enum durability durability);

#endif /* KWQ_TEXTFILE_H */
