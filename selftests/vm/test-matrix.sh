#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The tests that want a kernel, on every kernel that kwq is for and on the one that looks for wrong locks with
# PREEMPT_RT; then a table of what ran where, in build/matrix.md too, what failed, and the totals as the last line.
. "$(dirname "$0")/common.sh"

export SUITES='kselftest-stock kselftest-stock-6.1 kselftest-stock-rt kselftest-stock-arm64 kselftest-stock-s390x kunit-rt-debug kselftest-rt-debug'
export TABLE=$BUILD/matrix.md
exec "$VM/run-tests.sh"
