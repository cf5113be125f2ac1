/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The choice of files in a tree: --include and --exclude. Pure.
 *
 * A pattern is that of fnmatch(3). With a slash in it, it has to match the whole path below
 * the folder that is watched, and * matches slashes, too, as in find(1) -path. Without one it
 * has to match the name, as in find(1) -name.
 */
#ifndef KWQ_GLOB_FILTER_H
#define KWQ_GLOB_FILTER_H

#include <stdbool.h>
#include <stddef.h>

struct glob_filter {
	const char **include, **exclude;
	size_t nr_include, nr_exclude;
};

/* Adds a pattern, which must stay valid. Returns false if there is no memory. */
bool glob_filter_include(struct glob_filter *f, const char *pattern);
bool glob_filter_exclude(struct glob_filter *f, const char *pattern);

/* Whether a file is meant: included, or nothing is, and not excluded. */
bool glob_filter_wants_file(const struct glob_filter *f, const char *path);

/* Whether to look into a folder: it is not excluded. */
bool glob_filter_wants_folder(const struct glob_filter *f, const char *path);

void glob_filter_free(struct glob_filter *f);

#endif /* KWQ_GLOB_FILTER_H */
