// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "value_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"

const char *must_read_value(const char *path, size_t *len)
{
	static char bytes[KWQ_VALUE_MAX + 1];
	FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;

	*len = file ? fread(bytes, 1, sizeof(bytes), file) : 0;
	if (!file || ferror(file)) {
		message("--value-file %s: %s", path, strerror(errno));
		exit(STATUS_FAILED);
	}
	if (file != stdin)
		fclose(file);
	return bytes;
}
