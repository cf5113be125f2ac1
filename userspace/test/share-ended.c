// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Subscriptions and engines that end while messages come. "share-ended stress ROUNDS" does so at
 * random for longer, for instance under a sanitizer.
 *
 * The first tests stop the reader of libnats between its look at the table of subscriptions and its
 * use of one. libnats calls the filter of a connection there, before 3.6. Later it calls it before
 * the look, and holds the subscription. Freed memory is overwritten, so its use ends the process.
 */
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>

#include "share-server.h"
#include "share/engine/engine_internal.h"

/*
 * Where the reader stops.
 *
 * @subject: of the message
 * @is_held, @may_go: it has stopped; it may go on
 * @threads: how many there are when it goes on by itself
 */
static struct {
	char subject[SUBJECT_MAX];
	sem_t is_held, may_go;
	unsigned int threads;
} stop;

static void hold(natsConnection *nc, natsMsg **msg, void *closure)
{
	(void)nc;
	(void)closure;
	if (strcmp(natsMsg_GetSubject(*msg), stop.subject))
		return;
	sem_post(&stop.is_held);
	while (sem_wait(&stop.may_go))
		;
}

/* Not in libnats' header. */
void natsConn_setFilterWithClosure(natsConnection *nc, __typeof__(hold) *filter,
				   void *closure);

static unsigned int count_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned int nr = 0;

	if (!tasks)
		return 0;
	while (readdir(tasks))
		nr++;
	closedir(tasks);
	return nr - 2;
}

static bool await_threads(unsigned int nr)
{
	uint64_t until = now_ns() + LIMIT * UINT64_C(1000000000);

	while (count_threads() != nr) {
		if (now_ns() > until)
			return false;
		poll(NULL, 0, 1);
	}
	return true;
}

static bool await_sem(sem_t *sem)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += LIMIT;
	return !sem_timedwait(sem, &until);
}

/* The job of a process whose engine has a listener and a tail. Returns NULL, or an error. */
typedef const char *(*job)(struct client *c, int64_t listener, int64_t tail);

/* Waits until the inbox has an answer. */
static bool await_answer(const struct client *c)
{
	uint64_t until = now_ns() + LIMIT * UINT64_C(1000000000);
	struct inbox *inbox = c->engine->inbox;
	bool has_one = false;

	while (!has_one && now_ns() < until) {
		poll(NULL, 0, 1);
		pthread_mutex_lock(&inbox->lock);
		for (const struct raw *raw = inbox->others.first; raw; raw = raw->next)
			has_one |= raw->kind == RAW_REPLY;
		pthread_mutex_unlock(&inbox->lock);
	}
	return has_one;
}

static void start_holding(struct client *c, const char *subject)
{
	COPY(stop.subject, subject);
	sem_init(&stop.is_held, 0, 0);
	sem_init(&stop.may_go, 0, 0);
	natsConn_setFilterWithClosure(c->engine->nc, hold, NULL);
}

/* The reader has a message for a subscription that has ended. It goes on, and so do others. */
static const char *go_on(struct client *c, unsigned int threads)
{
	struct engine_event event;

	/* The thread of the subscription has ended, and with it the last one to hold it. */
	if (!await_threads(threads - 1))
		return "the subscription's thread stays";
	/* There is an answer to a request that was sent before. */
	while (engine_next(c->engine, &event))
		remember(c, &event);
	if (!c->engine->ended)
		return "the subscription is destroyed while the reader uses it";
	sem_post(&stop.may_go);
	if (publish(c, subject_of(c, 9), "x", ENGINE_ANY)->result != RESULT_OK)
		return "the engine does not go on";
	return c->engine->ended ? "the subscription stays" : NULL;
}

static const char *unlisten(struct client *c, int64_t listener, int64_t tail)
{
	unsigned int threads = count_threads();

	(void)tail;
	engine_publish(c->engine, subject_of(c, 8), (struct bytes){ "x", 1 }, ENGINE_ANY);
	if (!await_answer(c))
		return "no answer comes";
	start_holding(c, "kwq-test.heard");
	engine_say(c->engine, "kwq-test.heard", (struct bytes){ "x", 1 });
	if (!await_sem(&stop.is_held))
		return "no message comes";
	engine_unlisten(c->engine, listener);
	return go_on(c, threads);
}

static const char *unfollow(struct client *c, int64_t listener, int64_t tail)
{
	unsigned int threads = count_threads();

	(void)listener;
	start_holding(c, subject_of(c, 1));
	engine_publish(c->engine, stop.subject, (struct bytes){ "x", 1 }, ENGINE_ANY);
	if (!await_sem(&stop.is_held))
		return "no record comes";
	engine_unfollow(c->engine, tail);
	return go_on(c, threads);
}

static void *let_go(void *argument)
{
	(void)argument;
	if (!await_threads(stop.threads))
		_exit(3);
	sem_post(&stop.may_go);
	return NULL;
}

