#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Boots Debian's kernel with kwq and shows selftests/demo. Exits with 0 if the demo succeeded.
. "$(dirname "$0")/common.sh"

"$VM/packages.sh"
lock_build
mkdir -p "$LOGS"
dir=$("$VM/initramfs.sh" stock demo)
progress "booting Linux $(basename "$(readlink -f "$dir/image")") with kwq"

# The demo's output is shown live; init's own lines are filtered out.
LIMIT=300 "$VM/boot.sh" "$dir" "file:$LOGS/demo.console.log" stdio demo </dev/null |
	tee "$LOGS/demo.report.log" | sed -u '/^@kwq \(begin\|end\|verdict\)/d' || true
if ! grep -q '^@kwq verdict pass' "$LOGS/demo.report.log"; then
	tail -n 30 "$LOGS/demo.console.log" >&2
	die "the demo failed; the console is in $LOGS/demo.console.log"
fi
