#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What of the module KUnit and the device's tests reach, on a kernel with gcov: prints a table, and what of it is not as
# it has to be. selftests/coverage/report.py says what that is. The counts of each line go to build/coverage.
. "$(dirname "$0")/common.sh"

"$VM/packages.sh"
lock_build
release=$(release_of "$("$VM/kernel.sh" gcov)/kdir")
# Nothing of what was built before a file was renamed.
rm -rf "$BUILD/module-$release" "$BUILD/coverage"
# What a test that fails has reached is nobody's to rely on.
SUITES='kunit-gcov kselftest-gcov' "$VM/run-tests.sh"
progress "adding up what they reached"
"$TOP/selftests/coverage/report.py" "$BUILD/module-$release" "$BUILD/coverage" \
	"$LOGS"/{kunit,kselftest}-gcov.report.log
