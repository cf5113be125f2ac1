#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Searches the models of the shell around the core and of the shared queue, as TAP. Each configuration of `searches` must hold in every
# reachable state, and each bug of `mutants` must be found. build/logs/spin.log has the numbers of states.
#
# SPIN=full also runs the large configurations, which take minutes and some GiB of memory.
. "$(dirname "$0")/../../machine/common.sh"

HERE=$TOP/selftests/models/spin
WORK=$BUILD/spin
find_within
case ${SPIN:=small} in
small | full) ;;
*) die "SPIN is small or full, not $SPIN" ;;
esac

# Messages of spin's verifier: an error was found, or the search was given up.
FOUND='^pan:[0-9]+: (assertion violated|invalid end state|acceptance cycle)'
GAVE_UP='max search depth too small|Search not completed|out of memory|reached -DMEMLIM'

# search DIR CONFIGURATION DEFINE...: writes the verifier's output to DIR/pan.out. Fails if the verifier cannot be
# built, or crashes.
search() {
	local dir=$1 configuration=$2 property=(-DSAFETY) options=()
	shift 2

	rm -rf "$dir"
	mkdir -p "$dir"
	cp -r "$HERE"/*.pml "$HERE/model" "$dir"
	cd "$dir"
	# For a liveness property: search for acceptance cycles that are fair to each process.
	if grep -q '^ltl ' "$configuration.pml"; then
		property=(-DNFAIR=3) options=(-a -f)
	fi
	spin -a "$@" "$configuration.pml" >spin.out 2>&1
	if grep -i 'error' spin.out; then
		return 1
	fi
	# Optimising the verifier takes longer than most of these searches.
	gcc -w "-O${OPTIMIZE:-0}" -DCOLLAPSE -DMEMLIM=4000 "${property[@]}" -o pan pan.c
	"$WITHIN" 1800 ./pan -w22 -m200000 -n "${options[@]}" >pan.out 2>&1
}

# number PATTERN: a number from the verifier's output.
number() {
	sed -nE "s/$1/\\1/p" pan.out | head -n 1
}

# counted VERDICT WORD...: prints a line of the log.
counted() {
	printf '%-10s %10s %10s %6s %7s  %s\n' "$1" "$(number ' *([0-9.e+]+) states, stored.*')" \
		"$(number ' *([0-9.e+]+) transitions.*')" "$(number '.*depth reached ([0-9]+).*')" \
		"$(number 'pan: elapsed time ([0-9.]+) seconds')" "${*:2}"
}

# one NUMBER KIND CONFIGURATION DEFINE...: prints a line of TAP and writes a line of the log.
one() {
	local nr=$1 kind=$2 dir=$WORK/$1 verdict=ok status=0 name
	shift 2

	name=$*
	(search "$dir" "$@") >"$WORK/$nr.said" 2>&1 & wait $! || status=$?
	cd "$dir"
	touch pan.out
	case $kind in
	holds)
		if [ "$status" != 0 ] || ! grep -q '^Full statespace search' pan.out || ! grep -q 'errors: 0$' pan.out ||
			grep -qE "$FOUND|$GAVE_UP" pan.out; then
			verdict='not ok'
		fi
		;;
	found)
		if ! grep -q 'errors: [1-9]' pan.out || ! grep -qE "$FOUND" pan.out; then
			verdict='not ok'
		fi
		name="finds $name"
		;;
	esac
	{
		printf '%s %d - %s\n' "$verdict" "$nr" "$name"
		if [ "$verdict" != ok ]; then
			sed 's/^/# /' "$WORK/$nr.said"
			grep -E "errors:|$FOUND|$GAVE_UP" pan.out | sed 's/^/# /'
			# The trail that leads to the error.
			[ ! -e "$1.pml.trail" ] || spin -t -p "${@:2}" "$1.pml" 2>&1 | tail -n 60 | sed 's/^/# /'
		fi
	} >"$WORK/$nr.tap" || true
	counted "$kind" "$@" >"$WORK/$nr.log"
	# The verifier's sources are large.
	rm -f pan pan.[bchmptre]* ./*.pml
}

# planted: compares the mutants in the model with those in the list.
planted() {
	diff <(sed -nE 's/^#ifn?def ([A-Z_]+)$/\1/p' "$HERE"/model/*.pml |
		grep -vxE 'KEYS|NOW_MAX|PER_HOLD|FAIR_LOCK|NMIS' | sort -u) \
		<(sed -nE 's/^([A-Z_]+)\s.*/\1/p' "$HERE/mutants" | sort -u)
}

if [ "${1:-}" = one ]; then
	read -ra words <<<"$2"
	[ "${words[1]}" != holds ] || [ "${words[2]}" != full ] || OPTIMIZE=2
	one "${words[@]:0:2}" "${words[@]:3}"
	exit
fi

"$SELFTESTS/machine/packages.sh" spin
mkdir -p "$WORK" "$LOGS"
rm -f "$WORK"/*.tap "$WORK"/*.log "$WORK"/*.said
rows=()
while read -r when row; do
	[ "$when" = small ] || [ "$when" = "$SPIN" ] || continue
	rows+=("$((${#rows[@]} + 1)) holds $when $row")
done < <(grep -E '^(small|full)\s' "$HERE/searches")
while read -r mutant configuration defines; do
	rows+=("$((${#rows[@]} + 1)) found small $configuration -D$mutant $defines")
done < <(grep -E '^[A-Z_]+\s' "$HERE/mutants")

printf '%s\0' "${rows[@]}" | xargs -0 -P "$JOBS" -I{} "$0" one {} || true

printf 'TAP version 13\n1..%d\n' $((${#rows[@]} + 1))
{
	printf '%-10s %10s %10s %6s %7s  %s\n' 'has to be' states steps depth seconds 'configuration'
} >"$LOGS/spin.log"
failed=0
for nr in $(seq ${#rows[@]}); do
	cat "$WORK/$nr.tap" 2>/dev/null || echo "not ok $nr - ${rows[nr - 1]}: lost"
	cat "$WORK/$nr.log" >>"$LOGS/spin.log" || true
	grep -q '^ok' "$WORK/$nr.tap" || failed=1
done
if planted >"$WORK/planted"; then
	echo "ok $((${#rows[@]} + 1)) - mutants has what the model has"
else
	echo "not ok $((${#rows[@]} + 1)) - mutants has what the model has"
	sed 's/^/# /' "$WORK/planted"
	failed=1
fi
exit $failed
