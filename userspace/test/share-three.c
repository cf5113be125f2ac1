// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The engine with three servers that keep each record three times. Servers are killed and stopped
 * while operations are under way. Acknowledged records must be there, and tails must have them.
 */
#include "share-server.h"

enum { MOST = 200000 };

/* Publish number n, which is the only one of its subject. */
enum fate { NOT_SENT, UNDER_WAY, ACKNOWLEDGED, OPEN };

static struct {
	enum fate fate;
	uint64_t seq;
	int64_t id;
	unsigned int tailed;
} publishes[MOST];

static int nr_publishes;

/* ---- Servers -------------------------------------------------------------- */

static void start_three(void)
{
	for (int i = 0; i < 3; i++)
		configure(&servers[i], JETSTREAM, "", true);
	for (int i = 0; i < 3; i++)
		start_server(&servers[i]);
}

/* The last time that a server wrote that it leads a stream, as text. */
static void last_led(const struct server *s, const char *stream, char when[64])
{
	char name[256], line[1024], wanted[160];
	const char *bracket;
	FILE *log;

	when[0] = '\0';
	snprintf(name, sizeof(name), "%s/%d.log", work, (int)(s - servers));
	snprintf(wanted, sizeof(wanted), "new stream leader for '$G > %s'", stream);
	log = fopen(name, "re");
	while (log && fgets(line, sizeof(line), log)) {
		if (!strstr(line, wanted))
			continue;
		bracket = strchr(line, ']');
		snprintf(when, 64, "%.40s", bracket ? bracket + 1 : line);
	}
	if (log)
		fclose(log);
}

static struct server *leader_of(const char *stream)
{
	char when[64], best[64] = "";
	struct server *leader = &servers[0];

	for (int i = 0; i < 3; i++) {
		last_led(&servers[i], stream, when);
		if (servers[i].pid > 0 && strcmp(when, best) > 0) {
			COPY(best, when);
			leader = &servers[i];
		}
	}
	printf("# s%d leads %s\n", (int)(leader - servers), stream);
	return leader;
}

/* ---- Publishing ----------------------------------------------------------- */

static void take_end(const struct ended *end)
{
	int n = nr_publishes - 1;

	while (n >= 0 && publishes[n].id != end->id)
		n--;
	if (n < 0)
		return;
	publishes[n].fate = end->result == RESULT_OK ? ACKNOWLEDGED : OPEN;
	publishes[n].seq = end->seq;
	if (end->result != RESULT_OK && end->result != RESULT_UNKNOWN)
		printf("# publish %d ended in %d: %s\n", n, end->result, end->text);
}

/* Takes note of the ends since the last call. */
static void take_ends(struct client *c)
{
	for (size_t i = 0; i < c->nr_ended; i++)
		take_end(&c->ended[i]);
	c->nr_ended = 0;
}

static int count_fate(enum fate fate)
{
	int nr = 0;

	for (int n = 0; n < nr_publishes; n++)
		nr += publishes[n].fate == fate;
	return nr;
}

/* Keeps up to @depth publishes under way. */
static void publish_more(struct client *c, int depth, int *under_way)
{
	const struct bytes x = { "x", 1 };
	int64_t id;

	while (*under_way < depth && nr_publishes < MOST) {
		id = engine_publish(c->engine, subject_of(c, nr_publishes), x, 0);
		if (id < 0)
			return;
		publishes[nr_publishes].id = id;
		publishes[nr_publishes++].fate = UNDER_WAY;
		++*under_way;
	}
}

/* Publishes until @wanted more are acknowledged. */
static bool publish_until(struct client *c, int wanted, int depth)
{
	int under_way = 0, before = count_fate(ACKNOWLEDGED);

	return WAIT(c, ({
		take_ends(c);
		under_way = count_fate(UNDER_WAY);
		publish_more(c, depth, &under_way);
		count_fate(ACKNOWLEDGED) >= before + wanted;
	}));
}

static bool settle(struct client *c)
{
	return WAIT(c, ({
		take_ends(c);
		!count_fate(UNDER_WAY);
	}));
}

static void forget(void)
{
	memset(publishes, 0, sizeof(publishes));
	nr_publishes = 0;
}

