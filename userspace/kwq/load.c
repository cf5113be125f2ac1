// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq load
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "escape.h"
#include "key_progress.h"
#include "saved.h"
#include "saved_dir.h"

enum { OPT_REMOVE = OPT_FIRST };

static const struct option load_options[] = {
	{ "all", no_argument, NULL, 'a' },
	{ "remove", no_argument, NULL, OPT_REMOVE },
	OPTION_QUIET, OPTION_VERBOSE, OPTION_JSON, OPTION_HELP, OPTION_END
};

struct load {
	bool remove;
	bool quiet, verbose, json;
};

/* ---- The queue ------------------------------------------------------------ */

static __u64 at_most(const char *what, const char *name, __u64 wanted, __u64 limit)
{
	if (wanted <= limit)
		return wanted;
	message("%s: its limit of %s is lowered from %llu to the module's %llu", name, what,
		(unsigned long long)wanted, (unsigned long long)limit);
	return limit;
}

static void fill_create(struct kwq_create_args *args, struct kwq_config *config,
			const struct saved_queue *queue, const char *name)
{
	struct kwq_info info = { .size = sizeof(info), .max_items = UINT64_MAX,
				 .max_bytes = UINT64_MAX };

	kwq_info(&info);
	*config = queue->config;
	config->size = sizeof(*config);
	config->limiters = kwq_ptr(queue->limiters);
	config->limiter_size = sizeof(queue->limiters[0]);
	*args = (struct kwq_create_args){
		.size = sizeof(*args),
		.flags = queue->create_flags,
		.open_flags = O_CLOEXEC,
		.mode = queue->mode,
		.clockid = queue->clockid,
		.rights = KWQ_RIGHTS_ALL,
		.max_items = at_most("items", name, queue->max_items, info.max_items),
		.max_bytes = at_most("bytes", name, queue->max_bytes, info.max_bytes),
		.config = kwq_ptr(config),
		.lease = queue->lease,
		.aging = queue->aging,
		.group_limit = queue->group_limit,
	};
	memcpy(args->name, name, strlen(name));
}

/* Creates a queue as the user who owned it. Returns a descriptor, or -1 with errno. */
static int create_as(int device, struct kwq_create_args *args, uid_t uid, gid_t gid)
{
	int fd = -1, err;

	/* Without root's rights, so that the queue counts in its owner's quota. */
	if (!setegid(gid) && !seteuid(uid))
		fd = ioctl(device, KWQ_IOC_CREATE, args);
	err = errno;
	if (seteuid(0) || setegid(getgid()))
		exit(complain("root", -errno));
	errno = err;
	return fd;
}

/* Returns 0 or a negative errno value. */
static int create_queue(struct kwq **q, const struct saved_queue *queue, const char *name)
{
	bool as_another = !geteuid() && (queue->uid || queue->gid != getegid());
	struct kwq_create_args args;
	struct kwq_config config;
	int device, fd, err;
	mode_t mask;

	if (strlen(name) > KWQ_NAME_MAX)
		return -ENAMETOOLONG;
	fill_create(&args, &config, queue, name);
	/* The owner may not be allowed to open the device. */
	device = open("/dev/kwq", O_RDWR | O_CLOEXEC);
	if (device < 0)
		return errno == ENOENT || errno == ENXIO ? -ENODEV : -errno;
	mask = umask(0);
	fd = as_another ? create_as(device, &args, queue->uid, queue->gid) :
			  ioctl(device, KWQ_IOC_CREATE, &args);
	err = fd < 0 ? -errno : kwq_from_fd(q, fd);
	umask(mask);
	close(device);
	return err;
}

/* Whether the queue can have everything that the file has. */
static bool has_all(const struct kwq *q, const struct saved_reader *r, const char *name)
{
	struct kwq_stat st = { .size = sizeof(st) };
	__u32 lacks;

	if (kwq_stat(q, &st))
		return true;
	lacks = (r->has_values ? KWQ_CREATE_VALUES : 0) | (r->has_groups ? KWQ_CREATE_GROUPS : 0);
	lacks &= ~st.create_flags;
	if (lacks)
		message("%s: the queue has no %s, but its saved keys have", name,
			lacks & KWQ_CREATE_VALUES ? "values" : "groups");
	return !lacks;
}

