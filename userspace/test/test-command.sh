# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# shellcheck shell=bash source-path=SCRIPTDIR disable=SC2317
#
# The command without a kernel module: help, wrong arguments, exit statuses.
. ./tap.sh

COMMANDS='create ls rm configure add watch-files edit run run-ctl open get done stat keys top log follow exporter pause resume drain kick
	cancel kill keep save load share'
DEBUG_COMMANDS='advance forget requeues term sync'

# exits STATUS TEXT ARGUMENT...: kwq ends with this status, and its standard error contains TEXT.
exits() {
	local status=$1 text=$2 got=0
	shift 2

	"$KWQ" "$@" </dev/null >"$WORK/out" 2>"$WORK/err" || got=$?
	[ "$got" = "$status" ] || { echo "status $got"; cat "$WORK/out" "$WORK/err"; return 1; }
	[ ! -s "$WORK/out" ] || { echo "on standard output:"; cat "$WORK/out"; return 1; }
	grep -qF -- "$text" "$WORK/err" || { echo "no \"$text\":"; cat "$WORK/err"; return 1; }
}

# exits_fake STATUS TEXT ARGUMENT...: the same, on the fake kernel. A wait for ever is cut off.
exits_fake() {
	local status=$1 text=$2 got=0
	shift 2

	timeout 60 "$FAKE" "$@" </dev/null >"$WORK/out" 2>"$WORK/err" || got=$?
	if [ "$got" != "$status" ] || [ -s "$WORK/out" ] || ! grep -qF -- "$text" "$WORK/err"; then
		echo "status $got"
		cat "$WORK/out" "$WORK/err"
		return 1
	fi
}

# wrong TEXT ARGUMENT...: kwq refuses the arguments with a usage line.
wrong() {
	local text=$1
	shift
	ok "refused: kwq $*" exits 2 "$text" "$@"
}

# The page fits a terminal of 24 lines and 80 columns, and ends with two examples.
fits() {
	# shellcheck disable=SC2086 # a word each
	"$KWQ" $1 --help | awk 'length > 80 { print; bad = 1 } END { if (NR > 24) print NR " lines"; exit bad || NR > 24 }' &&
		[ "$("$KWQ" $1 --help | grep -cE "^  .*kwq $1( |$)")" = 2 ]
}

# All options of the short page are on the long one.
is_part() {
	[ -z "$(comm -23 <("$KWQ" "$1" --help | grep -oE -- ' --[a-z-]+' | sort -u) \
		<("$KWQ" "$1" --help=all | grep -oE -- ' --[a-z-]+' | sort -u))" ]
}

helps() {
	"$KWQ" "$@" >"$WORK/out" 2>"$WORK/err" && [ -s "$WORK/out" ] && [ ! -s "$WORK/err" ]
}

ok "kwq --help" helps --help
ok "kwq -h" helps -h
ok "kwq help" helps help
for command in $COMMANDS; do
	ok "kwq $command --help" helps "$command" --help
	ok "kwq $command --help fits a screen, with two examples" fits "$command"
	ok "kwq $command --help=all has what --help has" is_part "$command"
	ok "kwq $command -h" helps "$command" -h
	ok "U5: kwq --help has $command" grep -qE "^  [a-z]+ .* $command( |\$)" <("$KWQ" --help)
	same "U5: kwq help $command" "$("$KWQ" help "$command")" "$("$KWQ" "$command" --help)"
	# What the table takes and what the help says of it, so that completion proposes no other option.
	same "U5: the options of $command" "$("$KWQ" --options "$command" | sed -n 's/^\(--[^=]*\).*/\1/p' | sort)" \
		"$( (echo --help; "$KWQ" "$command" --help=all | sed -nE 's/^ {1,8}((-[a-zA-Z0-9]|--[a-z-]+)( [^ ]+)?, )*(-[a-z0-9]|--[a-z]).*/&/p' |
			sed -E 's/^ +//; s/  .*//' | grep -oE -- '--[a-z][a-z-]*') | sort -u)"
	if [ "$command" = share ] && [ ! -x "$O/kwq-share" ]; then
		skip "refused: kwq share --no-such-option" "kwq-share is not built"
	else
		wrong 'unrecognized option' "$command" --no-such-option
	fi
