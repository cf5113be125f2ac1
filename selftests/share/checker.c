// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks a queue that spans machines, by counters outside of the queue: see counters.h. STORE is
 * the file of the counters, or ADDRESS:PORT of its server: see store.h.
 *
 *   checker init FILE PLAIN DELAYED       a new file with that many keys of each kind
 *   checker serve FILE PORT PACE          serve the counters; PORT and PACE are files
 *   checker add STORE QUEUE [OPTION...]   add keys until `checker stop`, or --count
 *   checker work STORE QUEUE [OPTION...]  work; STORE - for a worker that only logs
 *   checker recall STORE QUEUE --keys FROM:TO
 *                                         take all keys out of a queue that is not shared; exit
 *                                         with 1 if an add of FROM to before TO is missing
 *   checker hold FILE                     no run ends before `checker release`
 *   checker release FILE                  let runs end again
 *   checker stop FILE                     end the adders
 *   checker end FILE                      end the machines that wait
 *   checker wait STORE                    wait for `checker end`
 *   checker left FILE [FROM TO]           print how many keys have a wish that no run has seen
 *   checker acked FILE FROM TO            print how many adds of FROM to before TO are
 *                                         acknowledged
 *   checker show FILE                     print the counters
 *   checker verdict FILE [quiet]          exit with 1 if a rule is broken; quiet: no faults
 *   checker speed FILE                    how fast the machine works, of ../machine/pace.h
 *
 * Options of add:
 *   --rate N      adds a second (0: as many as possible)
 *   --count N     end after so many adds
 *   --batch N     adds between two kwq_sync(); an add counts as acknowledged after it
 *   --delayed P   of 100 adds, so many are of delayed keys
 *   --delay MS    their longest delay
 *   --keys FROM:TO  only the plain keys from FROM to before TO. No other machine adds these. So
 *                 their values grow, and name the wish. An adder begins when all acknowledged adds
 *                 of these keys have run: a lost one stays missing.
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
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <kwq.h>

#include "../machine/pace.h"
#include "store.h"

#define NS_PER_S 1000000000ULL
#define NS_PER_MS 1000000ULL
/* How often a file or a queue is looked for. */
#define LOOK_AGAIN_US 20000
/* A longer wait for adds to be acknowledged is begun anew. */
#define SYNC_NS (60 * NS_PER_S)

enum { BATCH_MAX = 8192, WORKERS_MAX = 64 };

static struct {
	unsigned int rate, batch, delayed, delay_ms;
	uint64_t count;
	uint64_t from, to;
	unsigned int workers, ms, retry, give_back, die;
	const char *name, *log, *hold, *fail;
} options = {
	.batch = 16, .delay_ms = 2000, .workers = 2, .name = "-",
};

static int log_fd = -1;
static uint64_t random_state;

/* ---- Chance, the queue ------------------------------------------------------ */

static void seed(void)
{
	random_state = boot_time() ^ (uint64_t)getpid() << 32;
}

/* A number below @limit, which is not 0. */
static uint64_t chance(uint64_t limit)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (random_state >> 33) % limit;
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

/* @is_added: the queue took it. */
struct wish {
	uint64_t number, wanted;
	bool is_added;
};

/* Returns false if no delayed key is left. */
static bool add_delayed(struct kwq *q, struct wish *wish)
{
	uint64_t delay = (1 + chance(options.delay_ms)) * NS_PER_MS;
	char name[32];
	int len;

	wish->number = atomic_fetch_add(&counters->next_delayed, 1);
	if (wish->number >= counters->nr_keys)
		return false;
	len = snprintf(name, sizeof(name), "k%llu", (unsigned long long)wish->number);
	/* The queue counts the delay from its call, which is later. */
	atomic_store(&counters->keys[wish->number].due, boot_time() + delay);
	wish->wanted = store_want(wish->number);
	wish->is_added = kwq_add_after(q, name, len, delay) >= 0;
	return true;
}