/* Counts what is acknowledged and not in the entries, in their order, once, with this number. */
static int count_missing(const struct client *c)
{
	unsigned int nr;
	int missing = 0;
	size_t root = strlen(c->names.root);

	for (size_t i = 0; i < c->nr_entries; i++) {
		if (sscanf(c->entries[i].subject + root, ".a.%8x", &nr) != 1 || nr >= MOST)
			continue;
		if (publishes[nr].tailed++)
			printf("# entry %u came twice\n", nr);
		if (publishes[nr].fate == ACKNOWLEDGED && publishes[nr].seq != c->entries[i].seq)
			missing++;
	}
	for (int n = 0; n < nr_publishes; n++)
		missing += publishes[n].fate == ACKNOWLEDGED && publishes[n].tailed != 1;
	return missing;
}

static bool is_ordered(const struct client *c)
{
	for (size_t i = 1; i < c->nr_entries; i++)
		if (c->entries[i].seq <= c->entries[i - 1].seq)
			return false;
	return true;
}

static uint64_t last_entry(const struct client *c)
{
	return c->nr_entries ? c->entries[c->nr_entries - 1].seq : 0;
}

/* Whether a new tail, and one that was there all the time, have everything. */
static void check_complete(struct client *old, const char *what)
{
	struct client new;
	int unknown;

	unknown = count_fate(OPEN);
	open_client(&new, (struct engine_options){ .replicas = 3 }, "three", 3);
	engine_follow(new.engine, new.names.subjects, 0);
	ok(WAIT(&new, new.seen[EVENT_CAUGHT_UP]), "%s: a new tail catches up", what);
	is_number(count_missing(&new), 0, "no acknowledged record is missing");
	printf("# %d acknowledged, %d unknown, %zu there\n", count_fate(ACKNOWLEDGED), unknown,
	       new.nr_entries);
	for (int n = 0; n < nr_publishes; n++)
		publishes[n].tailed = 0;
	ok(WAIT(old, last_entry(old) >= last_entry(&new)), "the old tail has got as far");
	is_number(count_missing(old), 0, "and has the same");
	for (int n = 0; n < nr_publishes; n++)
		publishes[n].tailed = 0;
	ok(is_ordered(old) && is_ordered(&new), "in order");
	close_client(&new);
}

/* ---- Tests ---------------------------------------------------------------- */

static void test_operations(struct client *c)
{
	const struct ended *end;
	uint64_t old, new;

	old = publish(c, "kwq.three.c.x", "old", 0)->seq;
	end = publish(c, "kwq.three.c.x", "new", 0);
	is_result(end, RESULT_WRONG_SEQUENCE, "a stale expectation");
	new = publish(c, "kwq.three.c.x", "new", old)->seq;
	ok(new > old, "a right one");
	is_result(wait_end(c, engine_erase(c->engine, old)), RESULT_GONE,
		  "erasing what was replaced");
	end = wait_end(c, engine_read(c->engine, "kwq.three.c.x"));
	ok(end->seq == new && !strcmp(end->data, "new"), "leaves the new one");
	is_result(wait_end(c, engine_erase(c->engine, new)), RESULT_OK, "which can be erased");
	is_result(wait_end(c, engine_erase(c->engine, new)), RESULT_GONE, "once");
	is_result(wait_end(c, engine_read(c->engine, "kwq.three.c.x")), RESULT_NONE, "and is gone");
}

static void test_kill(struct client *c, struct client *tail)
{
	struct server *victim;

	publish_until(c, 3000, 500);
	victim = leader_of("kwq-three");
	publish_until(c, 100, 500);
	stop_server(victim, SIGKILL);
	ok(publish_until(c, 3000, 500), "publishes go on after the leader was killed");
	ok(settle(c), "each publish has ended");
	start_server(victim);
	check_complete(tail, "leader killed");
}

static void test_stop(struct client *c, struct client *tail)
{
	struct server *victim = leader_of("kwq-three");

	publish_until(c, 100, 500);
	kill(victim->pid, SIGSTOP);
	ok(publish_until(c, 3000, 500), "publishes go on after the leader was stopped");
	ok(settle(c), "each publish has ended");
	kill(victim->pid, SIGCONT);
	ok(publish_until(c, 1000, 500), "and after it continues");
	settle(c);
	check_complete(tail, "leader stopped");
}

