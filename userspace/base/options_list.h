/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The options of a subcommand as its table has them, for the completion of the shells.
 */
#ifndef KWQ_OPTIONS_LIST_H
#define KWQ_OPTIONS_LIST_H

#include "cmd.h"

/*
 * Prints the arguments as its usage line has them, and then each option in a line of its own, with
 * = and what its help calls the value if it takes one: "--lease=DURATION".
 */
void options_list(const struct command *c);

#endif /* KWQ_OPTIONS_LIST_H */
