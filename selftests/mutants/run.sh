#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Plants bugs in copies of this checkout, one at a time in each, and runs the suite that must find each. A bug is found if the
# module builds with it and the test named in its file fails; see mutant.py. The table of results goes to
# build/mutants.txt. The bugs of the shell's model are in selftests/models/spin/mutants.
#
# The file `found` has a line for each bug that was found: its key, its name, and the day. Such a bug is not planted again until its
# text changes, or the test that finds it. So a run that was stopped goes on where it was, on another machine as well if the file was
# committed. Before a release AGAIN=1 plants all, because other sources may have changed what a test sees.
#
# MUTANTS='early-ready* ...'  only these
# MUTANTS=short               the quick ones that `make test-long` plants, as proof that mutants are still found
# AGAIN=1                     also those that were found before
# COPIES=2                    so many at a time: one for each processor
# TAP=1                       TAP on stdout instead of the table
#
# shellcheck disable=SC2317 # take_withouts and take_mutants are called by their names
. "$(dirname "$0")/../machine/common.sh"

HERE=$TOP/selftests/mutants
WORK=$BUILD/mutants
FOUND=$HERE/found
PASSED=$CACHE/mutants-passed
SHORT='duplicate-hand-out lost-wakeup-unfetch timer-after-free'

read -ra patterns <<<"${MUTANTS:-*}"
# A proof that bugs are found now is no record of it.
[ "${MUTANTS:-}" != short ] || { read -ra patterns <<<"$SHORT" && AGAIN=1 && FOUND=$WORK/found; }

# Makes the copy $copy, with a cache of its own for the kernel that is built from the copy's sources. It shares the others.
make_copy() {
	local file name out

	tree=$WORK/$copy/tree cache=$WORK/$copy/cache
	mkdir -p "$tree" "$cache/kwq"
	for file in "$CACHE"/*; do
		name=${file##*/}
		case $name in
		lock-* | "${PASSED##*/}" | seconds | *.part) ;;
		uml-tree-*)
			[ ! -d "$cache/kwq/$name" ] || continue
			# Nothing writes the files of a kernel's source, so the copies share them.
			rm -rf "$cache/kwq/$name.part"
			cp -al "$file" "$cache/kwq/$name.part"
			for out in "$file"/out-*; do
				rm -rf "$cache/kwq/$name.part/${out##*/}"
				cp -a "$out" "$cache/kwq/$name.part/"
			done
			mv "$cache/kwq/$name.part" "$cache/kwq/$name"
			;;
		*) ln -sfn "$file" "$cache/kwq/$name" ;;
		esac
	done
}

# Writes only files that differ, so that unchanged files are not compiled again.
fresh_tree() {
	rsync -rclp --delete --exclude=/build --exclude=/.git "$TOP/" "$tree/"
}

# run_suite LOGS SUITE [PROGRAMS or a pattern of KUnit suites]: runs a suite in the copy. The time limits are short because a
# bug may show as a hang; $patience times as long.
run_suite() {
	local status=0

	# A run that ends before it begins leaves none, instead of those of the mutant before.
	rm -rf "$tree/build/results" "$tree/build/logs"
	mkdir -p "$tree/build/logs"
	env -u KWQ_LOCKED -u TABLE -u TAP XDG_CACHE_HOME="$cache" JOBS=1 AT_ONCE=2 \
		SUITES="$2" PROGRAMS="${*:3}" TESTS="${*:3}" KUNIT="${3:-}" \
		UML_SECONDS=$((25 * ${patience:-1})) PROGRAM_SECONDS=$((100 * ${patience:-1})) \
		MACHINE_SECONDS=$((300 * ${patience:-1})) \
		"$tree/selftests/run/run-tests.sh" >"$WORK/$copy/said" 2>&1 </dev/null || status=$?
	rm -rf "$1"
	cp -r "$tree/build/logs" "$1"
	cp "$WORK/$copy/said" "$1/run-tests.log"
	return "$status"
}

# without SUITE [PROGRAMS]: without a bug each suite must pass, with all programs that the mutants need. Otherwise a failure
# proves nothing. Nothing is expected to hang here, so a busy machine may take its time.
without() {
	local key patience=5

	key=$(printf '%s\n' "$@" "$("$HERE/mutant.py" sources "$1")" | sha256sum | cut -c 1-20)
	! grep -q "^$key " "$PASSED" || return 0
	progress "without a bug: $1"
	fresh_tree
	if run_suite "$WORK/without-$1" "$@"; then
		printf '%s %s\n' "$key" "$1" >>"$PASSED"
	else
		tail -n 20 "$WORK/$copy/said" >&2
		echo "$1" >>"$WORK/failed"
	fi
}

# one NAME SUITE [PROGRAMS]: prints a line of the table.
one() {
	local began=$SECONDS found=yes verdict

	fresh_tree
	"$HERE/mutant.py" plant "$1" "$tree"
	# The suite should fail; judge checks how.
	run_suite "$WORK/$1" "${@:2}" || true
	verdict=$("$HERE/mutant.py" judge "$1" "$tree/build/results/$2.json") || found=NO
	printf '%s\t%s\t%s\t%s\t%d\t%s\n' "$1" "${verdict%%$'\t'*}" "${*:2}" "$found" $((SECONDS - began)) "${verdict#*$'\t'}"
}

