// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq add
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "queue/add_result.h"
#include "base/cmd.h"
#include "base/duration.h"
#include "kwq/keys/each_key.h"
#include "base/number.h"
#include "kwq/debug/sync.h"
#include "kwq/keys/value_file.h"

enum {
	OPT_AFTER = OPT_FIRST, OPT_AT, OPT_PAST, OPT_IF_WAITING, OPT_END_WAIT, OPT_RATE_LIMITED,
	OPT_DEBOUNCE, OPT_WAIT, OPT_VALUE, OPT_VALUE_FILE, OPT_KEEP_VALUE, OPT_REFUSED, OPT_SYNC,
};

static const struct option add_options[] = {
	{ "if-waiting", required_argument, NULL, OPT_IF_WAITING },
	{ "end-wait", no_argument, NULL, OPT_END_WAIT },
	{ "after", required_argument, NULL, OPT_AFTER },
	{ "at", required_argument, NULL, OPT_AT },
	{ "past", required_argument, NULL, OPT_PAST },
	{ "rate-limited", no_argument, NULL, OPT_RATE_LIMITED },
	{ "debounce", required_argument, NULL, OPT_DEBOUNCE },
	{ "group", required_argument, NULL, 'g' },
	{ "value", required_argument, NULL, OPT_VALUE },
	{ "value-file", required_argument, NULL, OPT_VALUE_FILE },
	{ "keep-value", no_argument, NULL, OPT_KEEP_VALUE },
	{ "priority", required_argument, NULL, 'p' },
	{ "wait", optional_argument, NULL, OPT_WAIT },
	{ "refused", required_argument, NULL, OPT_REFUSED },
	{ "sync", no_argument, NULL, OPT_SYNC },
	OPTION_NULL, OPTION_QUIET, OPTION_VERBOSE, OPTION_JSON, OPTION_HELP, OPTION_END
};

static const struct {
	const char *name;
	uint32_t flag;
} policies[] = {
	{ "earlier", 0 },
	{ "later", KWQ_ADD_LATER },
	{ "keep", KWQ_ADD_KEEP },
	{ "replace", KWQ_ADD_REPLACE },
};

static uint32_t parse_policy(const char *s)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(policies); i++)
		if (!strcmp(s, policies[i].name))
			return policies[i].flag;
	usage("--if-waiting %s: must be earlier, later, keep or replace", s);
}

/* All adds of a call have these. */
static struct kwq_add_entry common;
static struct kwq_add_extra extra;

/* All entries are equal except for the key. */
static int fill(void *entry, const char *key, size_t len, const void *context)
{
	struct kwq_add_entry *add = entry;

	(void)key;
	*add = *(const struct kwq_add_entry *)context;
	add->key_len = len;
	return len;
}

static bool by_name;		/* the queue, and not by a descriptor */

/* With --wait: when to stop waiting for room, for all keys together. */
static bool waits;
static uint64_t room_deadline = KWQ_NO_DEADLINE;

/* The queue, while a user at a terminal has to be told that it is full; otherwise NULL. */
static const char *tells_of_full;

/* Nobody can open a removed queue, and its workers serve the next one of that name. */
static bool was_removed(const struct kwq *q)
{
	struct kwq_stat st = { .size = sizeof(st) };

	return by_name && !kwq_stat(q, &st) && st.state & KWQ_STATE_UNLINKED;
}

static void tell_of_full(const struct kwq *q)
{
	struct kwq_stat st = { .size = sizeof(st) };
	char dead[100] = "";

	if (!kwq_stat(q, &st) && st.dead)
		snprintf(dead, sizeof(dead), ", and %llu of its %llu keys are dead letters",
			 (unsigned long long)st.dead, (unsigned long long)st.items);
	message("%s: waiting for room: the queue is full%s", tells_of_full, dead);
	tells_of_full = NULL;
}

/* Nobody takes anything out of a full queue that was removed, unless a worker still has it. */
static int submit_waiting(struct kwq *q, const struct kwq_batch *batch)
{
	uint64_t soon;
	int taken;

	while (by_name || tells_of_full) {
		soon = kwq_deadline(q, LOOK_EVERY);
		if (soon >= room_deadline)
			break;
		taken = kwq_add_batch_wait(q, batch, soon);
		if (taken != -ETIMEDOUT)
			return taken;
		if (was_removed(q))
			return -ENOENT;
		if (tells_of_full)
			tell_of_full(q);
	}
	return kwq_add_batch_wait(q, batch, room_deadline);
}

