// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq share: executes kwq-share. That is a program of its own, in a package of its own, because it
 * needs libraries that only shared queues need. It has this command's help, too.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/cmd.h"
#include "queue/config_options.h"

/* Where it is, as seen from this program's folder: in the build folder, and installed. */
static const char *const places[] = { "kwq-share", "../libexec/kwq/kwq-share" };

static const struct option help_options[] = {
	OPTION_HELP, OPTION_END
};

/* Reads the folder of this program, with its slash. Returns 0 or a negative errno value. */
static int own_folder(char folder[PATH_MAX])
{
	ssize_t len = readlink("/proc/self/exe", folder, PATH_MAX - 1);

	if (len < 0)
		return -errno;
	folder[len] = '\0';
	strrchr(folder, '/')[1] = '\0';
	return 0;
}

/* Returns only on failure, with a negative errno value. @path: what could not be executed. */
static int execute(char path[PATH_MAX + 32], char **argv)
{
	char folder[PATH_MAX];
	int err = own_folder(folder);
	size_t i;

	snprintf(path, PATH_MAX + 32, "%s", "/proc/self/exe");
	for (i = 0; !err && i < ARRAY_SIZE(places); i++) {
		snprintf(path, PATH_MAX + 32, "%s%s", folder, places[i]);
		argv[0] = path;
		execv(path, argv);
		if (errno != ENOENT)
			err = -errno;
	}
	return err ? err : -ENOENT;
}

/* Answers --help, and does nothing without it. */
static void help_if_asked(int argc, char **argv)
{
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, "h", help_options, NULL)) != -1)
		if (opt == 'h')
			option_common(opt);
}

static int share_main(int argc, char **argv)
{
	char path[PATH_MAX + 32];
	int err = execute(path, argv);

	if (err != -ENOENT) {
		message("%s: %s", path, strerror(-err));
		return STATUS_FAILED;
	}
	help_if_asked(argc, argv);
	message("kwq-share is missing: install the package kwq-share");
	return STATUS_FAILED;
}

#define ENGINE_HELP \
	"      --nats URL[,URL...]    the servers of NATS\n" \
	"      --creds FILE           a JWT and its seed\n" \
	"      --nkey FILE            the seed of an NKey\n" \
	"      --user-file FILE       a user's name, and the password on the second line\n" \
	"      --token-file FILE      a token\n" \
	"      --ca FILE              certificates that are trusted (those of the system)\n" \
	"      --cert FILE, --key FILE\n" \
	"                             this machine's certificate and its key\n"

const struct command command_share = {
	.name = "share",
	.arguments = "[OPTION...] --nats URL QUEUE",
	.summary = "Make a queue a part of one that spans machines",
	.options =
	ENGINE_HELP
	"      --replicas N           servers that keep each key, for a new queue (1)\n"
	"      --stream-bytes N       most bytes of a new queue in the engine (2^30)\n"
	"      --ttl DURATION         a machine that is silent for so long loses its keys (12s)\n"
	"      --prefetch N           keys that wait here for a worker (4)\n"
	"      --stop-timeout DURATION\n"
	"                             after SIGTERM, how long workers may go on (60s)\n"
	"      --host NAME            what this machine is called (its host name)\n"
	"      --no-master            this machine never hands out keys for others\n"
	"      --metrics FILE         write the state to FILE, for Prometheus\n"
	"  -v, --verbose              say what happens\n"
	"  -h, --help\n"
	"\n"
	"Runs until SIGTERM, SIGINT or SIGHUP. Programs use QUEUE as before. See\n"
	"kwq-share(1).\n"
	"\n"
	"Options of a new local queue, which has values and groups, and counts the time\n"
	"asleep:\n"
	"  -m, --mode MODE        permission bits, whatever the umask is (700)\n"
	"      --max-items N      largest number of items (the module's maximum)\n"
	"      --max-bytes N      largest number of bytes of memory (the module's maximum)\n"
	"      --lease DURATION   a worker that holds a key for longer loses it (0: never)\n"
	"      --group-limit N    at most N keys of one group are worked on at once, on all\n"
	"                         machines together (0: any number)\n"
	"      --aging DURATION   a key that has been ready for so long counts as one priority\n"
	"                         higher, on this machine (0: never)\n"
	"      --sync             adds and dones return when they are stored\n"
	CONFIG_HELP,
	.brief =
	"      --nats URL[,URL...]  the servers of NATS\n"
	"      --user-file FILE     a user and a password, a line each; see --help=all\n"
	"      --ca FILE            certificates that are trusted (those of the system)\n"
	"      --replicas N         servers that keep each key, for a new queue (1)\n"
	"      --ttl DURATION       a machine that is silent for so long loses its keys\n"
	"                           (12s)\n"
	"      --prefetch N         keys that wait here for a worker (4)\n"
	"      --stop-timeout DURATION\n"
	"                           after SIGTERM, how long workers may go on (60s)\n"
	"      --metrics FILE       write the state to FILE, for Prometheus\n"
	"      --sync               a new local queue's adds return when they are stored\n"
	"  -v, --verbose            say what happens\n"
	"      --help=all           all options\n"
	"\n"
	"Runs until SIGTERM, SIGINT or SIGHUP. Programs use QUEUE as before. See\n"
	"kwq-share(1).\n",
	.examples =
	"  kwq share --nats tls://n1 --ca ca.pem --user-file mail.user mail\n"
	"  kwq share --nats nats://n1,nats://n2,nats://n3 --replicas 3 mail\n"
	"  kwq keys -l mail                         all keys, on all machines\n",
	.main = share_main,
};
