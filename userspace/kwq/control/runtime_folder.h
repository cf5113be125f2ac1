/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The folder in which workers can be found while they run.
 */
#ifndef KWQ_RUNTIME_FOLDER_H
#define KWQ_RUNTIME_FOLDER_H

#include <stdbool.h>
#include <sys/types.h>

enum { RUNTIME_FOLDERS = 4, RUNTIME_FOLDER_SIZE = 4096 };

/* The environment of a process, as far as it matters here. NULL: not set. */
struct runtime_environment {
	const char *runtime_directory;	/* of a service of systemd */
	const char *xdg_runtime_dir;
};

/*
 * Writes the folder number @number, from 0 on, in which a worker of this user with this
 * environment may be: $RUNTIME_DIRECTORY, $XDG_RUNTIME_DIR/kwq, /run/kwq for root, and
 * /tmp/kwq-UID. The worker takes the first one that it can use. Returns false if there is no
 * such folder.
 */
bool runtime_folder(char to[RUNTIME_FOLDER_SIZE], unsigned int number, uid_t uid,
		    const struct runtime_environment *env);

/*
 * Opens a folder of this user, into which nobody else can write; with @create makes it first.
 * Returns a descriptor or a negative errno value.
 */
int runtime_folder_open(const char *path, uid_t uid, bool create);

#endif /* KWQ_RUNTIME_FOLDER_H */
