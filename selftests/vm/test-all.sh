#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# All that must pass before a release, target by target, and a table at the end. A run that was stopped goes on where it was:
# a target that has passed with the same sources, compiler and kernels is not run again. Variables that choose tests count for
# nothing here. Needs root.
#
#   AGAIN=1  runs all of them
. "$(dirname "$0")/common.sh"

# Targets, and the minutes that each takes on two processors with warm caches.
TARGETS=(
	'test 15'
	'test-long 30'
	'test-races 30'
	'test-bindings 10'
	'test-cluster 20'
	'test-packages 20'
	'test-matrix 100'
	'mutants 180'
)
WORK=$BUILD/test-all

# Prints a checksum of all sources.
sources() {
	cd "$TOP"
	if git rev-parse --git-dir >/dev/null 2>&1; then
		git ls-files -z --cached --others --exclude-standard
	else
		find . \( -path ./build -o -path ./.git \) -prune -o -type f -print0
	fi | sort -z | { xargs -0 sha256sum 2>/dev/null || true; } | sha256sum | cut -c 1-16
}

# Prints a checksum of the packages that the tests compile with and run on: those that are installed, and the kernels, servers
# and compilers that are unpacked.
versions() {
	{
		dpkg-query -W
		apt-cache policy linux-image-cloud-amd64 linux-image-rt-amd64 nats-server golang-go | grep Candidate
	} | sha256sum | cut -c 1-16
}

has_passed() {
	[ -z "${AGAIN:-}" ] && grep -qsx "passed $(sources) $(versions)" "$WORK/$1.result"
}

unset SUITES PROGRAMS TESTS KUNIT CHECKS MUTANTS COPIES OPS FUZZ SEED SPIN SOAK NATS SYNC KERNEL_ARGS KWQ_RULES
unset KWQ_SOAK_SECONDS KWQ_ITEMS KWQ_SEED PROGRAM_SECONDS MACHINE_SECONDS UML_SECONDS AT_ONCE KVM MEMORY
mkdir -p "$WORK"
minutes=0
for target in "${TARGETS[@]}"; do
	read -r name takes <<<"$target"
	if ! has_passed "$name"; then
		minutes=$((minutes + takes))
	fi
done
progress "this takes about $((minutes / 60)) hours and $((minutes % 60)) minutes"

failed=0
for target in "${TARGETS[@]}"; do
	read -r name takes <<<"$target"
	if ! has_passed "$name"; then
		progress "make $name, about $takes minutes"
		began=$SECONDS result=passed tested=$(sources)
		make -C "$TOP" --no-print-directory "$name" 2>&1 </dev/null | tee "$WORK/$name.log" |
			{ grep --line-buffered '^\[ *[0-9]*:[0-9]*\] ' >&2 || true; } || result=failed
		# If the sources have changed meanwhile, the result is for neither.
		[ "$(sources)" = "$tested" ] || tested=changed
		printf '%s %s %s\n%d\n' "$result" "$tested" "$(versions)" $(((SECONDS - began + 30) / 60)) >"$WORK/$name.result"
	fi
done

printf '\n%-14s %-7s %8s  %s\n' target result minutes 'last line'
for target in "${TARGETS[@]}"; do
	name=${target% *}
	{ read -r result tested _; read -r took; } <"$WORK/$name.result"
	[ "$tested" != changed ] || result=changed
	printf '%-14s %-7s %8s  %s\n' "$name" "$result" "$took" "$(tail -n 1 "$WORK/$name.log")"
	[ "$result" = passed ] || failed=1
done
[ "$failed" = 0 ] || die "the logs are in $WORK"
