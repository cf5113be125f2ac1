#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Sees to it that there is a compiler for arm64, and prints the directory in which it is unpacked. It is not installed:
# Debian's cross compilers and gcc-multilib, with which the 32-bit tests are built, exclude each other. Whoever uses it
# has usr/bin in the path, and usr/lib/x86_64-linux-gnu where libraries are looked for.
. "$(dirname "$0")/common.sh"

PACKAGES=(
	binutils-aarch64-linux-gnu
	cpp-12-aarch64-linux-gnu
	gcc-12-aarch64-linux-gnu
	libc6-arm64-cross
	libc6-dev-arm64-cross
	libgcc-12-dev-arm64-cross
	libgcc-s1-arm64-cross
	linux-libc-dev-arm64-cross
)

# The linker's script of libc says where it would be installed; without the folder ld looks where it found the script.
unpack_compiler() (
	cd "$1" &&
		apt-get download "${PACKAGES[@]}" &&
		for package in *.deb; do dpkg -x "$package" . || return; done &&
		rm ./*.deb &&
		sed -i 's|/usr/aarch64-linux-gnu/lib/||g' usr/aarch64-linux-gnu/lib/libc.so &&
		ln -s aarch64-linux-gnu-gcc-12 usr/bin/aarch64-linux-gnu-gcc
)

version=$(apt-cache show --no-all-versions gcc-12-aarch64-linux-gnu | sed -n 's/^Version: //p')
[ -n "$version" ] || die "apt does not know gcc-12-aarch64-linux-gnu: apt-get update"
dir=$CACHE/cross-arm64-$version

if [ ! -d "$dir" ]; then
	lock_cache cross-arm64
fi
if [ ! -d "$dir" ]; then
	progress "downloading a compiler for arm64"
	rm -rf "$dir.part"
	mkdir -p "$dir.part"
	logged cross-arm64 unpack_compiler "$dir.part"
	mv "$dir.part" "$dir"
fi
echo "$dir"
