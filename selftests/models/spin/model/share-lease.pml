/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The clocks of a lease: a machine and a master. A machine stops TTL after it SENT the last heartbeat that was
 * acknowledged. A master buries it TTL after it RECEIVED the last heartbeat. Both use their own clock, which
 * goes on while they are stopped. A heartbeat is received after it was sent. So the machine stops first.
 *
 * That alone is not enough. A heartbeat may wait for a slow master while its acknowledgement is back already.
 * So the burial is a compare and set on `m.MACHINE`: it fails if there is a heartbeat that this master
 * has not received.
 *
 * All clocks are equally fast. A real master waits longer by a margin for clocks that differ.
 * Heartbeats are published without looking. They may be lost, delayed and overtaken, and so may their
 * acknowledgements. Times are ages, which end at TTL. So there is no last tick.
 */
#define TTL		3
#define FLIGHTS		2

/* The stream: the version of `m.MACHINE`, and whether it says that the machine is dead. */
byte version;
bool buried;

/* Heartbeats on their way, and their acknowledgements */
#define NO_FLIGHT	0
#define TO_ENGINE	1
#define BACK		2
byte flight[FLIGHTS];
byte flight_age[FLIGHTS];	/* since it was sent */

/* The machine */
byte acknowledged_age;		/* since the last acknowledged heartbeat was sent */
bool over;			/* The lease is over, and what ran was killed. */

/* The master */
byte received_age;
byte received;			/* the version */
bool burial_is_sent;
byte burial_of;			/* what it expects */

#define GROW(age)	age = (age < TTL -> age + 1 : TTL)
#define FLIES(i)	(flight[i] != NO_FLIGHT)
#define GROWS		(acknowledged_age < TTL || received_age < TTL || \
			 FLIES(0) && flight_age[0] < TTL || FLIES(1) && flight_age[1] < TTL)

/*
 * The machine acts at the very moment, even if its daemon is stopped. So somebody else has to know the time:
 * the kernel, or the jobs' parent.
 */
inline look_at_clock()
{
	if
	:: acknowledged_age == TTL -> over = true
	:: else
	fi
}

proctype lease_clock()
{
	byte i;

end_clock:
	do
	:: d_step { GROWS ->
		GROW(acknowledged_age);
		GROW(received_age);
		do
		:: i < FLIGHTS && FLIES(i) -> GROW(flight_age[i]); i++
		:: i < FLIGHTS && !FLIES(i) -> i++
		:: else -> break
		od;
		i = 0;
#ifndef ONLY_THE_DAEMON_KNOWS_THE_TIME
		look_at_clock()
#endif
	}
#ifdef ONLY_THE_DAEMON_KNOWS_THE_TIME
	:: d_step { acknowledged_age == TTL && !over -> look_at_clock() }
#endif
	od
}

proctype lease_machine(byte heartbeats)
{
	byte i;

end_machine:
	do
	:: atomic { !over && heartbeats > 0 && (flight[0] == NO_FLIGHT || flight[1] == NO_FLIGHT) ->
		heartbeats--;
		i = (flight[0] == NO_FLIGHT -> 0 : 1);
		flight[i] = TO_ENGINE;
		flight_age[i] = 0;
		i = 0
	}
	:: atomic { flight[0] == BACK || flight[1] == BACK ->
		if
		:: flight[0] == BACK -> i = 0
		:: flight[1] == BACK -> i = 1
		fi;
		flight[i] = NO_FLIGHT;
#ifdef LEASE_FROM_THE_ACKNOWLEDGEMENT
		acknowledged_age = 0;
#else
		acknowledged_age = (flight_age[i] < acknowledged_age -> flight_age[i] : acknowledged_age);
#endif
		flight_age[i] = 0;
		i = 0
	}
	od
}

/* It stores a heartbeat or a burial, or loses one, or loses the answer. */
proctype lease_engine()
{
	byte i;

end_engine:
	do
	:: atomic { flight[0] == TO_ENGINE || flight[1] == TO_ENGINE ->
		if
		:: flight[0] == TO_ENGINE -> i = 0
		:: flight[1] == TO_ENGINE -> i = 1
		fi;
		if
		:: version++; flight[i] = BACK
		:: version++; flight[i] = NO_FLIGHT; flight_age[i] = 0
		:: flight[i] = NO_FLIGHT; flight_age[i] = 0
		fi;
		i = 0
	}
	:: atomic { burial_is_sent ->
		burial_is_sent = false;
		if
#ifndef BURIES_WITHOUT_COMPARING
		:: version == burial_of ->
#else
		:: true ->
#endif
			buried = true;
			/* N3: the machine's jobs are dead before others get its keys. */
			assert(over)
		:: else
		fi;
		burial_of = 0
	}
	od
}

proctype lease_master()
{
end_master:
	do
	:: d_step { !buried && received != version -> received = version; received_age = 0 }
	:: d_step { !buried && received_age == TTL && !burial_is_sent -> burial_is_sent = true; burial_of = received }
	od
}

/* In the end each machine is buried, for heartbeats end, too. */
proctype lease_quiet()
{
	timeout ->
	assert(over && buried)
}
