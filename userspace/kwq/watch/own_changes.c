// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "own_changes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * @is_added: its key is in the queue, or was there
 * @is_over: its job has ended, before @until less the quiet time
 */
struct own_path {
	struct own_path *next;
	uint64_t until;
	bool is_added, is_over;
	char path[];
};

static struct own_path **bucket_of(struct own_changes *o, const char *path)
{
	uint32_t hash = 2166136261;

	for (; *path; path++)
		hash = (hash ^ (unsigned char)*path) * 16777619;
	return &o->buckets[hash % OWN_BUCKETS];
}

/* The place of the path, which has NULL if the path is not there. */
static struct own_path **find(struct own_changes *o, const char *path)
{
	struct own_path **at = bucket_of(o, path);

	while (*at && strcmp((*at)->path, path))
		at = &(*at)->next;
	return at;
}

static int insert(struct own_changes *o, struct own_path **at, const char *path, bool is_added)
{
	size_t size = strlen(path) + 1;
	struct own_path *own = malloc(sizeof(*own) + size);

	if (!own)
		return -ENOMEM;
	*own = (struct own_path){ .is_added = is_added };
	memcpy(own->path, path, size);
	*at = own;
	o->nr++;
	return 0;
}

static void forget(struct own_changes *o, struct own_path **at)
{
	struct own_path *own = *at;

	*at = own->next;
	free(own);
	o->nr--;
}

/* Looks where the key is. Returns whether a change is that of its job. */
static bool update(struct own_changes *o, struct own_path *own, uint64_t now)
{
	enum own_key key = o->look(o->arg, own->path);

	if (key != OWN_OVER) {
		own->is_over = false;
	} else if (!own->is_over) {
		own->is_over = true;
		own->until = now + o->quiet;
	}
	return key == OWN_AT_WORK || (own->is_over && now < own->until);
}

bool own_changes_has(struct own_changes *o, const char *path, uint64_t now)
{
	struct own_path **at = find(o, path);

	if (!*at) {
		/* Another program has added it, so its end may be missed if it is short. */
		if (o->look(o->arg, path) != OWN_AT_WORK)
			return false;
		insert(o, at, path, true);
		return true;
	}
	return (*at)->is_added && update(o, *at, now);
}

int own_changes_note(struct own_changes *o, const char *path)
{
	struct own_path **at = find(o, path);

	if (!*at)
		return insert(o, at, path, false);
	/* Its job is another one. */
	(*at)->is_added = false;
	(*at)->is_over = false;
	return 0;
}

void own_changes_added(struct own_changes *o)
{
	struct own_path *own;
	size_t i;

	for (i = 0; i < OWN_BUCKETS; i++)
		for (own = o->buckets[i]; own; own = own->next)
			own->is_added = true;
}

/* Returns how many keys it has looked at. */
static unsigned int look_at_bucket(struct own_changes *o, struct own_path **at, uint64_t now)
{
	unsigned int looks = 0;

	while (*at) {
		looks += !(*at)->is_over;
		if (!(*at)->is_over)
			update(o, *at, now);
		if ((*at)->is_over && now >= (*at)->until)
			forget(o, at);
		else
			at = &(*at)->next;
	}
	return looks;
}

void own_changes_look(struct own_changes *o, uint64_t now)
{
	unsigned int looks = 0, i;

	for (i = 0; i < OWN_BUCKETS && looks < OWN_LOOKS; i++) {
		looks += look_at_bucket(o, &o->buckets[o->next], now);
		o->next = (o->next + 1) % OWN_BUCKETS;
	}
}