done
# Tests need these, and they are no commands without the word.
for command in $DEBUG_COMMANDS; do
	ok "kwq debug $command --help" helps debug "$command" --help
	ok "kwq debug $command --help fits a screen, with two examples" fits "debug $command"
	ok "U5: kwq debug --help has $command" grep -qE "^  $command +[A-Z]" <("$KWQ" debug --help)
	same "U5: kwq debug help $command" "$("$KWQ" debug help "$command")" "$("$KWQ" debug "$command" --help)"
	wrong 'unrecognized option' debug "$command" --no-such-option
	ok "U5: kwq $command is none" exits 2 "no command \"$command\"; did you mean \"kwq debug $command\"? See kwq debug $command --help" "$command"
done
same "kwq debug --help has no other" "$("$KWQ" debug --help | grep -cE '^  [a-z]+ +[A-Z]')" "$(wc -w <<<"$DEBUG_COMMANDS")"
same "kwq help debug" "$("$KWQ" help debug)" "$("$KWQ" debug --help)"
ok "kwq debug alone: usage" exits 2 'Usage: kwq debug COMMAND' debug
same "kwq debug has all other commands" "$("$KWQ" debug --options | grep -cx -e add -e create -e run)" 3
# Options of kwq debug, which the command itself neither takes nor shows.
while read -r command option value; do
	wrong "$value" "$command" "$option" a k
	ok "kwq $command --help has no $option" test -z "$("$KWQ" "$command" --help=all | grep -e "$option ")"
	ok "kwq debug $command --help has $option" grep -qe "$option" <("$KWQ" debug "$command" --help)
	ok "kwq debug $command --options has it, too" grep -qe "$option" <("$KWQ" debug --options "$command")
done <<-'END'
	create --outbox unrecognized option
	create --coalesce unrecognized option
	create --no-coalesce unrecognized option
	configure --coalesce unrecognized option
	add --if-waiting unrecognized option
	add --end-wait unrecognized option
END
wrong '--clock manual: must be monotonic or boottime' create --clock manual a
wrong '--clock manual: must be monotonic or boottime' keep --clock manual a b
ok "kwq debug create --help has --clock manual" grep -qe '--clock manual' <("$KWQ" debug create --help)
same "U5: kwq --help has no other commands" "$("$KWQ" --help | sed -nE '/^  kwq /d; s/^  [a-z]+ //p' | wc -w)" \
	"$(wc -w <<<"$COMMANDS")"
same "U5: and fits a screen" "$("$KWQ" --help | awk 'length > 80 || NR > 24' | wc -l)" 0
ok "U5: kwq help of what is no command" exits 2 'no command "statt"; did you mean "stat"? See kwq --help' help statt

VERSION=$(sed -n 's/^VERSION[[:space:]]*:= //p' "$SRC/Makefile")
same "kwq --version" "$("$KWQ" --version)" "kwq $VERSION"
same "the static one is the same" "$("$O/kwq-static" --version)" "kwq $VERSION"

ok "kwq alone: usage" exits 2 'Usage: kwq COMMAND'
ok "no such command" exits 2 'no command "frobnicate"; see kwq --help' frobnicate
ok "U5: a misspelt command" exits 2 'no command "statt"; did you mean "stat"? See kwq --help' statt
wrong 'kwq: run: did you mean --jobs?' run --jbos=4 jobs
wrong "kwq: keys: unrecognized option '--unsroted'" keys --unsroted
wrong 'must be --help or --help=all' keys --help=most
proposes_nothing() {
	"$KWQ" "$@" 2>"$WORK/err" || ! grep 'did you mean' "$WORK/err"
}
ok "U5: no proposal that is far from it" proposes_nothing run --frobnicate
ok "U5: none if the option is right, and its argument is missing" proposes_nothing run --jobs

wrong 'cannot be combined' exporter --listen :1 --textfile x
wrong '--interval needs --textfile' exporter --interval 1s
wrong 'must be longer than 0' exporter --textfile x --interval 0
wrong 'must be a duration' exporter --textfile x --interval soon
wrong 'must be longer than 0' top --interval 0
wrong 'must be a duration' top --interval soon
wrong 'must be ready, waiting' top --sort size
if "$O/kwq-static" exporter --listen x 2>&1 | grep -q 'not an address'; then
	skip "a build without HTTP" "this one has it"
else
	KWQ=$O/kwq-static wrong 'this build has no HTTP' exporter
fi

