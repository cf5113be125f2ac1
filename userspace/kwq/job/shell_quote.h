/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Prints words so that a shell reads them as they are. Pure.
 */
#ifndef KWQ_SHELL_QUOTE_H
#define KWQ_SHELL_QUOTE_H

#include <stdio.h>

/*
 * Prints one word. Plain words stay as they are, others have '...' around them. A word with
 * control characters, or with bytes that are not UTF-8, becomes $'...' as in bash: so the result
 * is always one line of text.
 */
void shell_quote(FILE *to, const char *word);

/* Prints words, ended by NULL, with a blank between them. */
void shell_quote_words(FILE *to, char **words);

#endif /* KWQ_SHELL_QUOTE_H */
