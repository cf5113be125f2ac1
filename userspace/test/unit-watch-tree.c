// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * U5: the folders of kwq watch-files, with the kernel's own inotify; which files are meant; and
 * the set of files that exist.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kwq/watch/file_set.h"
#include "base/glob_filter.h"
#include "tap.h"
#include "kwq/watch/watch_tree.h"

static char top[32];

/* ---- What a tree reports -------------------------------------------------- */

enum { SEEN_SIZE = 1 << 22 };

static struct {
	char text[SEEN_SIZE];	/* lines "path" or "folder number:path", sorted when read */
	size_t len;
	int result;		/* of changed() */
	char warned[5000];
	const char *unwanted;
} seen;

static bool wants_folder(void *arg, size_t folder, const char *path)
{
	(void)folder;
	(void)arg;
	return !seen.unwanted || strcmp(path, seen.unwanted);
}

static int changed(void *arg, size_t folder, const char *path, uint32_t bits)
{
	(void)arg;
	(void)bits;
	if (folder)
		seen.len += snprintf(seen.text + seen.len, SEEN_SIZE - seen.len, "%zu:", folder);
	seen.len += snprintf(seen.text + seen.len, SEEN_SIZE - seen.len, "%s\n", path);
	return seen.result;
}

static void warned(void *arg, size_t folder, const char *path, const char *why)
{
	(void)arg;
	snprintf(seen.warned, sizeof(seen.warned), "%zu:%s:%s", folder, path, why);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The paths since the last call: sorted, each once, with spaces between them. */
static const char *paths(void)
{
	static char text[SEEN_SIZE], *lines[200000];
	size_t nr = 0, i, len = 0;
	char *line, *rest;

	for (line = strtok_r(seen.text, "\n", &rest); line && nr < 200000;
	     line = strtok_r(NULL, "\n", &rest))
		lines[nr++] = line;
	if (nr)
		qsort(lines, nr, sizeof(lines[0]), compare);
	text[0] = '\0';
	for (i = 0; i < nr; i++)
		if (!i || strcmp(lines[i], lines[i - 1]))
			len += sprintf(text + len, "%s%s", len ? " " : "", lines[i]);
	seen.len = 0;
	seen.text[0] = '\0';
	return text;
}

static struct watch_tree *begin(uint32_t events, bool initial, char **folders)
{
	static char *only_top[2];
	struct watch_tree_options options = {
		.folders = folders ? folders : only_top,
		.events = events,
		.initial = initial,
		.wants_folder = wants_folder,
		.changed = changed,
		.warn = warned,
	};
	struct watch_tree *tree = NULL;
	int err;

	only_top[0] = top;
	err = watch_tree_open(&tree, &options);
	if (err) {
		printf("# %s\n", strerror(-err));
		exit(1);
	}
	return tree;
}

/* Reads all events that are there. Returns the first error. */
static int pump(struct watch_tree *tree)
{
	struct pollfd p = { .fd = watch_tree_fd(tree), .events = POLLIN };
	int err = 0;

	while (!err && poll(&p, 1, 0) > 0) {
		err = watch_tree_read(tree);
		p.fd = watch_tree_fd(tree);
	}
	return err;
}

/* ---- Changes -------------------------------------------------------------- */

static void write_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, "x", 1) != 1) {
		perror(path);
		exit(1);
	}
	close(fd);
}

static void must(int ret)
{
	if (ret) {
		perror("# unit-watch-tree");
		exit(1);
	}
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	return at->level ? remove(path) : 0;
}

/* Empties the folder of the test, which is the working directory. */
static void clean(void)
{
	nftw(".", remove_one, 30, FTW_DEPTH | FTW_PHYS);
	paths();
	seen.warned[0] = '\0';
	seen.unwanted = NULL;
	seen.result = 0;
}

/* ---- Tests of the tree ---------------------------------------------------- */

static void test_files(void)
{
	struct watch_tree *tree;

	clean();
	write_file("before");
	must(mkdir("d", 0755));
	write_file("d/before");
	tree = begin(WATCH_WRITTEN | WATCH_MOVED, false, NULL);
	is_string(paths(), "", "a file that was there is not reported");
	is_number(watch_tree_size(tree), 2, "each folder is watched");
	write_file("new");
	write_file("d/before");
	must(rename("before", "renamed"));
	must(mknod("fifo", S_IFIFO | 0600, 0));
	must(link("new", "linked"));
	must(chmod("new", 0600));
	must(unlink("renamed"));
	pump(tree);
	is_string(paths(), "d/before new renamed", "files that were written, or got a name");
	pump(tree);
	is_string(paths(), "", "once");
	watch_tree_close(tree);

	tree = begin(WATCH_CREATED | WATCH_ATTRIBUTES, true, NULL);
	is_string(paths(), "d/before fifo linked new", "all files first");
	must(link("new", "another"));
	must(chmod("fifo", 0644));
	write_file("d/before");
	pump(tree);
	is_string(paths(), "another fifo", "other events");
	watch_tree_close(tree);
}

