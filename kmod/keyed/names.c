// SPDX-License-Identifier: GPL-2.0-only
/*
 * Named queues. As with a POSIX message queue, a name holds a reference to its queue until
 * it is unlinked. The right to open a queue is decided as for a file.
 *
 * Names belong to the caller's net namespace, like those of abstract sockets, which also
 * let unrelated processes meet without a file system. An IPC namespace would fit a queue
 * better, but it does not tell modules when it ends. Names would outlive their container,
 * and nobody could unlink them. Processes that share the host's network see the host's
 * queues.
 */
#include <linux/capability.h>
#include <linux/cleanup.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <kunit/visibility.h>
#include "keyed.h"

static DEFINE_MUTEX(names_lock);

/**
 * struct names - names of one net namespace
 * @root: queues by name; protected by names_lock
 */
struct names {
	struct rb_root root;
};

static unsigned int names_id;

static struct names *names_of(const struct net *net)
{
	return net_generic(net, names_id);
}

/* The caller's names. The caller holds a reference to its namespace. */
static struct names *own_names(void)
{
	return names_of(current->nsproxy->net_ns);
}

/*
 * Root in a container has power over the container's queues, but not over those of others there. As
 * for a file, its user namespace has to know their owner, and where the group counts, the group.
 */
static bool has_power(const struct kwq_keyed *keyed, int capability)
{
	struct user_namespace *ns = current_user_ns();

	if (!kuid_has_mapping(ns, keyed->owner))
		return false;
	if (capability != CAP_FOWNER && !kgid_has_mapping(ns, keyed->group))
		return false;
	return ns_capable(current->nsproxy->net_ns->user_ns, capability);
}

static struct kwq_keyed *named_of(const struct rb_node *node)
{
	return rb_entry(node, struct kwq_keyed, by_name);
}

static int cmp_nodes(struct rb_node *a, const struct rb_node *b)
{
	return strcmp(named_of(a)->queue.name, named_of(b)->queue.name);
}

static int cmp_name(const void *name, const struct rb_node *node)
{
	return strcmp(name, named_of(node)->queue.name);
}

static struct kwq_keyed *find_locked(const char *name)
{
	struct rb_node *node;

	lockdep_assert_held(&names_lock);
	node = rb_find(name, &own_names()->root, cmp_name);
	return node ? named_of(node) : NULL;
}

/**
 * kwq_names_check() - check the form of a name
 * @name: a name, ended by a NUL
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

/**
 * kwq_names_add() - publish a queue's name
 * @keyed: the queue; @keyed->queue.name is the name, and takes a reference
 *
 * A name keeps the module loaded, because its queue may hold items.
 *
 * Context: process; may sleep.
 * Return: 0, or -EEXIST.
 */
int kwq_names_add(struct kwq_keyed *keyed)
{
	guard(mutex)(&names_lock);
	if (rb_find_add(&keyed->by_name, &own_names()->root, cmp_nodes))
		return -EEXIST;
	kref_get(&keyed->ref);
	__module_get(THIS_MODULE);
	return 0;
}

/**
 * kwq_names_find() - find a queue by its name
 * @name: the name
 *
 * Context: process; may sleep.
 * Return: the queue, with a reference for the caller; NULL if there is none of that name.
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

static void take_away_locked(struct names *names, struct kwq_keyed *keyed)
{
	lockdep_assert_held(&names_lock);
	rb_erase(&keyed->by_name, &names->root);
	WRITE_ONCE(keyed->unlinked, true);
}

/* Undoes kwq_names_add(). */
static void put_named(struct kwq_keyed *keyed)
{
	kwq_keyed_put(keyed);
	module_put(THIS_MODULE);
}

static bool may_unlink(const struct kwq_keyed *keyed)
{
	return uid_eq(current_fsuid(), keyed->owner) || has_power(keyed, CAP_FOWNER);
}

/**
 * kwq_names_unlink() - remove a queue's name
 * @name: the name
 *
 * The queue lives until its last handle is closed.
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
		take_away_locked(own_names(), keyed);
	}
	kwq_keyed_note_change(keyed);
	put_named(keyed);
	return 0;
}

static struct rb_node *first_after_locked(const char *after)
{
	struct rb_node *node = own_names()->root.rb_node;
	struct rb_node *found = NULL;

	lockdep_assert_held(&names_lock);
	while (node) {
		if (strcmp(after, named_of(node)->queue.name) < 0) {
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
 * @after: list only names that sort after this one
 * @entries: filled in
 * @nr: most entries to fill in
 *
 * Context: process; may sleep.
 * Return: how many entries were filled in.
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
		keyed = named_of(node);
		memset(&entries[n], 0, sizeof(entries[n]));
		entries[n].uid = from_kuid_munged(ns, keyed->owner);
		entries[n].gid = from_kgid_munged(ns, keyed->group);
		entries[n].mode = keyed->mode;
		strscpy(entries[n].name, keyed->queue.name, sizeof(entries[n].name));
	}
	return n;
}

/**
 * kwq_names_permit() - check the caller's right to open a queue
 * @keyed: the queue
 * @want: KWQ_RIGHT_* bits, with the values of a class in a mode
 *
 * As for a file, the first class that matches the caller decides.
 *
 * Return: 0, or -EACCES.
 */
int kwq_names_permit(const struct kwq_keyed *keyed, u32 want)
{
	unsigned int granted = keyed->mode;

	if (uid_eq(current_fsuid(), keyed->owner))
		granted >>= 6;
	else if (in_group_p(keyed->group))
		granted >>= 3;
	if (!(want & ~granted) || has_power(keyed, CAP_DAC_OVERRIDE))
		return 0;
	if (want == KWQ_RIGHT_READ && has_power(keyed, CAP_DAC_READ_SEARCH))
		return 0;
	return -EACCES;
}

static int __net_init begin_names(struct net *net)
{
	names_of(net)->root = RB_ROOT;
	return 0;
}

static struct kwq_keyed *take_first_away(struct names *names)
{
	struct rb_node *node;

	guard(mutex)(&names_lock);
	node = rb_first(&names->root);
	if (!node)
		return NULL;
	take_away_locked(names, named_of(node));
	return named_of(node);
}

/*
 * Ends a net namespace. Nobody is left who could unlink its names. The ends of all other
 * net namespaces wait for this one, so a worker frees the queues, even small ones. The
 * module may be put before that, because kwq_keyed_unregister() waits for the workers.
 */
VISIBLE_IF_KUNIT void __net_exit kwq_names_end(struct net *net)
{
	struct kwq_keyed *keyed;

	while ((keyed = take_first_away(names_of(net)))) {
		kwq_keyed_note_change(keyed);
		kwq_keyed_put_async(keyed);
		module_put(THIS_MODULE);
	}
}

static struct pernet_operations names_ops = {
	.init = begin_names,
	.exit = kwq_names_end,
	.id = &names_id,
	.size = sizeof(struct names),
};

/**
 * kwq_names_register() - set up names in every net namespace
 *
 * Context: process; sleeps.
 * Return: 0, or -ENOMEM.
 */
int __init kwq_names_register(void)
{
	return register_pernet_subsys(&names_ops);
}

/**
 * kwq_names_unregister() - remove names from every net namespace
 *
 * Context: process; sleeps. No name is left.
 */
void kwq_names_unregister(void)
{
	unregister_pernet_subsys(&names_ops);
}
