#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# boot.sh DIR CONSOLE REPORT MODE...: boots DIR's image with DIR's initramfs. Its init gets MODE.
#
# CONSOLE and REPORT name the ends of the two serial ports, in QEMU's words (file:NAME, stdio, mon:stdio, null).
# Exits with QEMU's status, or with 124 if the machine did not end within $LIMIT seconds of within.c's clock (0: no limit).
#
# DISK=FILE  the root file system, which is written to, instead of the initramfs. MODE is then part of the kernel's
#            command line.
# KVM=1      use the processor's virtualisation. Off by default, because some machines have a /dev/kvm that hangs.
# ICOUNT=1   one processor whose clock advances by 1 ns per instruction, for `make bench`
# MEMORY=8G  the machine's memory, 1G by default
# PROCESSORS=4  its processors, 2 by default
# DEVICES='-device ...'  more options of QEMU, without spaces in them
# KERNEL_ARGS='slab_debug=FZPU ...'  more arguments of the kernel, after those below: of two equal ones the last counts
# KWQ_...=   variables for the machine's programs; the list is below
# PLUGIN=... a plugin of QEMU's, with its arguments
# GDB=1      wait for `target remote :1234` in gdb
. "$(dirname "$0")/common.sh"

dir=$1 console=$2 report=$3
shift 3

# A port that is a separate device needs another syntax.
case $report in
file:*) chardev=file,path=${report#file:} ;;
*) chardev=$report ;;
esac
case $(cat "$dir/architecture") in
amd64)
	qemu=(qemu-system-x86_64 -machine pc -serial "$console" -serial "$report")
	tcg_cpu=max,la57=off
	terminal=ttyS0
	;;
arm64)
	# The machine has one port. The other is a PCI card.
	qemu=(
		qemu-system-aarch64 -machine virt -serial "$console"
		-chardev "$chardev,id=report" -device "pci-serial,chardev=report"
	)
	tcg_cpu=neoverse-n1
	terminal=ttyAMA0
	;;
s390x)
	# The machine has a console. The report goes to a virtio console.
	qemu=(
		qemu-system-s390x -machine s390-ccw-virtio -serial "$console"
		-chardev "$chardev,id=report" -device virtio-serial-ccw -device "virtconsole,chardev=report"
	)
	tcg_cpu=max
	terminal=ttysclp0
	;;
uml) terminal=tty0 qemu=() ;;
esac
qemu+=(
	-nodefaults -no-user-config -display none -no-reboot -smp "${PROCESSORS:-2}" -m "${MEMORY:-1G}"
	-kernel "$dir/image"
)
# Any error ends the machine: a warning or an oops panics, a panic reboots, and -no-reboot turns the reboot into an exit.
# The kernel's own time limits use the time of day. They are long enough for an emulated processor with a quarter of one of
# the host's. A test that hangs meets init's limits long before. The emulated TSC is the host's, so it is reliable even if
# the guest doubts it.
command_line=(
	"console=$terminal" ignore_loglevel mitigations=off tsc=reliable
	panic=-1 oops=panic panic_on_warn=1
	watchdog_thresh=60 softlockup_panic=1
	sysctl.kernel.hung_task_panic=1 sysctl.kernel.hung_task_timeout_secs=240
	rcupdate.rcu_cpu_stall_timeout=240 sysctl.kernel.panic_on_rcu_stall=1
	workqueue.watchdog_thresh=240
)

# The kernel passes unknown variables to init, in the environment.
for variable in KWQ_SOAK_SECONDS KWQ_SEED KWQ_KILLS KWQ_ITEMS KWQ_ROW KWQ_RULES KWQ_POWER; do
	[ -z "${!variable:-}" ] || command_line+=("$variable=${!variable}")
done

# Memory allocated for a program begins with a pattern, where Debian's kernels have zeroes. So a test sees members that
# kwq did not set.
case ${dir##*/} in
*debug) command_line+=("slab_debug=P,kmalloc-cg-*") ;;
# In its strict mode KCSAN also finds races of the kernel's own, and results.py tells them apart. The machine runs for a
# short time, so KCSAN watches more accesses than by default. It watches each for longer, because the other processor is
# emulated and about fifty times slower than a real one.
kcsan) command_line+=(panic_on_warn=0 kcsan.skip_watch=1000 kcsan.udelay_task=1000) ;;
esac

