// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Events, time and connections. The descriptor for the caller is an epoll descriptor with two in
 * it: that of the inbox, and a timer. Two things make the inbox's readable: an entry that libnats'
 * threads append to an empty list, and an event that is queued outside of engine_next().
 * engine_next() makes it unreadable only when it takes the list, and returns false only if that was
 * empty.
 */
#include "engine_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { TIMEOUT_MS = 10000, RETRY_MS = 1000, CHECK_MS = 10000, MAX_IN_FLIGHT = 16384 };

/* How long engine_close() waits for libnats, at most. */
enum { CLOSE_MS = 5000 };

uint64_t engine_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * SECOND + now.tv_nsec;
}

/* ---- Events --------------------------------------------------------------- */

void engine_tell(struct engine *engine, const struct engine_event *event, natsMsg *msg,
		 void *memory)
{
	const char *subject = event->subject ? event->subject : "";
	const char *text = event->text ? event->text : "";
	size_t text_size = strlen(text) + 1;
	size_t subject_size = msg ? 0 : strlen(subject) + 1;
	struct queued *queued = malloc(sizeof(*queued) + text_size + subject_size);

	if (!queued) {
		/* Nobody could go on without an event: what was promised would not hold. */
		fputs("kwq-share: no memory\n", stderr);
		abort();
	}
	*queued = (struct queued){ .event = *event, .msg = msg, .memory = memory };
	queued->event.text = memcpy(queued->text, text, text_size);
	/* A message keeps its subject. */
	queued->event.subject = subject;
	if (!msg)
		queued->event.subject = memcpy(queued->text + text_size, subject, subject_size);
	if (engine->events)
		engine->last_event->next = queued;
	else
		engine->events = queued;
	engine->last_event = queued;
	if (!engine->in_next)
		inbox_wake(engine->inbox);
}

