#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# debian13.sh COMMAND...: runs the command with the tools of Debian 13. The headers of newer kernels contain programs that
# Debian 12 cannot run. So on Debian 12 the command runs inside a Debian 13 in the cache. This checkout and the cache have
# the same paths there.
#
# Nothing is installed, and no package script runs. The mounts are in a namespace of their own and end with it.
. "$(dirname "$0")/common.sh"
. "$SELFTESTS/machine/apt.sh"

PACKAGES=(
	base-files bash bc binutils bison clang coreutils cpio dash diffutils findutils flex gcc grep gzip hostname kmod
	libelf-dev libssl-dev lld llvm make mawk pahole perl python3 rsync sed sparse tar xz-utils zstd
)

# base-files has the links in the root directory. The other packages need them, so it is unpacked first.
unpack() (
	root=$1 archives=$2
	mkdir -p "$root" "$archives/partial"
	apt-get "${APT[@]}" -o "Dir::Cache::archives=$archives" --no-install-recommends --download-only -y \
		install "${PACKAGES[@]}" || return
	for package in "$archives"/base-files_*.deb "$archives"/*.deb; do
		dpkg -x "$package" "$root" || return
	done
	ln -sf mawk "$root/usr/bin/awk" && rm -rf "$archives"
)

if [ "$DEBIAN" != bookworm ]; then
	exec "$@"
fi

# Any unpacked Debian 13 is new enough.
root=$(find "$CACHE" -maxdepth 1 -name 'debian-13-*' ! -name '*.part' | sort | tail -n 1)
if [ -z "$root" ]; then
	use_apt_of "$(dpkg --print-architecture)" trixie
	root=$CACHE/debian-13-$(version_of gcc)
	lock_cache debian-13
fi
if [ ! -d "$root" ]; then
	progress "unpacking a Debian 13 to build in"
	rm -rf --one-file-system "$root.part"
	logged debian-13 unpack "$root.part" "$root.part/archives"
	mv "$root.part" "$root"
fi

# A user other than root becomes root in a user namespace.
namespace=(unshare --mount --propagation private)
[ "$(id -u)" = 0 ] || namespace+=(--user --map-root-user)
# shellcheck disable=SC2016 # for the inner shell
exec "${namespace[@]}" sh -ec '
	root=$1 top=$2 cache=$3 directory=$4
	shift 4
	for folder in /proc /dev "$top" "$cache"; do
		mkdir -p "$root$folder"
		mount --rbind "$folder" "$root$folder"
	done
	exec chroot "$root" env -C "$directory" -i PATH=/usr/sbin:/usr/bin LC_ALL=C HOME=/root \
		KBUILD_BUILD_USER=kwq KBUILD_BUILD_HOST=kwq "$@"' sh "$root" "$TOP" "$CACHE" "$PWD" "$@"
