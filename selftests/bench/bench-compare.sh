#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The cost of a change. Runs `make bench` of another revision and of this checkout, each with its own benchmarks.
# Compares them row by row. Prints all rows and writes them to build/bench-compare.tsv. A mark shows rows that differ
# by more than two runs of the same code do.
#
#   BASE=REVISION    the other revision
#   ONLY=changed     leaves out rows that do not differ
#   BOOTS, PARTS     as in bench.sh; by default 1 and instructions
. "$(dirname "$0")/../machine/common.sh"

[ -n "${BASE:-}" ] || die "BASE=REVISION is missing: what is this checkout to be compared with?"
commit=$(git -C "$TOP" rev-parse --verify --quiet "$BASE^{commit}") || die "there is no revision $BASE"
export BOOTS=${BOOTS:-1} PARTS=${PARTS:-instructions}

TREE=$BUILD/compare
TABLE=$BUILD/bench-compare.tsv
# In percent; the difference that bench.sh accepts between two boots of one revision.
TOLERANCE=0.5

# bench NAME TOP: measures that checkout. An older one may fail because it misses a target, but has measured
# everything.
bench() {
	local table=$2/build/bench.tsv

	rm -f "$table"
	env -u KWQ_LOCKED make -C "$2" bench >"$LOGS/compare-$1.log" 2>&1 || true
	[ -s "$table" ] || { tail -n 20 "$LOGS/compare-$1.log" >&2; die "$1 was not measured"; }
}

mkdir -p "$LOGS"
rm -f "$TABLE"
# Git still knows a worktree that `make clean` removed.
git -C "$TOP" worktree prune
if [ -d "$TREE" ]; then
	logged compare-checkout git -C "$TREE" checkout --force --detach "$commit"
else
	logged compare-checkout git -C "$TOP" worktree add --force --detach "$TREE" "$commit"
fi

progress "measuring $(git -C "$TOP" log -1 --format='%h (%s)' "$commit")"
bench base "$TREE"
progress "measuring this checkout"
bench this "$TOP"

awk -F '\t' -v OFS='\t' '
	FNR == 1 { next }
	FILENAME == ARGV[1] {
		if (!($1 in base))
			gone[++nr_gone] = $1
		base[$1] = $2
		unit[$1] = $3
		next
	}
	FNR == 2 { print "name", "base", "this", "unit", "change" }
	$1 in this { next }
	{
		this[$1] = $2
		change = "-"
		if ($1 in base && base[$1] > 0)
			change = sprintf("%+.1f %%", 100 * ($2 - base[$1]) / base[$1])
		print $1, $1 in base ? base[$1] : "-", $2, $3, change
	}
	END {
		for (i = 1; i <= nr_gone; i++)
			if (!(gone[i] in this))
				print gone[i], base[gone[i]], "-", unit[gone[i]], "-"
	}
' "$TREE/build/bench.tsv" "$BUILD/bench.tsv" >"$TABLE"

awk -F '\t' -v only="${ONLY:-}" -v tolerance=$TOLERANCE '
	{
		mark = $5 + 0 > tolerance ? "dearer" : -$5 > tolerance ? "cheaper" : ""
		if (NR == 1 || mark || only != "changed")
			printf "%-24s %10s %10s %-5s %9s  %s\n", $1, $2, $3, $4, $5, mark
	}
' "$TABLE"
