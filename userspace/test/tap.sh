# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# shellcheck shell=bash
#
# TAP for test scripts, which source this file. $O is the build folder, $SRC the parent of this folder, and $WORK a
# temporary folder.

: "${O:?is set by make test}" "${SRC:?is set by make test}"
export LD_LIBRARY_PATH=$O${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# shellcheck disable=SC2034 # used by the scripts that source this file
KWQ=$O/kwq
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

# These tests run make and are themselves run by make: keep the options of the outer make away from the inner one.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL
# Make exports the variables of its command line to the environment.
unset DESTDIR PREFIX BINDIR LIBEXECDIR LIBDIR INCLUDEDIR MANDIR COMPLETIONDIR ZSHDIR FISHDIR DATADIR SYSTEMDIR
# shellcheck disable=SC2034
MAKE=(make -s -j"$(nproc)" -C "$SRC")

tap_nr=0
tap_failed=0

# ok NAME COMMAND...: passes if the command succeeds. Prints its output on failure.
ok() {
	local name=$1
	shift

	tap_nr=$((tap_nr + 1))
	if "$@" >"$WORK/said" 2>&1; then
		echo "ok $tap_nr - $name"
	else
		echo "not ok $tap_nr - $name"
		head -n 20 "$WORK/said" | sed 's/^/#  /'
		tap_failed=1
	fi
}

# same NAME GOT WANTED
same() {
	ok "$1" diff <(printf '%s\n' "$3") <(printf '%s\n' "$2")
}

skip() {
	tap_nr=$((tap_nr + 1))
	echo "ok $tap_nr - $1 # SKIP $2"
}

done_testing() {
	echo "1..$tap_nr"
	exit $tap_failed
}
