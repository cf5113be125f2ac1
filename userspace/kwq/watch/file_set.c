// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "file_set.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

struct file {
	unsigned int round;
	char path[];
};

static int compare(const void *a, const void *b)
{
	const struct file *one = a, *other = b;

	return strcmp(one->path, other->path);
}

static struct file *make_file(const struct file_set *set, const char *path)
{
	size_t size = strlen(path) + 1;
	struct file *file = malloc(sizeof(*file) + size);

	if (!file)
		return NULL;
	file->round = set->round;
	memcpy(file->path, path, size);
	return file;
}

bool file_set_add(struct file_set *set, const char *path)
{
	struct file *file = make_file(set, path), **found;

	if (!file)
		return false;
	found = tsearch(file, &set->root, compare);
	if (!found || *found != file)
		free(file);
	if (!found)
		return false;
	(*found)->round = set->round;
	return true;
}

bool file_set_remove(struct file_set *set, const char *path)
{
	struct file *wanted = make_file(set, path), **found, *file;

	if (!wanted)
		return false;
	found = tfind(wanted, &set->root, compare);
	file = found ? *found : NULL;
	if (file)
		tdelete(wanted, &set->root, compare);
	free(wanted);
	free(file);
	return file;
}

/* Files that a walk through the tree has chosen. The walk itself may not change the tree. */
struct chosen {
	const struct file_set *set;
	const char *folder;	/* the files below it; NULL for those not seen */
	size_t folder_len;
	struct file **files;
	size_t nr, room;
	bool failed;
};

static bool is_meant(const struct chosen *c, const struct file *file)
{
	if (!c->folder)
		return file->round != c->set->round;
	return !strncmp(file->path, c->folder, c->folder_len) &&
		(!c->folder_len || file->path[c->folder_len] == '/');
}

static void choose(const void *node, VISIT visit, void *closure)
{
	struct file *file = *(struct file *const *)node;
	struct chosen *c = closure;
	struct file **more;
	size_t room;

	if ((visit != postorder && visit != leaf) || c->failed || !is_meant(c, file))
		return;
	if (c->nr == c->room) {
		room = c->room ? 2 * c->room : 64;
		more = reallocarray(c->files, room, sizeof(struct file *));
		if (!more) {
			c->failed = true;
			return;
		}
		c->files = more;
		c->room = room;
	}
	c->files[c->nr++] = file;
}

static int remove_chosen(struct file_set *set, struct chosen *c, file_gone gone, void *arg)
{
	int err = 0, ret;
	size_t i;

	twalk_r(set->root, choose, c);
	if (c->failed) {
		free(c->files);
		return -ENOMEM;
	}
	for (i = 0; i < c->nr; i++) {
		tdelete(c->files[i], &set->root, compare);
		ret = gone(arg, c->files[i]->path);
		if (ret && !err)
			err = ret;
		free(c->files[i]);
	}
	free(c->files);
	return err;
}

int file_set_remove_below(struct file_set *set, const char *folder, file_gone gone, void *arg)
{
	struct chosen c = { .set = set, .folder = folder, .folder_len = strlen(folder) };

	return remove_chosen(set, &c, gone, arg);
}

void file_set_begin(struct file_set *set)
{
	set->round++;
}

int file_set_end(struct file_set *set, file_gone gone, void *arg)
{
	struct chosen c = { .set = set };

	return remove_chosen(set, &c, gone, arg);
}

void file_set_free(struct file_set *set)
{
	tdestroy(set->root, free);
	set->root = NULL;
}
