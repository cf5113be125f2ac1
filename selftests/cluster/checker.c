// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks a queue that spans machines, by counters outside of the queue: see counters.h.
 *
 *   checker init FILE PLAIN DELAYED       a new file with that many keys of each kind
 *   checker add FILE QUEUE [OPTION...]    add keys until `checker stop`, or --count
 *   checker work FILE QUEUE [OPTION...]   work; FILE - for a worker that only logs
 *   checker stop FILE                     end the adders
 *   checker left FILE                     print how many keys have a wish that no run has seen
 *   checker show FILE                     print the counters
 *   checker verdict FILE [quiet]          exit with 1 if a rule is broken; quiet: no faults
 *   checker speed FILE                    how fast the machine works, of ../vm/pace.h
 *
 * Options of add:
 *   --rate N      adds a second (0: as many as possible)
 *   --count N     end after so many adds
 *   --batch N     adds between two kwq_sync(); an add counts as acknowledged after it
 *   --delayed P   of 100 adds, so many are of delayed keys
 *   --delay MS    their longest delay
 *
 * Options of work:
 *   --workers N   processes
 *   --ms N        longest time of a run
 *   --retry P, --return P, --die P   of 1000 runs, so many end so
 *   --name NAME   what the log calls this machine
 *   --log FILE    write a line for each begin and end of a run
 *   --hold FILE   a run does not end while this file exists
 *   --fail FILE   a run ends with AddRateLimited while this file exists
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <kwq.h>

#include "../vm/pace.h"
#include "counters.h"

#define NS_PER_S 1000000000ULL
#define NS_PER_MS 1000000ULL
/* How often a file or a queue is looked for. */
#define LOOK_AGAIN_US 20000
/* A longer wait for adds to be acknowledged is begun anew. */
#define SYNC_NS (60 * NS_PER_S)

enum { BATCH_MAX = 8192, WORKERS_MAX = 64 };

static struct counters *counters;

static struct {
	unsigned int rate, batch, delayed, delay_ms;
	uint64_t count;
	unsigned int workers, ms, retry, give_back, die;
	const char *name, *log, *hold, *fail;
} options = {
	.batch = 16, .delay_ms = 2000, .workers = 2, .name = "-",
};

static int log_fd = -1;
static uint64_t random_state;

/* ---- Time, chance, the file ------------------------------------------------- */

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static void seed(void)
{
	random_state = now() ^ (uint64_t)getpid() << 32;
}

/* A number below @limit, which is not 0. */
static uint64_t chance(uint64_t limit)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (random_state >> 33) % limit;
}

static void raise_to(_Atomic uint64_t *counter, uint64_t value)
{
	uint64_t old = atomic_load(counter);

	while (old < value && !atomic_compare_exchange_weak(counter, &old, value))
		;
}

static void map(const char *path)
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

static void init(const char *path, uint64_t plain, uint64_t delayed)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	size_t size = sizeof(*counters) + (plain + delayed) * sizeof(counters->keys[0]);

	if (fd < 0 || ftruncate(fd, size))
		err(2, "%s", path);
	close(fd);
	map(path);
	counters->nr_plain = plain;
	counters->nr_keys = plain + delayed;
	atomic_store(&counters->next_delayed, plain);
}

/* The queue may not be there yet. */
static struct kwq *open_queue(const char *name)
{
	struct kwq *q;
	int ret;

	while ((ret = kwq_open(&q, name, KWQ_RIGHTS_ALL, O_CLOEXEC)) == -ENOENT)
		usleep(LOOK_AGAIN_US);
	if (ret)
		errx(2, "%s: %s", name, strerror(-ret));
	return q;
}

/* ---- Adders ----------------------------------------------------------------- */

struct wish {
	struct key_counters *key;
	uint64_t wanted;
};

/* Returns false if no delayed key is left. */
static bool add_delayed(struct kwq *q, struct wish *wish)
{
	uint64_t number = atomic_fetch_add(&counters->next_delayed, 1);
	uint64_t delay = (1 + chance(options.delay_ms)) * NS_PER_MS;
	char name[32];
	int len, ret;

	if (number >= counters->nr_keys)
		return false;
	len = snprintf(name, sizeof(name), "k%llu", (unsigned long long)number);
	wish->key = &counters->keys[number];
	/* The queue counts the delay from its call, which is later. */
	atomic_store(&wish->key->due, now() + delay);
	wish->wanted = atomic_fetch_add(&wish->key->wanted, 1) + 1;
	ret = kwq_add_after(q, name, len, delay);
	if (ret < 0)
		wish->key = NULL;
	return true;
}

