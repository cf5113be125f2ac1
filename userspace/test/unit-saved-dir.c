// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* U8: the directory of kwq save --all: the files' names, their order, and the files that go. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cmd.h"
#include "kwq/keep/saved_dir.h"
#include "tap.h"

static char dir[32] = "/tmp/kwq-unit-saved-dir.XXXXXX";
static char seen[128];

static void test_path(void)
{
	char name[KWQ_NAME_MAX + 1], other[KWQ_NAME_MAX + 1], *path, *again, *longer;

	path = saved_path("d", "jobs");
	is_string(path, "d/jobs.kwq", "the file has the queue's name");
	free(path);
	memset(name, 'n', sizeof(name));
	name[KWQ_NAME_MAX] = 0;
	memcpy(other, name, sizeof(name));
	other[KWQ_NAME_MAX - 1] = 'o';
	path = saved_path("d", name);
	again = saved_path("d", name);
	longer = saved_path("d", other);
	ok(strlen(path) - strlen("d/") <= NAME_MAX - strlen(".XXXXXX"),
	   "a long name leaves room for a temporary file's");
	is_string(again, path, "a long name has one file");
	ok(strcmp(path, longer), "a long name that ends otherwise has another");
	free(path);
	free(again);
	free(longer);
}

/* Makes a file whose last change was at @seconds. */
static void make(const char *name, time_t seconds)
{
	const struct timespec times[2] = { { .tv_sec = seconds }, { .tv_sec = seconds } };
	int fd = open(name, O_WRONLY | O_CREAT, 0600);

	if (fd < 0 || write(fd, "kwqsave", 8) != 8 || futimens(fd, times))
		abort();
	close(fd);
}

/* Notes the file. Fails for a and b. */
static int note(const char *path, void *arg)
{
	const char *name = strrchr(path, '/') + 1;

	strcat(seen, name);
	strcat(seen, " ");
	++*(int *)arg;
	return *name == 'a' ? STATUS_FAILED : *name == 'b' ? STATUS_USAGE : STATUS_OK;
}

static void test_each(void)
{
	int calls = 0;

	make("c.kwq", 30);
	make("a.kwq", 10);
	make("b.kwq", 20);
	make("d.kwq.failed", 10);
	make("e.kwq.x7Yz01", 10);
	make(".kwq", 10);
	make("note", 10);
	make("f.kwq.loading", 10);
	make("f.kwq.loading.1", 10);
	is_number(each_saved(dir, note, &calls), STATUS_USAGE, "the status of the last that failed");
	is_string(seen, "a.kwq b.kwq c.kwq f.kwq.loading f.kwq.loading.1 ",
		  "each saved queue once, by name, also one whose load did not end, and no other file");
	is_number(calls, 5, "those after one that fails, too");
	is_number(each_saved("/tmp/kwq-unit-no-such-directory", note, &calls), STATUS_FAILED,
		  "no directory");
	is_number(calls, 5, "has no files");
}

static bool is_kept(const char *path)
{
	const char *name = strrchr(path, '/') + 1;

	return !strcmp(name, "b.kwq") || !strcmp(name, "c.kwq");
}

static void test_prune(void)
{
	int fd = open("g.kwq", O_WRONLY | O_CREAT, 0600);

	if (fd < 0 || write(fd, "precious", 8) != 8)
		abort();
	close(fd);
	is_number(prune_saved(dir, is_kept, false, false), STATUS_OK, "files of queues that are gone");
	ok(access("a.kwq", F_OK), "one that is not kept is removed");
	ok(!access("b.kwq", F_OK) && !access("c.kwq", F_OK), "those that are kept stay");
	ok(!access("d.kwq.failed", F_OK), "so does one that was set aside");
	ok(!access("f.kwq.loading", F_OK), "so does one whose load did not end");
	ok(!access("note", F_OK), "so does one with another name");
	ok(!access("g.kwq", F_OK), "so does one that kwq save has not written");
	unlink("g.kwq");
}

/* Sets b.kwq aside. Returns whether its new name is @wanted, and the file is there. */
static bool goes_to(const char *wanted)
{
	char path[64], *aside;
	bool same;

	snprintf(path, sizeof(path), "%s/b.kwq", dir);
	aside = set_aside(path, "failed");
	same = aside && !strcmp(strrchr(aside, '/') + 1, wanted) && !access(wanted, F_OK);
	free(aside);
	return same;
}

static void test_aside(void)
{
	struct stat st;

	ok(goes_to("b.kwq.failed"), "a file is set aside");
	ok(access("b.kwq", F_OK), "it has its old name no more");
	ok(!goes_to("b.kwq.failed.1"), "a file that is gone is not set aside");
	is_number(errno, ENOENT, "and why");
	make("b.kwq", 40);
	ok(goes_to("b.kwq.failed.1"), "a second file is set aside beside the first");
	ok(!stat("b.kwq.failed", &st) && st.st_mtim.tv_sec == 20, "which is as it was");
	make("b.kwq", 50);
	ok(goes_to("b.kwq.failed.2"), "and a third one");
	make("b.kwq", 20);
	is_string(strrchr(set_aside("f.kwq.loading.1", "failed") ?: "", 'f'), "failed",
		  "one whose load did not end");
	ok(!access("f.kwq.failed", F_OK), "by the name of its queue");
	unlink("f.kwq.failed");
}

static void test_sync(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/b.kwq", dir);
	is_number(sync_dir_of(path), 0, "a directory is written to the disk");
	is_string(strrchr(path, '/'), "/b.kwq", "the path is as it was");
	is_number(sync_dir_of("/tmp/kwq-unit-no-such-directory/b.kwq"), -1, "no directory");
}

static void clean(void)
{
	static const char *const names[] = {
		"b.kwq", "b.kwq.failed", "b.kwq.failed.1", "b.kwq.failed.2", "c.kwq",
		"d.kwq.failed", "e.kwq.x7Yz01", ".kwq", "note",
		"f.kwq.loading", "f.kwq.loading.1",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		unlink(names[i]);
	if (chdir("/") || rmdir(dir))
		abort();
}

int main(void)
{
	command = &command_load;
	if (!mkdtemp(dir) || chdir(dir))
		abort();
	test_path();
	test_each();
	test_prune();
	test_aside();
	test_sync();
	clean();
	return done_testing();
}
