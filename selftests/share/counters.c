// SPDX-License-Identifier: GPL-2.0-only
/* The counters in their file, and the rules of the store: see counters.h. */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "counters.h"

struct counters *counters;

/* ---- The file --------------------------------------------------------------- */

uint64_t boot_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

void raise_to(_Atomic uint64_t *counter, uint64_t value)
{
	uint64_t old = atomic_load(counter);

	while (old < value && !atomic_compare_exchange_weak(counter, &old, value))
		;
}

void counters_map(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		err(2, "%s", path);
	counters = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (counters == MAP_FAILED)
		err(2, "%s", path);
	close(fd);
}

void counters_init(const char *path, uint64_t plain, uint64_t delayed)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	size_t size = sizeof(*counters) + (plain + delayed) * sizeof(counters->keys[0]);

	if (fd < 0 || ftruncate(fd, size))
		err(2, "%s", path);
	close(fd);
	counters_map(path);
	counters->nr_plain = plain;
	counters->nr_keys = plain + delayed;
	atomic_store(&counters->next_delayed, plain);
}

/* ---- The store -------------------------------------------------------------- */

/* A process that is about to end closes its queues before it is a zombie. It does nothing else. */
static bool is_process_at_work(uint32_t pid)
{
	enum { EXITING = 4 };
	unsigned int flags;
	char path[32];
	bool is_known;
	FILE *stat;

	if (!pid)
		return false;
	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	stat = fopen(path, "re");
	if (!stat)
		return false;
	/* The name of this program has no space. */
	is_known = fscanf(stat, "%*d %*s %*c %*d %*d %*d %*d %*d %u", &flags) == 1;
	fclose(stat);
	return is_known && !(flags & EXITING);
}

bool (*is_at_work)(uint32_t who) = is_process_at_work;

/*
 * A run registers with the store, which notes its token, unless it knows a higher one. Two
 * living runs with equal tokens cannot be told apart by any store.
 */
void claim_begin(struct claim *claim)
{
	struct key_counters *key = &counters->keys[claim->number];
	uint64_t at = boot_time(), token = claim->token, highest;
	uint32_t before;

	claim->is_late = false;
	if (!claim->is_known)
		return;
	if (!claim->has_wish)
		claim->wanted = atomic_load(&key->wanted);
	atomic_fetch_add(&key->runs, 1);
	atomic_fetch_add(&counters->runs, 1);
	if (!token || (claim->has_wish && !claim->wanted))
		atomic_fetch_add(&counters->untold, 1);
	if (claim->wanted <= atomic_load(&key->seen))
		atomic_fetch_add(&counters->extra, 1);
	if (at < atomic_load(&key->due)) {
		atomic_fetch_add(&counters->early, 1);
		raise_to(&counters->early_by, atomic_load(&key->due) - at);
	}
	before = atomic_load(&key->running);
	highest = atomic_load(&key->token);
	while (highest < token && !atomic_compare_exchange_weak(&key->token, &highest, token))
		;
	if (highest > token) {
		claim->is_late = true;
		atomic_fetch_add(&counters->late_begins, 1);
		return;
	}
	if (highest == token)
		atomic_fetch_add(&counters->same, 1);
	else if (is_at_work(before))
		atomic_fetch_add(&counters->overlaps, 1);
	atomic_store(&key->running, claim->who);
}

/* The store takes what the run found out, unless a run with a higher token has begun. */
void claim_store(struct claim *claim)
{
	if (!claim->is_known || claim->is_late)
		return;
	if (atomic_load(&counters->keys[claim->number].token) != claim->token) {
		claim->is_late = true;
		atomic_fetch_add(&counters->late_stores, 1);
		return;
	}
	raise_to(&counters->keys[claim->number].seen, claim->wanted);
}

/* Leaves the key before others may have it. */
void claim_leave(struct claim *claim)
{
	uint32_t who = claim->who;

	if (claim->is_known)
		atomic_compare_exchange_strong(&counters->keys[claim->number].running, &who, 0);
}

