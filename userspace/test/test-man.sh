# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# shellcheck shell=bash source-path=SCRIPTDIR disable=SC2317
#
# The man pages are clean, kwq(1) has every command and option, and every function of libkwq(3) has an example that
# compiles.
. ./tap.sh

CC=${CC:-cc}
PAGE=$SRC/man/libkwq.3

if command -v mandoc >/dev/null; then
	for page in kwq.1 kwq-share.1 kwq-flows.1 kwq-cgroups.1 libkwq.3 kwq.4 kwq.7 kwq-run@.service.8; do
		same "mandoc finds nothing in $page" \
			"$(mandoc -T lint -W warning "$SRC/man/$page" 2>&1)" ""
	done
else
	skip "mandoc" "there is none"
fi

# Extracts the literal blocks of a page, unescaped.
examples() {
	sed -n '/^\.Bd -literal/,/^\.Ed/p' "$1" | sed -e '/^\.[BE]d/d' -e 's/\\e/\\/g'
}

{
	cat <<'END'
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <kwq.h>

void work(const char *key, size_t len);
END
	examples "$PAGE"
} >"$WORK/examples.c"
ok "there are examples" test "$(wc -l <"$WORK/examples.c")" -gt 200
# shellcheck disable=SC2086 # the compiler may include options
ok "the examples of libkwq(3) compile" $CC -std=gnu11 -Wall -Wextra -Werror \
	-Wno-missing-field-initializers -I"$SRC/include" -I"$SRC/../uapi" -c -o "$WORK/examples.o" \
	"$WORK/examples.c"

used=$(nm "$WORK/examples.o" | sed -nE 's/.* U (kwq_.*)/\1/p')
# shellcheck disable=SC2013 # one word per line
for function in $(sed -nE 's/^\.Fn (kwq_[a-z_]+) .*/\1/p' "$PAGE" | sort -u); do
	if [ "$function" = kwq_ptr ]; then
		ok "an example uses $function()" grep -q 'kwq_ptr(' "$WORK/examples.c"
	else
		ok "an example uses $function()" grep -qx "$function" <<<"$used"
	fi
	ok "a heading names the example of $function()" \
		grep -qE "^\.Ss (.* )?$function( |\$)" "$PAGE"
	ok "NAME has $function" grep -qE "^\.Nm $function( ,)?\$" "$PAGE"
done

# kwq(1) has everything that --help has, and kwq-share(1) the options of kwq share.
text_of() {
	sed -e 's/Fl Fl /--/g' -e 's/Fl /-/g' "$SRC/man/$1.1"
}
# explains PAGE OPTION: a list of the page has it, or the page names it in a sentence and refers to kwq(1), whose list has it.
explains() {
	text_of "$1" | grep -qE -- "^\.It .*$2( |\$)" ||
		{ text_of "$1" | grep -qE -- "^\.(-. , )?$2( ,)?\$" && [ "$1" != kwq ] && explains kwq "$2"; }
}
for command in $("$KWQ" --options | grep -vx -e help -e debug -e '-.*'); do
	ok "kwq(1) has $command" grep -q "^\.Cm $command\$" "$SRC/man/kwq.1"
	page=kwq
	[ "$command" != share ] || page=kwq-share
	for option in $("$KWQ" "$command" --help=all | grep -oE -- '--[a-z][a-z-]+' | sort -u |
		grep -vx -- --help); do
		ok "$page(1) explains $command $option" explains $page "$option"
	done
done
for command in $(comm -13 <("$KWQ" --options | sort) <("$KWQ" debug --options | sort)) create configure add; do
	ok "kwq(1) has debug $command" grep -q "^\.Cm debug $command\$" "$SRC/man/kwq.1"
	for option in $("$KWQ" debug --options "$command" | grep -oE -- '--[a-z][a-z-]+' | grep -vx -- --help); do
		ok "kwq(1) explains debug $command $option" explains kwq "$option"
	done
done

# ---- Metrics and columns ----

export KWQ_TEST_QUEUES=$WORK/queues
echo 'jobs ready=1 items=1 id=7' >"$KWQ_TEST_QUEUES"
FAKE=$O/test/kwq-fake

# section COMMAND: what kwq(1) says of a command.
section() {
	sed -n "/^\.Ss kwq $1\$/,/^\.S[sh] /p" "$SRC/man/kwq.1"
}
# listed: the names at the begin of each row of the lists on standard input, sorted.
listed() {
	sed -n 's/^\.It Li \([^"]*\) Ta.*/\1/p' | tr -d ' ' | tr , '\n' | sort
}
# columns COMMAND ARGUMENT...: the section of the command explains the words of the first line that it prints, and no others.
columns() {
	local command=$1
	shift
	same "kwq(1) explains each column of kwq $*, and no others" "$(section "$command" | listed | grep -E '^[A-Z][A-Z0-9]+(/s)?$')" \
		"$("$FAKE" "$@" | sed -n 1p | tr -s ' ' '\n' | grep . | sort)"
}
same "kwq(1) explains each metric, and no others" "$(listed <"$SRC/man/kwq.1" | grep ^workqueue_)" \
	"$("$FAKE" exporter --textfile - | sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' | sort)"
for metric in $("$FAKE" exporter --controller-runtime --textfile - | sed -n 's/^# TYPE \(controller_[^ ]*\) .*/\1/p'); do
	ok "kwq(1) has $metric" grep -q "^\.Li $metric\$" "$SRC/man/kwq.1"
done
columns ls ls -l
columns keys keys -l jobs
columns stat stat --limits
columns top top --once --interval 1ns
same "kwq(1) explains each line of kwq stat, and no others" "$(section stat | listed | grep -v '^[A-Z]')" \
	"$("$FAKE" stat jobs | sed -n 's/^\([a-z_]*\) .*/\1/p' | sort)"

done_testing
