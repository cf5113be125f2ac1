/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The store, as adders and workers see it. It is either a file of counters that they map, or the
 * server of serve.c. Then each process has a connection of its own. An answer means that the server
 * has obeyed.
 *
 * A request is a line of words and numbers:
 *
 *   want NUMBER                  raises the wish of a key, and answers it
 *   acked NUMBER WANTED          an add was acknowledged; no answer
 *   begin NUMBER TOKEN WANTED    a run begins with the wish of its value; answers late or ok
 *   store                        the run of this connection stores; answers late or ok
 *   leave                        it leaves the key; answers ok
 *   end ACCEPTED                 its done was accepted (1) or refused (0); answers ok
 *   seen NUMBER WANTED           a key of a queue without tokens was handed out; answers ok
 *   count NAME N                 adds to a counter of all; no answer
 *   stage                        answers the stage
 *   held                         answers 1 if no run ends now, else 0
 *   left FROM TO                 answers how many of these keys have an acknowledged wish that no
 *                                run has stored
 */
#ifndef SHARE_STORE_H
#define SHARE_STORE_H

#include "counters.h"

enum { STORE_LINE_MAX = 128 };

/* The store's name is the path of a file, ADDRESS:PORT of a server, or - for none. */
void store_open(const char *name);
/* Whether there is one, and whether it is a server. */
bool store_is_open(void);
bool store_is_remote(void);
/* After a fork: a process has one answer at a time. */
void store_open_again(void);

uint64_t store_want(uint64_t number);
void store_acked(uint64_t number, uint64_t wanted);
void store_begin(struct claim *claim);
void store_store(struct claim *claim);
void store_leave(struct claim *claim);
void store_end(struct claim *claim, bool is_accepted);
void store_seen(uint64_t number, uint64_t wanted);
/* @name: adds, acks, add_errors, retries, deaths or returns. */
void store_count(const char *name, uint64_t n);
unsigned int store_stage(void);
/* Whether no run ends now. */
bool store_is_held(void);
uint64_t store_left(uint64_t from, uint64_t to);

/* serve.c: never returns. @port_file gets the port, @pace_file a clock: see ../machine/pace.h. */
void serve(const char *port_file, const char *pace_file);

#endif
