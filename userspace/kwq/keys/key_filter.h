/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Keys of a queue that are chosen by what they are, and not by name: for kwq cancel and kwq keys.
 */
#ifndef KWQ_KEY_FILTER_H
#define KWQ_KEY_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "each_key.h"
#include "queue/item_list.h"

struct key_filter {
	bool all;
	uint32_t states;	/* KWQ_IS_* bits; 0: any */
	const char *group, *glob;	/* NULL: any */
	struct item_list list;
};

/* The numbers of these options begin where those of cmd.h end. */
enum { OPT_FILTER_STATE = 512, OPT_FILTER_GROUP, OPT_FILTER_GLOB };

#define OPTION_FILTER_ALL	{ "all", no_argument, NULL, 'a' }
#define OPTION_FILTER_STATE	{ "state", required_argument, NULL, OPT_FILTER_STATE }
#define OPTION_FILTER_GROUP	{ "group", required_argument, NULL, OPT_FILTER_GROUP }
#define OPTION_FILTER_GLOB	{ "glob", required_argument, NULL, OPT_FILTER_GLOB }
#define FILTER_HELP \
	"  -a, --all        all keys of the queue; these options leave some out:\n" \
	"      --state STATE[,STATE...]  only those in these states (kwq keys --help)\n" \
	"      --group GROUP    only those of this group\n" \
	"      --glob PATTERN   only those that match as in a shell; * matches /, too\n"

/* KWQ_IS_* bits of a list such as "ready,waiting". Ends the program if a word is none. */
uint32_t must_parse_states(const char *list);

/* The states of keys that are in a queue. Remembered keys are idle. */
#define KEYS_IN_QUEUE (KWQ_IS_READY | KWQ_IS_PROCESSING | KWQ_IS_WAITING | KWQ_IS_DEAD)

/* Takes one of these options. Returns false for any other. */
bool key_filter_option(struct key_filter *f, int opt);

/*
 * Has each_key() get the keys of @q from here, if they are chosen so. Ends the program if the
 * options exclude each other, or the rest of the arguments.
 */
void key_filter_apply(struct key_filter *f, struct kwq *q, const char *queue,
		      struct key_verb *verb, const struct key_options *options, int argc,
		      char **argv);

/*
 * For the submit() of a verb: @taken results of a batch. Somebody else may be faster than a list,
 * so a key that is gone is no error then, but the result WAS_GONE.
 */
void key_filter_excuse(const struct key_filter *f, const struct kwq_batch *batch, int taken);

#endif /* KWQ_KEY_FILTER_H */
