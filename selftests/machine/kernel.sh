#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# kernel.sh KERNEL: downloads or builds the kernel if it is missing, and prints its directory.
#
#   source       the kernel's source tree, as Debian ships it
#   stock        Debian's cloud kernel, the newest that apt knows. It is unpacked, not installed.
#   stock-6.1    the oldest supported kernel, which Debian 12 was released with
#   stock-rt     Debian's PREEMPT_RT kernel
#   stock-arm64  Debian's kernel for arm64, with a busybox for it
#   stock-s390x  Debian's kernel for s390x, a big-endian machine, with a busybox for it
#   stock-7.3    the last kernel of that newer series: newer.sh
#   newest-debug the debug kernel of the newest series: newer.sh
#   debug        debug.config on top of tinyconfig
#   rt-debug     rt.config on top of that
#   kcsan        the debug kernel without its checks, but with KCSAN: kcsan.config
#   gcov         the same with gcov: gcov.config
#   syzkaller    the debug kernel with KCOV, a disk and a network: syzkaller.config; docs/fuzzing.md
#   uml          a User-Mode Linux that runs KUnit at its start; drivers/kwq in its source tree is this checkout
#   uml-queue    the same without the device
#   uml-smp      a User-Mode Linux with several processors, of the newest series, without the slow ones of the debug kernel's
#                checks: uml-smp.config
#   uml-bench    another one, which runs selftests/bench/native at its start: uml-bench.config. It has no device either.
#
# A directory other than source has image, the kernel that boots, and kdir, the folder that modules are built against.
#
# Everything is in the cache and may be deleted at any moment. The name of a kernel's directory has the versions and
# checksums of its inputs. An interrupted build continues where it stopped.
. "$(dirname "$0")/common.sh"
. "$SELFTESTS/machine/apt.sh"

package_version() {
	dpkg-query -W -f '${Version}' "$1" 2>/dev/null || die "the package $1 is missing: run ${0%/*}/packages.sh"
}

source_tree() {
	local dir
	dir=$CACHE/source-$(package_version "$SOURCE_PACKAGE")

	cached source "$dir" "unpacking $SOURCE_PACKAGE" tar --strip-components=1 -xf "/usr/src/$SOURCE_PACKAGE.tar.xz" -C
	echo "$dir"
}

# merge FRAGMENT...: prints one fragment, in which the last mention of a symbol counts.
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

# configure SOURCE OUT BASE FRAGMENT MAKE-ARGUMENT...: configures BASE with FRAGMENT on top.
configure() {
	local source=$1 out=$2 base=$3 fragment=$4
	shift 4

	# `logged` switches set -e off.
	"${within[@]}" make -C "$source" O="$out" "$@" "$base" &&
		cat "$fragment" >>"$out/.config" &&
		"${within[@]}" make -C "$source" O="$out" "$@" olddefconfig
}

# check_configuration OUT FRAGMENT: fails if the configuration lacks a line of FRAGMENT, for example for a dependency.
check_configuration() {
	local config=$1/.config fragment=$2 lost

	lost=$({
		grep '^CONFIG_' "$fragment" | grep -vxFf "$config"
		sed -n 's/^# \(CONFIG_[A-Z0-9_]*\) is not set/^\1=/p' "$fragment" | grep -f - "$config"
	} || true)
	[ -z "$lost" ] || die "this kernel does not follow $(basename "$fragment") in:"$'\n'"$lost"
}

# The kernels of newer.sh need newer tools.
within=()
[ -z "${KWQ_SOURCE:-}" ] || within=("$SELFTESTS/machine/debian13.sh")

# fingerprint FILE...: prints a short checksum of the options in these files, and of the compiler.
fingerprint() {
	{ grep -h CONFIG_ "$@"; "${within[@]}" gcc --version; } | sha256sum | cut -c 1-12
}

# Prints the package that depends on the newest such kernel.
stock_package() {
	case $1 in
	stock) echo "$IMAGE_PACKAGE" ;;
	stock-6.1) echo "$OLDEST_IMAGE_PACKAGE" ;;
	stock-rt) echo "$RT_IMAGE_PACKAGE" ;;
	stock-arm64) echo "$ARM64_IMAGE_PACKAGE" ;;
	stock-s390x) echo "$S390X_IMAGE_PACKAGE" ;;
	esac
}

