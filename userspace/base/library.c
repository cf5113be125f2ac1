// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "library.h"

#include <dlfcn.h>

const char *library_load(const char *soname, const struct library_function *functions, size_t nr)
{
	void *library = dlopen(soname, RTLD_NOW);
	size_t i;

	if (!library)
		return dlerror();
	for (i = 0; i < nr; i++) {
		*functions[i].to = dlsym(library, functions[i].name);
		if (!*functions[i].to)
			return dlerror();
	}
	return NULL;
}