static void test_folders(void)
{
	struct watch_tree *tree;

	clean();
	tree = begin(WATCH_WRITTEN | WATCH_MOVED, false, NULL);
	must(mkdir("a", 0755));
	must(mkdir("a/b", 0755));
	write_file("a/b/early");
	pump(tree);
	is_string(paths(), "a/b/early", "a file in a folder that was not watched yet");
	write_file("a/b/later");
	pump(tree);
	is_string(paths(), "a/b/later", "and a later one");
	is_number(watch_tree_size(tree), 3, "both folders are watched");

	must(rename("a", "c"));
	pump(tree);
	is_string(paths(), "c/b/early c/b/later", "a folder with another name: all its files");
	write_file("c/b/early");
	pump(tree);
	is_string(paths(), "c/b/early", "and changes by the new name");

	/* The tree is ahead of the events: it lists a folder that was renamed since. */
	must(mkdir("x", 0755));
	must(mkdir("x/y", 0755));
	write_file("x/y/file");
	must(rename("x/y", "c/y"));
	must(rename("x", "z"));
	must(mkdir("x", 0755));
	write_file("x/new");
	pump(tree);
	is_string(paths(), "c/y/file x/new", "folders that were renamed before their events");
	write_file("c/y/file");
	write_file("x/new");
	write_file("z/file");
	pump(tree);
	is_string(paths(), "c/y/file x/new z/file", "are watched by their names");
	is_number(watch_tree_size(tree), 6, "each once");

	must(rename("c", "../kwq-test-away"));
	pump(tree);
	is_number(watch_tree_size(tree), 3, "a folder that left is not watched");
	write_file("../kwq-test-away/b/early");
	pump(tree);
	is_string(paths(), "", "nor reported");
	must(rename("../kwq-test-away", "back"));
	pump(tree);
	is_string(paths(), "back/b/early back/b/later back/y/file", "until it comes back");

	must(unlink("z/file"));
	must(rmdir("z"));
	must(mkdir("z", 0755));
	write_file("z/again");
	pump(tree);
	is_string(paths(), "z/again", "a folder of an old name");
	write_file("z/again");
	pump(tree);
	is_string(paths(), "z/again", "is watched");
	must(symlink("/", "root"));
	must(symlink("back", "soft"));
	pump(tree);
	is_number(watch_tree_size(tree), 6, "links are not followed");
	watch_tree_close(tree);
}

static void test_deleted(void)
{
	struct watch_tree *tree;

	clean();
	must(mkdir("d", 0755));
	must(mkdir("d/e", 0755));
	write_file("d/one");
	write_file("d/e/two");
	write_file("d-three");
	tree = begin(WATCH_DELETED, false, NULL);
	is_string(paths(), "", "nothing is deleted");
	must(rename("d-three", "four"));
	pump(tree);
	is_string(paths(), "d-three", "an old name is");
	must(rename("d", "../kwq-test-away"));
	pump(tree);
	is_string(paths(), "d/e/two d/one", "all files of a folder that left");
	must(rename("../kwq-test-away", "d"));
	pump(tree);
	is_string(paths(), "", "they come back");
	must(unlink("d/e/two"));
	must(rmdir("d/e"));
	pump(tree);
	is_string(paths(), "d/e/two", "each file is reported once");
	watch_tree_close(tree);
}

