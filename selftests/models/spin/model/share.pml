/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One queue on several machines, over one stream of NATS JetStream. The stream is the log of the queue. There is
 * one key. The other share-*.pml have the actors: machines, masters, adders, the network.
 *
 * The stream keeps the last message of each subject. A message's sequence number is its version.
 *
 *   a.KEY, t.KEY, r.KEY   an add, a timed add, a retry
 *   e                     the election: who is the master. Its sequence number is the epoch.
 *   j.MACHINE             a machine takes part. It is written once and never replaced.
 *   m.MACHINE             its heartbeat: the epoch that it obeys (its promise), and the tokens that it holds
 *
 * How does a new master learn what an old one granted? From promises. A machine that sees a new epoch refuses all older
 * masters from then on. Its next heartbeat says so, and lists the tokens that the machine holds. The new master grants
 * nothing until each machine has promised, or is surely dead. To wait for a time instead is not safe: a
 * machine that reaches the stream but not the master keeps its lease, and registers nothing. Grants in the
 * log would cost a write for each hand-out. With promises, safety does not depend on when an election
 * happens, or on whether the old master knows of it. So here a master can be elected at any time.
 *
 * The real stream has one order. Here each subject has its own versions, and a master receives the subjects in any
 * order, each message at any later time. A message that is replaced or deleted before is never received.
 * One order counts: a master receives its election after each `j` that was written earlier.
 *
 * A lease is over at any time, and the machine kills its job in that step. A master considers the machine dead only
 * later. share-lease.pml has the clocks, and shows this. A machine that comes back has a new name. So here
 * a machine joins once and is over once.
 *
 * The network may deliver a message at any later time, again and again, or never. So the last message of
 * each sender is a variable, which others read when they like. A read that would change nothing is left out.
 * A machine without a job has always asked, so an ask is no variable. With LOSSES the network also
 * takes messages away, and senders have to repeat them.
 *
 * The engine is one store, and each operation is one step. Any time may pass between two steps of an actor, as after a
 * SIGSTOP. An operation that is delayed on its way to the engine is one of these times.
 *
 * A machine runs one job at a time. There are no priorities, values, groups and requeue counts. A timed add may be due
 * at any time.
 *
 * -D plants a bug. The file mutants lists them.
 */
#define PUBLISH(subject)	last_##subject++; subject = last_##subject

/* Versions of the key, and the token of a grant. Version 0 is no message. */
typedef grant {
	byte token, a, t, r
};

/* The stream */
byte a, t, r;
byte last_a, last_t, last_r;	/* A version does not come back after a deletion. */
byte epoch;			/* `e`. The epochs here are 1, 2, ... */
bool joined[MACHINES];		/* `j` */
byte promise[MACHINES];		/* `m` */
grant listed[MACHINES];		/* `m` */
bool buried[MACHINES];		/* The last `m` says that the machine is dead. */

/* Messages between a master and a machine */
#define AT(epoch, machine)	(((epoch) - 1) * MACHINES + (machine))
#define PAIRS			(EPOCHS * MACHINES)
grant reply[PAIRS];
bool number[PAIRS];		/* of the ask that was answered, modulo 2 */
bool reply_is_there[PAIRS];
byte confirmed[PAIRS];		/* the token of the done that was confirmed, or 0 */
grant finished[MACHINES];	/* of the last done: the same as its grant */
bool failed[MACHINES];		/* the job wants a retry */
bool done_is_there[PAIRS];

/* A machine */
#define AWAY		0
#define ALIVE		1
#define OVER		2
byte lease[MACHINES];
byte obeys[MACHINES];		/* the epoch whose master it obeys */
bool taken[MACHINES];		/* the number of the last reply that was taken */
#define NOTHING		0
#define RUNNING		1
#define UNCONFIRMED	2	/* the job has ended, but its done is not confirmed */
byte job[MACHINES];
grant held[MACHINES];

/* Tokens grow: the epoch comes first, then the number of the hand-out. */
#ifndef TOKEN_WITHOUT_EPOCH
#define TOKEN(epoch, nr)	((epoch) * 16 + (nr))
#else
#define TOKEN(epoch, nr)	(1 + (nr))
#endif
byte booked[EPOCHS + 1];	/* the token that a master has given out */

/* A person wants the key to be gone, and has asked machine 0, which repeats that until a master has replied. */
bool wanted;
byte revoked[PAIRS];		/* the token that a master has revoked, or 0 */
#define CANCELLER	0

/* For the assertions. No step reads these. */
byte world;			/* goes up before each add */
byte saw[MACHINES];		/* @world at the start of the job */
byte seen;			/* @saw of the last successful job */
byte last_token;		/* of the last job that began */
byte old_a, old_t, old_r;	/* the last versions when the person asked */
bool is_gone;			/* the person was told that it is done */

byte racing;			/* @world when the person was told, or gave up */

/* How often each of these may happen */
byte retries, deaths, losses, lost_acks;

#define FOREVER			255

#define ANY(is)			(is(0) || is(1) || is(MACHINES - 1))
#define PICK(who, is)		if :: is(0) -> who = 0 :: is(1) -> who = 1 :: is(MACHINES - 1) -> who = MACHINES - 1 fi

inline copy(to, from)
{
	to.token = from.token;
	to.a = from.a;
	to.t = from.t;
	to.r = from.r
}

/* N9: nothing from before the remove is a reason to run any more. */
#define IS_FROM_BEFORE(what)	(what.a <= old_a && what.t <= old_t && what.r <= old_r)

inline forget(what)
{
	what.token = 0;
	what.a = 0;
	what.t = 0;
	what.r = 0
}

/* N1, N2, N4: in the end a successful job has seen the last add, nothing is left, and nobody waits for an answer. */
proctype share_quiet()
{
	byte i;

	timeout ->
	/* Of an add and a remove that race, any may be the later one. An add after it is not lost. */
	assert(seen == world || world <= racing);
	assert(!wanted);
	assert(!a && !t && !r);
	assert(!booked[EPOCHS]);
	do
	:: i < MACHINES ->
		assert(job[i] == NOTHING);
		i++
	:: else -> break
	od
}
