# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# shellcheck shell=bash source-path=SCRIPTDIR disable=SC2317
#
# Other commands and a queue that kwq share has made: most of its keys are not on this machine. The kernel is a fake one.
. ./tap.sh

FAKE=$O/test/kwq-fake
export KWQ_TEST_QUEUES=$WORK/queues TERM=xterm
OUTBOX=$(sed -n 's/^#define KWQ_CREATE_OUTBOX\t.*<< \([0-9]*\)).*/\1/p' "$SRC/../uapi/linux/kwq.h")
CHANGES=$(sed -n 's/^#define KWQ_CREATE_CHANGES\t.*<< \([0-9]*\)).*/\1/p' "$SRC/../uapi/linux/kwq.h")
TERM_OVER=$(sed -n 's/^#define KWQ_STATE_TERM_OVER\t.*<< \([0-9]*\)).*/\1/p' "$SRC/../uapi/linux/kwq.h")
PAUSED=$(sed -n 's/^#define KWQ_STATE_PAUSED\t.*<< \([0-9]*\)).*/\1/p' "$SRC/../uapi/linux/kwq.h")
SHARED=$((1 << OUTBOX | 1 << CHANGES))
cat >"$KWQ_TEST_QUEUES" <<END
alone create_flags=$((1 << CHANGES)) state=$((1 << TERM_OVER))
jobs create_flags=$SHARED followers=1
over create_flags=$SHARED state=$((1 << TERM_OVER | 1 << PAUSED))
END

# exits STATUS TEXT ARGUMENT...: the command ends with this status, and prints this text on standard error, and nothing else.
exits() {
	local status=$1 text=$2 got=0
	shift 2

	"$FAKE" "$@" </dev/null >"$WORK/out" 2>"$WORK/err" || got=$?
	[ "$got" = "$status" ] && [ ! -s "$WORK/out" ] && [ "$(cat "$WORK/err")" = "$text" ] && return
	echo "status $got"
	cat "$WORK/out" "$WORK/err"
	return 1
}

# ---- What cannot be done here ----

AWAY='this queue is shared, and its keys are reached by kwq share, which does not run here (systemctl start kwq-share@jobs)'
for arguments in keys 'keys --dead' 'keys --dead --json' 'keys --first dead' 'kick --dead --all' 'kick --dead' 'cancel --all' 'cancel --leave-jobs --all'; do
	# shellcheck disable=SC2086 # a word each
	ok "N9: without kwq share: kwq $arguments" exits 1 "kwq: ${arguments%% *}: jobs: $AWAY" $arguments jobs
done
ok "N9: of one key" exits 1 "kwq: kick: jobs: $AWAY" kick --dead jobs key
ok "N9: cancel, too" exits 1 "kwq: cancel: jobs: $AWAY" cancel jobs key
ok "N9: the queue has its own name in the message" exits 1 "kwq: keys: name:jobs: $AWAY" keys --dead name:jobs
ok "N3: a drain would end too early" exits 1 'kwq: drain: jobs: this queue is shared, and has keys on other machines: to leave, stop kwq share (systemctl stop kwq-share@jobs), which lets the workers of this machine finish' \
	drain jobs
for arguments in 'keys --dead' 'kick --dead --all' 'cancel --leave-jobs --all --state dead' 'drain --no-wait' drain; do
	# shellcheck disable=SC2086
	ok "a queue of this machine alone: kwq $arguments" exits 0 '' $arguments alone
done
ok "a key that is not there" exits 1 'kwq: cancel: alone: argument 1: z1: no such key' cancel --leave-jobs alone z1
ok "to leave without a wait" exits 0 '' drain --no-wait jobs
ok "N8: a sync of a shared queue" exits 4 'kwq: debug sync: jobs: the engine has not acknowledged all changes yet: kwq share says why (journalctl -u kwq-share@jobs)' \
	debug sync --timeout 0s jobs
ok "N8: without kwq share" exits 4 'kwq: debug sync: over: not all changes are kept yet' debug sync --timeout 0s over

# ---- What counts only the keys of this machine ----

same "N3: stat of all queues" "$("$FAKE" stat)" \
	'alone: 0 ready, 0 waiting, 0 running, 0 dead; term over
jobs: 0 ready, 0 waiting, 0 running, 0 dead; shared: keys of this machine only
over: 0 ready, 0 waiting, 0 running, 0 dead; paused, term over; shared: keys of this machine only'
same "stat: JSON has the pause beside the term" "$("$FAKE" stat --json | grep '"queue":"over"' | grep -o '"state.*"ready')" \
	'"state":"term over","paused":true,"ready'
same "N3: stat" "$("$FAKE" stat jobs | sed -n 2,3p)" \
	'state           open
shared          keys of this machine only'
same "stat: of a queue of this machine alone" "$("$FAKE" stat alone | grep -c shared)" 0
same "stat: the number alone" "$("$FAKE" stat jobs ready 2>&1)" 0
same "stat: of each number" "$("$FAKE" stat over waiting items 2>&1 | tr '\n' ' ')" '0 0 '
same "N3: a number on a terminal" "$(python3 ./terminal.py --out "$FAKE" stat jobs ready </dev/null)" \
	'0
kwq: stat: jobs: shared: keys of this machine only'
same "a number on a terminal: of a queue of this machine alone" "$(python3 ./terminal.py --out "$FAKE" stat alone ready </dev/null)" 0
same "nothing of it in JSON" "$("$FAKE" stat --json jobs 2>&1 | grep -c shared) $("$FAKE" stat --json 2>&1 | grep -c shared)" '0 0'

done_testing