void engine_tell_state(struct engine *engine, enum engine_event_kind kind, const char *format, ...)
{
	struct engine_event event = { .kind = kind };
	char text[TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (!strcmp(text, engine->said))
		return;
	snprintf(engine->said, sizeof(engine->said), "%s", text);
	event.text = text;
	engine_tell(engine, &event, NULL, NULL);
}

static void event_free(struct queued *queued)
{
	if (!queued)
		return;
	natsMsg_Destroy(queued->msg);
	free(queued->memory);
	free(queued);
}

static struct queued *take_event(struct engine *engine)
{
	struct queued *queued = engine->events;

	if (queued)
		engine->events = queued->next;
	return queued;
}

void engine_forget_events(struct engine *engine, uint64_t id)
{
	struct queued *queued, **at = &engine->events;

	engine->last_event = NULL;
	while ((queued = *at)) {
		if (queued->event.id == id) {
			*at = queued->next;
			event_free(queued);
			continue;
		}
		engine->last_event = queued;
		at = &queued->next;
	}
}

/* ---- Connections ---------------------------------------------------------- */

static void listen_now(struct engine *engine, struct listener *listener)
{
	listener->sub = subscription_new(engine, listener->filter, RAW_MESSAGE, listener->id, 0);
}

void engine_up(struct engine *engine)
{
	struct engine_event event = { .kind = EVENT_UP, .text = engine->url };
	struct listener *listener;

	engine->phase = PHASE_UP;
	silence_ends(engine);
	engine->said[0] = '\0';
	engine_tell(engine, &event, NULL, NULL);
	DL_FOREACH(engine->listeners, listener)
		if (!listener->sub)
			listen_now(engine, listener);
	tails_on_up(engine);
}

void engine_not_up(struct engine *engine, const char *why)
{
	if (engine->phase != PHASE_UP)
		return;
	engine->phase = PHASE_OPENING;
	tails_on_down(engine);
	ops_end_all(engine, why);
}

static void drop_connection(struct engine *engine)
{
	struct listener *listener;

	tails_on_down(engine);
	DL_FOREACH(engine->listeners, listener) {
		subscription_end(engine, listener->sub);
		listener->sub = NULL;
	}
	subscription_end(engine, engine->replies);
	engine->replies = NULL;
	subscription_end(engine, engine->urgent);
	engine->urgent = NULL;
	natsConnection_Destroy(engine->nc);
	engine->nc = NULL;
}

void engine_reconnect(struct engine *engine, const char *why)
{
	char url[URL_MAX];

	snprintf(url, sizeof(url), "%s", engine->url);
	engine->phase = PHASE_OFFLINE;
	drop_connection(engine);
	ops_end_all(engine, why);
	engine->silent_since = NEVER;
	engine_tell_state(engine, EVENT_DOWN, "%s: %s", url, why);
	connector_want(engine->connector);
}

static void warn_of_version(struct engine *engine)
{
	const char *warning = version_warning(engine->server.version);
	struct engine_event event = { .kind = EVENT_WARNING };
	char text[TEXT_MAX];

	if (!warning || !strcmp(engine->warned, engine->server.version))
		return;
	snprintf(engine->warned, sizeof(engine->warned), "%s", engine->server.version);
	snprintf(text, sizeof(text), "%s: nats-server %s %s", engine->url, engine->server.version,
		 warning);
	event.text = text;
	engine_tell(engine, &event, NULL, NULL);
}

/* Returns false if the connection is gone, or without memory. */
static bool listen_to_answers(struct engine *engine)
{
	char subject[sizeof(engine->reply_prefix) + sizeof(URGENT) + 2];

	snprintf(subject, sizeof(subject), "%s.*", engine->reply_prefix);
	engine->replies = subscription_new(engine, subject, RAW_REPLY, 0, 0);
	snprintf(subject, sizeof(subject), "%s." URGENT "*", engine->reply_prefix);
	engine->urgent = subscription_new(engine, subject, RAW_URGENT, 0, 0);
	return engine->replies && engine->urgent && !natsConnection_IsClosed(engine->nc);
}

static void on_connected(struct engine *engine, const struct raw *raw)
{
	engine->nc = raw->nc;
	engine->server = raw->server;
	snprintf(engine->url, sizeof(engine->url), "%s", raw->text);
	engine->phase = PHASE_OPENING;
	engine->is_checking = false;
	if (!listen_to_answers(engine)) {
		engine_reconnect(engine, "the server has closed the connection");
		return;
	}
	warn_of_version(engine);
	engine_stream_open(engine);
}

/* ---- The entries of libnats' threads -------------------------------------- */

/* Finds the subject in: Permissions Violation for Publish to "SUBJECT" */
static bool permission_subject(const char *text, char subject[TEXT_MAX])
{
	const char *quote = strchr(text, '"');
	const char *end = quote ? strchr(quote + 1, '"') : NULL;

	if (!end || !strcasestr(text, "permissions violation for publish"))
		return false;
	snprintf(subject, TEXT_MAX, "%.*s", (int)(end - quote - 1), quote + 1);
	return true;
}

static void on_error(struct engine *engine, const char *text)
{
	struct engine_event event = { .kind = EVENT_WARNING };
	char subject[TEXT_MAX], whole[TEXT_MAX];

	if (permission_subject(text, subject) && ops_on_permission(engine, subject, text))
		return;
	snprintf(whole, sizeof(whole), "%s: %s", engine->url, text);
	event.text = whole;
	engine_tell(engine, &event, NULL, NULL);
}

static void on_message(struct engine *engine, const struct raw *raw)
{
	struct engine_event event = {
		.kind = EVENT_MESSAGE, .id = raw->id, .subject = natsMsg_GetSubject(raw->msg),
		.data = { natsMsg_GetData(raw->msg), natsMsg_GetDataLength(raw->msg) },
	};
	struct listener *listener;

	DL_FOREACH(engine->listeners, listener) {
		if (listener->id == raw->id) {
			engine_tell(engine, &event, raw->msg, NULL);
			return;
		}
	}
	natsMsg_Destroy(raw->msg);
}

static void on_raw(struct engine *engine, struct raw *raw)
{
	/* Events of an earlier connection are too late. */
	bool is_current = raw->nc == engine->nc;

	switch (raw->kind) {
	case RAW_CONNECTED:
		on_connected(engine, raw);
		break;
	case RAW_FAILED:
		engine_tell_state(engine, raw->refused ? EVENT_REFUSED : EVENT_DOWN, "%s",
				  raw->text);
		break;
	case RAW_CLOSED:
		if (is_current)
			engine_reconnect(engine, raw->text);
		subscriptions_on_closed(engine, raw->nc);
		break;
	case RAW_ERROR:
		if (is_current)
			on_error(engine, raw->text);
		break;
	case RAW_REPLY:
	case RAW_URGENT:
		if (is_current)
			ops_on_reply(engine, raw->msg);
		natsMsg_Destroy(raw->msg);
		break;
	case RAW_TAIL:
		tails_on_message(engine, raw->id, raw->generation, raw->msg);
		break;
	case RAW_MESSAGE:
		on_message(engine, raw);
		break;
	}
	free(raw);
}

/* Returns the next entry, or NULL. An urgent answer overtakes what was taken before it came. */
static struct raw *take_raw(struct engine *engine)
{
	struct raw *raw = inbox_take_urgent(engine->inbox);

	if (raw)
		return raw;
	if (!engine->raw)
		engine->raw = inbox_take(engine->inbox);
	raw = engine->raw;
	if (raw)
		engine->raw = raw->next;
	return raw;
}

/* Handles one entry. Returns whether there was one. */
static bool handle_raw(struct engine *engine)
{
	struct raw *raw = take_raw(engine);

	if (raw)
		on_raw(engine, raw);
	return raw;
}

/* ---- Time ----------------------------------------------------------------- */

void engine_arm(struct engine *engine, uint64_t at)
{
	struct itimerspec timer = {
		.it_value = { .tv_sec = at / SECOND, .tv_nsec = at % SECOND },
	};

	if (at >= engine->armed)
		return;
	engine->armed = at;
	timerfd_settime(engine->timer, TFD_TIMER_ABSTIME, &timer, NULL);
}

static void check_silence(struct engine *engine, uint64_t now)
{
	tails_check_time(engine, now);
	silence_check_time(engine, now);
}

/* A busy engine takes time into account too: operations end, whatever else comes. */
static void check_time(struct engine *engine)
{
	uint64_t now = engine_now(), count;

	if (now < engine->armed)
		return;
	engine->armed = NEVER;
	/* Fails if the timer has not fired yet. Then it will, to no effect. */
	if (read(engine->timer, &count, sizeof(count)) < 0)
		count = 0;
	ops_check_time(engine, now);
	stream_on_time(engine, now);
	if (!engine->raw)
		engine->raw = inbox_take(engine->inbox);
	/* Messages that have come already say who is silent. They are looked at first. */
	if (engine->raw)
		engine->armed = now;
	else
		check_silence(engine, now);
}

/* ---- The interface -------------------------------------------------------- */

static void fill(struct engine_options *to, const struct engine_options *from)
{
	*to = *from;
	if (!to->timeout_ms)
		to->timeout_ms = TIMEOUT_MS;
	if (!to->retry_ms)
		to->retry_ms = RETRY_MS;
	if (!to->check_ms)
		to->check_ms = CHECK_MS;
	if (!to->max_in_flight)
		to->max_in_flight = MAX_IN_FLIGHT;
	if (!to->replicas)
		to->replicas = 1;
}

static int make_prefix(struct engine *engine)
{
	uint64_t random[2];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -1;
	snprintf(engine->reply_prefix, sizeof(engine->reply_prefix),
		 "_INBOX.%016" PRIx64 "%016" PRIx64, random[0], random[1]);
	return 0;
}

static int watch(struct engine *engine, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(engine->epoll, EPOLL_CTL_ADD, fd, &event);
}

static int start(struct engine *engine)
{
	engine->inbox = inbox_new();
	engine->epoll = epoll_create1(EPOLL_CLOEXEC);
	engine->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (!engine->inbox || engine->epoll < 0 || engine->timer < 0 || make_prefix(engine) ||
	    watch(engine, engine->inbox->fd) || watch(engine, engine->timer))
		return -1;
	engine->connector = connector_new(&engine->options, engine->inbox);
	return engine->connector ? 0 : -1;
}

struct engine *engine_open(const struct engine_options *options)
{
	struct engine *engine;
	int err;

	if (!options->urls || !options->urls[0] || !options->certificate != !options->key) {
		errno = EINVAL;
		return NULL;
	}
	engine = calloc(1, sizeof(*engine));
	if (!engine)
		return NULL;
	fill(&engine->options, options);
	engine->epoll = -1;
	engine->timer = -1;
	engine->armed = NEVER;
	engine->open_at = NEVER;
	engine->silent_since = NEVER;
	if (!start(engine))
		return engine;
	err = errno;
	engine_close(engine);
	errno = err;
	return NULL;
}

static void free_listeners(struct engine *engine)
{
	struct listener *listener, *next;

	DL_FOREACH_SAFE(engine->listeners, listener, next) {
		subscription_end(engine, listener->sub);
		free(listener);
	}
	engine->listeners = NULL;
}

/* Waits until libnats has closed the connections, and does not use their subscriptions any more. */
static void await_closed(struct engine *engine)
{
	uint64_t until = engine_now() + CLOSE_MS * MS;
	struct raw *raw;

	while (engine->ended) {
		raw = take_raw(engine);
		if (!raw) {
			if (!inbox_wait(engine->inbox, until))
				break;
			continue;
		}
		if (raw->kind == RAW_CLOSED)
			subscriptions_on_closed(engine, raw->nc);
		raw_free(raw);
	}
	subscriptions_abandon(engine);
}

void engine_close(struct engine *engine)
{
	struct raw *raw;

	if (!engine)
		return;
	connector_free(engine->connector);
	engine->phase = PHASE_OFFLINE;
	tails_free(engine);
	free_listeners(engine);
	drop_connection(engine);
	ops_end_all(engine, "");
	await_closed(engine);
	while ((raw = engine->raw)) {
		engine->raw = raw->next;
		raw_free(raw);
	}
	engine->in_next = true;
	event_free(engine->taken);
	while (engine->events)
		event_free(take_event(engine));
	if (engine->inbox)
		inbox_retire(engine->inbox);
	if (engine->epoll >= 0)
		close(engine->epoll);
	if (engine->timer >= 0)
		close(engine->timer);
	free(engine);
}

int engine_fd(const struct engine *engine)
{
	return engine->epoll;
}

bool engine_has_made_stream(const struct engine *engine)
{
	return engine->has_made;
}

bool engine_is_up(const struct engine *engine)
{
	return engine->phase == PHASE_UP;
}

bool engine_next(struct engine *engine, struct engine_event *event)
{
	event_free(engine->taken);
	engine->in_next = true;
	for (;;) {
		engine->taken = take_event(engine);
		if (engine->taken)
			break;
		check_time(engine);
		if (!engine->events && !handle_raw(engine))
			break;
	}
	engine->in_next = false;
	if (engine->taken)
		*event = engine->taken->event;
	return engine->taken;
}

/* ---- Messages ------------------------------------------------------------- */

int64_t engine_listen(struct engine *engine, const char *filter)
{
	size_t size = strlen(filter) + 1;
	struct listener *listener = calloc(1, sizeof(*listener) + size);

	if (!listener)
		return -ENOMEM;
	memcpy(listener->filter, filter, size);
	listener->id = ++engine->last_id;
	DL_APPEND(engine->listeners, listener);
	if (engine->phase == PHASE_UP)
		listen_now(engine, listener);
	return listener->id;
}

void engine_unlisten(struct engine *engine, int64_t id)
{
	struct listener *listener, *next;

	DL_FOREACH_SAFE(engine->listeners, listener, next) {
		if (listener->id != (uint64_t)id)
			continue;
		subscription_end(engine, listener->sub);
		DL_DELETE(engine->listeners, listener);
		free(listener);
		engine_forget_events(engine, id);
	}
}

int engine_say(struct engine *engine, const char *subject, struct bytes data)
{
	if (engine->phase != PHASE_UP)
		return -ENOTCONN;
	switch (natsConnection_Publish(engine->nc, subject, data.at, (int)data.len)) {
	case NATS_OK:
		return 0;
	case NATS_MAX_PAYLOAD:
		return -EMSGSIZE;
	case NATS_NO_MEMORY:
		return -ENOMEM;
	default:
		return -ENOTCONN;
	}
}
