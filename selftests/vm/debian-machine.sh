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

# state_active: whether the queues will be saved at shutdown.
state_active() {
	udevadm settle && systemctl start kwq-state && same "$(systemctl is-active kwq-state)" active
}

# fill: makes a queue with keys of each kind, which belongs to a user.
fill() {
	as member kwq create --groups --values --limit fast-slow:0s*0,0s --dead-after 3 -m 640 full &&
		seq 2000 | as member kwq add full &&
		as member kwq add -p 5 --group blue full urgent &&
		as member kwq add --value 'a value' full valued &&
		as member kwq add --after 5h full later &&
		as member kwq add --rate-limited full again
}

# contents: prints what must not change.
contents() {
	local fields='s/"(((dirty|processing|waiting|dead)_for|due_in|lease_left)_ns|pid|abandoned)":[0-9]*,?//g'

	kwq ls -l | grep full
	kwq configure full
	kwq keys --json --values --state ready,waiting,processing,dead full | sed -E "$fields"
}

# came_back: whether the queue is as it was, and the files are gone.
came_back() {
	same "$(contents)" "$was" && same "$(ls /var/lib/kwq)" ''
}

# What a reboot does: systemd stops the unit before the machine ends, and the next module is empty.
as_in_a_reboot() {
	systemctl stop kwq-state && same "$(ls /var/lib/kwq)" full.kwq && kwq rm --force full && modprobe -r kwq &&
		modprobe kwq && state_active
}

# upgrade WANTED: installs the next version of the module, whose script says WANTED.
upgrade() {
	local said
	if ! said=$(dpkg -i /root/kwq-next.deb 2>&1) || [[ $said != *"$1"* ]]; then
		echo "$said"
		return 1
	fi
}

# build_id: prints which build of the module is loaded. Debian's kernel has no srcversion.
build_id() {
	od -An -v -t x1 /sys/module/kwq/notes/.note.gnu.build-id
}

# The installed module is the next one, and the loaded one is not the first.
is_next() {
	local now

	now=$(build_id) && [ -n "$first_build" ] && [ -n "$now" ] && [ "$now" != "$first_build" ] &&
		same "$(modinfo -F next kwq)" yes
}

# Another program has a queue open meanwhile.
upgrade_in_use() {
	local before user status

	before=$(build_id) && [ -n "$before" ] || return 1
	as member kwq create other || return 1
	# Without a shell or runuser between, so that the signal reaches it.
	setpriv --reuid member --regid member --init-groups kwq get other >/dev/null &
	user=$!
	until grep -qs kwq-rights "/proc/$user/fdinfo/"*; do
		kill -0 "$user" || return 1
	done
	upgrade 'at the next boot: a program uses kwq'
	status=$?
	kill "$user" && wait "$user"
	[ "$status" = 0 ] && same "$(build_id)" "$before" && device && state_active &&
		as member kwq rm other && same "$(contents)" "$was"
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
ok 'the queues are kept over a reboot' state_active
ok 'a queue is filled' fill
was=$(contents)
first_build=$(build_id)
ok 'a reboot' as_in_a_reboot
ok 'the queue comes back' came_back
ok 'an upgrade while kwq is in use' upgrade_in_use
ok 'an upgrade' upgrade 'the new module is loaded'
ok 'the new module is loaded' is_next
ok 'the device is there' device
ok 'the queue is there, too' came_back
ok 'its owner can use it' same "$(as member kwq get --nonblock full 2>&1)" urgent
echo "1..$number"
