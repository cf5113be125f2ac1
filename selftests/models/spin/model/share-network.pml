/* SPDX-License-Identifier: GPL-2.0-only */
/* The network between the masters and the machines loses messages, until it is calm. */
#define DONE_TO_LOSE(i)		done_is_there[AT(EPOCHS, i)]
#define CONFIRM_TO_LOSE(i)	confirmed[AT(EPOCHS, i)]
#define REPLY_TO_LOSE(i)	reply_is_there[AT(EPOCHS, i)]

bool calm;

inline lose()
{
	if
	:: most != FOREVER -> losses++
	:: else
	fi
}

proctype share_network(byte most)
{
	byte i;

	do
	:: atomic { losses < most && ANY(DONE_TO_LOSE) -> PICK(i, DONE_TO_LOSE); lose(); done_is_there[AT(EPOCHS, i)] = false; i = 0 }
	:: atomic { losses < most && ANY(CONFIRM_TO_LOSE) ->
		PICK(i, CONFIRM_TO_LOSE);
		lose();
		confirmed[AT(EPOCHS, i)] = 0;
		i = 0
	}
	:: atomic { losses < most && ANY(REPLY_TO_LOSE) ->
		PICK(i, REPLY_TO_LOSE);
		lose();
		reply_is_there[AT(EPOCHS, i)] = false;
		i = 0
	}
	:: calm = true; break
	od;
	/* Time goes on. A fair search needs a step that is always possible. */
end_calm:
	do
	:: most == FOREVER -> skip
	od
}
