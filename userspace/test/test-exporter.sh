# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# shellcheck shell=bash source-path=SCRIPTDIR disable=SC2317
#
# M1 to M4: kwq exporter, stat and top with queues from a file (fake-kernel.c), and with a real Prometheus server.
. ./tap.sh

FAKE=$O/test/kwq-fake
SCRAPE=(python3 "$PWD/scrape.py")
export KWQ_TEST_QUEUES=$WORK/queues

# queues LINE...: replaces all queues at once.
queues() {
	printf '%s\n' "$@" >"$KWQ_TEST_QUEUES.part"
	mv "$KWQ_TEST_QUEUES.part" "$KWQ_TEST_QUEUES"
}

ALPHA='alpha ready=3 adds=7 retries=2 oldest_ready=1500000000 queue_duration.0=4 queue_duration.3=2
queue_duration.10=1 queue_duration.sum=1234567890 work_duration.4=100 work_duration.sum=500000000 max_items=1000'
ALPHA+=" id=7 last_change=9 kept=3 followers=1"
ALPHA=${ALPHA//$'\n'/ }
ODD='odd\xff ready=1'
QUOTED='q"\x5c\x0a{} waiting=5 state=1'
SECRET='secret open=13 ready=9'
BROKEN='broken stat=22 ready=9'
queues "$ALPHA" "$BROKEN" "$ODD" "$QUOTED" "$SECRET"

# fails STATUS TEXT COMMAND...
fails() {
	local status=$1 text=$2 got=0
	shift 2
	"$@" >"$WORK/out" 2>"$WORK/err" || got=$?
	[ "$got" = "$status" ] && grep -qF -- "$text" "$WORK/err" && return
	echo "status $got"
	cat "$WORK/err"
	return 1
}

depths() {
	sed -n 's/^workqueue_depth{//p' "$@"
}

# Runs a command that cannot write to files. Its messages go through a pipe.
no_room() {
	(
		trap '' XFSZ
		ulimit -f 0
		exec "$FAKE" "$@"
	) 2>&1 | cat >&2
	return "${PIPESTATUS[0]}"
}

# ---- To a file ----

ok "M4: --textfile" "$FAKE" exporter --textfile "$WORK/kwq.prom"
same "M1: queues that may be asked, and no others" "$(depths "$WORK/kwq.prom")" \
	'name="alpha"} 3
name="odd\\xff"} 1
name="q\"\\\n{}"} 0'
same "M4: - is standard output" "$("$FAKE" exporter --textfile -)" "$(cat "$WORK/kwq.prom")"
same "M4: the queues that are given, each once" \
	"$("$FAKE" exporter --textfile - odd$'\xff' gone name:alpha alpha | depths)" \
	'name="alpha"} 3
name="odd\\xff"} 1'
same "M4: none of them, nothing" "$("$FAKE" exporter --textfile - gone)" ''
ok "M4: a name that no queue can have" fails 1 'a/b: names have no slash' \
	"$FAKE" exporter --textfile - a/b
ok "M4: a descriptor that is not open" fails 1 'fd:99: not an open descriptor' \
	"$FAKE" exporter --textfile - fd:99
ok "M4: no module" fails 6 'no /dev/kwq' env -u KWQ_TEST_QUEUES "$FAKE" exporter --textfile -

"$FAKE" exporter --controller-runtime --textfile "$WORK/controller.prom"
same "M4: --controller-runtime: both labels" "$(depths "$WORK/controller.prom" | sed -n 1p)" \
	'name="alpha",controller="alpha"} 3'
same "M4: and its names" "$(grep -c '^controller_runtime_.*{name="alpha",controller="alpha"' "$WORK/controller.prom")" 16
same "M4: none of that without the option" "$(grep -c controller "$WORK/kwq.prom")" 0

# promtool runs the tests where there is one.
same "M4: each alert has a test in which it comes" \
	"$(sed -n "s/.*- labels: '{alertname=\"\([A-Za-z]*\)\".*/\1/p" "$SRC/test/prometheus-rules-test.yml" | sort -u)" \
	"$(sed -n 's/.*- alert: //p' "$SRC/packaging/monitoring/prometheus-rules.yml" | sort)"
