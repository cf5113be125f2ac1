// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "trace_instance.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cmd.h"

#define PREFIX "kwq-events-"

static const char *const places[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

static int write_to(const char *folder, const char *name, const char *text)
{
	char path[256];
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* Removes instances whose processes are gone. One in use cannot be removed. */
static void sweep(const char *place)
{
	const struct dirent *entry;
	char path[400];
	DIR *dir;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/instances", place);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)))
			continue;
		pid = atoi(entry->d_name + strlen(PREFIX));
		if (pid <= 0 || !kill(pid, 0) || errno != ESRCH)
			continue;
		snprintf(path, sizeof(path), "%s/instances/%s", place, entry->d_name);
		rmdir(path);
	}
	if (dir)
		closedir(dir);
}

/* The folder of tracefs. Returns 0, -ENODEV or -EACCES. */
static int find(const char **place)
{
	char path[64];
	int err = -ENODEV;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		snprintf(path, sizeof(path), "%s/instances", places[i]);
		*place = places[i];
		if (!access(path, W_OK | X_OK))
			return 0;
		if (errno == EACCES)
			err = -EACCES;
	}
	return err;
}

static int set_up(const struct trace_instance *instance, const char *filter,
		  unsigned long buffer_kb)
{
	char text[32];
	int err = 0;

	/* A name of a thread is of no use here, and recording it slows the scheduler down. */
	write_to(instance->path, "options/record-cmd", "0");
	write_to(instance->path, "options/record-tgid", "0");
	/* Wake the reader for each event, not for half a buffer. */
	write_to(instance->path, "buffer_percent", "0");
	err = write_to(instance->path, "trace_clock", "mono");
	if (!err && buffer_kb) {
		snprintf(text, sizeof(text), "%lu", buffer_kb);
		err = write_to(instance->path, "buffer_size_kb", text);
	}
	if (!err && filter)
		err = write_to(instance->path, "events/kwq/filter", filter);
	return err;
}

int trace_instance_open(struct trace_instance *instance, const char *filter,
			unsigned long buffer_kb)
{
	const char *place;
	char path[160];
	int err;

	instance->pipe = -1;
	err = find(&place);
	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/events/kwq", place);
	if (access(path, F_OK))
		return -ENXIO;
	sweep(place);
	snprintf(instance->path, sizeof(instance->path), "%s/instances/" PREFIX "%d", place,
		 getpid());
	if (mkdir(instance->path, 0700))
		return -errno;
	err = set_up(instance, filter, buffer_kb);
	if (!err) {
		snprintf(path, sizeof(path), "%s/trace_pipe", instance->path);
		instance->pipe = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (instance->pipe >= 0)
			return 0;
		err = -errno;
	}
	trace_instance_close(instance);
	return err;
}

int trace_instance_begin(const struct trace_instance *instance)
{
	return write_to(instance->path, "events/kwq/enable", "1");
}

void trace_instance_stop(const struct trace_instance *instance)
{
	write_to(instance->path, "events/kwq/enable", "0");
}

void trace_instance_close(struct trace_instance *instance)
{
	if (instance->pipe >= 0)
		close(instance->pipe);
	instance->pipe = -1;
	rmdir(instance->path);
}
