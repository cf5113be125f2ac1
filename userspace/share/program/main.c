// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq share: makes a queue a part of one that spans machines.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/daemon.h"
#include "base/duration.h"
#include "base/notify.h"
#include "callers.h"
#include "report.h"
#include "share_options.h"

/* ---- The queues ----------------------------------------------------------- */

/* Opens a queue. Leaves @q as it is if there is none. Returns an exit status. */
static int open_existing(struct kwq **q, const char *name)
{
	int err = kwq_open(q, name, KWQ_RIGHTS_ALL, O_CLOEXEC);

	if (err)
		return err == -ENOENT ? STATUS_OK : complain_open(name, err);
	return check_owner(*q, name);
}

/* Creates a queue unless it is open already. Returns an exit status. */
static int create_missing(struct kwq **q, const char *name, const struct kwq_create_options *create)
{
	int err = *q ? 0 : create_queue(q, name, create);

	return err ? complain_create(name, create, err) : STATUS_OK;
}

/* These options count when a queue is created. Tells of one that asks for another value later. */
static void tell_unused(const struct kwq_stat *st, const char *name,
			const struct kwq_create_options *create)
{
	const struct {
		const char *option;
		uint64_t has, wanted;
	} numbers[] = {
		{ "--max-items", st->max_items, create->max_items },
		{ "--max-bytes", st->max_bytes, create->max_bytes },
		{ "--group-limit", st->group_limit, create->group_limit },
		{ "--lease", st->lease, create->lease },
		{ "--aging", st->aging, create->aging },
	};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (numbers[i].wanted && numbers[i].wanted != numbers[i].has)
			message("%s: %s has no effect: the queue was created with another value, and has to be made anew: see kwq-share(1)",
				name, numbers[i].option);
}

/* Whether this can be the queue of programs. Returns an exit status. */
static int check_queue(const struct kwq *q, const char *name,
		       const struct kwq_create_options *create)
{
	struct kwq_stat st = { .size = sizeof(st) };
	int err = kwq_stat(q, &st);

	if (err)
		return complain(name, err);
	if (!(st.create_flags & KWQ_CREATE_OUTBOX)) {
		message("%s: this queue exists and is not shared: stop its programs, then kwq save it, kwq rm --force it, and kwq load it into %s.outbox when that is there",
			name, name);
		return STATUS_FAILED;
	}
	if (st.clockid != CLOCK_BOOTTIME || !(st.create_flags & KWQ_CREATE_CHANGES)) {
		message("%s: a shared queue is created by kwq share: kwq rm --force drops this one and its keys",
			name);
		return STATUS_FAILED;
	}
	tell_unused(&st, name, create);
	return STATUS_OK;
}

/* Whether this can be the outbox of the queue @of. Returns an exit status. */
static int check_outbox(const struct kwq *q, const char *name, const char *of,
			const struct kwq_create_options *create)
{
	struct kwq_stat st = { .size = sizeof(st) };
	int err = kwq_stat(q, &st);

	if (err)
		return complain(name, err);
	if (st.clockid != CLOCK_BOOTTIME || !(st.create_flags & KWQ_CREATE_CHANGES) ||
	    st.create_flags & KWQ_CREATE_OUTBOX) {
		message("%s: an outbox is created by kwq share: kwq save keeps the keys of this queue, and kwq rm --force drops them",
			name);
		return STATUS_FAILED;
	}
	if (create->sync && !(st.create_flags & KWQ_CREATE_SYNC)) {
		message("%s: this outbox was created without --sync, so adds would not wait: start kwq share without --sync, do kwq debug sync %s, stop it, and do kwq rm --force %s %s; then start it with --sync",
			name, of, of, name);
		return STATUS_FAILED;
	}
	tell_unused(&st, name, create);
	return STATUS_OK;
}

/*
 * @outbox_of: receives the outbox, whose handle belongs to @local
 * @id: receives that of the queue
 *
 * Returns an exit status.
 */
static int open_queues(struct local **local, struct kwq **outbox_of, uint64_t *id,
		       struct share_options *o)
{
	struct kwq_stat st = { .size = sizeof(st) };
	char name[KWQ_NAME_MAX + 16];
	struct kwq *queue = NULL, *outbox = NULL;
	int status, err;

	snprintf(name, sizeof(name), "%s.outbox", o->queue);
	/* A queue that cannot be shared is refused before an outbox is made for it. */
	status = open_existing(&queue, o->queue);
	if (!status && queue)
		status = check_queue(queue, o->queue, &o->create.queue);
	if (!status)
		status = open_existing(&outbox, name);
	if (!status && queue && !outbox) {
		message("%s: its outbox %s was removed, so adds would be lost: kwq rm --force %s drops the keys that are here; then start again",
			o->queue, name, o->queue);
		status = STATUS_FAILED;
	}
	if (!status && outbox)
		status = check_outbox(outbox, name, o->queue, &o->create.queue);
	if (!status)
		status = create_missing(&outbox, name, &o->create.queue);
	o->create.queue.outbox = outbox;
	if (!status)
		status = create_missing(&queue, o->queue, &o->create.queue);
	if (!status) {
		err = kwq_stat(queue, &st);
		*id = st.id;
		if (!err)
			err = local_open(local, queue, outbox);
		if (err == -EBUSY) {
			message("%s: another program shares or keeps this queue", o->queue);
			status = STATUS_FAILED;
		} else if (err) {
			status = complain(o->queue, err);
		}
	}
	if (status) {
		kwq_close(queue);
		kwq_close(outbox);
	} else {
		*outbox_of = outbox;
	}
	return status;
}

/* ---- The loop ------------------------------------------------------------- */

/*
 * @outbox: belongs to @local
 * @id: of the queue
 * @is_leaving: a signal came
 */
