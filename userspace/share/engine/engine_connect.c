// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "engine_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* The longest pause after a server has refused the login, which it writes into its log. */
enum { DENIED_MS = 30000 };

/*
 * @lock: covers @is_wanted and @is_over
 * @denials: the last rounds in all of which a server refused the login; of the thread
 * @last: the number of the server that was connected last, any one at first; of the thread
 * Others are set once.
 */
struct connector {
	const struct engine_options *options;
	struct inbox *inbox;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_wanted, is_over;
	unsigned int denials;
	size_t last;
};

#define WANTS_CERTIFICATE "the server asks for a certificate: give --cert and --key"

const char *engine_shown_url(const char *url, char to[URL_MAX])
{
	const char *host = strstr(url, "://"), *user;

	host = host ? host + 3 : url;
	user = strrchr(host, '@');
	snprintf(to, URL_MAX, "%.*s%s", (int)(host - url), url, user ? user + 1 : host);
	return to;
}

static const char *identity_text(const struct engine_options *options)
{
	if (options->credentials)
		return "the server refuses the credentials";
	if (options->nkey)
		return "the server does not know this NKey";
	if (options->token_file)
		return "wrong token";
	if (options->user_file)
		return "wrong user or password";
	return "wrong login, or the server wants one and none is given";
}

/* The text of libnats, without the "(FILE:LINE): " of its source. Never NULL. */
static const char *last_error(natsStatus status)
{
	const char *text = nats_GetLastError(NULL), *end;

	if (!text || !*text)
		return natsStatus_GetText(status);
	end = *text == '(' ? strstr(text, "): ") : NULL;
	return end ? end + 3 : text;
}

/*
 * Says why natsConnection_Connect() has failed. With TLS 1.3 a client hears only after the
 * handshake that its certificate is missing, and libnats says that it got no PONG.
 */
static void explain(const struct engine_options *options, const struct server_facts *server,
		    natsStatus status, struct why *why)
{
	bool lacks_certificate = server->wants_certificate && !options->certificate;
	const char *text = last_error(status);

	why->refused = true;
	switch (status) {
	case NATS_CONNECTION_AUTH_FAILED:
		why->denied = true;
		text = identity_text(options);
		break;
	case NATS_SECURE_CONNECTION_WANTED:
		text = "the server has no TLS: write nats:// instead of tls://, and name no certificates";
		break;
	case NATS_SSL_ERROR:
		snprintf(why->text, sizeof(why->text), "TLS: %s%s", text,
			 lacks_certificate ? "; " WANTS_CERTIFICATE : "");
		return;
	case NATS_TIMEOUT:
		why->refused = false;
		text = "no answer within 2 seconds";
		break;
	default:
		why->refused = lacks_certificate;
		text = lacks_certificate ? WANTS_CERTIFICATE : text;
	}
	snprintf(why->text, sizeof(why->text), "%s", text);
}

/*
 * libnats 3.4.1 sends no signature that begins with a zero byte. So one of 256 logins with a key is
 * refused. The server asks for another signature each time, so a second login at once decides.
 */
static bool lacks_signature(const struct engine_options *options, natsStatus status)
{
	return status == NATS_CONNECTION_AUTH_FAILED && (options->nkey || options->credentials);
}

static natsConnection *connect_with(const struct engine_options *options,
				    const struct server_facts *server, natsOptions *opts,
				    struct why *why)
{
	natsConnection *nc = NULL;
	natsStatus status = natsConnection_Connect(&nc, opts);

	if (lacks_signature(options, status))
		status = natsConnection_Connect(&nc, opts);
	if (status == NATS_OK)
		return nc;
	explain(options, server, status, why);
	return NULL;
}

/* Returns RAW_CONNECTED, or NULL. */
static struct raw *connect_one(struct connector *c, const char *url, struct why *why)
{
	struct server_facts facts = { 0 };
	char text[URL_MAX];
	natsOptions *opts;
	struct raw *raw;

	*why = (struct why){ 0 };
	if (!probe_server(url, &facts, why) ||
	    !version_is_known_good(facts.version, c->options->replicas, why))
		return NULL;
	raw = raw_new(RAW_CONNECTED, engine_shown_url(url, text));
	if (!raw)
		return NULL;
	raw->server = facts;
	opts = options_new(c->options, c->inbox, url, why);
	if (opts)
		raw->nc = connect_with(c->options, &facts, opts, why);
	natsOptions_Destroy(opts);
	if (raw->nc)
		return raw;
	raw_free(raw);
	return NULL;
}