static const char *close_it(struct client *c, int64_t listener, int64_t tail)
{
	pthread_t thread;

	(void)listener;
	(void)tail;
	start_holding(c, "kwq-test.heard");
	engine_say(c->engine, "kwq-test.heard", (struct bytes){ "x", 1 });
	if (!await_sem(&stop.is_held))
		return "no message comes";
	/*
	 * These end meanwhile: the connector, the thread that flushes, and those of four
	 * subscriptions. The one that lets go is there in addition.
	 */
	stop.threads = count_threads() - 6 + 1;
	if (pthread_create(&thread, NULL, let_go, NULL))
		return "no thread";
	close_client(c);
	pthread_join(thread, NULL);
	return NULL;
}

/* Opens an engine for @what. Returns NULL, or an error. */
static const char *run_job(job what)
{
	struct client c;
	int64_t listener, tail;
	const char *error;

	mallopt(M_PERTURB, 0x5a);
	open_client(&c, (struct engine_options){ 0 }, "ended", 1);
	if (!wait_up(&c))
		return "the engine does not come up";
	listener = engine_listen(c.engine, "kwq-test.heard");
	tail = engine_follow(c.engine, c.names.subjects, 1);
	if (!WAIT(&c, c.seen[EVENT_CAUGHT_UP] == 1))
		return "the tail does not catch up";
	error = what(&c, listener, tail);
	if (c.engine && !error)
		close_client(&c);
	return error;
}

static void test_job(job what, const char *name)
{
	const char *error;
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		error = run_job(what);
		if (error)
			printf("# %s\n", error);
		fflush(stdout);
		_exit(!!error);
	}
	while (waitpid(pid, &status, 0) < 0)
		;
	if (!ok(!status, "%s", name))
		printf("#  status %#x\n", status);
}

/* ---- Stress --------------------------------------------------------------- */

enum { LISTENERS = 12, TAILS = 4, RECORDS = 300 };

static void talk(struct client *c)
{
	char subject[64];

	for (int i = 0; i < RECORDS; i++) {
		snprintf(subject, sizeof(subject), "kwq-test.%d", i % LISTENERS);
		engine_say(c->engine, subject, (struct bytes){ "x", 1 });
		engine_publish(c->engine, subject_of(c, i), (struct bytes){ "x", 1 }, ENGINE_ANY);
	}
}

static void begin_all(struct client *c, int64_t listeners[LISTENERS], int64_t tails[TAILS])
{
	char subject[64];

	for (int i = 0; i < LISTENERS; i++) {
		snprintf(subject, sizeof(subject), "kwq-test.%d", i);
		listeners[i] = engine_listen(c->engine, subject);
	}
	for (int i = 0; i < TAILS; i++)
		tails[i] = engine_follow(c->engine, c->names.subjects, 1);
}

static void end_all(struct client *c, const int64_t listeners[LISTENERS],
		    const int64_t tails[TAILS])
{
	for (int i = 0; i < LISTENERS; i++)
		engine_unlisten(c->engine, listeners[i]);
	for (int i = 0; i < TAILS; i++)
		engine_unfollow(c->engine, tails[i]);
}

/* Returns whether the engine came up. */
static bool stress_once(unsigned int round)
{
	int64_t listeners[LISTENERS], tails[TAILS];
	struct client c;
	bool good;

	open_client(&c, (struct engine_options){ .retry_ms = 50 }, "stress", 1);
	c.counts_only = true;
	begin_all(&c, listeners, tails);
	good = wait_up(&c);
	for (int i = 0; i < 3 && good; i++) {
		talk(&c);
		step(&c, now_ns() + 1000000);
		end_all(&c, listeners, tails);
		begin_all(&c, listeners, tails);
	}
	/* The connection is lost, or closed, or both at once. */
	if (round % 3) {
		talk(&c);
		stop_server(&servers[0], SIGKILL);
		if (round % 3 == 1)
			good = WAIT(&c, !engine_is_up(c.engine)) && good;
		start_server(&servers[0]);
		if (round % 3 == 1)
			good = wait_up(&c) && good;
	}
	talk(&c);
	close_client(&c);
	return good;
}

static bool stress(unsigned int rounds)
{
	for (unsigned int round = 0; round < rounds; round++)
		if (!stress_once(round))
			return false;
	return true;
}

int main(int argc, char **argv)
{
	prepare();
	need_server();
	start_one(JETSTREAM, "");
	if (argc == 3 && !strcmp(argv[1], "stress")) {
		ok(stress(strtoul(argv[2], NULL, 10)), "%s rounds", argv[2]);
		return done_testing();
	}
	test_job(unlisten, "a listener ends while the reader has a message for it");
	test_job(unfollow, "a tail ends while the reader has a record for it");
	test_job(close_it, "the engine is closed while the reader has a message");
	ok(stress(6), "engines, listeners and tails end while much comes");
	return done_testing();
}