static void add_plain(struct kwq *q, struct wish *wish)
{
	uint64_t number = chance(counters->nr_plain);
	struct kwq_add_options add = { .size = sizeof(add) };
	char name[32], value[64];
	int len = snprintf(name, sizeof(name), "k%llu", (unsigned long long)number);
	int ret;

	wish->key = &counters->keys[number];
	wish->wanted = atomic_fetch_add(&wish->key->wanted, 1) + 1;
	if (!(number & 1)) {
		add.flags |= KWQ_ADD_VALUE;
		add.value = value;
		add.value_len = snprintf(value, sizeof(value), "%s %llu", name,
					 (unsigned long long)wish->wanted);
	}
	if (!(number & 2)) {
		add.flags |= KWQ_ADD_PRIORITY;
		add.priority = chance(3);
	}
	ret = kwq_add_with(q, name, len, &add);
	if (ret < 0)
		wish->key = NULL;
}

/* Returns false if the queue is gone. */
static bool add_batch(struct kwq *q)
{
	struct wish wishes[BATCH_MAX];
	unsigned int i, nr = 0, errors = 0;
	int ret;

	while (nr < options.batch) {
		struct wish *wish = &wishes[nr++];

		if (chance(100) >= options.delayed || !add_delayed(q, wish))
			add_plain(q, wish);
		errors += !wish->key;
	}
	atomic_fetch_add(&counters->adds, nr - errors);
	atomic_fetch_add(&counters->add_errors, errors);
	/* The changes of the queue are kept when they are in the stream. */
	do {
		ret = kwq_sync_within(q, SYNC_NS);
	} while (ret == -ETIMEDOUT || ret == -EINTR);
	if (ret)
		return false;
	for (i = 0; i < nr; i++)
		if (wishes[i].key)
			raise_to(&wishes[i].key->acked, wishes[i].wanted);
	atomic_fetch_add(&counters->acks, nr - errors);
	return !errors || !kwq_shutting_down(q);
}

static void add(const char *queue)
{
	struct kwq *q = open_queue(queue);
	uint64_t began = now(), added = 0;

	seed();
	while (!atomic_load(&counters->stopped) && (!options.count || added < options.count)) {
		if (!add_batch(q)) {
			kwq_close(q);
			q = open_queue(queue);
		}
		added += options.batch;
		while (options.rate && now() < began + added * NS_PER_S / options.rate)
			usleep(1000);
	}
}

/* ---- Workers ---------------------------------------------------------------- */

/* A run of a worker. @key is NULL for a key without counters. */
struct run {
	struct key_counters *key;
	struct kwq_item item;
	char data[KWQ_KEY_MAX + KWQ_GROUP_MAX + KWQ_VALUE_MAX];
	uint64_t wanted;
	bool is_late;
};

static struct key_counters *counters_of(const struct run *run)
{
	unsigned long long number;
	char name[32], end;

	if (!counters || run->item.key_len >= sizeof(name))
		return NULL;
	memcpy(name, run->data, run->item.key_len);
	name[run->item.key_len] = '\0';
	if (sscanf(name, "k%llu%c", &number, &end) != 1 || number >= counters->nr_keys)
		return NULL;
	return &counters->keys[number];
}

/* One write, so that lines of several processes do not mix. */
static void tell(const char *what, const struct run *run)
{
	const struct kwq_item *item = &run->item;
	uint64_t at = now();
	char line[512];
	int len;

	if (log_fd < 0)
		return;
	len = snprintf(line, sizeof(line),
		       "%llu.%03llu %s %s %.*s token=%llu requeues=%u priority=%d group=%.*s value=%.*s\n",
		       at / NS_PER_S, at % NS_PER_S / NS_PER_MS, options.name, what,
		       (int)item->key_len, run->data, (unsigned long long)item->token,
		       item->requeues, item->priority, (int)item->group_len,
		       run->data + item->key_len, (int)item->value_len,
		       run->data + item->key_len + item->group_len);
	if (len >= (int)sizeof(line))
		errx(2, "a key, group or value is too long for a line of the log");
	if (write(log_fd, line, len) != len)
		err(2, "%s", options.log);
}

/* A process that is about to end closes its queues before it is a zombie. It does nothing else. */
static bool is_alive(uint32_t pid)
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

/*
 * A run registers with the store, which notes its token, unless it knows a higher one. Two
 * living runs with equal tokens cannot be told apart by any store.
 */
