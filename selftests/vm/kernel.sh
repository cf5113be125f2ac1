#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# kernel.sh KERNEL: sees to it that the kernel is there and prints its directory.
#
#   source       the kernel's source tree, as Debian ships it
#   stock        Debian's cloud kernel, the newest that apt knows: what users have. It is unpacked here, not installed.
#   stock-6.1    the oldest that kwq is for: the kernel that Debian 12 came with
#   stock-rt     Debian's PREEMPT_RT kernel
#   stock-arm64  Debian's kernel for arm64, with a busybox for it
#   stock-s390x  Debian's kernel for s390x, a big-endian machine, with a busybox for it
#   stock-7.3    the last of that newer series: newer.sh
#   newest-debug the debug kernel, but of the newest series: newer.sh
#   debug        debug.config on top of tinyconfig
#   rt-debug     rt.config on top of that
#   kcsan        the debug kernel's machine without its checks, and with KCSAN: kcsan.config
#   gcov         the same with gcov: gcov.config
#   syzkaller    the debug kernel with KCOV, a disk and a network: syzkaller.config; docs/fuzzing.md
#   uml          a source tree whose drivers/kwq is this checkout, and its User-Mode Linux, which runs KUnit when started
#   uml-bench    another one, which runs selftests/bench/native when started: uml-bench.config
#
# A directory other than source has image (what boots) and kdir (what modules are built against).
#
# All of it lives in the cache and may be deleted at any moment. A kernel's directory is named after what it was made
# from. A build that was interrupted is taken up where it stopped.
. "$(dirname "$0")/common.sh"
. "$VM/apt.sh"

package_version() {
	dpkg-query -W -f '${Version}' "$1" 2>/dev/null || die "the package $1 is missing: run ${0%/*}/packages.sh"
}

source_tree() {
	local dir
	dir=$CACHE/source-$(package_version "$SOURCE_PACKAGE")

	if [ ! -d "$dir" ]; then
		lock_cache source
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

# merge FRAGMENT...: one fragment, in which what a later one says of a symbol is all that is said of it.
merge() {
	cat "$@" | awk '
		match($0, /^(# )?CONFIG_[A-Z0-9_]+/) {
			symbol = substr($0, RSTART, RLENGTH)
			sub(/^# /, "", symbol)
			said[symbol] = $0
		}
		END {
			for (symbol in said)
				print said[symbol]
		}' | sort
}

# configure SOURCE OUT BASE FRAGMENT MAKE-ARGUMENT...: BASE's configuration with FRAGMENT on top.
configure() {
	local source=$1 out=$2 base=$3 fragment=$4
	shift 4

	# Under `logged`, set -e does not hold.
	"${within[@]}" make -C "$source" O="$out" "$@" "$base" &&
		cat "$fragment" >>"$out/.config" &&
		"${within[@]}" make -C "$source" O="$out" "$@" olddefconfig
}

# check_configuration OUT FRAGMENT: nothing of FRAGMENT was lost to a dependency that nobody noticed.
check_configuration() {
	local config=$1/.config fragment=$2 lost

	lost=$({
		grep '^CONFIG_' "$fragment" | grep -vxFf "$config"
		sed -n 's/^# \(CONFIG_[A-Z0-9_]*\) is not set/^\1=/p' "$fragment" | grep -f - "$config"
	} || true)
	[ -z "$lost" ] || die "$(basename "$fragment") asks for what this kernel cannot have, or must:"$'\n'"$lost"
}

# A kernel of newer.sh's is built with newer tools.
within=()
[ -z "${KWQ_SOURCE:-}" ] || within=("$VM/debian13.sh")

# fingerprint FILE...: a short name for the files' contents and the compiler.
fingerprint() {
	{ cat "$@"; "${within[@]}" gcc --version; } | sha256sum | cut -c 1-12
}

# The package whose newest dependency is the kernel.
stock_package() {
	case $1 in
	stock) echo "$IMAGE_PACKAGE" ;;
	stock-6.1) echo "$OLDEST_IMAGE_PACKAGE" ;;
	stock-rt) echo "$RT_IMAGE_PACKAGE" ;;
	stock-arm64) echo "$ARM64_IMAGE_PACKAGE" ;;
	stock-s390x) echo "$S390X_IMAGE_PACKAGE" ;;
	esac
}

