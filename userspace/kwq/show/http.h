/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The exporter's HTTP server: http.c with libmicrohttpd, no_http.c for a build without
 * it.
 */
#ifndef KWQ_HTTP_H
#define KWQ_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

struct http;

/*
 * Makes the body of /metrics: sets *len and *text, which the server frees. Returns 0 or
 * a negative errno value. Calls never overlap.
 */
typedef int (*http_metrics_fn)(void *arg, char **text, size_t *len);

/* Whether this build has an HTTP server. */
extern const bool http_available;

/* Loads the server's library. Returns NULL, or why that failed. Comes before http_start(). */
const char *http_load(void);

/*
 * Serves a listening socket in a thread of its own until http_stop(). Returns NULL with
 * errno set on failure.
 */
struct http *http_start(int listen_fd, http_metrics_fn metrics, void *arg);

/* Stops the server, aborts its connections and closes the socket. */
void http_stop(struct http *http);

#endif /* KWQ_HTTP_H */
