# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# shellcheck shell=bash source-path=SCRIPTDIR disable=SC2317
#
# kwq share without a kernel: its arguments; and on a fake one (fake-kernel.c), with a real nats-server, the lists that commands
# ask it for, and --metrics. $NATS_SERVER names another nats-server than the one in PATH.
. ./tap.sh

# exits STATUS TEXT COMMAND...: the command ends with this status, and its standard error contains TEXT.
exits() {
	local status=$1 text=$2 got=0
	shift 2

	"$@" </dev/null >"$WORK/out" 2>"$WORK/err" || got=$?
	[ "$got" = "$status" ] && [[ $(cat "$WORK/err") == *"$text"* ]] && return
	echo "status $got"
	cat "$WORK/out" "$WORK/err"
	return 1
}

# ---- Without kwq-share ----

mkdir -p "$WORK/bin" "$WORK/libexec/kwq"
cp "$KWQ" "$WORK/bin"
ALONE=$WORK/bin/kwq
ok "without kwq-share: what to install" exits 1 \
	'kwq: share: kwq-share is missing: install the package kwq-share' "$ALONE" share --nats nats://n1 mail
ok "without it: the help" exits 0 '' "$ALONE" share -v --nats nats://n1 --help
same "is that of kwq-share" "$(head -n 2 "$WORK/out")" 'Usage: kwq share [OPTION...] --nats URL QUEUE
Make a queue a part of one that spans machines.'
same "and so is all of it" "$("$ALONE" share --help=all | grep -c -e '--stream-bytes')" 1
printf '#!/bin/sh\nprintf "%%s|" libexec "$@"\nexit 7\n' >"$WORK/libexec/kwq/kwq-share"
chmod 755 "$WORK/libexec/kwq/kwq-share"
ok "kwq-share in the libexec folder is executed" exits 7 '' "$ALONE" share 'a b' --help
same "with all arguments" "$(cat "$WORK/out")" 'libexec|a b|--help|'
sed s/libexec/beside/ "$WORK/libexec/kwq/kwq-share" >"$WORK/bin/kwq-share"
ok "one that cannot be executed" exits 1 "$WORK/bin/kwq-share: Permission denied" "$ALONE" share
chmod 755 "$WORK/bin/kwq-share"
ok "kwq-share beside the program comes first" exits 7 '' "$ALONE" share
same "it does" "$(cat "$WORK/out")" 'beside|'

if [ ! -x "$O/kwq-share" ]; then
	skip "kwq-share" "libnats-dev, libcbor-dev, libssl-dev or uthash-dev is missing"
	done_testing
fi

# ---- Arguments ----

# wrong TEXT ARGUMENT...: kwq share refuses the arguments with a usage line.
wrong() {
	local text=$1
	shift

	ok "refused: kwq share $*" exits 2 "kwq: share: $text" "$KWQ" share "$@"
	same "with how it is used" "$(tail -n 1 "$WORK/err")" 'Usage: kwq share [OPTION...] --nats URL QUEUE'
}

URL=nats://127.0.0.1:1
wrong 'QUEUE is missing' --nats $URL
wrong '"b" is one argument too many' --nats $URL a b
wrong '--nats URL is missing: the servers of NATS, as nats://HOST' a
wrong '--nats URL is missing' --nats , a
wrong '--nats: at most 32 servers' --nats "$(printf 'nats://n%d,' {1..33})" a
for url in n1 n1:4222 http://n1 nats:n1 NATS://n1 nats:// nats://:4222 nats://n1:x nats://n1:0 nats://n1:65536 nats://n1:1x tls://n1/x \
	'nats://[::1' 'nats://[::1]x'; do
	wrong "--nats $url: must be nats://HOST[:PORT], or tls://HOST[:PORT] for TLS" --nats "nats://n1,$url" a
done
wrong '--nats http://n1: must be' --nats http://me:secret@n1 a
wrong 'fd:3: must be the name of a queue, not a descriptor' --nats $URL fd:3
NAMES='this cannot be the name of a shared queue: a name has 1 to 248 bytes, and no /'
wrong "a/b: $NAMES" --nats $URL a/b
wrong ": $NAMES" --nats $URL ''
wrong "$(printf '%0249d' 0): $NAMES" --nats $URL "$(printf '%0249d' 0)"
ok "a name of 248 bytes is one" exits 6 'no /dev/kwq' env -u KWQ_TEST_QUEUES "$O/test/share/kwq-share" --nats $URL "$(printf '%0248d' 0)"
for url in "nats://me:p%40ss@127.0.0.1:1/" tls://127.0.0.1:1 'nats://[::1]:1'; do
	ok "a URL that is good: $url" exits 6 'no /dev/kwq' env -u KWQ_TEST_QUEUES "$O/test/share/kwq-share" --nats "$url" a
