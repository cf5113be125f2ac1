// SPDX-License-Identifier: GPL-2.0-only
/*
 * The speed of kwq share on this machine: real servers of NATS, the engine, and the cores. Only the
 * two local queues are replaced, because this kernel need not have kwq: keys are made up here, and
 * a worker is done with a key at once. Prints a name, a number and a unit in each line.
 *
 *	share-speed [KEYS [MANY]]
 *
 * KEYS are the keys of each measurement (50000), and MANY those of a long queue (1000000). The rows
 * peer.* are of libnats without kwq: what the servers can do at most. $SYNC_ALWAYS lets them write
 * each record to the disk before they acknowledge it.
 */
#include <limits.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include <nats/nats.h>

#include "share-server.h"
#include "base/cmd.h"
#include "share/core/hash.h"
#include "share/local/local.h"
#include "share/machine/machine.h"

#define NS_PER_S UINT64_C(1000000000)

enum { MACHINES = 3, WORKERS = 16, SHUT_DOWN_MS = 5000 };

/* Counters and flags that the processes share. */
static struct shared {
	atomic_ulong stored, done, is_serving, is_over;
} *shared;

static unsigned long nr_keys = 50000, nr_many = 1000000;

static void row(const char *name, double value, const char *unit)
{
	printf("%s\t%.0f\t%s\n", name, value, unit);
	fflush(stdout);
}

static double seconds_since(uint64_t since)
{
	return (double)(now_ns() - since) / NS_PER_S;
}

static void rate(const char *name, unsigned long nr, uint64_t since)
{
	row(name, nr / seconds_since(since), "per_second");
}

/* ---- Local queues that this program makes up ------------------------------- */

/* A key that was granted. Its worker takes it and is done with it. */
struct run {
	struct run *prev, *next;
	struct key_hash hash;
	struct token token;
	size_t len;
	bool is_taken;
	char key[32];
};

/*
 * @first: the number of the first key to add
 * @shall_add, @added: how many keys to add, and how many of them were taken over
 * @most: adds under way
 * @workers: that wait for a key
 * @runs: not ended; @ended: whose end is not confirmed
 */
struct local {
	unsigned long first, shall_add, added, under_way, most;
	unsigned int workers;
	struct run *runs, *ended;
	char key[32];
};

void local_limit_adds(struct local *l, unsigned int most)
{
	l->most = l->most && l->most < most ? l->most : most;
}

void local_hold_ends(struct local *l, uint64_t most)
{
	(void)l;
	(void)most;
}

bool local_end_needs_add(const struct local *l, const struct key_hash *hash)
{
	(void)l;
	(void)hash;
	return false;
}

uint64_t local_next_due(const struct local *l)
{
	return l->runs || (l->added < l->shall_add && l->under_way < l->most) ? 0 : UINT64_MAX;
}

static struct bytes made_up(char key[32], unsigned long n)
{
	return (struct bytes){ key, snprintf(key, 32, "key-%012lu", n) };
}

static int next_add(struct local *l, struct local_event *event)
{
	if (l->added == l->shall_add || l->under_way >= l->most)
		return 0;
	l->under_way++;
	*event = (struct local_event){
		.kind = LOCAL_ADD,
		.id = l->added + 1,
		.is_ready = true,
	};
	event->work.key = made_up(l->key, l->first + l->added++);
	return key_hash_of(&event->hash, event->work.key) ?: 1;
}

int local_next(struct local *l, struct local_event *event, uint64_t now)
{
	struct run *run = l->runs;

	(void)now;
	if (!run)
		return next_add(l, event);
	*event = (struct local_event){
		.kind = run->is_taken ? LOCAL_ENDED : LOCAL_TAKEN,
		.work = { .key = { run->key, run->len } },
		.hash = run->hash,
		.token = run->token,
		.id = (uintptr_t)run,
		.outcome = OUTCOME_DONE,
	};
	if (run->is_taken) {
		DL_DELETE(l->runs, run);
		DL_APPEND(l->ended, run);
	}
	run->is_taken = true;
	return 1;
}