wrong 'NAME is missing' create
wrong 'one argument too many' create a b
wrong 'must be an octal number' create -m 888 a
wrong 'must be an octal number' create -m 1000 a
wrong 'must be an octal number' create -m '' a
wrong 'not a number' create --max-items many a
wrong 'must be from 1' create --max-items 0 a
wrong 'not a number' create --max-bytes -1 a
wrong 'must be monotonic or boottime' create --clock realtime a
wrong 'must be monotonic or boottime, or manual' debug create --clock realtime a
wrong 'must be a duration' create --lease soon a
wrong 'too long (more than 292 years)' create --lease 106752d a
wrong 'needs a CMD' create --unnamed
wrong 'cannot be combined' create --unnamed -p -- true
wrong 'excludes NAME' create a --unnamed
wrong 'one argument too many' create a -m 600 -- b
wrong 'must be the name of a queue' create fd:3

wrong 'QUEUE is missing' open
wrong 'CMD is missing' open a
wrong 'CMD is missing' open a --
wrong 'CMD is missing' open a -n

wrong 'one argument too many' ls a
wrong '--no-headings needs --long or --numeric' ls -H
wrong '--no-headings needs --long' keys -H a
wrong '--no-headings needs --long' keys --first ready -H a
wrong '--json and --no-headings cannot be combined' stat --limits -H --json
wrong '--no-headings needs --limits' stat -H
wrong '--no-headings needs --limits' stat -H a
wrong '--all is about what runs in all queues' stat --all a
wrong '--all is about what runs in all queues' stat --all --limits
wrong 'b: no number of a queue' stat a b
wrong 'name: no number of a queue' stat a ready name
wrong '--json has all numbers, so it excludes "ready"' stat --json a ready
wrong 'QUEUE is missing' save
wrong 'FILE is missing' save a
wrong 'one argument too many' save a b c
wrong '--no-durations excludes --lease, --aging and --forget-after' create --no-durations --lease 1s a
wrong '--no-durations excludes --lease, --aging and --forget-after' create --no-durations --aging 1s a
wrong '--no-durations excludes --lease, --aging and --forget-after' create --forget-after 1s --no-durations a
wrong 'QUEUE is missing' drain
wrong 'QUEUE is missing' keep
wrong 'FILE is missing' keep a
wrong 'one argument too many' keep a b c
wrong 'must be a duration' keep --interval soon a b
wrong 'must be the name of a queue, not a descriptor' keep fd:3 b
wrong 'name a FILE' keep a -
wrong '--no-durations excludes --lease, --aging and --forget-after' keep --no-durations --lease 1s a b
wrong 'QUEUE is missing' debug term
wrong 'a DURATION, none or now is missing' debug term a
wrong 'must be a duration' debug term a soon
wrong 'too long' debug term a 110000d
wrong 'one argument too many' debug term a now b
wrong 'QUEUE is missing' debug sync
wrong 'must be a duration' debug sync --timeout soon a
wrong 'must be a duration' drain --timeout soon a
wrong '--no-wait and --timeout exclude each other' drain --no-wait --timeout 1s a
wrong 'NAME is missing' rm
wrong 'must be the name of a queue' rm fd:3

wrong 'QUEUE is missing' add
wrong 'must be a duration' add --after soon a
wrong 'must be a duration' add --after -1s a
wrong 'too long' add --after 99999999999d a
wrong 'cannot be combined' add --after 1s --at 18:30 a
wrong '--past soon: must be ok' add --at 18:30 --past soon a
wrong '--past is about a time: it needs --at' add --past ok a
wrong 'needs --after, --at or --rate-limited' debug add --if-waiting keep a
wrong 'cannot be combined with --after or --at' add --rate-limited --after 1s a
wrong 'cannot be combined with --after or --at' add --at 18:30 --rate-limited a
wrong '--end-wait cannot be combined' debug add --end-wait --rate-limited a
wrong 'must be earlier, later, keep or replace' debug add --after 1s --if-waiting maybe a
wrong '--end-wait cannot be combined' debug add --end-wait --after 1s a
wrong 'must be from -32 to 31' add -p 32 a
wrong 'must be from -32 to 31' add -p -33 a
wrong 'not a number' add -p high a
wrong 'requires an argument' add --after
wrong 'must be AFTER,AT_MOST' add --debounce 1s a
wrong 'must be a duration' add --debounce soon,1s a
wrong 'AT_MOST must not be 0' add --debounce 1s,0 a
wrong 'cannot be combined' add --debounce 1s,2s --after 1s a
wrong 'cannot be combined' debug add --debounce 1s,2s --if-waiting keep a
wrong 'cannot be combined' add --value x --value-file y a
wrong '--keep-value needs --value' add --keep-value a
wrong 'cannot have both the keys and the value' add --value-file - a
head -c 65537 /dev/zero >"$WORK/long"
wrong 'at most 65536 bytes' add --value-file "$WORK/long" a
wrong 'QUEUE is missing' pause
wrong 'must be a duration' pause --for soon a
wrong 'QUEUE is missing' resume

