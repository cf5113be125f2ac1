/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * HTTP for the exporter: http.c with libmicrohttpd, no_http.c for a build without.
 */
#ifndef KWQ_HTTP_H
#define KWQ_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

struct http;

/*
 * The body of /metrics: sets *text, which the server frees, and *len. Returns 0 or a
 * negative errno value. Never called twice at once.
 */
typedef int (*http_metrics_fn)(void *arg, char **text, size_t *len);

/* Whether this build has it. */
extern const bool http_available;

/*
 * Serves in a thread of its own, until http_stop(). The caller gives it a socket that
 * listens. NULL, with errno set, where that fails.
 */
struct http *http_start(int listen_fd, http_metrics_fn metrics, void *arg);

/* Ends what is being served, too. Closes the socket. */
void http_stop(struct http *http);

#endif /* KWQ_HTTP_H */
