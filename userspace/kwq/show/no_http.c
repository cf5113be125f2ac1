// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Replaces http.c in a build without libmicrohttpd. The exporter then only writes
 * files, and says so.
 */
#include "http.h"

#include <errno.h>

const bool http_available;

const char *http_load(void)
{
	return NULL;
}

struct http *http_start(int listen_fd, http_metrics_fn metrics, void *arg)
{
	(void)listen_fd;
	(void)metrics;
	(void)arg;
	errno = EOPNOTSUPP;
	return NULL;
}

void http_stop(struct http *http)
{
	(void)http;
}
