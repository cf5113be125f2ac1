// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "near.h"

/* Longer than all names of commands and options. */
enum { NAME_MAX_LEN = 32 };

static unsigned int min(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/*
 * The number of edits between two words. rows[i][j] is the number between the first i
 * letters of a and the first j of b.
 */
static unsigned int distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned int rows[NAME_MAX_LEN + 1][NAME_MAX_LEN + 1];
	size_t i, j;

	for (i = 0; i <= a_len; i++)
		rows[i][0] = i;
	for (j = 0; j <= b_len; j++)
		rows[0][j] = j;
	for (i = 1; i <= a_len; i++) {
		for (j = 1; j <= b_len; j++) {
			rows[i][j] = min(rows[i - 1][j], rows[i][j - 1]) + 1;
			rows[i][j] = min(rows[i][j],
					 rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				rows[i][j] = min(rows[i][j], rows[i - 2][j - 2] + 1);
		}
	}
	return rows[a_len][b_len];
}

void near_begin(struct near *near, const char *word, size_t len)
{
	*near = (struct near){ .word = word, .len = len };
}

void near_offer(struct near *near, const char *name, size_t len)
{
	unsigned int edits;

	if (near->len > NAME_MAX_LEN || len > NAME_MAX_LEN)
		return;
	edits = distance(near->word, near->len, name, len);
	if (edits > (len + 1) / 3 || edits >= near->len ||
	    (near->best && edits >= near->best_distance))
		return;
	near->best = name;
	near->best_len = len;
	near->best_distance = edits;
}