wrong 'QUEUE is missing' get
wrong 'must be from 1' get -n 0 a
wrong 'not a number' get -n all a
wrong 'must be a duration' get --timeout soon a
wrong 'cannot be combined' get --nonblock --timeout 1s a
wrong 'cannot be combined' get --null --json a
wrong 'cannot be combined' get --value --json a

wrong 'QUEUE is missing' 'done'
wrong '--extend keeps the keys, so it excludes --forget, --dead and --return' 'done' --extend --dead a k
wrong '--note needs --extend' 'done' --note x a k
wrong 'a note has at most' 'done' --extend --note "$(head -c 5000 /dev/zero | tr '\0' x)" a k
wrong 'QUEUE is missing' cancel
wrong 'QUEUE is missing' cancel --leave-jobs
wrong '--state nowhere: must be ready, returned' cancel --all --state nowhere a
wrong 'QUEUE is missing' 'kill' --restart
wrong 'KEY is missing' 'kill' --bury a
wrong '--signal, --restart and --bury exclude each other' 'kill' --restart --bury a k
wrong '--signal, --restart and --bury exclude each other' 'kill' -s HUP --restart a k

# The options of a queue's configuration, for create and configure.
for command in create configure; do
	wrong '--retry bucket:0/s:1: the rate is 0' $command --retry bucket:0/s:1 a
	wrong '--retry bucket:1/s:0: the burst is 0' $command --retry bucket:1/s:0 a
	wrong '--retry exp:2s..1s: the base is above the max' $command --retry exp:2s..1s a
	wrong '--retry backoff:2s*2..1s: the first pause is above the cap' \
		$command --retry 'backoff:2s*2..1s' a
	wrong '--retry exp:-1s..1s: a time is negative' $command --retry exp:-1s..1s a
	wrong '--retry exp:1s..106752d: a time is too long' $command --retry exp:1s..106752d a
	wrong '--retry linear:1s: no such limiter' $command --retry linear:1s a
	wrong "--retry : no such limiter" $command --retry '' a
	wrong '--retry exp:9s..9s: too many limiters (at most 8)' $command --retry exp:1s..1s \
		--retry exp:2s..2s --retry exp:3s..3s --retry exp:4s..4s --retry exp:5s..5s \
		--retry exp:6s..6s --retry exp:7s..7s --retry exp:8s..8s --retry exp:9s..9s a
	wrong '--retry default cannot be combined' $command --retry default --retry exp:1s..1s a
	wrong '--retry default cannot be combined' $command --retry exp:1s..1s --retry default a
	wrong '--retry default cannot be combined' $command --retry default --retry default a
	wrong 'must be a duration' $command --max-wait -1s a
	wrong 'too long (more than 292 years)' $command --max-wait 106752d a
	wrong 'too long (more than 584 years)' $command --max-wait 9999999d a
	wrong 'must be a duration' $command --forget-after soon a
	wrong 'too long (more than 292 years)' $command --forget-after 9223372036854775808ns a
	wrong 'not a number' $command --dead-after -1 a
	wrong 'not a number' $command --dead-after-lost -1 a
	wrong 'must be from 0 to 4294967295' $command --dead-after-lost 4294967296 a
	wrong 'must be from 0 to 4294967295' $command --dead-after 4294967296 a
done
wrong 'QUEUE is missing' configure
wrong 'one argument too many' configure a b
wrong '--json prints the configuration' configure --json --dead-after 3 a

wrong 'QUEUE is missing' debug forget
wrong '--return and --dead exclude each other' 'done' --return --dead q k
wrong '--return keeps the counts of requeues, so it excludes --forget' 'done' --return --forget q k
wrong 'QUEUE is missing' debug requeues
wrong 'invalid option' debug requeues -v a

