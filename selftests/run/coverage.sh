#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The coverage of the module by KUnit and the device's tests, on a kernel with gcov. Prints a table and its errors;
# selftests/coverage/report.py defines them. The counts of each line go to build/coverage.
. "$(dirname "$0")/../machine/common.sh"

"$SELFTESTS/machine/packages.sh" device kernels
lock_build
release=$(release_of "$("$SELFTESTS/machine/kernel.sh" gcov)/kdir")
# Objects of renamed files must not remain.
rm -rf "$BUILD/module-$release"
status=0
SUITES='kunit-gcov kselftest-gcov coverage' "$SELFTESTS/run/run-tests.sh" || status=$?
sed -n 's/^# //p; s/^Bail out! //p' "$LOGS/coverage.tap"
exit "$status"
