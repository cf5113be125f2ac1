/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Lets the user change bytes in the editor of their choice.
 */
#ifndef KWQ_EDITOR_H
#define KWQ_EDITOR_H

#include <stddef.h>

/*
 * Runs $VISUAL, $EDITOR or vi on a temporary file with @len bytes of @bytes. @bytes has room
 * for @room and receives the content of the file. Returns the number of its bytes, or a
 * negative errno value: -ECANCELED if the editor failed, -EMSGSIZE if there is no room.
 */
int editor_run(char *bytes, size_t len, size_t room);

#endif /* KWQ_EDITOR_H */
