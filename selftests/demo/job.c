// SPDX-License-Identifier: GPL-2.0-only
/*
 * job WORK FILE: the command that `kwq run` starts for each file of the demo.
 *
 * Becomes sha256sum; or exits with 75 (EX_TEMPFAIL: try again later) if the file may not be read,
 * and tells the reader of the FIFO WORK/refused.
 *
 * It holds a lock of the file's own from its start to the end of sha256sum, which inherits it. A
 * lock that is taken means that the file is worked on twice at once, which goes to WORK/twice. A
 * process that is killed loses its locks, so none is left behind.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sysexits.h>
#include <unistd.h>

static const char *work;

static int open_in_work(const char *name, int flags)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", work, name);
	return open(path, flags, 0666);
}

/* One line, in one write: many jobs tell the same file. */
static void tell(const char *name, int flags, const char *file)
{
	char line[PATH_MAX + 1];
	int len = snprintf(line, sizeof(line), "%s\n", file);
	int fd = open_in_work(name, flags);

	if (fd >= 0 && write(fd, line, len) != len)
		err(EX_IOERR, "%s/%s", work, name);
	if (fd >= 0)
		close(fd);
}

static int open_lock(const char *file)
{
	char name[NAME_MAX];
	char *slash;

	snprintf(name, sizeof(name), "locks/%s", file);
	for (slash = strrchr(name, '/'); slash > name + strlen("locks"); slash = strrchr(name, '/'))
		*slash = '!';
	return open_in_work(name, O_RDWR | O_CREAT);
}

int main(int argc, char **argv)
{
	const char *file;
	int lock;

	if (argc != 3)
		errx(EX_USAGE, "usage: job WORK FILE");
	work = argv[1];
	file = argv[2];

	lock = open_lock(file);
	if (lock < 0)
		err(EX_CANTCREAT, "the lock of %s", file);
	if (flock(lock, LOCK_EX | LOCK_NB)) {
		tell("twice", O_WRONLY | O_APPEND | O_CREAT, file);
		errx(EX_SOFTWARE, "%s is worked on twice at once", file);
	}

	if (access(file, R_OK)) {
		if (errno != EACCES)
			err(EX_NOINPUT, "%s", file);
		/* Once all have become readable, nobody reads it any more. */
		tell("refused", O_WRONLY | O_NONBLOCK, file);
		return EX_TEMPFAIL;
	}

	execlp("sha256sum", "sha256sum", file, NULL);
	err(EX_UNAVAILABLE, "sha256sum");
}
