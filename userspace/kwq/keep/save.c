// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq save
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <search.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/escape.h"
#include "queue/item_list.h"
#include "base/read_clock.h"
#include "saved.h"
#include "saved_dir.h"
#include "saved_queue.h"

enum { OPT_PRUNE = OPT_FIRST };

static const struct option save_options[] = {
	{ "all", no_argument, NULL, 'a' },
	{ "prune", no_argument, NULL, OPT_PRUNE },
	OPTION_VERBOSE, OPTION_JSON, OPTION_HELP, OPTION_END
};

struct save {
	bool all, prune, verbose, json;
};

static atomic_int stopped;

/* The signal that stops a save must not leave its temporary file behind. */
static void note_signal(int signal)
{
	stopped = signal;
}

static void catch_signals(void)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGTERM };
	struct sigaction action = { .sa_handler = note_signal };
	size_t i;

	sigemptyset(&action.sa_mask);
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &action, NULL);
}

/* Ends by the signal that came, so that the caller sees it. */
static void end_if_stopped(void)
{
	if (!stopped)
		return;
	signal(stopped, SIG_DFL);
	raise(stopped);
}

/* How long the save has lasted, on the clock of the queue. */
static uint64_t since(uint64_t begun, const struct saved_queue *queue)
{
	return queue->clockid == KWQ_CLOCK_ID_MANUAL ? 0 : read_clock(CLOCK_BOOTTIME) - begun;
}

/*
 * The file has one time for all items, that of @begun, but a list takes time. So a wait is counted
 * from there, and no key is ready early for that (D5).
 */
static int write_items(struct kwq *q, struct saved_writer *w, const struct saved_queue *queue,
		       uint64_t begun)
{
	static struct item_list list;	/* too large for the stack */
	const struct kwq_listed *listed;
	struct saved_item item;
	const char *key;
	int ret;

	item_list_begin(&list, q, SAVED_STATES);
	item_list_with(&list, SAVED_WITH);
	while ((ret = item_list_next(&list, &listed, &key)) > 0) {
		if (stopped)
			return -EINTR;
		item = saved_item_of(listed);
		if (item.state & KWQ_IS_WAITING)
			item.due_in += since(begun, queue);
		ret = saved_put(w, &item, key);
		if (ret)
			return ret;
	}
	return ret;
}

static int write_queue(struct kwq *q, FILE *to, uint64_t *nr)
{
	uint64_t begun = read_clock(CLOCK_BOOTTIME);
	struct saved_queue queue;
	struct saved_writer w;
	int err;

	err = saved_queue_read(q, &queue);
	if (!err)
		err = saved_begin(&w, to, &queue);
	if (!err)
		err = write_items(q, &w, &queue, begun);
	if (!err)
		err = saved_end(&w);
	if (!err)
		*nr = w.nr;
	return err;
}

/* Writes everything to the disk. Returns 0 or a negative errno value. */
static int finish(FILE *to)
{
	int err = fflush(to) || fsync(fileno(to)) ? -errno : 0;

	return fclose(to) && !err ? -errno : err;
}

static void print_saved(const struct save *o, const char *queue, const char *path, uint64_t nr)
{
	if (o->json) {
		putchar('{');
		json_bytes(stdout, "queue", queue, strlen(queue));
		putchar(',');
		json_bytes(stdout, "file", path, strlen(path));
		printf(",\"saved\":%llu}\n", (unsigned long long)nr);
	} else if (o->verbose) {
		print_escaped(stdout, queue, strlen(queue));
		printf(": %llu saved\n", (unsigned long long)nr);
	}
}

/*
 * Saves a queue in a temporary file beside @path, which then takes the place of @path. So there is
 * a whole file at any moment. Returns the exit status.
 */
static int save(struct kwq *q, const char *queue, const char *path, const struct save *o)
{
	char *temporary;
	uint64_t nr = 0;
	int err, fd;
	FILE *to;

	if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
		exit(complain("memory", -ENOMEM));
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0) {
		message("%s: %s", path, strerror(errno));
		free(temporary);
		return STATUS_FAILED;
	}
	to = fdopen(fd, "w");
	if (!to)
		exit(complain("memory", -ENOMEM));
	err = write_queue(q, to, &nr);
	if (!err)
		err = finish(to);
	else
		fclose(to);
	if (!err && (rename(temporary, path) || sync_dir_of(path)))
		err = -errno;
	if (err) {
		unlink(temporary);
		message("%s: not saved to %s: %s", queue, path, strerror(-err));
	} else {
		print_saved(o, queue, path, nr);
	}
	free(temporary);
	end_if_stopped();
	return err ? STATUS_FAILED : STATUS_OK;
}

static void must_have_lists(void)
{
	if (module_has(KWQ_FEATURE_LIST_ITEMS))
		return;
	message("the kernel's kwq is older than this command and cannot list keys");
	exit(STATUS_FAILED);
}

static int complain_foreign(const char *name, const char *path)
{
	message("%s: not saved: %s is not a file of kwq save; move it away", name, path);
	return STATUS_FAILED;
}

/*
 * The paths of the queues that were saved, or could not be. No time tells which files are theirs: a
 * file's time may be finer than the clock's, or coarser.
 */
