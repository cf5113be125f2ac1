#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What of the module KUnit and the device's tests reach, on a kernel with gcov: prints a table, and what is wrong with it.
# selftests/coverage/report.py says what that is. The counts of each line go to build/coverage.
. "$(dirname "$0")/common.sh"

"$VM/packages.sh"
lock_build
release=$(release_of "$("$VM/kernel.sh" gcov)/kdir")
# Nothing of what was built before a file was renamed.
rm -rf "$BUILD/module-$release"
status=0
SUITES='kunit-gcov kselftest-gcov coverage' "$VM/run-tests.sh" || status=$?
sed -n 's/^# //p; s/^Bail out! //p' "$LOGS/coverage.tap"
exit "$status"
