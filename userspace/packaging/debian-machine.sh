#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
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

# build_id: prints which build of the module is loaded. Debian's kernel has no srcversion.
build_id() {
	od -An -v -t x1 /sys/module/kwq/notes/.note.gnu.build-id
}

# build_id_of FILE: prints the same of a file.
build_id_of() {
	local plain=/tmp/kwq-module.ko

	case $1 in
	*.xz) xz -dc "$1" >"$plain" ;;
	*) cp "$1" "$plain" ;;
	esac || return 1
	objcopy -O binary -j .note.gnu.build-id "$plain" /tmp/kwq-build-id && od -An -v -t x1 /tmp/kwq-build-id
}

dkms_module() {
	local file loaded
	file=$(modinfo -n kwq) && same "${file%.xz}" "/lib/modules/$(uname -r)/updates/dkms/kwq.ko" &&
		loaded=$(build_id) && [ -n "$loaded" ] && same "$loaded" "$(build_id_of "$file")"
}

accounts() {
	useradd --groups kwq member && useradd outsider
}

# A member of the group uses a queue from the shell: create, add, coalesce, get, done, remove.
use() {
	as member kwq create jobs &&
		as member kwq add jobs red green red &&
		same "$(as member kwq stat jobs ready)" 2 &&
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
		[[ $said == *'permission denied: /dev/kwq is for the group kwq'* ]] ||
			{ echo "kwq $command: $said"; return 1; }
	done
	# The mode of a queue refuses a member of the group.
	kwq create --mode 600 roots &&
		! said=$(as member kwq add roots blue 2>&1) && kwq rm roots &&
		same "$said" 'kwq: add: roots: permission denied: check the mode of the queue (see kwq ls -l)'
}

# ---- U7: kwq run as a service ----

UNIT=kwq-run@svc

# await WHAT COMMAND...: waits until the command prints WHAT.
await() {
	local wanted=$1 got tries
	shift

	for ((tries = 0; tries < 300; tries++)); do
		got=$("$@" 2>&1)
		[ "$got" != "$wanted" ] || return 0
		sleep 0.2
	done
	same "$got" "$wanted"
}

# of_unit PROPERTY
of_unit() {
	systemctl show --value -p "$1" "$UNIT"
}

# keys STATE: prints the keys in this state, in a line.
keys() {
	kwq keys --state "$1" svc | sort | xargs
}

# The job of a key. The second argument is two words if systemd has kept the quotes.
write_job() {
	cat >/usr/local/bin/kwq-job <<-'END'
		#!/bin/sh
		echo "$2 of $1"
		echo "<3>a complaint" >&2
		case $1 in
		bad) exit 3 ;;
		long) exec sleep infinity ;;
		brief) read -r line </run/kwq-check ;;
		sandbox)
			[ "$(id -u)" != 0 ] && echo 'not root'
			{ true >/etc/kwq-check; } 2>/dev/null || echo 'no file in /etc'
			{ true </dev/nvme0n1; } 2>/dev/null || echo 'no disk'
			grep -q '^CapBnd:.0*$' /proc/self/status && echo 'no capabilities'
			env | grep -e NOTIFY_SOCKET -e WATCHDOG || echo 'nothing of systemd'
			;;
		esac
	END
	chmod 755 /usr/local/bin/kwq-job
	mkfifo -m 666 /run/kwq-check
	mkdir -p /etc/kwq "/etc/systemd/system/$UNIT.service.d"
	echo 'jobs 2' >/etc/kwq/svc.conf
	cat >"/etc/systemd/system/$UNIT.service.d/test.conf" <<-'END'
		[Service]
		Environment="COMMAND=/usr/local/bin/kwq-job {} 'the work'"
		Environment="RUN_OPTIONS=--max-attempts 1 --config /etc/kwq/svc.conf"
		WatchdogSec=10s
		RestartSec=0
		TimeoutStopSec=5s
	END
	systemctl daemon-reload
}

# systemd reads the units, and the example, without a complaint.
units_are_right() {
	same "$(systemd-analyze verify "$UNIT.service" kwq-queue@svc.service kwq-keep@svc.service kwq-share@svc.service 2>&1 | grep -i kwq)" '' &&
		test -f '/usr/share/doc/kwq/examples/kwq-run@thumbnails.service.d/thumbnails.conf'
}

unit_starts() {
	write_job && units_are_right && systemctl start "$UNIT" && same "$(systemctl is-active "$UNIT")" active &&
		same "$(of_unit OOMPolicy)" continue &&
		same "$(kwq ls -l | awk '$NF == "svc" { print $1, $2, $3 }')" 'rwxrwx--- root kwq' &&
		[[ $(of_unit StatusText) == '0 of 2 jobs run; '* ]]
}