if command -v promtool >/dev/null; then
	same "M1: promtool finds nothing in it either" \
		"$(promtool check metrics <"$WORK/controller.prom" 2>&1; echo $?)" 0
	cp "$SRC/packaging/monitoring/prometheus-rules.yml" "$SRC/test/prometheus-rules-test.yml" "$WORK"
	ok "M4: the alert rules are right" promtool check rules "$WORK/prometheus-rules.yml"
	ok "M4: each alert comes, and none for a healthy queue" promtool test rules "$WORK/prometheus-rules-test.yml"
	# shellcheck disable=SC2013 # names have no spaces
	for metric in $(grep -ohE 'workqueue_[a-z_]+' "$WORK/prometheus-rules.yml" | sort -u); do
		ok "M4: the exporter has the rules' $metric" grep -q "^$metric{" "$WORK/kwq.prom"
	done
	# shellcheck disable=SC2013
	for alert in $(sed -n '/- name: kwq-share/q; s/.*- alert: //p' "$WORK/prometheus-rules.yml"); do
		ok "M4: $alert says on which host" grep -qzP "alert: $alert\n(?!.*alert:)(.*\n)*?.*summary: .*labels.instance" \
			"$WORK/prometheus-rules.yml"
	done
	same "M1: promtool finds nothing in it" "$(promtool check metrics <"$WORK/kwq.prom" 2>&1; echo $?)" 0
else
	skip "promtool" "there is none"
fi

same "M4: anybody may read it" "$(umask 077; "$FAKE" exporter --textfile "$WORK/kwq.prom"
	stat -c %a "$WORK/kwq.prom")" 644
before=$(stat -c %i "$WORK/kwq.prom")
exec 8<"$WORK/kwq.prom"
queues "$ODD"
ok "M4: written anew" "$FAKE" exporter --textfile "$WORK/kwq.prom"
same "M4: whoever reads the old one has it whole" "$(depths <&8 | wc -l)" 3
exec 8<&-
ok "M4: the new one is another" test "$before" != "$(stat -c %i "$WORK/kwq.prom")"
cp "$WORK/kwq.prom" "$WORK/old"
ok "M4: what cannot be written" fails 1 'kwq.prom: File too large' \
	no_room exporter --textfile "$WORK/kwq.prom"
ok "M4: leaves the old file" cmp "$WORK/old" "$WORK/kwq.prom"
same "M4: and nothing beside it" "$(find "$WORK" -name 'kwq.prom?*')" ''
ok "M4: a folder that is not there" fails 1 'No such file or directory' \
	"$FAKE" exporter --textfile "$WORK/no/kwq.prom"
mkdir "$WORK/folder"
ok "M4: a folder" fails 1 'Is a directory' "$FAKE" exporter --textfile "$WORK/folder"
mkfifo "$WORK/pipe"
ok "M4: a pipe stays one" fails 1 'Invalid argument' "$FAKE" exporter --textfile "$WORK/pipe"
ok "M4: it does" test -p "$WORK/pipe"

# Standard output is a pipe, so that the test can wait for each write.
exec {written}< <(exec "$FAKE" exporter --textfile - --interval 1ms)
exporter=$!
# next_depth PATTERN: reads until a depth matches.
next_depth() {
	local line
	while IFS= read -r -t 60 -u "$written" line; do
		# shellcheck disable=SC2053 # it is a pattern
		[[ $line != $1 ]] || return 0
	done
	return 1
}
ok "M4: --interval" next_depth 'workqueue_depth{name="odd*"} 1'
queues "beta ready=2"
ok "M4: again and again" next_depth 'workqueue_depth{name="beta"} 2'
kill -TERM "$exporter"
wait "$exporter"
same "M4: SIGTERM ends it" $? 0
exec {written}<&-

# ---- HTTP ----

if "$FAKE" exporter --listen x 2>&1 | grep -q 'no HTTP'; then
	skip "HTTP" "libmicrohttpd is not there"
	done_testing
fi
for address in x 127.0.0.1 127.0.0.1: 127.0.0.1:65536 127.0.0.1:x 256.0.0.1:1 ::1:9950 '[::1:9950' localhost:9950; do
	ok "refused: --listen $address" fails 2 'must be an address and a port' "$FAKE" exporter --listen "$address"
