// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * N8: kwq keep on a fake queue and a real file. The test replaces the kernel by wrapping ioctl()
 * and open() (the linker's --wrap), and has a wall clock of its own. It also takes the place of
 * fdatasync(), fsync(), ftruncate64() and pwrite64() of SQLite, which finds those of the program
 * first. So it knows what a power cut leaves on the disk, and can make writes fail.
 *
 * Each life of a keeper is a child process. A child can die at any request, and at any sync, as if
 * by SIGKILL. The queue is in memory that all children share.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/duration.h"
#include "fake-kernel.h"
#include "kwq/keep/keeper.h"
#include "kwq/keep/saved.h"
#include "tap.h"
#include "wrap-open.h"

/* ---- The queue ------------------------------------------------------------ */

enum { KEYS = 12, HISTORY = 20000, ORDER = 1000 };

/* All that is compared of an item. A state of 0 means that there is none. */
struct state {
	uint32_t state;
	int32_t priority;
	uint32_t requeues;
	uint32_t value;
};

struct item {
	struct state is;
	uint64_t change;
	uint64_t order;
	uint64_t due_in, age;	/* by the wall clock of the test */
	uint64_t token;
	bool in_group;
};

static struct world {
	/* The queue. */
	bool exists, shut_down, paused, unlinked, followed;
	uint64_t id, last_change, of_queue, kept, order, pause_for;
	uint32_t create_flags, dead_after, dead_after_lost, mode;
	uid_t owner;		/* less the caller */
	int refuse;		/* what a restore of key 3 results in; 0 for none */
	struct item items[KEYS];
	/* Every state of every key, with the number of the change. */
	struct past {
		uint64_t number;
		int key;
		struct state is;
	} past[HISTORY];
	int nr_past;
	/* The order of restores. */
	int restored[ORDER], nr_restored, restores;
	/* What fails. */
	int full;		/* errno of pwrite64() */
	int refused;		/* errno of CHANGES */
	int sync_errno;		/* of the next sync */
	bool lost;		/* a sync of FILE-wal has failed, and it was not begun anew */
	long calls, die_at;	/* requests and syncs; 0 for never */
	bool mutate;
	uint64_t clock;		/* of the wall */
	int syncs;
} *world;

static char dir[32] = "/tmp/kwq-unit-keep.XXXXXX";
static char path[64], disk[64];

static unsigned int random_state = 1;

static unsigned int random_below(unsigned int n)
{
	random_state = random_state * 1103515245 + 12345;
	return (random_state >> 16) % n;
}

/* A point at which the process may die. */
static void may_die(void)
{
	if (++world->calls == world->die_at)
		_exit(77);
}

static void note(int key)
{
	struct item *item = &world->items[key];

	item->change = ++world->last_change;
	if (world->nr_past < HISTORY)
		world->past[world->nr_past++] = (struct past){ item->change, key, item->is };
}

static struct item *set(int key, uint32_t state)
{
	struct item *item = &world->items[key];

	item->is.state = state;
	if (!state)
		*item = (struct item){ .is = { 0 } };
	item->order = state & KWQ_IS_READY ? ++world->order : ++world->order - INT64_MAX;
	note(key);
	return item;
}

static void mutate(void)
{
	static const uint32_t states[] = {
		0, KWQ_IS_READY, KWQ_IS_WAITING, KWQ_IS_DEAD, KWQ_IS_PROCESSING, KWQ_IS_REMEMBERED,
		KWQ_IS_PROCESSING | KWQ_IS_WAITING,
	};
	uint32_t state = states[random_below(ARRAY_SIZE(states))];
	int key = random_below(KEYS);
	struct item *item = set(key, state);

	if (!state)
		return;
	item->is.value = 1 + random_below(1000000);
	item->is.requeues = state == KWQ_IS_REMEMBERED ? 1 + random_below(5) : random_below(5);
	item->is.priority = (int)random_below(5) - 2;
	world->past[world->nr_past - 1].is = item->is;
}

static int fails(int err)
{
	errno = err;
	return -1;
}

static void *pointer(__u64 p)
{
	return (void *)(uintptr_t)p;
}

static int new_handle(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int create(const struct kwq_create_args *args)
{
	static uint64_t ids;

	if (world->exists)
		return fails(EEXIST);
	world->exists = true;
	world->create_flags = args->flags;
	world->mode = args->mode & ~umask(0);
	/* A boot has other ids than the one before. */
	world->id = ++ids + world->clock + (uint64_t)getpid() * 1000;
	world->dead_after = args->config ?
		((struct kwq_config *)pointer(args->config))->dead_after : 0;
	world->dead_after_lost = args->config ?
		((struct kwq_config *)pointer(args->config))->dead_after_lost : 0;
	return new_handle();
}

static int stat_queue(struct kwq_stat *st)
{
	int i;

	memset(st, 0, sizeof(*st));
	st->size = sizeof(*st);
	st->clockid = CLOCK_MONOTONIC;
	st->create_flags = world->create_flags;
	st->state = (world->shut_down ? KWQ_STATE_SHUT_DOWN : 0) |
		    (world->paused ? KWQ_STATE_PAUSED : 0) |
		    (world->unlinked ? KWQ_STATE_UNLINKED : 0);
	st->paused_for = world->paused ? world->pause_for : 0;
	st->id = world->id;
	st->mode = world->mode;
	st->max_items = 1000;
	st->uid = getuid() + world->owner;
	st->gid = getgid();
	memcpy(st->name, "q", sizeof("q"));
	for (i = 0; i < KEYS; i++)
		st->items += !!world->items[i].is.state;
	return 0;
}

static int config(struct kwq_config *to)
{
	struct kwq_limiter *limiters = pointer(to->limiters);

	if (limiters)
		limiters[0] = (struct kwq_limiter){ .kind = KWQ_LIMITER_EXPONENTIAL,
						    .u.exponential = { 5, 7 } };
	to->dead_after = world->dead_after;
	to->dead_after_lost = world->dead_after_lost;
	to->nr = 1;
	return 0;
}

/* Fills in one entry, and its key, group and value. Returns their length. */
static size_t list_one(int key, struct kwq_listed *to, char *bytes)
{
	const struct item *item = &world->items[key];
	uint32_t state = item->is.state;
	int len = sprintf(bytes, "k%d", key);

	*to = (struct kwq_listed){ .key_len = len, .state = state, .change = item->change };
	if (!state)
		return len;
	to->order = item->order;
	to->order_of = state & KWQ_IS_PROCESSING ? KWQ_IS_PROCESSING :
		       state & KWQ_IS_READY ? KWQ_IS_READY :
		       state & KWQ_IS_WAITING ? KWQ_IS_WAITING : state;
	to->priority = item->is.priority;
	to->requeues = item->is.requeues;
	to->token = item->token;
	if (state & KWQ_IS_READY)
		to->dirty_for = item->age;
	if (state & KWQ_IS_PROCESSING)
		to->processing_for = item->age;
	if (state & KWQ_IS_DEAD)
		to->dead_for = item->age;
	if (state & KWQ_IS_WAITING) {
		to->waiting_for = item->age;
		to->due_in = item->due_in;
		to->wait_priority = KWQ_PRIORITY_NONE;
	}
	if (item->in_group) {
		memcpy(bytes + len, "blue", 4);
		to->group_len = 4;
		len += 4;
	}
	if (item->is.value) {
		memcpy(bytes + len, &item->is.value, sizeof(item->is.value));
		to->value_len = sizeof(item->is.value);
		len += to->value_len;
	}
	return len;
}

static int list_items(struct kwq_list_items_args *args)
{
	struct kwq_listed *entries = pointer(args->batch.entries);
	char *bytes = pointer(args->batch.keys);
	unsigned int nr = 0;

	/* Pages of three keys, so that a child may die between them. */
	while (args->after < KEYS && nr < 3) {
		if (world->items[args->after].is.state) {
			bytes += list_one(args->after, &entries[nr], bytes);
			/* The value is behind the key and the group. */
			if (!(args->flags & KWQ_LIST_VALUES))
				bytes -= entries[nr].value_len;
			nr++;
		}
		args->after++;
		if (world->mutate && !random_below(4))
			mutate();
	}
	if (args->after == KEYS)
		args->after = 0;
	return nr;
}

/* The key with the first change after @after, or -1. */
static int next_changed(uint64_t after)
{
	int key, found = -1;

	for (key = 0; key < KEYS; key++)
		if (world->items[key].change > after &&
		    (found < 0 || world->items[key].change < world->items[found].change))
			found = key;
	return found;
}

static int changes(struct kwq_changes_args *args)
{
	struct kwq_listed *entries = pointer(args->batch.entries);
	char *bytes = pointer(args->batch.keys);
	uint64_t after = args->after;
	unsigned int nr = 0;
	int key;

	if (!world->followed)
		return fails(EBADF);
	if (world->refused)
		return fails(world->refused);
	if (args->kept > args->after)
		return fails(EINVAL);
	if (args->kept > world->kept)
		world->kept = args->kept;
	if (world->mutate && random_below(2))
		mutate();
	while (nr < 4 && (key = next_changed(after)) >= 0) {
		after = world->items[key].change;
		bytes += list_one(key, &entries[nr++], bytes);
	}
	if (!nr && args->of_queue == world->of_queue)
		return fails(EAGAIN);
	args->after = after;
	args->of_queue = world->of_queue;
	return nr;
}

static int restore_one(const struct kwq_restore_entry *entry, const char *bytes,
		       const struct kwq_add_extra *extra)
{
	int key = atoi(bytes + 1);
	struct item *item = &world->items[key];

	if (world->refuse && key == 3)
		return -world->refuse;
	if (world->shut_down)
		return -ESHUTDOWN;
	if (item->is.state && item->is.state != KWQ_IS_REMEMBERED)
		return KWQ_COALESCED;
	if (world->nr_restored < ORDER)
		world->restored[world->nr_restored++] = key;
	set(key, entry->state & KWQ_IS_PROCESSING ?
		 KWQ_IS_READY | KWQ_IS_RETURNED | (entry->state & KWQ_IS_WAITING) : entry->state);
	item->is.priority = entry->priority;
	item->is.requeues = entry->requeues;
	item->due_in = entry->due_in;
	item->age = entry->state & KWQ_IS_DEAD ? entry->dead_for :
		    entry->state & KWQ_IS_WAITING ? entry->waiting_for : entry->dirty_for;
	if (extra && extra->value_len)
		memcpy(&item->is.value, pointer(extra->value), sizeof(item->is.value));
	item->in_group = extra && extra->group_len;
	item->token = extra ? extra->token : 0;
	world->past[world->nr_past - 1].is = item->is;
	return KWQ_RESTORED;
}

static int restore(const struct kwq_batch *batch)
{
	const struct kwq_restore_entry *entries = pointer(batch->entries);
	const struct kwq_add_extra *extras = pointer(batch->extras);
	__s32 *results = pointer(batch->results);
	const char *keys = pointer(batch->keys);
	unsigned int i;

	world->restores++;
	/* Two keys a call, so that a child may die between them. */
	for (i = 0; i < batch->nr && i < 2; i++) {
		results[i] = restore_one(&entries[i], keys, extras ? &extras[i] : NULL);
		keys += entries[i].key_len;
	}
	return i;
}

static int remove_keys(const struct kwq_batch *batch)
{
	const struct kwq_remove_entry *entries = pointer(batch->entries);
	__s32 *results = pointer(batch->results);
	const char *keys = pointer(batch->keys);
	unsigned int i;

	for (i = 0; i < batch->nr; i++) {
		results[i] = KWQ_WAS_READY;
		set(atoi(keys + 1), 0);
		keys += entries[i].key_len;
	}
	return batch->nr;
}

static int ask(unsigned long request, void *arg)
{
	switch (request) {
	case KWQ_IOC_INFO:
		*(struct kwq_info *)arg = (struct kwq_info){
			.size = sizeof(struct kwq_info), .features = UINT64_MAX,
			.max_items = UINT64_MAX, .max_bytes = UINT64_MAX,
		};
		return 0;
	case KWQ_IOC_CREATE:
		return create(arg);
	case KWQ_IOC_OPEN:
		/* A second handle, of which the first is closed after that. */
		if (!((struct kwq_open_args *)arg)->name[0])
			world->followed = false;
		return world->exists ? new_handle() : fails(ENOENT);
	case KWQ_IOC_STAT:
		return stat_queue(arg);
	case KWQ_IOC_CONFIG:
		return config(arg);
	case KWQ_IOC_FOLLOW:
		if (!(world->create_flags & KWQ_CREATE_CHANGES))
			return fails(EOPNOTSUPP);
		if (world->followed)
			return fails(EBUSY);
		world->followed = true;
		((struct kwq_follow_args *)arg)->number = world->last_change;
		return 0;
	case KWQ_IOC_LIST_ITEMS:
		return list_items(arg);
	case KWQ_IOC_CHANGES:
		return changes(arg);
	case KWQ_IOC_RESTORE:
		return restore(&((struct kwq_batch_args *)arg)->batch);
	case KWQ_IOC_REMOVE:
		return remove_keys(&((struct kwq_batch_args *)arg)->batch);
	case KWQ_IOC_PAUSE:
		world->paused = true;
		world->pause_for = ((struct kwq_pause_args *)arg)->flags ?
			((struct kwq_pause_args *)arg)->time : UINT64_MAX;
		world->of_queue++;
		return 0;
	case KWQ_IOC_RESUME:
		world->paused = false;
		world->of_queue++;
		return 0;
	case KWQ_IOC_SHUT_DOWN:
		world->shut_down = true;
		world->of_queue++;
		return 0;
	}
	return fails(ENOTTY);
}

static int answer(int fd, unsigned long request, void *arg)
{
	int ret;

	(void)fd;
	may_die();
	ret = ask(request, arg);
	may_die();
	return ret;
}

static int open_device(int flags)
{
	return openat(AT_FDCWD, "/dev/null", flags & ~O_ACCMODE);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	if (clock != CLOCK_REALTIME || !world)
		return __real_clock_gettime(clock, now);
	*now = (struct timespec){ world->clock / NS_PER_S, world->clock % NS_PER_S };
	return 0;
}

/* ---- The disk ------------------------------------------------------------- */

static void copy(const char *from, const char *to)
{
	static char buffer[1 << 16];
	int in = openat(AT_FDCWD, from, O_RDONLY);
	int out = openat(AT_FDCWD, to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	ssize_t n;

	if (in < 0 || out < 0)
		abort();
	while ((n = read(in, buffer, sizeof(buffer))) > 0)
		if (write(out, buffer, n) != n)
			abort();
	close(in);
	close(out);
}

static void remove_all(const char *from)
{
	DIR *d = opendir(from);
	struct dirent *entry;
	char one[600];

	while ((entry = readdir(d))) {
		snprintf(one, sizeof(one), "%s/%s", from, entry->d_name);
		if (entry->d_type == DT_REG)
			unlink(one);
	}
	closedir(d);
}

/* Replaces the files of one folder by those of another. */
static void copy_all(const char *from, const char *to)
{
	char one[600], other[600];
	struct dirent *entry;
	DIR *d;

	remove_all(to);
	d = opendir(from);
	while ((entry = readdir(d))) {
		snprintf(one, sizeof(one), "%s/%s", from, entry->d_name);
		snprintf(other, sizeof(other), "%s/%s", to, entry->d_name);
		if (entry->d_type == DT_REG)
			copy(one, other);
	}
	closedir(d);
}

/* Once the folder is synced, the disk has the names that it has now. New files may be empty. */
static void sync_names(void)
{
	char one[600], other[600];
	struct dirent *entry;
	struct stat st;
	DIR *d;

	d = opendir(disk);
	while ((entry = readdir(d))) {
		snprintf(one, sizeof(one), "%s/%s", dir, entry->d_name);
		snprintf(other, sizeof(other), "%s/%s", disk, entry->d_name);
		if (entry->d_type == DT_REG && stat(one, &st))
			unlink(other);
	}
	closedir(d);
	d = opendir(dir);
	while ((entry = readdir(d))) {
		snprintf(other, sizeof(other), "%s/%s", disk, entry->d_name);
		if (entry->d_type == DT_REG)
			close(openat(AT_FDCWD, other, O_WRONLY | O_CREAT, 0600));
	}
	closedir(d);
}

/* A file that is synced is on the disk as it is now. */
static int sync_fd(int fd)
{
	char link[64], name[600], to[700];
	ssize_t len;

	may_die();
	if (world->sync_errno) {
		errno = world->sync_errno;
		world->sync_errno = 0;
		world->lost = true;
		return -1;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, name, sizeof(name) - 1);
	if (len < 0)
		return -1;
	name[len] = '\0';
	world->syncs++;
	if (!strcmp(name, dir)) {
		sync_names();
	} else if (strstr(name, "-wal") && world->lost) {
		/* What the failed sync should have written is lost, and counts as written. */
	} else if (strstr(name, "/q.kwqdb")) {
		snprintf(to, sizeof(to), "%s/%s", disk, strrchr(name, '/') + 1);
		copy(name, to);
	}
	may_die();
	return 0;
}

/* SQLite's calls come here, because the program is linked with -rdynamic. */
__attribute__((visibility("default"))) int fdatasync(int fd)
{
	return sync_fd(fd);
}

__attribute__((visibility("default"))) int fsync(int fd)
{
	return sync_fd(fd);
}

__attribute__((visibility("default")))
ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t offset)
{
	if (world && world->full) {
		errno = world->full;
		return -1;
	}
	return syscall(SYS_pwrite64, fd, bytes, len, offset);
}

/* Only FILE-wal is ever cut off. */
__attribute__((visibility("default"))) int ftruncate64(int fd, off64_t length)
{
	world->lost = false;
	return syscall(SYS_ftruncate, fd, length);
}

/* The machine loses its power. */
static void power_cut(void)
{
	copy_all(disk, dir);
}

/* The queue is gone, as after a boot. */
static void boot(void)
{
	world->exists = false;
	world->shut_down = false;
	world->paused = false;
	world->unlinked = false;
	world->followed = false;
	world->id = 0;
	world->of_queue = 0;
	world->create_flags = 0;
	world->dead_after = 0;
	world->dead_after_lost = 0;
	memset(world->items, 0, sizeof(world->items));
	world->order = INT64_MAX;
	world->nr_restored = 0;
	world->restores = 0;
}

/* No files, neither in memory nor on the disk. */
static void begin(void)
{
	remove_all(dir);
	remove_all(disk);
	world->lost = false;
}

/* ---- Lives ---------------------------------------------------------------- */

struct life {
	int steps;		/* after it is ready */
	bool finish, sync;
	int full;		/* the errno of writes, once it has started */
	int refused;		/* the errno of CHANGES, once it has started */
	uint64_t now;		/* at its first step */
	uint64_t each;		/* how much later each step is */
	const char *queue;
	uid_t owner;		/* of the queue, once it has started */
};

/* The messages of a life on standard error. */
static char said[2000];

static int live_on(const struct life *life)
{
	struct keeper_options options = {
		.queue = life->queue ? life->queue : "q", .path = path, .sync = life->sync,
		.interval = NS_PER_S,
		.create = { .size = sizeof(options.create), .mode = 0770,
			    .clockid = CLOCK_MONOTONIC, .changes = true, .sync = life->sync,
			    .values = true, .groups = true },
	};
	uint64_t now = life->now ? life->now : 100 * NS_PER_S;
	int status, steps = 0, tries = 0;
	struct keeper *k;

	status = keeper_start(&k, &options);
	world->full = life->full;
	world->refused = life->refused;
	world->owner += life->owner;
	while (!status && (steps < life->steps || !keeper_is_ready(k))) {
		steps += keeper_is_ready(k);
		switch (keeper_step(k, now)) {
		case KEEPER_ENDED:
			return 88;
		case KEEPER_FAILED:
			return STATUS_FAILED;
		case KEEPER_LATER:
			if (++tries == 3)
				return 66;
			break;
		default:
			break;
		}
		now += life->each;
	}
	if (!status && life->finish)
		status = keeper_finish(k, now);
	if (status || life->finish)
		keeper_close(k);
	return status;
}

/* Returns the status: 77 if it died as it was told, 88 if it ended, 66 if it could not write. */
static int live(const struct life *life)
{
	int status, ends[2];
	ssize_t n;
	size_t len = 0;
	pid_t pid;

	if (pipe(ends))
		abort();
	fflush(stdout);
	world->calls = 0;
	pid = fork();
	if (!pid) {
		dup2(ends[1], STDERR_FILENO);
		command = &command_keep;
		/* No clean end: what is not closed is left as SIGKILL leaves it. */
		_exit(live_on(life));
	}
	close(ends[1]);
	while ((n = read(ends[0], said + len, sizeof(said) - 1 - len)) > 0)
		len += n;
	said[len] = '\0';
	close(ends[0]);
	waitpid(pid, &status, 0);
	world->followed = false;
	world->die_at = 0;
	if (!WIFEXITED(status)) {
		printf("#  a life ended by signal %d\n", WTERMSIG(status));
		return -1;
	}
	return WEXITSTATUS(status);
}

/* ---- Tests ---------------------------------------------------------------- */

static const struct life once = { .finish = true };
static const struct life synced = { .steps = 1, .sync = true };

/* As the item is after a restore. */
static struct state as_restored(struct state is)
{
	if (is.state & KWQ_IS_PROCESSING)
		is.state = KWQ_IS_READY | KWQ_IS_RETURNED | (is.state & KWQ_IS_WAITING);
	return is;
}

static bool same(struct state a, struct state b)
{
	return !memcmp(&a, &b, sizeof(a));
}

static void fill(void)
{
	static const uint32_t states[] = {
		KWQ_IS_READY, KWQ_IS_READY, KWQ_IS_WAITING, KWQ_IS_DEAD, KWQ_IS_PROCESSING,
		KWQ_IS_PROCESSING, KWQ_IS_REMEMBERED, KWQ_IS_READY | KWQ_IS_RETURNED,
		KWQ_IS_PROCESSING | KWQ_IS_WAITING, KWQ_IS_DEAD,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		struct item *item = set(ARRAY_SIZE(states) - 1 - i, states[i]);

		item->is.value = i + 1;
		item->is.requeues = i + 1;
		item->is.priority = i % 3;
		item->age = 10 * NS_PER_S;
		item->due_in = 60 * NS_PER_S;
		item->in_group = i % 2;
		item->token = i % 3 ? 1ULL << 63 | i : 0;
	}
}

/* A queue with items, and its file. */
static void keep_some(void)
{
	begin();
	boot();
	is_number(live(&once), 0, "a new queue, and a new file");
	fill();
	is_number(live(&once), 0, "what it has is written");
}

static void test_states(void)
{
	struct item before[KEYS];
	char order[100] = "";
	bool all = true, groups = true, tokens = true;
	int i;

	keep_some();
	memcpy(before, world->items, sizeof(before));
	boot();
	is_number(live(&once), 0, "after a boot");
	for (i = 0; i < KEYS; i++) {
		all &= same(world->items[i].is, as_restored(before[i].is));
		groups &= world->items[i].in_group == before[i].in_group;
		tokens &= world->items[i].token == before[i].token;
	}
	ok(all, "all states, priorities, requeues and values are there");
	ok(groups, "and the groups");
	ok(tokens, "and the tokens");
	for (i = 0; i < world->nr_restored; i++)
		sprintf(order + strlen(order), "%d ", world->restored[i]);
	/* Processing, returned, ready, waiting, dead, remembered: each by its order. */
	is_string(order, "5 4 1 2 9 8 7 6 0 3 ", "in the order of hand-outs, times and deaths");
	is_number(world->create_flags, KWQ_CREATE_CHANGES | KWQ_CREATE_VALUES | KWQ_CREATE_GROUPS,
		  "in a queue as it was");
	ok(!world->paused, "which hands out");
}

/* L12: a key that ends the machine is lost as often as its worker. */
static void test_poison(void)
{
	keep_some();
	world->dead_after_lost = 1;
	world->of_queue++;
	is_number(live(&once), 0, "keys may be lost once");
	boot();
	is_number(live(&once), 0, "after a boot");
	ok(world->items[4].is.state == KWQ_IS_DEAD && world->items[5].is.state == KWQ_IS_DEAD,
	   "L12: keys that were being processed are dead");
	ok(world->items[1].is.state & KWQ_IS_READY, "L12: but not one that waits as well");
	ok(world->items[9].is.state == KWQ_IS_READY, "L12: nor one that was ready");
}

/* Waits and ages go on while the machine is off. */
static void test_times(void)
{
	keep_some();
	world->clock += 25 * NS_PER_S;
	boot();
	is_number(live(&once), 0, "a boot after 25 seconds");
	is_number(world->items[7].due_in, 35 * NS_PER_S, "a wait has 25 seconds less left");
	is_number(world->items[7].age, 35 * NS_PER_S, "and is 25 seconds older");
	is_number(world->items[6].age, 35 * NS_PER_S, "so is a dead item");
	world->clock += 100 * NS_PER_S;
	boot();
	is_number(live(&once), 0, "a boot after its time");
	is_number(world->items[7].due_in, 0, "it is due");
	keep_some();
	world->clock -= 1000 * NS_PER_S;
	boot();
	is_number(live(&once), 0, "a boot with a clock that went back");
	is_number(world->items[7].due_in, 70 * NS_PER_S, "it waits no longer than the whole wait");
}

static void test_pause(void)
{
	keep_some();
	world->paused = true;
	world->pause_for = UINT64_MAX;
	world->of_queue++;
	is_number(live(&once), 0, "a pause is written");
	boot();
	is_number(live(&once), 0, "a boot");
	ok(world->paused && world->pause_for == UINT64_MAX, "it is paused again");
	world->pause_for = 30 * NS_PER_S;
	world->of_queue++;
	is_number(live(&once), 0, "a pause with an end");
	world->clock += 10 * NS_PER_S;
	boot();
	is_number(live(&once), 0, "a boot after 10 seconds");
	is_number(world->pause_for, 20 * NS_PER_S, "has 20 of 30 seconds left");
	world->clock += 40 * NS_PER_S;
	boot();
	is_number(live(&once), 0, "a boot after its end");
	ok(!world->paused, "it is over");
	world->dead_after = 77;
	world->of_queue++;
	is_number(live(&once), 0, "a new configuration");
	boot();
	is_number(live(&once), 0, "after a boot");
	is_number(world->dead_after, 77, "is there");
}

static void test_end(void)
{
	int i;

	keep_some();
	world->shut_down = true;
	world->of_queue++;
	is_number(live(&once), 0, "shut down, with keys");
	boot();
	is_number(live(&once), 0, "and a boot");
	ok(world->shut_down && world->items[9].is.state, "shut down again, and the keys are there");
	for (i = 0; i < KEYS; i++)
		if (world->items[i].is.state)
			set(i, 0);
	is_number(live(&(struct life){ .steps = 9 }), 88, "once it is empty, the keeper ends");
	is_number(live(&(struct life){ .steps = 9 }), 88, "so does the next one");
	boot();
	is_number(live(&once), STATUS_SHUT_DOWN, "after a boot there is nothing to keep");
	ok(strstr(said, "was shut down, and all was done: remove it to begin anew"), "and why");
	ok(!world->exists, "and no queue");
	keep_some();
	world->unlinked = true;
	world->of_queue++;
	is_number(live(&(struct life){ .steps = 9 }), 88, "a queue that is removed ends it, too");
	ok(strstr(said, "still has its 10 keys"), "and the keys stay in the file");
	for (i = 0; i < KEYS && !(world->items[i].is.state & ~KWQ_IS_REMEMBERED); i++)
		;
	is_number(i, KEYS, "but not in the queue, where a worker would run them");
}

/* Keys that the queue refuses must stay in the file. */
static void test_refused(void)
{
	struct state lost;

	keep_some();
	lost = world->items[3].is;
	boot();
	world->refuse = ENOSPC;
	is_number(live(&once), STATUS_FAILED, "a queue refuses a key");
	ok(strstr(said, "refused 1 keys"), "and the keeper says so");
	world->refuse = 0;
	is_number(live(&once), 0, "once there is room");
	ok(same(world->items[3].is, as_restored(lost)), "the key comes back");
	ok(!world->paused, "and the queue is not paused");
}

/* U9: whoever made the queue first would get the keys of the file. */
static void test_owner(void)
{
	umask(022);
	keep_some();
	is_number(world->mode, 0770, "a new queue has the mode that was asked for");
	boot();
	world->exists = true;
	world->create_flags = KWQ_CREATE_CHANGES | KWQ_CREATE_VALUES | KWQ_CREATE_GROUPS;
	world->id = 4711;
	world->owner = 1;
	is_number(live(&once), STATUS_FAILED, "a queue of another user");
	ok(strstr(said, "exists already, and belongs to "), "and why");
	is_number(world->nr_restored, 0, "which gets no key");
	world->owner = 0;
	is_number(live(&(struct life){ .finish = true, .owner = 1 }), 0, "a queue of the caller");
	is_number(live(&once), 0, "the file says that another user owns it");
	world->owner = 2;
	is_number(live(&once), STATUS_FAILED, "a third one");
	world->owner = 0;
}

/* A keeper that need not write each change tells the queue what it has written, and no more. */
static void test_interval(void)
{
	uint64_t last;

	keep_some();
	last = world->last_change;
	set(0, KWQ_IS_READY);
	is_number(live(&(struct life){ .steps = 6, .now = 1, .each = 0 }), 0, "within an interval");
	ok(world->kept > last, "what it listed is on the disk, and told");
	/* A life whose first steps list, and which then gets changes. */
	world->mutate = true;
	last = world->kept;
	is_number(live(&(struct life){ .steps = 20, .now = 1 }), 0, "changes within an interval");
	world->mutate = false;
	ok(world->kept < world->last_change, "are not told to be kept");
	is_number(live(&(struct life){ .steps = 20, .each = NS_PER_S }), 0, "an interval later");
	is_number(world->kept, world->last_change, "they are");
}

/* With --sync each commit is told as soon as it is made. */
static void test_sync(void)
{
	uint64_t kept;

	keep_some();
	world->create_flags |= KWQ_CREATE_SYNC;
	kept = world->kept;
	world->mutate = true;
	is_number(live(&(struct life){ .steps = 40, .now = 1, .sync = true }), 0,
		  "--sync: changes at one time");
	world->mutate = false;
	ok(world->kept > kept + 5, "are told, one commit after the other");
}

/*
 * A restore that dies at any point. As long as a second one would restore the keys again, the queue
 * hands none of them out.
 */
static void test_deaths(void)
{
	int early = 0, deaths = 0, paused = 0, restores;
	bool was_paused;
	long at;

	keep_some();
	for (at = 1; at < 200; at++) {
		boot();
		world->die_at = at;
		if (live(&once) != 77)
			break;
		deaths++;
		restores = world->restores;
		was_paused = world->paused;
		paused += restores && was_paused;
		live(&once);
		early += restores && !was_paused && world->restores > restores;
		if (world->paused || world->nr_restored < 10)
			break;
	}
	ok(deaths > 30, "deaths at each point of a restore");
	ok(paused > 5, "with a paused queue");
	is_number(early, 0, "which hands out nothing that would come back");
	ok(!world->paused && world->nr_restored >= 10, "and hands out all of it in the end");
}

static void test_errors(void)
{
	static const char text[] = "not a database, but long enough to be looked at as one, as "
				   "SQLite wants at least 100 bytes of a header to judge it.";
	int fd;

	begin();
	boot();
	fd = openat(AT_FDCWD, path, O_WRONLY | O_CREAT, 0600);
	if (write(fd, text, sizeof(text)) < 0)
		abort();
	close(fd);
	is_number(live(&once), STATUS_FAILED, "a foreign file");
	ok(strstr(said, "not a file of kwq keep: name another FILE"), "and why");
	ok(!world->exists, "no queue was created");
	begin();
	if (system("sqlite3 /dev/null '' 2>/dev/null") == 0) {
		char shell[200];

		snprintf(shell, sizeof(shell), "sqlite3 %s 'CREATE TABLE t (x)'", path);
		is_number(system(shell), 0, "a database of somebody else");
		is_number(live(&once), STATUS_FAILED, "is not taken");
		ok(strstr(said, "an SQLite file, but not one of kwq keep"), "and why");
		keep_some();
		snprintf(shell, sizeof(shell), "sqlite3 %s 'PRAGMA user_version = 2'", path);
		is_number(system(shell), 0, "a newer version");
		is_number(live(&once), STATUS_FAILED, "is not taken");
		ok(strstr(said, "written by a newer kwq"), "and why");
	}
	keep_some();
	is_number(live(&(struct life){ .finish = true, .queue = "other" }), STATUS_FAILED,
		  "another queue's file");
	ok(strstr(said, "it has the queue q, not other"), "and why");
	/* A hole in the middle. */
	fd = openat(AT_FDCWD, path, O_WRONLY);
	if (pwrite(fd, text, sizeof(text), 4096) < 0)
		abort();
	close(fd);
	boot();
	is_number(live(&once), STATUS_FAILED, "a damaged file");
	ok(strstr(said, "damaged"), "and why");
	ok(!world->exists, "no queue was created from a part of it");
	begin();
	boot();
	world->exists = true;
	is_number(live(&once), STATUS_FAILED, "a queue that cannot be followed");
	ok(strstr(said, "this queue cannot be followed: remove it"), "and what to do");
	is_number(live(&synced), STATUS_FAILED, "the same with --sync");
	ok(strstr(said, "this queue cannot be followed: remove it"), "and what to do");
	ok(access(path, F_OK), "no empty file is left");
	world->create_flags = KWQ_CREATE_CHANGES | KWQ_CREATE_OUTBOX;
	is_number(live(&once), STATUS_FAILED, "a queue with an outbox");
	ok(strstr(said, "with kwq share --sync, adds return when they are stored"), "and what to do");
	world->create_flags = KWQ_CREATE_CHANGES;
	is_number(live(&synced), STATUS_FAILED,
		  "N8: --sync, and a queue whose adds do not wait");
	ok(strstr(said, "do kwq debug sync q, stop it, and do kwq rm --force q"),
	   "and what to do");
	world->followed = true;
	is_number(live(&once), STATUS_FAILED, "a queue that is followed");
	ok(strstr(said, "another program follows this queue"), "and why");
	keep_some();
	fd = openat(AT_FDCWD, path, O_RDWR);
	if (syscall(SYS_flock, fd, 2 | 4))
		abort();
	is_number(live(&once), STATUS_FAILED, "a file that another one has");
	ok(strstr(said, "another kwq keep has it"), "and why");
	close(fd);
}

/* A disk that is full or fails. */
static void test_disk(void)
{
	char wanted[300];

	keep_some();
	world->create_flags |= KWQ_CREATE_SYNC;
	set(0, KWQ_IS_READY)->is.value = 4711;
	world->past[world->nr_past - 1].is.value = 4711;
	is_number(live(&(struct life){ .steps = 9, .sync = true, .full = ENOSPC }), 66, "a full disk: it tries again");
	snprintf(wanted, sizeof(wanted), "kwq: keep: %s: there is no room on the disk; trying again each "
		 "second, with nothing lost as long as q exists\n", path);
	is_string(said, wanted, "and says so, once");

	ok(world->kept < world->last_change, "nothing is told to be kept");
	world->full = 0;
	is_number(live(&(struct life){ .steps = 9, .sync = true }), 0, "with room it goes on");
	is_number(world->kept, world->last_change, "and all is kept");
	power_cut();
	boot();
	is_number(live(&once), 0, "after a power cut");
	is_number(world->items[0].is.value, 4711, "the change is there");
}

/* O9: the kernel has no memory for a call at the moment. */
static void test_short_memory(void)
{
	static const int errors[] = { ENOMEM, EDQUOT };
	char wanted[300];

	for (int i = 0; i < 2; i++) {
		keep_some();
		set(0, KWQ_IS_READY);
		is_number(live(&(struct life){ .steps = 9, .refused = errors[i] }), 66,
			  "memory is short: it tries again");
		snprintf(wanted, sizeof(wanted), "kwq: keep: %s: %s; trying again each second, with "
			 "nothing lost as long as q exists\n", path, meaning(-errors[i]));
		is_string(said, wanted, "and says so, once");
		world->refused = 0;
		is_number(live(&(struct life){ .steps = 9 }), 0, "with memory it goes on");
	}
}

/* After a sync that failed, nothing counts as written that may not be. */
static void test_sync_error(void)
{
	uint64_t kept;

	keep_some();
	kept = world->kept;
	set(0, KWQ_IS_READY)->is.value = 4712;
	world->past[world->nr_past - 1].is.value = 4712;
	world->sync_errno = EIO;
	is_number(live(&(struct life){ .steps = 9, .each = NS_PER_S }), 0, "a sync fails, once");
	is_number(world->sync_errno, 0, "it did");
	ok(world->kept > kept, "the next one is told");
	power_cut();
	boot();
	is_number(live(&once), 0, "after a power cut");
	is_number(world->items[0].is.value, 4712, "the change is there");
}

/* The state of a key as of a change. */
static struct state as_of(int key, uint64_t number)
{
	struct state is = { 0 };
	int i;

	for (i = 0; i < world->nr_past && world->past[i].number <= number; i++)
		if (world->past[i].key == key)
			is = world->past[i].is;
	return is;
}

/* Whether the key has a state that it had at @number or later. */
static bool is_recent(int key, uint64_t number)
{
	struct state is = world->items[key].is;
	int i;

	if (same(is, as_restored(as_of(key, number))))
		return true;
	for (i = 0; i < world->nr_past; i++)
		if (world->past[i].key == key && world->past[i].number > number &&
		    same(is, as_restored(world->past[i].is)))
			return true;
	return false;
}

/*
 * One run of deaths at random, and at its end a power cut or the end of the queue. Returns the
 * number of keys that are not as they may be.
 */
static int run_at_random(unsigned int seed, bool sync)
{
	struct life life = { .sync = sync };
	int lives, key, wrong = 0, status;
	uint64_t must;
	bool cut;

	random_state = seed;
	begin();
	boot();
	world->nr_past = 0;
	world->last_change = 0;
	world->kept = 0;
	world->mutate = true;
	for (lives = 0; lives < 4; lives++) {
		/* Each child begins with the parent's state of the generator. */
		random_below(2);
		world->die_at = 1 + random_below(120);
		life.steps = 20;
		life.each = random_below(2) ? NS_PER_S / 3 : 0;
		live(&life);
	}
	cut = random_below(2);
	/* Without a power cut all is there that was committed, which is more. */
	must = world->kept;
	if (cut)
		power_cut();
	/* Not the changes of the next lives. */
	world->mutate = false;
	boot();
	/* The restore dies, too, at some point. */
	world->die_at = 1 + random_below(40);
	life.steps = 3;
	life.finish = true;
	{
		int nr_past = world->nr_past;

		status = live(&life);
		if (status == 77)
			status = live(&life);
		world->nr_past = nr_past;
	}
	if (status) {
		printf("#  seed %u: status %d: %s", seed, status, said);
		return 1;
	}
	for (key = 0; key < KEYS; key++) {
		if (is_recent(key, must))
			continue;
		printf("#  seed %u: key %d has state %x, value %u; had %x, %u at %llu\n", seed, key,
		       world->items[key].is.state, world->items[key].is.value,
		       as_of(key, must).state, as_of(key, must).value, (unsigned long long)must);
		wrong++;
	}
	wrong += world->paused;
	return wrong;
}

static void test_random(void)
{
	unsigned int seed, wrong = 0, kept = 0;

	for (seed = 1; seed <= 60; seed++) {
		wrong += run_at_random(seed, seed % 2);
		kept += world->kept > 0;
	}
	is_number(wrong, 0, "deaths at random: no kept change is lost");
	ok(kept > 30, "and changes were kept before them");
}

int main(void)
{
	const char *why = keeper_load();

	if (why) {
		printf("ok 1 - kwq keep # SKIP %s\n1..1\n", why);
		return 0;
	}
	if (!mkdtemp(dir))
		abort();
	snprintf(path, sizeof(path), "%s/q.kwqdb", dir);
	snprintf(disk, sizeof(disk), "%s/disk", dir);
	mkdir(disk, 0700);
	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (world == MAP_FAILED)
		abort();
	world->clock = 1000000 * NS_PER_S;
	test_states();
	test_poison();
	test_times();
	test_pause();
	test_end();
	test_refused();
	test_owner();
	test_interval();
	test_sync();
	test_deaths();
	test_errors();
	test_disk();
	test_short_memory();
	test_sync_error();
	test_random();
	begin();
	rmdir(disk);
	rmdir(dir);
	return done_testing();
}