static void *written;

static int compare_paths(const void *a, const void *b)
{
	return strcmp(a, b);
}

static bool was_written(const char *path)
{
	return tfind(path, &written, compare_paths);
}

/*
 * Names the program that keeps the queue over a reboot instead, or returns NULL if none does.
 *
 * A queue whose calls wait for kwq keep is kept by that. A load of its file would wait for a keeper
 * that begins only after the load of all files. A queue with an outbox has only keys that its
 * manager has granted, and will grant again. A load would make a queue without an outbox of it,
 * which hands out what others may have by then.
 */
static const char *left_to(const struct kwq *q)
{
	struct kwq_stat st = { .size = sizeof(st) };

	if (kwq_stat(q, &st))
		return NULL;
	if (st.create_flags & KWQ_CREATE_OUTBOX)
		return "its manager";
	return st.create_flags & KWQ_CREATE_SYNC ? "kwq keep" : NULL;
}

/* Saves the queue of a name. A queue that is gone meanwhile, or left to others, is no error. */
static int save_name(const char *dir, const char *name, const struct save *o)
{
	char *path = saved_path(dir, name);
	const char *other = NULL;
	struct kwq *q;
	int status, err;

	err = kwq_open(&q, name, KWQ_RIGHT_READ, O_CLOEXEC);
	if (!err)
		other = left_to(q);
	if (other) {
		kwq_close(q);
		free(path);
		if (o->verbose) {
			print_escaped(stdout, name, strlen(name));
			printf(": left to %s\n", other);
		}
		return STATUS_OK;
	}
	if (err == -ENOENT)
		status = STATUS_OK;
	else if (err)
		status = complain(name, err);
	else if (!access(path, F_OK) && !is_saved_by_kwq(path))
		status = complain_foreign(name, path);
	else
		status = save(q, name, path, o);
	if (!err)
		kwq_close(q);
	if (err == -ENOENT)
		free(path);
	else if (!tsearch(path, &written, compare_paths))
		exit(complain("memory", -ENOMEM));
	return status;
}

enum { PAGE = 64 };

static int save_all(const char *dir, const struct save *o)
{
	struct kwq_list_entry entries[PAGE];
	char after[KWQ_NAME_MAX + 1] = "";
	int nr, i, status = STATUS_OK, one;

	if (mkdir(dir, 0700) && errno != EEXIST) {
		message("%s: %s", dir, strerror(errno));
		return STATUS_FAILED;
	}
	while ((nr = kwq_list(entries, PAGE, after)) > 0) {
		for (i = 0; i < nr; i++) {
			one = save_name(dir, (const char *)entries[i].name, o);
			if (one)
				status = one;
		}
		memcpy(after, entries[nr - 1].name, sizeof(after));
	}
	if (nr < 0)
		return complain(dir, nr);
	return o->prune && !status ? prune_saved(dir, was_written, o->verbose, o->json) : status;
}

static void parse_options(struct save *o, int argc, char **argv)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "avh", save_options, NULL)) != -1) {
		switch (opt) {
		case 'a':
			o->all = true;
			break;
		case OPT_PRUNE:
			o->prune = true;
			break;
		case 'v':
			o->verbose = true;
			break;
		case OPT_JSON:
			o->json = true;
			break;
		default:
			option_common(opt);
		}
	}
	if (o->prune && !o->all)
		usage("--prune needs --all");
}

static int save_main(int argc, char **argv)
{
	struct save o = { 0 };
	const char *queue, *path;
	struct kwq *q;
	int status;

	parse_options(&o, argc, argv);
	if (o.all) {
		path = only_argument(argc, argv, "DIRECTORY");
		must_have_lists();
		catch_signals();
		status = save_all(path, &o);
		return flush_output() || status ? status : STATUS_FAILED;
	}
	if (optind == argc)
		usage("QUEUE is missing");
	queue = argv[optind++];
	path = only_argument(argc, argv, "FILE");
	if (!strcmp(path, "-"))
		usage("a queue is saved to a file, not to standard output: name a FILE");
	q = must_open_queue(queue, KWQ_RIGHT_READ);
	if (!queue_is_fd(queue))
		must_have_lists();
	catch_signals();
	status = save(q, queue, path, &o);
	return flush_output() || status ? status : STATUS_FAILED;
}

const struct command command_save = {
	.name = "save",
	.arguments = "[OPTION...] QUEUE FILE | --all [OPTION...] DIRECTORY",
	.summary = "Save a queue, or all of them, in a file each",
	.options =
	"  -a, --all       every queue with a name, in files of DIRECTORY\n"
	"      --prune     with --all, remove the files there of queues that are gone\n"
	"  -v, --verbose   print how many keys were saved\n"
	"      --json      print it as one JSON object per line\n"
	"  -h, --help\n"
	"\n"
	"The queue may be in use. A key is saved as ready while somebody works on it.\n",
	.examples =
	"  kwq save mail /tmp/m.kwq                 one queue\n"
	"  kwq save --all /var/backups/kwq          all queues\n",
	.table = save_options,
	.main = save_main,
};