wrong 'QUEUE is missing' keys
wrong 'one argument too many' keys a b
wrong '--long, --null and --json cannot be combined' keys -l0 a
wrong '--long, --null and --json cannot be combined' keys --json -l a
wrong '--value and --note are of one key' keys --value a
wrong '--value and --note are of one key' keys --note a
wrong '--value prints the value alone, or with --json' keys -k a --value -l a
wrong '--note prints the note alone' keys -k a --note -l a
wrong '--note prints the note alone' keys -k a --note --value a
wrong '--value and --note are of one key' keys -k a --dead --note a
wrong '--first cannot be combined with --key, --state or --dead' keys -k a --first ready a
wrong '--first cannot be combined with --key, --state or --dead' keys --first dead --dead a
wrong '--first busy: must be ready, waiting, processing or dead' keys --first busy a
wrong '--first remembered: must be ready, waiting, processing or dead' keys --first remembered a
wrong '--state busy: must be ready, returned' keys --state busy a
wrong '--state ,dead: must be ready, returned' keys --state ready,,dead a
wrong '--state : must be ready, returned' keys --state '' a
wrong '--state re: must be ready, returned' keys --state re a

wrong 'QUEUE is missing' debug advance
wrong 'DURATION is missing' debug advance a
wrong 'one argument too many' debug advance a 1s 2s
wrong 'DURATION soon: must be a duration' debug advance a soon
wrong 'too long (more than 292 years)' debug advance a 106752d
wrong '--to soon: must be a duration' debug advance --to soon a
wrong 'cannot be combined' debug advance --to 1s a 1s
wrong 'QUEUE is missing' debug advance --to 1s

wrong 'QUEUE is missing' run
wrong 'CMD is missing' run a
wrong 'CMD is missing' run a --
wrong 'must be from 1 to 4096' run -j 0 a -- true
wrong 'must be from 1 to 4096; 100% is one a processor' run -j 0 a -- true
wrong 'must be from 1 to 4096' run -j 0% a -- true
wrong 'must be from 1 to 4096' run -j 4097 a -- true
wrong 'must be a number such as 8, 50%, +1 or -1' run -j x a -- true
wrong 'must be such as now,fail=1' run --halt now,fail=0 a -- true
wrong 'must be such as now,fail=1' run --halt now,fail=30% a -- true
wrong '--drop-on 0: must be statuses' run --drop-on 0 a -- true
wrong '--dead-on 1,,2: must be statuses' run --dead-on 1,,2 a -- true
wrong '--drop-on and --dead-on both name status 5' run --drop-on 3-6 --dead-on 5 a -- true
wrong '--on-fail done: must be retry, dead or drop' run --on-fail 'done' a -- true
wrong '--timeout x: must be a duration' run --timeout x a -- true
# A disk that is full for a moment must not make all keys of the example dead.
ok "the example of the unit retries for long" grep -qE '^Environment="RUN_OPTIONS=[^"]*--retry-after [1-9][0-9]*s --retry-max [1-9][0-9]*h' \
	"$SRC"/packaging/system/examples/kwq-run@thumbnails.service.d/thumbnails.conf

# A key must not become code.
for script in "sh -c 'echo {}'" "/bin/bash -ec 'echo {.}'" "env X=1 nice bash -o pipefail -c 'cat {//}'" "dash -c '{/.}' sh {}" \
	"python3.11 -c 'print(\"{/}\")'" "perl -wne '{}'"; do
	eval "set -- $script"
	wrong 'would run parts of a key as code' run a -- "$@"
done
# ssh joins its words, and the remote shell reads them anew. Without a place the key is one of these words, too.
for command in 'ssh host convert {}' 'ssh -p 22 -- host "convert {.}"' 'nice /usr/bin/ssh -o X=y -4 me@host convert' 'ssh -i key host convert -- {/}' 'ssh -oBatchMode=no host {}'; do
	eval "set -- $command"
	wrong "the shell of the other machine run parts of a key as code: write --stdin, and ssh HOST 'xargs -0 CMD --'" run a -- "$@"
