# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# shellcheck shell=bash source-path=SCRIPTDIR
#
# U5: GNU parallel still replaces as device-parallel expects of kwq run.
. ./tap.sh

# The keys and the table of device-parallel.
eval "$(grep -m 1 '^set -- a/b.c' device-parallel)"
sed -n "/^cat >recorded <<'END'/,/^END/p" device-parallel | sed '1d;$d' >"$WORK/recorded"

# The Debian package moreutils has another command of this name.
if parallel --version 2>/dev/null | grep -q '^GNU parallel'; then
	same "replacement strings" "$(HOME=$WORK parallel --will-cite -j 1 \
		'echo {}"|"{/}"|"{.}"|"{//}"|"{/.}"|{#}|{%}"' ::: "$@" 2>&1)" "$(cat "$WORK/recorded")"
else
	echo "# GNU parallel is not installed"
fi

done_testing
