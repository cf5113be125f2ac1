#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Plants bugs in a copy of this checkout, one at a time, and runs the suite that must find each. A bug is found if the
# module builds with it and the test named in its file fails; see mutant.py. The table of results goes to
# build/mutants.txt. The bugs of the shell's model are in selftests/spin/mutants.
#
# MUTANTS='early-ready* ...'  only these
# MUTANTS=short               the quick ones that `make test` plants, as proof that mutants are still found
# TAP=1                       TAP on stdout instead of the table
. "$(dirname "$0")/../vm/common.sh"

HERE=$TOP/selftests/mutants
WORK=$BUILD/mutants
TREE=$WORK/tree
SHORT='duplicate-hand-out lost-wakeup-unfetch timer-after-free'

read -ra patterns <<<"${MUTANTS:-*}"
[ "${MUTANTS:-}" != short ] || read -ra patterns <<<"$SHORT"

# Writes only files that differ, so that unchanged files are not compiled again.
fresh_tree() {
	mkdir -p "$TREE"
	rsync -rclp --delete --exclude=/build --exclude=/.git "$TOP/" "$TREE/"
}

# run_suite LOGS SUITE [PROGRAMS or a pattern of KUnit suites]: runs a suite in the copy, with short time limits: a bug
# may show as a hang.
run_suite() {
	local status=0

	env -u KWQ_LOCKED -u TABLE -u TAP SUITES="$2" PROGRAMS="${3:-}" KUNIT="${3:-}" \
		UML_SECONDS=60 PROGRAM_SECONDS=100 MACHINE_SECONDS=300 \
		"$TREE/selftests/vm/run-tests.sh" >"$WORK/said" 2>&1 </dev/null || status=$?
	rm -rf "$1"
	cp -r "$TREE/build/logs" "$1"
	cp "$WORK/said" "$1/run-tests.log"
	return $status
}

# Without a bug each suite must pass, with all programs that the mutants need. Otherwise a failure proves nothing.
run_without() {
	local suite programs

	fresh_tree
	while read -r suite programs; do
		progress "without a bug: $suite"
		run_suite "$WORK/without-$suite" "$suite" "$programs" || {
			tail -n 20 "$WORK/said" >&2
			die "$suite fails without a bug"
		}
	done < <("$HERE/mutant.py" list "${mutants[@]}" | awk '
		$2 == "kunit-uml" { $3 = "" }
		!($2 SUBSEP $3 in seen) {
			seen[$2, $3]
			programs[$2] = programs[$2] " " $3
		}
		END {
			for (suite in programs)
				print suite, programs[suite]
		}' | sort -r)
}

# one NAME SUITE [PROGRAMS]: prints a line of the table.
one() {
	local began=$SECONDS found=yes verdict

	fresh_tree
	"$HERE/mutant.py" plant "$1" "$TREE"
	# The suite should fail; judge checks how.
	run_suite "$WORK/$1" "${@:2}" || true
	verdict=$("$HERE/mutant.py" judge "$1" "$TREE/build/results/$2.json") || found=NO
	printf '%s\t%s\t%s\t%s\t%d\t%s\n' "$1" "${verdict%%$'\t'*}" "${*:2}" "$found" $((SECONDS - began)) "${verdict#*$'\t'}"
}

[ -z "$("$HERE/mutant.py" check "$TOP")" ] || die "$("$HERE/mutant.py" check "$TOP")"
mutants=()
for file in "$HERE"/*.diff; do
	name=$(basename "$file" .diff)
	for pattern in "${patterns[@]}"; do
		# shellcheck disable=SC2053 # it is a pattern
		[[ $name != $pattern ]] || mutants+=("$name")
	done
done
[ ${#mutants[@]} -gt 0 ] || die "there is no mutant ${patterns[*]}"

lock_build
mkdir -p "$WORK"
run_without
: >"$WORK/lines"
number=0 failed=0
[ -z "${TAP:-}" ] || printf 'TAP version 13\n1..%d\n' ${#mutants[@]}
while read -r -a words; do
	number=$((number + 1))
	progress "$number of ${#mutants[@]}: ${words[*]}"
	line=$(one "${words[@]}")
	IFS=$'\t' read -r name class _ found _ by <<<"$line"
	printf '%s\n' "$line" >>"$WORK/lines"
	[ "$found" = yes ] || failed=1
	if [ -z "${TAP:-}" ]; then
		[ "$found" = yes ] || progress "$name: $by"
	elif [ "$found" = yes ]; then
		printf 'ok %d - %s: %s\n# %s\n' "$number" "$name" "$class" "$by"
	else
		printf 'not ok %d - %s: %s\n# %s\n' "$number" "$name" "$class" "$by"
	fi
done < <("$HERE/mutant.py" list "${mutants[@]}")

"$HERE/mutant.py" table "$WORK/lines" >"$BUILD/mutants.txt"
[ -n "${TAP:-}" ] || cat "$BUILD/mutants.txt"
exit $failed
