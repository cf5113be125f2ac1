#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The cost of kwq in time on this machine. Runs selftests/bench/native in User-Mode Linux, the peers, and the core
# under two threads, in turns. Writes build/bench-native.figures: name, value and unit of each row of
# selftests/bench/rows-native. build/bench-native.runs also has the least and the greatest value of all runs.
# build/bench-native.note describes the conditions in words, for the reader of the table.
#
# RUNS=N  the number of runs of each benchmark, 5 by default
. "$(dirname "$0")/../machine/common.sh"

ROWS=$TOP/selftests/bench/rows-native
FIGURES=$BUILD/bench-native.figures
RUNS=${RUNS:-5}

# The real client-go.
CLIENT_GO=(client-go.cycle client-go.metrics.cycle client-go.two.cycle client-go.metrics.two.cycle client-go.two.add)

# The percentage of processor time used by others above which the note calls the times unreliable.
OTHERS=5

# run_uml: prints the output of the kernel's benchmarks. The kernel's exit status does not show whether they ran.
run_uml() {
	local console=$LOGS/bench-native.console.log status=0

	timeout -k 5 600 "$uml/image" mem=2G ncpus=2 seccomp=on console=tty </dev/null >"$console" 2>&1 || status=$?
	if ! tr -d '\r' <"$console" | grep -qx 'kwq_bench: end'; then
		tail -n 25 "$console" >&2
		die "User-Mode Linux did not reach its end (its status: $status); the console is in $console"
	fi
	tr -d '\r' <"$console" | sed -n 's/^kwq_bench: \(native\..*\)$/\1/p'
}

# busy: prints for how long the processors of this machine were busy, and how much of that was this script. The unit is
# a hundredth of a second.
busy() {
	local ours
	# In a subshell `times` would report nothing.
	times >"$LOGS/bench-native.times"
	ours=$(awk '{ for (i = 1; i <= 2; i++) { split($i, part, /[ms]/); sum += 60 * part[1] + part[2] } }
		END { printf "%d", 100 * sum }' "$LOGS/bench-native.times")
	# Time taken by the machine's host counts as used by others.
	awk -v ours="$ours" -v ticks="$(getconf CLK_TCK)" \
		'/^cpu / { printf "%d %d\n", ($2 + $3 + $4 + $7 + $8 + $9) * 100 / ticks, ours }' /proc/stat
}

# summarise FILE...: prints name, median, unit, least and greatest value.
summarise() {
	awk -F '\t' -v OFS='\t' '
		{
			if (!($1 in unit))
				order[++names] = $1
			value[$1, ++nr[$1]] = $2 + 0
			unit[$1] = $3
		}
		END {
			for (n = 1; n <= names; n++) {
				name = order[n]
				for (i = 2; i <= nr[name]; i++)
					for (k = i; k > 1 && value[name, k] < value[name, k - 1]; k--) {
						swap = value[name, k]
						value[name, k] = value[name, k - 1]
						value[name, k - 1] = swap
					}
				middle = name ~ /\.max$/ ? 1 : int((nr[name] + 1) / 2)
				digits = value[name, middle] < 100000 ? "%.2f" : "%.0f"
				print name, sprintf(digits, value[name, middle]), unit[name],
					sprintf(digits, value[name, 1]), sprintf(digits, value[name, nr[name]])
			}
		}' "$@"
}

# check RUNS-FILE: fails unless each row has a value and each value a row.
check() {
	awk '
		FILENAME == ARGV[1] { value[$1] = 1; next }
		/^#/ || NF == 0 { next }
		{ row[$1] = 1 }
		END {
			for (name in row)
				if (!(name in value)) {
					print "there is no value of " name
					bad = 1
				}
			for (name in value)
				if (!(name in row)) {
					print "there is no row for " name
					bad = 1
				}
			exit bad
		}' "$1" "$ROWS" >&2
}

case $RUNS in
'' | *[!0-9]* | 0*) die "RUNS must be a positive number, not '$RUNS'" ;;
esac
[ "$(uname -m)" = x86_64 ] || die "these benchmarks need x86-64, not $(uname -m)"
"$SELFTESTS/machine/packages.sh" bench kernels
lock_build
mkdir -p "$LOGS"
rm -f "$FIGURES" "$BUILD"/bench-native.{runs,note} "$LOGS"/bench-native*.figures
uml=$("$SELFTESTS/machine/kernel.sh" uml-bench)
source=$("$SELFTESTS/machine/kernel.sh" source)
logged bench-go make -C "$TOP/selftests/bench/go" O="$BUILD/bench" all
logged bench-contend make -C "$TOP/selftests/models/core" O="$BUILD/bench-host" KERNEL_SOURCE="$source" contend

read -r load _ </proc/loadavg
begun=$EPOCHREALTIME
busy >"$LOGS/bench-native.before"
for run in $(seq "$RUNS"); do
	progress "measuring time on this machine, run $run of $RUNS"
	figures=$LOGS/bench-native-$run.figures
	run_uml >"$figures"
	timeout -k 5 300 "$BUILD/bench/bench-go" -p native. "${CLIENT_GO[@]}" >>"$figures" || die "bench-go failed"
	timeout -k 5 600 "$BUILD/bench-host/contend" native. >>"$figures" || die "contend failed"
done
busy >"$LOGS/bench-native.after"
ended=$EPOCHREALTIME

summarise "$LOGS"/bench-native-*.figures >"$BUILD/bench-native.runs.part"
check "$BUILD/bench-native.runs.part" || die "$FIGURES was not written"

paste -d ' ' "$LOGS"/bench-native.{before,after} |
	awk -v took="$begun $ended" -v processors="$(nproc --all)" -v load="$load" -v runs="$RUNS" -v most="$OTHERS" \
		-v model="$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)" '{
		split(took, time, " ")
		others = (($3 - $1) - ($4 - $2)) / (processors * (time[2] - time[1]))
		if (others < 0)
			others = 0
		printf "native: %d runs in turns on %d processors (%s); the load before was %s, ", runs, processors, model, load
		printf "and other programs used %.0f %% of the processors meanwhile\n", others
		if (others > most)
			print "native: so do not trust these times, and do not compare them with those of another day"
	}' >"$BUILD/bench-native.note"
cat "$BUILD/bench-native.note" >&2
mv "$BUILD/bench-native.runs.part" "$BUILD/bench-native.runs"
cut -f 1-3 "$BUILD/bench-native.runs" >"$FIGURES.part"
mv "$FIGURES.part" "$FIGURES"
