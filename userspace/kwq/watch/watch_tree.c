// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Why not fanotify: a mark of a whole file system needs CAP_SYS_ADMIN, wakes this process for
 * every file of the file system, and each event costs an open_by_handle_at() for its path.
 * inotify needs a watch for each folder (about 1 KiB of the kernel's memory), and no rights.
 * file_marks.c does without both, and needs a module and CAP_SYS_ADMIN.
 *
 * A watch belongs to an inode, but a change is reported by its path. inotify reports the
 * events of all folders in one order, and the last event of each name says what the name is
 * now. So after the last event the tree of folders here is that of the file system, also if
 * it was ahead in between.
 */
#include "watch_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kwq_files.h>
#include <linux/openat2.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cmd.h"
#include "file_set.h"

/* Room for the longest path below a folder that can be opened. */
enum { PATH_SIZE = PATH_MAX + NAME_MAX + 2 };

struct folder {
	struct folder *parent;		/* NULL for one of the options */
	struct folder *first_child;
	struct folder *next, *previous;	/* siblings */
	struct folder *next_to_list;
	size_t number;			/* of the folder of the options */
	int wd;				/* -1: not watched yet */
	bool is_due;			/* in the list of folders to list */
	char name[];
};

/* It has no descriptor: an open folder could be deleted, and inotify would not tell. */
struct root {
	bool is_lost;
	struct folder *folder;		/* NULL: lost, or below another one */
	struct file_set files;		/* with WATCH_DELETED */
};

struct watch_tree {
	struct watch_tree_options options;
	uint32_t mask;
	int inotify;
	bool reports;
	struct root *roots;
	size_t nr_roots;
	void *by_wd, *by_name;		/* of tsearch(3): struct folder */
	struct folder *to_list, **to_list_end;
	size_t nr;
	unsigned long long overflows;
	char path[PATH_SIZE];		/* of the file or folder at hand */
};

/* ---- The tree of folders -------------------------------------------------- */

static int compare_wd(const void *a, const void *b)
{
	const struct folder *one = a, *other = b;

	return (one->wd > other->wd) - (one->wd < other->wd);
}

/* For tsearch(3), which compares a parent and a name. */
struct name_key {
	const struct folder *parent;
	const char *name;
	struct folder *folder;
};

static int compare_name(const void *a, const void *b)
{
	const struct name_key *one = a, *other = b;

	if (one->parent != other->parent)
		return one->parent < other->parent ? -1 : 1;
	return strcmp(one->name, other->name);
}

static struct folder *find_wd(const struct watch_tree *t, int wd)
{
	struct folder wanted = { .wd = wd };
	struct folder **found = tfind(&wanted, &t->by_wd, compare_wd);

	return found ? *found : NULL;
}

static struct folder *find_child(const struct watch_tree *t, const struct folder *parent,
				 const char *name)
{
	struct name_key wanted = { .parent = parent, .name = name };
	struct name_key **found = tfind(&wanted, &t->by_name, compare_name);

	return found ? (*found)->folder : NULL;
}

/*
 * Writes the path of @name in @folder, below its root. There is room: a folder is listed only if
 * its path is shorter than PATH_MAX.
 */
static void make_path(struct watch_tree *t, const struct folder *folder, const char *name)
{
	size_t at = sizeof(t->path) - 1, len = strlen(name);

	t->path[at] = '\0';
	for (;;) {
		at -= len;
		memcpy(t->path + at, name, len);
		if (!folder || !folder->parent)
			break;
		/* The folder's own path is "": its files have none before their names. */
		if (len)
			t->path[--at] = '/';
		name = folder->name;
		len = strlen(name);
		folder = folder->parent;
	}
	memmove(t->path, t->path + at, sizeof(t->path) - at);
}

static void list_later(struct watch_tree *t, struct folder *folder)
{
	if (folder->is_due)
		return;
	folder->is_due = true;
	folder->next_to_list = NULL;
	*t->to_list_end = folder;
	t->to_list_end = &folder->next_to_list;
}

static struct folder *add_folder(struct watch_tree *t, struct folder *parent, size_t number,
				 const char *name)
{
	size_t size = strlen(name) + 1;
	struct folder *folder = calloc(1, sizeof(*folder) + size);
	struct name_key *key = malloc(sizeof(*key));

	if (!folder || !key)
		goto fail;
	memcpy(folder->name, name, size);
	folder->parent = parent;
	folder->number = number;
	folder->wd = -1;
	*key = (struct name_key){ .parent = parent, .name = folder->name, .folder = folder };
	if (parent) {
		if (!tsearch(key, &t->by_name, compare_name))
			goto fail;
		folder->next = parent->first_child;
		if (folder->next)
			folder->next->previous = folder;
		parent->first_child = folder;
	} else {
		free(key);
		t->roots[number].folder = folder;
	}
	list_later(t, folder);
	return folder;
fail:
	free(folder);
	free(key);
	return NULL;
}

static void unmap_wd(struct watch_tree *t, struct folder *folder)
{
	if (folder->wd < 0)
		return;
	tdelete(folder, &t->by_wd, compare_wd);
	folder->wd = -1;
	t->nr--;
}

static void free_one(struct watch_tree *t, struct folder *folder)
{
	struct name_key wanted = { .parent = folder->parent, .name = folder->name }, **found, *key;
	struct folder **at;

	if (folder->is_due) {
		for (at = &t->to_list; *at != folder;)
			at = &(*at)->next_to_list;
		*at = folder->next_to_list;
		if (t->to_list_end == &folder->next_to_list)
			t->to_list_end = at;
	}
	if (folder->parent) {
		found = tfind(&wanted, &t->by_name, compare_name);
		key = *found;
		tdelete(&wanted, &t->by_name, compare_name);
		free(key);
		if (folder->previous)
			folder->previous->next = folder->next;
		else
			folder->parent->first_child = folder->next;
		if (folder->next)
			folder->next->previous = folder->previous;
	} else {
		t->roots[folder->number].folder = NULL;
	}
	if (folder->wd >= 0) {
		/* It may be gone already. Its IN_IGNORED finds no folder then. */
		inotify_rm_watch(t->inotify, folder->wd);
		unmap_wd(t, folder);
	}
	free(folder);
}

/* Forgets a folder and all below it, from the leaves on. */
static void drop(struct watch_tree *t, struct folder *top)
{
	struct folder *folder = top, *parent;

	for (;;) {
		while (folder->first_child)
			folder = folder->first_child;
		parent = folder->parent;
		if (folder == top) {
			free_one(t, folder);
			return;
		}
		free_one(t, folder);
		folder = parent;
	}
}

static void drop_children(struct watch_tree *t, struct folder *folder)
{
	while (folder->first_child)
		drop(t, folder->first_child);
}

static bool is_above(const struct folder *folder, const struct folder *other)
{
	for (; other; other = other->parent)
		if (other == folder)
			return true;
	return false;
}

/* ---- Reports -------------------------------------------------------------- */

static void warn(struct watch_tree *t, const struct folder *folder, const char *why)
{
	t->options.warn(t->options.arg, folder->number, t->path, why);
}

/* Notes that a file exists, and reports it unless @bits is 0. */
static int exists(struct watch_tree *t, const struct folder *folder, const char *name,
		  uint32_t bits)
{
	make_path(t, folder, name);
	if (t->options.events & WATCH_DELETED &&
	    !file_set_add(&t->roots[folder->number].files, t->path))
		return -ENOMEM;
	return bits ? t->options.changed(t->options.arg, folder->number, t->path, bits) : 0;
}

static int deleted(struct watch_tree *t, const struct folder *folder, const char *name,
		   uint32_t bits)
{
	if (!(t->options.events & WATCH_DELETED))
		return 0;
	make_path(t, folder, name);
	file_set_remove(&t->roots[folder->number].files, t->path);
	return t->options.changed(t->options.arg, folder->number, t->path, bits);
}

struct gone {
	struct watch_tree *tree;
	size_t number;
};

static int report_gone(void *arg, const char *path)
{
	struct gone *gone = arg;
	const struct watch_tree_options *o = &gone->tree->options;

	return o->changed(o->arg, gone->number, path, KWQ_FILE_DELETED);
}

/* Reports the files that were below a folder that is gone. */
static int deleted_below(struct watch_tree *t, size_t number, const char *path)
{
	struct gone gone = { .tree = t, .number = number };

	if (!(t->options.events & WATCH_DELETED))
		return 0;
	return file_set_remove_below(&t->roots[number].files, path, report_gone, &gone);
}

/* ---- Listing -------------------------------------------------------------- */

static int open_root(const struct watch_tree *t, size_t number)
{
	int fd = open(t->options.folders[number], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Opens t->path. A name on the way may have become a link, which must not be followed. */
static int open_folder(struct watch_tree *t, const struct folder *folder)
{
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	int root, fd;

	root = open_root(t, folder->number);
	if (root < 0 || !folder->parent)
		return root;
	do {
		fd = syscall(SYS_openat2, root, t->path, &how, sizeof(how));
	} while (fd < 0 && errno == EINTR);
	if (fd < 0)
		fd = -errno;
	close(root);
	return fd;
}

/*
 * Gives the folder the watch @wd. Returns whether its content is to be listed: the watch was not
 * its own before.
 */
static int map_wd(struct watch_tree *t, struct folder *folder, int wd)
{
	if (folder->wd == wd)
		return 0;
	/* Another folder has this name now. */
	if (folder->wd >= 0) {
		drop_children(t, folder);
		inotify_rm_watch(t->inotify, folder->wd);
		unmap_wd(t, folder);
	}
	folder->wd = wd;
	if (!tsearch(folder, &t->by_wd, compare_wd)) {
		folder->wd = -1;
		return -ENOMEM;
	}
	t->nr++;
	return 1;
}

/* Watches an open folder. Returns 1 if it is to be listed, 0 if not, or a negative errno value. */
static int watch(struct watch_tree *t, struct folder *folder, int fd)
{
	char link[40];
	struct folder *other;
	int wd;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	for (;;) {
		wd = inotify_add_watch(t->inotify, link, t->mask);
		if (wd < 0)
			return -errno;
		other = find_wd(t, wd);
		if (!other || other == folder)
			return map_wd(t, folder, wd);
		/* A mount shows a folder inside itself. */
		if (is_above(other, folder)) {
			warn(t, folder, "is one of the folders above it: not watched");
			return -ELOOP;
		}
		/*
		 * It was renamed, and the event for it comes later. The watch of the old name ends
		 * with all below it. The list of the content replaces the events that are lost.
		 */
		drop(t, other);
	}
}

static bool is_folder(int fd, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return !fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISDIR(st.st_mode);
}

/* A folder appeared, or may have. Lists it later. */
static int found_folder(struct watch_tree *t, struct folder *parent, const char *name)
{
	struct folder *folder = find_child(t, parent, name);

	if (folder) {
		list_later(t, folder);
		return 0;
	}
	make_path(t, parent, name);
	if (!t->options.wants_folder(t->options.arg, parent->number, t->path))
		return 0;
	return add_folder(t, parent, parent->number, name) ? 0 : -ENOMEM;
}

static int list_content(struct watch_tree *t, struct folder *folder, DIR *dir)
{
	const struct dirent *entry;
	int err = 0;

	while (!err && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (is_folder(dirfd(dir), entry))
			err = found_folder(t, folder, entry->d_name);
		else
			err = exists(t, folder, entry->d_name, t->reports ? KWQ_FILE_FOUND : 0);
	}
	return err;
}

/* Watches a folder and lists its content. Returns as watch_tree_read(). */
static int list_folder(struct watch_tree *t, struct folder *folder)
{
	DIR *dir;
	int fd, ret;

	make_path(t, folder, "");
	if (strlen(t->path) >= PATH_MAX) {
		warn(t, folder, "the path is longer than 4095 bytes: not watched");
		drop(t, folder);
		return 0;
	}
	fd = open_folder(t, folder);
	if (fd < 0) {
		/* If it is gone, or a link now, an event tells what its name is. */
		if (!folder->parent ||
		    (fd != -ENOENT && fd != -ENOTDIR && fd != -ELOOP && fd != -EXDEV))
			warn(t, folder, strerror(-fd));
		drop(t, folder);
		return fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM ? fd : 0;
	}
	ret = watch(t, folder, fd);
	if (ret <= 0) {
		close(fd);
		if (ret == -ELOOP || ret == -ENOENT || ret == -EACCES) {
			drop(t, folder);
			ret = 0;
		}
		return ret;
	}
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	ret = list_content(t, folder, dir);
	closedir(dir);
	return ret;
}

static int list_all(struct watch_tree *t)
{
	struct folder *folder;
	int err = 0;

	while (!err && t->to_list) {
		folder = t->to_list;
		t->to_list = folder->next_to_list;
		if (!t->to_list)
			t->to_list_end = &t->to_list;
		folder->is_due = false;
		err = list_folder(t, folder);
	}
	return err;
}

/* ---- Events --------------------------------------------------------------- */

static int open_inotify(struct watch_tree *t)
{
	t->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	return t->inotify < 0 ? -errno : 0;
}

static int all_gone(const struct watch_tree *t)
{
	size_t i;

	for (i = 0; i < t->nr_roots; i++)
		if (t->roots[i].folder)
			return 0;
	return -ENOENT;
}

/* One of the folders of the options was deleted, moved or unmounted. */
static int lose_root(struct watch_tree *t, struct folder *folder, const char *why)
{
	size_t number = folder->number;
	int err;

	t->path[0] = '\0';
	warn(t, folder, why);
	drop(t, folder);
	t->roots[number].is_lost = true;
	err = deleted_below(t, number, "");
	return err ? err : all_gone(t);
}

/* Lists and watches everything, and reports what is there and what is no longer there. */
static int begin(struct watch_tree *t)
{
	struct gone gone = { .tree = t };
	int err = 0;
	size_t i;

	for (i = 0; i < t->nr_roots; i++) {
		file_set_begin(&t->roots[i].files);
		if (!t->roots[i].is_lost && !add_folder(t, NULL, i, ""))
			return -ENOMEM;
	}
	err = list_all(t);
	for (i = 0; !err && i < t->nr_roots; i++) {
		gone.number = i;
		err = file_set_end(&t->roots[i].files, report_gone, &gone);
	}
	return err ? err : all_gone(t);
}

/* Events were lost. A new inotify forgets the rest, so that nothing old meets the new lists. */
static int begin_again(struct watch_tree *t)
{
	size_t i;
	int err;

	t->overflows++;
	close(t->inotify);
	t->inotify = -1;
	for (i = 0; i < t->nr_roots; i++)
		if (t->roots[i].folder)
			drop(t, t->roots[i].folder);
	err = open_inotify(t);
	return err ? err : begin(t);
}

static int folder_event(struct watch_tree *t, struct folder *parent,
			const struct inotify_event *event)
{
	struct folder *folder;
	int err;

	if (event->mask & (IN_CREATE | IN_MOVED_TO)) {
		err = found_folder(t, parent, event->name);
		return err ? err : list_all(t);
	}
	if (!(event->mask & (IN_DELETE | IN_MOVED_FROM)))
		return 0;
	folder = find_child(t, parent, event->name);
	if (folder)
		drop(t, folder);
	make_path(t, parent, event->name);
	return deleted_below(t, parent->number, t->path);
}

static int file_event(struct watch_tree *t, struct folder *parent,
		      const struct inotify_event *event)
{
	static const struct {
		uint32_t mask, event, bits;
	} reported[] = {
		{ IN_CLOSE_WRITE, WATCH_WRITTEN, KWQ_FILE_WRITTEN },
		{ IN_MOVED_TO, WATCH_MOVED, KWQ_FILE_MOVED_TO },
		{ IN_CREATE, WATCH_CREATED, KWQ_FILE_CREATED },
		{ IN_ATTRIB, WATCH_ATTRIBUTES, KWQ_FILE_ATTRIBUTES },
	};
	size_t i;

	if (event->mask & (IN_DELETE | IN_MOVED_FROM))
		return deleted(t, parent, event->name,
			       event->mask & IN_DELETE ? KWQ_FILE_DELETED : KWQ_FILE_MOVED_FROM);
	for (i = 0; i < ARRAY_SIZE(reported); i++)
		if (event->mask & reported[i].mask)
			return exists(t, parent, event->name,
				      t->options.events & reported[i].event ? reported[i].bits : 0);
	return 0;
}

static int handle(struct watch_tree *t, const struct inotify_event *event)
{
	struct folder *folder = find_wd(t, event->wd);

	if (!folder)
		return 0;
	if (event->mask & IN_IGNORED) {
		/* The kernel has removed the watch. */
		unmap_wd(t, folder);
		if (!folder->parent)
			return lose_root(t, folder, "is gone");
		drop(t, folder);
		return 0;
	}
	if (event->mask & IN_MOVE_SELF && !folder->parent)
		return lose_root(t, folder, "was moved away");
	if (!event->len)
		return 0;
	return event->mask & IN_ISDIR ? folder_event(t, folder, event) :
		file_event(t, folder, event);
}

int watch_tree_read(struct watch_tree *t)
{
	char buffer[65536] __attribute__((aligned(__alignof__(struct inotify_event))));
	const struct inotify_event *event;
	ssize_t got, at;
	int err;

	got = read(t->inotify, buffer, sizeof(buffer));
	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	for (at = 0; at < got; at += sizeof(*event) + event->len) {
		event = (const struct inotify_event *)(buffer + at);
		if (event->mask & IN_Q_OVERFLOW)
			return begin_again(t);
		err = handle(t, event);
		if (err)
			return err;
	}
	return 0;
}

/* ---- Begin and end -------------------------------------------------------- */

static uint32_t mask_of(uint32_t events)
{
	uint32_t mask = IN_ONLYDIR | IN_EXCL_UNLINK | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM |
		IN_DELETE | IN_MOVE_SELF;

	if (events & WATCH_WRITTEN)
		mask |= IN_CLOSE_WRITE;
	if (events & WATCH_ATTRIBUTES)
		mask |= IN_ATTRIB;
	return mask;
}

/* A folder that cannot be watched from the begin on is an error. */
static int check_roots(const struct watch_tree *t)
{
	size_t i;
	int fd;

	for (i = 0; i < t->nr_roots; i++) {
		fd = open_root(t, i);
		if (fd < 0) {
			t->options.warn(t->options.arg, i, "", strerror(-fd));
			return -EBADF;
		}
		close(fd);
	}
	return 0;
}

int watch_tree_open(struct watch_tree **tree, const struct watch_tree_options *options)
{
	struct watch_tree *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->options = *options;
	t->mask = mask_of(options->events);
	t->reports = options->initial;
	t->to_list_end = &t->to_list;
	t->inotify = -1;
	while (options->folders[t->nr_roots])
		t->nr_roots++;
	t->roots = calloc(t->nr_roots, sizeof(*t->roots));
	err = t->roots ? check_roots(t) : -ENOMEM;
	if (!err)
		err = open_inotify(t);
	if (!err)
		err = begin(t);
	/* With WATCH_DELETED alone a file that exists is no event. */
	t->reports = options->events & ~WATCH_DELETED;
	if (err) {
		watch_tree_close(t);
		return err;
	}
	*tree = t;
	return 0;
}

int watch_tree_fd(const struct watch_tree *t)
{
	return t->inotify;
}

size_t watch_tree_size(const struct watch_tree *t)
{
	return t->nr;
}

unsigned long long watch_tree_overflows(const struct watch_tree *t)
{
	return t->overflows;
}

void watch_tree_close(struct watch_tree *t)
{
	size_t i;

	for (i = 0; t->roots && i < t->nr_roots; i++) {
		if (t->roots[i].folder)
			drop(t, t->roots[i].folder);
		file_set_free(&t->roots[i].files);
	}
	if (t->inotify >= 0)
		close(t->inotify);
	free(t->roots);
	free(t);
}
