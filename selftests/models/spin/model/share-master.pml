/* SPDX-License-Identifier: GPL-2.0-only */
/* A master, for one epoch. Its memory comes from the stream alone. */

#define HAS(i)		(now.token && i == holder)
#define ASKS(i)		(obeys[i] == me && job[i] != RUNNING && number[AT(me, i)] == taken[i] && !dead[i])
#define REPEATS(i)	(obeys[i] == me && number[AT(me, i)] != taken[i] && !reply_is_there[AT(me, i)])
/* A machine that joined before the election may obey an older master. */
#define MISSES(i)	(member[i] && heard[i] != me && !dead[i])
#define IS_GONE(i)	(lease[i] == OVER && !buried[i] && heard[i] == promise[i] && (MISSES(i) || HAS(i)))
/* A done whose token is not booked was processed already, by this master or an older one. */
#define IS_OLD(i)	(job[i] == UNCONFIRMED && obeys[i] == me && done_is_there[AT(me, i)] && \
			 finished[i].token != now.token && confirmed[AT(me, i)] != finished[i].token)
/* A name that was buried stays dead. A heartbeat may come after its burial. */
#ifndef THE_DEAD_RETURN
#define NEWS(i)		(!dead[i] && (buried[i] || promise[i] > heard[i]))
#else
#define NEWS(i)		(buried[i] && !dead[i] || !buried[i] && promise[i] > heard[i])
#endif
#define IS_DIRTY	(new.a > old.a || new.t > old.t || new.r > old.r)
#ifndef GRANTS_AT_ONCE
#define IS_READY	(!ANY(MISSES))
#else
#define IS_READY	true
#endif
#ifndef DONE_BEFORE_THE_PROMISES
#define TAKES_DONES	IS_READY
#else
#define TAKES_DONES	true
#endif
#ifndef DONE_WITHOUT_TOKEN
#define IS_BOOKED(i)	(finished[i].token == now.token)
#else
#define IS_BOOKED(i)	true
#endif
#ifndef BOOKS_THE_LAST_TOKEN
#define IS_HIGHER(one)	(one > now.token)
#else
#define IS_HIGHER(one)	(one != 0)
#endif
#ifndef BOOKS_ITS_OWN_TOKENS
#define IS_OLDER(one)	(one < TOKEN(me, 0))
#else
#define IS_OLDER(one)	true
#endif

/* The stages of a done */
#define NO_DONE		0
#define RETRY		1
#define DELETE		2
/* The stages of a request, which is for a key that nobody has */
#define READ		3
#define LOOK		4

#define IS_WANTED	(wanted && obeys[CANCELLER] == me && lease[CANCELLER] == ALIVE)
#ifndef CANCEL_LETS_IT_BE_GRANTED
#define IS_FREE		(stage == NO_DONE)
#else
#define IS_FREE		(stage != RETRY && stage != DELETE)
#endif

/* The machine has these versions now. Only newer ones make the key dirty. */
inline book(what)
{
	copy(now, what);
	if :: now.a > old.a -> old.a = now.a :: else fi;
	if :: now.t > old.t -> old.t = now.t :: else fi;
	if :: now.r > old.r -> old.r = now.r :: else fi;
	booked[me] = now.token
}

inline unbook()
{
	forget(now);
	holder = 0;
	booked[me] = 0
}

/* The key that a dead machine had is dirty again. A done that is being processed goes on. */
inline take_back(i)
{
	if
	:: HAS(i) && stage == NO_DONE ->
		if :: now.a -> old.a = now.a - 1 :: else fi;
		if :: now.t -> old.t = now.t - 1 :: else fi;
		if :: now.r -> old.r = now.r - 1 :: else fi;
		unbook()
	:: else
	fi
}

/*
 * A heartbeat. With the promise, the machine lists tokens. Two machines may list the same key: the job of the lower
 * token has ended, and its done was processed. A token of this epoch is known already, or its done was
 * processed.
 */
inline hear(i)
{
	if
	:: !buried[i] ->
		heard[i] = promise[i];
		if
		:: heard[i] == me && IS_HIGHER(listed[i].token) && IS_OLDER(listed[i].token) ->
			book(listed[i]);
			holder = i
		:: else
		fi
	:: else ->
		dead[i] = true;
		take_back(i)
	fi
}

inline grant_to(i)
{
	nr++;
	now.token = TOKEN(me, nr);
	if :: new.a > old.a -> now.a = new.a :: else fi;
	if :: new.t > old.t -> now.t = new.t :: else fi;
	if :: new.r > old.r -> now.r = new.r :: else fi;
	book(now);
	number[AT(me, i)] = !number[AT(me, i)];
	copy(reply[AT(me, i)], now);
	reply_is_there[AT(me, i)] = true
}

/* Reads what the stream has. A tail does not tell of what was erased before, so that is forgotten. */
inline read_all()
{
#ifndef CANCEL_TRUSTS_THE_TAIL
	now_read.a = a;
	now_read.t = t;
	now_read.r = r;
	if :: !a && new.a > old.a -> old.a = new.a :: else fi;
	if :: !t && new.t > old.t -> old.t = new.t :: else fi;
	if :: !r && new.r > old.r -> old.r = new.r :: else fi
#else
	now_read.a = new.a;
	now_read.t = new.t;
	now_read.r = new.r
#endif
}

inline erase_all()
{
#ifndef CANCEL_ERASES_BY_KEY
	if :: a == now_read.a -> a = 0 :: else fi;
	if :: t == now_read.t -> t = 0 :: else fi;
	if :: r == now_read.r -> r = 0 :: else fi;
#else
	a = 0;
	t = 0;
	r = 0;
#endif
	if :: now_read.a > old.a -> old.a = now_read.a :: else fi;
	if :: now_read.t > old.t -> old.t = now_read.t :: else fi;
	if :: now_read.r > old.r -> old.r = now_read.r :: else fi;
	forget(now_read)
}