int local_stored(struct local *l, uint64_t id)
{
	(void)id;
	l->under_way--;
	atomic_fetch_add(&shared->stored, 1);
	return 0;
}

void local_confirmed(struct local *l, uint64_t id)
{
	struct run *run = (struct run *)(uintptr_t)id;

	DL_DELETE(l->ended, run);
	free(run);
	atomic_fetch_add(&shared->done, 1);
}

int local_start(struct local *l, const struct key_hash *hash, const struct work *work,
		struct token token)
{
	struct run *run = calloc(1, sizeof(*run));

	if (!run || work->key.len >= sizeof(run->key))
		return -ENOMEM;
	run->hash = *hash;
	run->token = token;
	run->len = work->key.len;
	memcpy(run->key, work->key.at, run->len);
	DL_APPEND(l->runs, run);
	return 0;
}

int local_take_back(struct local *l, const struct key_hash *hash, struct token token)
{
	(void)l;
	(void)hash;
	(void)token;
	return -EBUSY;
}

int local_revoke_all(struct local *l)
{
	(void)l;
	die("the lease is over: this machine is too slow");
	return 0;
}

int local_set_term(struct local *l, uint64_t boot)
{
	(void)l;
	(void)boot;
	return 0;
}

int local_state(struct local *l, struct local_state *state)
{
	*state = (struct local_state){ .getters = l->workers };
	return 0;
}

/* ---- Machines -------------------------------------------------------------- */

static struct engine_options engine_options(struct names *names, const char *queue,
					    const char *urls[SERVERS + 1])
{
	if (names_init(names, queue))
		die(queue);
	for (int i = 0; i < SERVERS; i++)
		urls[i] = servers[i].url;
	return (struct engine_options){
		.urls = urls, .names = names, .client = "share-speed", .replicas = SERVERS,
	};
}

/* One machine, in a process of its own. It leaves in good order when all is over. */
static void take_part(const char *queue, struct local *l)
{
	static struct names names;
	static const char *urls[SERVERS + 1];
	const struct engine_options of_engine = engine_options(&names, queue, urls);
	const struct machine_options options = {
		.host = "bench", .names = &names, .ttl = 12 * NS_PER_S, .slots = WORKERS,
		.is_candidate = true,
	};
	struct engine *engine = engine_open(&of_engine);
	struct machine *m = engine ? machine_new(&options, engine, l) : NULL;
	struct machine_state state = { 0 };
	enum machine_step step;
	struct pollfd fd;

	if (!m)
		die("a machine");
	fd = (struct pollfd){ .fd = engine_fd(engine), .events = POLLIN };
	while ((step = machine_step(m)) == MACHINE_GOES_ON) {
		machine_state(m, &state);
		if (state.is_serving)
			atomic_store(&shared->is_serving, 1);
		if (atomic_load(&shared->is_over) && !state.is_leaving)
			machine_leave(m, UINT64_MAX);
		poll(&fd, 1, machine_due(m) ? 1 : 0);
	}
	if (step != MACHINE_LEFT)
		die("a machine has failed");
}

static pid_t start_machine(const char *queue, const struct local *local)
{
	struct local l = *local;
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	take_part(queue, &l);
	_exit(0);
}

static void await(const atomic_ulong *counter, unsigned long wanted)
{
	while (atomic_load(counter) < wanted) {
		if (waitpid(-1, NULL, WNOHANG) > 0)
			die("a process has ended");
		poll(NULL, 0, 1);
	}
}

static void end_all(const pid_t *pids, int nr)
{
	atomic_store(&shared->is_over, 1);
	for (int i = 0; i < nr; i++)
		waitpid(pids[i], NULL, 0);
	memset(shared, 0, sizeof(*shared));
}

/* ---- Measurements ---------------------------------------------------------- */

