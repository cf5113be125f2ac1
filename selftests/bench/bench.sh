#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Measures the cost of kwq, prints a table, and writes build/bench.tsv. Instructions are counted on Debian's kernel,
# booted with selftests/bench. Exits with 0 if each row was measured and all boots agree. A missed target is shown
# but is no failure.
#
#   BOOTS=N  the number of boots, 2 by default. The values are those of the first boot. For stalls, they are the greatest
#            of all boots.
#   PARTS=.. any of instructions, stalls (how long others are kept from the processor), processors (two, emulated) and
#            native; all by default. Only `make bench-keys` includes keys (ten million of them), only `make bench-shell`
#            shell, only `make bench-python` python, and only `make bench-share` share. All but python take minutes.
#   PAGE=1   copies the curves, build/costs.svg, to docs
. "$(dirname "$0")/../machine/common.sh"

ROWS=$TOP/selftests/bench/rows
TABLE=$BUILD/bench.tsv
BOOTS=${BOOTS:-2}
# Measures time; see that file.
NATIVE=$SELFTESTS/bench/bench-native.sh
PARTS=${PARTS:-instructions stalls processors$([ ! -x "$NATIVE" ] || echo " native")}

# The accepted difference between boots, in percent. Chance within a boot (addresses, hash seeds) causes a small
# difference; the host causes none. The difference is larger for the servers, for percentiles, for keys in hash
# tables that grow and shrink, and for Go: its maps have seeds, and its collector runs.
TOLERANCE=0.5
LOOSE='^peer\.(beanstalkd|redis)\.|^peer\.client-go\.|^go\.|^device\.|\.p99$'
LOOSE_TOLERANCE=5

# measure NAME [PROGRAM]: boots once and prints the output of the benchmarks.
measure() {
	local console=$LOGS/bench-$1.console.log report=$LOGS/bench-$1.report.log status=0

	LIMIT=${LIMIT:-600} "$SELFTESTS/machine/boot.sh" "$dir" "file:$console" "file:$report" bench "${@:2}" \
		>"$LOGS/bench-$1.qemu.log" 2>&1 </dev/null || status=$?
	if [ "$status" != 0 ] || ! grep -q '^@kwq verdict pass' "$report"; then
		{ tail -n 25 "$console"; grep -E '^(@kwq problem|#)' "$report"; cat "$LOGS/bench-$1.qemu.log"; } >&2 || true
		die "the machine did not reach its end (QEMU's status: $status); the console is in $console"
	fi
	tr -d '\r' <"$report" | sed -n '/^@kwq begin /,/^@kwq end /{ /^@kwq /!p }'
}

# compare FIRST OTHER: dies if a value differs between two boots by more than the tolerance.
compare() {
	awk -F '\t' -v tight=$TOLERANCE -v loose=$LOOSE_TOLERANCE -v chance="${LOOSE//\\/\\\\}" '
		FILENAME == ARGV[1] { first[$1] = $2; next }
		{
			seen[$1] = 1
			off = first[$1] ? 100 * ($2 - first[$1]) / first[$1] : 100
			tolerance = $1 ~ chance ? loose : tight
			if (off > tolerance || off < -tolerance) {
				printf "%s: %s in one boot, %s in another (%+.2f %%)\n", $1, first[$1], $2, off
				bad = 1
			} else if (tolerance == tight && (off > most || -off > most)) {
				most = off < 0 ? -off : off
			}
		}
		END {
			for (name in first)
				if (!(name in seen)) {
					printf "%s: not measured in each boot\n", name
					bad = 1
				}
			if (!bad)
				printf "no value differs by more than %.2f %% between two boots, apart from values that depend on chance\n", most
			exit bad
		}
	' "$1" "$2" >&2 || die "the values do not repeat"
}

# greatest FIGURES...: the greatest value of all boots. A figure that is the longest of many times becomes more
# accurate with more measurements.
greatest() {
	awk -F '\t' -v OFS='\t' '
		!($1 in value) || $2 + 0 > value[$1] + 0 { value[$1] = $2; unit[$1] = $3 }
		END { for (name in value) print name, value[name], unit[name] }
	' "$@"
}

# judge FIGURES ROWS...: prints the rows with their verdicts.
judge() {
	cat "${@:2}" | awk -v OFS='\t' '
		function complain(text) {
			print text >"/dev/stderr"
			bad = 1
		}
		FILENAME == ARGV[1] { split($0, part, "\t"); value[part[1]] = part[2]; unit[part[1]] = part[3]; next }
		/^#/ || NF == 0 { next }
		($1, $2) in pairs { complain("there are two rows " $1 " with the same peer") }
		{ pairs[$1, $2] = 1 }
		{ name[++n] = $1; peer[n] = $2; target[n] = $3; known[$1] = 1 }
		END {
			print "name", "value", "unit", "ratio", "peer", "target", "verdict"
			for (i = 1; i <= n; i++) {
				ratio = verdict = "-"
				if (!(name[i] in value)) {
					complain("there is no value of " name[i])
					continue
				}
				if (peer[i] != "-") {
					if (!(value[peer[i]] > 0)) {
						complain(name[i] " has no peer " peer[i])
						continue
					}
					if (unit[name[i]] != unit[peer[i]]) {
						complain(name[i] " and its peer have different units")
						continue
					}
					ratio = value[name[i]] / value[peer[i]]
				}
				# The printed value is rounded; the judged one is not.
				if (target[i] ~ /^<=[0-9.]+$/)
					verdict = value[name[i]] + 0 <= substr(target[i], 3) + 0 ? "pass" : "MISS"
				else if (target[i] ~ /^x<=[0-9.]+$/ && ratio != "-")
					verdict = ratio <= substr(target[i], 4) + 0 ? "pass" : "MISS"
				else if (target[i] != "-")
					complain(name[i] " has a target of unknown form: " target[i])
				if (ratio != "-")
					ratio = sprintf("%.3f", ratio)
				print name[i], value[name[i]], unit[name[i]], ratio, peer[i], target[i], verdict
			}
			for (figure in value)
				if (!(figure in known))
					complain("there is no row for " figure)
			exit bad
		}
	' "$1" -
}

