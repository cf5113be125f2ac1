#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# initramfs.sh stock|debug [device] [demo] [exporter]: builds kwq for that kernel and packs it with init, busybox and the command,
# and with what is named besides. Prints the directory in which boot.sh finds image and initramfs.
#
#   device  selftests/device and what tests the command with a device, as /kselftest
#   demo    selftests/demo, as /demo
#   exporter  the command with the libraries that its exporter wants, in /exporter, and what tests that, as /kselftest
. "$(dirname "$0")/common.sh"

kernel=$1
shift
kernel_dir=$("$VM/kernel.sh" "$kernel")
out=$BUILD/vm/$kernel
root=$out/root

rm -rf "$root"
mkdir -p "$root"/{bin,dev,proc,sys,tmp,run,lib}

release=$(cat "$kernel_dir/kdir/include/config/kernel.release")
module_config=()
[ "$kernel" != debug ] || module_config=(CONFIG_KWQ_KUNIT_TEST=m)
logged "module-$kernel" make -C "$TOP" -j"$JOBS" module KDIR="$kernel_dir/kdir" "${module_config[@]}"
cp "$BUILD/module-$release"/kmod/*.ko "$root"

logged init gcc -O2 -Wall -Wextra -Werror -static -o "$root/init" "$VM/init.c"
cp /bin/busybox "$root/bin/busybox"
for applet in $(/bin/busybox --list | grep -vx busybox); do
	ln -s busybox "$root/bin/$applet"
done

logged userspace make -C "$TOP/userspace" -j"$JOBS" O="$BUILD/userspace" all
cp "$BUILD/userspace/kwq-static" "$root/bin/kwq"

for content in "$@"; do
	case $content in
	device)
		source=$("$VM/kernel.sh" source)
		logged device make -C "$TOP/selftests/device" -j"$JOBS" O="$BUILD/device" \
			KSELFTEST_INC="$source/tools/testing/selftests" all
		mkdir "$root/kselftest"
		make -s --no-print-directory -C "$TOP/selftests/device" KSELFTEST_INC=. list |
			(cd "$BUILD/device" && xargs cp -t "$root/kselftest")
		cp "$TOP/userspace/test/device-command" "$root/kselftest/command"
		logged examples make -C "$TOP/userspace" O="$BUILD/userspace" "$BUILD/userspace/test/device-examples"
		cp "$BUILD/userspace/test/device-examples" "$root/kselftest/examples"
		;;
	demo)
		logged demo make -C "$TOP/selftests/demo" O="$BUILD/demo" all \
			HEADERS="$(echo "$("$VM/kernel.sh" stock)"/usr/src/linux-headers-*-common/include)"
		cp -r "$BUILD/demo/demo-root/." "$root"
		;;
	exporter)
		# It cannot be static: Debian has not all of its libraries so.
		mkdir "$root/exporter"
		cp "$BUILD/userspace/kwq" "$BUILD/userspace/libkwq.so.0" "$root/exporter"
		ldd "$BUILD/userspace/kwq" | grep -oE '/[^ ]+' | sort -u | while read -r library; do
			case $library in
			"$BUILD"/*) ;;
			*) (cd / && cpio --quiet -pdL "$root" <<<"${library#/}") ;;
			esac
		done
		mkdir -p "$root/kselftest"
		cp "$TOP/userspace/test/device-exporter" "$root/kselftest/exporter"
		;;
	*)
		die "there is no $content to put in"
		;;
	esac
done

# The machine reads it from memory, so there is nothing to gain from compressing it.
(cd "$root" && find . -print0 | LC_ALL=C sort -z | cpio --quiet -0 -o -H newc -R 0:0) >"$out/initramfs.part"
mv "$out/initramfs.part" "$out/initramfs"
ln -sfn "$kernel_dir/image" "$out/image"
echo "$out"