# unpack_stock RELEASE VERSION ARCHITECTURE DIR: unpacks the image, and the headers that modules are built against. An
# installation of the headers would also install the image, and this machine would boot it next. The scripts and tools in
# headers for another architecture run only there; those of this machine's architecture replace them.
#
# The kernel for s390x comes from another release of Debian. Its scripts come from the stock kernel, which has the same
# series. This machine's compiler and pahole may be older than the kernel's configuration expects.
unpack_stock() (
	release=$1 version=$2 architecture=$3 dir=$4
	common=$(depends "linux-headers-$release" | grep -E '^linux-headers-.*-common(-rt)?$')
	kbuild=$(depends "linux-headers-$release" | grep '^linux-kbuild-')
	busybox=()
	here=("${APT[@]}")
	[ "$architecture" = "$(dpkg --print-architecture)" ] || busybox=(busybox-static) here=()
	headers=usr/src/linux-headers-$release

	cd "$dir" &&
		unpack_packages "linux-image-$release=$version" "linux-headers-$release=$version" "$common=$version" \
			"${busybox[@]}" . &&
		case $release in
		*-s390x)
			cp -r "$STOCK_KBUILD" "usr/lib/$kbuild" &&
				sed -i 's/gcc-[0-9]*$/gcc/' "$headers/.kernelvariables" &&
				sed -i '/^CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT=/d; /^CONFIG_DEBUG_INFO_BTF_MODULES=/d' \
					"$headers/include/config/auto.conf"
			;;
		*) APT=("${here[@]}") && unpack_packages "$kbuild=$version" . ;;
		esac &&
		sed -i "s|/usr/src/|$CACHE/$STOCK_NAME/usr/src/|" "$headers/Makefile" &&
		# In Debian 13 the packages have files in usr only.
		for folder in bin lib; do [ -d $folder ] || ln -s usr/$folder $folder || return; done &&
		ln -sfn "boot/vmlinuz-$release" image &&
		ln -sfn "$headers" kdir
)

stock() {
	local package release version dir stock architecture suite=$DEBIAN
	if [ "$1" = stock-s390x ]; then
		stock=$("$SELFTESTS/machine/kernel.sh" stock)
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

	cached "$1" "$dir" "downloading Linux $release and its headers" unpack_stock "$release" "$version" "$architecture"
	echo "$dir"
}

