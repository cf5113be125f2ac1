/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Sends entries to the journal of systemd: the native protocol of journald(8).
 */
#ifndef KWQ_JOURNAL_H
#define KWQ_JOURNAL_H

#include <stddef.h>
#include <syslog.h>

#define JOURNAL_SOCKET "/run/systemd/journal/socket"

/* The job that an entry is about. The strings belong to the caller. */
struct journal_job {
	const char *key;
	size_t key_len;
	unsigned int attempt;
	unsigned int keys;	/* of the job: this is the first; at most 1: the only one */
	const char *stream;	/* "stdout" or "stderr"; NULL: a message of kwq run */
};

/**
 * journal_open() - connects this process to the journal
 * @path: JOURNAL_SOCKET outside tests
 * @identifier: SYSLOG_IDENTIFIER of each entry; kept, not copied
 * @queue: its KWQ_QUEUE; kept, not copied
 *
 * Return: 0 or a negative errno value.
 */
int journal_open(const char *path, const char *identifier, const char *queue);

/**
 * journal_send() - sends one entry
 * @job: its fields KWQ_KEY, KWQ_KEYS, KWQ_ATTEMPT and KWQ_STREAM
 * @priority: LOG_INFO or another level of syslog(3)
 * @text: the message, of any bytes
 * @len: its length
 *
 * Waits while the journal is busy, as write_all() does: see write_watch().
 *
 * Return: 0 or a negative errno value; -ECANCELED if the wait was given up.
 */
int journal_send(const struct journal_job *job, int priority, const char *text, size_t len);

/**
 * journal_send_lines() - sends each line of a job's output as an entry
 * @job: as in journal_send()
 * @text: lines; a prefix such as <3> is the priority, as in sd-daemon(3)
 * @len: their length; the last line may lack its newline
 *
 * Return: as journal_send().
 */
int journal_send_lines(const struct journal_job *job, const char *text, size_t len);

void journal_close(void);

#endif /* KWQ_JOURNAL_H */