/* inotify keeps 16384 events, unless the machine is set up otherwise. */
static void test_overflow(void)
{
	enum { FILES = 40000 };
	struct watch_tree *tree;
	char name[32];
	char *text;
	int i, nr;

	clean();
	must(mkdir("d", 0755));
	must(mkdir("gone", 0755));
	write_file("gone/file");
	write_file("d/deleted");
	tree = begin(WATCH_WRITTEN | WATCH_DELETED, false, NULL);
	for (i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "d/%05d", i);
		write_file(name);
	}
	must(unlink("d/deleted"));
	must(unlink("gone/file"));
	must(rmdir("gone"));
	must(mkdir("late", 0755));
	write_file("late/file");
	pump(tree);
	ok(watch_tree_overflows(tree) > 0, "the queue of inotify overflows");
	text = strdup(paths());
	for (nr = 0, i = 0; text[i]; i++)
		nr += text[i] == ' ';
	is_number(nr + 1, FILES + 3, "no file is missed, nor a deleted one");
	ok(strstr(text, "d/39999") && strstr(text, "d/deleted") && strstr(text, "gone/file") &&
	   strstr(text, "late/file"), "wherever it is");
	free(text);
	write_file("late/file");
	write_file("d/00000");
	pump(tree);
	is_string(paths(), "d/00000 late/file", "and the watch goes on");
	is_number(watch_tree_size(tree), 3, "on the folders that are there");
	watch_tree_close(tree);
}

static void test_several(void)
{
	char one[PATH_MAX], other[PATH_MAX], *folders[] = { one, other, NULL };
	struct watch_tree *tree;

	clean();
	must(mkdir("one", 0755));
	must(mkdir("other", 0755));
	snprintf(one, sizeof(one), "%s/one", top);
	snprintf(other, sizeof(other), "%s/other", top);
	tree = begin(WATCH_WRITTEN | WATCH_DELETED, false, folders);
	write_file("one/file");
	write_file("other/file");
	pump(tree);
	is_string(paths(), "1:file file", "two folders");
	must(rename("one", "moved"));
	is_number(pump(tree), 0, "one was moved away");
	is_string(seen.warned, "0::was moved away", "which is told");
	is_string(paths(), "file", "its files are no longer there");
	write_file("moved/file");
	write_file("other/file");
	pump(tree);
	is_string(paths(), "1:file", "the other is still watched");
	must(unlink("other/file"));
	must(rmdir("other"));
	is_number(pump(tree), -ENOENT, "without both the watch ends");
	is_string(seen.warned, "1::is gone", "which is told");
	watch_tree_close(tree);
}

static void test_inside(void)
{
	char one[PATH_MAX], *folders[] = { one, top, NULL };
	struct watch_tree *tree;

	clean();
	must(mkdir("one", 0755));
	snprintf(one, sizeof(one), "%s/one", top);
	tree = begin(WATCH_WRITTEN, false, folders);
	write_file("one/file");
	write_file("file");
	pump(tree);
	is_string(paths(), "1:file 1:one/file", "a folder inside another one is reported once");
	watch_tree_close(tree);
}

/* A file system that is mounted inside itself would be endless. */
static void test_loop(void)
{
	struct watch_tree *tree;

	clean();
	must(mkdir("d", 0755));
	must(mkdir("d/mount", 0755));
	write_file("d/file");
	if (mount(top, "d/mount", NULL, MS_BIND | MS_REC, NULL)) {
		ok(true, "a loop of mounts # SKIP may not mount");
		return;
	}
	tree = begin(WATCH_WRITTEN, true, NULL);
	is_string(paths(), "d/file", "a loop of mounts");
	is_string(seen.warned, "0:d/mount:is one of the folders above it: not watched", "is told");
	watch_tree_close(tree);
	must(umount("d/mount"));
}

static void test_unwanted(void)
{
	struct watch_tree *tree;

	clean();
	must(mkdir("cache", 0755));
	must(mkdir("d", 0755));
	write_file("cache/file");
	seen.unwanted = "cache";
	tree = begin(WATCH_WRITTEN | WATCH_MOVED, true, NULL);
	write_file("cache/other");
	must(mkdir("d/cache", 0755));
	write_file("d/cache/file");
	pump(tree);
	is_string(paths(), "d/cache/file", "a folder that is not wanted is not listed");
	is_number(watch_tree_size(tree), 3, "nor watched");
	must(rename("cache", "wanted"));
	pump(tree);
	is_string(paths(), "wanted/file wanted/other", "until it has another name");
	must(rename("d/cache", "cache"));
	pump(tree);
	write_file("cache/file");
	pump(tree);
	is_string(paths(), "", "and the other way round");
	watch_tree_close(tree);
}

/* Folders deeper than any path. */
static void test_deep(void)
{
	char name[256] = { 0 };
	struct watch_tree *tree;
	int i;

	clean();
	memset(name, 'n', 250);
	for (i = 0; i < 20; i++) {
		must(mkdir(name, 0755));
		must(chdir(name));
		write_file("file");
	}
	must(chdir(top));
	tree = begin(WATCH_WRITTEN, true, NULL);
	is_number(watch_tree_size(tree), 17, "folders up to the longest path are watched");
	ok(strstr(seen.warned, ": not watched"), "the next one is told: %.40s", seen.warned);
	watch_tree_close(tree);
	for (i = 0; i < 20; i++)
		must(chdir(name));
	for (i = 0; i < 20; i++) {
		must(unlink("file"));
		must(chdir(".."));
		must(rmdir(name));
	}
}