# built NAME FRAGMENT...: builds a kernel from the fragments, the later ones on top.
built() {
	local name=$1 source dir base=tinyconfig arch=x86_64 image=arch/x86/boot/bzImage targets=(bzImage modules)
	shift
	case $name in
	uml-*) base=allnoconfig arch=um image=linux targets=(linux modules) ;;
	esac
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
			logged "kernel-$name-config" configure "$source" "$dir" "$base" "$dir/fragment.config" ARCH="$arch"
			check_configuration "$dir" "$dir/fragment.config"
			touch "$dir/configured"
		fi
		logged "kernel-$name" "${within[@]}" make -C "$source" O="$dir" ARCH="$arch" -j"$JOBS" "${targets[@]}"
		[ ${#within[@]} = 0 ] || touch "$dir/in-debian-13"
		ln -sfn "$image" "$dir/image"
		ln -sfn . "$dir/kdir"
		touch "$dir/complete"
	fi
	echo "$dir"
}

# uml NAME [queue]: builds a User-Mode Linux from NAME.config. With "queue" kwq has no device. Both have one output folder, and
# only kwq is compiled again. Its tree shares all files with the source tree except the two that
# make drivers/kwq a part of it. Each checkout that uses the cache copies its own kwq there, and compares files by content
# and not by age. So only changed files are compiled. The output folder is in the tree, so that make names all files relative
# to it, and a copy of both compiles nothing again.
uml() {
	local name=$1 image=$1${2:+-$2} device='CONFIG_KWQ_DEV=y' source dir tree parts=(kmod) part files
	[ "$image" = uml ] || device='# CONFIG_KWQ_DEV is not set'
	source=$(source_tree)
	if [ "$name" = uml-bench ]; then
		parts+=(selftests/bench/native)
		# The stock kernel's series knows no second processor.
		source=$("$SELFTESTS/machine/newer.sh" source) || die 'the source of the newest series could not be had'
	fi
	tree=$CACHE/$name-tree-${source##*/source-}
	dir=$tree/out-$(fingerprint "$SELFTESTS/machine/$name.config")

	lock_cache "$name"
	if [ ! -d "$tree" ]; then
		rm -rf "$tree.part"
		cp -al "$source" "$tree.part"
		# sed -i writes a new file, so the file of the source tree stays unchanged.
		# shellcheck disable=SC2016 # $(CONFIG_KWQ) is for make
		sed -i '$a obj-$(CONFIG_KWQ) += kwq/' "$tree.part/drivers/Makefile"
		# shellcheck disable=SC2016
		if [ "$name" = uml-bench ]; then
			sed -i '$a obj-$(CONFIG_KWQ_BENCH_NATIVE) += kwq/selftests/bench/native/' "$tree.part/drivers/Makefile"
			# patch writes new files, too.
			patch -s -d "$tree.part" -p1 <"$SELFTESTS/machine/uml-ipi.patch" || die 'uml-ipi.patch does not fit the newest series'
		fi
		for part in "${parts[@]}"; do
			sed -i "/^endmenu/i source \"drivers/kwq/$part/Kconfig\"" "$tree.part/drivers/Kconfig"
		done
		mv "$tree.part" "$tree"
	fi
	mkdir -p "$tree/drivers/kwq"
	files=("${parts[@]/#/$TOP/./}")
	rsync -rcR --delete "$TOP/./Kbuild" "$TOP/./uapi" "${files[@]}" "$tree/drivers/kwq/"

	mkdir -p "$dir"
	# The Kconfig files are part of the configuration.
	if [ ! -f "$dir/configured" ] ||
		! cmp -s <(echo "$device" | cat - "${files[@]/%//Kconfig}") "$dir/configured"; then
		progress "configuring User-Mode Linux ($image)"
		rm -f "$dir/configured"
		echo "$device" | cat "$SELFTESTS/machine/$name.config" - >"$dir/fragment.config"
		logged "kernel-$image-config" configure "$tree" "$dir" allnoconfig "$dir/fragment.config" ARCH=um
		check_configuration "$dir" "$dir/fragment.config"
		echo "$device" | cat - "${files[@]/%//Kconfig}" >"$dir/configured"
	fi
	[ -f "$dir/linux" ] || progress "building User-Mode Linux ($name), once (3 minutes on two processors)"
	logged "kernel-$image" make -C "$tree" O="$dir" ARCH=um -j"$JOBS" linux
	# A copy for this checkout, because the image runs after the lock is released.
	mkdir -p "$BUILD/vm/$image"
	cp "$dir/linux" "$BUILD/vm/$image/image"
	echo "$BUILD/vm/$image"
}

mkdir -p "$CACHE"
case ${1:-} in
source) source_tree ;;
stock | stock-6.1 | stock-rt | stock-arm64 | stock-s390x) stock "$1" ;;
debug) built debug "$SELFTESTS/machine/debug.config" ;;
stock-[0-9]*) exec "$SELFTESTS/machine/newer.sh" "${1#stock-}" ;;
newest-debug) exec "$SELFTESTS/machine/newer.sh" debug ;;
# For newer.sh: built NAME FRAGMENT..., from $KWQ_SOURCE
built) built "${@:2}" ;;
rt-debug) built rt-debug "$SELFTESTS/machine/debug.config" "$SELFTESTS/machine/rt.config" ;;
syzkaller) built syzkaller "$SELFTESTS/machine/debug.config" "$SELFTESTS/machine/syzkaller.config" ;;
kcsan | gcov) built "$1" "$SELFTESTS/machine/debug.config" "$SELFTESTS/machine/lean.config" "$SELFTESTS/machine/$1.config" ;;
uml | uml-bench) uml "$1" ;;
# A program of this machine, so its tools have to build it.
uml-smp)
	newest=$("$SELFTESTS/machine/newer.sh" source) || die 'the source of the newest series could not be had'
	KWQ_SOURCE=$newest built uml-smp "$SELFTESTS/machine/debug.config" "$SELFTESTS/machine/newer.config" "$SELFTESTS/machine/uml-smp.config"
	;;
uml-queue) uml uml queue ;;
*) die "usage: $0 source|stock|stock-6.1|stock-rt|stock-arm64|stock-s390x|stock-SERIES|newest-debug|debug|rt-debug|kcsan|gcov|syzkaller|uml|uml-queue|uml-smp|uml-bench" ;;
esac
