// SPDX-License-Identifier: GPL-2.0-only
/*
 * timed NAME NR COMMAND [ARGUMENT...]
 *
 * With KWQ_ROW in the environment, only the row of that name is measured.
 *
 * Runs the command without its output, and prints a row: the time that it took, divided by NR. The
 * machine's clock advances by 1 ns per instruction, so the unit is instructions, of all processes
 * together.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

int main(int argc, char **argv)
{
	posix_spawn_file_actions_t actions;
	uint64_t begun, ended;
	const char *row;
	int err, status;
	pid_t pid;

	if (argc < 4 || atoi(argv[2]) < 1)
		return 2;
	row = getenv("KWQ_ROW");
	if (row && strcmp(row, argv[1]))
		return 0;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	begun = now();
	err = posix_spawnp(&pid, argv[3], &actions, NULL, argv + 3, environ);
	if (err) {
		fprintf(stderr, "# %s: %s\n", argv[3], strerror(err));
		return 1;
	}
	waitpid(pid, &status, 0);
	ended = now();
	if (status) {
		fprintf(stderr, "# %s: %s ended with status %#x\n", argv[1], argv[3], status);
		return 1;
	}
	printf("%s\t%.0f\tinsn\n", argv[1], (double)(ended - begun) / atoi(argv[2]));
	return 0;
}
