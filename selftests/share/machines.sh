# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# The programs of this folder source this file, in the test machine. It makes three servers of NATS, s1 to s3, and machines,
# m1 and so on. Each is a network namespace with a control group of the same name, and a cable to one bridge. Names of
# queues belong to a network namespace, so each machine has its own queue $QUEUE.
#
# Control groups of a machine: m1/share has kwq-share, m1/work the workers, m1/add the adders.

QUEUE=${QUEUE:-jobs}
TTL=${TTL:-6}
MACHINES=${MACHINES:-m1 m2 m3}
SERVERS='s1 s2 s3'
RUN=${RUN:-/tmp/share}
# The clock of ../machine/pace.h.
PACE=${PACE:-/run/kwq-pace}
# The folder of the servers' disks. They sync each record, as docs/share.md says: otherwise a server that is killed may lose
# records that it had in its own memory.
DISKS=${DISKS:-$RUN}
SYNC=${SYNC:-always}
GROUPS_OF=/sys/fs/cgroup
PATH=/share:/sbin:/usr/sbin:$PATH
export PATH
# The shell is busybox, and would take its own.
IP=/share/ip
TC=/share/tc
NFT=/share/nft

# A wait for a condition ends at this time of the machine's pace. It is far above what any of them takes.
PATIENCE=60
# It looks again so often.
LOOK_AGAIN_US=50000
# Of each log after a failure.
LINES_OF_LOGS=6

# The logs and the stores of an earlier program would be taken for those of this one.
rm -rf "$RUN"
mkdir -p "$RUN"

# ---- Output ----

nr=0
failed=0

# ok TEXT: the case has passed.
pass() {
	nr=$((nr + 1))
	echo "ok $nr - $1"
}

# fail TEXT: it has failed. The ends of all logs follow.
fail() {
	nr=$((nr + 1))
	failed=1
	echo "not ok $nr - $1"
	tell_all
}

# verdict TEXT COMMAND...: the case passes if the command succeeds.
verdict() {
	verdict_text=$1
	shift
	if "$@"; then
		pass "$verdict_text"
	else
		fail "$verdict_text"
	fi
}

tell_all() {
	for file in "$RUN"/*.times "$RUN"/*.log "$RUN"/*.server; do
		[ -s "$file" ] || continue
		echo "#   --- ${file##*/}"
		grep -vE 'Route|Router' "$file" | tail -n "$LINES_OF_LOGS" | cut -c 1-200 | sed 's/^/#   /'
	done
}

# A queue that is left would keep the module in use.
finish() {
	for name in $MACHINES $SERVERS; do
		kill_group "$name"
	done
	for name in $MACHINES; do
		on "$name" kwq rm --force "$QUEUE" "$QUEUE.outbox" 2>/dev/null
	done
	for name in $MACHINES $SERVERS; do
		$IP netns del "$name"
	done
	echo "1..$nr"
	exit $failed
}

# Seconds since the boot.
now() {
	read -r up _ </proc/uptime
	echo "$up"
}

# since TIME: seconds from then to now.
since() {
	awk -v then="$1" -v now="$(now)" 'BEGIN { printf "%.2f\n", now - then }'
}

# at_most A B: whether A is no more than B. Both may have decimals.
at_most() {
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && a + 0 <= b + 0) }'
}

say() {
	echo "# $(now) s: $*"
}

# Seconds of the clock that is as slow as the machine, of ../machine/pace.h.
paced() {
	od -An -tu4 -N4 "$PACE" | awk '{ printf "%d\n", $1 / 1000 }'
}

# slack SECONDS: so many seconds of work, on this machine.
slack() {
	awk -v seconds="$1" -v speed="$(checker speed "$PACE")" 'BEGIN { printf "%.2f\n", seconds / speed }'
}

# await COMMAND...: waits until it succeeds. Returns 1 if it never does.
await() {
	await_until=$(($(paced) + PATIENCE))
	await_rounds=0
	until "$@"; do
		await_rounds=$((await_rounds + 1))
		[ $((await_rounds % 200)) != 0 ] || say "waits for: $*"
		if [ "$(paced)" -ge $await_until ]; then
			say "never came true: $*"
			return 1
		fi
		usleep $LOOK_AGAIN_US
	done
}

# ---- Chance, from the seed in $random ----

# below N: sets $drawn to a number below N.
below() {
	random=$(((random * 1103515245 + 12345) & 0x7fffffff))
	drawn=$(((random >> 8) % $1))
}

# one WORD...: sets $one to one of the words.
one() {
	below $#
	shift $drawn
	# shellcheck disable=SC2034 # for the callers
	one=$1
}

# ---- The network ----

# cable NAME ADDRESS: a network namespace, and a control group.
cable() {
	$IP netns add "$1"
	$IP link add "$1" type veth peer name eth0 netns "$1"
	$IP link set "$1" master lan up
	$IP -n "$1" addr add "$2/24" dev eth0
	$IP -n "$1" link set eth0 up
	$IP -n "$1" link set lo up
	mkdir -p "$GROUPS_OF/$1"
}

