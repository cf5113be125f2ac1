// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * libmicrohttpd brings some twenty libraries, and kwq starts in a fifth of the time without them.
 * So only the exporter loads it. A static kwq is linked with it.
 */
#include "http.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <microhttpd.h>

#include "base/cmd.h"
#include "base/library.h"
#include "queue/metrics.h"

enum {
	/* One or two scrapers need one connection each; more wait in the socket's
	 * backlog.
	 */
	CONNECTIONS_MAX = 32,
	/* Closes a connection whose peer neither sends nor reads for this long. */
	TIMEOUT_SECONDS = 10,
	CONNECTION_MEMORY = 16384,
};

const bool http_available = true;

/* The functions of libmicrohttpd. */
static struct {
	__typeof__(MHD_add_response_header) *add_response_header;
	__typeof__(MHD_create_response_from_buffer) *create_response_from_buffer;
	__typeof__(MHD_destroy_response) *destroy_response;
	__typeof__(MHD_queue_response) *queue_response;
	__typeof__(MHD_start_daemon) *start_daemon;
	__typeof__(MHD_stop_daemon) *stop_daemon;
} mhd;

#ifdef HTTP_SONAME
const char *http_load(void)
{
	static const struct library_function functions[] = {
		{ "MHD_add_response_header", (void **)&mhd.add_response_header },
		{ "MHD_create_response_from_buffer", (void **)&mhd.create_response_from_buffer },
		{ "MHD_destroy_response", (void **)&mhd.destroy_response },
		{ "MHD_queue_response", (void **)&mhd.queue_response },
		{ "MHD_start_daemon", (void **)&mhd.start_daemon },
		{ "MHD_stop_daemon", (void **)&mhd.stop_daemon },
	};

	return library_load(HTTP_SONAME, functions, ARRAY_SIZE(functions));
}
#else
const char *http_load(void)
{
	mhd.add_response_header = MHD_add_response_header;
	mhd.create_response_from_buffer = MHD_create_response_from_buffer;
	mhd.destroy_response = MHD_destroy_response;
	mhd.queue_response = MHD_queue_response;
	mhd.start_daemon = MHD_start_daemon;
	mhd.stop_daemon = MHD_stop_daemon;
	return NULL;
}
#endif

struct http {
	struct MHD_Daemon *daemon;
	http_metrics_fn metrics;
	void *arg;
};

static const char front_page[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><title>kwq exporter</title></head>\n"
	"<body><h1>kwq exporter</h1><p><a href=\"/metrics\">Metrics</a></p></body></html>\n";

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned int status,
			      struct MHD_Response *response, const char *type)
{
	enum MHD_Result result = MHD_NO;

	if (!response)
		return MHD_NO;
	if (mhd.add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type) == MHD_YES &&
	    (status != MHD_HTTP_METHOD_NOT_ALLOWED ||
	     mhd.add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD") == MHD_YES))
		result = mhd.queue_response(connection, status, response);
	mhd.destroy_response(response);
	return result;
}

static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned int status,
				   const char *text, const char *type)
{
	return answer(connection, status,
		      mhd.create_response_from_buffer(strlen(text), (void *)text,
						      MHD_RESPMEM_PERSISTENT), type);
}

static enum MHD_Result answer_metrics(struct http *http, struct MHD_Connection *connection)
{
	struct MHD_Response *response;
	size_t len;
	char *text;
	int err = http->metrics(http->arg, &text, &len);

	if (err)
		return answer_text(connection, err == -ENODEV ?
				   MHD_HTTP_SERVICE_UNAVAILABLE :
				   MHD_HTTP_INTERNAL_SERVER_ERROR,
				   err == -ENODEV ? "no /dev/kwq\n" : "cannot ask the queues\n",
				   "text/plain");
	response = mhd.create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE);
	if (!response)
		free(text);
	return answer(connection, MHD_HTTP_OK, response, METRICS_CONTENT_TYPE);
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **request)
{
	static char seen;

	(void)version;
	(void)upload;
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return answer_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
				   "only GET and HEAD\n", "text/plain");
	/* The first call has only the headers. Later calls have the body, which is
	 * discarded.
	 */
	if (!*request) {
		*request = &seen;
		return MHD_YES;
	}
	if (*upload_size) {
		*upload_size = 0;
		return MHD_YES;
	}
	if (!strcmp(url, "/metrics"))
		return answer_metrics(arg, connection);
	if (!strcmp(url, "/"))
		return answer_text(connection, MHD_HTTP_OK, front_page,
				   "text/html; charset=utf-8");
	return answer_text(connection, MHD_HTTP_NOT_FOUND, "only / and /metrics\n",
			   "text/plain");
}

struct http *http_start(int listen_fd, http_metrics_fn metrics, void *arg)
{
	struct http *http = calloc(1, sizeof(*http));

	if (!http)
		return NULL;
	http->metrics = metrics;
	http->arg = arg;
	/* One thread serves all connections: scrapes never overlap. Epoll has no limit
	 * on descriptor numbers.
	 */
	http->daemon = mhd.start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, handle, http,
					MHD_OPTION_LISTEN_SOCKET, listen_fd,
					MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
					MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_SECONDS,
					MHD_OPTION_CONNECTION_MEMORY_LIMIT,
					(size_t)CONNECTION_MEMORY, MHD_OPTION_END);
	if (!http->daemon) {
		free(http);
		return NULL;
	}
	return http;
}

void http_stop(struct http *http)
{
	mhd.stop_daemon(http->daemon);
	free(http);
}
