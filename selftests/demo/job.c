// SPDX-License-Identifier: GPL-2.0-only
/*
 * job WORK FILE: the command that `kwq run` starts for each file of the demo.
 *
 * It becomes sha256sum. If the file is not readable, it exits with 75 (EX_TEMPFAIL:
 * retry later) and notifies the reader of the FIFO WORK/refused.
 *
 * From its start to the end of sha256sum, which inherits it, it holds a lock of the
 * file. If the lock is taken, the file is processed twice at once; this is written to
 * WORK/twice. A killed process loses its locks, so none remains.
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

/* Writes one line with one write, because many jobs write to the same file. */
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
		/* The reader ends once all files are readable. */
		tell("refused", O_WRONLY | O_NONBLOCK, file);
		return EX_TEMPFAIL;
	}

	execlp("sha256sum", "sha256sum", file, NULL);
	err(EX_UNAVAILABLE, "sha256sum");
}
