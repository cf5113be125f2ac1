// SPDX-License-Identifier: GPL-2.0-only
/*
 * fetch ADDRESS PORT PATH: prints the answer to GET, with its head. The busybox of the test machine
 * is static, and looks no addresses up.
 */
#include <arpa/inet.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const struct timeval timeout = { .tv_sec = 3 };
	struct sockaddr_in to = { .sin_family = AF_INET };
	char buf[4096];
	ssize_t n;
	int fd;

	if (argc != 4 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1)
		errx(2, "usage: fetch ADDRESS PORT PATH");
	to.sin_port = htons(atoi(argv[2]));
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		err(1, "socket");
	/* They also limit connect(). */
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
		err(1, "%s", argv[1]);
	dprintf(fd, "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n", argv[3], argv[1]);
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		if (write(STDOUT_FILENO, buf, n) != n)
			err(1, "write");
	return n ? 1 : 0;
}