address() {
	case $1 in
	s*) echo "10.9.0.${1#s}" ;;
	m*) echo "10.9.0.1${1#m}" ;;
	esac
}

# Of each two servers only the one with the higher number can connect to the other. If both connect at once, they close one
# connection as a duplicate. On a starved host nats-server 2.10.27 then found no peers for the stream, for minutes.
one_way_routes() {
	place "$1" $NFT add table ip routes
	place "$1" $NFT add chain ip routes output '{ type filter hook output priority 0; }'
	for peer in 2 3; do
		[ $peer -le "${1#s}" ] || place "$1" $NFT add rule ip routes output ip daddr "$(address s$peer)" tcp dport 6222 drop
	done
}

make_network() {
	for module in llc stp bridge veth libcrc32c nfnetlink nf_tables sch_netem; do
		[ ! -e /$module.ko ] || insmod /$module.ko
	done
	mkdir -p /run/netns
	# The first hook of a kind makes the kernel patch its code, and the last one that goes does so again. Under load, QEMU's
	# emulated processors have met the breakpoint of such a patch after its end: "Oops: int3". So some hooks always stay.
	$NFT add table ip stays
	for hook in input output; do
		$NFT add chain ip stays $hook "{ type filter hook $hook priority 0; policy accept; }"
	done
	$IP link add lan type bridge
	$IP addr add 10.9.0.254/24 dev lan
	$IP link set lan up
	for name in $SERVERS $MACHINES; do
		cable "$name" "$(address "$name")"
	done
	for name in $SERVERS; do
		one_way_routes "$name"
	done
	for name in $MACHINES; do
		mkdir -p "$GROUPS_OF/$name/share" "$GROUPS_OF/$name/work" "$GROUPS_OF/$name/add"
	done
}

# ---- Whole groups of processes ----

kill_group() {
	echo 1 >"$GROUPS_OF/$1/cgroup.kill"
	await is_empty "$1"
}

is_empty() {
	grep -q 'populated 0' "$GROUPS_OF/$1/cgroup.events"
}

stop_group() {
	echo 1 >"$GROUPS_OF/$1/cgroup.freeze"
	await grep -q 'frozen 1' "$GROUPS_OF/$1/cgroup.events"
}

continue_group() {
	echo 0 >"$GROUPS_OF/$1/cgroup.freeze"
}

# ---- Servers ----

start_server() {
	cat >"$RUN/$1.conf" <<-END
		server_name: $1
		listen: $(address "$1"):4222
		http: $(address "$1"):8222
		jetstream { store_dir: "$DISKS/$1.store", max_mem: 0, max_file: 1G, sync_interval: $SYNC }
		cluster {
			name: test, listen: $(address "$1"):6222
			routes: [ "nats://10.9.0.1:6222", "nats://10.9.0.2:6222", "nats://10.9.0.3:6222" ]
		}
	END
	GOMAXPROCS=1 place "$1" nats-server -c "$RUN/$1.conf" >>"$RUN/$1.server" 2>&1 &
}

# jsz SERVER: what it says about streams.
jsz() {
	fetch "$(address "$1")" 8222 '/jsz?streams=true' 2>/dev/null
}

# meta SERVER: what it says about the servers' own group.
meta() {
	fetch "$(address "$1")" 8222 /jsz 2>/dev/null | tr -d ' \n' | grep -o '"meta_cluster":{.*'
}

# Whether the servers have chosen a leader of their own, and it hears from the two others.
is_formed() {
	for name in $SERVERS; do
		meta_leader=$(meta "$name" | sed -n 's/^"meta_cluster":{"name":"test","leader":"\(s[1-3]\)".*/\1/p')
		[ -n "$meta_leader" ] || return
	done
	[ "$(meta "$meta_leader" | grep -o '"current":true' | wc -l)" = 2 ]
}

# has_routes SERVER N: whether it is connected to N others: by a pool of three connections, and one for their own account.
has_routes() {
	fetch "$(address "$1")" 8222 /routez 2>/dev/null | grep -q "\"num_routes\": $((4 * $2)),"
}

# One after the other, as docs/share.md says: servers that connect to each other at once may leave one out for good.
start_servers() {
	started=0
	for name in $SERVERS; do
		start_server "$name"
		await has_routes "$name" $started || return
		started=$((started + 1))
	done
}

# Prints the server that leads the queue's stream.
leader() {
	for name in $SERVERS; do
		leader_found=$(jsz "$name" | tr -d ' \n' | sed -n 's/.*"stream_detail":\[.*"leader":"\(s[1-3]\)".*/\1/p')
		[ -z "$leader_found" ] || { echo "$leader_found"; return; }
	done
	return 1
}

# ---- Machines ----