# unpack_stock DIR RELEASE VERSION ARCHITECTURE: the image, and the headers that modules are built against. To install the headers
# would install the image as well, and make it what this machine boots next. Headers for another architecture have
# scripts and tools that run there; those of this machine's do the same.
#
# Those of s390x are of another release of Debian. The scripts come from the stock kernel, which is of the same series. This
# machine's compiler and pahole may be older than those for which the kernel was configured.
unpack_stock() (
	dir=$1 release=$2 version=$3
	common=$(depends "linux-headers-$release" | grep -E '^linux-headers-.*-common(-rt)?$')
	kbuild=$(depends "linux-headers-$release" | grep '^linux-kbuild-')
	busybox=()
	here=("${APT[@]}")
	[ "$4" = "$(dpkg --print-architecture)" ] || busybox=(busybox-static) here=()
	headers=usr/src/linux-headers-$release

	cd "$dir" &&
		apt-get "${APT[@]}" download "linux-image-$release=$version" "linux-headers-$release=$version" \
			"$common=$version" "${busybox[@]}" &&
		case $release in
		*-s390x) true ;;
		*) apt-get "${here[@]}" download "$kbuild=$version" ;;
		esac &&
		for package in *.deb; do dpkg -x "$package" . || return; done &&
		rm ./*.deb &&
		case $release in
		*-s390x)
			cp -r "$STOCK_KBUILD" "usr/lib/$kbuild" &&
				sed -i 's/gcc-[0-9]*$/gcc/' "$headers/.kernelvariables" &&
				sed -i '/^CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT=/d; /^CONFIG_DEBUG_INFO_BTF_MODULES=/d' \
					"$headers/include/config/auto.conf"
			;;
		esac &&
		sed -i "s|/usr/src/|$CACHE/$STOCK_NAME/usr/src/|" "$headers/Makefile" &&
		# Debian 13 has nothing outside of usr.
		for folder in bin lib; do [ -d $folder ] || ln -s usr/$folder $folder || return; done &&
		ln -sfn "boot/vmlinuz-$release" image &&
		ln -sfn "$headers" kdir
)

stock() {
	local package release version dir stock architecture suite=$DEBIAN
	if [ "$1" = stock-s390x ]; then
		stock=$("$VM/kernel.sh" stock)
		STOCK_KBUILD=$(echo "$stock"/usr/lib/linux-kbuild-*)
	fi
	package=$(stock_package "$1") architecture=$(debian_architecture "$1")
	case $1 in
	stock-6.1) suite=$OLDEST_SUITE ;;
	stock-s390x) suite=$S390X_SUITE ;;
	esac
	use_apt_of "$architecture" "$suite"
	release=$(depends "$package" | sed -n 's/^linux-image-//p')
	[ -n "$release" ] || die "apt does not know $package: apt-get update"
	version=$(version_of "linux-image-$release")
	STOCK_NAME=stock-$release-$version
	dir=$CACHE/$STOCK_NAME

	if [ ! -d "$dir" ]; then
		lock_cache "$1"
	fi
	if [ ! -d "$dir" ]; then
		progress "downloading Linux $release and its headers"
		rm -rf "$dir.part"
		mkdir -p "$dir.part"
		logged "kernel-$1" unpack_stock "$dir.part" "$release" "$version" "$architecture"
		mv "$dir.part" "$dir"
	fi
	echo "$dir"
}

# built NAME FRAGMENT...: a kernel built from these, the later ones on top.
built() {
	local name=$1 source dir
	shift
	source=${KWQ_SOURCE:-$(source_tree)}
	dir=$CACHE/$name-${source##*/source-}-$(fingerprint "$@")

	if [ ! -f "$dir/complete" ]; then
		lock_cache "$name"
	fi
	if [ ! -f "$dir/complete" ]; then
		progress "building the $name kernel, once (6 minutes on two processors)"
		mkdir -p "$dir"
		if [ ! -f "$dir/configured" ]; then
			merge "$@" >"$dir/fragment.config"
			logged "kernel-$name-config" configure "$source" "$dir" tinyconfig "$dir/fragment.config" ARCH=x86_64
			check_configuration "$dir" "$dir/fragment.config"
			touch "$dir/configured"
		fi
		logged "kernel-$name" "${within[@]}" make -C "$source" O="$dir" ARCH=x86_64 -j"$JOBS" bzImage modules
		[ ${#within[@]} = 0 ] || touch "$dir/in-debian-13"
		ln -sfn arch/x86/boot/bzImage "$dir/image"
		ln -sfn . "$dir/kdir"
		touch "$dir/complete"
	fi
	echo "$dir"
}

# uml NAME: a User-Mode Linux of NAME.config. The tree shares its files with the source tree but for the two that make
# drivers/kwq a part of it. Each checkout that uses the cache puts its own kwq there in turn, by content and not by age, so
# that only what differs is compiled.
uml() {
	local name=$1 source dir tree parts=(kmod) part files
	[ "$name" != uml-bench ] || parts+=(selftests/bench/native)
	source=$(source_tree)
	dir=$CACHE/$name-${source##*/source-}-$(fingerprint "$VM/$name.config")
	tree=$CACHE/$name-tree-${source##*/source-}

	lock_cache "$name"
	if [ ! -d "$tree" ]; then
		rm -rf "$tree.part"
		cp -al "$source" "$tree.part"
		# sed -i writes a new file, so the source tree keeps its own.
		# shellcheck disable=SC2016 # $(CONFIG_KWQ) is for make
		sed -i '$a obj-$(CONFIG_KWQ) += kwq/' "$tree.part/drivers/Makefile"
		# shellcheck disable=SC2016
		[ "$name" != uml-bench ] ||
			sed -i '$a obj-$(CONFIG_KWQ_BENCH_NATIVE) += kwq/selftests/bench/native/' "$tree.part/drivers/Makefile"
		for part in "${parts[@]}"; do
			sed -i "/^endmenu/i source \"drivers/kwq/$part/Kconfig\"" "$tree.part/drivers/Kconfig"
		done
		mv "$tree.part" "$tree"
	fi
	mkdir -p "$tree/drivers/kwq"
	files=("${parts[@]/#/$TOP/./}")
	rsync -rcR --delete "$TOP/./Kbuild" "$TOP/./uapi" "${files[@]}" "$tree/drivers/kwq/"

	mkdir -p "$dir"
	# The Kconfig files are part of what is configured.
	if [ ! -f "$dir/configured" ] || ! cmp -s <(cat "${files[@]/%//Kconfig}") "$dir/configured"; then
		progress "configuring User-Mode Linux ($name)"
		logged "kernel-$name-config" configure "$tree" "$dir" allnoconfig "$VM/$name.config" ARCH=um
		check_configuration "$dir" "$VM/$name.config"
		cat "${files[@]/%//Kconfig}" >"$dir/configured"
	fi
	[ -f "$dir/linux" ] || progress "building User-Mode Linux ($name), once (3 minutes on two processors)"
	logged "kernel-$name" make -C "$tree" O="$dir" ARCH=um -j"$JOBS" linux
	# A copy of this checkout's own: the lock is gone when it is run.
	mkdir -p "$BUILD/vm/$name"
	cp "$dir/linux" "$BUILD/vm/$name/image"
	echo "$BUILD/vm/$name"
}

mkdir -p "$CACHE"
case ${1:-} in
source) source_tree ;;
stock | stock-6.1 | stock-rt | stock-arm64 | stock-s390x) stock "$1" ;;
debug) built debug "$VM/debug.config" ;;
stock-[0-9]*) exec "$VM/newer.sh" "${1#stock-}" ;;
newest-debug) exec "$VM/newer.sh" debug ;;
# For newer.sh: built NAME FRAGMENT..., from $KWQ_SOURCE
built) built "${@:2}" ;;
rt-debug) built rt-debug "$VM/debug.config" "$VM/rt.config" ;;
syzkaller) built syzkaller "$VM/debug.config" "$VM/syzkaller.config" ;;
kcsan | gcov) built "$1" "$VM/debug.config" "$VM/lean.config" "$VM/$1.config" ;;
uml | uml-bench) uml "$1" ;;
*) die "usage: $0 source|stock|stock-6.1|stock-rt|stock-arm64|stock-s390x|stock-SERIES|newest-debug|debug|rt-debug|kcsan|gcov|syzkaller|uml|uml-bench" ;;
esac