static void add_plain(struct kwq *q, struct wish *wish)
{
	uint64_t number = options.from + chance(options.to - options.from);
	struct kwq_add_options add = { .size = sizeof(add) };
	char name[32], value[64];
	int len = snprintf(name, sizeof(name), "k%llu", (unsigned long long)number);

	wish->number = number;
	wish->wanted = store_want(number);
	if (store_is_remote() || !(number & 1)) {
		add.flags |= KWQ_ADD_VALUE;
		add.value = value;
		add.value_len = snprintf(value, sizeof(value), "%s %llu", name,
					 (unsigned long long)wish->wanted);
	}
	if (!(number & 2)) {
		add.flags |= KWQ_ADD_PRIORITY;
		add.priority = chance(3);
	}
	wish->is_added = kwq_add_with(q, name, len, &add) >= 0;
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
		errors += !wish->is_added;
	}
	store_count("adds", nr - errors);
	store_count("add_errors", errors);
	/* The changes of the queue are kept when they are in the stream. */
	do {
		ret = kwq_sync_within(q, SYNC_NS);
	} while (ret == -ETIMEDOUT || ret == -EINTR);
	if (ret)
		return false;
	for (i = 0; i < nr; i++)
		if (wishes[i].is_added)
			store_acked(wishes[i].number, wishes[i].wanted);
	store_count("acks", nr - errors);
	return !errors || !kwq_shutting_down(q);
}

static void add(const char *queue)
{
	struct kwq *q = open_queue(queue);
	uint64_t began, added = 0;

	seed();
	while (store_is_remote() && !store_stage() && store_left(options.from, options.to))
		usleep(10 * LOOK_AGAIN_US);
	began = boot_time();
	while (!store_stage() && (!options.count || added < options.count)) {
		if (!add_batch(q)) {
			kwq_close(q);
			q = open_queue(queue);
		}
		added += options.batch;
		while (options.rate && boot_time() < began + added * NS_PER_S / options.rate)
			usleep(1000);
	}
}

/* ---- Workers ---------------------------------------------------------------- */

/* A run of a worker. */
struct run {
	struct claim claim;
	struct kwq_item item;
	char data[KWQ_KEY_MAX + KWQ_GROUP_MAX + KWQ_VALUE_MAX];
};

/* The wish that the value names, or 0. */
static uint64_t wish_of(const struct run *run)
{
	unsigned long long number, wanted;
	char value[64], end;

	if (run->item.value_len >= sizeof(value))
		return 0;
	memcpy(value, run->data + run->item.key_len + run->item.group_len, run->item.value_len);
	value[run->item.value_len] = '\0';
	if (sscanf(value, "k%llu %llu%c", &number, &wanted, &end) != 2 ||
	    number != run->claim.number)
		return 0;
	return wanted;
}

static void claim(struct run *run)
{
	unsigned long long number;
	char name[32], end;

	run->claim = (struct claim) { .token = run->item.token };
	if (!store_is_open() || run->item.key_len >= sizeof(name))
		return;
	memcpy(name, run->data, run->item.key_len);
	name[run->item.key_len] = '\0';
	if (sscanf(name, "k%llu%c", &number, &end) != 1 ||
	    (!store_is_remote() && number >= counters->nr_keys))
		return;
	run->claim.number = number;
	run->claim.is_known = true;
	if (store_is_remote()) {
		run->claim.has_wish = true;
		run->claim.wanted = wish_of(run);
	}
}

