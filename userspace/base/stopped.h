/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Signals that end a command that reads events: SIGINT, SIGTERM and SIGHUP.
 */
#ifndef KWQ_STOPPED_H
#define KWQ_STOPPED_H

#include <signal.h>
#include <stdatomic.h>
#include <time.h>

/* Whether such a signal came. */
extern atomic_bool stopped;

/**
 * catch_stop() - catches the signals
 * @caught: receives them
 *
 * A signal ends a system call that waits. Signals that are ignored stay ignored, as nohup and a
 * shell's & need it.
 */
void catch_stop(sigset_t *caught);

/**
 * await_unless_stopped() - waits until a descriptor is readable, or for a signal
 * @fd: the descriptor
 * @caught: as catch_stop() gave it
 * @timeout: for no longer than that; NULL: for ever
 *
 * A signal may come at any moment, also before the wait.
 *
 * Return: 0 or a negative errno value.
 */
int await_unless_stopped(int fd, const sigset_t *caught, const struct timespec *timeout);

#endif /* KWQ_STOPPED_H */