# with_times MACHINE: copies what its kwq-share prints, and once more with the time.
with_times() {
	while read -r line; do
		read -r up _ </proc/uptime
		echo "$line" >>"$RUN/$1.share"
		echo "$up s: $line" >>"$RUN/$1.times"
	done
}

# start_share MACHINE [OPTION...]
start_share() {
	share_of=$1
	shift
	: >>"$RUN/$share_of.share"
	LD_LIBRARY_PATH=/share place "$share_of/share" kwq-share --nats nats://10.9.0.1,nats://10.9.0.2,nats://10.9.0.3 --replicas 3 \
		--ttl "${TTL}s" --host "$share_of" --metrics "$RUN/$share_of.$QUEUE.prom" -v "$@" "$QUEUE" 2>&1 |
		with_times "$share_of" &
}

# on MACHINE COMMAND...: runs it there, in no part of it.
on() {
	on_machine=$1
	shift
	place "$on_machine" "$@"
}

# The last state that kwq-share told.
state() {
	sed -n "s/^$QUEUE: //p" "$RUN/$1.share" | tail -n 1
}

is_part() {
	case $(state "$1") in
	'takes part' | 'master of '*) return 0 ;;
	esac
	return 1
}

# Prints the machine that is the master.
master() {
	for name in $MACHINES; do
		case $(state "$name") in
		'master of '*) echo "$name"; return ;;
		esac
	done
	return 1
}

# A machine that is not the master.
not_master() {
	not_this=$(master)
	for name in $MACHINES; do
		[ "$name" = "$not_this" ] || { echo "$name"; return; }
	done
}

# master_counts N: whether the master knows N machines.
master_counts() {
	case $(state "$(master)") in
	"master of $1 machine" | "master of $1 machines") return 0 ;;
	esac
	return 1
}

# kill_machine MACHINE: as a power cut: all its processes die, and its queues with their keys are gone.
kill_machine() {
	kill_group "$1"
	continue_group "$1"
	for part in share work add; do
		continue_group "$1/$part"
	done
	on "$1" kwq rm --force "$QUEUE" "$QUEUE.outbox" 2>/dev/null
	echo "$QUEUE: dead" >>"$RUN/$1.share"
}

# Makes the network, the servers and the machines, and waits until all work together.
start_machines() {
	make_network
	start_servers || return
	await is_formed || return
	say 'the servers have a leader'
	for name in $MACHINES; do
		start_share "$name" "$@"
	done
	await_machines
}

await_machines() {
	for name in $MACHINES; do
		await is_part "$name" || return
	done
	await master_counts "$(echo "$MACHINES" | wc -w)"
}

# ---- Faults of the network ----

# partition MACHINE in|out|both: what it sends, or what it receives, is lost.
partition() {
	on "$1" $NFT add table ip test
	case $2 in
	in | both) on "$1" $NFT add chain ip test input '{ type filter hook input priority 0; policy drop; }' ;;
	esac
	case $2 in
	out | both) on "$1" $NFT add chain ip test output '{ type filter hook output priority 0; policy drop; }' ;;
	esac
}

# cut_routes SERVER: what it sends to the other servers, and what they send to it, is lost.
cut_routes() {
	on "$1" $NFT add table ip test
	for hook in input output; do
		on "$1" $NFT add chain ip test $hook "{ type filter hook $hook priority 0; }"
		on "$1" $NFT add rule ip test $hook tcp dport 6222 drop
		on "$1" $NFT add rule ip test $hook tcp sport 6222 drop
	done
}

mend() {
	on "$1" $NFT delete table ip test
}

# slow MACHINE RULE...: as of tc netem, in both directions.
slow() {
	slow_machine=$1
	shift
	$IP netns exec "$slow_machine" $TC qdisc replace dev eth0 root netem "$@"
	$TC qdisc replace dev "$slow_machine" root netem "$@"
}

quick() {
	$IP netns exec "$1" $TC qdisc del dev eth0 root
	$TC qdisc del dev "$1" root
}

# ---- Logs of workers ----

# has_run KEY [MACHINE [WHAT]]: whether a worker has begun with it, or has done WHAT.
has_run() {
	grep -qE "^[0-9.]+ ${2:-m.} ${3:-begin} $1 " "$RUN/work.log"
}

# has_run_times KEY N
has_run_times() {
	[ "$(count_runs "$1")" -ge "$2" ]
}

# count_runs KEY [MACHINE]: how often it was begun.
count_runs() {
	grep -cE "^[0-9.]+ ${2:-m.} begin $1 " "$RUN/work.log"
}

# line KEY [WHAT [N]]: the N-th line of the log, of its begins or WHAT: TIME MACHINE WHAT KEY token= requeues= ...
line() {
	grep -E "^[0-9.]+ m. ${2:-begin} $1 " "$RUN/work.log" | sed -n "${3:-1}p"
}

# part NUMBER: that word of a line.
part() {
	awk -v part="$1" '{ print $part }'
}