struct loop {
	const struct share_options *options;
	struct engine *engine;
	struct local *local;
	const struct kwq *outbox;
	struct machine *machine;
	struct callers *callers;
	uint64_t id;
	struct daemon daemon;
	struct report report;
	bool is_leaving;
};

/*
 * All adds that are not stored. If the engine is slow, the machine takes few of them from the
 * outbox at a time, and most of them wait there.
 */
static void count_adds(const struct loop *loop, struct machine_state *state)
{
	struct kwq_stat st = { .size = sizeof(st) };

	if (loop->options->metrics && !kwq_stat(loop->outbox, &st))
		state->adds = st.items;
}

/* Tells how things are. */
static void tell(struct loop *loop)
{
	struct machine_state state;

	machine_state(loop->machine, &state);
	count_adds(loop, &state);
	report_tell(&loop->report, &state, daemon_now(&loop->daemon));
	daemon_alive(&loop->daemon);
}

/* Waits for an event, or until @until. Returns whether a signal came. */
static bool wait_until(struct loop *loop, uint64_t until)
{
	struct pollfd fds[] = {
		{ 0 },
		{ .fd = engine_fd(loop->engine), .events = POLLIN },
		{ .fd = local_queue_fd(loop->local), .events = POLLPRI },
		{ .fd = local_outbox_fd(loop->local), .events = POLLPRI },
		{ .fd = callers_fd(loop->callers), .events = POLLIN },
	};

	return daemon_wait(&loop->daemon, fds, ARRAY_SIZE(fds), until);
}

static void leave(struct loop *loop)
{
	uint64_t now = daemon_now(&loop->daemon), timeout = loop->options->stop_timeout;
	uint64_t until = timeout < UINT64_MAX - now ? now + timeout : UINT64_MAX;

	if (!daemon_take_signal(&loop->daemon))
		return;
	notify_send("STOPPING=1");
	/* A second signal ends it at once. */
	machine_leave(loop->machine, loop->is_leaving ? 0 : until);
	loop->is_leaving = true;
}

/* When something is to be done without an event. */
static uint64_t next_due(const struct loop *loop)
{
	uint64_t of_machine = machine_due(loop->machine), of_report = report_due(&loop->report);

	return of_machine < of_report ? of_machine : of_report;
}

/* Returns an exit status. */
static int run(struct loop *loop)
{
	for (;;) {
		enum machine_step step;

		callers_step(loop->callers);
		step = machine_step(loop->machine);
		if (step == MACHINE_FAILED)
			return STATUS_FAILED;
		tell(loop);
		if (step == MACHINE_LEFT) {
			report_left(&loop->report);
			return STATUS_OK;
		}
		if (wait_until(loop, next_due(loop)))
			leave(loop);
	}
}

/* Takes part until the end. Returns an exit status. */
static int take_part(struct loop *loop)
{
	int err;

	/* A journal has the messages of several queues. */
	message_about = loop->options->queue;
	loop->engine = engine_open(&loop->options->engine);
	if (!loop->engine)
		return complain("libnats", -errno);
	loop->machine = machine_new(&loop->options->machine, loop->engine, loop->local);
	if (!loop->machine)
		return complain("memory", -ENOMEM);
	err = callers_open(&loop->callers, loop->machine, loop->id);
	if (err)
		return complain("commands cannot reach this kwq share", err);
	/* Adds are taken from now on. */
	notify_send("READY=1");
	return run(loop);
}

/* How often the metrics are written if nothing changes. After 5 minutes they are old. */
static uint64_t heartbeat(uint64_t ttl)
{
	if (ttl / 4 < NS_PER_S)
		return NS_PER_S;
	return ttl / 4 < 60 * NS_PER_S ? ttl / 4 : 60 * NS_PER_S;
}

/* The servers, without users and passwords, as far as there is room. */
static void show_urls(const struct share_options *options, char *text, size_t size)
{
	char url[ENGINE_URL_MAX];
	size_t len = 0;

	for (unsigned int i = 0; i < options->nr_urls && len < size; i++)
		len += snprintf(text + len, size - len, "%s%s", i ? ", " : "",
				engine_shown_url(options->urls[i], url));
}

static int share(struct share_options *options)
{
	struct kwq *outbox = NULL;
	struct loop loop = {
		.options = options,
		.report = {
			.queue = options->queue,
			.metrics = options->metrics,
			.verbose = options->verbose,
			.every = heartbeat(options->machine.ttl),
		},
	};
	int status, err;

	show_urls(options, loop.report.urls, sizeof(loop.report.urls));
	err = daemon_begin(&loop.daemon, CLOCK_BOOTTIME);
	if (err)
		return complain("signals", err);
	status = open_queues(&loop.local, &outbox, &loop.id, options);
	if (status)
		return status;
	loop.outbox = outbox;
	err = report_begin(&loop.report, daemon_now(&loop.daemon));
	if (err) {
		message("--metrics %s: %s", options->metrics, strerror(-err));
		status = STATUS_FAILED;
	} else {
		status = take_part(&loop);
		report_end(&loop.report);
	}
	callers_close(loop.callers);
	machine_free(loop.machine);
	engine_close(loop.engine);
	local_close(loop.local);
	return status;
}

int main(int argc, char **argv)
{
	static struct share_options options;
	static char called[16];

	if (argc < 1)
		return STATUS_USAGE;
	/* getopt_long() begins its messages with it. */
	snprintf(called, sizeof(called), "kwq: share");
	command = &command_share;
	argv[0] = called;
	command_argv = argv;
	if (argc == 2 && !strcmp(argv[1], "--options"))
		return share_options_list();
	share_options_parse(&options, argc, argv);
	return share(&options);
}