/* A fault of this machine is said once, and without a server. */
static void append(struct why *all, const char *url, const struct why *one)
{
	size_t len = strlen(all->text);
	char text[URL_MAX];

	all->refused |= one->refused;
	all->denied |= one->denied;
	if (one->is_local && strstr(all->text, one->text))
		return;
	snprintf(all->text + len, sizeof(all->text) - len, "%s%s%s%s", len ? "; " : "",
		 one->is_local ? "" : engine_shown_url(url, text), one->is_local ? "" : ": ",
		 one->text);
}

/* Puts the reasons in the order of the URLs, so that the same reasons are the same text. */
static struct raw *failed(struct connector *c, const struct why *whys, size_t nr)
{
	struct why all = { 0 };
	struct raw *raw;

	for (size_t i = 0; i < nr; i++)
		append(&all, c->options->urls[i], &whys[i]);
	c->denials = all.denied ? c->denials + 1 : 0;
	raw = raw_new(RAW_FAILED, all.text);
	if (raw)
		raw->refused = all.refused;
	return raw;
}

static size_t any_number(void)
{
	size_t number;

	return getrandom(&number, sizeof(number), GRND_NONBLOCK) < 0 ? 0 : number;
}

/* Where attempt number @i goes. The server of the last connection has its turn after all others. */
static size_t nth_server(const struct connector *c, size_t nr, size_t start, size_t i)
{
	size_t last = c->last % nr;

	return i + 1 < nr ? (last + 1 + (start % (nr - 1) + i) % (nr - 1)) % nr : last;
}

/* Tries all servers, beginning with any one, so that clients spread. */
static struct raw *connect_any(struct connector *c)
{
	const char *const *urls = c->options->urls;
	struct raw *raw = NULL;
	size_t nr = 0, start = any_number(), at = 0;
	struct why *whys;

	while (urls[nr])
		nr++;
	whys = calloc(nr, sizeof(*whys));
	if (!whys)
		return NULL;
	for (size_t i = 0; i < nr && !raw; i++) {
		at = nth_server(c, nr, start, i);
		raw = connect_one(c, urls[at], &whys[at]);
	}
	if (raw)
		c->last = at;
	else
		raw = failed(c, whys, nr);
	free(whys);
	return raw;
}

/* Returns whether a connection is wanted; false at the end. */
static bool await_want(struct connector *c)
{
	bool is_over;

	pthread_mutex_lock(&c->lock);
	while (!c->is_wanted && !c->is_over)
		pthread_cond_wait(&c->changed, &c->lock);
	is_over = c->is_over;
	pthread_mutex_unlock(&c->lock);
	return !is_over;
}

uint64_t connector_pause_ms(unsigned int retry_ms, unsigned int denials)
{
	uint64_t pause = retry_ms;

	while (denials-- > 1 && pause < DENIED_MS)
		pause = pause * 2 < DENIED_MS ? pause * 2 : DENIED_MS;
	return pause;
}

static void pause_connecting(struct connector *c)
{
	struct timespec until;
	uint64_t pause;

	clock_gettime(CLOCK_MONOTONIC, &until);
	pause = connector_pause_ms(c->options->retry_ms, c->denials) * MS + until.tv_nsec;
	until.tv_sec += pause / SECOND;
	until.tv_nsec = pause % SECOND;
	pthread_mutex_lock(&c->lock);
	while (!c->is_over && pthread_cond_timedwait(&c->changed, &c->lock, &until) != ETIMEDOUT)
		;
	pthread_mutex_unlock(&c->lock);
}

static void *connect_for_ever(void *argument)
{
	struct connector *c = argument;
	struct raw *raw;
	bool good;

	while (await_want(c)) {
		raw = connect_any(c);
		good = raw && raw->kind == RAW_CONNECTED;
		if (good) {
			pthread_mutex_lock(&c->lock);
			c->is_wanted = false;
			c->denials = 0;
			pthread_mutex_unlock(&c->lock);
		}
		inbox_put(c->inbox, raw);
		if (!good)
			pause_connecting(c);
	}
	nats_ReleaseThreadMemory();
	return NULL;
}

struct connector *connector_new(const struct engine_options *options, struct inbox *inbox)
{
	struct connector *c = calloc(1, sizeof(*c));
	pthread_condattr_t attr;
	int err;

	if (!c)
		return NULL;
	c->options = options;
	c->inbox = inbox;
	c->last = any_number();
	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->changed, &attr);
	pthread_condattr_destroy(&attr);
	c->is_wanted = true;
	err = pthread_create(&c->thread, NULL, connect_for_ever, c);
	if (err) {
		free(c);
		errno = err;
		return NULL;
	}
	return c;
}

void connector_want(struct connector *c)
{
	pthread_mutex_lock(&c->lock);
	c->is_wanted = true;
	pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

void connector_free(struct connector *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->is_over = true;
	pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->thread, NULL);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
	free(c);
}
