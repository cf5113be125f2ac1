/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Libraries that one subcommand needs are loaded by that one, so that the others start fast.
 */
#ifndef KWQ_LIBRARY_H
#define KWQ_LIBRARY_H

#include <stddef.h>

/* A function of a library, and the pointer that gets its address. */
struct library_function {
	const char *name;
	void **to;
};

/* Loads a library, and sets the pointers. Returns NULL, or why that failed. */
const char *library_load(const char *soname, const struct library_function *functions, size_t nr);

#endif /* KWQ_LIBRARY_H */