/* The servers with the tail's consumer and the client's connection are among these. */
static void test_each(struct client *c, struct client *tail)
{
	for (int i = 0; i < 3; i++) {
		publish_until(c, 500, 100);
		stop_server(&servers[i], SIGKILL);
		publish_until(c, 500, 100);
		start_server(&servers[i]);
	}
	ok(settle(c), "each publish has ended, after each server was killed once");
	check_complete(tail, "each killed");
}

/* Begins to publish a record that expects nothing. Returns its id, or an error. */
static int64_t publish_any(struct client *c)
{
	return engine_publish(c->engine, "kwq.three.c.y", (struct bytes){ "", 0 }, ENGINE_ANY);
}

static void test_no_majority(struct client *c)
{
	const struct ended *end;
	int64_t id = -ENOTCONN;

	stop_server(&servers[1], SIGKILL);
	stop_server(&servers[2], SIGKILL);
	WAIT(c, ({
		id = publish_any(c);
		id > 0 || c->seen[EVENT_DOWN];
	}));
	if (id > 0) {
		end = wait_end(c, id);
		is_result(end, RESULT_UNKNOWN, "without a majority a publish is unknown");
	} else {
		ok(true, "without a majority the engine is down: %s", c->text[EVENT_DOWN]);
	}
	start_server(&servers[1]);
	start_server(&servers[2]);
	ok(WAIT(c, ({
		id = publish_any(c);
		id > 0 && wait_end(c, id)->result == RESULT_OK;
	})), "with one it succeeds again");
}

/*
 * Two clients compare and set one subject. Each success is a link: it replaces the number that it
 * expected. Both must be links of one chain, whatever happens to servers.
 */
struct link {
	uint64_t expected, seq;
};

static struct link links[100000];
static size_t nr_links;

static int by_seq(const void *a, const void *b)
{
	const struct link *left = a, *right = b;

	return left->seq < right->seq ? -1 : left->seq > right->seq;
}

/* Links that skip one that was acknowledged. */
static int count_broken(void)
{
	int broken = 0;

	qsort(links, nr_links, sizeof(links[0]), by_seq);
	for (size_t i = 1; i < nr_links; i++)
		broken += links[i].expected < links[i - 1].seq;
	return broken;
}

static void set_again(struct client *c, int64_t *id, uint64_t *expected)
{
	const struct ended *end = *id > 0 ? find_end(c, *id) : NULL;
	const struct bytes x = { "x", 1 };

	if (end && end->result == RESULT_OK && nr_links < ARRAY_SIZE(links))
		links[nr_links++] = (struct link){ *expected, end->seq };
	if (end)
		*expected = end->result == RESULT_OK ? end->seq : UINT64_MAX;
	if (*expected == UINT64_MAX)
		*id = 0;
	else if (end || *id <= 0)
		*id = engine_publish(c->engine, "kwq.three.c.e", x, *expected);
}

/* After another result than OK the number has to be read first. */
static void read_again(struct client *c, int64_t *id, uint64_t *expected)
{
	const struct ended *end = *id > 0 ? find_end(c, *id) : NULL;

	if (*expected != UINT64_MAX)
		return;
	if (end && (end->result == RESULT_OK || end->result == RESULT_NONE)) {
		*expected = end->seq;
		*id = 0;
	} else if (end || *id <= 0) {
		*id = engine_read(c->engine, "kwq.three.c.e");
	}
}

struct racer {
	struct client client;
	int64_t id, read_id;
	uint64_t expected;
};

static void race_on(struct racer *r)
{
	if (r->expected == UINT64_MAX)
		read_again(&r->client, &r->read_id, &r->expected);
	if (r->expected == UINT64_MAX)
		return;
	r->read_id = 0;
	set_again(&r->client, &r->id, &r->expected);
}

/* Races until there are @wanted more links. */
static bool race_until(struct racer r[2], size_t wanted)
{
	uint64_t until = now_ns() + LIMIT * UINT64_C(1000000000);
	size_t goal = nr_links + wanted;

	while (nr_links < goal && now_ns() < until) {
		for (int i = 0; i < 2; i++) {
			step(&r[i].client, now_ns() + 1000000);
			race_on(&r[i]);
		}
	}
	return nr_links >= goal;
}