done
wrong '--replicas 0: must be from 1 to 5' --replicas 0
wrong '--replicas 6: must be from 1 to 5' --replicas 6
wrong '--replicas x: not a number' --replicas x
wrong '--stream-bytes x: not a number' --stream-bytes x
wrong '--ttl 1s: must be from 2s to 1h' --ttl 1s
wrong '--ttl 2h: must be from 2s to 1h' --ttl 2h
wrong '--ttl soon: must be a duration' --ttl soon
wrong '--stop-timeout soon: must be a duration' --stop-timeout soon
wrong '--host : must be 1 to 110 letters, digits, - and _' --host ''
wrong '--host a.b: must be 1 to 110 letters, digits, - and _' --host a.b
wrong "--host $(printf '%0111d' 0): must be 1 to 110 letters, digits, - and _" --host "$(printf '%0111d' 0)"
wrong '--prefetch 0: must be from 1 to 1000' --prefetch 0
wrong '--prefetch 1001: must be from 1 to 1000' --prefetch 1001
wrong '--metrics is written anew again and again: name a FILE' --metrics -
wrong '--metrics is written anew again and again: name a FILE' --metrics ''
wrong 'only one of --creds, --nkey, --user-file and --token-file can be given' --nats $URL --user-file u --nkey n a
wrong '--cert and --key belong together' --nats $URL --cert c a
wrong '--cert and --key belong together' --nats $URL --key k a
wrong '--mode 888: must be an octal number' --mode 888
wrong '--max-items 0: must be from 1' --max-items 0
wrong '--max-bytes x: not a number' --max-bytes x
wrong '--lease soon: must be a duration' --lease soon
wrong '--group-limit x: not a number' --group-limit x
wrong '--aging soon: must be a duration' --aging soon
for option in ca creds nkey user-file token-file; do
	ok "--$option names no file" exits 1 "kwq: share: --$option /nope: No such file or directory" \
		"$KWQ" share --nats $URL --$option /nope a
done
for option in ca creds; do
	ok "--$option names a folder" exits 1 "kwq: share: --$option /tmp: Is a directory" \
		"$KWQ" share --nats $URL --$option /tmp a
done
ok "--cert names no file" exits 1 "kwq: share: --cert /nope: No such file or directory" \
	"$KWQ" share --nats $URL --cert /nope --key "$KWQ" a
ok "--key names none" exits 1 "kwq: share: --key /nope: No such file or directory" \
	"$KWQ" share --nats $URL --cert "$KWQ" --key /nope a
ok "no module" exits 6 'a: no /dev/kwq' env -u KWQ_TEST_QUEUES "$O/test/share/kwq-share" --nats $URL a

# ---- The queues ----

export KWQ_TEST_QUEUES=$WORK/queues
# flags NAME...: the sum of some KWQ_CREATE_* bits
flags() {
	local name sum=0

	for name in "$@"; do
		sum=$((sum | 1 << $(sed -n "s/^#define KWQ_CREATE_$name\t.*<< \([0-9]*\)).*/\1/p" "$SRC/../uapi/linux/kwq.h")))
	done
	echo $sum
}
# Commands find kwq share by the id of the queue, and other tests run at the same time.
printf '%s\n' "jobs clockid=7 id=$(($$ * 10 + 1)) create_flags=$(flags VALUES GROUPS CHANGES OUTBOX)" \
	"jobs.outbox clockid=7 id=2 create_flags=$(flags VALUES GROUPS CHANGES)" \
	"kept create_flags=$(flags CHANGES)" \
	"mail clockid=7 id=$(($$ * 10 + 2)) create_flags=$(flags VALUES GROUPS CHANGES OUTBOX)" \
	"mail.outbox clockid=7 id=4 create_flags=$(flags VALUES GROUPS CHANGES)" 'plain clockid=7' \
	"silent clockid=7 id=$(($$ * 10 + 3)) create_flags=$(flags VALUES GROUPS CHANGES OUTBOX)" \
	"silent.outbox clockid=7 id=5 create_flags=$(flags VALUES GROUPS CHANGES)" \
	"slow clockid=1 create_flags=$(flags OUTBOX CHANGES)" \
	"still clockid=7 create_flags=$(flags OUTBOX)" "theirs uid=4711 clockid=7 create_flags=$(flags VALUES GROUPS CHANGES OUTBOX)" \
	"tricked.outbox uid=4711 clockid=7 create_flags=$(flags VALUES GROUPS CHANGES)" >"$KWQ_TEST_QUEUES"
