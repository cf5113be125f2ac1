// SPDX-License-Identifier: GPL-2.0-only
/*
 * Named queues. Like a POSIX message queue a name holds a reference to its queue
 * until it is unlinked, and who may open it is decided as for a file.
 */
#include <linux/capability.h>
#include <linux/cleanup.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/uidgid.h>
#include <kunit/visibility.h>
#include "keyed.h"

static DEFINE_MUTEX(names_lock);
static struct rb_root names = RB_ROOT;	/* covered by names_lock */

static struct kwq_keyed *keyed_of(const struct rb_node *node)
{
	return rb_entry(node, struct kwq_keyed, by_name);
}

static int cmp_nodes(struct rb_node *a, const struct rb_node *b)
{
	return strcmp(keyed_of(a)->name, keyed_of(b)->name);
}

static int cmp_name(const void *name, const struct rb_node *node)
{
	return strcmp(name, keyed_of(node)->name);
}

static struct kwq_keyed *find_locked(const char *name)
{
	struct rb_node *node;

	lockdep_assert_held(&names_lock);
	node = rb_find(name, &names, cmp_name);
	return node ? keyed_of(node) : NULL;
}

/**
 * kwq_names_check() - may a queue be called so
 * @name: ended by a NUL
 *
 * Return: 0, or -EINVAL.
 */
int kwq_names_check(const char *name)
{
	if (!*name || strchr(name, '/') || !strcmp(name, ".") ||
	    !strcmp(name, ".."))
		return -EINVAL;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(kwq_names_check);

/**
 * kwq_names_add() - give a queue its name
 * @keyed: the queue; @keyed->name is the name. The name takes a reference.
 *
 * The module cannot be unloaded while there is a name, lest items be lost.
 *
 * Context: process; may sleep.
 * Return: 0, or -EEXIST.
 */
int kwq_names_add(struct kwq_keyed *keyed)
{
	guard(mutex)(&names_lock);
	if (rb_find_add(&keyed->by_name, &names, cmp_nodes))
		return -EEXIST;
	kref_get(&keyed->ref);
	__module_get(THIS_MODULE);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(kwq_names_add);

/**
 * kwq_names_find() - find a queue by its name
 * @name: the name
 *
 * Context: process; may sleep.
 * Return: the queue, with a reference for the caller; NULL if there is none.
 */
struct kwq_keyed *kwq_names_find(const char *name)
{
	struct kwq_keyed *keyed;

	guard(mutex)(&names_lock);
	keyed = find_locked(name);
	if (keyed)
		kref_get(&keyed->ref);
	return keyed;
}
EXPORT_SYMBOL_IF_KUNIT(kwq_names_find);

static bool may_unlink(const struct kwq_keyed *keyed)
{
	return uid_eq(current_fsuid(), keyed->owner) || capable(CAP_FOWNER);
}

/**
 * kwq_names_unlink() - take a queue's name away
 * @name: the name
 *
 * The queue goes when its last handle does.
 *
 * Context: process; may sleep. The caller keeps the module loaded.
 * Return: 0, -ENOENT or -EPERM.
 */
int kwq_names_unlink(const char *name)
{
	struct kwq_keyed *keyed;

	scoped_guard(mutex, &names_lock) {
		keyed = find_locked(name);
		if (!keyed)
			return -ENOENT;
		if (!may_unlink(keyed))
			return -EPERM;
		rb_erase(&keyed->by_name, &names);
		WRITE_ONCE(keyed->unlinked, true);
	}
	kwq_keyed_put(keyed);
	module_put(THIS_MODULE);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(kwq_names_unlink);

static struct rb_node *first_after_locked(const char *after)
{
	struct rb_node *node = names.rb_node;
	struct rb_node *found = NULL;

	lockdep_assert_held(&names_lock);
	while (node) {
		if (strcmp(after, keyed_of(node)->name) < 0) {
			found = node;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	return found;
}

/**
 * kwq_names_list() - list queues by name
 * @after: only names that sort after this one
 * @entries: filled in
 * @nr: how many at most
 *
 * Context: process; may sleep.
 * Return: how many were filled in.
 */
u32 kwq_names_list(const char *after, struct kwq_list_entry *entries, u32 nr)
{
	struct user_namespace *ns = current_user_ns();
	const struct kwq_keyed *keyed;
	struct rb_node *node;
	u32 n = 0;

	guard(mutex)(&names_lock);
	for (node = first_after_locked(after); node && n < nr;
	     node = rb_next(node), n++) {
		keyed = keyed_of(node);
		memset(&entries[n], 0, sizeof(entries[n]));
		entries[n].uid = from_kuid_munged(ns, keyed->owner);
		entries[n].gid = from_kgid_munged(ns, keyed->group);
		entries[n].mode = keyed->mode;
		strscpy(entries[n].name, keyed->name, sizeof(entries[n].name));
	}
	return n;
}
EXPORT_SYMBOL_IF_KUNIT(kwq_names_list);

/**
 * kwq_names_permit() - may the caller open a queue
 * @keyed: the queue
 * @want: MAY_READ and MAY_WRITE as wanted
 *
 * As for a file: the first class that the caller is in decides.
 *
 * Return: 0, or -EACCES.
 */
int kwq_names_permit(const struct kwq_keyed *keyed, unsigned int want)
{
	unsigned int granted = keyed->mode;

	if (uid_eq(current_fsuid(), keyed->owner))
		granted >>= 6;
	else if (in_group_p(keyed->group))
		granted >>= 3;
	if (!(want & ~granted) || capable(CAP_DAC_OVERRIDE))
		return 0;
	if (want == MAY_READ && capable(CAP_DAC_READ_SEARCH))
		return 0;
	return -EACCES;
}
EXPORT_SYMBOL_IF_KUNIT(kwq_names_permit);
