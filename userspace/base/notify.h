/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Tells the service manager about this process: the protocol of sd_notify(3).
 */
#ifndef KWQ_NOTIFY_H
#define KWQ_NOTIFY_H

#include <stdint.h>

/**
 * notify_send() - sends a state to the service manager
 * @state: lines NAME=VALUE, as in sd_notify(3)
 *
 * Return: 1 if it was sent, 0 without NOTIFY_SOCKET, or a negative errno value: -EAFNOSUPPORT
 * for an address that is neither a path nor abstract, -E2BIG for one that is too long, or an
 * error of socket(2) or sendto(2).
 */
int notify_send(const char *state);

/**
 * notify_reloading() - tells the service manager that the configuration is read again
 *
 * READY=1 has to follow. The state has the time, which Type=notify-reload requires.
 *
 * Return: as notify_send().
 */
int notify_reloading(void);

/**
 * notify_watchdog() - how often the service manager expects WATCHDOG=1
 *
 * Return: microseconds, or 0 if it does not expect any from this process.
 */
uint64_t notify_watchdog(void);

#endif /* KWQ_NOTIFY_H */
