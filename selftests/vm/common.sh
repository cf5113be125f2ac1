# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034 # who sources this file uses its variables
#
# What the scripts of this folder share: where things are, and how they speak. Sourced, never run.
set -euo pipefail

# These scripts are run by make and run make: what the outer make was told is not meant for the inner ones.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL

# What other programs say is read here, so they are to say it in one language.
export LC_ALL=C
unset LANGUAGE

VM=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=$(cd "$VM/../.." && pwd)
BUILD=$TOP/build
LOGS=$BUILD/logs
CACHE=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kwq

# The kernel that everything is tested on: the newest of Debian 12, and Debian 13's own.
SERIES=6.12
SOURCE_PACKAGE=linux-source-$SERIES

# The release of Debian that this runs on, and what it calls the packages that another one calls otherwise. A release that is
# newer than these is taken for the newest.
DEBIAN=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
case $DEBIAN in
bookworm)
	IMAGE_PACKAGE=linux-image-$SERIES-cloud-amd64
	RT_IMAGE_PACKAGE=linux-image-$SERIES-rt-amd64
	ARM64_IMAGE_PACKAGE=linux-image-$SERIES-arm64
	HEADERS_PACKAGE=linux-headers-$SERIES-cloud-amd64
	CLANG_RUNTIME=libclang-rt-14-dev
	LIBPYTHON=libpython3.11
	;;
*)
	DEBIAN=trixie
	IMAGE_PACKAGE=linux-image-cloud-amd64
	RT_IMAGE_PACKAGE=linux-image-rt-amd64
	ARM64_IMAGE_PACKAGE=linux-image-arm64
	HEADERS_PACKAGE=linux-headers-cloud-amd64
	CLANG_RUNTIME=libclang-rt-19-dev
	LIBPYTHON=libpython3.13
	;;
esac
# The release whose kernel is the oldest that kwq is for, what that is called there, and the suite that has the newest.
OLDEST_SUITE=bookworm
OLDEST_IMAGE_PACKAGE=linux-image-cloud-amd64
NEWER_SUITE=trixie-backports
# Debian 12 has no newer kernel than 6.1 for s390x.
S390X_SUITE=trixie
S390X_IMAGE_PACKAGE=linux-image-s390x

JOBS=${JOBS:-$(nproc)}

# release_of KDIR: what uname -r says of the kernel that modules are built against there.
release_of() {
	sed -n 's/^#define UTS_RELEASE "\(.*\)"$/\1/p' "$1/include/generated/utsrelease.h"
}

# debian_architecture KERNEL: what the kernels of kernel.sh are for.
debian_architecture() {
	case $1 in
	*-arm64) echo arm64 ;;
	*-s390x) echo s390x ;;
	*) echo amd64 ;;
	esac
}

: "${KWQ_STARTED:=$(date +%s)}"
export KWQ_STARTED

# progress TEXT...: one line on stderr with the time since the first script started.
progress() {
	local seconds=$(($(date +%s) - KWQ_STARTED))

	printf '[%2d:%02d] %s\n' $((seconds / 60)) $((seconds % 60)) "$*" >&2
}

# One run at a time in a checkout: they would take each other's files away.
lock_build() {
	[ -z "${KWQ_LOCKED:-}" ] || return 0
	export KWQ_LOCKED=1
	mkdir -p "$BUILD"
	exec 8>"$BUILD/lock"
	flock -n 8 || { progress "waiting for another run to finish with $BUILD"; flock 8; }
}

die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# logged NAME COMMAND...: the command's output goes to a log; it is shown only if the command fails.
logged() {
	local log=$LOGS/$1.log

	shift
	mkdir -p "$LOGS"
	if ! "$@" >"$log" 2>&1; then
		{ grep -nE '(error|Error|warning|undefined|fatal):|\*\*\*' "$log" || tail -n 40 "$log"; } | head -n 40 >&2
		die "failed, see $log: $*"
	fi
}

# attempt LOG COMMAND...: the command in a process group of its own, with set -e; its output goes to LOG, its status to
# $attempted, since who asks for a status switches set -e off. Whoever uses it has end_attempt in its EXIT trap: the
# terminal's Ctrl-C does not reach that group, and what went on would work in folders that are taken away, with the lock.
attempt() {
	attempted=0
	set -m
	("${@:2}") >"$1" 2>&1 </dev/null &
	set +m
	attempt_group=$!
	wait "$attempt_group" || attempted=$?
	attempt_group=
}

# TERM for those that have others to end, as timeout has; KILL for unshare, which blocks it and takes its namespace along.
end_attempt() {
	[ -n "${attempt_group:-}" ] || return 0
	kill -TERM -- "-$attempt_group" 2>/dev/null || true
	sleep 1
	kill -KILL -- "-$attempt_group" 2>/dev/null || true
	wait "$attempt_group" 2>/dev/null || true
}

# find_within: $WITHIN is the program that runs a command within a limit. See within.c.
find_within() {
	WITHIN=$BUILD/within
	if [ ! "$WITHIN" -nt "$VM/within.c" ] || [ ! "$WITHIN" -nt "$VM/pace.h" ]; then
		mkdir -p "$BUILD"
		gcc -O2 -Wall -Wextra -Werror -o "$WITHIN.$$" "$VM/within.c"
		mv "$WITHIN.$$" "$WITHIN"
	fi
}

# lock_cache NAME: one builder at a time of each thing, whoever runs it. What is complete can be used without the lock.
lock_cache() {
	mkdir -p "$CACHE"
	exec 9>"$CACHE/lock-$1"
	flock -n 9 || { progress "waiting for another run to finish with $CACHE"; flock 9; }
}
