// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "file_marks.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <kwq.h>
#include <linux/kwq_files.h>

#include "base/cmd.h"

#define DEVICE "/dev/kwq_files"

/* Paths of one report, and the bytes of their keys. */
enum { PATHS = 64, KEYS_ROOM = PATHS * 512 + KWQ_KEY_MAX };

struct file_marks {
	struct watch_tree_options options;
	bool mounts;
	uint32_t bits;			/* KWQ_FILE_* bits to report */
	int *fds;			/* the watch of each folder; -1 once that is gone */
	size_t nr;
	struct kwq *q;
	int epoll;
	unsigned long long refused;

	int nr_got;			/* reported, and not done */
	struct kwq_got got[PATHS];
	struct kwq_got_extra extras[PATHS];
	char keys[KEYS_ROOM];
	char path[KWQ_KEY_MAX + 1];
};

static uint32_t bits_of(uint32_t events)
{
	static const struct {
		uint32_t event, bits;
	} known[] = {
		{ WATCH_WRITTEN, KWQ_FILE_WRITTEN },
		{ WATCH_MOVED, KWQ_FILE_MOVED_TO },
		{ WATCH_CREATED, KWQ_FILE_CREATED },
		{ WATCH_ATTRIBUTES, KWQ_FILE_ATTRIBUTES },
		{ WATCH_DELETED, KWQ_FILE_DELETED | KWQ_FILE_MOVED_FROM },
	};
	uint32_t bits = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (events & known[i].event)
			bits |= known[i].bits;
	return bits;
}

/* ---- Reports -------------------------------------------------------------- */

/* Whether a folder that the path of a file leads through, or is, is not wanted. */
static bool is_unwanted(const struct file_marks *m, size_t folder, char *path)
{
	bool wanted = true;
	char *slash;

	for (slash = strchr(path, '/'); slash && wanted; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		wanted = m->options.wants_folder(m->options.arg, folder, path);
		*slash = '/';
	}
	return !wanted;
}

static int report(struct file_marks *m, size_t folder, const char *path, uint32_t bits)
{
	return m->options.changed(m->options.arg, folder, path, bits);
}

/* What fts found: a folder to go into, a file, or something that cannot be read. */
static int report_entry(struct file_marks *m, size_t folder, FTS *fts, FTSENT *entry,
			const char *path)
{
	switch (entry->fts_info) {
	case FTS_D:
		if (*path && !m->options.wants_folder(m->options.arg, folder, path))
			fts_set(fts, entry, FTS_SKIP);
		return 0;
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		if (entry->fts_errno != ENOENT && entry->fts_errno != ENOTDIR)
			m->options.warn(m->options.arg, folder, path, strerror(entry->fts_errno));
		return 0;
	case FTS_DP:
	case FTS_DC:
	case FTS_DOT:
		return 0;
	default:
		return report(m, folder, path, KWQ_FILE_FOUND);
	}
}

/* Reports all files below @path, which is below the folder. */
static int list_files(struct file_marks *m, size_t folder, const char *path)
{
	const char *above = m->options.folders[folder];
	/* That of the root folder is its slash alone. */
	size_t len = strcmp(above, "/") ? strlen(above) : 0;
	char *top, *paths[2] = { NULL };
	FTSENT *entry;
	int err = 0;
	FTS *fts;

	if (asprintf(&top, "%.*s/%s", (int)len, above, path) < 0)
		return -ENOMEM;
	paths[0] = top;
	fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	while (fts && !err && (entry = fts_read(fts))) {
		const char *below = entry->fts_path + len;

		err = report_entry(m, folder, fts, entry, below + strspn(below, "/"));
	}
	if (!fts)
		err = -errno;
	else
		fts_close(fts);
	free(top);
	return err;
}

static int list_all(struct file_marks *m)
{
	int err = 0;
	size_t i;

	for (i = 0; i < m->nr && !err; i++)
		if (m->fds[i] >= 0)
			err = list_files(m, i, "");
	return err;
}

/* Reports a key, which is the number of a folder, a slash, and a path. */
static int report_key(struct file_marks *m, const struct kwq_got *got, const char *key,
		      uint32_t bits)
{
	size_t folder, len;
	char *path;

	memcpy(m->path, key, got->key_len);
	m->path[got->key_len] = '\0';
	folder = strtoul(m->path, &path, 10);
	path++;
	len = strlen(path);
	if (is_unwanted(m, folder, path))
		return 0;
	if (len && path[len - 1] == '/')
		/* The files that came with it have no events. */
		return bits & KWQ_FILE_MOVED_TO ? list_files(m, folder, path) : 0;
	bits &= m->bits;
	return bits ? report(m, folder, path, bits) : 0;
}

static int report_keys(struct file_marks *m)
{
	const char *at = m->keys;
	int i, err = 0;

	for (i = 0; i < m->nr_got && !err; i++) {
		const struct kwq_got *got = &m->got[i];
		size_t value_len = m->extras[i].value_len;

		err = report_key(m, got, at, value_len ? (uint8_t)at[got->key_len] : 0);
		at += got->key_len + value_len;
	}
	return err;
}

static int take(struct file_marks *m)
{
	struct kwq_get_args get = {
		.size = sizeof(get),
		.flags = KWQ_GET_NONBLOCK,
		.get = {
			.entries = kwq_ptr(m->got),
			.extras = kwq_ptr(m->extras),
			.keys = kwq_ptr(m->keys),
			.keys_len = sizeof(m->keys),
			.nr = PATHS,
			.entry_size = sizeof(m->got[0]),
			.extra_size = sizeof(m->extras[0]),
		},
	};
	int nr = kwq_get_batch(m->q, &get);

	if (nr < 0)
		return nr == -EAGAIN ? 0 : nr;
	m->nr_got = nr;
	return report_keys(m);
}