static void begin(struct run *run)
{
	struct key_counters *key = run->key = counters_of(run);
	uint64_t at = now(), token = run->item.token, highest;
	uint32_t before;

	run->is_late = false;
	if (!key)
		return;
	run->wanted = atomic_load(&key->wanted);
	atomic_fetch_add(&key->runs, 1);
	atomic_fetch_add(&counters->runs, 1);
	if (!token)
		atomic_fetch_add(&counters->untold, 1);
	if (run->wanted == atomic_load(&key->seen))
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
		run->is_late = true;
		atomic_fetch_add(&counters->late_begins, 1);
		return;
	}
	if (highest == token)
		atomic_fetch_add(&counters->same, 1);
	else if (is_alive(before))
		atomic_fetch_add(&counters->overlaps, 1);
	atomic_store(&key->running, getpid());
}

/* The store takes what the run found out, unless a run with a higher token has begun. */
static void store(struct run *run)
{
	if (!run->key)
		return;
	if (run->is_late || atomic_load(&run->key->token) != run->item.token) {
		if (!run->is_late)
			atomic_fetch_add(&counters->late_stores, 1);
		return;
	}
	raise_to(&run->key->seen, run->wanted);
}

static void note_end(struct run *run, int ret)
{
	uint32_t self = getpid();

	if (!run->key)
		return;
	if (ret < 0)
		atomic_fetch_add(&counters->late_dones, 1);
	else
		atomic_fetch_add(&counters->dones, 1);
	/* The kernel says that the key was this run's up to now. So nobody else may have had it. */
	if (ret >= 0 && run->is_late) {
		atomic_fetch_add(&counters->broken, 1);
		tell("broken", run);
	}
	atomic_compare_exchange_strong(&run->key->running, &self, 0);
}

static bool exists(const char *path)
{
	return path && !access(path, F_OK);
}

/* Leaves the key before others may have it. */
static void leave(struct run *run)
{
	uint32_t self = getpid();

	if (run->key)
		atomic_compare_exchange_strong(&run->key->running, &self, 0);
}

static void work_on(struct kwq *q, struct run *run)
{
	uint64_t kind = chance(1000);
	int ret;

	begin(run);
	tell("begin", run);
	if (options.ms)
		usleep(chance(options.ms * 1000));
	while (exists(options.hold))
		usleep(LOOK_AGAIN_US);
	if (kind < options.die) {
		atomic_fetch_add(&counters->deaths, 1);
		_exit(0);
	}
	if (exists(options.fail) || kind < options.die + options.retry) {
		if (run->key)
			atomic_fetch_add(&counters->retries, 1);
		ret = kwq_add_rate_limited(q, run->data, run->item.key_len);
		tell("retry", run);
		if (ret < 0)
			return;
		leave(run);
		ret = kwq_done(q, run->item.ticket);
	} else if (kind < options.die + options.retry + options.give_back) {
		atomic_fetch_add(&counters->returns, 1);
		tell("return", run);
		leave(run);
		ret = kwq_give_back(q, run->item.ticket);
	} else {
		store(run);
		tell("end", run);
		/* From the done on, another process may have the key. */
		leave(run);
		ret = kwq_done_with(q, run->item.ticket, KWQ_DONE_FORGET);
	}
	note_end(run, ret);
	if (ret < 0)
		tell("late", run);
}

static void work(const char *queue)
{
	struct kwq *q = open_queue(queue);
	static struct run run;
	int ret;

	seed();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		ret = kwq_get_value_within(q, &run.item, run.data, sizeof(run.data), NS_PER_S);
		if (!ret) {
			work_on(q, &run);
		} else if (ret == -ESHUTDOWN) {
			kwq_close(q);
			q = open_queue(queue);
		} else if (ret != -ETIMEDOUT && ret != -EINTR) {
			errx(2, "%s: %s", queue, strerror(-ret));
		}
	}
}

