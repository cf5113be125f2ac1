#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# All that must pass before a release, target by target, and a table at the end. A run that was stopped goes on where it was:
# a target that has passed with the same sources, compiler and kernels is not run again. Variables that choose tests count for
# nothing here. Needs root.
#
#   AGAIN=1  runs all of them
. "$(dirname "$0")/../machine/common.sh"
. "$SELFTESTS/machine/apt.sh"

# Targets, and the minutes that each takes on two processors with warm caches.
TARGETS=(
	'test 15'
	'test-long 30'
	'test-races 30'
	'test-bindings 10'
	'test-share 20'
	'test-packages 20'
	'test-matrix 100'
	'mutants 180'
)
WORK=$BUILD/test-all

# Prints a checksum of all sources.
sum_sources() {
	cd "$TOP"
	sources | sort -z | { xargs -0 sha256sum 2>/dev/null || true; } | sha256sum | cut -c 1-16
}

# newest PACKAGE ARCHITECTURE SUITE: prints the version of a package that is unpacked and not installed.
newest() {
	use_apt_of "$2" "$3" && version_of "$1"
}

# unpacked_for TARGET: prints the versions of what it unpacks: kernels, servers, client-go.
unpacked_for() {
	newest "$IMAGE_PACKAGE" amd64 "$DEBIAN" || return
	case $1 in
	test | test-long | test-share | mutants) newest nats-server amd64 sid ;;
	test-bindings)
		for suite in trixie sid; do
			newest golang-k8s-client-go-dev amd64 "$suite" && newest golang-go amd64 "$suite" || return
		done
		;;
	test-races | test-matrix) use_apt_of amd64 "$NEWER_SUITE" && packages 'linux-image-[0-9.]+\+.*-cloud-amd64' ;;
	esac || return
	[ "$1" != test-matrix ] || {
		newest "$OLDEST_IMAGE_PACKAGE" amd64 "$OLDEST_SUITE" && newest "$RT_IMAGE_PACKAGE" amd64 "$DEBIAN" &&
			newest "$ARM64_IMAGE_PACKAGE" arm64 "$DEBIAN" && newest "$S390X_IMAGE_PACKAGE" s390x "$S390X_SUITE"
	}
}

# versions TARGET: prints a checksum of the packages that the tests compile with and run on.
versions() {
	{ dpkg-query -W && unpacked_for "$1"; } | sha256sum | cut -c 1-16
}

# look_at TARGET: sets $sources and $versions to those of now, and $passed to whether the target has passed with them.
look_at() {
	local said=()

	passed='' sources=$(sum_sources)
	[ -z "${AGAIN:-}" ] && [ -f "$WORK/$1.result" ] || return 0
	read -ra said <"$WORK/$1.result" || true
	# The versions take seconds.
	if [ "${said[*]:0:2}" = "passed $sources" ]; then
		versions=$(versions "$1")
		[ "${said[2]:-}" != "$versions" ] || passed=yes
	fi
}

[ "$(id -u)" = 0 ] || die "only root can make the chroot of test-packages"
# All of them now. A package that a later target installed would make the results of those before it void.
"$SELFTESTS/machine/packages.sh" machine kernels device host check model spin share arm64 s390x packages

# The targets see none of the variables that choose tests or change what these do.
kept=()
for variable in PATH HOME LANG TMPDIR XDG_CACHE_HOME {http,https,no}_proxy AGAIN; do
	[ -z "${!variable:-}" ] || kept+=("$variable=${!variable}")
done
mkdir -p "$WORK"
# Each target has the lock of the build folder for itself only, and a second run would write into the results of this one.
exec 5>"$BUILD/lock-all"
flock -n 5 || { progress "waiting for another make test-all to finish"; flock 5; }
progress "looking what has passed"
minutes=0
for target in "${TARGETS[@]}"; do
	read -r name takes <<<"$target"
	look_at "$name"
	if [ -z "$passed" ]; then
		minutes=$((minutes + takes))
	fi
done
progress "this takes about $((minutes / 60)) hours and $((minutes % 60)) minutes"

failed=0
for target in "${TARGETS[@]}"; do
	read -r name takes <<<"$target"
	look_at "$name"
	if [ -z "$passed" ]; then
		progress "make $name, about $takes minutes"
		versions=$(versions "$name")
		began=$SECONDS result=passed
		env -i "${kept[@]}" make -C "$TOP" --no-print-directory "$name" 2>&1 </dev/null | tee "$WORK/$name.log" |
			{ grep --line-buffered '^\[ *[0-9]*:[0-9]*\] ' >&2 || true; } || result=failed
		# If the sources have changed meanwhile, the result is for neither.
		[ "$(sum_sources)" = "$sources" ] || sources=changed
		printf '%s %s %s\n%d\n' "$result" "$sources" "$versions" $(((SECONDS - began + 30) / 60)) >"$WORK/$name.part"
		mv "$WORK/$name.part" "$WORK/$name.result"
	fi
done

printf '\n%-14s %-7s %8s  %s\n' target result minutes 'last line'
for target in "${TARGETS[@]}"; do
	name=${target% *}
	{ read -r result sources _; read -r took; } <"$WORK/$name.result"
	[ "$sources" != changed ] || result=changed
	printf '%-14s %-7s %8s  %s\n' "$name" "$result" "$took" "$(tail -n 1 "$WORK/$name.log")"
	[ "$result" = passed ] || failed=1
done
[ "$failed" = 0 ] || die "the logs are in $WORK"
