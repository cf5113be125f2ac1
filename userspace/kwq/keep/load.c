// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq load
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/escape.h"
#include "base/read_clock.h"
#include "restore.h"
#include "saved_dir.h"
#include "saved_queue.h"

enum { OPT_REMOVE = OPT_FIRST };

static const struct option load_options[] = {
	{ "all", no_argument, NULL, 'a' },
	{ "remove", no_argument, NULL, OPT_REMOVE },
	OPTION_VERBOSE, OPTION_JSON, OPTION_HELP, OPTION_END
};

struct load {
	bool remove;
	bool verbose, json;
};

/* ---- The items ------------------------------------------------------------ */

/* Keys that were not restored are counted as refused, also if the load ended before them. */
static void print_loaded(const struct restorer *r, uint64_t nr, const char *path,
			 const struct load *load)
{
	if (load->json) {
		putchar('{');
		json_bytes(stdout, "queue", r->queue, strlen(r->queue));
		putchar(',');
		json_bytes(stdout, "file", path, strlen(path));
		printf(",\"restored\":%llu,\"existing\":%llu,\"refused\":%llu}\n",
		       (unsigned long long)r->restored, (unsigned long long)r->there,
		       (unsigned long long)(nr - r->restored - r->there));
	} else if (load->verbose) {
		print_escaped(stdout, r->queue, strlen(r->queue));
		printf(": %llu restored, %llu were there already\n",
		       (unsigned long long)r->restored, (unsigned long long)r->there);
	}
}

/* If the wall clock went back, as that of a machine without a battery does, no time has passed. */
static uint64_t since_save(const struct saved_queue *queue)
{
	uint64_t now = read_clock(CLOCK_REALTIME);

	return now > queue->saved_at ? now - queue->saved_at : 0;
}

/* Says how much of a file is in the queue when something has ended the load. Returns @status. */
static int complain_part(const struct restorer *r, uint64_t nr, const char *path, const char *why,
			 int status)
{
	uint64_t done = r->restored + r->there;

	message("%s: %llu of %llu keys of %s are not restored: %s", r->queue,
		(unsigned long long)(nr - done), (unsigned long long)nr, path, why);
	return status;
}

/* Returns an exit status. */
static int restore_items(struct kwq *q, const struct saved_reader *saved, const char *path,
			 const char *name, const struct load *load)
{
	static struct restorer r;	/* too large for the stack */
	bool has_changed = false;
	struct saved_item item;
	uint64_t i;
	int err = 0;

	restore_begin(&r, q, name);
	for (i = 0; i < saved->nr && !err; i++) {
		has_changed = !saved_get(saved, i, &item, restore_room(&r));
		if (has_changed)
			break;
		saved_item_pass(&saved->queue, &item, since_save(&saved->queue));
		err = restore_item(&r, &item);
	}
	if (!err)
		err = restore_end(&r);
	print_loaded(&r, saved->nr, path, load);
	if (has_changed)
		return complain_part(&r, saved->nr, path, "the file was changed meanwhile",
				     STATUS_FAILED);
	err = err ? err : r.why;
	if (err)
		return complain_part(&r, saved->nr, path, meaning(err), status_of(err));
	return STATUS_OK;
}

/* ---- The file ------------------------------------------------------------- */

/* Whether the queue can have everything that the file has. */
static bool can_have_all(const struct kwq *q, const struct saved_reader *r, const char *name)
{
	return saved_queue_can_have(q, (r->has_values ? KWQ_CREATE_VALUES : 0) |
				       (r->has_groups ? KWQ_CREATE_GROUPS : 0), name);
}

/* A key that is not granted by the manager could be at work elsewhere. */
static bool is_managed(const struct kwq *q, const char *name)
{
	struct kwq_stat st = { .size = sizeof(st) };

	if (kwq_stat(q, &st) || !(st.create_flags & KWQ_CREATE_OUTBOX))
		return false;
	message("%s: its manager grants its keys: load them into its outbox", name);
	return true;
}

static int load_into(struct kwq *q, bool is_new, const struct saved_reader *saved,
		     const char *path, const char *name, const struct load *load)
{
	int status, err;

	if (!is_new && (is_managed(q, name) || !can_have_all(q, saved, name)))
		return STATUS_FAILED;
	/* Paused from the first item on. */
	err = is_new ? saved_queue_set_state(q, &saved->queue, KWQ_STATE_PAUSED) : 0;
	if (err)
		return complain(name, err);
	warn_of_wait(q, name);
	status = restore_items(q, saved, path, name, load);
	if (status || !is_new)
		return status;
	err = saved_queue_set_state(q, &saved->queue, KWQ_STATE_SHUT_DOWN);
	return err ? complain(name, err) : STATUS_OK;
}

/*
 * U9: a queue that only the file names must belong to the owner that the file names, or to one whom
 * kwq_check_owner() trusts. At boot another user may have made it first, and would get all keys.
 */
static int check_stranger(const struct kwq *q, const struct saved_queue *saved, const char *name)
{
	struct kwq_stat st = { .size = sizeof(st) };

	if (!kwq_stat(q, &st) && st.uid == saved->uid)
		return STATUS_OK;
	return check_owner(q, name);
}

