// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The simulation of many machines of unit-share, with the wire of kwq share: each record and each
 * message is encoded by its sender, and decoded where it arrives. So a member of a structure that
 * the wire does not carry is lost here, too. Its arguments are those of share-simulation/seeds.h.
 */
#include <stdlib.h>

#include "share-simulation/seeds.h"

enum { SEEDS = 600 };

static struct names names;
static struct record_memory memory;
static struct buffer buffer;

/* What cannot be encoded or decoded is a failure, and not a message that was lost. */
static void must(const char *what, int err)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(-err));
	abort();
}

struct record *sent_record(const struct record *record)
{
	struct sim *cores = sim_of_memory;
	char subject[SUBJECT_MAX];
	struct record arrived;

	sim_of_memory = NULL;
	must("a subject", record_subject(subject, &names, record));
	must("a record", record_encode(&buffer, record));
	/* Its number is known when it is stored. */
	must(subject, record_decode(&arrived, &memory, &names, subject, UINT64_MAX,
				    (struct bytes){ buffer.bytes, buffer.len }));
	arrived.seq = record->seq;
	sim_of_memory = cores;
	return copy_of_record(&arrived);
}

struct message *sent_message(const struct message *message)
{
	struct sim *cores = sim_of_memory;
	struct message arrived;

	sim_of_memory = NULL;
	must("a message", message_encode(&buffer, message));
	must("a message that arrives",
	     message_decode(&arrived, &memory, (struct bytes){ buffer.bytes, buffer.len }));
	sim_of_memory = cores;
	return copy_of_message(&arrived);
}

void name_key(struct key_hash *hash, const char *name, int key)
{
	(void)key;
	must(name, key_hash_of(hash, (struct bytes){ name, strlen(name) }));
}

int main(int argc, char **argv)
{
	must("names", names_init(&names, "q"));
	if (!trace_seed(argc, argv))
		run_seeds(argc, argv, SEEDS);
	record_memory_free(&memory);
	free(buffer.bytes);
	return done_testing();
}
