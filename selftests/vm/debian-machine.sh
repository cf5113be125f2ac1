#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Checks, as root, that the parts of the packages work together. Runs in the machine that debian.sh boots, after
# systemd has started. Prints TAP.
#
# shellcheck disable=SC2317 # the checks are called by their names
set -u
export LC_ALL=C.UTF-8

number=0

# ok NAME COMMAND...: passes if the command succeeds. Prints its output on failure.
ok() {
	local name=$1 said
	shift

	number=$((number + 1))
	if said=$("$@" 2>&1); then
		echo "ok $number - $name"
	else
		echo "not ok $number - $name"
		printf '# %s\n' "${said//$'\n'/$'\n# '}"
	fi
}

# same GOT WANTED
same() {
	[ "$1" = "$2" ] || { printf 'got:    %s\nwanted: %s\n' "$1" "$2"; return 1; }
}

as() {
	runuser -u "$1" -- "${@:2}"
}

loaded() {
	grep -q '^kwq ' /proc/modules
}

device() {
	udevadm settle && same "$(stat -c '%F %U:%G %a' /dev/kwq)" 'character special file root:kwq 660'
}

dkms_module() {
	local file
	file=$(modinfo -n kwq) && same "${file%.xz}" "/lib/modules/$(uname -r)/updates/dkms/kwq.ko" &&
		same "$(cat /sys/module/kwq/srcversion)" "$(modinfo -F srcversion kwq)"
}

accounts() {
	useradd --groups kwq member && useradd outsider
}

# A member of the group uses a queue from the shell: create, add, coalesce, get, done, remove.
use() {
	as member kwq create jobs &&
		as member kwq add jobs red green red &&
		same "$(as member kwq len jobs)" 2 &&
		same "$(as member kwq get jobs)" red &&
		same "$(as member kwq run --exit-when-empty jobs -- echo {})" green
}

refused() {
	local said

	for command in "create mine" "add jobs blue" "ls"; do
		# shellcheck disable=SC2086 # a list of words
		if said=$(as outsider kwq $command 2>&1); then
			echo "kwq $command worked"
			return 1
		fi
		[[ $said == *'permission denied'* ]] || { echo "kwq $command: $said"; return 1; }
	done
}

ok 'systemd has loaded the module' loaded
ok 'the module is the one that DKMS built' dkms_module
ok 'udev has given /dev/kwq to the group' device
ok 'two users are made, one of them in the group' accounts
ok 'the user in the group can use a queue' use
ok 'the other user is refused' refused
ok 'the program compiled with libkwq-dev runs' same "$(as member kwq-example 2>&1)" $'eth0\neth1'
ok 'the queue is removed' as member kwq rm jobs
ok 'the module is unloaded' modprobe -r kwq
ok 'modprobe loads it again' modprobe kwq
ok 'and udev gives /dev/kwq to the group again' device
echo "1..$number"