/* ---- The items ------------------------------------------------------------ */

enum { BATCH = 256, BATCH_BYTES = 8 * SAVED_BYTES_MAX };

struct restorer {
	struct kwq *q;
	const char *queue;
	struct key_progress progress;
	uint64_t restored, there, refused;
	int why;		/* of the first one that was refused */

	unsigned int nr;
	size_t bytes;		/* in @room: the keys, or everything of each item */
	size_t keys_len;
	bool has_extras;
	struct kwq_restore_entry entries[BATCH];
	struct kwq_add_extra extras[BATCH];
	__s32 results[BATCH];
	unsigned char keys[BATCH * KWQ_KEY_MAX];
	unsigned char room[BATCH_BYTES];
};

static void count(struct restorer *r, int nr)
{
	int i;

	for (i = 0; i < nr; i++) {
		if (r->results[i] == KWQ_RESTORED)
			r->restored++;
		else if (r->results[i] >= 0)
			r->there++;
		else
			r->why = r->refused++ ? r->why : r->results[i];
	}
}

/* Returns 0 or a negative errno value, of the call. */
static int flush(struct restorer *r)
{
	unsigned int first = 0, i;
	size_t keys = 0;

	while (first < r->nr) {
		struct kwq_batch batch = {
			.entries = kwq_ptr(r->entries + first),
			.keys = kwq_ptr(r->keys + keys),
			.results = kwq_ptr(r->results),
			.extras = r->has_extras ? kwq_ptr(r->extras + first) : 0,
			.keys_len = r->keys_len - keys,
			.nr = r->nr - first,
			.entry_size = sizeof(r->entries[0]),
			.extra_size = r->has_extras ? sizeof(r->extras[0]) : 0,
		};
		int taken = kwq_restore_batch(r->q, &batch);

		if (taken <= 0)
			return taken ? taken : -EIO;
		count(r, taken);
		key_progress_add(&r->progress, taken);
		for (i = first; i < first + taken; i++)
			keys += r->entries[i].key_len;
		first += taken;
	}
	r->nr = 0;
	r->bytes = 0;
	r->keys_len = 0;
	r->has_extras = false;
	return 0;
}

static void collect(struct restorer *r, const struct saved_item *item, unsigned char *bytes)
{
	unsigned char *group = bytes + item->key_len, *value = group + item->group_len;
	bool waits = item->state & KWQ_IS_WAITING;
	struct kwq_restore_entry *entry = &r->entries[r->nr];
	struct kwq_add_extra *extra = &r->extras[r->nr];

	*entry = (struct kwq_restore_entry){
		.key_len = item->key_len,
		.flags = (item->value_len ? KWQ_ADD_VALUE : 0) |
			 (item->group_len ? KWQ_ADD_GROUP : 0),
		.state = item->state,
		.priority = item->priority,
		.wait_priority = waits ? item->wait_priority : 0,
		.requeues = item->requeues,
		.abandoned = item->abandoned,
		.dirty_for = item->dirty_for,
		.waiting_for = waits ? item->waiting_for : 0,
		.due_in = waits ? item->due_in : 0,
		.dead_for = item->dead_for,
	};
	*extra = (struct kwq_add_extra){
		.value = item->value_len ? kwq_ptr(value) : 0,
		.group = item->group_len ? kwq_ptr(group) : 0,
		.value_len = item->value_len,
		.group_len = item->group_len,
	};
	r->has_extras |= entry->flags;
	memcpy(r->keys + r->keys_len, bytes, item->key_len);
	r->keys_len += item->key_len;
	r->bytes += item->key_len + item->group_len + item->value_len;
	r->nr++;
}

