/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A client of a server behind a Unix socket. It sends many requests at once and then
 * reads all replies, or one at a time.
 */
#ifndef KWQ_SERVERS_CLIENT_H
#define KWQ_SERVERS_CLIENT_H

#include <stddef.h>

/* As in selftests/bench/device: keys of 8 bytes that take turns, 64 per batch. */
#define NR_KEYS	100
#define KEY_LEN	8
#define BATCH	64

extern char keys[NR_KEYS][KEY_LEN + 1];

void __attribute__((noreturn)) fail(const char *what, const char *detail);

/* Queues a request; it is sent when a reply is needed. */
void __attribute__((format(printf, 1, 2))) request(const char *fmt, ...);

/*
 * Returns the next line, or the next @len bytes before a line's end, without that end.
 * If nothing is left to read, queued requests are sent first. Valid until the next
 * call.
 */
char *read_line(void);
char *read_bytes(size_t len);

/* Reads a line, which must begin with @begin. Returns the rest of it. */
char *expect(const char *begin);

/**
 * struct server - the requests of one server for a cycle
 * @name:	the name in its rows.
 * @begin:	called before everything else; may be NULL.
 * @add:	requests the add of a key.
 * @added:	reads the reply to @add.
 * @get:	requests a key.
 * @got:	reads the key, and stores the data that @done needs as number @i.
 * @done:	requests the done of key number @i.
 * @finished:	reads the reply to @done.
 */
struct server {
	const char *name;
	void (*begin)(void);
	void (*add)(const char *key);
	void (*added)(void);
	void (*get)(void);
	void (*got)(int i);
	void (*done)(int i);
	void (*finished)(void);
};

extern const struct server beanstalkd;
extern const struct server redis;

#endif /* KWQ_SERVERS_CLIENT_H */
