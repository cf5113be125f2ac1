/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The options of a new queue, shared by kwq create and kwq keep.
 */
#ifndef KWQ_QUEUE_OPTIONS_H
#define KWQ_QUEUE_OPTIONS_H

#include <stdbool.h>

#include "config_options.h"

/* Out of the range of the subcommands' own options, and of those of config_options.h. */
enum {
	OPT_MAX_ITEMS = 2000, OPT_MAX_BYTES, OPT_CLOCK, OPT_LEASE, OPT_GROUPS, OPT_GROUP_LIMIT,
	OPT_AGING, OPT_NO_VALUES, OPT_NO_DURATIONS, OPT_CHANGES, OPT_SYNC,
};

#define OPTION_MODE { "mode", required_argument, NULL, 'm' }
#define OPTION_MAX_ITEMS { "max-items", required_argument, NULL, OPT_MAX_ITEMS }
#define OPTION_MAX_BYTES { "max-bytes", required_argument, NULL, OPT_MAX_BYTES }
#define OPTION_CLOCK { "clock", required_argument, NULL, OPT_CLOCK }
#define OPTION_LEASE { "lease", required_argument, NULL, OPT_LEASE }
#define OPTION_GROUPS { "groups", no_argument, NULL, OPT_GROUPS }
#define OPTION_GROUP_LIMIT { "group-limit", required_argument, NULL, OPT_GROUP_LIMIT }
#define OPTION_AGING { "aging", required_argument, NULL, OPT_AGING }
#define OPTION_NO_VALUES { "no-values", no_argument, NULL, OPT_NO_VALUES }
#define OPTION_NO_DURATIONS { "no-durations", no_argument, NULL, OPT_NO_DURATIONS }
#define OPTION_CHANGES { "changes", no_argument, NULL, OPT_CHANGES }
#define OPTION_SYNC { "sync", no_argument, NULL, OPT_SYNC }

#define QUEUE_HELP \
	"  -m, --mode MODE        permission bits, whatever the umask is (700)\n" \
	"      --max-items N      largest number of items (the module's maximum)\n" \
	"      --max-bytes N      largest number of bytes of memory (the module's maximum)\n" \
	"      --clock monotonic|boottime\n" \
	"                         boottime counts the time asleep (monotonic)\n" \
	"      --lease DURATION   visibility timeout: a worker that holds a key for longer\n" \
	"                         without kwq done --extend loses it (0: never)\n" \
	"      --groups           keys may belong to groups, which take turns: kwq add --group\n" \
	"      --group-limit N    at most N keys of one group are worked on at once; 0 for any\n" \
	"                         number; implies --groups (0)\n" \
	"      --aging DURATION   a key that has been ready for so long counts as one priority\n" \
	"                         higher, and so on, so that none starves (0: never)\n" \
	"      --no-values        keys carry no values (kwq add --value) and no notes of why\n" \
	"                         they failed, which takes less memory\n" \
	"      --no-durations     be faster, and do not measure for how long keys are ready or\n" \
	"                         processed; excludes --lease, --aging, --forget-after\n" \
	CONFIG_HELP

struct queue_options {
	struct kwq_create_options queue;
	struct config_options config;
	bool mode_given, no_values;
};

/* The defaults. */
void queue_options_init(struct queue_options *o);

/*
 * Takes one of these options or of those of config_options.h, with -m for --mode. Returns false for
 * any other.
 */
bool queue_option(struct queue_options *o, int opt);

/*
 * Ends the program if the options exclude each other, or if the module lacks what they ask for.
 * The options are ready for kwq_create() then, as long as *o.
 */
void must_have_queue_options(struct queue_options *o);

/*
 * As kwq_create(), but the queue has the mode as it stands there, because a user who writes 770
 * means the group, whatever the umask says of files.
 */
int create_queue(struct kwq **q, const char *name, const struct kwq_create_options *options);

/* As complain_open(), for a create_queue() that failed. */
int complain_create(const char *name, const struct kwq_create_options *options, int err);

#endif /* KWQ_QUEUE_OPTIONS_H */
