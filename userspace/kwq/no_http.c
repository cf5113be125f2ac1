// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * For a build without libmicrohttpd: the exporter then writes files only, and says so.
 */
#include "http.h"

#include <errno.h>

const bool http_available;

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