static void add_keys(const char *name, unsigned long nr, unsigned int most)
{
	const struct local local = { .shall_add = nr, .most = most };
	uint64_t began;
	pid_t pid = start_machine(name, &local);

	await(&shared->stored, 1);
	began = now_ns();
	await(&shared->stored, nr);
	rate(name, nr - 1, began);
	end_all(&pid, 1);
}

/* Keys that were added before, until all are done. */
static void work_keys(const char *name, const char *queue, int machines)
{
	const struct local local = { .workers = WORKERS };
	pid_t pids[MACHINES];
	uint64_t began;

	for (int i = 0; i < machines; i++)
		pids[i] = start_machine(queue, &local);
	await(&shared->done, 1);
	began = now_ns();
	await(&shared->done, nr_keys);
	rate(name, nr_keys - 1, began);
	end_all(pids, machines);
}

/* Each machine adds keys without end, and works on what it gets. */
static void work_amid_adds(unsigned long nr)
{
	struct local local = { .shall_add = ULONG_MAX, .most = LOCAL_ADDS_MAX, .workers = WORKERS };
	unsigned long stored, done;
	pid_t pids[MACHINES];
	uint64_t began;

	for (int i = 0; i < MACHINES; i++) {
		local.first = i * (ULONG_MAX / MACHINES);
		pids[i] = start_machine("amid", &local);
	}
	await(&shared->done, nr / 10);
	began = now_ns();
	stored = atomic_load(&shared->stored);
	done = atomic_load(&shared->done);
	await(&shared->done, done + nr);
	rate("share.work.amid_adds", atomic_load(&shared->done) - done, began);
	rate("share.add.amid_work", atomic_load(&shared->stored) - stored, began);
	end_all(pids, MACHINES);
}

/* In bytes. */
static unsigned long memory_of(pid_t pid)
{
	char name[64], line[256];
	unsigned long kilobytes = 0;
	FILE *from;

	snprintf(name, sizeof(name), "/proc/%d/status", pid);
	from = fopen(name, "re");
	while (from && fgets(line, sizeof(line), from))
		sscanf(line, "VmRSS: %lu", &kilobytes);
	if (from)
		fclose(from);
	return kilobytes * 1024;
}

/* ---- libnats without kwq --------------------------------------------------- */

static void must(natsStatus status)
{
	if (status == NATS_OK)
		return;
	fprintf(stderr, "libnats: %s\n", nats_GetLastError(NULL));
	exit(1);
}

static jsCtx *connect_to(natsConnection **connection, unsigned int most)
{
	jsOptions options;
	jsCtx *js;

	must(natsConnection_ConnectTo(connection, servers[0].url));
	must(jsOptions_Init(&options));
	options.PublishAsync.MaxPending = most;
	options.PublishAsync.StallWait = SHUT_DOWN_MS;
	must(natsConnection_JetStream(&js, *connection, &options));
	return js;
}

static void add_stream(jsCtx *js, const char *name, const char *subjects)
{
	jsStreamConfig config;

	must(jsStreamConfig_Init(&config));
	config.Name = name;
	config.Subjects = &subjects;
	config.SubjectsLen = 1;
	config.MaxMsgsPerSubject = 1;
	config.Replicas = SERVERS;
	must(js_AddStream(NULL, js, &config, NULL, NULL));
}

/* libnats has threads, so it is used only in processes of which nobody forks. */
static bool is_child(void)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		die("fork");
	if (!pid)
		return true;
	if (waitpid(pid, &status, 0) != pid || status)
		die("a process has failed");
	return false;
}

static void end_child(jsCtx *js, natsConnection *connection)
{
	jsCtx_Destroy(js);
	natsConnection_Destroy(connection);
	nats_CloseAndWait(SHUT_DOWN_MS);
	_exit(0);
}