done
# allowed ARGUMENT...: not refused for that, so without the module or the queue it goes on.
allowed() {
	"$FAKE" run --dry-run jobs -- "$@"
}
export KWQ_TEST_QUEUES=$WORK/queues
echo 'jobs ready=1 items=1' >"$KWQ_TEST_QUEUES"
FAKE=$O/test/kwq-fake
# U9: a name that somebody else made first is not taken, and an argument behind -- is no option.
printf '%s\n' 'jobs ready=1 items=1' 'theirs ready=1 uid=4711' '-dash ready=1 items=1' >"$KWQ_TEST_QUEUES"
ok "create --or-open: our own queue" "$FAKE" create --or-open jobs
same "create --or-open: another user's" "$("$FAKE" create --or-open theirs 2>&1; echo $?)" \
	"kwq: create: theirs: exists already, and belongs to 4711, who can do anything with its keys: it has to be removed first, or created by its owner
1"
same "keep: another user's" "$("$FAKE" keep theirs "$WORK/theirs.kwqdb" 2>&1; echo $?)" \
	"kwq: keep: theirs: exists already, and belongs to 4711, who can do anything with its keys: it has to be removed first, or created by its owner
1"
ok "create: a name with a dash" "$FAKE" create --or-open -- -dash
ok "create: one argument too many behind it" exits 2 'one argument too many' create -- -dash -m
same "run: such a queue" "$("$FAKE" run --dry-run -- -dash echo -n)" 'echo -n key-0'
same "open: such a queue" "$("$FAKE" open -- -dash echo -n ran)" 'ran'
echo 'jobs ready=1 items=1' >"$KWQ_TEST_QUEUES"

# No text of others changes the terminal, or begins a line of its own in the journal of a service.
evil=$'evil\e[2J\n'
cp "$KWQ_TEST_QUEUES" "$WORK/few"
printf '%s\n' 'evil\x1b[2J\x0a ready=2 items=2' >>"$KWQ_TEST_QUEUES"
shown='evil\x1b[2J\n'
mkdir "$WORK/saved"
# tells NAME ARGUMENT...: what the command says has the name, and no control character.
tells() {
	"$FAKE" "$@" >"$WORK/out" 2>&1 </dev/null
	# shellcheck disable=SC2015 # cat is for any of them
	grep -qF -- "$shown" "$WORK/out" && ! LC_ALL=C grep -q '[[:cntrl:]]' <(tr -d '\n' <"$WORK/out") &&
		[ "$(wc -l <"$WORK/out")" = "$(grep -cE '^(kwq: |Usage: |evil|[^ ]*/evil|jobs)' "$WORK/out")" ] || { cat -v "$WORK/out"; return 1; }
}
ok "save -v: a name is escaped" tells save -v "$evil" "$WORK/saved/one"
ok "load -v: too" tells load -v "$WORK/saved/one"
ok "save --all -v: too" tells save --all -v "$WORK/saved"
ok "add: of a refused key" tells add "$evil" full
ok "get: nothing is ready" tells get --nonblock "$evil"
ok "stat: no such queue" tells stat "no $evil" ready
ok "rm: of a queue with keys" tells rm "$evil"
ok "run: no such queue" tells run "no $evil" -- true
ok "load: no such file" tells load "$WORK/$evil"
ok "an unknown command" tells "$evil"
ok "an argument too many" tells ls "$evil"
mv "$WORK/few" "$KWQ_TEST_QUEUES"

# A load that restores a part says how much is missing.
echo 'jobs ready=600 items=600 restores=1' >"$KWQ_TEST_QUEUES"
"$FAKE" save jobs "$WORK/many"
same "load: the module has no memory for the second batch" "$("$FAKE" load "$WORK/many" 2>&1; echo $?)" \
	"kwq: load: jobs: 344 of 600 keys of $WORK/many are not restored: Cannot allocate memory
1"
same "load: as JSON" "$("$FAKE" load --json "$WORK/many" 2>/dev/null)" \
	"{\"queue\":\"jobs\",\"file\":\"$WORK/many\",\"restored\":256,\"existing\":0,\"refused\":344}"

# U9: whoever made the queue first would get the keys of the file.
sed -i 's/$/ uid=4711/' "$KWQ_TEST_QUEUES"
ok "load: another user's queue" exits_fake 1 'kwq: load: jobs: exists already, and belongs to 4711' load "$WORK/many"
same "load: which the caller names" "$("$FAKE" load "$WORK/many" jobs 2>&1 | grep -c 'not restored')" 1
"$FAKE" save jobs "$WORK/theirs"
same "load: of a file that names that user" "$("$FAKE" load "$WORK/theirs" 2>&1 | grep -c 'not restored')" 1

