/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Tells the changes that a job makes to its own file from those of others, by their time: a change
 * while the job runs, or shortly after its end, is taken for its own. A file counts as that of a
 * job from its add until the quiet time after the job is over.
 */
#ifndef KWQ_OWN_CHANGES_H
#define KWQ_OWN_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the key of a path is. */
enum own_key {
	OWN_READY,		/* it will run, and then see the change */
	OWN_AT_WORK,
	OWN_OVER,		/* its job has ended, or there was none */
};

struct own_path;

enum { OWN_BUCKETS = 1024, OWN_LOOKS = 64 };

/*
 * @quiet: how long after the end of a job changes are still its own, in ns
 * @look: asks for the key of a path
 */
struct own_changes {
	uint64_t quiet;
	enum own_key (*look)(void *arg, const char *path);
	void *arg;

	struct own_path *buckets[OWN_BUCKETS];
	size_t nr;		/* paths that are remembered */
	unsigned int next;	/* the bucket where the next own_changes_look() begins */
};

/* Whether a change of the path at @now is that of its own job. */
bool own_changes_has(struct own_changes *o, const char *path, uint64_t now);

/* Notes that the path will be added. Returns 0 or -ENOMEM. */
int own_changes_note(struct own_changes *o, const char *path);

/* All paths that were noted are in the queue by now. */
void own_changes_added(struct own_changes *o);

/*
 * Looks which jobs have ended, about OWN_LOOKS of them, and forgets those that ended long enough
 * ago. To be called again and again as long as there are paths, because no event tells of the end
 * of a job.
 */
void own_changes_look(struct own_changes *o, uint64_t now);

#endif /* KWQ_OWN_CHANGES_H */
