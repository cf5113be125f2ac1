#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# demo.sh [share]: boots Debian's kernel with kwq and shows selftests/demo, or selftests/share/demo. Exits with 0 if the
# demo succeeded.
. "$(dirname "$0")/common.sh"

content=${1:-demo}
case $content in
demo) name=demo groups=(machine) ;;
share) name=demo-share groups=(share) ;;
*) die "usage: $0 [share]" ;;
esac

"$SELFTESTS/machine/packages.sh" "${groups[@]}"
lock_build
mkdir -p "$LOGS"
progress "building kwq, and the virtual machine that runs it"
dir=$("$SELFTESTS/machine/initramfs.sh" stock "$content")
progress "booting Linux $(basename "$(readlink -f "$dir/image")") with kwq"

# The demo's output is shown live, without init's own lines and the plan of TAP.
LIMIT=300 MEMORY=$([ "$content" = demo ] || echo 3G) "$SELFTESTS/machine/boot.sh" "$dir" "file:$LOGS/$name.console.log" stdio demo </dev/null |
	tee "$LOGS/$name.report.log" | sed -u '/^@kwq \(begin\|end\|verdict\|pace\|kernel\)/d; /^1\.\.[0-9]*$/d' || true
if [ "$content" = share ]; then
	"$SELFTESTS/run/results.py" kselftest "$name" "$LOGS/$name.report.log" "$LOGS/$name.console.log" 0 >/dev/null || true
	exec "$SELFTESTS/run/results.py" summary "$name"
fi
if ! grep -q '^@kwq verdict pass' "$LOGS/$name.report.log"; then
	tail -n 30 "$LOGS/$name.console.log" >&2
	die "the demo failed; the console is in $LOGS/$name.console.log"
fi