int file_marks_reported(struct file_marks *m)
{
	struct kwq_done_entry entries[PATHS] = { 0 };
	__s32 results[PATHS];
	struct kwq_batch batch = {
		.entries = kwq_ptr(entries),
		.results = kwq_ptr(results),
		.nr = m->nr_got,
		.entry_size = sizeof(entries[0]),
	};
	int i, ret;

	if (!m->nr_got)
		return 0;
	for (i = 0; i < m->nr_got; i++)
		entries[i].ticket = m->got[i].ticket;
	m->nr_got = 0;
	ret = kwq_done_batch(m->q, &batch);
	return ret < 0 ? ret : 0;
}

/* ---- Marks ---------------------------------------------------------------- */

static int all_gone(const struct file_marks *m)
{
	size_t i;

	for (i = 0; i < m->nr; i++)
		if (m->fds[i] >= 0)
			return 0;
	return -ENOENT;
}

/* Looks at a watch that has something to tell. Sets *@refused if changes were not added. */
static int look(struct file_marks *m, size_t folder, bool *refused)
{
	struct kwq_files_stat st = { .size = sizeof(st) };

	if (ioctl(m->fds[folder], KWQ_IOC_FILES_STAT, &st))
		return -errno;
	if (!(st.state & KWQ_FILES_GONE)) {
		*refused = true;
		return 0;
	}
	m->options.warn(m->options.arg, folder, "", "is gone");
	close(m->fds[folder]);
	m->fds[folder] = -1;
	return all_gone(m);
}

int file_marks_read(struct file_marks *m)
{
	struct epoll_event events[16];
	bool refused = false;
	int nr, i, err = 0;

	nr = epoll_wait(m->epoll, events, ARRAY_SIZE(events), 0);
	if (nr < 0)
		return errno == EINTR ? 0 : -errno;
	/* The paths that are there come before the end of their folders. */
	err = take(m);
	for (i = 0; i < nr && !err; i++)
		if (events[i].data.u64 < m->nr)
			err = look(m, events[i].data.u64, &refused);
	if (err || !refused)
		return err;
	m->refused++;
	return list_all(m);
}

static int poll_too(struct file_marks *m, int fd, uint64_t number)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = number };

	return epoll_ctl(m->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int watch_folder(const struct file_marks *m, int fd, int at, size_t folder)
{
	char prefix[24];
	struct kwq_files_watch_args args = {
		.size = sizeof(args),
		.flags = KWQ_FILES_VALUES | (m->mounts ? KWQ_FILES_MOUNT : 0),
		.queue = kwq_fd(m->q),
		.folder = at,
		/* A folder that comes has files, whatever is to be reported of them. */
		.events = m->bits | (m->mounts ? 0 : KWQ_FILE_MOVED_TO),
		.prefix = kwq_ptr(prefix),
		.prefix_len = snprintf(prefix, sizeof(prefix), "%zu/", folder),
	};

	return ioctl(fd, KWQ_IOC_FILES_WATCH, &args) ? -errno : 0;
}

static int open_mark(struct file_marks *m, size_t folder)
{
	int at = open(m->options.folders[folder], O_PATH | O_DIRECTORY | O_CLOEXEC);
	int err;

	if (at < 0) {
		m->options.warn(m->options.arg, folder, "", strerror(errno));
		return -EBADF;
	}
	m->fds[folder] = open(DEVICE, O_RDWR | O_CLOEXEC);
	if (m->fds[folder] < 0)
		err = errno == ENOENT || errno == ENODEV ? -ENXIO : -errno;
	else
		err = watch_folder(m, m->fds[folder], at, folder);
	close(at);
	return err ? err : poll_too(m, m->fds[folder], folder);
}

/* ---- Begin and end -------------------------------------------------------- */

static int begin(struct file_marks *m)
{
	const struct kwq_create_options private = {
		.size = sizeof(private),
		.open_flags = O_CLOEXEC,
		.clockid = CLOCK_MONOTONIC,
		.rights = KWQ_RIGHT_READ | KWQ_RIGHT_WRITE,
		.values = true,
		.no_durations = true,
	};
	size_t i;
	int err;

	m->fds = malloc(m->nr * sizeof(*m->fds));
	if (!m->fds)
		return -ENOMEM;
	for (i = 0; i < m->nr; i++)
		m->fds[i] = -1;
	m->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (m->epoll < 0)
		return -errno;
	err = kwq_create(&m->q, NULL, &private);
	if (!err)
		err = poll_too(m, kwq_fd(m->q), m->nr);
	for (i = 0; i < m->nr && !err; i++)
		err = open_mark(m, i);
	if (!err && m->options.initial)
		err = list_all(m);
	return err;
}

int file_marks_open(struct file_marks **marks, const struct watch_tree_options *options,
		    bool mounts)
{
	struct file_marks *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->options = *options;
	m->mounts = mounts;
	m->bits = bits_of(options->events);
	m->epoll = -1;
	while (options->folders[m->nr])
		m->nr++;
	err = begin(m);
	if (err) {
		file_marks_close(m);
		return err;
	}
	*marks = m;
	return 0;
}

int file_marks_fd(const struct file_marks *m)
{
	return m->epoll;
}

unsigned long long file_marks_refused(const struct file_marks *m)
{
	return m->refused;
}

void file_marks_close(struct file_marks *m)
{
	size_t i;

	for (i = 0; m->fds && i < m->nr; i++)
		if (m->fds[i] >= 0)
			close(m->fds[i]);
	if (m->epoll >= 0)
		close(m->epoll);
	if (m->q)
		kwq_close(m->q);
	free(m->fds);
	free(m);
}
