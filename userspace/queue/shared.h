/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Commands ask the kwq share of this machine for the keys of a shared queue, which may be on any
 * machine.
 *
 * kwq share listens at an address that is made of the queue's id. Such addresses belong to a
 * network namespace, as names of queues do. A request is one message, with the handle of the queue
 * that the command has opened. So a caller needs the same rights as for a queue of this machine.
 * The answer is one message. A list comes in a file in memory.
 */
#ifndef KWQ_SHARED_H
#define KWQ_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kwq.h>

enum shared_operation {
	SHARED_LIST,		/* needs the right to read */
	SHARED_REMOVE,		/* to manage */
	SHARED_DROP,		/* a dead key is gone; to manage */
	SHARED_KICK,		/* a dead key is ready; to write */
	SHARED_END_WAIT,	/* a waiting key is ready; to write */
};

/*
 * The key follows. Both sides are the same version or refuse: @size is compared.
 *
 * @states, @flags: LIST: as in &struct kwq_list_items_args
 */
struct shared_request {
	uint32_t size, operation, states, flags;
	uint32_t key_len;
};

/*
 * @result: of LIST 0, and a descriptor comes with it. Else what the key was, KWQ_WAS_* bits. Or a
 *	negative errno value: -ENOENT if the key is not there, or not so; -ESTALE if that may be
 *	because it was done before; -ETIMEDOUT if no master has answered.
 */
struct shared_answer {
	uint32_t size;
	int32_t result;
};

enum { SHARED_NAME_MAX = 128 };

/*
 * A machine, in a list.
 *
 * @heard: the time since its last heartbeat, and @ttl: how long it may be silent, in ns
 * @keys: that workers there have
 */
struct shared_machine {
	char name[SHARED_NAME_MAX];
	uint64_t heard, ttl;
	uint32_t keys;
	uint8_t is_master, padding[3];
};

/*
 * The beginning of a list. The machines follow, and then the keys: each a &struct kwq_listed and
 * its bytes, as KWQ_IOC_LIST_ITEMS gives them. @pid of a key at work is -1 for the first machine,
 * -2 for the second and so on.
 */
struct shared_list {
	uint32_t size, nr_machines;
	uint64_t nr_items;
};

/* Room for the address. Returns its length. */
struct sockaddr_un;
size_t shared_address(struct sockaddr_un *address, uint64_t queue);

/* ---- The command's side --------------------------------------------------- */

/*
 * shared_attach() - reach the kwq share of this machine
 * @q: a shared queue, which stays open
 *
 * From now on lists of this handle are those of all machines.
 *
 * Return: 0 or a negative errno value: -ECONNREFUSED if kwq share does not run here, -EPERM if
 * somebody else listens there.
 */
int shared_attach(const struct kwq *q);

bool shared_is_attached(const struct kwq *q);

/* Has something done with a key. Returns as &shared_answer.result. */
int shared_ask(enum shared_operation operation, const char *key, size_t len);

/* The text for an error of these functions; NULL if it means what it means elsewhere. */
const char *shared_refusal(int err);

/*
 * Lists keys. @key: of one key, or NULL. On success *list is mapped memory of *size bytes that
 * stays until the end. Returns 0 or a negative errno value.
 */
int shared_list(uint32_t states, uint32_t flags, const char *key, size_t len,
		const struct shared_list **list, size_t *size);

/* The machine of a key whose @pid is below 0, as the last list has it. */
const char *shared_machine_name(int pid);

#endif /* KWQ_SHARED_H */