/* One write, so that lines of several processes do not mix. */
static void tell(const char *what, const struct run *run)
{
	const struct kwq_item *item = &run->item;
	uint64_t at = boot_time();
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

static bool exists(const char *path)
{
	return path && !access(path, F_OK);
}

static void work_on(struct kwq *q, struct run *run)
{
	uint64_t kind = chance(1000);
	int ret;

	claim(run);
	store_begin(&run->claim);
	tell("begin", run);
	if (options.ms)
		usleep(chance(options.ms * 1000));
	while (exists(options.hold))
		usleep(LOOK_AGAIN_US);
	while (store_is_held())
		usleep(10 * LOOK_AGAIN_US);
	if (kind < options.die) {
		if (run->claim.is_known)
			store_count("deaths", 1);
		_exit(0);
	}
	if (exists(options.fail) || kind < options.die + options.retry) {
		if (run->claim.is_known)
			store_count("retries", 1);
		ret = kwq_add_rate_limited(q, run->data, run->item.key_len);
		tell("retry", run);
		if (ret < 0)
			return;
		store_leave(&run->claim);
		ret = kwq_done(q, run->item.ticket);
	} else if (kind < options.die + options.retry + options.give_back) {
		if (run->claim.is_known)
			store_count("returns", 1);
		tell("return", run);
		store_leave(&run->claim);
		ret = kwq_give_back(q, run->item.ticket);
	} else {
		store_store(&run->claim);
		tell("end", run);
		/* From the done on, another process may have the key. */
		store_leave(&run->claim);
		ret = kwq_done_with(q, run->item.ticket, KWQ_DONE_FORGET);
	}
	store_end(&run->claim, ret >= 0);
	if (ret >= 0 && run->claim.is_known && run->claim.is_late)
		tell("broken", run);
	if (ret < 0)
		tell("late", run);
}

static void work(const char *queue)
{
	struct kwq *q = open_queue(queue);
	static struct run run;
	int ret;

	seed();
	store_open_again();
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

/* ---- Other commands --------------------------------------------------------- */

/* Its keys have no tokens. Nobody else works on them. */
static bool recall(const char *queue)
{
	struct kwq *q = open_queue(queue);
	static struct run run;
	uint64_t left;
	int ret;

	while (!(ret = kwq_get_value_within(q, &run.item, run.data, sizeof(run.data), 0))) {
		claim(&run);
		if (run.claim.is_known)
			store_seen(run.claim.number, run.claim.wanted);
		ret = kwq_done(q, run.item.ticket);
		if (ret)
			break;
	}
	if (ret != -ETIMEDOUT)
		errx(2, "%s: %s", queue, strerror(-ret));
	kwq_close(q);
	left = store_left(options.from, options.to);
	if (left)
		printf("# %s: %llu keys lack their last acknowledged add\n", queue,
		       (unsigned long long)left);
	return !left;
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
	OPT_KEYS,
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
	{ "keys", required_argument, NULL, OPT_KEYS },
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

static void take_keys(void)
{
	unsigned long long from, to;
	char end;

	if (sscanf(optarg, "%llu:%llu%c", &from, &to, &end) != 2 || from >= to)
		errx(2, "%s: FROM:TO", optarg);
	options.from = from;
	options.to = to;
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
	case OPT_KEYS:
		take_keys();
		break;
	default:
		errx(2, "see checker.c for the usage");
	}
}

static void print_left(int argc, char **argv)
{
	bool is_range = argc == 5;
	uint64_t from = is_range ? strtoull(argv[3], NULL, 10) : 0;
	uint64_t to = is_range ? strtoull(argv[4], NULL, 10) : counters->nr_keys;

	printf("%llu\n", (unsigned long long)count_left(from, to, false));
}

/* Adds, works and recalls. Returns the exit status. */
static int take_part(const char *role, int argc, char **argv)
{
	int opt;

	store_open(argv[2]);
	if (counters)
		options.to = counters->nr_plain;
	optind = 4;
	while ((opt = getopt_long(argc, argv, "+", long_options, NULL)) != -1)
		take_option(opt);
	if (!strcmp(role, "work"))
		work_all(argv[3]);
	if (options.from >= options.to || (store_is_remote() && options.delayed))
		errx(2, "adds need a store; a server needs --keys, and has no delayed keys");
	if (!strcmp(role, "recall"))
		return !recall(argv[3]);
	add(argv[3]);
	return 0;
}

int main(int argc, char **argv)
{
	const char *role = argc > 2 ? argv[1] : "", *file = argv[2];
	int status = 0;

	if (!strcmp(role, "init") && argc == 5) {
		counters_init(file, strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10));
		return 0;
	}
	if (!strcmp(role, "speed")) {
		speed(file);
		return 0;
	}
	if ((!strcmp(role, "add") || !strcmp(role, "work") || !strcmp(role, "recall")) && argc > 3)
		return take_part(role, argc, argv);
	if (!strcmp(role, "wait")) {
		store_open(file);
		while (store_stage() < 2)
			usleep(10 * LOOK_AGAIN_US);
		return 0;
	}
	counters_map(file);
	if (!strcmp(role, "serve") && argc == 5)
		serve(argv[3], argv[4]);
	else if (!strcmp(role, "hold"))
		atomic_store(&counters->is_held, 1);
	else if (!strcmp(role, "release"))
		atomic_store(&counters->is_held, 0);
	else if (!strcmp(role, "stop"))
		atomic_store(&counters->stage, 1);
	else if (!strcmp(role, "end"))
		atomic_store(&counters->stage, 2);
	else if (!strcmp(role, "left"))
		print_left(argc, argv);
	else if (!strcmp(role, "acked") && argc == 5)
		printf("%llu\n", (unsigned long long)count_acked(strtoull(argv[3], NULL, 10),
								 strtoull(argv[4], NULL, 10)));
	else if (!strcmp(role, "show"))
		counters_show();
	else if (!strcmp(role, "verdict"))
		status = counters_verdict(argc > 3 && !strcmp(argv[3], "quiet"));
	else
		errx(2, "see checker.c for the usage");
	return status;
}
