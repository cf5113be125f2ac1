# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# shellcheck shell=bash source-path=SCRIPTDIR disable=SC2317
#
# U5: arguments and help of the commands that look at a queue, change a key, and watch files, without a kernel module.
. ./tap.sh

# exits STATUS TEXT ARGUMENT...: kwq ends with this status, and its standard error contains TEXT.
exits() {
	local status=$1 text=$2 got=0
	shift 2

	"$KWQ" "$@" </dev/null >"$WORK/out" 2>"$WORK/err" || got=$?
	[ "$got" = "$status" ] || { echo "status $got"; cat "$WORK/out" "$WORK/err"; return 1; }
	[ ! -s "$WORK/out" ] || { echo "on standard output:"; cat "$WORK/out"; return 1; }
	grep -qF -- "$text" "$WORK/err" || { echo "no \"$text\":"; cat "$WORK/err"; return 1; }
}

# wrong TEXT ARGUMENT...: kwq refuses the arguments with a usage line.
wrong() {
	local text=$1
	shift
	ok "refused: kwq $*" exits 2 "$text" "$@"
}

wrong 'QUEUE is missing' kick -n 3
wrong '-n or --all, and KEY "key", cannot be combined' kick -a a key
wrong '-n or --all, and KEY "key", cannot be combined' kick -n 1 a key
wrong 'must be from 1' kick -n 0 a
wrong 'not a number' kick -n all a
wrong 'QUEUE is missing' edit -p 1
wrong 'KEY is missing' edit a
wrong 'one argument too many' edit a key other
wrong '--after and --at cannot be combined' edit --after 1s --at 18:30 a key
wrong '--value and --value-file cannot be combined' edit --value x --value-file y a key
wrong 'nothing to change: give' edit a key
wrong 'must be from -32 to 31' edit -p 32 a key
wrong 'must be a duration' edit --after soon a key
wrong '--at' edit --at soon a key
wrong '--at 2020-01-01: is in the past; kwq kick makes the key ready now' edit --at 2020-01-01 a key
head -c 65537 /dev/zero >"$WORK/long"
wrong 'a value has at most 65536 bytes' edit --value-file "$WORK/long" a key
ok "edit: a file that is not there" exits 1 'No such file' edit --value-file "$WORK/none" a key

wrong 'QUEUE is missing' watch-files
wrong 'DIR is missing' watch-files a
wrong '--relative works with one DIR only' watch-files --relative a . ..
wrong '--events opened: must be written, moved' watch-files --events opened a .
wrong '--events written,: must be written, moved' watch-files --events written, a .
wrong 'must be a duration' watch-files --debounce soon a .
wrong 'must be a duration' watch-files --debounce 1s: a .
wrong 'must be longer than 0' watch-files --debounce 0 a .
wrong 'MAX must not be less than DURATION' watch-files --debounce 2s:1s a .
wrong 'must be a duration' watch-files --ignore-own a .
wrong '--mark disk: must be mount or filesystem' watch-files --mark disk a .
wrong '--mark mount knows of no events but written' watch-files --mark mount --events written,moved a .
ok "watch-files: a folder that is not there" exits 1 '/nonexistent: No such file' watch-files a /nonexistent

wrong 'QUEUE is missing' kill
wrong 'KEY is missing' kill a
wrong '--signal 0' kill -s 0 a key
wrong '--signal TERMINATE: must be a name, such as TERM, or a number' kill -s TERMINATE a key
wrong 'QUEUE is missing' follow
wrong 'one argument too many' follow a key other

if [ -e /dev/kwq ]; then
	skip "no module" "there is one here"
else
	for arguments in stat 'stat a' 'keys --first ready a' 'kick a k' 'edit -p 1 a k' 'watch-files a .' 'kill a k' 'kill --restart a k' 'kill --bury a k' 'follow a'; do
		# shellcheck disable=SC2086 # a word each
		ok "no module: kwq $arguments" exits 6 'is the module kwq loaded?' $arguments
	done
fi

done_testing
