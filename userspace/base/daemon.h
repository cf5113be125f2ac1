/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The wait of a daemon: for its descriptors, for a time, and for SIGINT and SIGTERM. It also tells
 * the service manager's watchdog that the daemon lives.
 */
#ifndef KWQ_DAEMON_H
#define KWQ_DAEMON_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/**
 * struct daemon - what a daemon waits with
 * @signals: a descriptor that reads SIGINT and SIGTERM
 * @clock: of all times
 * @watchdog: how often the service manager is told, in ns; 0 for never
 * @told_at: when it was told last
 */
struct daemon {
	int signals;
	clockid_t clock;
	uint64_t watchdog, told_at;
};

/**
 * daemon_begin() - catches the signals
 *
 * Return: 0 or a negative errno value.
 */
int daemon_begin(struct daemon *daemon, clockid_t clock);

/**
 * daemon_now() - the time in ns
 */
uint64_t daemon_now(const struct daemon *daemon);

/**
 * daemon_wait() - waits for an event, for a signal, or for a time
 * @daemon: the daemon
 * @fds: what to wait for; the first one is used for the signals
 * @nr: how many, the first one included
 * @until: the time, or UINT64_MAX for none
 *
 * May return before, so that daemon_alive() is called in time.
 *
 * Return: whether there is a signal, which daemon_take_signal() takes.
 */
bool daemon_wait(const struct daemon *daemon, struct pollfd *fds, nfds_t nr, uint64_t until);

/**
 * daemon_take_signal() - takes a signal
 *
 * Return: whether there was one.
 */
bool daemon_take_signal(const struct daemon *daemon);

/**
 * daemon_alive() - tells the service manager that this process lives, if that is due
 */
void daemon_alive(struct daemon *daemon);

#endif /* KWQ_DAEMON_H */