FAKE=$O/test/share/kwq-share
COMMAND=$O/test/kwq-fake

# ---- A majority of the servers is away ----

# The list gives up when nothing came for 15 seconds. The other tests run meanwhile.
trap 'kill "$silent_server" "$silent_share"; rm -rf "$WORK"' EXIT
exec {silent}< <(exec python3 ./silent_nats.py kwq-silent 'kwq.silent.>' 2>"$WORK/silent.log")
silent_server=$!
IFS= read -r -u "$silent" silent_port
KWQ_TEST_PASSED=silent "$FAKE" --nats "nats://127.0.0.1:$silent_port" silent >"$WORK/silent-share" 2>&1 &
silent_share=$!
(
	until "$COMMAND" keys silent 2>&1 >/dev/null | tee "$WORK/silent-list" | grep -qv 'does not run here'; do
		sleep 0.1
	done
) &
list_of_silent=$!
# To be called when the other tests have ended.
check_silent() {
	wait "$list_of_silent"
	same "a list without a majority ends" "$(cat "$WORK/silent-list")" \
		"kwq: keys: silent: nobody has answered in time: are the servers up, and is there a master? It may be done still"
}

# ---- Keys in the engine ----

PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
SERVER=${NATS_SERVER:-nats-server}
if ! "$SERVER" --version >/dev/null 2>&1; then
	check_silent
	skip "the rest" "nats-server is not installed"
	done_testing
fi

