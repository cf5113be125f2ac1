#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A shell in the test machine with kwq loaded. KERNEL is one of kernel.sh's, and KVM and GDB are as for boot.sh.
. "$(dirname "$0")/common.sh"

kernel=${KERNEL:-stock}
contents=(device demo)
case $kernel in
*-arm64 | *-s390x) "$VM/packages.sh" "${kernel##*-}" ;;
*)
	"$VM/packages.sh"
	# kwq share, nats-server and kwq keep
	contents+=(cluster keep prompt)
	;;
esac
dir=$("$VM/initramfs.sh" "$kernel" "${contents[@]}")
case $kernel in
# For gdb.
*debug) ln -sfn "$("$VM/kernel.sh" "$kernel")/vmlinux" "$dir/vmlinux" ;;
esac
progress "leave the shell, or type Ctrl-A X, to end the machine"
LIMIT=0 MEMORY=${MEMORY:-2G} exec "$VM/boot.sh" "$dir" mon:stdio null shell