static int submit(struct kwq *q, const struct kwq_batch *batch)
{
	int taken = waits ? submit_waiting(q, batch) : kwq_add_batch(q, batch);

	/* Asked only now, because the queue may be removed between any question and the add. */
	return taken > 0 && was_removed(q) ? -ENOENT : taken;
}

/* All extras are equal. */
static int submit_with_extras(struct kwq *q, const struct kwq_batch *batch)
{
	static struct kwq_add_extra extras[KWQ_BATCH_MAX];
	struct kwq_batch with = *batch;
	unsigned int i;

	for (i = 0; i < batch->nr; i++)
		extras[i] = extra;
	with.extras = kwq_ptr(extras);
	with.extra_size = sizeof(extras[0]);
	return submit(q, &with);
}

/* An empty name takes the keys out of their groups. */
static void parse_group(const char *name)
{
	size_t len = strlen(name);

	if (len > KWQ_GROUP_MAX)
		usage("--group: the name is longer than %d bytes", KWQ_GROUP_MAX);
	common.flags |= KWQ_ADD_GROUP;
	extra.group = len ? kwq_ptr(name) : 0;
	extra.group_len = len;
}

static void set_value(const char *option, const char *bytes, size_t len)
{
	if (len > KWQ_VALUE_MAX)
		usage("%s: a value has at most %d bytes", option, KWQ_VALUE_MAX);
	common.flags |= KWQ_ADD_VALUE;
	extra.value = len ? kwq_ptr(bytes) : 0;
	extra.value_len = len;
}

static void parse_value(const char *text, const char *path, bool keep)
{
	size_t len;

	if (text && path)
		usage("--value and --value-file cannot be combined");
	if (keep && !text && !path)
		usage("--keep-value needs --value or --value-file");
	if (text)
		set_value("--value", text, strlen(text));
	if (path) {
		text = must_read_value(path, &len);
		set_value("--value-file", text, len);
	}
	if (keep)
		common.flags |= KWQ_ADD_KEEP_VALUE;
}

static const char *refusal(int err)
{
	if (err == -EOPNOTSUPP)
		return extra.value_len || common.flags & KWQ_ADD_VALUE ?
		       "the queue has no values, or no groups: kwq create --groups makes one with "
		       "both" :
		       "the queue has no groups: kwq create --groups";
	if (err == -ENOENT)
		return "the queue was removed, so nobody may get these keys: "
		       "add them again to the next one";
	return NULL;
}

/* Parses AFTER,AT_MOST. */
static void parse_debounce(char *text)
{
	char *comma = strchr(text, ',');

	if (!comma)
		usage("--debounce %s: must be AFTER,AT_MOST, such as 2s,1m", text);
	*comma = '\0';
	common.flags |= KWQ_ADD_AFTER | KWQ_ADD_REPLACE | KWQ_ADD_AT_MOST;
	common.time = must_parse_duration("--debounce", text);
	extra.at_most = must_parse_duration("--debounce", comma + 1);
	if (!extra.at_most)
		usage("--debounce: AT_MOST must not be 0");
}

/* Why the wait for room ended. */
static const char *refusal_waiting(int err)
{
	switch (err) {
	case -ETIMEDOUT:
		return "the queue is full: no room in time (see kwq stat)";
	case -EAGAIN:
		return "the queue is full, and its descriptor has O_NONBLOCK";
	case -EDQUOT:
		return "your calls that wait for room take too much memory: try again later";
	case -ENOSPC:
		return "the key and its value are too large for the queue (see kwq stat)";
	default:
		return refusal(err);
	}
}

