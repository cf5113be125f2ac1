# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# shellcheck shell=bash source-path=SCRIPTDIR disable=SC2317
#
# U5: the JSON Schema describes what each command prints with --json. device-json compares the recorded lines with those of a real
# queue.
. ./tap.sh

FAKE=$O/test/kwq-fake
SCHEMA=$SRC/packaging/kwq.schema.json
schema() {
	python3 ./json_schema.py "$1" "$SCHEMA" "${@:2}"
}

sed -n "/^cat >recorded <<'END'/,/^END/p" device-json | sed '1d;$d' >"$WORK/recorded"
commands=$(for command in $("$KWQ" --options | grep -vx -e help -e debug -e '-.*'); do
	! "$KWQ" "$command" --help=all | grep -q -- --json || echo "$command"
done
for command in $(comm -13 <("$KWQ" --options | sort) <("$KWQ" debug --options | sort)); do
	! "$KWQ" debug "$command" --help | grep -q -- --json || echo "debug $command"
done)
# stat has three views.
same "the schema has each command with --json" "$(schema names | sed 's/^stat .*/stat/' | sort -u)" "$(sort <<<"$commands")"
same "a line of each was recorded" "$(cut -f 1 "$WORK/recorded" | sed 's/:.*//' | sort -u)" "$(schema names | sort)"

# Damage on purpose in one line, which has to be refused. The first column is a name, the second a sed script.
damaged() {
	grep -m 1 "^$1	" "$WORK/recorded" | sed "$2" >"$WORK/damaged"
	! cmp -s "$WORK/damaged" <(grep -m 1 "^$1	" "$WORK/recorded") && ! schema check "$WORK/damaged"
}

if ! python3 -c 'import jsonschema' 2>/dev/null; then
	skip "the recorded lines are valid" "there is no python3-jsonschema"
	done_testing
fi
ok "the recorded lines are valid" schema check "$WORK/recorded"
ok "an unknown member is not" damaged load 's/}/,"other":1}/'
ok "nor is one that is missing" damaged load 's/"restored":0/"queue_hex":"00"/'
ok "nor is another type" damaged stat 's/"ready":0/"ready":"0"/'
ok "nor is another result" damaged add 's/"added"/"put"/'
ok "nor are a result and an error" damaged add:refused 's/"error"/"result":"added","error"/'
ok "nor are wrong bytes" damaged add:bytes 's/6bff/6bf/'

# Of the command on a fake kernel, with values that a queue of the test machine does not have.
export KWQ_TEST_QUEUES=$WORK/queues
cat >"$KWQ_TEST_QUEUES" <<'END'
\x41\xff ready=3 items=3 open=0
denied open=13
full ready=18446744073709551615 items=18446744073709551615 max_items=1 bytes=18446744073709551615
jobs ready=3 items=3 max_items=10 queue_duration.3=5 queue_duration.sum=5000000 work_duration.11=1 state=7
old ready=1 size=200
END
# valid NAME ARGUMENT...: what kwq ARGUMENT... prints is valid.
valid() {
	local name=$1
	shift

	"$FAKE" "$@" >"$WORK/out" </dev/null || [ -s "$WORK/out" ] || return 1
	[ "$name" != ls ] || { tr -d '\n' <"$WORK/out" >"$WORK/one" && echo >>"$WORK/one" && mv "$WORK/one" "$WORK/out"; }
	sed "s/^/$name	/" "$WORK/out" >"$WORK/lines"
	schema check "$WORK/lines" && [ -s "$WORK/lines" ]
}
ok "ls: of names that are no text, and of queues that may not be opened" valid ls ls --json
ok "stat: of all queues" valid 'stat all' stat --json
ok "stat: with histograms" valid stat stat --json jobs
ok "stat: of an older module" valid stat stat --json old
ok "stat: of numbers of 64 bits" valid stat stat --json full
ok "stat --limits: full" valid 'stat limits' stat --limits --json jobs full $'A\xff'
ok "stat --limits: with a quota" valid 'stat limits' stat --limits --json
ok "stat --limits: exempt" env KWQ_TEST_EXEMPT=1 "$BASH" -c "$(declare -f valid schema); FAKE=$FAKE SCHEMA=$SCHEMA WORK=$WORK; valid \"stat limits\" stat --limits --json"
ok "keys" valid keys keys --json jobs
ok "add: a refused key" valid add add --json jobs full $'k\xff'
ok "save: a file with any name" valid save save --json jobs "$WORK/"$'f\xff'
ok "load" valid load load --json "$WORK/"$'f\xff'

done_testing
