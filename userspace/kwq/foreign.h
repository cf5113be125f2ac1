/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The words of other tools, and what they are called here: those of GNU parallel, xargs, pueue,
 * task-spooler (tsp) and beanstalkd, and those that many queues have.
 */
#ifndef KWQ_FOREIGN_H
#define KWQ_FOREIGN_H

/* The subcommand, with its options, for a word that is none; NULL if the word is not known. */
const char *foreign_command(const char *word);

/* The advice for an option that the subcommand lacks; NULL if it is not known. */
const char *foreign_option(const char *subcommand, const char *option);

/* The first of parallel's lists of arguments, such as ":::", before CMD; NULL if there is none. */
const char *foreign_list(char **arguments);

#endif /* KWQ_FOREIGN_H */
