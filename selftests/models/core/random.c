// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random sequences of operations, as TAP.
 *
 * random OPERATIONS SEED: runs this many operations, in sequences from this seed on.
 *
 * random --corpus FOLDER NUMBER: writes this many sequences to files, as seeds for the
 * fuzzer.
 *
 * random --file FILE: runs the sequence of a file that the fuzzer left.
 *
 * KWQ_SOAK_SECONDS in the environment makes it continue for at least that time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "random.h"
#include "sequence.h"

#define LONGEST	512

/*
 * Sequences differ in their content: some have only a few kinds of operations, some
 * only a few items, some a clock that hardly moves. Interactions of two operations show
 * soonest when little else happens.
 */
static size_t make(u64 seed, struct op ops[LONGEST])
{
	u64 state = seed;
	u64 shape = random_next(&state);
	size_t nr = 1 + random_next(&state) % (shape & 1 ? LONGEST : 32);
	u8 items = 1 + (shape >> 1) % 5;
	u8 favourites[6];
	size_t i;

	for (i = 0; i < sizeof(favourites); i++)
		favourites[i] = random_next(&state);
	for (i = 0; i < nr; i++) {
		u64 value = random_next(&state);
		u64 more = random_next(&state);

		ops[i].kind = shape & 16 && more & 3 ? favourites[(more >> 2) % 6] : value;
		ops[i].who = (value >> 8) % items + 5 * ((value >> 16) % 3);
		ops[i].priority = shape & 32 ? value >> 24 | 0x80 : value >> 24;
		ops[i].how = value >> 32;
		ops[i].value = more >> 32;
		/* A short time, so that much may happen afterwards. */
		if (shape & 64 && ops[i].value % 16 < 5 && ops[i].value % 16 > 1)
			ops[i].value |= 8;
	}
	return nr;
}

/* A sequence takes less than a millisecond. One that takes this many seconds never ends. */
#define STUCK_SECONDS	60

enum verdict { AGREE, DIFFER, DIE };

/* Runs a sequence in a child process, which may crash. */
static enum verdict run_apart(const struct op *ops, size_t nr, struct difference *difference,
			      unsigned int seconds)
{
	pid_t child = fork();
	int status;

	if (child < 0) {
		perror("fork");
		exit(2);
	}
	if (!child) {
		alarm(seconds);
		_exit(sequence_run(ops, nr, difference) ? AGREE : DIFFER);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : DIE;
}

static bool fails(const struct op *ops, size_t nr)
{
	struct difference difference;

	return run_apart(ops, nr, &difference, 1) != AGREE;
}

static void explain(const char *of, struct op *ops, size_t nr)
{
	struct difference difference;

	nr = sequence_shrink(ops, nr, fails);
	if (run_apart(ops, nr, &difference, STUCK_SECONDS) == DIE) {
		printf("# the last operation does not come to its end, in the sequence of %s", of);
		printf(", shrunk to %zu operations:\n", nr);
		fflush(stdout);
		sequence_print(stdout, ops, nr, "found_at_random", NULL);
		return;
	}
	sequence_run(ops, nr, &difference);
	if (difference.what[0])
		printf("# %s is ", difference.what);
	else
		printf("# the last operation answers ");
	printf("%lld and not %lld, in the sequence of %s, shrunk to %zu operations:\n",
	       difference.got, difference.wanted, of, nr);
	sequence_print(stdout, ops, nr, "found_at_random", &difference);
}

/* The progress of a run, reported to the process that waits for it. */
struct progress {
	u64 seed;
	u64 operations;
	u64 sequences;
};

static void run_many(u64 operations, time_t end, struct progress *progress)
{
	struct op ops[LONGEST];
	struct difference difference;
	size_t nr;

	while (progress->operations < operations || time(NULL) < end) {
		alarm(STUCK_SECONDS);
		nr = make(progress->seed, ops);
		if (!sequence_run(ops, nr, &difference))
			_exit(DIFFER);
		progress->operations += nr;
		progress->sequences++;
		progress->seed++;
	}
	_exit(AGREE);
}

static int run(u64 operations, u64 seed)
{
	struct progress *progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct op ops[LONGEST];
	const char *soak = getenv("KWQ_SOAK_SECONDS");
	time_t end = soak ? time(NULL) + atol(soak) : 0;
	char of[32];
	int status;
	pid_t child;

	if (progress == MAP_FAILED) {
		perror("mmap");
		return 2;
	}
	progress->seed = seed;
	child = fork();
	if (child < 0) {
		perror("fork");
		return 2;
	}
	if (!child)
		run_many(operations, end, progress);
	waitpid(child, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != AGREE) {
		printf("not ok 1 - core and model agree\n1..1\n");
		fflush(stdout);
		snprintf(of, sizeof(of), "seed %llu", (unsigned long long)progress->seed);
		explain(of, ops, make(progress->seed, ops));
		return 1;
	}
	printf("# %llu operations in %llu sequences\n", (unsigned long long)progress->operations,
	       (unsigned long long)progress->sequences);
	if (soak)
		printf("# soak: operations %llu\n", (unsigned long long)progress->operations);
	printf("ok 1 - core and model agree\n1..1\n");
	return 0;
}

static int run_file(const char *path)
{
	struct op ops[2 * LONGEST];
	FILE *file = fopen(path, "r");
	size_t nr;

	if (!file) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return 2;
	}
	nr = fread(ops, sizeof(*ops), 2 * LONGEST, file);
	fclose(file);
	if (!fails(ops, nr)) {
		printf("# core and model agree\n");
		return 0;
	}
	explain(path, ops, nr);
	return 1;
}

static int corpus(const char *folder, u64 number)
{
	struct op ops[LONGEST];
	char path[4096];
	FILE *file;
	size_t nr;
	u64 seed;

	for (seed = 0; seed < number; seed++) {
		nr = make(seed, ops);
		snprintf(path, sizeof(path), "%s/%llu", folder, (unsigned long long)seed);
		file = fopen(path, "w");
		if (!file || fwrite(ops, sizeof(*ops), nr, file) != nr || fclose(file)) {
			fprintf(stderr, "%s: %s\n", path, strerror(errno));
			return 1;
		}
	}
	return 0;
}

static bool number(const char *text, u64 *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	return text[0] >= '0' && text[0] <= '9' && !*end && !errno;
}

int main(int argc, char **argv)
{
	u64 first, second;

	if (argc == 4 && !strcmp(argv[1], "--corpus") && number(argv[3], &first))
		return corpus(argv[2], first);
	if (argc == 3 && !strcmp(argv[1], "--file"))
		return run_file(argv[2]);
	if (argc == 3 && number(argv[1], &first) && number(argv[2], &second))
		return run(first, second);
	fprintf(stderr, "usage: random OPERATIONS SEED | --corpus FOLDER NUMBER | --file FILE\n");
	return 2;
}
