// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "glob_filter.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static bool append(const char ***patterns, size_t *nr, const char *pattern)
{
	const char **more = reallocarray(*patterns, *nr + 1, sizeof(**patterns));

	if (!more)
		return false;
	*patterns = more;
	more[(*nr)++] = pattern;
	return true;
}

bool glob_filter_include(struct glob_filter *f, const char *pattern)
{
	return append(&f->include, &f->nr_include, pattern);
}

bool glob_filter_exclude(struct glob_filter *f, const char *pattern)
{
	return append(&f->exclude, &f->nr_exclude, pattern);
}

static bool matches_any(const char **patterns, size_t nr, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t i;

	for (i = 0; i < nr; i++)
		if (!fnmatch(patterns[i], strchr(patterns[i], '/') ? path : name, 0))
			return true;
	return false;
}

bool glob_filter_wants_folder(const struct glob_filter *f, const char *path)
{
	return !matches_any(f->exclude, f->nr_exclude, path);
}

bool glob_filter_wants_file(const struct glob_filter *f, const char *path)
{
	return glob_filter_wants_folder(f, path) &&
		(!f->nr_include || matches_any(f->include, f->nr_include, path));
}

void glob_filter_free(struct glob_filter *f)
{
	free(f->include);
	free(f->exclude);
	*f = (struct glob_filter){ 0 };
}