# journal KEY: prints the entries of a key: priority, stream, attempt, identifier, unit, message.
journal() {
	local line field text

	journalctl --sync
	journalctl -o json KWQ_QUEUE=svc "KWQ_KEY=$1" | while IFS= read -r line; do
		text=
		for field in PRIORITY KWQ_STREAM KWQ_ATTEMPT SYSLOG_IDENTIFIER _SYSTEMD_UNIT MESSAGE; do
			if [[ $line =~ \"$field\":\"([^\"]*)\" ]]; then
				text+="${BASH_REMATCH[1]} "
			else
				text+='- '
			fi
		done
		echo "${text% }"
	done
}

journal_fields() {
	local by="1 kwq-job $UNIT.service"

	as member kwq add svc good bad && await bad keys dead && await '' keys ready,processing &&
		same "$(journal good | sort)" "$(printf '%s\n' "3 stderr $by a complaint" "6 stdout $by the work of good")" &&
		same "$(journal bad | sort)" "$(printf '%s\n' "3 stderr $by a complaint" \
			"4 - $by exit status 3; dead after 1 try" "6 stdout $by the work of bad")"
}

sandbox() {
	as member kwq add svc sandbox && await '' keys ready,processing,waiting &&
		same "$(journal sandbox | sed -n 's/^6.*service //p')" "$(printf '%s\n' 'the work of sandbox' 'not root' \
			'no file in /etc' 'no disk' 'no capabilities' 'nothing of systemd')"
}

# jobs_now: how many jobs may run.
jobs_now() {
	kwq run-ctl --json svc | sed -E 's/.*"jobs":([0-9]+).*/\1/'
}

reload() {
	echo 'jobs 3' >/etc/kwq/svc.conf
	systemctl reload "$UNIT" && same "$(jobs_now)" 3 || return 1
	echo 'jobs many' >/etc/kwq/svc.conf
	if systemctl reload "$UNIT"; then
		echo 'a wrong file is no error'
		return 1
	fi
	same "$(jobs_now) $(systemctl is-active "$UNIT")" '3 active' && kwq run-ctl -j 4 svc && same "$(jobs_now)" 4 &&
		[[ $(of_unit StatusText) == '0 of 4 jobs run; '* ]]
}

# A worker that hangs is ended and started again. Its key comes back.
watchdog() {
	local old

	echo 'jobs 2' >/etc/kwq/svc.conf
	old=$(of_unit MainPID)
	same "$(of_unit NRestarts)" 0 && as member kwq add svc long && await long keys processing && kill -STOP "$old" &&
		await 1 of_unit NRestarts && await long keys processing && [ "$(of_unit MainPID)" != "$old" ] &&
		same "$(systemctl is-active "$UNIT")" active
}

# The jobs outlive TimeoutStopSec=, and are killed.
stop_kills() {
	systemctl stop "$UNIT"
	same "$(keys processing)" '' && same "$(keys ready)" long && kwq cancel --leave-jobs svc long
}

# The jobs end in time, and the unit has not failed.
stop_waits() {
	echo 'jobs 2' >/etc/kwq/svc.conf
	systemctl reset-failed "$UNIT" 2>/dev/null
	systemctl start "$UNIT" && as member kwq add svc brief && await brief keys processing &&
		systemctl stop --no-block "$UNIT" && await deactivating systemctl is-active "$UNIT" &&
		as member kwq add svc later && echo go >/run/kwq-check && await inactive systemctl is-active "$UNIT" &&
		same "$(of_unit Result)" success && same "$(keys ready)" later && same "$(keys processing)" ''
}

# A unit without a command fails, and stays so.
no_command() {
	local UNIT=kwq-run@nothing

	if systemctl start "$UNIT"; then
		echo 'it has started'
		return 1
	fi
	same "$(systemctl is-failed "$UNIT") $(of_unit NRestarts)" 'failed 0' && journalctl --sync &&
		journalctl -u "$UNIT" | grep 'CMD is missing' && kwq rm nothing
}

# ---- N7: kwq share as a service ----

# A server of NATS that listens here only, and keeps its store in memory. Debian's own has the usual port, and no JetStream.
start_nats() {
	systemd-run --quiet --unit nats-test nats-server -a 127.0.0.1 -p 14222 -js -sd /run/nats-test &&
		await active systemctl is-active nats-test
}

# Writes the job: it notes its key.
write_shared_job() {
	cat >/usr/local/bin/kwq-shared-job <<-'END'
		#!/bin/sh
		echo "$1" >>/tmp/shared-run
	END
	chmod 755 /usr/local/bin/kwq-shared-job
}

# Where this unit is enabled and cannot start, nobody makes an ordinary queue of the name.
no_ordinary_queue() {
	systemctl enable "$1" && ! systemctl start "$1" && systemctl start kwq-queue@typo && same "$(kwq ls)" '' &&
		systemctl disable "$1" && systemctl reset-failed "$1" && systemctl start kwq-queue@typo &&
		same "$(kwq ls)" typo && kwq rm typo
}

# No drop-in names a server of NATS.
no_queue_for_share() {
	no_ordinary_queue kwq-share@typo
}

no_queue_for_keep() {
	mkdir -p /etc/systemd/system/kwq-keep@typo.service.d
	printf '[Service]\nEnvironment=KEEP_OPTIONS=--interval=typo\n' >/etc/systemd/system/kwq-keep@typo.service.d/typo.conf
	systemctl daemon-reload
	no_ordinary_queue kwq-keep@typo
}

# The queue is there when the unit has started. Members of the group may use it.
share_starts() {
	local UNIT=kwq-share@shared

	mkdir -p "/etc/systemd/system/$UNIT.service.d"
	cat >"/etc/systemd/system/$UNIT.service.d/test.conf" <<-'END'
		[Service]
		Environment="SHARE_OPTIONS=--nats nats://127.0.0.1:14222 --ttl 4s"
		WatchdogSec=10s
		RestartSec=0
	END
	write_shared_job && systemctl daemon-reload && systemctl start "$UNIT" &&
		same "$(systemctl is-active "$UNIT")" active &&
		same "$(kwq ls -l | awk '$NF == "shared" { print $1, $2, $3 }')" 'rwxrwx--- root kwq' &&
		await 'master of 1 machine' of_unit StatusText
}

# Runs what the shared queue has, until it has run a key.
shared_run() {
	local run tries

	# Without a shell or runuser between, so that the signal reaches it.
	setpriv --reuid member --regid member --init-groups kwq run shared -- /usr/local/bin/kwq-shared-job {} &
	run=$!
	for ((tries = 0; tries < 300; tries++)); do
		! grep -qxs "$1" /tmp/shared-run || break
		sleep 0.2
	done
	kill "$run"
	wait "$run"
	grep -qx "$1" /tmp/shared-run
}

share_works() {
	as member kwq add --sync shared one && shared_run one
}

# One that hangs is ended and started again. What it had stored comes out.
share_watchdog() {
	local UNIT=kwq-share@shared old

	old=$(of_unit MainPID)
	as member kwq add --sync shared two && kill -STOP "$old" && await 1 of_unit NRestarts &&
		await 'master of 1 machine' of_unit StatusText && shared_run two
}

share_stops() {
	local UNIT=kwq-share@shared

	as member kwq add --sync shared three && same "$(as member kwq keys shared)" three && systemctl stop "$UNIT" &&
		same "$(of_unit Result)" success &&
		kwq rm --force shared shared.outbox && systemctl stop nats-test
}

# state_active: whether the queues will be saved at shutdown.
state_active() {
	udevadm settle && systemctl start kwq-state && same "$(systemctl is-active kwq-state)" active
}

# fill: makes a queue with keys of each kind, which belongs to a user.
fill() {
	as member kwq create --groups --retry fast-slow:0s*0,0s --dead-after 3 -m 640 full &&
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
	kwq keys --json --value --state ready,waiting,processing,dead full | sed -E "$fields"
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
ok 'the examples of docs/python.md run' as member python3 -m doctest /usr/local/share/kwq-python.md
ok 'a worker starts as a service, with its queue' unit_starts
ok 'the output of its jobs is in the journal with their keys' journal_fields
ok 'its jobs are in a sandbox' sandbox
ok 'it reads its configuration again' reload
ok 'the watchdog ends and starts it' watchdog
ok 'a stop kills the jobs in the end, and their keys come back' stop_kills
ok 'a stop waits for the jobs' stop_waits
ok 'a worker without a command fails' no_command
ok 'its queue is removed' kwq rm --force svc
ok 'no ordinary queue takes the place of a shared one' no_queue_for_share
ok 'no ordinary queue takes the place of a kept one' no_queue_for_keep
ok 'a server of NATS starts' start_nats
ok 'a queue is shared by a service' share_starts
ok 'the group can use it' share_works
ok 'the watchdog ends and starts its service, too' share_watchdog
ok 'a stop leaves the keys to the server' share_stops
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