done

queues "$ALPHA" "$BROKEN" "$ODD" "$QUOTED" "$SECRET"
mkfifo "$WORK/messages"
# start ARGUMENT...: starts an exporter and sets exporter and port.
start() {
	"$FAKE" exporter "$@" 2>"$WORK/messages" &
	exporter=$!
	IFS= read -r message <"$WORK/messages"
	port=${message##*:}
	port=${port%/metrics}
}
http() {
	"${SCRAPE[@]}" http "$port" "$@"
}

start --listen 127.0.0.1:0
same "M4: it tells where it listens" "$message" \
	"kwq: exporter: listening on http://127.0.0.1:$port/metrics"
same "M4: GET /metrics" "$(http GET /metrics)" \
	"200 text/plain; version=0.0.4; charset=utf-8 -
$("$FAKE" exporter --textfile -)"
same "M4: HEAD /metrics" "$(http HEAD /metrics)" "200 text/plain; version=0.0.4; charset=utf-8 -"
ok "M4: / has a link" grep -q 'href="/metrics"' <(http GET /)
same "M4: another page" "$(http GET /other | sed -n 1p)" '404 text/plain -'
same "M4: another method" "$(http POST /metrics | sed -n 1p)" '405 text/plain GET, HEAD'
ok "M4: the port is taken" fails 1 'Address already in use' \
	"$FAKE" exporter --listen "127.0.0.1:$port"
queues "$ODD"
same "M3: what is there at the scrape" "$(http GET /metrics | depths)" 'name="odd\\xff"} 1'
queues "$ALPHA" "$ODD" "$QUOTED" beta
ok "M4: scrapes leave no memory and no descriptors" "${SCRAPE[@]}" many "$port" "$exporter"
ok "M4: who connects and is silent keeps nobody out for ever" "${SCRAPE[@]}" idle "$port"
kill -TERM "$exporter"
wait "$exporter"
same "M4: SIGTERM ends it" $? 0
ok "M4: nobody listens then" fails 1 refused "${SCRAPE[@]}" http "$port" GET /

start --listen '[::1]:0'
if [[ $message = *listening* ]]; then
	same "M4: IPv6" "$message" "kwq: exporter: listening on http://[::1]:$port/metrics"
	kill -INT "$exporter" # a shell's & ignores it
	kill -HUP "$exporter"
	wait "$exporter"
	same "M4: SIGHUP ends it, and an ignored SIGINT does not" $? 0
else
	skip "IPv6" "$message"
fi

# ---- Prometheus ----

if command -v prometheus >/dev/null; then
	start --listen 127.0.0.1:0
	cat >"$WORK/prometheus.yml" <<-END
		global:
		  scrape_interval: 1s
		scrape_configs:
		  - job_name: kwq
		    static_configs:
		      - targets: ['127.0.0.1:$port']
	END
	prometheus --config.file="$WORK/prometheus.yml" --storage.tsdb.path="$WORK/tsdb" \
		--web.listen-address=127.0.0.1:0 --log.level=warn >"$WORK/prometheus.log" 2>&1 &
	server=$!
	ok "M4: Prometheus scrapes it" "${SCRAPE[@]}" prometheus "$server" \
		workqueue_depth 'workqueue_queue_duration_seconds_bucket{name="alpha",le="1e-06"}' \
		'round(histogram_quantile(0.5, workqueue_work_duration_seconds_bucket{name="alpha"}), 1e-6)' \
		'workqueue_queue_duration_seconds_sum{name="alpha"}' \
		'workqueue_waiting{name=~".*\n.*"}' 'count(count by (__name__) ({job="kwq",__name__=~"workqueue_.*"}))'
	cp "$WORK/said" "$WORK/series"
	same "M1: what it has then" "$(cat "$WORK/series")" 'alpha=3 beta=0 odd\xff=1 q"\
{}=0
alpha=4
alpha=0.0055
alpha=1.23456789
q"\
{}=5
=46'
	ok "M4: every query of the dashboard has an answer" "${SCRAPE[@]}" dashboard "$server" \
		"$SRC/packaging/monitoring/grafana-dashboard.json" workqueue_
	kill "$exporter" "$server"
	wait "$exporter" "$server"
else
	skip "Prometheus" "there is none"
fi

# Hosts may have queues of one name.
ok "M4: the dashboard keeps hosts apart" python3 - "$SRC/packaging/monitoring/grafana-dashboard.json" <<-'END'
	import json, re, sys

	with open(sys.argv[1], encoding='utf-8') as file:
	    targets = [t for p in json.load(file)['panels'] for t in p.get('targets', ()) if 'workqueue_' in t['expr']]
	bad = [t['expr'] for t in targets if '{{instance}}' not in t['legendFormat'] or
	       re.search(r'workqueue_\w+(?!\w|{[^}]*instance=~"\$instance")', t['expr']) or
	       any('instance' not in by for by in re.findall(r'by \(([^)]*)\)', t['expr']))]
	sys.exit('\n'.join(bad) if bad or len(targets) < 15 else 0)
END

# ---- For people ----

same "M1: stat --json is JSON with all of it" "$("$FAKE" stat --json alpha | python3 -c '
import json, sys
s = json.load(sys.stdin)
q = s["queue_duration"]
print(s["ready"], s["retries"], s["oldest_ready"], q["count"], q["sum"], q["bounds"][0],
      q["bounds"][-1], q["counts"], q["p50"], q["p99"], s["lateness"]["p50"])')" \
	'3 2 1500000000 7 1234567890 1000 1000000000000 [4, 0, 0, 2, 0, 0, 0, 0, 0, 0, 1] 875 1000000000000 None'
same "M1: stat shows a histogram" "$("$FAKE" stat alpha | sed -n '/^queue_duration/,/100us/p; /^work_duration/,$p')" \
	'queue_duration  7, mean 176ms, p50 875ns, p99 >1000s
  <=   1us            4  ########################################
  <=  10us            0
  <= 100us            0
work_duration   100, mean 5ms, p50 5.50ms, p99 9.91ms
  <=  10ms          100  ########################################
lateness        none'
same "O3: stat shows no lease" "$("$FAKE" stat alpha | awk '$1 == "lease" || $1 == "expired" { print $2 }' |
	tr '\n' ' ')" '0 none '
