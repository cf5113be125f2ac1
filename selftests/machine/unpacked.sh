#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# unpacked.sh SUITE PACKAGE...: prints a folder with the files of these packages of that release of Debian ("host": this
# machine's). They are unpacked into the cache and not installed, because Debian would start a server that is installed.
. "$(dirname "$0")/common.sh"
. "$SELFTESTS/machine/apt.sh"

suite=${1:-}
[ $# -ge 2 ] || die "usage: $0 SUITE PACKAGE..."
shift
[ "$suite" != host ] || suite=$DEBIAN

use_apt_of "$(dpkg --print-architecture)" "$suite"
name=$1-$suite
for package in "$@"; do
	version=$(version_of "$package")
	[ -n "$version" ] || die "$suite has no $package: apt-get update"
	name+=-${version#*:}
done
dir=$CACHE/$name

cached "unpacked-$1-$suite" "$dir" "downloading $* of $suite" unpack_packages "$@"
echo "$dir"