void claim_end(struct claim *claim, bool is_accepted)
{
	if (!claim->is_known)
		return;
	atomic_fetch_add(is_accepted ? &counters->dones : &counters->late_dones, 1);
	/* The kernel says that the key was this run's up to now. So nobody else may have had it. */
	if (is_accepted && claim->is_late)
		atomic_fetch_add(&counters->broken, 1);
	claim_leave(claim);
}

static _Atomic uint64_t *counter_of(const char *name)
{
	if (!strcmp(name, "adds"))
		return &counters->adds;
	if (!strcmp(name, "acks"))
		return &counters->acks;
	if (!strcmp(name, "add_errors"))
		return &counters->add_errors;
	if (!strcmp(name, "retries"))
		return &counters->retries;
	if (!strcmp(name, "deaths"))
		return &counters->deaths;
	if (!strcmp(name, "returns"))
		return &counters->returns;
	return NULL;
}

bool counters_count(const char *name, uint64_t n)
{
	_Atomic uint64_t *counter = counter_of(name);

	if (!counter)
		return false;
	atomic_fetch_add(counter, n);
	return true;
}

/* ---- The verdict ------------------------------------------------------------ */

uint64_t count_left(uint64_t from, uint64_t to, bool is_told)
{
	uint64_t left = 0, i;

	for (i = from; i < to && i < counters->nr_keys; i++) {
		struct key_counters *key = &counters->keys[i];
		uint64_t acked = atomic_load(&key->acked), seen = atomic_load(&key->seen);

		if (acked <= seen)
			continue;
		if (is_told && left < 10)
			printf("# lost: k%llu: acknowledged %llu, seen %llu, %u runs, %s\n",
			       (unsigned long long)i, (unsigned long long)acked,
			       (unsigned long long)seen, atomic_load(&key->runs),
			       i < counters->nr_plain ? "plain" : "delayed");
		left++;
	}
	return left;
}

uint64_t count_acked(uint64_t from, uint64_t to)
{
	uint64_t sum = 0;

	for (; from < to && from < counters->nr_keys; from++)
		sum += atomic_load(&counters->keys[from].acked);
	return sum;
}

static void show_one(const char *name, const _Atomic uint64_t *counter)
{
	printf("# %-12s %llu\n", name, (unsigned long long)atomic_load(counter));
}

void counters_show(void)
{
	show_one("adds", &counters->adds);
	show_one("acks", &counters->acks);
	show_one("add_errors", &counters->add_errors);
	show_one("runs", &counters->runs);
	show_one("extra", &counters->extra);
	show_one("dones", &counters->dones);
	show_one("late_dones", &counters->late_dones);
	show_one("retries", &counters->retries);
	show_one("deaths", &counters->deaths);
	show_one("returns", &counters->returns);
	show_one("early", &counters->early);
	show_one("early_by", &counters->early_by);
	show_one("same", &counters->same);
	show_one("untold", &counters->untold);
	show_one("broken", &counters->broken);
	show_one("late_begins", &counters->late_begins);
	show_one("late_stores", &counters->late_stores);
	show_one("overlaps", &counters->overlaps);
}

int counters_verdict(bool is_quiet)
{
	uint64_t lost = count_left(0, counters->nr_keys, true), broken, refused;

	counters_show();
	broken = atomic_load(&counters->early) + atomic_load(&counters->same) +
		 atomic_load(&counters->untold) + atomic_load(&counters->broken);
	refused = atomic_load(&counters->late_begins) + atomic_load(&counters->late_stores) +
		  atomic_load(&counters->overlaps);
	printf("# lost %llu, overlaps not refused %llu, overlaps refused %llu\n",
	       (unsigned long long)lost,
	       (unsigned long long)(atomic_load(&counters->same) + atomic_load(&counters->broken)),
	       (unsigned long long)refused);
	return lost || broken || (is_quiet && refused) || !atomic_load(&counters->acks);
}