queues 'leased lease=1234567000 abandoned=9 expired=7'
same "O3: stat shows how long the lease is, exactly, and how many ended" \
	"$("$FAKE" stat leased | awk '$1 == "lease" || $1 == "expired" { print $2 }' | tr '\n' ' ')" '7 1234567us '
same "O3: stat --json has them" "$("$FAKE" stat --json leased | grep -oE '"(lease|expired)":[0-9]+' | tr '\n' ' ')" \
	'"expired":7 "lease":1234567000 '
queues "$ALPHA size=400"
same "U3: of an older kernel it tells what there is" \
	"$("$FAKE" stat alpha | grep -cE 'retries|oldest_ready|duration|lateness|lease|expired')$("$FAKE" stat --json alpha |
		grep -cE 'retries|oldest_ready|duration|lateness|"now"|lease|expired')" 00

queues "$ALPHA" "$BROKEN" "$ODD" "$SECRET"
same "U5: top --once" "$("$FAKE" top --once --interval 1ns --sort name)" \
	'  READY WAITING   PROC   DEAD  ADDS/s  DONE/s RETRY/s  OLDEST LONGEST QUEUE99  WORK99 NAME
      3       0      0      0     0.0     0.0     0.0   1.50s       -       -       - alpha
      1       0      0      0     0.0     0.0     0.0       -       -       -       - odd\xff'
same "U5: of the queues that are given" "$("$FAKE" top --once --interval 1ns gone odd$'\xff' | wc -l)" 2
ok "U5: top without a module" fails 6 'no /dev/kwq' env -u KWQ_TEST_QUEUES "$FAKE" top
same "U5: top on a terminal, no wider than that is, until q" "$("${SCRAPE[@]}" terminal "$FAKE" top --interval 10ms)" \
	'54 50 columns; left 0'
same "U5: without a terminal, table after table" \
	"$("$FAKE" top --interval 1ns | head -n 9 | awk '{ print $NF }' | tr '\n' ' ')" \
	'NAME alpha odd\xff  NAME alpha odd\xff  NAME '

done_testing