static void by_libnats(const char *name, unsigned long nr, bool one_by_one)
{
	natsConnection *connection;
	char subject[64], stream[16];
	uint64_t began;
	jsCtx *js;

	if (!is_child())
		return;
	js = connect_to(&connection, LOCAL_ADDS_MAX);
	snprintf(stream, sizeof(stream), "peer-%d", one_by_one);
	snprintf(subject, sizeof(subject), "peer.%d.>", one_by_one);
	add_stream(js, stream, subject);
	began = now_ns();
	for (unsigned long i = 0; i < nr; i++) {
		char data[40] = "";

		snprintf(subject, sizeof(subject), "peer.%d.%032lu", one_by_one, i);
		must(one_by_one ? js_Publish(NULL, js, subject, data, sizeof(data), NULL, NULL) :
				  js_PublishAsync(js, subject, data, sizeof(data), NULL));
	}
	if (!one_by_one)
		must(js_PublishAsyncComplete(js, NULL));
	rate(name, nr, began);
	must(js_DeleteStream(js, stream, NULL, NULL));
	end_child(js, connection);
}

/* ---- A long queue ---------------------------------------------------------- */

/* Fills the stream of a queue that exists, as fast as the servers can. */
static void fill(const char *queue)
{
	natsConnection *connection;
	char key[32], subject[SUBJECT_MAX];
	struct record record = { .kind = RECORD_ADD };
	struct buffer buffer = { 0 };
	struct names names;
	jsCtx *js;

	if (!is_child())
		return;
	js = connect_to(&connection, LOCAL_ADDS_MAX);
	if (names_init(&names, queue))
		die(queue);
	for (unsigned long i = 0; i < nr_many; i++) {
		record.work.key = made_up(key, i);
		if (key_hash_of(&record.hash, record.work.key) ||
		    record_subject(subject, &names, &record) || record_encode(&buffer, &record))
			die(key);
		must(js_PublishAsync(js, subject, buffer.bytes, buffer.len, NULL));
	}
	must(js_PublishAsyncComplete(js, NULL));
	free(buffer.bytes);
	end_child(js, connection);
}

static void long_queue(void)
{
	const struct local local = { 0 }, adds = { .shall_add = 1, .most = 1 };
	unsigned long of_server, of_master;
	uint64_t began;
	pid_t pid = start_machine("long", &adds);

	await(&shared->stored, 1);
	await(&shared->is_serving, 1);
	of_server = memory_of(servers[0].pid);
	of_master = memory_of(pid);
	end_all(&pid, 1);
	fill("long");
	began = now_ns();
	pid = start_machine("long", &local);
	await(&shared->is_serving, 1);
	row("share.takeover", seconds_since(began) * 1e9 / nr_many, "ns");
	row("share.master", (double)(memory_of(pid) - of_master) / nr_many, "bytes");
	row("share.server", ((double)memory_of(servers[0].pid) - of_server) / nr_many, "bytes");
	end_all(&pid, 1);
}

int main(int argc, char **argv)
{
	static const struct command this = { .name = "share-speed" };
	const char *jetstream = JETSTREAM;

	command = &this;
	if (getenv("SYNC_ALWAYS"))
		jetstream = "jetstream { store_dir: \"%s\", sync_interval: always }\n";
	if (argc > 1)
		nr_keys = strtoul(argv[1], NULL, 10);
	if (argc > 2)
		nr_many = strtoul(argv[2], NULL, 10);
	if (!have_server())
		die("nats-server");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		die("mmap");
	prepare();
	for (int i = 0; i < SERVERS; i++)
		configure(&servers[i], jetstream, "", true);
	for (int i = 0; i < SERVERS; i++)
		start_server(&servers[i]);
	/* A machine waits until the servers have elected their leaders. */
	add_keys("share.add.waited", nr_keys / 10, 1);
	by_libnats("peer.nats.add.waited", nr_keys / 10, true);
	by_libnats("peer.nats.add", nr_keys, false);
	add_keys("share.add", nr_keys, LOCAL_ADDS_MAX);
	work_keys("share.work", "share.add", MACHINES);
	work_amid_adds(nr_keys / 10);
	long_queue();
	return 0;
}