/* Names what an older module would refuse as an unknown flag. */
static void must_have_extras(void)
{
	static const struct {
		uint32_t flag;
		uint64_t feature;
		const char *what;
	} needs[] = {
		{ KWQ_ADD_AT_MOST, KWQ_FEATURE_DEBOUNCE, "--debounce" },
		{ KWQ_ADD_GROUP, KWQ_FEATURE_GROUPS, "--group" },
		{ KWQ_ADD_VALUE, KWQ_FEATURE_VALUES, "--value" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(needs); i++) {
		if (!(common.flags & needs[i].flag) || module_has(needs[i].feature))
			continue;
		message("%s: the kernel's kwq is older than this command", needs[i].what);
		exit(STATUS_FAILED);
	}
}

static int add_main(int argc, char **argv)
{
	const char *queue, *at = NULL, *policy = NULL, *wait = NULL;
	const char *value = NULL, *value_file = NULL;
	char *debounce = NULL;
	uint64_t wait_ns = 0;
	struct key_options options = { 0 };
	struct key_verb verb = {
		.entry_size = sizeof(common),
		.fill = fill,
		.submit = submit,
		.outcome = add_result,
		.refusal = refusal,
		.context = &common,
	};
	bool keep_value = false, past_ok = false, sync = false;
	int opt, status, not_kept;
	uint32_t timed;
	struct kwq *q;

	while ((opt = getopt_long(argc, argv, KEY_LETTERS "g:p:h", command_table(), NULL)) != -1) {
		switch (opt) {
		case OPT_AFTER:
			common.flags |= KWQ_ADD_AFTER;
			common.time = must_parse_duration("--after", optarg);
			break;
		case OPT_AT:
			common.flags |= KWQ_ADD_AT;
			at = optarg;
			break;
		case OPT_PAST:
			if (strcmp(optarg, "ok"))
				usage("--past %s: must be ok", optarg);
			past_ok = true;
			break;
		case OPT_IF_WAITING:
			policy = optarg;
			break;
		case OPT_END_WAIT:
			common.flags |= KWQ_ADD_END_WAIT;
			break;
		case OPT_RATE_LIMITED:
			common.flags |= KWQ_ADD_RATE_LIMITED;
			break;
		case OPT_DEBOUNCE:
			debounce = optarg;
			break;
		case OPT_VALUE:
			value = optarg;
			break;
		case OPT_VALUE_FILE:
			value_file = optarg;
			break;
		case OPT_KEEP_VALUE:
			keep_value = true;
			break;
		case OPT_WAIT:
			waits = true;
			verb.refusal = refusal_waiting;
			wait = optarg;
			if (wait)
				wait_ns = must_parse_duration("--wait", wait);
			break;
		case OPT_REFUSED:
			options.refused = optarg;
			break;
		case OPT_SYNC:
			sync = true;
			break;
		case 'g':
			parse_group(optarg);
			break;
		case 'p':
			common.flags |= KWQ_ADD_PRIORITY;
			common.priority = must_parse_signed("--priority", optarg,
							    KWQ_PRIORITY_MIN,
							    KWQ_PRIORITY_MAX);
			break;
		default:
			if (!key_option(&options, opt))
				option_common(opt);
		}
	}
	if (debounce) {
		if (policy || common.flags & ~(KWQ_ADD_PRIORITY | KWQ_ADD_GROUP))
			usage("--debounce cannot be combined with another time or --end-wait");
		parse_debounce(debounce);
	}
	if ((common.flags & KWQ_ADD_AFTER) && at)
		usage("--after and --at cannot be combined");
	if (past_ok && !at)
		usage("--past is about a time: it needs --at");
	timed = common.flags & (KWQ_ADD_AFTER | KWQ_ADD_AT | KWQ_ADD_RATE_LIMITED);
	if ((common.flags & KWQ_ADD_RATE_LIMITED) && timed != KWQ_ADD_RATE_LIMITED)
		usage("--rate-limited cannot be combined with --after or --at");
	if (policy) {
		if (!timed)
			usage("--if-waiting needs --after, --at or --rate-limited");
		common.flags |= parse_policy(policy);
	}
	if ((common.flags & KWQ_ADD_END_WAIT) && timed)
		usage("--end-wait cannot be combined with --after, --at or --rate-limited");
	if (optind == argc)
		usage("QUEUE is missing");
	queue = argv[optind++];
	if (value_file && !strcmp(value_file, "-") && optind == argc)
		usage("--value-file -: standard input cannot have both the keys and the value");
	parse_value(value, value_file, keep_value);
	if (common.flags & (KWQ_ADD_AT_MOST | KWQ_ADD_GROUP | KWQ_ADD_VALUE))
		verb.submit = submit_with_extras;

	q = must_open_queue(queue, KWQ_RIGHT_WRITE);
	by_name = !queue_is_fd(queue);
	if (common.flags & KWQ_ADD_RATE_LIMITED)
		must_have_limiters(q, queue);
	must_have_extras();
	if (wait)
		room_deadline = kwq_deadline(q, wait_ns);
	if (at)
		common.time = must_parse_instant("--at", at, kwq_now(q), past_ok ? NULL :
						 "--past ok adds such keys at once");
	if (waits && !options.quiet && has_watcher())
		tells_of_full = queue;
	if (sync)
		must_be_kept(q, queue);
	else
		warn_of_wait(q, queue);
	status = each_key(q, queue, &verb, &options, argc, argv);
	not_kept = sync ? wait_until_kept(q, queue, KWQ_NO_DEADLINE) : STATUS_OK;
	return status ? status : not_kept;
}

const struct command command_add = {
	.name = "add",
	.arguments = "[OPTION...] QUEUE [KEY...]",
	.summary = "Add keys, from arguments or from standard input",
	.options =
	"      --after DURATION  ready after DURATION: 1.5s, 1m30s, 500ms\n"
	"      --at TIME         ready at TIME: 18:30, 2027-01-31T06:00, @1800000000,\n"
	"                        clock:DURATION on the queue's own clock; a time of day\n"
	"                        that is over today is one of tomorrow\n"
	"      --past ok         a date in the past is no error, and means now\n"
	"      --debounce AFTER,AT_MOST\n"
	"                        ready when no such add came for AFTER, but at the latest\n"
	"                        AT_MOST after the first one: 2s,1m\n"
	"      --rate-limited    ready after the delay that the queue's limiters choose\n"
	"  -g, --group NAME      belongs to this group; '' takes it out of its group. Groups take\n"
	"                        turns, and the queue may limit each: kwq create --group-limit\n"
	"      --value VALUE     what the keys carry; a later value replaces it, '' takes it away\n"
	"      --value-file FILE the same, with the bytes of FILE; - is standard input\n"
	"      --keep-value      a key that carries a value keeps it\n"
	"  -p, --priority N      -32 to 31; the highest is handed out first (0)\n"
	"      --wait[=DURATION] wait for room while the queue is full, for DURATION in all\n"
	"      --refused FILE    append the keys that are refused, to add them again\n"
	"      --sync            wait until the adds are on the disk, or in the engine\n"
	KEY_HELP,
	.brief =
	"      --after DURATION   ready after DURATION: 1.5s, 1m30s, 500ms\n"
	"      --at TIME          ready at TIME: 18:30, 2027-01-31T06:00, @1800000000\n"
	"      --debounce AFTER,AT_MOST\n"
	"                         ready when no such add came for AFTER, but at\n"
	"                         the latest AT_MOST after the first one: 2s,1m\n"
	"      --rate-limited     ready after the delay that the queue's limiters choose\n"
	"  -g, --group NAME       belongs to this group\n"
	"      --value VALUE      what the keys carry\n"
	"  -p, --priority N       -32 to 31; the highest is handed out first (0)\n"
	"      --wait[=DURATION]  wait for room while the queue is full\n"
	"      --refused FILE     append the keys that are refused, to add them again\n"
	"  -0, --null             keys on standard input end with NUL, not with newline\n"
	"  -v, --verbose          print the result of each key\n"
	"      --json             print the results as one JSON object per line\n"
	"      --help=all         all options\n",
	.examples =
	"  kwq add jobs report-7 report-8           two keys\n"
	"  find . -name '*.jpg' | kwq add --after 1m thumbs\n",
	.table = add_options,
	.nr_debug = 2,
	.debug_options =
	"      --if-waiting earlier|later|keep|replace\n"
	"                        the time to use if the key waits already (earlier)\n"
	"      --end-wait        add now, also if the key waits for a time\n",
	.main = add_main,
};
