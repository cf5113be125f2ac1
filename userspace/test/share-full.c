// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A server whose disk is full. Its disk is a small file system of a mount namespace of this test's
 * own, which only root can make.
 */
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "share-server.h"

/* A server allows itself three quarters of what is free when it starts. */
#define DISK "size=16m"

static bool make_disk(const char *folder)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return false;
	return !mkdir(folder, 0700) && !mount("tmpfs", folder, "tmpfs", 0, DISK);
}

/* Somebody else uses up the disk, after the server has begun. */
static void fill_disk(const char *folder)
{
	static const char zeros[65536];
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/others", folder);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	while (write(fd, zeros, sizeof(zeros)) > 0 || errno == EINTR)
		;
	close(fd);
	ok(errno == ENOSPC, "the disk is full");
}

static bool has_told(const struct client *c, const char *text)
{
	for (size_t i = 0; i < c->nr_ended; i++)
		if (strstr(c->ended[i].text, text))
			return true;
	return strstr(c->text[EVENT_DOWN], text) || strstr(c->text[EVENT_REFUSED], text);
}

/* A record that is larger than what is left of the server's file. */
static void write_more(struct client *c)
{
	static char data[60000];
	static unsigned int nr;

	for (int i = 0; i < 10; i++)
		engine_publish(c->engine, subject_of(c, nr++), (struct bytes){ data, sizeof(data) },
			       0);
}

int main(void)
{
	struct client c;

	prepare();
	need_server();
	if (!make_disk(servers[0].folder)) {
		ok(true, "all # SKIP only root can make a small disk");
		return done_testing();
	}
	start_one(JETSTREAM, "");
	open_client(&c, (struct engine_options){ .silent_ms = 3000 }, "full", 1);
	ok(wait_up(&c), "a server with an empty disk");
	write_more(&c);
	ok(WAIT(&c, c.nr_ended == 10 && c.nr_ok == 10), "stores what it is given");
	fill_disk(servers[0].folder);
	write_more(&c);
	ok(WAIT(&c, has_told(&c, "disk")), "with a full one, the message says so");
	ok(has_told(&c, "restart nats-server"), "and what to do");
	close_client(&c);
	stop_server(&servers[0], SIGKILL);
	umount2(servers[0].folder, MNT_DETACH);
	return done_testing();
}
