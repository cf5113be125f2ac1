/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Adds without the lock: kmod/queue/post.c. One item and its queue. Each access to a word that
 * the lock does not protect is a step of its own.
 */
mtype = { FREE, ADDING, HELD, AGAIN, LISTED };

bool locked;
bool is_open, ended;		/* bits of @posts of the queue */
bool listed;			/* is the item in its list */
mtype post = FREE;		/* @post of the item */

bool dirty, processing, disabled;
bool shut_down;

/* Is there something that no hand-out has seen? Each adder changes the object before it adds. */
bool changed;
byte runs_told, runs;		/* results that tell of a run; runs */
byte at_work;			/* adders and others that may still act */
bool is_called;			/* the work item has a turn */

inline lock()
{
	atomic { !locked -> locked = true }
}

/* What kwq_add_locked() does with an item, and what it returns. */
#define ADDS	(!shut_down && !disabled && !dirty)

/* kwq_take_posts_locked(): closes and takes in one step */
inline take()
{
	if
	:: atomic { listed -> is_open = false; listed = false };
		atomic {
			/* No add that was accepted is refused. */
			assert(!shut_down);
			if
			:: ADDS -> dirty = true
			:: else
			fi;
			post = FREE
		}
	:: atomic { !listed -> is_open = false }
	fi
}

/* kwq_lock_contended() */
inline lock_contended()
{
	lock();
	take();
	if
	:: atomic { !ended -> is_open = true }
	:: ended
	fi
}

inline unlock()
{
	take();
	locked = false
}

/* kwq_claim_locked() */
inline claim(as)
{
#ifndef HOLDER_CLAIMS_NOTHING
	do
	:: shut_down || disabled -> break
	:: atomic { !shut_down && !disabled && post == FREE -> post = as; break }
	:: !shut_down && !disabled && post != FREE -> take()
	od
#else
	skip
#endif
}

/* kwq_end_hold_locked(). What is added just before a cancel is cancelled. */
inline end_hold()
{
	if
	:: atomic { post == HELD -> post = FREE }
	:: post == FREE || post == ADDING || post == LISTED
	:: atomic {
		post == AGAIN ->
		if
		:: disabled -> changed = false
#ifndef FORGETS_THE_NMI
		:: ADDS -> dirty = true
#endif
		:: else
		fi;
		post = FREE
	}
	fi
}

/* kwq_add() */
proctype adder()
{
	changed = true;
	if
	:: dirty && !shut_down -> goto over
	:: else
	fi;
	if
	:: atomic { !locked -> locked = true }; take(); goto has_lock
	:: locked
	fi;
	/* kwq_post() */
	if
	:: is_open
	:: !is_open -> goto wait
	fi;
	if
	:: atomic { post == FREE -> post = ADDING }
	:: post != FREE -> goto wait
	fi;
	if
	:: !dirty && !processing && !disabled
	:: dirty || processing || disabled -> post = FREE; goto wait
	fi;
	if
#ifndef POSTS_TO_A_CLOSED_LIST
	:: atomic { is_open -> listed = true; post = LISTED }; runs_told++; goto over
#else
	:: atomic { listed = true; post = LISTED }; runs_told++; goto over
#endif
	:: !is_open -> post = FREE
	fi;
wait:
	lock_contended();
has_lock:
	claim(ADDING);
	atomic {
		if
		:: ADDS -> dirty = true; runs_told++
		:: shut_down || disabled -> changed = false
		:: else
		fi;
#ifndef HOLDER_CLAIMS_NOTHING
		post = FREE
#endif
	};
	unlock();
over:
	at_work--
}

/* kwq_post_from_nmi(), which may interrupt anyone */
proctype nmi()
{
	changed = true;
again:
	if
	:: atomic { post == FREE -> post = ADDING }
#ifndef NMI_TAKES_A_HOLD_FOR_AN_ADD
	:: post == HELD ->
		if
		:: atomic { post == HELD -> post = AGAIN }; goto over
		:: post != HELD -> goto again
		fi
	:: post == ADDING || post == AGAIN || post == LISTED -> goto over
#else
	:: post != FREE -> goto over
#endif
	fi;
	if
	:: disabled -> post = FREE; changed = false; goto over
	:: !disabled
	fi;
	if
	:: atomic { !ended && is_open -> listed = true; post = LISTED }
	:: atomic { !ended && !is_open -> listed = true; post = LISTED };
#ifndef NMI_CALLS_NOBODY
		is_called = true
#endif
	:: ended -> post = FREE; changed = false
	fi;
over:
	at_work--
}

/* The turn of the work item that an NMI has called */
proctype work_item()
{
	do
	:: is_called -> lock(); is_called = false; unlock()
	:: !at_work && !is_called -> break
	od
}

/* A holder that had to wait, and does to the item what is no add: it runs it, and finishes it. */
proctype worker()
{
end:
	do
	:: dirty || processing ->
		lock_contended();
		atomic {
			if
			:: processing -> processing = false
			:: !processing && dirty ->
				dirty = false;
				processing = true;
				changed = false;
				runs++
			:: else
			fi
		};
		unlock()
	od
}

/* Two operations that claim an item, and are no plain add: one that adds it later, and a cancel. */
proctype holder()
{
	lock_contended();
	claim(HELD);
	end_hold();
	claim(HELD);
	atomic {
		if
		:: dirty -> dirty = false; runs_told--; changed = false
		:: else
		fi;
		disabled = true
	};
	end_hold();
	disabled = false;
	unlock();
	at_work--
}

/* kwq_shut_down() */
proctype shut_down_once()
{
	lock_contended();
#ifdef REFUSES_BEFORE_IT_TAKES
	shut_down = true;
#endif
	/* kwq_end_posts_locked() */
	atomic { ended = true; is_open = false };
	if
	:: listed ->
		listed = false;
		atomic {
			assert(!shut_down);
			if
			:: ADDS -> dirty = true
			:: else
			fi;
			post = FREE
		}
	:: !listed
	fi;
	shut_down = true;
	unlock();
	at_work--
}

/* When nobody acts any more: no event is lost, and each result was true. */
proctype post_quiet()
{
	!at_work && !is_called && !locked && !listed && !dirty && !processing;
	assert(!changed);
	assert(post == FREE);
#ifndef NMIS
	assert(runs == runs_told)
#endif
}
