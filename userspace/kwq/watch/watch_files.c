// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq watch-files: adds the path of each file that changes.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cmd.h"
#include "base/duration.h"
#include "base/escape.h"
#include "base/glob_filter.h"
#include "file_marks.h"
#include "own_changes.h"
#include "path_adder.h"
#include "base/read_clock.h"
#include "base/stopped.h"
#include "watch_tree.h"

enum {
	OPT_INITIAL = OPT_FIRST, OPT_INCLUDE, OPT_EXCLUDE, OPT_EVENTS, OPT_DEBOUNCE, OPT_RELATIVE,
	OPT_IGNORE_OWN, OPT_MARK,
};

/* The longest wait of a debounce without MAX, as a multiple of its duration. */
#define MAX_FACTOR 10

/* How often --ignore-own looks which jobs have ended. */
static const struct timespec look_every = { .tv_nsec = 100000000 };

#define USUAL_EVENTS (WATCH_WRITTEN | WATCH_MOVED)

/* What --mark marks. */
enum kind { NO_MARK, MARK_MOUNT, MARK_FILESYSTEM };

static const struct option watch_options[] = {
	{ "initial", no_argument, NULL, OPT_INITIAL },
	{ "include", required_argument, NULL, OPT_INCLUDE },
	{ "exclude", required_argument, NULL, OPT_EXCLUDE },
	{ "events", required_argument, NULL, OPT_EVENTS },
	{ "debounce", required_argument, NULL, OPT_DEBOUNCE },
	{ "relative", no_argument, NULL, OPT_RELATIVE },
	{ "ignore-own", required_argument, NULL, OPT_IGNORE_OWN },
	{ "mark", required_argument, NULL, OPT_MARK },
	OPTION_VERBOSE, OPTION_JSON, OPTION_HELP, OPTION_END
};

/*
 * @names: for each folder the only file of it that is watched; NULL: all of it is watched
 * @marks: by what the folders are watched; NULL: by @watched
 */
struct watching {
	struct watch_tree_options tree;
	const char **names;
	struct glob_filter filter;
	struct path_adder adder;
	struct own_changes own;
	enum kind mark;
	struct file_marks *marks;
	struct watch_tree *watched;
	bool relative, ignores_own;
	char path[2 * PATH_MAX];
};

/* ---- Options -------------------------------------------------------------- */

static uint32_t parse_events(const char *list)
{
	static const struct {
		const char *name;
		uint32_t event;
	} known[] = {
		{ "written", WATCH_WRITTEN },
		{ "moved", WATCH_MOVED },
		{ "created", WATCH_CREATED },
		{ "attributes", WATCH_ATTRIBUTES },
		{ "deleted", WATCH_DELETED },
	};
	const char *at = list;
	uint32_t events = 0;
	size_t len, i;

	for (;; at += len + 1) {
		len = strcspn(at, ",");
		for (i = 0; i < ARRAY_SIZE(known); i++)
			if (strlen(known[i].name) == len && !memcmp(known[i].name, at, len))
				break;
		if (i == ARRAY_SIZE(known))
			usage("--events %s: must be written, moved, created, attributes or deleted, or several with commas between them",
			      list);
		events |= known[i].event;
		if (!at[len])
			return events;
	}
}

static enum kind parse_mark(const char *kind)
{
	if (!strcmp(kind, "mount"))
		return MARK_MOUNT;
	if (!strcmp(kind, "filesystem"))
		return MARK_FILESYSTEM;
	usage("--mark %s: must be mount or filesystem", kind);
}

/* Parses DURATION[:MAX]. */
static void parse_debounce(struct path_adder *adder, char *text)
{
	char *colon = strchr(text, ':');

	if (colon)
		*colon = '\0';
	adder->after = must_parse_short_duration("--debounce", text);
	if (!adder->after)
		usage("--debounce: must be longer than 0");
	if (colon)
		adder->at_most = must_parse_short_duration("--debounce", colon + 1);
	else if (__builtin_mul_overflow(adder->after, MAX_FACTOR, &adder->at_most))
		adder->at_most = DURATION_MAX;
	if (adder->at_most < adder->after)
		usage("--debounce: MAX must not be less than DURATION");
}

