// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * U7: the states for the service manager, and its watchdog.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/notify.h"
#include "tap.h"

static char got[200];

/* Binds a socket of the service manager to @address, whose first @ stands for a zero. */
static int manager(const char *address)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	memcpy(at.sun_path, address, strlen(address));
	if (*address == '@')
		at.sun_path[0] = '\0';
	if (bind(fd, (struct sockaddr *)&at,
		 offsetof(struct sockaddr_un, sun_path) + strlen(address)))
		abort();
	setenv("NOTIFY_SOCKET", address, 1);
	return fd;
}

static const char *receive(int fd)
{
	ssize_t n = recv(fd, got, sizeof(got) - 1, 0);

	got[n < 0 ? 0 : n] = '\0';
	return got;
}

static void test_address(const char *address)
{
	int fd = manager(address);

	ok(notify_send("READY=1\nSTATUS=2 jobs") == 1, "%c: sent", *address);
	is_string(receive(fd), "READY=1\nSTATUS=2 jobs", "the state arrives");
	ok(notify_reloading() == 1, "%c: a reload is sent", *address);
	ok(!strncmp(receive(fd), "RELOADING=1\nMONOTONIC_USEC=", 27) && atoll(got + 27) > 0,
	   "a reload has its time");
	close(fd);
	ok(notify_send("READY=1") == -ECONNREFUSED, "%c: a manager that has ended", *address);
}

static void test_errors(void)
{
	char address[200] = "/";

	unsetenv("NOTIFY_SOCKET");
	ok(notify_send("READY=1") == 0, "no service manager");
	setenv("NOTIFY_SOCKET", "vsock:2:1", 1);
	ok(notify_send("READY=1") == -EAFNOSUPPORT, "an address of another family");
	setenv("NOTIFY_SOCKET", "", 1);
	ok(notify_send("READY=1") == -EAFNOSUPPORT, "an empty address");
	memset(address + 1, 'a', sizeof(address) - 2);
	setenv("NOTIFY_SOCKET", address, 1);
	ok(notify_send("READY=1") == -E2BIG, "an address that is too long");
}

static void test_watchdog(void)
{
	char pid[20];

	ok(notify_watchdog() == 0, "no watchdog");
	setenv("WATCHDOG_USEC", "3000000", 1);
	ok(notify_watchdog() == 3000000, "a watchdog of three seconds");
	setenv("WATCHDOG_PID", "1", 1);
	ok(notify_watchdog() == 0, "a watchdog of another process");
	snprintf(pid, sizeof(pid), "%d", getpid());
	setenv("WATCHDOG_PID", pid, 1);
	ok(notify_watchdog() == 3000000, "a watchdog of this process");
	setenv("WATCHDOG_USEC", "3s", 1);
	ok(notify_watchdog() == 0, "a watchdog without a number");
}

int main(void)
{
	char folder[] = "/tmp/kwq-notify-XXXXXX", address[60];

	if (!mkdtemp(folder))
		abort();
	snprintf(address, sizeof(address), "%s/s", folder);
	test_address(address);
	unlink(address);
	rmdir(folder);
	snprintf(address, sizeof(address), "@kwq-notify-%d", getpid());
	test_address(address);
	test_errors();
	test_watchdog();
	return done_testing();
}