# Some of these kernels make allocations fail while a module is loaded. A cache whose kobject could not be named for lack of
# memory is a warning of the kernel when it is destroyed: sysfs_slab_add() of Linux 6.19 and others. The name of a cache that
# merges with no other needs no memory.
case ${dir##*/} in
*debug | stock-[0-9]*) command_line+=(slab_nomerge) ;;
esac

# port WORDS: prints a channel of User-Mode Linux: QEMU's words in its own.
port() {
	case $1 in
	*stdio) echo fd:0,fd:1 ;;
	file:*) echo "null,fd:$2" ;;
	null) echo null ;;
	esac
}

# file_of WORDS: prints the file that a channel writes to.
file_of() {
	case $1 in
	file:*) echo "${1#file:}" ;;
	*) echo /dev/null ;;
	esac
}

read -ra kernel_args <<<"${KERNEL_ARGS:-}"
command_line+=("${kernel_args[@]}")

# The module for counts of lines has the KUnit suites. They run only when asked for.
[ "$1" = kunit ] || command_line+=(kunit.enable=0)

# User-Mode Linux is a program of this machine: its processors are threads, and its memory is a file in /dev/shm. With seccomp
# several processors can run programs.
if [ "$(cat "$dir/architecture")" = uml ]; then
	find_within
	exec 4>"$(file_of "$console")" 5>"$(file_of "$report")"
	exec "$WITHIN" "${LIMIT:-600}" "$dir/image" "mem=${MEMORY:-1G}" "ncpus=${PROCESSORS:-2}" seccomp=on \
		"initrd=$dir/initramfs" con=null "con0=$(port "$console" 4)" ssl=null "ssl0=$(port "$report" 5)" \
		"${command_line[@]}" -- run "$@"
fi

if [ -n "${DISK:-}" ]; then
	# Debian's cloud kernel has these drivers built in. The file is thrown away afterwards.
	# shellcheck disable=SC2054 # the commas are QEMU's
	qemu+=(-drive "file=$DISK,format=raw,if=none,id=root,cache=unsafe" -device nvme,drive=root,serial=root)
	command_line+=(root=/dev/nvme0n1 rw "$@")
else
	qemu+=(-initrd "$dir/initramfs")
	# init starts the others, and says why.
	[ "$(cat "$dir/architecture")" != amd64 ] || command_line+=(maxcpus=1)
	command_line+=(-- run "$@")
fi

if [ "${KVM:-0}" = 1 ]; then
	[ "$(cat "$dir/architecture")" = "$(dpkg --print-architecture)" ] || die "KVM=1 is for this machine's architecture"
	qemu+=(-accel kvm -cpu host)
else
	qemu+=(-accel tcg -cpu "$tcg_cpu")
fi
if [ "${ICOUNT:-0}" = 1 ]; then
	[ "${KVM:-0}" = 0 ] || die "ICOUNT=1 cannot count instructions with KVM=1"
	# The last of two equal options counts. Idle time is skipped. Every boot gets the same random numbers, and so the
	# same addresses and the same secrets of hashes.
	qemu+=(-smp 1 -icount "shift=0,sleep=off" -seed 1)
fi
read -ra devices <<<"${DEVICES:-}"
qemu+=("${devices[@]}")
[ -z "${PLUGIN:-}" ] || qemu+=(-plugin "$PLUGIN")
if [ "${GDB:-0}" = 1 ]; then
	qemu+=(-gdb tcp::1234 -S)
	command_line=(nokaslr "${command_line[@]}")
	progress "the machine waits for gdb: gdb $dir/vmlinux -ex 'target remote :1234'"
fi

find_within
exec "$WITHIN" "${LIMIT:-600}" "${qemu[@]}" -append "${command_line[*]}"