static void parse_option(struct watching *w, int opt)
{
	bool good = true;

	switch (opt) {
	case OPT_INITIAL:
		w->tree.initial = true;
		break;
	case OPT_INCLUDE:
		good = glob_filter_include(&w->filter, optarg);
		break;
	case OPT_EXCLUDE:
		good = glob_filter_exclude(&w->filter, optarg);
		break;
	case OPT_EVENTS:
		w->tree.events |= parse_events(optarg);
		break;
	case OPT_DEBOUNCE:
		parse_debounce(&w->adder, optarg);
		break;
	case OPT_RELATIVE:
		w->relative = true;
		break;
	case OPT_IGNORE_OWN:
		w->ignores_own = true;
		w->own.quiet = must_parse_short_duration("--ignore-own", optarg);
		break;
	case OPT_MARK:
		w->mark = parse_mark(optarg);
		w->adder.wants_values = true;
		break;
	case 'v':
		w->adder.verbose = true;
		break;
	case OPT_JSON:
		w->adder.json = true;
		break;
	default:
		option_common(opt);
	}
	if (!good)
		exit(complain("memory", -ENOMEM));
}

/* ---- What happens in the folders ------------------------------------------ */

static bool wants_folder(void *arg, size_t folder, const char *path)
{
	const struct watching *w = arg;

	return !w->names[folder] && glob_filter_wants_folder(&w->filter, path);
}

/* The path of a file, as the key has it or as a message has it. */
static const char *full_path(struct watching *w, size_t folder, const char *path)
{
	const char *above = w->tree.folders[folder];

	snprintf(w->path, sizeof(w->path), "%s%s%s", above,
		 *path && strcmp(above, "/") ? "/" : "", path);
	return w->path;
}

/* Where the key of a path is, for --ignore-own. */
static enum own_key look(void *arg, const char *path)
{
	const struct watching *w = arg;
	struct kwq_listed item;
	int err = kwq_look(w->adder.q, path, strlen(path), &item);

	if (err)
		return err == -ENOENT ? OWN_OVER : OWN_READY;
	if (item.state & KWQ_IS_PROCESSING)
		return OWN_AT_WORK;
	/* A retry waits after its job, and a debounced key before it. */
	if (item.state & KWQ_IS_READY || (item.state & KWQ_IS_WAITING && !item.requeues))
		return OWN_READY;
	return OWN_OVER;
}

static int changed(void *arg, size_t folder, const char *path, uint32_t bits)
{
	struct watching *w = arg;
	int err;

	if (!glob_filter_wants_file(&w->filter, path))
		return 0;
	if (w->names[folder] && strcmp(w->names[folder], path))
		return 0;
	path = w->relative ? path : full_path(w, folder, path);
	if (w->ignores_own && strlen(path) <= KWQ_KEY_MAX) {
		if (own_changes_has(&w->own, path, read_clock(CLOCK_MONOTONIC)))
			return 0;
		err = own_changes_note(&w->own, path);
		if (err)
			return err;
	}
	return path_adder_add(&w->adder, path, bits);
}

static void warn(void *arg, size_t folder, const char *path, const char *why)
{
	static char text[ESCAPED_SIZE(sizeof(((struct watching *)0)->path))];
	struct watching *w = arg;
	const char *full = full_path(w, folder, path);

	message("%s: %s", escape_text(text, full, strlen(full)), why);
}

/* ---- Errors --------------------------------------------------------------- */

/* The value of a limit of inotify, or 0 if it cannot be read. */
static unsigned long limit(const char *name)
{
	char path[80];
	unsigned long value = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/sys/fs/inotify/%s", name);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%lu", &value) != 1)
		value = 0;
	fclose(file);
	return value;
}

/* Says which limit has to be raised. */
static int complain_limit(const char *what, const char *name)
{
	unsigned long value = limit(name);

	message("this user may not have more than %lu %s: raise the limit, such as by sysctl fs.inotify.%s=%lu",
		value, what, name, value ? 4 * value : 1048576);
	return STATUS_FAILED;
}

