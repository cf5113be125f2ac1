#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Counts the instructions of one row of `make bench` per operation and function, in the kernel and in the program.
# Disturbances during the measurement, such as ticks and kernel threads, are included.
#
# ROW=NAME  a row of selftests/bench/rows that is the median of samples
. "$(dirname "$0")/../machine/common.sh"

ROW=${ROW:-}
[ -n "$ROW" ] || die "ROW=NAME is missing: which row of selftests/bench/rows?"
grep -q "^$ROW " "$TOP/selftests/bench/rows" || die "selftests/bench/rows has no row $ROW"

"$SELFTESTS/machine/packages.sh" bench
lock_build
mkdir -p "$LOGS"
console=$LOGS/profile.console.log report=$LOGS/profile.report.log counts=$BUILD/bench/profile.counts
plugin=$BUILD/bench/libprofile.so
rm -f "$report" "$counts"
dir=$("$SELFTESTS/machine/initramfs.sh" stock bench)
logged profile gcc -O2 -Wall -Wextra -Werror -fvisibility=hidden -shared -fPIC -o "$plugin" \
	"$TOP/selftests/bench/profile/plugin.c"

progress "measuring $ROW"
ICOUNT=1 LIMIT=600 KWQ_ROW=$ROW PLUGIN=$plugin,out=$counts "$SELFTESTS/machine/boot.sh" "$dir" "file:$console" "file:$report" bench \
	>"$LOGS/profile.qemu.log" 2>&1 </dev/null || true
if ! grep -q '^@kwq verdict pass' "$report"; then
	{ tail -n 25 "$console"; grep -E '^(@kwq problem|#)' "$report"; cat "$LOGS/profile.qemu.log"; } >&2 || true
	die "the machine did not reach its end; the console is in $console"
fi
case $ROW in
go.* | peer.client-go.*) program=bench-go ;;
*) program=device ;;
esac
"$TOP/selftests/bench/profile/symbols.py" "$counts" "$report" "$BUILD/bench/$program" "$ROW"
