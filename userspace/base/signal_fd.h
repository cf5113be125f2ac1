/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Signals that a command reads from a descriptor.
 */
#ifndef KWQ_SIGNAL_FD_H
#define KWQ_SIGNAL_FD_H

#include <signal.h>
#include <stddef.h>

/**
 * signal_fd_open() - blocks signals, and opens a descriptor that reads them
 * @wanted: the signals
 * @nr: how many
 * @before: receives the signals that were blocked before; or NULL
 *
 * Signals that are ignored stay ignored, as nohup and a shell's & need it. Threads that start later
 * inherit the mask.
 *
 * Return: the descriptor, which does not block, or a negative errno value.
 */
int signal_fd_open(const int *wanted, size_t nr, sigset_t *before);

/**
 * signal_fd_take() - takes a signal
 *
 * Return: its number, or 0 if there is none.
 */
int signal_fd_take(int fd);

#endif /* KWQ_SIGNAL_FD_H */
