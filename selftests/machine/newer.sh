#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# newer.sh series|SERIES|debug|source: kernels from Debian's backports, of series newer than the stock kernel.
#
#   series  prints these series, the newest last
#   SERIES  gets the last kernel of that series if it is missing, and prints its directory, as kernel.sh does
#   debug   the same for the debug kernel of the newest series
#   source  prints the source tree of the newest series, and gets it if it is missing
#
# Modules need the headers of their kernel. When a new series comes, Debian removes the headers of the last one and keeps its
# images. Then the kernel is built from Debian's source of the series, with the debug kernel's drivers and without its checks.
# If Debian has no source either, the script ends with status 3.
. "$(dirname "$0")/common.sh"
. "$SELFTESTS/machine/apt.sh"

SUITE=$NEWER_SUITE
ARCHITECTURE=amd64
FLAVOUR=cloud-amd64

series() {
	use_apt_of "$ARCHITECTURE" "$SUITE"
	packages "linux-image-[0-9.]+\+.*-$FLAVOUR" | sed -E 's/^linux-image-([0-9]+\.[0-9]+)[.+].*/\1/' | uniq |
		while read -r series; do
			[ "$(printf '%s\n' "$SERIES" "$series" | sort -V | tail -n 1)" = "$SERIES" ] || echo "$series"
		done
}

# link_image DIR RELEASE: makes the links image, kdir and lib in DIR, for any layout of the packages.
link_image() (
	cd "$1" || return
	[ -e lib ] || ln -s usr/lib lib
	for image in "usr/lib/modules/$2/vmlinuz" "boot/vmlinuz-$2"; do
		[ ! -e "$image" ] || ln -sfn "$image" image
	done
	[ -e image ] && ln -sfn "usr/src/linux-headers-$2" kdir && touch in-debian-13
)

# unpack FINAL RELEASE PACKAGE... DIR: unpacks packages in DIR, which is later renamed to FINAL. The Makefile of the
# headers names folders of an installed package.
unpack() {
	local final=$1 release=$2 dir=${*: -1}
	shift 2

	unpack_packages "$@" &&
		sed -i "s|/usr/src/|$final/usr/src/|" "$dir/usr/src/linux-headers-$release/Makefile" &&
		link_image "$dir" "$release"
}

# unpacked SERIES RELEASE PACKAGE...: prints the folder with the packages, and downloads them if they are missing.
unpacked() {
	local series=$1 release=$2 dir
	shift 2
	dir=$CACHE/stock-$release-$(version_of "linux-headers-$release")

	cached "stock-$series" "$dir" "downloading Linux $release and its headers" unpack "$dir" "$release" "$@"
	echo "$dir"
}

from_debian() {
	local release images
	use_apt_of "$ARCHITECTURE" "$SUITE"
	release=$(packages "linux-headers-${1//./\\.}\.[0-9]+\+.*-$FLAVOUR" | tail -n 1)
	release=${release#linux-headers-}
	[ -n "$release" ] || return 1

	mapfile -t images < <(packages "linux-(binary|modules)-${release//+/\\+}")
	[ ${#images[@]} -gt 0 ] || images=("linux-image-$release")
	# shellcheck disable=SC2046 # words
	unpacked "$1" "$release" "linux-headers-$release" "${images[@]}" \
		$(depends "linux-headers-$release" | grep -E '^linux-(headers-.*-common|kbuild-)')
}

unpack_package_of_source() (
	cd "$2" &&
		unpack_packages "linux-source-$1" . &&
		tar --strip-components=1 -xf usr/src/linux-source-*.tar.xz &&
		rm -r usr/src usr/share
)

unpack_source() (
	cd "$2" &&
		apt-get "${APT[@]}" source --download-only --only-source --tar-only "linux=$1" &&
		tar --strip-components=1 -xf linux_*.orig.tar.xz &&
		rm linux_*
)

# newest_source SERIES: unpacks the newest source of the series and prints its folder. Debian may have removed versions that
# its list still names. The status is 3 if no version is left; any other error ends it.
newest_source() {
	local version dir

	[ -n "$1" ] || die "apt knows no series of Linux in $SUITE"
	use_apt_of "$ARCHITECTURE" "$SUITE"
	# The newest series has a package of the source, with Debian's patches.
	if [ -n "$(packages "linux-source-${1//./\\.}")" ]; then
		dir=$CACHE/source-$(version_of "linux-source-$1")
		cached "source-$1" "$dir" "downloading the source of Linux $1" unpack_package_of_source "$1"
		echo "$dir"
		return
	fi
	for version in $(apt-cache "${APT[@]}" showsrc --only-source linux | sed -n "s/^Version: \(${1//./\\.}\..*\)/\1/p" | sort -rV); do
		dir=$CACHE/source-$version
		if (cached "source-$1" "$dir" "downloading the source of Linux $version" unpack_source "$version"); then
			echo "$dir"
			return
		fi
		grep -qE ' 404 |404  Not Found' "$LOGS/source-$1.log" || die "the source of Linux $version could not be had"
	done
	return 3
}

# built NAME SOURCE FRAGMENT...: builds a kernel with kernel.sh, from another source.
built() {
	local name=$1 source=$2
	shift 2

	KWQ_SOURCE=$source "$SELFTESTS/machine/kernel.sh" built "$name" "$@"
}

mkdir -p "$CACHE" "$LOGS"
case ${1:-} in
series) series ;;
source) newest_source "$(series | tail -n 1)" ;;
debug)
	source=$(newest_source "$(series | tail -n 1)") || die 'the source of the newest series could not be had'
	built newest-debug "$source" "$SELFTESTS/machine/debug.config" "$SELFTESTS/machine/newer.config"
	;;
[0-9]*.[0-9]*)
	from_debian "$1" || {
		source=$(newest_source "$1") || exit
		built "stock-$1" "$source" "$SELFTESTS/machine/debug.config" "$SELFTESTS/machine/lean.config" "$SELFTESTS/machine/newer.config" "$SELFTESTS/machine/plain.config"
	}
	;;
*) die "usage: $0 series|SERIES|debug|source" ;;
esac