static void test_race(void)
{
	const struct engine_options options = { .replicas = 3, .timeout_ms = 3000 };
	static struct racer r[2];
	struct server *victim;

	for (int i = 0; i < 2; i++) {
		open_client(&r[i].client, options, "three", 3);
		r[i].expected = UINT64_MAX;
	}
	for (int i = 0; i < 2; i++)
		wait_up(&r[i].client);
	ok(race_until(r, 1000), "two clients set one subject");
	for (int i = 0; i < 3; i++) {
		victim = leader_of("kwq-three");
		race_until(r, 100);
		stop_server(victim, SIGKILL);
		ok(race_until(r, 300), "also when the leader is killed");
		start_server(victim);
		race_until(r, 100);
	}
	victim = leader_of("kwq-three");
	kill(victim->pid, SIGSTOP);
	ok(race_until(r, 300), "or stopped");
	kill(victim->pid, SIGCONT);
	race_until(r, 300);
	is_number(count_broken(), 0, "none of them replaces what the other has just set");
	printf("# %zu sets\n", nr_links);
	for (int i = 0; i < 2; i++)
		close_client(&r[i].client);
}

/* A publish that compares, beside one that does not: a burial beside a heartbeat. */
static void test_blind(void)
{
	const struct ended *blind, *compared;
	const struct bytes x = { "x", 1 };
	int64_t ids[2], rounds = 300, good = 0;
	struct client c[2];
	uint64_t last = 0;

	for (int i = 0; i < 2; i++)
		open_client(&c[i], (struct engine_options){ .replicas = 3 }, "three", 3);
	for (int i = 0; i < 2; i++)
		wait_up(&c[i]);
	for (int round = 0; round < rounds; round++) {
		ids[0] = engine_publish(c[0].engine, "kwq.three.c.m", x, ENGINE_ANY);
		ids[1] = engine_publish(c[1].engine, "kwq.three.c.m", x, last);
		blind = wait_end(&c[0], ids[0]);
		compared = wait_end(&c[1], ids[1]);
		good += compared->result != RESULT_OK || compared->seq < blind->seq;
		last = blind->seq;
	}
	is_number(good, rounds, "no compare succeeds behind a publish that it did not expect");
	for (int i = 0; i < 2; i++)
		close_client(&c[i]);
}

static void test_rate(struct client *c)
{
	const struct bytes x = { "x", 1 };
	const int first = 0x10000000;
	int begun = 0, wanted = 100000;
	uint64_t started;

	/* Its server may have been killed before. */
	WAIT(c, ({
		int64_t id = publish_any(c);

		id > 0 && wait_end(c, id)->result == RESULT_OK;
	}));
	started = now_ns();
	c->counts_only = true;
	c->nr_ok = 0;
	c->seen[EVENT_ENDED] = 0;
	ok(WAIT(c, ({
		while (begun < wanted &&
		       engine_publish(c->engine, subject_of(c, first + begun), x, 0) > 0)
			begun++;
		c->seen[EVENT_ENDED] >= (unsigned int)wanted;
	})), "100,000 publishes with a compare");
	printf("# %.0f publishes a second\n", wanted / ((now_ns() - started) / 1e9));
	is_number(c->nr_ok, wanted, "all of them succeed");
	c->counts_only = false;
}

int main(void)
{
	struct client c, tail;

	need_server();
	if (is_old_server()) {
		ok(true, "all # SKIP this nats-server is too old for replicas; NATS_SERVER= can name another one");
		return done_testing();
	}
	prepare();
	start_three();
	open_client(&c, (struct engine_options){ .replicas = 3 }, "three", 3);
	open_client(&tail, (struct engine_options){ .replicas = 3 }, "three", 3);
	if (!ok(wait_up(&c), "a stream with three replicas"))
		return done_testing();
	engine_follow(tail.engine, tail.names.subjects, 0);
	ok(WAIT(&tail, tail.seen[EVENT_CAUGHT_UP]), "its tail");
	test_operations(&c);
	test_blind();
	test_race();
	test_rate(&c);
	forget();
	test_kill(&c, &tail);
	test_stop(&c, &tail);
	test_each(&c, &tail);
	test_no_majority(&c);
	close_client(&c);
	close_client(&tail);
	return done_testing();
}
