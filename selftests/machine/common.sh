# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034 # the scripts that source this file use its variables
#
# The scripts of this folder source this file. It has the paths, the names of packages, and the output functions.
set -euo pipefail

# make runs these scripts, and they run make. The inner make must not get the options of the outer one.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL

# The scripts parse the output of other programs, which therefore must have one language.
export LC_ALL=C
unset LANGUAGE

SELFTESTS=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
TOP=${SELFTESTS%/*}
BUILD=$TOP/build
LOGS=$BUILD/logs
CACHE=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kwq

# The kernel of most tests: the newest of Debian 12, and the one of Debian 13.
SERIES=6.12
SOURCE_PACKAGE=linux-source-$SERIES

# The release of Debian that this machine runs, and its names of packages. A newer release counts as the newest one here.
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
# The release and the package with the oldest supported kernel, and the suite with the newest.
OLDEST_SUITE=bookworm
OLDEST_IMAGE_PACKAGE=linux-image-cloud-amd64
NEWER_SUITE=trixie-backports
# Debian 12 has no newer kernel than 6.1 for s390x.
S390X_SUITE=trixie
S390X_IMAGE_PACKAGE=linux-image-s390x

JOBS=${JOBS:-$(nproc)}

# sources: lists the files of the repository, or in it after the next `git add`, each ended by NUL. Without git, or if git does not
# trust the owner of the repository, lists everything except build/.
sources() {
	cd "$TOP"
	if git rev-parse --git-dir >/dev/null 2>&1; then
		git ls-files -z --cached --others --exclude-standard
	else
		find . \( -path ./build -o -path ./.git \) -prune -o -type f -print0
	fi
}

# release_of KDIR: prints the release (uname -r) of the kernel that modules in KDIR are built for.
release_of() {
	sed -n 's/^#define UTS_RELEASE "\(.*\)"$/\1/p' "$1/include/generated/utsrelease.h"
}

# debian_architecture KERNEL: prints the architecture of a kernel of kernel.sh.
debian_architecture() {
	case $1 in
	*-arm64) echo arm64 ;;
	*-s390x) echo s390x ;;
	*) echo amd64 ;;
	esac
}

: "${KWQ_STARTED:=$(date +%s)}"
export KWQ_STARTED

# progress TEXT...: prints a line to stderr, with the time since the first script started.
progress() {
	local seconds=$(($(date +%s) - KWQ_STARTED))

	printf '[%2d:%02d] %s\n' $((seconds / 60)) $((seconds % 60)) "$*" >&2
}

# Allows one run at a time in a checkout. Two would remove each other's files.
lock_build() {
	[ -z "${KWQ_LOCKED:-}" ] || return 0
	export KWQ_LOCKED=1
	mkdir -p "$BUILD"
	exec 8>"$BUILD/lock"
	flock -n 8 || { progress "waiting for another run to finish with $BUILD"; flock 8; }
}

# lock_make: allows one builder of what suites share at a time: build/userspace, build/device and the modules.
lock_make() {
	mkdir -p "$BUILD"
	exec 7>"$BUILD/lock-make"
	flock 7
}

die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# logged NAME COMMAND...: runs the command with its output in a log. Shows errors of the log if the command fails.
logged() {
	local log=$LOGS/$1.log

	shift
	mkdir -p "$LOGS"
	if ! "$@" >"$log" 2>&1; then
		{ grep -nE '(error|Error|warning|undefined|fatal):|\*\*\*' "$log" || tail -n 40 "$log"; } | head -n 40 >&2
		die "failed, see $log: $*"
	fi
}

# attempt LOG COMMAND...: runs the command in a process group of its own, with set -e and its output in LOG. Its status is
# in $attempted: a caller that tested the status in a condition would switch set -e off.
#
# The caller calls end_attempt in its EXIT trap, because Ctrl-C in the terminal does not reach the group. A command that
# went on would hold the lock, and work in folders that are removed.
attempt() {
	attempted=0
	set -m
	("${@:2}") >"$1" 2>&1 </dev/null &
	set +m
	attempt_group=$!
	wait "$attempt_group" || attempted=$?
	attempt_group=
}

# TERM lets a process such as timeout end its own children. unshare blocks TERM; KILL ends it together with its namespace.
end_attempt() {
	[ -n "${attempt_group:-}" ] || return 0
	kill -TERM -- "-$attempt_group" 2>/dev/null || true
	sleep 1
	kill -KILL -- "-$attempt_group" 2>/dev/null || true
	wait "$attempt_group" 2>/dev/null || true
}

# find_within: sets $WITHIN to the program that runs a command with a time limit, and builds it. See within.c.
find_within() {
	WITHIN=$BUILD/within
	if [ ! "$WITHIN" -nt "$SELFTESTS/machine/within.c" ] || [ ! "$WITHIN" -nt "$SELFTESTS/machine/pace.h" ]; then
		mkdir -p "$BUILD"
		gcc -O2 -Wall -Wextra -Werror -o "$WITHIN.$$" "$SELFTESTS/machine/within.c"
		mv "$WITHIN.$$" "$WITHIN"
	fi
}

# lock_cache NAME: allows one builder of that thing at a time, in any checkout. A complete thing can be used without the lock.
lock_cache() {
	mkdir -p "$CACHE"
	exec 9>"$CACHE/lock-$1"
	flock -n 9 || { progress "waiting for another run to finish with $CACHE"; flock 9; }
}

# cached NAME DIR TEXT COMMAND...: makes DIR in the cache if it is missing. COMMAND, which ends with the name of an empty
# folder, fills that one; it gets the name DIR when it is complete. Says TEXT before, and NAME names the log and the lock.
cached() {
	local name=$1 dir=$2 text=$3
	shift 3

	[ ! -d "$dir" ] || return 0
	lock_cache "$name"
	if [ ! -d "$dir" ]; then
		progress "$text"
		rm -rf "$dir.part"
		mkdir -p "$dir.part"
		logged "$name" "$@" "$dir.part"
		mv "$dir.part" "$dir"
	fi
	exec 9>&-
}
