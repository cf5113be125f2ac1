/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * kwq run --shebang: a script of keys, whose first line names kwq run as its interpreter.
 */
#ifndef KWQ_SHEBANG_H
#define KWQ_SHEBANG_H

/*
 * The kernel passes all options of a first line as one argument: splits "run --shebang ..." at
 * its blanks. Leaves any other command as it is. Returns 0 or -ENOMEM.
 */
int shebang_split(int *argc, char ***argv);

/*
 * Adds the keys of a script to the queue, which is created if there is none of that name. Empty
 * lines, and the first line if it begins with #!, are no keys. Returns the exit status of an
 * error, or STATUS_OK.
 */
int shebang_add(const char *queue, const char *path);

#endif /* KWQ_SHEBANG_H */
