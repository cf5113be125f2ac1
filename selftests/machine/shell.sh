#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A shell in the test machine with kwq loaded. KERNEL is one of kernel.sh's, and KVM and GDB are as for boot.sh. With TESTS=1
# the machine has the tests of the device, in /kselftest.
. "$(dirname "$0")/common.sh"

kernel=${KERNEL:-stock}
contents=(demo)
groups=(machine)
case $kernel in
*-arm64 | *-s390x) groups+=("${kernel##*-}") ;;
*)
	# kwq share, nats-server and kwq keep
	contents+=(share keep prompt)
	groups+=(share)
	;;
esac
case $kernel in
stock | stock-6.1 | stock-rt | stock-arm64 | stock-s390x) ;;
*) groups+=(kernels) ;;
esac
# The tests of the device take a minute to compile.
if [ -n "${TESTS:-}" ]; then
	contents+=(device)
	groups+=(device)
fi
"$SELFTESTS/machine/packages.sh" "${groups[@]}"
dir=$("$SELFTESTS/machine/initramfs.sh" "$kernel" "${contents[@]}")
case $kernel in
# For gdb.
*debug) ln -sfn "$("$SELFTESTS/machine/kernel.sh" "$kernel")/vmlinux" "$dir/vmlinux" ;;
esac
progress "leave the shell, or type Ctrl-A X, to end the machine"
LIMIT=0 MEMORY=${MEMORY:-2G} exec "$SELFTESTS/machine/boot.sh" "$dir" mon:stdio null shell