# A wait for a queue that is removed meanwhile would be one for ever.
printf '%s\n' 'empty state=2' 'left state=2 ready=1 items=1' 'over state=10 ready=1 items=1' 'paused state=6 paused_for=-1 ready=1 items=1' \
	'pausing state=6 paused_for=5 ready=1 items=1' 'taken state=2 removed=7 taken=3' 'there taken=3' >"$KWQ_TEST_QUEUES"
removed=': the queue was removed meanwhile, and no key comes from it any more'
for queue in empty over paused; do
	ok "get: $queue, and removed" exits_fake 3 "kwq: get: $queue$removed" get $queue
done
ok "get: no word with --quiet" test -z "$("$FAKE" get -q empty 2>&1)"
for queue in left pausing; do
	ok "get: $queue: what is left may still come" exits_fake 4 "kwq: get: $queue: timed out" get --timeout 2s $queue
done
ok "add --wait: removed" exits_fake 3 'kwq: add: left: the queue was removed, so nobody may get these keys' add --wait left full
ok "add --wait: a queue that is there" exits_fake 4 'no room in time' add --wait=3s there full
ok "drain: removed while it is paused" exits_fake 3 \
	'kwq: drain: paused: the queue was removed meanwhile, and nobody can get the keys that are left in it' drain paused
ok "drain: its keys were dropped" exits_fake 3 'kwq: drain: taken: the queue was removed meanwhile, with 3 of its keys, which are not done' drain taken
ok "drain: what a user removes from a queue is not meant" "$FAKE" drain there
echo 'jobs ready=1 items=1' >"$KWQ_TEST_QUEUES"

# shellcheck disable=SC2016 # for the inner shell
same "a key beside a script" "$(allowed sh -c 'echo "$1"' sh {})" "sh -c 'echo \"\$1\"' sh key-0"
same "the number of a job in one" "$(allowed sh -c 'echo {#}')" "sh -c 'echo 1' key-0"
same "an argument of a program" "$(allowed cp {} {}.c -c {})" 'cp key-0 key-0.c -c key-0'
same "a file of a shell" "$(allowed sh -e script -c {})" 'sh -e script -c key-0'
same "a host that is the key" "$(allowed ssh -p 22 {} uptime)" "ssh -p 22 key-0 uptime"
same "a key on the standard input of ssh" "$("$FAKE" run --dry-run --stdin jobs -- ssh host 'xargs -0 convert --' | cut -f 1)" \
	"ssh host 'xargs -0 convert --'"
same "the key on standard input" "$("$FAKE" run --dry-run --stdin jobs -- sh -c 'cat {}' | cut -f 1)" "sh -c 'cat {}'"
unset KWQ_TEST_QUEUES

wrong '--log needs --output' run --log d --output pass a -- true
wrong '--log-keep needs --log' run --log-keep 1d a -- true
wrong '--log-keep x: must be a duration' run --log d --log-keep x a -- true
wrong '--kill-after needs --timeout' run --kill-after 1s a -- true
wrong 'must be a duration' run --retry-after x a -- true
wrong '--retry-max is less' run --retry-after 10s --retry-max 5s a -- true
wrong 'must be from 1' run --max-attempts 0 a -- true
wrong 'must be group, line, pass or journal' run --output mixed a -- true

# Descriptors that are not queues.
ok "a descriptor that is no queue" exits 1 'stat: fd:0: not a queue' stat fd:0 ready
ok "a descriptor that is not open" exits 1 'fd:1000: not an open descriptor' stat fd:1000
ok "a descriptor that is no number" exits 1 'fd:x: not an open descriptor' stat fd:x ready
ok "add to what is no queue" exits 1 'add: fd:0: not a queue' add fd:0 key
ok "get from what is no queue" exits 1 'get: fd:0: not a queue' get fd:0
ok "run on what is no queue" exits 1 'run: fd:0: not a queue' run fd:0 -- true

# kwq log reads the files of kwq run --log: see unit-log-folder.c.
ok "a log that cannot be opened" exits 1 '/nonexistent/log: No such file' run --log /nonexistent/log a -- true
wrong 'DIR is missing' log
wrong '--count 0: must be' log -n 0 d
wrong '--json has all' log --json --long d
ok "log of no folder" exits 1 '/nonexistent: No such file' log /nonexistent
ok "log of a folder without logs" exits 1 "$WORK: no log of kwq run --log" log -H "$WORK"
mkdir "$WORK/log"
head='Seq	Host	Starttime	JobRuntime	Send	Receive	Exitval	Signal	Command	Attempt	Abandoned	Outcome	Key'
printf '%s\n' "$head" '1	h	1795200000.500000	2.250000	0	9	0	0	true	1	0	done	a' \
	' 1	all is' ' 1	well' '2	h	1795200001.000000	0.001000	0	9	-1	9	true	2	0	dead	b\tc' >"$WORK/log/2026-11-20.log"
