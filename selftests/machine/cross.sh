#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# cross.sh arm64|s390x: unpacks a compiler for that architecture if it is missing, and prints its directory. The compiler
# is not installed, because Debian's cross compilers conflict with gcc-multilib, which the 32-bit tests need. A script that
# uses the compiler adds its usr/bin to PATH and its usr/lib/x86_64-linux-gnu to LD_LIBRARY_PATH.
. "$(dirname "$0")/common.sh"
. "$SELFTESTS/machine/apt.sh"

architecture=${1:-}
case $architecture in
arm64) target=aarch64-linux-gnu ;;
s390x) target=s390x-linux-gnu ;;
*) die "usage: $0 arm64|s390x" ;;
esac
# Debian's cross compilers have the version of its own compiler.
gcc=$(gcc -dumpversion)
gcc=gcc-${gcc%%.*}

PACKAGES=(
	"binutils-$target"
	"cpp-${gcc#gcc-}-$target"
	"$gcc-$target"
	"libc6-$architecture-cross"
	"libc6-dev-$architecture-cross"
	"lib$gcc-dev-$architecture-cross"
	"libgcc-s1-$architecture-cross"
	"linux-libc-dev-$architecture-cross"
)
# s390x also runs 31-bit programs.
[ "$architecture" != s390x ] || PACKAGES+=(
	"lib32$gcc-dev-s390x-cross"
	lib32gcc-s1-s390x-cross
	libc6-dev-s390-s390x-cross
	libc6-s390-s390x-cross
)

# The linker script of libc names the folder of an installed libc. Without the folder, ld looks beside the script.
unpack_compiler() {
	unpack_packages "${PACKAGES[@]}" "$1" &&
		sed -i "s|/usr/$target/lib/||g" "$1/usr/$target/lib/libc.so" &&
		ln -s "$target-$gcc" "$1/usr/bin/$target-gcc"
}

use_apt_of "$(dpkg --print-architecture)"
version=$(version_of "$gcc-$target")
[ -n "$version" ] || die "apt does not know $gcc-$target: apt-get update"
dir=$CACHE/cross-$architecture-$version

cached "cross-$architecture" "$dir" "downloading a compiler for $architecture" unpack_compiler
echo "$dir"