/* Loads a checked file. @queue is a QUEUE argument, or NULL for the name in the file. */
static int load_queue(const struct saved_reader *saved, const char *path, const char *queue,
		      const struct load *load)
{
	const char *name = queue ? queue : saved->queue.name;
	const unsigned int rights = KWQ_RIGHT_WRITE | KWQ_RIGHT_MANAGE;
	bool is_new = false;
	struct kwq *q;
	int err, status;

	if (!*name) {
		message("%s: the queue had no name: name a QUEUE", path);
		return STATUS_USAGE;
	}
	err = queue ? open_queue(&q, queue, rights) : kwq_open(&q, name, rights, O_CLOEXEC);
	if (err == -ENOENT) {
		is_new = true;
		name = queue ? must_be_name(queue) : name;
		err = saved_queue_create(&q, &saved->queue, name);
		/* Somebody else was faster. */
		if (err == -EEXIST) {
			is_new = false;
			err = kwq_open(&q, name, rights, O_CLOEXEC);
		}
	}
	if (err)
		return complain_open(name, err);
	status = is_new || queue ? STATUS_OK : check_stranger(q, &saved->queue, name);
	if (!status)
		status = load_into(q, is_new, saved, path, name, load);
	kwq_close(q);
	return status;
}

static int load_file(const char *path, const char *queue, const struct load *load)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), status = STATUS_FAILED;
	struct saved_reader saved;
	const char *wrong;

	if (fd < 0) {
		message("%s: %s", path, strerror(errno));
		return STATUS_FAILED;
	}
	wrong = saved_open(&saved, fd);
	if (wrong) {
		message("%s: %s; nothing was loaded", path, wrong);
	} else {
		saved_queue_pass(&saved.queue, since_save(&saved.queue));
		status = load_queue(&saved, path, queue, load);
	}
	saved_close(&saved);
	close(fd);
	if (status || !load->remove)
		return status;
	/* After a crash the next boot must not bring back what has been done since. */
	if (!unlink(path) && !sync_dir_of(path))
		return STATUS_OK;
	message("%s: %s", path, strerror(errno));
	return STATUS_FAILED;
}

/* Returns the new path, or NULL after a message. */
static char *must_set_aside(const char *path, const char *as)
{
	char *aside = set_aside(path, as);

	if (!aside)
		message("%s: %s", path, strerror(errno));
	return aside;
}

/*
 * Loads one of all files. A file that will be removed is set aside first, because kwq save --all
 * replaces the file of a queue. If this process is killed, the queue has a part of the keys, and
 * the next load finds the others in the file that is aside. A file that fails stays aside.
 */
static int load_one(const char *path, void *arg)
{
	const struct load *load = arg;
	char *aside, *failed;
	int status;

	if (!is_saved_by_kwq(path)) {
		message("%s: not a file of kwq save, so it stays as it is", path);
		return STATUS_FAILED;
	}
	if (!load->remove)
		return load_file(path, NULL, load);
	aside = is_set_aside(path) ? strdup(path) : must_set_aside(path, "loading");
	if (!aside)
		return STATUS_FAILED;
	status = load_file(aside, NULL, load);
	if (status) {
		failed = must_set_aside(aside, "failed");
		if (failed)
			message("%s is now %s", path, failed);
		free(failed);
	}
	free(aside);
	return status;
}

static int load_main(int argc, char **argv)
{
	struct load load = { false };
	const char *path, *queue;
	bool all = false;
	int opt, status;

	while ((opt = getopt_long(argc, argv, "avh", load_options, NULL)) != -1) {
		switch (opt) {
		case 'a':
			all = true;
			break;
		case OPT_REMOVE:
			load.remove = true;
			break;
		case 'v':
			load.verbose = true;
			break;
		case OPT_JSON:
			load.json = true;
			break;
		default:
			option_common(opt);
		}
	}
	if (optind == argc)
		usage("%s is missing", all ? "DIRECTORY" : "FILE");
	path = argv[optind++];
	if (!strcmp(path, "-"))
		usage("a queue is loaded from a file, not from standard input: name a FILE");
	queue = !all && optind < argc ? argv[optind++] : NULL;
	if (optind < argc)
		usage("\"%s\" is one argument too many", argv[optind]);
	if (!module_has(KWQ_FEATURE_RESTORE)) {
		message("the kernel's kwq is older than this command and cannot restore keys");
		return STATUS_FAILED;
	}
	status = all ? each_saved(path, load_one, &load) : load_file(path, queue, &load);
	return flush_output() || status ? status : STATUS_FAILED;
}

const struct command command_load = {
	.name = "load",
	.arguments = "[OPTION...] FILE [QUEUE] | --all [OPTION...] DIRECTORY",
	.summary = "Restore queues that kwq save has saved",
	.options =
	"  -a, --all       every file of DIRECTORY that kwq save --all has written\n"
	"      --remove    remove each file whose keys were all restored; with --all,\n"
	"                  rename each other one to FILE.failed\n"
	"  -v, --verbose   print how many keys were restored\n"
	"      --json      print it as one JSON object per line\n"
	"  -h, --help\n"
	"\n"
	"Creates the queue, with the saved settings and owner, unless it exists. A key\n"
	"that the queue has already is added, as by kwq add. A file that is damaged or\n"
	"not whole changes nothing.\n",
	.examples =
	"  kwq load jobs.kwq                        the queue as it was\n"
	"  kwq load jobs.kwq copy                   as a queue of another name\n",
	.table = load_options,
	.main = load_main,
};