# The server chooses a free port, and writes it to a file.
start_server() {
	rm -f "$WORK"/ports/*
	"$SERVER" -a 127.0.0.1 -p "${1:--1}" --ports_file_dir "$WORK/ports" -js -sd "$WORK/js" >>"$WORK/nats.log" 2>&1 &
	server=$!
	wait_for server_is_there
	URL=$(grep -ohE 'nats://[0-9.:]+' "$WORK"/ports/* | head -n 1)
	PORT=${URL##*:}
}
server_is_there() {
	grep -q 'nats://' "$WORK"/ports/* 2>/dev/null && grep -q "Server is ready" "$WORK/nats.log"
}
stop_server() {
	kill "$server"
	wait "$server"
	: >"$WORK/nats.log"
}
# wait_for COMMAND...: until it succeeds. The deadline is for what hangs, not for what is slow.
wait_for() {
	local end=$((SECONDS + 60))

	until "$@"; do
		if ((SECONDS > end)); then
			echo "# in vain: $*"
			return 1
		fi
		sleep 0.05
	done
}

mkdir "$WORK/ports"
start_server
trap 'kill "$server" "$silent_server" "$silent_share" ${keys:+"$keys"} ${share:+"$share"} ${http:+"$http"} ${prometheus:+"$prometheus"} 2>/dev/null; wait; rm -rf "$WORK"' EXIT

ok "nobody shares it here" exits 1 'kwq: keys: mail: this queue is shared, and its keys are reached by kwq share, which does not run here (systemctl start kwq-share@mail)' \
	"$COMMAND" keys mail
ok "records" "$O/test/write-records" "$URL" mail keys
# serve QUEUE: kwq share, for which the handles of commands are those of this queue.
serve() {
	KWQ_TEST_PASSED=$1 "$FAKE" --nats "$URL" mail >"$WORK/keys-share" 2>&1 &
	keys=$!
}
is_refused() {
	exits 1 'kwq: keys: mail: this needs another right to the queue' "$COMMAND" keys mail >/dev/null
}
serve jobs
ok "U9: a handle of another queue" wait_for is_refused
kill "$keys"
wait "$keys"
serve mail
can_list() {
	"$COMMAND" keys mail >"$WORK/out" 2>"$WORK/err"
}
wait_for can_list
# Times are whole hours, less what has passed since.
same "N9: all keys, in the order of their states" "$("$COMMAND" keys -l mail | sed -E 's/ +[0-9]+\.[0-9]+s/ T/g')" 'STATE              PRIO          AGE         LEFT REQUEUES LOST VALUE     PID TOKEN GROUP    KEY
ready+waiting         7 T T        1    0     -       -     - red      both
ready                 5 T            -        0    0     -       -     - red      new
ready                 0 T            -        0    0     -       -     - -        overdue
ready+waiting         0 T T        0    0     -       -     - -        owed
ready                 0 T            -        0    0     -       -     - -        now again
ready                 0 T            -       25    0     -       -     - -        revived
ready                 0 T            -        2    0     -       -     - -        known and new
ready+waiting        -3 T T        0    0     -       -     - -        low, delayed
waiting+dead          0 T T       25    0     -       -     - -        dead, added
waiting               0 T T        0    0     -       -     - -        delayed
waiting               0 T T        3    0     -       -     - -        again
waiting               4 T T        0    0     -       -     - new      later
dead                  0 T            -       25    0     -       -     - -        given\tup
        exit status 1
        no\tspace
dead                  0 T            -       25    0     -       -     - -        \xff'
same "N9: --dead: the dead ones" "$("$COMMAND" keys --dead mail)" 'given\tup
\xff
dead, added'
same "N9: --dead: and why" "$("$COMMAND" keys --dead -lH mail | sed -n '2,3p')" '        exit status 1
        no\tspace'
same "N9: one key" "$("$COMMAND" keys -k new --json mail | sed 's/"dirty_for_ns":[0-9]*/"dirty_for_ns":0/')" \
	'{"states":["ready"],"priority":5,"requeues":0,"abandoned":0,"dirty_for_ns":0,"key":"new","group":"red"}'
same "N9: its note" "$("$COMMAND" keys -k 'given	up' --note mail | head -n 1)" 'exit status 1'
ok "a key that is not there" exits 1 'kwq: keys: mail: the queue has no such key' "$COMMAND" keys -k nobody mail
"$COMMAND" keys --json mail >"$WORK/json"
same "--json: a key that is not UTF-8" "$(grep -c '"key":"\\ufffd","key_hex":"ff"' "$WORK/json")" 1
if python3 -c 'import jsonschema' 2>/dev/null; then
	sed 's/^/keys	/' "$WORK/json" >"$WORK/lines"
	ok "--json: as the schema says" python3 ./json_schema.py check "$SRC/packaging/kwq.schema.json" "$WORK/lines"
else
	skip "--json: as the schema says" "there is no python3-jsonschema"
fi
ok "N9: a dead key is kicked" exits 0 '' "$COMMAND" kick --dead mail 'given	up'
same "N9: and is ready" "$("$COMMAND" keys -k 'given	up' --json mail | grep -o '"states":[^]]*].*"requeues":[0-9]*')" \
	'"states":["ready"],"priority":0,"requeues":0'
ok "N9: a key that is ready is not dead" exits 1 'not dead' "$COMMAND" kick --dead mail new
ok "N9: a wait is ended" exits 0 '' "$COMMAND" kick --waiting mail delayed
same "N9: its key is ready" "$("$COMMAND" keys -k delayed --json mail | grep -o '"states":[^]]*]')" '"states":["ready"]'
ok "N9: a ready key is cancelled" exits 0 '' "$COMMAND" cancel mail new
ok "N9: it is gone" exits 1 'no such key' "$COMMAND" cancel mail new
ok "N9: so is a key that waits" exits 0 '' "$COMMAND" cancel mail again
ok "N9: a dead key has a status of its own" exits 8 '' "$COMMAND" cancel mail "$(printf '\377')"
ok "N9: a key that is only remembered is not in the queue" exits 1 'no such key' "$COMMAND" cancel mail known
ok "a job goes on nowhere" exits 1 'a key of it is cancelled with its job' "$COMMAND" cancel --leave-jobs mail both
ok "N9: all keys of a group" exits 0 '' "$COMMAND" cancel --all --group red mail
same "N9: are gone" "$("$COMMAND" keys --json mail | grep -c '"group":"red"')" 0
ok "N9: all of them, of which one was dead" exits 8 '' "$COMMAND" cancel --all mail
same "N9: none is left" "$("$COMMAND" keys mail)" ''
kill "$keys"
wait "$keys"
keys=

# ---- The file for Prometheus ----

METRICS=$WORK/jobs.prom
ok "a queue that exists and is not shared" exits 1 \
	'plain: this queue exists and is not shared: stop its programs, then kwq save it, kwq rm --force it, and kwq load it into plain.outbox when that is there' \
	"$FAKE" --nats "$URL" plain
for queue in slow still; do
	ok "a queue with an outbox of another kind: $queue" exits 1 "$queue: a shared queue is created by kwq share: kwq rm --force drops this one and its keys" \
		"$FAKE" --nats "$URL" $queue
done
ok "U9: a queue of another user" exits 1 'kwq: share: theirs: exists already, and belongs to 4711' "$FAKE" --nats "$URL" theirs
ok "U9: an outbox of another user" exits 1 'kwq: share: tricked.outbox: exists already, and belongs to 4711' "$FAKE" --nats "$URL" tricked
ok "a file that cannot be written" exits 1 "--metrics $WORK/no/file: No such file or directory" \
	"$FAKE" --nats "$URL" --metrics "$WORK/no/file" jobs
ok "a folder" exits 1 "--metrics $WORK: Is a directory" "$FAKE" --nats "$URL" --metrics "$WORK" jobs

# A wait for adds to be kept names the one who is missing.
missing() {
	ok "kwq debug sync $1 waits" exits 4 "$1: nobody keeps this queue; waiting for $2" "$O/test/kwq-fake" debug sync --timeout 1ms "$1"
}
missing jobs 'its manager, such as kwq share'
missing jobs.outbox 'kwq share or kwq keep'
missing kept 'kwq keep'

# Not saved over a reboot: the granted keys are those of the shared queue. Only the outbox is.
ok "kwq save --all" "$O/test/kwq-fake" save --all -v "$WORK/saved"
same "leaves out the queue, and saves its outbox" "$(cat "$WORK/said")" 'jobs: left to its manager
jobs.outbox: 0 saved
kept: 0 saved
mail: left to its manager
mail.outbox: 0 saved
plain: 0 saved
silent: left to its manager
silent.outbox: 0 saved
slow: left to its manager
still: left to its manager
theirs: left to its manager
tricked.outbox: 0 saved'

# The samples of the file without its comments and label, in one line.
samples() {
	sed -n 's/^kwq_share_\([a-z]*\){name="jobs"} /\1=/p' "$METRICS" 2>/dev/null | tr '\n' ' '
}
has() {
	[[ " $(samples)" == *" $1 "* ]]
}
# When the file was written, in ms
heartbeat() {
	sed -n 's/^kwq_share_heartbeat_seconds{name="jobs"} \([0-9]*\)\.\([0-9]*\)$/\1\2/p' "$METRICS"
}
heartbeat_is_after() {
	(($(heartbeat) > $1))
}
said_by_share() {
	grep -qxF "$1" "$WORK/said-by-share"
}
SECRET=${URL/nats:\/\//nats://me:secret@}
begin=$(date +%s%3N)
# The test may have been started by nohup, which ignores SIGHUP.
env --default-signal=HUP "$FAKE" --nats "$SECRET" --ttl 2s --metrics "$METRICS" --verbose jobs >"$WORK/said-by-share" 2>"$WORK/err-of-share" &
share=$!
ok "it becomes the master" wait_for has 'master=1'
# A new stream counts elections from the hours since 2026 on.
hours=$((($(date +%s) - 1767225600) / 3600))
epoch=$(samples | grep -o 'epoch=[0-9]*')
epoch=${epoch#*=}
ok "its epoch is higher than those of an earlier stream" test "$epoch" -ge $((hours - 1)) -a "$epoch" -le "$hours"
same "of an empty queue" "$(samples | sed 's/epoch=[0-9]*/epoch=N/')" \
	'up=1 lease=1 master=1 epoch=N held=0 adds=0 ready=0 waiting=0 booked=0 dead=0 machines=1 '
same "anybody may read the file" "$(stat -c %a "$METRICS")" 644
ok "the file tells when it was written" heartbeat_is_after $((begin - 1))
ok "it is written anew even if nothing changes" wait_for heartbeat_is_after "$(heartbeat)"
ok "and again" wait_for heartbeat_is_after "$(heartbeat)"
same "the states, in words" "$(cat "$WORK/said-by-share")" "jobs: connects to $URL
jobs: joins
jobs: master of 1 machine"
same "no alarm" "$(cat "$WORK/err-of-share")" ''
cp "$METRICS" "$WORK/master.prom"
if command -v promtool >/dev/null; then
	same "promtool finds nothing in it" "$(promtool check metrics <"$WORK/master.prom" 2>&1; echo $?)" 0
	while IFS= read -r metric; do
		ok "it has the rules' $metric" grep -q "^$metric{" "$METRICS"
	done < <(grep -ohE 'kwq_share_[a-z_]+' "$SRC/packaging/monitoring/prometheus-rules.yml" | sort -u)
else
	skip "promtool" "there is none"
fi
while IFS= read -r metric; do
	ok "kwq-share(1) has $metric" grep -q "$metric" "$SRC/man/kwq-share.1"
done < <(sed -n '/^kwq_/s/{.*//p' "$METRICS")
# The file of a killed kwq share stays, and must not be counted for ever.
ok "the dashboard looks at the age of each sample" python3 - "$SRC/packaging/monitoring/grafana-dashboard.json" <<-'END'
	import json, sys

	with open(sys.argv[1]) as f:
	    queries = [t["expr"] for p in json.load(f)["panels"] for t in p.get("targets", ())]
	old = [q for q in queries if "kwq_share_" in q and "time() - kwq_share_heartbeat_seconds < " not in q]
	sys.exit("\n".join(old) if old or not any("kwq_share_" in q for q in queries) else 0)
END
ok "keys of other machines" "$O/test/write-records" "$URL" jobs idle
ok "the dead ones are counted" wait_for has 'dead=2'
ok "and those that wait" wait_for has 'waiting=3'
if command -v prometheus >/dev/null; then
	# Serves the file as node_exporter would.
	exec {serving}< <(exec python3 -u -m http.server --bind 127.0.0.1 --directory "$WORK" 0 2>"$WORK/http.log")
	http=$!
	IFS= read -r -u "$serving" said_by_http
	[[ $said_by_http =~ port\ ([0-9]+) ]]
	cat >"$WORK/prometheus.yml" <<-END
		global:
		  scrape_interval: 1s
		scrape_configs:
		  - job_name: kwq
		    metrics_path: /jobs.prom
		    static_configs:
		      - targets: ['127.0.0.1:${BASH_REMATCH[1]}']
	END
	prometheus --config.file="$WORK/prometheus.yml" --storage.tsdb.path="$WORK/tsdb" \
		--web.listen-address=127.0.0.1:0 --log.level=warn >"$WORK/prometheus.log" 2>&1 &
	prometheus=$!
	ok "every query of the dashboard has an answer" python3 "$PWD/scrape.py" dashboard "$prometheus" \
		"$SRC/packaging/monitoring/grafana-dashboard.json" kwq_share_
	kill "$http" "$prometheus"
	wait "$prometheus"
	exec {serving}<&-
else
	skip "Prometheus" "there is none"
fi
ok "the stream is purged" "$O/test/write-records" "$URL" jobs purge
ok "the machine tells of it" wait_for grep -qxF \
	'kwq: share: jobs: the stream was purged or has lost records: the keys that it had are lost, and this machine joins again' \
	"$WORK/err-of-share"
ok "it joins again, and is elected under an epoch that grows" wait_for has "epoch=$((epoch + 1))"
ok "its keys are gone" wait_for has 'dead=0'
ok "and it is the master again" wait_for has 'master=1'
: >"$WORK/err-of-share"
inode=$(stat -c %i "$METRICS")
stop_server
ok "without the engine: down" wait_for has 'up=0'
ok "it is no master then" has 'master=0'
ok "the state has the cause" wait_for said_by_share \
	"jobs: no engine: $URL: Connection refused; adds wait here, and no keys are handed out"
ok "and so has a message, which names the queue" grep -qxF "kwq: share: jobs: $URL: Connection refused" "$WORK/err-of-share"
sed -i 's/^jobs.outbox/& items=7/' "$KWQ_TEST_QUEUES"
ok "all adds in the outbox are counted" wait_for has 'adds=7'
ok "a machine that has lost its lease" wait_for has 'lease=0'
same "keeps the epoch" "$(samples | grep -o 'epoch=[0-9]*')" "epoch=$((epoch + 1))"
ok "the end of the lease" wait_for grep -qxF \
	'kwq: share: jobs: the lease is over: the keys of this machine are taken back, and run again on one that reaches the engine' \
	"$WORK/err-of-share"
same "the master's numbers are not there" "$(samples | grep -oE 'ready|waiting|booked|dead|machines')" ''
ok "the file is another one" test "$inode" != "$(stat -c %i "$METRICS")"
start_server "$PORT"
ok "it comes back" wait_for has 'up=1'
ok "is told of" wait_for grep -qxF 'kwq: share: jobs: the engine is there again' "$WORK/err-of-share"
ok "it is the master again" wait_for has 'master=1'
kill -HUP "$share"
wait "$share"
same "SIGHUP ends it, as SIGINT and SIGTERM do" $? 0
same "with a line of what it gave back" "$(tail -n 2 "$WORK/said-by-share")" 'jobs: leaves
jobs: left; 0 keys were given back'
share=
ok "the file is gone" test ! -e "$METRICS"
same "nothing is beside it" "$(find "$WORK" -name 'jobs.prom?*')" ''
# Here, and not by the new process, which may be late: what the last one said would count.
: >"$WORK/said-by-share"
"$FAKE" --nats "$URL" --ttl 1h --verbose jobs >>"$WORK/said-by-share" 2>"$WORK/err-of-share" &
share=$!
ok "with a long lease it is tried again soon, too" wait_for said_by_share 'jobs: master of 1 machine'
ok "a record of a newer version comes" "$O/test/write-records" "$URL" jobs newer
ok "it is told of" wait_for grep -q 'is of a newer kwq share, and is skipped here' "$WORK/err-of-share"
kill "$share"
wait "$share"
same "and ends nobody" "$(tail -n 1 "$WORK/said-by-share")" 'jobs: left; 0 keys were given back'
share=

sed -i 's/^jobs/used/' "$KWQ_TEST_QUEUES"
echo "orphan clockid=7 id=3 create_flags=$(flags VALUES GROUPS CHANGES OUTBOX)" >>"$KWQ_TEST_QUEUES"
ok "a queue whose outbox was removed" exits 1 'kwq: share: orphan: its outbox orphan.outbox was removed, so adds would be lost' \
	"$FAKE" --nats "$URL" orphan
echo "odd.outbox clockid=7 id=4" >>"$KWQ_TEST_QUEUES"
ok "an outbox of another kind" exits 1 \
	'kwq: share: odd.outbox: an outbox is created by kwq share: kwq save keeps the keys of this queue, and kwq rm --force drops them' \
	"$FAKE" --nats "$URL" odd
ok "--sync, and an outbox whose adds do not wait" exits 1 \
	'kwq: share: used.outbox: this outbox was created without --sync, so adds would not wait: start kwq share without --sync, do kwq debug sync used, stop it, and do kwq rm --force used used.outbox; then start it with --sync' \
	"$FAKE" --nats "$URL" --sync used
sed -i '/^used/s/$/ max_items=7 max_bytes=9 group_limit=3 lease=5000000000 aging=0/' "$KWQ_TEST_QUEUES"
for option in '--max-items 8' '--max-bytes 10' '--group-limit 4' '--lease 6s' '--aging 1s'; do
	# shellcheck disable=SC2086 # an option and its value
	ok "$option, and queues that have another value" exits 1 \
		"kwq: share: used: ${option%% *} has no effect: the queue was created with another value, and has to be made anew" \
		"$FAKE" --nats "$URL" --metrics "$WORK/no/file" $option used
done
ok "the values that they have" exits 1 "kwq: share: --metrics $WORK/no/file: No such file or directory" \
	"$FAKE" --nats "$URL" --metrics "$WORK/no/file" --max-items 7 --max-bytes 9 --group-limit 3 --lease 5s used
ok "without a word" [ "$(wc -l <"$WORK/err")" = 1 ]
ok "the last election that is possible" "$O/test/write-records" "$URL" used last
ok "after that no master can be elected" exits 1 'kwq: share: used: no master can be elected: the queue has had 2097151 elections' \
	"$FAKE" --nats "$URL" --ttl 2s used

check_silent

done_testing