static void print_loaded(const struct restorer *r, const char *path, const struct load *load)
{
	if (load->json) {
		putchar('{');
		json_bytes(stdout, "queue", r->queue, strlen(r->queue));
		putchar(',');
		json_bytes(stdout, "file", path, strlen(path));
		printf(",\"restored\":%llu,\"existing\":%llu,\"refused\":%llu}\n",
		       (unsigned long long)r->restored, (unsigned long long)r->there,
		       (unsigned long long)r->refused);
	} else if (load->verbose) {
		printf("%s: %llu restored, %llu were there already\n", r->queue,
		       (unsigned long long)r->restored, (unsigned long long)r->there);
	}
}

/* Returns an exit status. */
static int restore_items(struct kwq *q, const struct saved_reader *saved, const char *path,
			 const char *name, const struct load *load)
{
	static struct restorer r;	/* too large for the stack */
	struct saved_item item;
	uint64_t i;
	int err = 0;

	memset(&r, 0, offsetof(struct restorer, entries));
	r.q = q;
	r.queue = name;
	key_progress_begin(&r.progress, !load->quiet, name, " loaded", saved->nr);
	for (i = 0; i < saved->nr && !err; i++) {
		if (!saved_get(saved, i, &item, r.room + r.bytes)) {
			key_progress_hide(&r.progress);
			message("%s: changed while it was loaded", path);
			return STATUS_FAILED;
		}
		collect(&r, &item, r.room + r.bytes);
		if (r.nr == BATCH || BATCH_BYTES - r.bytes < SAVED_BYTES_MAX)
			err = flush(&r);
	}
	if (!err)
		err = flush(&r);
	key_progress_hide(&r.progress);
	if (err)
		return complain(name, err);
	print_loaded(&r, path, load);
	if (!r.refused)
		return STATUS_OK;
	message("%s: %llu keys of %s were refused: %s", name, (unsigned long long)r.refused, path,
		meaning(r.why));
	return status_of(r.why);
}

/* ---- The file ------------------------------------------------------------- */

/* Puts a new queue into the state that it had, before or after its items came. */
static int set_state(struct kwq *q, const struct saved_queue *queue, uint32_t state)
{
	if (!(queue->state & state))
		return 0;
	if (state == KWQ_STATE_SHUT_DOWN)
		return kwq_shut_down(q);
	return queue->paused_for == UINT64_MAX ? kwq_pause(q) : kwq_pause_for(q, queue->paused_for);
}

static int load_into(struct kwq *q, bool is_new, const struct saved_reader *saved,
		     const char *path, const char *name, const struct load *load)
{
	int status, err;

	if (!is_new && !has_all(q, saved, name))
		return STATUS_FAILED;
	/* Paused from the first item on. */
	err = is_new ? set_state(q, &saved->queue, KWQ_STATE_PAUSED) : 0;
	if (err)
		return complain(name, err);
	status = restore_items(q, saved, path, name, load);
	if (status || !is_new)
		return status;
	err = set_state(q, &saved->queue, KWQ_STATE_SHUT_DOWN);
	return err ? complain(name, err) : STATUS_OK;
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
		err = create_queue(&q, &saved->queue, name);
		/* Somebody else was faster. */
		if (err == -EEXIST) {
			is_new = false;
			err = kwq_open(&q, name, rights, O_CLOEXEC);
		}
	}
	if (err)
		return complain_open(name, err);
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
	if (wrong)
		message("%s: %s; nothing was loaded", path, wrong);
	else
		status = load_queue(&saved, path, queue, load);
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

	while ((opt = getopt_long(argc, argv, "aqvh", load_options, NULL)) != -1) {
		switch (opt) {
		case 'a':
			all = true;
			break;
		case OPT_REMOVE:
			load.remove = true;
			break;
		case 'q':
			load.quiet = true;
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
	if (load.quiet && load.verbose)
		usage("--quiet and --verbose cannot be combined");
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
	"  -q, --quiet     no progress line\n"
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
	.main = load_main,
};
