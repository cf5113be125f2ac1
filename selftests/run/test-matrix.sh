#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The tests that need a kernel, on every supported kernel. Two of the kernels are built with the debug kernel's checks:
# one with PREEMPT_RT, and one of the newest series, for KUnit. At the end the script prints a table of the kernels, the
# failures, and the totals as the last line. The table is also in build/matrix.md; PAGE=1 puts it into docs/kernels.md.
#
# newer.sh asks apt for the newer series. All of the device's tests run on the newest, on 6.18, which is a long-term series,
# and on 7.0. For the other series the module is compiled with every warning, and loaded. clang also compiles it for the
# newest.
. "$(dirname "$0")/../machine/common.sh"

SUITES='kselftest-stock kselftest-stock-6.1 kselftest-stock-rt kselftest-stock-arm64 kselftest-stock-s390x kunit-rt-debug kselftest-rt-debug'
newer=$("$SELFTESTS/machine/newer.sh" series)
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
"$SELFTESTS/run/run-tests.sh" || status=$?
[ "${PAGE:-0}" = 0 ] || "$SELFTESTS/run/results.py" page "$TOP/docs/kernels.md" "$TABLE"
exit $status