# One copy at a time, until it closes the file.
lock_lines() {
	exec 7>"$WORK/lock"
	flock 7
}

# The next line of the list that all copies share, in $words.
next() {
	lock_lines
	IFS=' ' read -r -a words <&6 || words=()
	exec 7>&-
	[ ${#words[@]} -gt 0 ]
}

# Each copy takes one after the other.
take_withouts() {
	local words

	while next; do
		without "${words[@]}"
	done
}

take_mutants() {
	local words line key name found by

	while next; do
		key=${words[0]}
		line=$(one "${words[@]:1}")
		IFS=$'\t' read -r name _ _ found _ by <<<"$line"
		lock_lines
		printf '%s\n' "$line" >>"$WORK/lines"
		[ "$found" = NO ] || printf '%s %s %(%F)T\n' "$key" "$name" -1 >>"$FOUND"
		progress "$(wc -l <"$WORK/lines") of ${#mutants[@]}: $name$([ "$found" = yes ] || printf ' NOT FOUND: %s' "$by")"
		exec 7>&-
	done
}

# in_copies FUNCTION FILE: calls the function in each copy, for the lines of the file.
in_copies() {
	local copy tree cache pids=() pid

	exec 6<"$2"
	for ((copy = 1; copy <= ${COPIES:-$JOBS}; copy++)); do
		make_copy
		"$1" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || die "a copy ended"
	done
	exec 6<&-
}

[ -z "$("$HERE/mutant.py" check "$TOP")" ] || die "$("$HERE/mutant.py" check "$TOP")"
mutants=()
for name in $("$HERE/mutant.py" names); do
	for pattern in "${patterns[@]}"; do
		# shellcheck disable=SC2053 # it is a pattern
		[[ $name != $pattern ]] || mutants+=("$name")
	done
done
[ ${#mutants[@]} -gt 0 ] || die "there is no mutant ${patterns[*]}"

lock_build
mkdir -p "$WORK" "$CACHE"
touch "$FOUND" "$PASSED"
: >"$WORK/lines"
: >"$WORK/unplanted"
: >"$WORK/failed"
while read -r key name words; do
	if [ -z "${AGAIN:-}" ] && line=$(grep "^$key $name " "$FOUND"); then
		printf '%s\t\t%s\tyes\t\ton %s\n' "$name" "$words" "${line##* }" >>"$WORK/lines"
	else
		printf '%s %s %s\n' "$key" "$name" "$words" >>"$WORK/unplanted"
	fi
done < <("$HERE/mutant.py" list "${mutants[@]}")
progress "$(wc -l <"$WORK/unplanted") of ${#mutants[@]} mutants to plant; the others were found before, in the same source by the same test"

# The kernels, and User-Mode Linux with its first kwq, are built before there are any copies, because all share them.
"$SELFTESTS/machine/packages.sh" device host kernels model
"$SELFTESTS/machine/kernel.sh" source >/dev/null
awk '{ print $3 }' "$WORK/unplanted" | sort -u | while read -r suite; do
	case $suite in
	kunit-uml) "$SELFTESTS/machine/kernel.sh" uml ;;
	*-debug) "$SELFTESTS/machine/kernel.sh" debug ;;
	host) "$SELFTESTS/machine/unpacked.sh" trixie nats-server && "$SELFTESTS/machine/unpacked.sh" host nats-server && "$SELFTESTS/machine/unpacked.sh" host prometheus ;;
	*-stock | share-*) "$SELFTESTS/machine/kernel.sh" stock ;;
	esac </dev/null >/dev/null
done
awk '
	$3 == "kunit-uml" { $4 = "" }
	{
		programs[$3]
		for (i = 4; i <= NF; i++)
			if ($i && !($3 SUBSEP $i in seen)) {
				seen[$3, $i]
				programs[$3] = programs[$3] " " $i
			}
	}
	END {
		for (suite in programs)
			print suite programs[suite]
	}' "$WORK/unplanted" | sort -r >"$WORK/suites"
in_copies take_withouts "$WORK/suites"
[ ! -s "$WORK/failed" ] || die "fails without a bug: $(xargs <"$WORK/failed")"
in_copies take_mutants "$WORK/unplanted"

# The last line of each counts.
tac "$FOUND" | awk '!seen[$2]++' | sort -k 2,2 | join -1 2 -o 1.1,1.2,1.3 - <("$HERE/mutant.py" names | sort) >"$WORK/found.new"
cp "$WORK/found.new" "$FOUND"

status=0
[ "$(awk -F '\t' '$4 == "yes"' "$WORK/lines" | wc -l)" = ${#mutants[@]} ] || status=1
sort -o "$WORK/lines" "$WORK/lines"
"$HERE/mutant.py" table "$WORK/lines" >"$BUILD/mutants.txt"
if [ -n "${TAP:-}" ]; then
	awk -F '\t' -v nr=${#mutants[@]} 'BEGIN { printf "TAP version 13\n1..%d\n", nr }
		{ printf "%s %d - %s: %s\n# %s\n", ($4 == "yes" ? "ok" : "not ok"), NR, $1, $2, $6 }' "$WORK/lines"
else
	cat "$BUILD/mutants.txt"
fi
exit $status