printf '%s\n' "$head" '1	h	1795300000.000000	100.000000	0	9	3	0	true	25	1	retry	a' ' 1	half' ' 2	no \\ space' '7	torn' \
	' 1	of nobody' '2	h	1795300100.000000	0.000000	0	9	3	0	true	26	1	dead	a' >"$WORK/log/2026-11-21.log"
echo 'not a log' >"$WORK/log/notes"
logged() {
	TZ=UTC "$KWQ" log "$@" "$WORK/log" 2>&1
}
row_a='2026-11-20 18:40:00    2.25s exit 0       1 done    a'
row_b='2026-11-20 18:40:01      1ms signal 9     2 dead    b\tc'
row_c='2026-11-21 22:26:40    1m40s exit 3      25 retry   a'
row_d='2026-11-21 22:28:20        0 exit 3      26 dead    a'
same "log: all jobs, the oldest first" "$(logged)" \
	"$(printf '%s\n' 'STARTED              RUNTIME STATUS     TRY OUTCOME KEY' "$row_a" "$row_b" "$row_c" "$row_d")"
same "log --failed" "$(logged -H --failed)" "$(printf '%s\n' "$row_b" "$row_c" "$row_d")"
same "log -n" "$(logged -H -n 2)" "$(printf '%s\n' "$row_c" "$row_d")"
same "log -n: there are fewer" "$(logged -H --failed -n 9)" "$(printf '%s\n' "$row_b" "$row_c" "$row_d")"
same "log -l: with their output" "$(logged -Hl -n 3)" \
	"$(printf '%s\n' "$row_b" "$row_c" '    half' '    no \\ space' "$row_d")"
same "log of a key: with its output" "$(TZ=UTC "$KWQ" log -H "$WORK/log" $'b\tc' none)" "$row_b"
same "log --json" "$("$KWQ" log --json --failed -n 2 "$WORK/log" | head -n 1)" \
	'{"started_ns":1795300000000000000,"runtime_ns":100000000000,"exit":3,"attempt":25,"abandoned":1,"outcome":"retry","key":"a","stdout":"half\u000a","stderr":"no \\ space\u000a"}'

# Without the module.
if [ -e /dev/kwq ]; then
	skip "no module" "there is one here"
else
	for arguments in 'create a' 'open a -- true' ls 'stat a' 'stat a ready' stat 'stat --limits' 'stat --limits a' 'add a k' 'get a' \
		'done a k' 'done --extend a k' 'cancel --leave-jobs a k' 'cancel a k' 'drain --no-wait a' 'drain a' 'debug sync a' 'debug term a now' 'add --sync a k' 'rm a' 'run a -- true' \
		'create --retry exp:1s..2s a' 'debug create --clock manual a' 'create --lease 1s a' 'configure a' \
		'debug configure --coalesce a' 'debug forget a k' 'debug requeues a k' 'keys --dead a' 'kick --dead a k' \
		'cancel --all --state dead a' 'kill --restart a k' 'kill --bury a k' 'debug advance a 1s' 'keys a'; do
		# shellcheck disable=SC2086 # a word each
		ok "no module: kwq $arguments" exits 6 'is the module kwq loaded?' $arguments
	done
fi

to_full() {
	local status=0

	"$KWQ" --help >/dev/full 2>"$WORK/err" || status=$?
	[ "$status" = 1 ] && grep -q 'No space left' "$WORK/err"
}
ok "output that cannot be written is a failure" to_full

# A closed descriptor differs from /dev/null: keys printed there are lost.
to_closed() {
	local status=0

	"$KWQ" "$@" >&- 2>"$WORK/err" || status=$?
	[ "$status" = 1 ] && grep -q 'standard output: Bad file descriptor' "$WORK/err"
}
ok "output that is closed is a failure" to_closed --version
ok "also with input closed" to_closed --version <&-
all_closed() {
	local status=0

	"$KWQ" --version <&- >&- 2>&- || status=$?
	[ "$status" = 1 ]
}
ok "also with everything closed" all_closed

done_testing
