#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# boot.sh DIR CONSOLE REPORT MODE...: boots DIR's image with DIR's initramfs, whose init is told MODE.
#
# CONSOLE and REPORT say where the two serial ports go, in QEMU's words (file:NAME, stdio, mon:stdio, null).
# Exits with QEMU's status, or with 124 when the machine did not end within $LIMIT seconds (0: no limit) as within.c counts
# them.
#
# DISK=FILE  instead of the initramfs: the root file system, which is written to. MODE is more of the kernel's command
#            line then.
# KVM=1      use the processor's virtualisation. Not by itself: there are machines with a /dev/kvm that hangs.
# ICOUNT=1   one processor whose clock goes on by 1 ns an instruction, for `make bench`
# MEMORY=8G  so much; 1G otherwise
# KWQ_...=   of the variables that selftests/device and selftests/bench know, these: for the machine's programs
# PLUGIN=... one of QEMU's, with its arguments
# GDB=1      wait for `target remote :1234` in gdb
. "$(dirname "$0")/common.sh"

dir=$1 console=$2 report=$3
shift 3

# A port that is a device by itself wants to be told in other words.
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
	# The machine has one port of its own. The other is a card.
	qemu=(
		qemu-system-aarch64 -machine virt -serial "$console"
		-chardev "$chardev,id=report" -device "pci-serial,chardev=report"
	)
	tcg_cpu=neoverse-n1
	terminal=ttyAMA0
	;;
s390x)
	# The machine has a console. The report goes to one of virtio's.
	qemu=(
		qemu-system-s390x -machine s390-ccw-virtio -serial "$console"
		-chardev "$chardev,id=report" -device virtio-serial-ccw -device "virtconsole,chardev=report"
	)
	tcg_cpu=max
	terminal=ttysclp0
	;;
esac
qemu+=(
	-nodefaults -no-user-config -display none -no-reboot -smp 2 -m "${MEMORY:-1G}"
	-kernel "$dir/image"
)
# Whatever is wrong ends the machine: a warning or an oops panics, a panic reboots, and -no-reboot makes that an exit.
# The kernel's own limits go by the time of day. They are for a processor that is emulated, and has a quarter of one of the
# host's: whatever hangs in a test meets init's limits long before. The emulated TSC is the host's, so it is good
# whatever the guest thinks of it.
command_line=(
	"console=$terminal" ignore_loglevel mitigations=off tsc=reliable
	panic=-1 oops=panic panic_on_warn=1
	watchdog_thresh=60 softlockup_panic=1
	sysctl.kernel.hung_task_panic=1 sysctl.kernel.hung_task_timeout_secs=240
	rcupdate.rcu_cpu_stall_timeout=240 sysctl.kernel.panic_on_rcu_stall=1
	workqueue.watchdog_thresh=240
)

# What the kernel does not know it gives to init, as environment.
for variable in KWQ_SOAK_SECONDS KWQ_SEED KWQ_KILLS KWQ_ITEMS KWQ_ROW; do
	[ -z "${!variable:-}" ] || command_line+=("$variable=${!variable}")
done

# What is allocated in a program's name has a pattern in it at first, where Debian's kernels have zeroes: what nobody has
# set is to be seen.
case ${dir##*/} in
*debug) command_line+=("slab_debug=P,kmalloc-cg-*") ;;
# Strict as it is, KCSAN finds races of the kernel's own; results.py tells whose each is. It is to look at more of the
# accesses than by itself, the machine does not run for long, and at each for longer: the other processor is emulated,
# too, and does in that time what a real one does in a fiftieth.
kcsan) command_line+=(panic_on_warn=0 kcsan.skip_watch=1000 kcsan.udelay_task=1000) ;;
esac

if [ -n "${DISK:-}" ]; then
	# Debian's cloud kernel has this much built in. What becomes of the file does not matter to anybody.
	# shellcheck disable=SC2054 # the commas are QEMU's
	qemu+=(-drive "file=$DISK,format=raw,if=none,id=root,cache=unsafe" -device nvme,drive=root,serial=root)
	command_line+=(root=/dev/nvme0n1 rw "$@")
else
	qemu+=(-initrd "$dir/initramfs")
	command_line+=(-- run "$@")
fi

if [ "${KVM:-0}" = 1 ]; then
	[ "$(cat "$dir/architecture")" = "$(dpkg --print-architecture)" ] || die "KVM=1 is for this machine's architecture"
	qemu+=(-accel kvm -cpu host)
else
	qemu+=(-accel tcg -cpu "$tcg_cpu")
fi
if [ "${ICOUNT:-0}" = 1 ]; then
	[ "${KVM:-0}" = 0 ] || die "with KVM=1 nobody counts instructions"
	# Where an option is given twice the last one counts. Time in which the processor has nothing to do is skipped.
	# What the machine draws by chance, addresses and the secrets of hashes, it draws again in the next boot.
	qemu+=(-smp 1 -icount "shift=0,sleep=off" -seed 1)
fi
[ -z "${PLUGIN:-}" ] || qemu+=(-plugin "$PLUGIN")
if [ "${GDB:-0}" = 1 ]; then
	qemu+=(-gdb tcp::1234 -S)
	command_line=(nokaslr "${command_line[@]}")
	progress "the machine waits for gdb: gdb $dir/vmlinux -ex 'target remote :1234'"
fi

find_within
exec "$WITHIN" "${LIMIT:-600}" "${qemu[@]}" -append "${command_line[*]}"
