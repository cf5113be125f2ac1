#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# kernel.sh source|stock|debug|uml: sees to it that the kernel is there and prints its directory.
#
#   source  the kernel's source tree, as Debian ships it
#   stock   Debian's cloud kernel, the newest that apt knows: what users have. It is unpacked here, not installed.
#   debug   debug.config on top of tinyconfig
#   uml     a source tree whose drivers/kwq is this checkout, and its User-Mode Linux, which runs KUnit when started
#
# A directory other than source has image (what boots) and kdir (what modules are built against).
#
# All of it lives in the cache and may be deleted at any moment. A kernel's directory is named after what it was made
# from. A build that was interrupted is taken up where it stopped.
. "$(dirname "$0")/common.sh"

# lock NAME: one builder at a time of each thing, whoever runs it. What is complete can be used without the lock.
lock() {
	exec 9>"$CACHE/lock-$1"
	flock -n 9 || { progress "waiting for another run to finish with $CACHE"; flock 9; }
}

package_version() {
	dpkg-query -W -f '${Version}' "$1" 2>/dev/null || die "the package $1 is missing: run ${0%/*}/packages.sh"
}

source_tree() {
	local dir
	dir=$CACHE/source-$(package_version "$SOURCE_PACKAGE")

	if [ ! -d "$dir" ]; then
		lock source
	fi
	if [ ! -d "$dir" ]; then
		progress "unpacking $SOURCE_PACKAGE"
		rm -rf "$dir.part"
		mkdir -p "$dir.part"
		tar -C "$dir.part" --strip-components=1 -xf "/usr/src/$SOURCE_PACKAGE.tar.xz"
		mv "$dir.part" "$dir"
	fi
	echo "$dir"
}

# configure SOURCE OUT BASE FRAGMENT MAKE-ARGUMENT...: BASE's configuration with FRAGMENT on top, and nothing of
# FRAGMENT lost to a dependency that nobody noticed.
configure() {
	local source=$1 out=$2 base=$3 fragment=$4 lost
	shift 4

	# Under `logged`, set -e does not hold.
	make -C "$source" O="$out" "$@" "$base" &&
		cat "$fragment" >>"$out/.config" &&
		make -C "$source" O="$out" "$@" olddefconfig || return
	lost=$(grep -E '^(CONFIG_|# CONFIG_\w+ is not set)' "$fragment" | grep -vxFf "$out/.config" || true)
	[ -z "$lost" ] || die "$(basename "$fragment") asks for what this kernel cannot have:"$'\n'"$lost"
}

# fingerprint FILE...: a short name for the files' contents and the compiler.
fingerprint() {
	{ cat "$@"; gcc --version; } | sha256sum | cut -c 1-12
}

# unpack_stock DIR RELEASE: the image, and the headers that modules are built against. To install the headers would
# install the image as well, and make it what this machine boots next.
unpack_stock() (
	dir=$1 release=$2 common=${2%-cloud-amd64}
	makefile=usr/src/linux-headers-$release/Makefile

	cd "$dir" &&
		apt-get download "linux-image-$release" "linux-headers-$release" "linux-headers-$common-common" \
			"linux-kbuild-$common" &&
		for package in *.deb; do dpkg -x "$package" . || return; done &&
		rm ./*.deb &&
		sed -i "s|/usr/src/|$CACHE/$STOCK_NAME/usr/src/|" "$makefile" &&
		ln -sfn "boot/vmlinuz-$release" image &&
		ln -sfn "usr/src/linux-headers-$release" kdir
)

stock() {
	local release version dir
	release=$(apt-cache depends "$IMAGE_PACKAGE" | sed -n 's/^ *Depends: linux-image-//p')
	[ -n "$release" ] || die "apt does not know $IMAGE_PACKAGE: apt-get update"
	version=$(apt-cache show --no-all-versions "linux-image-$release" | sed -n 's/^Version: //p')
	STOCK_NAME=stock-$release-$version
	dir=$CACHE/$STOCK_NAME

	if [ ! -d "$dir" ]; then
		lock stock
	fi
	if [ ! -d "$dir" ]; then
		progress "downloading Linux $release and its headers"
		rm -rf "$dir.part"
		mkdir -p "$dir.part"
		logged kernel-stock unpack_stock "$dir.part" "$release"
		mv "$dir.part" "$dir"
	fi
	echo "$dir"
}

debug() {
	local source dir
	source=$(source_tree)
	dir=$CACHE/debug-${source##*/source-}-$(fingerprint "$VM/debug.config")

	if [ ! -f "$dir/complete" ]; then
		lock debug
	fi
	if [ ! -f "$dir/complete" ]; then
		progress "building the debug kernel, once (6 minutes on two processors)"
		mkdir -p "$dir"
		if [ ! -f "$dir/configured" ]; then
			logged kernel-debug-config configure "$source" "$dir" tinyconfig "$VM/debug.config" ARCH=x86_64
			touch "$dir/configured"
		fi
		logged kernel-debug make -C "$source" O="$dir" ARCH=x86_64 -j"$JOBS" bzImage modules
		ln -sfn arch/x86/boot/bzImage "$dir/image"
		ln -sfn . "$dir/kdir"
		touch "$dir/complete"
	fi
	echo "$dir"
}

# The tree shares its files with the source tree but for the two that make drivers/kwq a part of it. Each checkout that
# uses the cache puts its own kwq there in turn, by content and not by age, so that only what differs is compiled.
uml() {
	local source dir tree
	source=$(source_tree)
	dir=$CACHE/uml-${source##*/source-}-$(fingerprint "$VM/uml.config")
	tree=$CACHE/uml-tree-${source##*/source-}

	lock uml
	if [ ! -d "$tree" ]; then
		rm -rf "$tree.part"
		cp -al "$source" "$tree.part"
		# sed -i writes a new file, so the source tree keeps its own.
		# shellcheck disable=SC2016 # $(CONFIG_KWQ) is for make
		sed -i '$a obj-$(CONFIG_KWQ) += kwq/' "$tree.part/drivers/Makefile"
		sed -i '/^endmenu/i source "drivers/kwq/kmod/Kconfig"' "$tree.part/drivers/Kconfig"
		mv "$tree.part" "$tree"
	fi
	mkdir -p "$tree/drivers/kwq"
	rsync -rc --delete "$TOP/Kbuild" "$TOP/kmod" "$TOP/uapi" "$tree/drivers/kwq/"

	mkdir -p "$dir"
	# kwq's Kconfig is part of what is configured.
	if [ ! -f "$dir/configured" ] || ! cmp -s "$TOP/kmod/Kconfig" "$dir/configured"; then
		progress "configuring User-Mode Linux"
		logged kernel-uml-config configure "$tree" "$dir" allnoconfig "$VM/uml.config" ARCH=um
		cp "$TOP/kmod/Kconfig" "$dir/configured"
	fi
	[ -f "$dir/linux" ] || progress "building User-Mode Linux, once (3 minutes on two processors)"
	logged kernel-uml make -C "$tree" O="$dir" ARCH=um -j"$JOBS" linux
	# A copy of this checkout's own: the lock is gone when it is run.
	mkdir -p "$BUILD/vm/uml"
	cp "$dir/linux" "$BUILD/vm/uml/image"
	echo "$BUILD/vm/uml"
}

mkdir -p "$CACHE"
case ${1:-} in
source) source_tree ;;
stock) stock ;;
debug) debug ;;
uml) uml ;;
*) die "usage: $0 source|stock|debug|uml" ;;
esac
