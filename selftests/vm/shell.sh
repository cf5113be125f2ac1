#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A shell in the test machine with kwq loaded. KERNEL=stock|debug, and KVM and GDB as for boot.sh.
. "$(dirname "$0")/common.sh"

"$VM/packages.sh"
dir=$("$VM/initramfs.sh" "${KERNEL:-stock}" device demo)
if [ "${KERNEL:-stock}" = debug ]; then
	# For gdb.
	ln -sfn "$("$VM/kernel.sh" debug)/vmlinux" "$dir/vmlinux"
fi
progress "leave the shell, or type Ctrl-A X, to end the machine"
LIMIT=0 exec "$VM/boot.sh" "$dir" mon:stdio null shell
