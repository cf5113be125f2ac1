/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Adds paths as keys, in batches, and waits for room.
 */
#ifndef KWQ_PATH_ADDER_H
#define KWQ_PATH_ADDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kwq.h>

enum { PATH_ADDER_KEYS = 256 };

struct path_adder {
	struct kwq *q;
	const char *queue;
	unsigned int rights;	/* of the next queue of that name */
	uint64_t after, at_most;	/* a debounce; 0 for none */
	bool wants_values;		/* gives the keys values, if the queue has any */
	bool verbose, json;		/* prints what becomes of each key */
	const atomic_bool *stop;	/* once set, nothing waits any more */
	unsigned long long failed;	/* keys that were refused */
	bool is_removed;		/* there is no queue of that name */

	unsigned int nr;
	size_t bytes;
	struct kwq_add_entry entries[PATH_ADDER_KEYS];
	struct kwq_add_extra extras[PATH_ADDER_KEYS];
	uint8_t values[PATH_ADDER_KEYS];
	__s32 results[PATH_ADDER_KEYS];
	char keys[16 * KWQ_KEY_MAX];
};

/*
 * Adds a path, now or with the next paths, and with @wants_values what happened to it: KWQ_FILE_*
 * bits. A path that is no key is refused with a message. Returns 0 or as path_adder_flush().
 */
int path_adder_add(struct path_adder *a, const char *path, uint32_t bits);

/*
 * Adds what is collected. If the queue was removed, adds it to the next one of that name, and waits
 * for that one. Returns 0, or a negative errno value that ends everything: -EINTR if there was no
 * room, or no queue, and @stop was set.
 */
int path_adder_flush(struct path_adder *a);

#endif /* KWQ_PATH_ADDER_H */