static int complain_watch(const struct watching *w, int err)
{
	switch (err) {
	case -ENOSPC:
		return complain_limit("inotify watches, one for each folder",
				      "max_user_watches");
	case -EMFILE:
		return complain_limit("inotify descriptors", "max_user_instances");
	case -ENOENT:
		message("no folder is left to watch");
		return STATUS_FAILED;
	case -EBADF:
		/* A message has said which folder cannot be opened. */
		return STATUS_FAILED;
	case -EINTR:
		message("%s: the queue is %s: %u paths or more are not added", w->adder.queue,
			w->adder.is_removed ? "removed" : "full", w->adder.nr);
		return STATUS_FAILED;
	default:
		return complain(w->adder.queue, err);
	}
}

static int complain_mark(const struct watching *w, int err)
{
	switch (err) {
	case -EPERM:
		message("--mark needs the capability CAP_SYS_ADMIN: run this as root, or without --mark");
		return STATUS_FAILED;
	case -EOPNOTSUPP:
		message("--mark mount needs Linux 6.10 or newer: use --mark filesystem");
		return STATUS_FAILED;
	default:
		return complain_watch(w, err);
	}
}

/* ---- The command ---------------------------------------------------------- */

/*
 * A file is watched through its folder, because editors put another file in its place. The folder's
 * path ends where the name of the file begins.
 */
static const char *split_file(char *path)
{
	struct stat st;
	char *name;

	if (stat(path, &st) || S_ISDIR(st.st_mode))
		return NULL;
	name = strrchr(path, '/');
	*name = '\0';
	return name + 1;
}

/* Two files of one folder would be two watches of it, of which inotify has one. */
static void refuse_equal(const struct watching *w, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (!strcmp(w->tree.folders[i], w->tree.folders[nr]))
			usage("%s: two arguments are of this folder: watch the folder, with --include for each file",
			      w->tree.folders[nr]);
}

/* Takes the arguments by their absolute paths, which stay right if this process moves. */
static void resolve(struct watching *w, char **arguments, size_t nr)
{
	size_t i;

	w->tree.folders = arguments;
	w->names = calloc(nr, sizeof(*w->names));
	if (!w->names)
		exit(complain("memory", -ENOMEM));
	for (i = 0; i < nr; i++) {
		char *path = realpath(arguments[i], NULL);

		if (!path) {
			message("%s: %s", arguments[i], strerror(errno));
			exit(STATUS_FAILED);
		}
		w->names[i] = split_file(path);
		/* Of a file in the root folder nothing is left. */
		arguments[i] = *path ? path : (char *)"/";
		refuse_equal(w, i);
	}
}

static int watch_fd(const struct watching *w)
{
	return w->marks ? file_marks_fd(w->marks) : watch_tree_fd(w->watched);
}

/* Reads what has changed, and adds it. */
static int read_changes(struct watching *w)
{
	int err = w->marks ? file_marks_read(w->marks) : watch_tree_read(w->watched);

	if (!err)
		err = path_adder_flush(&w->adder);
	if (!err && w->marks)
		err = file_marks_reported(w->marks);
	return err;
}

static unsigned long long overflows_of(const struct watching *w)
{
	return w->marks ? file_marks_refused(w->marks) : watch_tree_overflows(w->watched);
}

static int watch_until_stopped(struct watching *w, const sigset_t *caught)
{
	unsigned long long overflows = 0;
	int err = 0;

	while (!err && !stopped) {
		err = await_unless_stopped(watch_fd(w), caught, w->own.nr ? &look_every : NULL);
		if (!err)
			err = read_changes(w);
		own_changes_added(&w->own);
		own_changes_look(&w->own, read_clock(CLOCK_MONOTONIC));
		if (overflows_of(w) != overflows)
			message("%s: all files were added again", w->marks ?
				"the kernel could not keep all changes" :
				"inotify's queue overflowed");
		overflows = overflows_of(w);
	}
	return err;
}

static int begin(struct watching *w)
{
	int err = -ENXIO;

	if (w->mark)
		err = file_marks_open(&w->marks, &w->tree, w->mark == MARK_MOUNT);
	if (err != -ENXIO)
		return err;
	if (w->mark)
		message("there is no module kwq_files (modprobe kwq_files): each folder is watched by inotify");
	return watch_tree_open(&w->watched, &w->tree);
}