/* A worker that dies is replaced. */
static void work_all(const char *queue)
{
	unsigned int nr = 0;
	int status;
	pid_t pid;

	if (options.log) {
		log_fd = open(options.log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
		if (log_fd < 0)
			err(2, "%s", options.log);
	}
	for (;;) {
		while (nr < options.workers) {
			pid = fork();
			if (pid < 0)
				err(2, "fork");
			if (!pid)
				work(queue);
			nr++;
		}
		if (wait(&status) > 0)
			nr--;
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			errx(2, "a worker ended with status %#x", status);
	}
}

/* ---- The verdict ------------------------------------------------------------ */

static uint64_t count_left(bool is_told)
{
	uint64_t left = 0, i;

	for (i = 0; i < counters->nr_keys; i++) {
		struct key_counters *key = &counters->keys[i];
		uint64_t acked = atomic_load(&key->acked), seen = atomic_load(&key->seen);

		if (acked <= seen)
			continue;
		if (is_told && left < 10)
			printf("# lost: k%llu: %llu adds are acknowledged, %llu seen, %u runs, %s\n",
			       (unsigned long long)i, (unsigned long long)acked,
			       (unsigned long long)seen, atomic_load(&key->runs),
			       i < counters->nr_plain ? "plain" : "delayed");
		left++;
	}
	return left;
}

static void show_one(const char *name, const _Atomic uint64_t *counter)
{
	printf("# %-12s %llu\n", name, (unsigned long long)atomic_load(counter));
}

static void show(void)
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

static int verdict(bool is_quiet)
{
	uint64_t lost = count_left(true), broken, refused;

	show();
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

static void speed(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct pace pace;

	if (fd < 0 || read(fd, &pace, sizeof(pace)) != sizeof(pace))
		err(2, "%s", path);
	close(fd);
	printf("%.3f\n", pace.speed > 0 ? pace.speed : 1);
}

/* ---- The command ------------------------------------------------------------ */

enum {
	OPT_RATE = 256, OPT_COUNT, OPT_BATCH, OPT_DELAYED, OPT_DELAY, OPT_WORKERS, OPT_MS,
	OPT_RETRY, OPT_RETURN, OPT_DIE, OPT_NAME, OPT_LOG, OPT_HOLD, OPT_FAIL,
};

static const struct option long_options[] = {
	{ "rate", required_argument, NULL, OPT_RATE },
	{ "count", required_argument, NULL, OPT_COUNT },
	{ "batch", required_argument, NULL, OPT_BATCH },
	{ "delayed", required_argument, NULL, OPT_DELAYED },
	{ "delay", required_argument, NULL, OPT_DELAY },
	{ "workers", required_argument, NULL, OPT_WORKERS },
	{ "ms", required_argument, NULL, OPT_MS },
	{ "retry", required_argument, NULL, OPT_RETRY },
	{ "return", required_argument, NULL, OPT_RETURN },
	{ "die", required_argument, NULL, OPT_DIE },
	{ "name", required_argument, NULL, OPT_NAME },
	{ "log", required_argument, NULL, OPT_LOG },
	{ "hold", required_argument, NULL, OPT_HOLD },
	{ "fail", required_argument, NULL, OPT_FAIL },
	{ }
};

static unsigned int number(unsigned int min, unsigned int max)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(optarg, &end, 10);
	if (errno || *end || end == optarg || value < min || value > max)
		errx(2, "%s: from %u to %u", optarg, min, max);
	return value;
}

static void take_option(int opt)
{
	switch (opt) {
	case OPT_RATE:
		options.rate = number(0, 1000000);
		break;
	case OPT_COUNT:
		options.count = number(0, UINT32_MAX);
		break;
	case OPT_BATCH:
		options.batch = number(1, BATCH_MAX);
		break;
	case OPT_DELAYED:
		options.delayed = number(0, 100);
		break;
	case OPT_DELAY:
		options.delay_ms = number(1, 1000000);
		break;
	case OPT_WORKERS:
		options.workers = number(1, WORKERS_MAX);
		break;
	case OPT_MS:
		options.ms = number(0, 1000000);
		break;
	case OPT_RETRY:
		options.retry = number(0, 1000);
		break;
	case OPT_RETURN:
		options.give_back = number(0, 1000);
		break;
	case OPT_DIE:
		options.die = number(0, 1000);
		break;
	case OPT_NAME:
		options.name = optarg;
		break;
	case OPT_LOG:
		options.log = optarg;
		break;
	case OPT_HOLD:
		options.hold = optarg;
		break;
	case OPT_FAIL:
		options.fail = optarg;
		break;
	default:
		errx(2, "see checker.c for the usage");
	}
}

int main(int argc, char **argv)
{
	const char *role = argc > 2 ? argv[1] : "", *file = argv[2];
	int opt, status = 0;

	if (!strcmp(role, "init") && argc == 5) {
		init(file, strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10));
		return 0;
	}
	if (!strcmp(role, "speed")) {
		speed(file);
		return 0;
	}
	if (argc > 2 && strcmp(file, "-"))
		map(file);
	if (!strcmp(role, "stop")) {
		atomic_store(&counters->stopped, 1);
	} else if (!strcmp(role, "left")) {
		printf("%llu\n", (unsigned long long)count_left(false));
	} else if (!strcmp(role, "show")) {
		show();
	} else if (!strcmp(role, "verdict")) {
		status = verdict(argc > 3 && !strcmp(argv[3], "quiet"));
	} else {
		optind = 4;
		while ((opt = getopt_long(argc, argv, "+", long_options, NULL)) != -1)
			take_option(opt);
		if (!strcmp(role, "add") && argc > 3)
			add(argv[3]);
		else if (!strcmp(role, "work") && argc > 3)
			work_all(argv[3]);
		else
			errx(2, "see checker.c for the usage");
	}
	return status;
}
