# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# shellcheck shell=bash source-path=SCRIPTDIR disable=SC2317
#
# U5: what the command shows on a terminal, and nowhere else: colours and progress. The kernel is a fake one, and so is the
# clock: each look at it takes a second.
. ./tap.sh

FAKE=$O/test/kwq-fake
export KWQ_TEST_QUEUES=$WORK/queues TERM=xterm
unset NO_COLOR
cat >"$KWQ_TEST_QUEUES" <<'END'
jobs ready=600 items=600 max_items=1000 processing=1
END

# on_terminal [OPTION...] ARGUMENT...: what the terminal gets of kwq ARGUMENT... The options are those of terminal.py.
on_terminal() {
	local options=()

	while [[ $1 == --* ]]; do
		options+=("$1")
		[ "$1" != --until ] || { options+=("$2"); shift; }
		shift
	done
	python3 ./terminal.py "${options[@]}" "$FAKE" "$@"
}

# has TEXT, has_not TEXT: of standard input.
has() {
	grep -qF -- "$1" || { echo "no $1"; return 1; }
}

has_not() {
	! grep -F -- "$1"
}

# ---- Colours ----

ok "run: colours on a terminal" has '\e[32m0 done\e[0m' < <(on_terminal --until 'done' run jobs -- true </dev/null)
ok "run: without colours for NO_COLOR" has '\r0 done 0 failed' \
	< <(NO_COLOR=1 on_terminal --until 'done' run jobs -- true </dev/null)
ok "run: and no escape but the one that clears the line" has_not '\e' \
	< <(NO_COLOR=1 on_terminal --until 'done' run jobs -- true </dev/null | sed 's/\\e\[K//g')
ok "run: an empty NO_COLOR is none" has '\e[32m0 done\e[0m' \
	< <(NO_COLOR='' on_terminal --until 'done' run jobs -- true </dev/null)

# Ends at once: the queue is shut down and empty.
echo 'ended state=1' >>"$KWQ_TEST_QUEUES"
same "run: no line on a dumb terminal" "$(TERM=dumb on_terminal run ended -- true </dev/null)" ''
same "run: none without TERM" "$(TERM='' on_terminal run ended -- true </dev/null)" ''
same "run: none with --no-progress" "$(on_terminal run --no-progress ended -- true </dev/null)" ''
same "run: one on a good terminal" "$(on_terminal run ended -- true </dev/null | grep -c 'done')" 1
same "run: none in the background" "$(on_terminal --background run ended -- true </dev/null)" ''

# plain ARGUMENT...: neither output has an escape if it is no terminal.
plain() {
	"$FAKE" "$@" </dev/null >"$WORK/out" 2>&1
	[ -s "$WORK/out" ] && has_not $'\e' <"$WORK/out"
}
for arguments in 'ls -l' 'stat jobs' 'stat' 'keys -l jobs' 'keys -l --first ready jobs' 'keys -l --dead jobs' 'stat --limits jobs' 'run-ctl' \
	'configure jobs' 'stat jobs ready' 'top --once --interval 1ns' 'exporter --textfile -' --help; do
	# shellcheck disable=SC2086 # a word each
	[ "$arguments" = run-ctl ] || ok "no escapes in a pipe: kwq $arguments" plain $arguments
	# shellcheck disable=SC2086
	ok "no colours on a terminal for NO_COLOR: kwq $arguments" has_not '\e[3' \
		< <(NO_COLOR=1 on_terminal --out $arguments </dev/null)
done
ok "top on a terminal" has '\e[?1049h' < <(on_terminal --out --until jobs top </dev/null)
ok "top has no colours" has_not '\e[3' < <(on_terminal --out --until jobs top </dev/null)

# ---- Waits that would look like a hang ----

cat >>"$KWQ_TEST_QUEUES" <<'END'
paused state=4 ready=2 processing=1
over state=8 ready=1
open ready=0
dead items=7 dead=2
followed create_flags=16 followers=1
kept create_flags=48
END
paused='the queue is paused, until kwq resume'
over="the queue's term is over, until kwq debug term sets a later one"
# waits_for TEXT ARGUMENT...: on a terminal the command says so, and goes on waiting; elsewhere it says nothing.
waits_for() {
	local text=$1
	shift

	same "$1: says what it waits for" "$(on_terminal --until "${text: -9}" "$@" </dev/null | grep -o 'kwq: .*')" "$text"
}
waits_for "kwq: get: paused: waiting for a key: $paused" get paused
waits_for "kwq: get: over: waiting for a key: $over" get over
same "get: says so before a long time is over" "$(on_terminal get --timeout 1h over </dev/null)" \
	"$(printf '%s\n' "kwq: get: over: waiting for a key: $over" "kwq: get: over: timed out: $over")"
waits_for 'kwq: get: open: waiting for a key' get -a open
waits_for "kwq: drain: paused: waiting for 2 ready, 1 processing: $paused" drain paused
waits_for "kwq: drain: over: waiting for 1 ready: $over" drain over
waits_for 'kwq: add: open: waiting for room: the queue is full' add --wait open full
waits_for 'kwq: add: dead: waiting for room: the queue is full, and 2 of its 7 keys are dead letters' add --wait dead full
# The fake kernel ends any wait for a keeper.
on_disk='waiting until kwq keep has the changes on the disk; if that is full, kwq keep says so where it runs'
same "add --sync: says what it waits for" "$(on_terminal add --sync followed a </dev/null)" \
	"$(printf '%s\n' "kwq: add: followed: $on_disk" 'kwq: add: followed: not all changes are kept yet')"
same "sync: as well" "$(on_terminal debug sync followed </dev/null | head -n 1)" "kwq: debug sync: followed: $on_disk"
# Each change of this queue waits for a keeper, which is not there. That is said wherever the command runs.
for arguments in 'add kept a' 'cancel kept a' 'get --nonblock kept'; do
	# shellcheck disable=SC2086 # a word each
	same "$arguments: says that nobody keeps the queue" "$("$FAKE" $arguments 2>&1 </dev/null | grep -c ': kept: nobody keeps this queue; waiting for kwq keep')" 1
done
export KWQ_TEST_CLOCK=1000000000
waits_for "kwq: run: paused: waiting: $paused" run --no-progress paused -- true
waits_for "kwq: run: over: waiting: $over" run --no-progress over -- true
unset KWQ_TEST_CLOCK
same "get: a short wait says only how it ended" "$(on_terminal get --timeout 1s paused </dev/null)" \
	"kwq: get: paused: timed out: $paused"
same "drain: as well" "$(on_terminal drain --timeout 500ms paused </dev/null)" "kwq: drain: paused: timed out: $paused"
same "get --quiet says nothing" "$(on_terminal get -q --timeout 1h paused </dev/null)" ''
# In a script nobody watches, and a second call might miss an event.
same "get: nothing if standard error is a file" "$("$FAKE" get --timeout 1h paused 2>&1)" "kwq: get: paused: timed out: $paused"

done_testing