/* Deletions are exact: a version that was replaced stays. */
inline delete()
{
#ifndef DELETES_BY_KEY
	if :: a == now.a -> a = 0 :: else fi;
	if :: t == now.t -> t = 0 :: else fi;
	if :: r == now.r -> r = 0 :: else fi
#else
	if :: now.a -> a = 0 :: else fi;
	if :: now.t -> t = 0 :: else fi;
	if :: now.r -> r = 0 :: else fi
#endif
}

inline leave()
{
	nr = 0;
	stage = 0;
	i = 0;
	do
	:: i < MACHINES ->
		member[i] = false;
		heard[i] = 0;
		dead[i] = false;
		i++
	:: else -> break
	od;
	i = 0;
	forget(new);
	forget(old);
	forget(now_read);
	unbook()
}

proctype master(byte me)
{
	byte i, nr, stage, holder;
	bool member[MACHINES], dead[MACHINES];
	byte heard[MACHINES];	/* the promise in the last heartbeat received */
	grant new;		/* the newest version received, of each subject */
	grant old;		/* the newest version granted */
	grant now;		/* the grant that is out */
	grant now_read;		/* versions to erase for a person */

	/* Compare and set: of several candidates one is elected. */
	d_step {
		epoch == me - 1 ->
		epoch = me;
		do
		:: i < MACHINES -> member[i] = joined[i]; i++
		:: else -> break
		od;
		i = 0
	}
end_master:
	do
#ifdef TAKEOVER_ZEROES
	/* Its tail has delivered messages, and then it begins with an empty memory. */
	:: d_step { me > 1 && nr == 0 && !now.token && new.a > old.a -> old.a = new.a }
#endif
#ifdef MEMBERS_BY_HEARTBEAT
	/* A heartbeat was replaced while the master read the stream, so it has not met the machine. */
	:: atomic { ANY(MISSES) -> PICK(i, MISSES); member[i] = false; i = 0 }
#endif
#ifdef TIMER_ACTS_FIRST
	/* A stopped master continues. It has heard nothing for a long time, and acts before it reads. */
	:: d_step { epoch > me && now.token -> take_back(holder) }
#endif
	/* The stream, from its beginning, and then its tail */
	:: d_step { a > new.a -> new.a = a }
	:: d_step { t > new.t -> new.t = t }
	:: d_step { r > new.r -> new.r = r }
	:: atomic { ANY(NEWS) -> PICK(i, NEWS); d_step { hear(i); i = 0 } }

	:: atomic { IS_READY && IS_FREE && !now.token && IS_DIRTY && ANY(ASKS) -> PICK(holder, ASKS); d_step { grant_to(holder) } }
	/* A repeated ask gets the same reply. */
#ifndef ANSWERS_AN_ASK_ONCE
	:: atomic { ANY(REPEATS) -> PICK(i, REPEATS); reply_is_there[AT(me, i)] = true; i = 0 }
#endif

	/* A done counts if its token is booked. */
	:: d_step { TAKES_DONES && stage == NO_DONE && now.token && done_is_there[AT(me, holder)] && IS_BOOKED(holder) ->
		stage = (failed[holder] -> RETRY : DELETE)
	}
#ifdef RETRY_AFTER_THE_DELETE
	:: d_step { stage == RETRY -> delete(); stage = DELETE }
	:: d_step { stage == DELETE ->
		if
		:: failed[holder] -> PUBLISH(r)
		:: else -> delete()
		fi;
		confirmed[AT(me, holder)] = now.token;
		unbook();
		stage = NO_DONE
	}
#else
	/* Compare and set. If there is a newer retry than the one that was granted, that will do. */
	:: d_step { stage == RETRY ->
		if
		:: r <= new.r || r <= now.r -> PUBLISH(r)
		:: else
		fi;
		stage = DELETE
	}
	:: d_step { stage == DELETE ->
		delete();
		confirmed[AT(me, holder)] = now.token;
		unbook();
		stage = NO_DONE
	}
#endif
#ifndef IGNORES_OLD_DONES
	:: atomic { IS_READY && ANY(IS_OLD) -> PICK(i, IS_OLD); confirmed[AT(me, i)] = finished[i].token; i = 0 }
#endif
	/* A person wants the key to be gone. The machine that has it is told. */
	:: d_step { IS_WANTED && IS_READY && now.token && stage == NO_DONE && revoked[AT(me, holder)] != now.token ->
		revoked[AT(me, holder)] = now.token
	}
	:: d_step { IS_WANTED && IS_READY && !now.token && stage == NO_DONE -> read_all(); stage = READ }
	:: d_step { stage == READ -> erase_all(); stage = LOOK }
	/* A master that was elected before may have read what was erased. */
	:: d_step { stage == LOOK ->
		if
#ifndef CANCEL_TELLS_TOO_EARLY
		:: epoch == me && IS_WANTED ->
#else
		:: IS_WANTED ->
#endif
			wanted = false;
			is_gone = true;
			assert(!(job[0] == RUNNING && IS_FROM_BEFORE(held[0])));
			assert(!(job[MACHINES - 1] == RUNNING && IS_FROM_BEFORE(held[MACHINES - 1])))
		:: else
		fi;
		stage = NO_DONE
	}
	/*
	 * A machine's lease is surely over. The stream says so, by compare and set: this fails if there is a
	 * heartbeat that the master has not received.
	 */
	:: atomic { ANY(IS_GONE) -> PICK(i, IS_GONE); buried[i] = true; i = 0 }
	/* This master crashes, or hears of the next one. */
	:: d_step { me < EPOCHS -> leave() }; break
	od
}