static void test_errors(void)
{
	char none[PATH_MAX], *folders[] = { none, NULL };
	struct watch_tree_options options = {
		.folders = folders, .events = WATCH_WRITTEN, .initial = true,
		.wants_folder = wants_folder, .changed = changed, .warn = warned,
	};
	struct watch_tree *tree;

	clean();
	snprintf(none, sizeof(none), "%s/none", top);
	is_number(watch_tree_open(&tree, &options), -EBADF, "a folder that is not there");
	is_string(seen.warned, "0::No such file or directory", "is told");
	write_file("none");
	is_number(watch_tree_open(&tree, &options), -EBADF, "or is no folder");
	is_string(seen.warned, "0::Not a directory", "is told");
	folders[0] = top;
	seen.result = -ESHUTDOWN;
	is_number(watch_tree_open(&tree, &options), -ESHUTDOWN, "an error ends the list");
	seen.result = 0;
	tree = begin(WATCH_WRITTEN, false, NULL);
	write_file("none");
	seen.result = -EINTR;
	is_number(pump(tree), -EINTR, "or the events");
	watch_tree_close(tree);
}

/* ---- Filters and the set of files ----------------------------------------- */

static void test_filter(void)
{
	struct glob_filter f = { 0 };

	ok(glob_filter_wants_file(&f, "a/b.c"), "every file is meant");
	glob_filter_exclude(&f, "*.o");
	glob_filter_exclude(&f, "build/*");
	glob_filter_exclude(&f, ".git");
	ok(glob_filter_wants_file(&f, "a/b.c"), "but those excluded");
	ok(!glob_filter_wants_file(&f, "a/b.o"), "by name");
	ok(!glob_filter_wants_file(&f, "build/a/b"), "or by path");
	ok(glob_filter_wants_file(&f, "a/build/b"), "the whole path");
	ok(!glob_filter_wants_folder(&f, "a/.git"), "a folder, too");
	glob_filter_include(&f, "*.c");
	glob_filter_include(&f, "doc/*");
	ok(glob_filter_wants_file(&f, "a/b.c") && glob_filter_wants_file(&f, "doc/x/y"),
	   "files that are included");
	ok(!glob_filter_wants_file(&f, "a/b.h"), "and no others");
	ok(!glob_filter_wants_file(&f, "doc/b.o"), "exclude goes first");
	ok(glob_filter_wants_folder(&f, "a"), "folders need not be included");
	glob_filter_free(&f);
}

static int gone(void *arg, const char *path)
{
	strcat(arg, path);
	strcat(arg, " ");
	return strcmp(path, "fails") ? 0 : -EINTR;
}

static void test_set(void)
{
	struct file_set set = { 0 };
	char text[100] = "";

	file_set_add(&set, "d");
	file_set_add(&set, "d/one");
	file_set_add(&set, "d/e/two");
	file_set_add(&set, "d-three");
	file_set_add(&set, "d/one");
	is_number(file_set_remove_below(&set, "d", gone, text), 0, "files below a folder");
	ok(strstr(text, "d/one ") && strstr(text, "d/e/two ") && strlen(text) == 14, "each once");
	ok(file_set_remove(&set, "d") && !file_set_remove(&set, "d"), "a file goes once");
	file_set_begin(&set);
	file_set_add(&set, "new");
	text[0] = '\0';
	is_number(file_set_end(&set, gone, text), 0, "files that are not seen again");
	is_string(text, "d-three ", "are gone");
	file_set_add(&set, "fails");
	text[0] = '\0';
	is_number(file_set_remove_below(&set, "", gone, text), -EINTR, "an error is returned");
	is_number(strlen(text), 10, "after all files");
	file_set_free(&set);
}

int main(void)
{
	snprintf(top, sizeof(top), "/tmp/kwq-test-XXXXXX");
	if (!mkdtemp(top) || chdir(top)) {
		perror(top);
		return 1;
	}
	test_files();
	test_folders();
	test_deleted();
	test_overflow();
	test_several();
	test_inside();
	test_loop();
	test_unwanted();
	test_deep();
	test_errors();
	test_filter();
	test_set();
	clean();
	rmdir(top);
	return done_testing();
}
