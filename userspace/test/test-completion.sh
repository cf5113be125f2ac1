# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# shellcheck shell=bash source-path=SCRIPTDIR disable=SC2317
#
# The completion for bash, with a fake kwq that has two queues.
. ./tap.sh

mkdir "$WORK/bin"
cat >"$WORK/bin/kwq" <<END
#!/bin/sh
if [ "\$*" = ls ]; then
	printf '%s\n' jobs 'two words'
elif [ "\$*" = 'keys --unsorted jobs' ]; then
	printf '%s\n' report-7 report-8 other
else
	exec "$KWQ" "\$@"
fi
END
chmod +x "$WORK/bin/kwq"
PATH=$WORK/bin:$PATH

# shellcheck source=../packaging/completion/kwq
. "$SRC/packaging/completion/kwq"

# completes WANTED WORD...: completes the last word. WANTED is separated by |.
completes() {
	local wanted=$1 got
	shift

	COMP_WORDS=(kwq "$@")
	COMP_CWORD=$#
	COMPREPLY=()
	_kwq
	got=$(IFS='|'; echo "${COMPREPLY[*]}")
	[ "$got" = "$wanted" ] || { echo "got $got"; return 1; }
}

ok "it is registered" complete -p kwq
ok "commands" completes "$("$KWQ" --options | paste -sd '|')" ''
ok "commands that begin so" completes 'done|drain|debug' d
ok "queues" completes 'jobs|two words' pause ''
ok "queues that begin so" completes jobs add --quiet j
ok "options" completes '--nonblock|--null' get --n
ok "options from the help, not its numbers" completes '' add -3
ok "a name that is new" completes '' create ''
ok "queues behind --outbox" completes 'jobs|two words' debug create --outbox ''
ok "values of --clock" completes 'monotonic|boottime' create --clock ''
ok "values of --output" completes 'line' run --output l
ok "values of --if-waiting" completes 'keep' debug add --after 1s --if-waiting k
ok "values of --retry" completes 'bucket:10/s:100' configure --retry bu
ok "no queue where a length of time is due" completes '' configure --max-wait ''
ok "values of --state" completes 'dead|dirty|dying' keys --state d
ok "values of --state behind a comma" completes 'ready,dead' keys --state ready,de
ok "no queue where a key is due" completes '' keys --key ''
ok "keys" completes 'report-7|report-8' cancel jobs rep
ok "and more of them" completes other kick jobs report-7 o
ok "a key behind the queue" completes other keys jobs --key o
ok "but of no other queue" completes '' cancel 'two words' ''
ok "files of load" completes "$WORK/bin" load "$WORK/b"
ok "and then a queue" completes jobs load /tmp/file j
ok "files of save" completes "$WORK/bin" save jobs "$WORK/b"
ok "folders of save --all" completes "$WORK/bin" save --all "$WORK/b"
ok "no third argument of save" completes '' save jobs /tmp/file ''
ok "queues of rm" completes jobs rm --force j
ok "a queue behind a time" completes jobs resume --for 3s j
ok "a command of create --unnamed" completes "$(compgen -c -- test- | paste -sd '|')" create --unnamed test-
ok "values of --sort" completes 'queue-p99' top --sort q
ok "queues of top" completes 'jobs|two words' top --once ''
ok "no queue where the number of keys is due" completes '' kick -n ''
ok "queues of kick" completes 'jobs|two words' kick --all ''
ok "no queue where a time is due" completes '' edit --at ''
ok "queues of term" completes 'jobs|two words' debug term ''
ok "words of term" completes 'none|now' debug term jobs n
ok "queues of stat" completes 'jobs|two words' stat --json ''
ok "queues of stat --limits" completes 'jobs|two words' stat --limits jobs ''
ok "queues of watch-files" completes 'jobs|two words' watch-files --initial ''
ok "then folders" completes "$WORK/bin" watch-files jobs "$WORK/b"
ok "and more of them" completes "$WORK/bin" watch-files --initial jobs /tmp "$WORK/b"
ok "values of --events" completes 'moved,deleted' watch-files --events moved,d
ok "no queue where a pattern is due" completes '' watch-files --exclude ''
ok "folders of log" completes "$WORK/bin" log --failed "$WORK/b"
ok "then keys" completes '' log /tmp ''
ok "signals of kill" completes 'USR1|USR2' kill -s U
ok "queues of follow" completes 'jobs|two words' follow ''
ok "commands of debug" completes 'requeues|rm|run|run-ctl|resume' debug r
ok "ls -n takes no value" completes '' ls -n ''
ok "no queue where an address is due" completes '' exporter --listen ''
ok "files of --textfile" completes "$WORK/bin" exporter --textfile "$WORK/b"
ok "no queue where a number is due" completes '' add -p ''
ok "but after create -p a name" completes '' create -p ''
ok "no queue where a count is due" completes '' get -n ''
ok "a queue after open -n" completes 'jobs|two words' open -n ''
ok "no queue where the length of a lease is due" completes '' create --lease ''
ok "no queue where a value is due" completes '' add --value ''
ok "but where it prints values" completes 'jobs|two words' get --value ''
ok "queues of share" completes 'jobs|two words' share --list ''
ok "no queue where a server is due" completes '' share --nats ''
ok "nor where a number of servers is" completes '' share --replicas ''
ok "files of share --key" completes "$WORK/bin" share --key "$WORK/b"
ok "files of share --creds" completes "$WORK/bin" share --creds "$WORK/b"
ok "files of share --metrics" completes "$WORK/bin" share --metrics "$WORK/b"
ok "no queue where a duration is due" completes '' add --after ''

# shellcheck disable=SC2034 # read by the completion
KWQ_FD=7
ok "the descriptor of kwq open" completes 'jobs|two words|fd:7' get ''
ok "fd: is three words" completes 7 get fd : ''
ok "fd:" completes 7 get fd :
unset KWQ_FD

for command in $("$KWQ" --options | grep -vx -e help -e debug -e '-.*'); do
	options=$("$KWQ" --options "$command" | sed -n 's/^\(--[^=]*\).*/\1/p')
	for option in $options; do
		# One option may be a prefix of another.
		ok "$command $option" completes "$(grep -- "^$option" <<<"$options" | paste -sd '|')" "$command" "$option"
	done
	ok "each value of $command has a name" test -z "$("$KWQ" --options "$command" | grep '=$')"
done

done_testing
