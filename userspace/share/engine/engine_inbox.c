// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "engine_internal.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Messages that may be lost are dropped beyond this number. */
enum { MOST_MESSAGES = 65536 };

static pthread_mutex_t retired_lock = PTHREAD_MUTEX_INITIALIZER;
static struct inbox *retired_inboxes;

struct inbox *inbox_new(void)
{
	struct inbox *inbox = calloc(1, sizeof(*inbox));

	if (!inbox)
		return NULL;
	inbox->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (inbox->fd < 0) {
		free(inbox);
		return NULL;
	}
	pthread_mutex_init(&inbox->lock, NULL);
	return inbox;
}

bool inbox_wait(struct inbox *inbox, uint64_t until)
{
	struct pollfd pollfd = { .fd = inbox->fd, .events = POLLIN };
	uint64_t now = engine_now();

	if (now >= until)
		return false;
	poll(&pollfd, 1, (until - now) / MS + 1);
	return true;
}

static void append(struct raws *raws, struct raw *first, struct raw *last)
{
	if (!first)
		return;
	if (raws->first)
		raws->last->next = first;
	else
		raws->first = first;
	raws->last = last;
}

static struct raw *take_locked(struct inbox *inbox)
{
	struct raw *first;

	append(&inbox->urgent, inbox->others.first, inbox->others.last);
	first = inbox->urgent.first;
	inbox->urgent.first = NULL;
	inbox->others.first = NULL;
	return first;
}

struct raw *inbox_take(struct inbox *inbox)
{
	struct raw *first;
	uint64_t count;

	/* Before the lists are taken: a later entry makes it readable again. */
	if (read(inbox->fd, &count, sizeof(count)) < 0)
		count = 0;
	pthread_mutex_lock(&inbox->lock);
	first = take_locked(inbox);
	inbox->nr_messages = 0;
	pthread_mutex_unlock(&inbox->lock);
	return first;
}

/* The descriptor stays readable. inbox_take() is called before a caller waits. */
struct raw *inbox_take_urgent(struct inbox *inbox)
{
	struct raw *raw;

	pthread_mutex_lock(&inbox->lock);
	raw = inbox->urgent.first;
	if (raw)
		inbox->urgent.first = raw->next;
	pthread_mutex_unlock(&inbox->lock);
	return raw;
}

void raw_free(struct raw *raw)
{
	if (raw->kind == RAW_CONNECTED)
		natsConnection_Destroy(raw->nc);
	natsMsg_Destroy(raw->msg);
	free(raw);
}

void inbox_retire(struct inbox *inbox)
{
	struct raw *raw, *next;

	pthread_mutex_lock(&inbox->lock);
	inbox->closed = true;
	close(inbox->fd);
	raw = take_locked(inbox);
	pthread_mutex_unlock(&inbox->lock);
	for (; raw; raw = next) {
		next = raw->next;
		raw_free(raw);
	}
	pthread_mutex_lock(&retired_lock);
	inbox->retired = retired_inboxes;
	retired_inboxes = inbox;
	pthread_mutex_unlock(&retired_lock);
}

struct raw *raw_new(enum raw_kind kind, const char *text)
{
	size_t size = strlen(text) + 1;
	struct raw *raw = calloc(1, sizeof(*raw) + size);

	if (raw) {
		raw->kind = kind;
		memcpy(raw->text, text, size);
	}
	return raw;
}

static bool put_locked(struct inbox *inbox, struct raw *raw)
{
	if (inbox->closed)
		return false;
	if (raw->kind == RAW_MESSAGE && ++inbox->nr_messages > MOST_MESSAGES)
		return false;
	append(raw->kind == RAW_URGENT ? &inbox->urgent : &inbox->others, raw, raw);
	return true;
}

void inbox_put(struct inbox *inbox, struct raw *raw)
{
	bool was_empty, is_taken;

	if (!raw)
		return;
	pthread_mutex_lock(&inbox->lock);
	was_empty = !inbox->urgent.first && !inbox->others.first;
	is_taken = put_locked(inbox, raw);
	if (is_taken && was_empty)
		inbox_wake(inbox);
	pthread_mutex_unlock(&inbox->lock);
	if (!is_taken)
		raw_free(raw);
}

void inbox_wake(struct inbox *inbox)
{
	uint64_t one = 1;
	ssize_t written;

	/* Fails only if the counter is at its end, and then it is readable. */
	written = write(inbox->fd, &one, sizeof(one));
	(void)written;
}

void inbox_on_closed(natsConnection *nc, void *closure)
{
	const char *detail = NULL;
	char text[TEXT_MAX];
	struct raw *raw;

	natsConnection_GetLastError(nc, &detail);
	snprintf(text, sizeof(text), "the connection is lost%s%s%s", detail && *detail ? " (" : "",
		 detail ? detail : "", detail && *detail ? ")" : "");
	raw = raw_new(RAW_CLOSED, text);
	if (raw)
		raw->nc = nc;
	inbox_put(closure, raw);
}

void inbox_on_error(natsConnection *nc, natsSubscription *sub, natsStatus status, void *closure)
{
	const char *text = NULL;
	struct raw *raw;

	(void)sub;
	natsConnection_GetLastError(nc, &text);
	raw = raw_new(RAW_ERROR, text && *text ? text : natsStatus_GetText(status));
	if (raw)
		raw->nc = nc;
	inbox_put(closure, raw);
}