static void tell_begin(const struct watching *w)
{
	if (w->marks)
		message("watching by the module kwq_files");
	else if (w->adder.verbose)
		message("watching %zu folders", watch_tree_size(w->watched));
}

static int watch(struct watching *w)
{
	sigset_t caught;
	int err;

	catch_stop(&caught);
	err = begin(w);
	if (err)
		return w->mark ? complain_mark(w, err) : complain_watch(w, err);
	err = path_adder_flush(&w->adder);
	own_changes_added(&w->own);
	if (!err) {
		tell_begin(w);
		err = watch_until_stopped(w, &caught);
	}
	if (w->marks)
		file_marks_close(w->marks);
	else
		watch_tree_close(w->watched);
	if (err)
		return complain_watch(w, err);
	return w->adder.failed ? STATUS_FAILED : STATUS_OK;
}

/* The keys of a shared queue may be at work on any machine. */
static void refuse_shared(const struct watching *w)
{
	if (!shared_queue(w->adder.q))
		return;
	message("%s: --ignore-own does not see the jobs of other machines, which share this queue",
		w->adder.queue);
	exit(STATUS_FAILED);
}

static int watch_main(int argc, char **argv)
{
	static struct watching w = {
		.tree = {
			.arg = &w,
			.wants_folder = wants_folder,
			.changed = changed,
			.warn = warn,
		},
		.adder = {
			.stop = &stopped,
			.rights = KWQ_RIGHT_WRITE,
		},
		.own = {
			.look = look,
			.arg = &w,
		},
	};
	int opt, err;

	while ((opt = getopt_long(argc, argv, "vh", watch_options, NULL)) != -1)
		parse_option(&w, opt);
	if (!w.tree.events)
		w.tree.events = w.mark == MARK_MOUNT ? WATCH_WRITTEN : USUAL_EVENTS;
	if (w.mark == MARK_MOUNT && w.tree.events != WATCH_WRITTEN)
		usage("--mark mount knows of no events but written: use --mark filesystem");
	if (optind == argc)
		usage("QUEUE is missing");
	w.adder.queue = argv[optind++];
	if (optind == argc)
		usage("DIR is missing");
	if (w.relative && optind + 1 < argc)
		usage("--relative works with one DIR only: paths below two could be equal");
	resolve(&w, argv + optind, argc - optind);

	/* Not an inherited handle itself: it may have O_NONBLOCK. */
	if (w.ignores_own)
		w.adder.rights |= KWQ_RIGHT_READ;
	err = open_own_queue(&w.adder.q, w.adder.queue, w.adder.rights, 0);
	if (err)
		return complain_open(w.adder.queue, err);
	if (w.ignores_own) {
		must_list_items(w.adder.q, w.adder.queue);
		refuse_shared(&w);
	}
	return watch(&w);
}

const struct command command_watch_files = {
	.name = "watch-files",
	.arguments = "[OPTION...] QUEUE DIR|FILE...",
	.summary = "Add the path of FILE, or of each file below DIR, when it changes",
	.options =
	"      --initial       add all files first\n"
	"      --include GLOB  only files that match: by name or, with a / in it, by path\n"
	"      --exclude GLOB  no files and no folders that match\n"
	"      --events EVENT[,EVENT...]\n"
	"                      written, moved (to a name), created, attributes, deleted;\n"
	"                      without this option: written,moved\n"
	"      --debounce DURATION[:MAX]\n"
	"                      ready when a file has not changed for DURATION, but not\n"
	"                      later than MAX after its first change (10 * DURATION)\n"
	"      --relative      keys are paths below DIR, or the name of FILE\n"
	"      --ignore-own DURATION\n"
	"                      no change while the job of a file runs, or DURATION after\n"
	"      --mark KIND     watch a whole mount or filesystem, by the module kwq_files\n"
	"  -v, --verbose       print the result of each add\n"
	"      --json          print it as one JSON object per line\n"
	"  -h, --help\n"
	"\n"
	"A full queue is waited for. Ends at a signal, or when DIR is gone.\n"
	"\n"
	"  kwq watch-files --include '*.jpg' --debounce 2s thumbnails ~/photos\n"
	"  kwq watch-files --initial --exclude .git build ~/src\n",
	.table = watch_options,
	.main = watch_main,
};
