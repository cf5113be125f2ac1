#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The tests that want a kernel, on every kernel that kwq is for. Two of the kernels are built with the debug kernel's checks:
# one with PREEMPT_RT, and one of the newest series, for KUnit. At the end there are a table of what ran where, in
# build/matrix.md too, what failed, and the totals as the last line. README=1 puts the table into README.
#
# newer.sh asks apt for the newer series. All of the device's tests run on the newest, on 6.18, a long-term one, and on 7.0.
# For the others the module is compiled with every warning, and loaded. For the newest, clang compiles it as well.
. "$(dirname "$0")/common.sh"

SUITES='kselftest-stock kselftest-stock-6.1 kselftest-stock-rt kselftest-stock-arm64 kselftest-stock-s390x kunit-rt-debug kselftest-rt-debug'
newer=$("$VM/newer.sh" series)
newest=$(tail -n 1 <<<"$newer")
for series in $newer; do
	case $series in
	"$newest" | 6.18 | 7.0) SUITES+=" kselftest-stock-$series" ;;
	*) SUITES+=" load-stock-$series" ;;
	esac
done
SUITES+=" load-stock-$newest-clang kunit-newest-debug"
export SUITES TABLE=$BUILD/matrix.md

status=0
"$VM/run-tests.sh" || status=$?
[ "${README:-0}" = 0 ] || "$VM/results.py" readme "$TOP/README.md" "$TABLE"
exit $status