"$SELFTESTS/machine/packages.sh" bench
lock_build
# The machine has a program with the real client-go, of this version.
client_go=$("$SELFTESTS/machine/client-go.sh" trixie) ||
	die "Debian 13's client-go is missing: apt must reach that release at the address of Debian in its sources"
mkdir -p "$LOGS"
rm -f "$TABLE" "$LOGS"/bench-*
figures=$LOGS/bench
all=$figures.figures
rows=()
: >"$all"

for part in $PARTS; do
	case $part in
	instructions)
		dir=$("$SELFTESTS/machine/initramfs.sh" stock bench)
		for boot in $(seq "$BOOTS"); do
			progress "measuring on Linux $(basename "$(readlink -f "$dir/image")"), boot $boot of $BOOTS"
			ICOUNT=1 measure "$boot" >"$figures-$boot.figures"
			[ "$boot" = 1 ] || compare "$figures-1.figures" "$figures-$boot.figures"
		done
		# If this fails, no figure is a number of instructions.
		grep -q $'^clock.nop\t1.00\t' "$figures-1.figures" ||
			die "the machine's clock does not advance by 1 ns per instruction"
		cat "$figures-1.figures" >>"$all"
		rows+=("$ROWS")
		;;
	stalls)
		dir=$("$SELFTESTS/machine/initramfs.sh" stock bench)
		for boot in $(seq "$BOOTS"); do
			progress "measuring stalls, boot $boot of $BOOTS"
			ICOUNT=1 measure "$part-$boot" run-stalls >"$figures-$part-$boot.figures"
		done
		greatest "$figures-$part"-*.figures >>"$all"
		rows+=("$ROWS-$part")
		;;
	processors)
		dir=$("$SELFTESTS/machine/initramfs.sh" stock bench)
		progress "measuring on two processors"
		measure "$part" run-processors >"$figures-$part.figures"
		cat "$figures-$part.figures" >>"$all"
		rows+=("$ROWS-$part")
		;;
	keys)
		dir=$("$SELFTESTS/machine/initramfs.sh" stock bench)
		progress "measuring ten million keys"
		ICOUNT=1 MEMORY=6G LIMIT=3600 measure "$part" run-keys >"$figures-$part.figures"
		cat "$figures-$part.figures" >>"$all"
		rows+=("$ROWS-$part")
		;;
	shell)
		dir=$("$SELFTESTS/machine/initramfs.sh" stock shell)
		progress "measuring kwq at a shell"
		ICOUNT=1 MEMORY=2G LIMIT=1800 measure "$part" run-shell >"$figures-$part.figures"
		cat "$figures-$part.figures" >>"$all"
		rows+=("$ROWS-$part")
		;;
	python)
		dir=$("$SELFTESTS/machine/initramfs.sh" stock python bench)
		progress "measuring Python"
		ICOUNT=1 measure "$part" run-python >"$figures-$part.figures"
		cat "$figures-$part.figures" >>"$all"
		rows+=("$ROWS-$part")
		;;
	share)
		nats_server=$("$SELFTESTS/machine/unpacked.sh" "${NATS:-sid}" nats-server)/usr/sbin/nats-server
		logged bench-share make -C "$TOP/userspace" O="$BUILD/userspace"
		logged bench-share-speed make -C "$TOP/selftests/bench/share" O="$BUILD/bench" USERSPACE="$BUILD/userspace"
		progress "measuring three servers and three machines"
		NATS_SERVER=$nats_server timeout -k 5 1800 "$BUILD/bench/share-speed" >"$figures-$part.figures" ||
			die "share-speed failed"
		cat "$figures-$part.figures" >>"$all"
		rows+=("$ROWS-$part")
		;;
	native)
		"$NATIVE"
		cat "$BUILD/bench-native.figures" >>"$all"
		rows+=("$ROWS-native")
		;;
	*)
		die "there is no part $part"
		;;
	esac
done

judge "$all" "${rows[@]}" >"$TABLE.part" || die "$TABLE was not written"
mv "$TABLE.part" "$TABLE"
"$TOP/selftests/bench/curves.py" "$TABLE" "$BUILD/costs.svg"
[ -z "${PAGE:-}" ] || cp "$BUILD/costs.svg" "$TOP/docs/costs.svg"

echo "peer.client-go: Debian 13's $client_go"
# A value with several peers is shown once.
awk -F '\t' '
	{
		again = $1 == last
		last = $1
		printf "%-33s %10s %-5s %7s %-33s %7s  %s\n", again ? "" : $1, again ? "" : $2, again ? "" : $3, $4, $5, $6, $7
	}
	$7 == "pass" || $7 == "MISS" { nr[$7]++ }
	END { printf "\n%d of %d targets are met\n", nr["pass"], nr["pass"] + nr["MISS"] }
' "$TABLE"
