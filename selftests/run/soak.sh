#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs everything that can run for longer than in `make test`, for a given time and with new seeds. Prints a table of
# the results, also to build/soak.md. Exits with 0 if no case failed, no machine stopped or complained, and nothing
# leaked.
#
#   SOAK=30  the minutes, which the rows share; builds and boots take additional time
#   SEED=N   the seed of the first row; each further row has the next number
#
# A test that can run longer reads KWQ_SOAK_SECONDS, and KWQ_SEED if it uses one. At its end it reports its work:
#
#   # soak: operations N
#   # soak: faults N         injected by the test: failures, kills
. "$(dirname "$0")/../machine/common.sh"

SOAK=${SOAK:-30}
[[ $SOAK =~ ^[1-9][0-9]*$ ]] || die "SOAK is a number of minutes"
SEED=${SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
[[ $SEED =~ ^[0-9]+$ ]] || die "SEED is a number"
TABLE=$BUILD/soak.md

# The programs in the VM that can run longer.
mapfile -t programs < <(cd "$TOP/selftests/device" && grep -lE '\b(soak_seconds|tell_soak)\(' -- *.c | sed 's/\.c$//')
programs+=(fuzz)

# The test, its kernel and its share of the time. host means this machine.
rows=("random host 2" "libfuzzer host 2")
# programs_on KERNEL PARTS: adds a row for each program, on a kernel with that many parts of the time. The number of uml-smp-4
# is that of its processors.
programs_on() {
	local program

	for program in "${programs[@]}"; do
		# Debian's kernel cannot inject failures.
		[ "$program $1" != 'faults stock' ] || continue
		rows+=("$program $1 $(awk -v parts="$2" -v among=${#programs[@]} 'BEGIN { print parts / among }')")
	done
}
programs_on debug 8
programs_on stock 3
programs_on kcsan 5
programs_on uml-smp-2 2
programs_on uml-smp-4 2

# told WORD LOG: the sum of the reported numbers.
told() {
	tr -d '\r' <"$2" | awk -v word="$1" '$1 == "#" && $2 == "soak:" && $3 == word { sum += $4 } END { printf "%.0f", sum }'
}

line() {
	printf '| %-10s | %-9s | %6s | %12s | %15s | %7s |\n' "$@" >>"$TABLE.part"
}

hours() {
	awk -v seconds="$1" 'BEGIN { printf "%.2f", seconds / 3600 }'
}

# row NAME KERNEL SECONDS OPERATIONS FAULTS REPORTS
row() {
	line "$1" "$2" "$(hours "$3")" "$4" "$5" "$6"
	spent=$(awk -v spent="$spent" -v seconds="$3" 'BEGIN { print spent + seconds }')
	operations=$((operations + $4)) faults=$((faults + $5)) reports=$((reports + $6))
}

# Prints an error, and counts it for the row.
complain() {
	printf 'FAILED %s\n' "$@" >&2
}

# on_host NAME SECONDS SEED: compares the core with its model.
on_host() {
	local name=$1 seconds=$2 seed=$3 log=$LOGS/soak-$1-host.log status=0 began=$SECONDS done=0 found=0
	local model=(make -s -C "$TOP/selftests/models/core" O="$BUILD/model" KERNEL_SOURCE="$source")

	case $name in
	random)
		KWQ_SOAK_SECONDS=$seconds "${model[@]}" test OPS=1 SEED="$seed" >"$log" 2>&1 || status=$?
		done=$(told operations "$log")
		;;
	libfuzzer)
		"${model[@]}" fuzz FUZZ="$seconds" FUZZ_SEED="$seed" >"$log" 2>&1 || status=$?
		# Each run of libFuzzer is a sequence of operations.
		done=$(awk '$1 == "stat::number_of_executed_units:" { print $2 }' "$log")
		;;
	esac
	if [ "$status" != 0 ] || [ "${done:-0}" = 0 ]; then
		found=1
		complain "$name: status $status, see $log"
		tail -n 40 "$log" >&2
	fi
	row "$name" host $((SECONDS - began)) "${done:-0}" 0 "$found"
}

# on_machine NAME KERNEL SECONDS SEED: runs one program in a machine of its own.
on_machine() {
	local name=$1 kernel=$2 seconds=$3 seed=$4 dir status=0 found=0 took
	local logs=$LOGS/soak-$1-$2 processors=2
	local console=$logs.console.log report=$logs.report.log

	[[ $kernel != *-smp-* ]] || processors=${kernel##*-}
	if ! dir=$("$SELFTESTS/machine/initramfs.sh" "${kernel%-"$processors"}" device); then
		complain "$name on $kernel: could not be built"
		row "$name" "$kernel" 0 0 0 1
		return
	fi
	: >"$console"
	: >"$report"
	# The limit is a multiple of the test's time, because the machine is emulated.
	PROCESSORS=$processors KWQ_SOAK_SECONDS=$seconds KWQ_SEED=$seed LIMIT=$((2 * seconds + 900)) \
		"$SELFTESTS/machine/boot.sh" "$dir" "file:$console" "file:$report" kselftest $((2 * seconds + 600)) "$name" \
		>"$logs.qemu.log" 2>&1 </dev/null || status=$?
	"$SELFTESTS/run/results.py" kselftest "kselftest-$kernel" "$report" "$console" "$status" >"$logs.results" || true
	found=$(grep -c '^  failed: ' "$logs.results" || true)
	if [ "$found" = 0 ] && ! grep -q '^# soak: operations [1-9]' "$report"; then
		echo '  failed: it reported no operations' >>"$logs.results"
		found=1
	fi
	[ "$found" = 0 ] || {
		mapfile -t lines < <(sed -n "s/^  failed: /$name on $kernel: /p" "$logs.results")
		complain "${lines[@]}"
		tail -n 25 "$report" "$console" >&2
	}
	took=$(tr -d '\r' <"$report" | sed -nE 's/^@kwq end .* after ([0-9.]+) s$/\1/p')
	row "$name" "$kernel" "${took:-$seconds}" "$(told operations "$report")" "$(told faults "$report")" "$found"
}

"$SELFTESTS/machine/packages.sh" device kernels model
lock_build
mkdir -p "$LOGS"
rm -f "$TABLE" "$TABLE.part" "$LOGS"/soak-*
line what kernel hours operations 'faults injected' reports
line --- --- --- --- --- ---
spent=0 operations=0 faults=0 reports=0
source=$("$SELFTESTS/machine/kernel.sh" source)

all=$(printf '%s\n' "${rows[@]}" | awk '{ sum += $3 } END { print sum }')
number=0
for entry in "${rows[@]}"; do
	read -r name kernel share <<<"$entry"
	seconds=$(awk -v share="$share" -v all="$all" -v soak="$SOAK" 'BEGIN { printf "%d", 60 * soak * share / all + 1 }')
	seed=$((SEED + number))
	number=$((number + 1))
	progress "soak $number of ${#rows[@]}: $name, $kernel, $seconds s, seed $seed"
	if [ "$kernel" = host ]; then
		on_host "$name" "$seconds" "$seed"
	else
		on_machine "$name" "$kernel" "$seconds" "$seed"
	fi
done

line all '' "$(hours "$spent")" "$operations" "$faults" "$reports"
mv "$TABLE.part" "$TABLE"
cat "$TABLE"
[ "$reports" = 0 ]
