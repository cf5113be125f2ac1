#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs all suites. Prints the failures, and the totals as the last line. results.py explains the counts.
#
#   SUITES='kselftest-stock ...'  only these suites
#   PROGRAMS='wait* lease'        only these programs of the kselftests
#   TESTS='unit-* test-go'        only these programs of the host tests
#   KUNIT='kwq-core*'             only these suites of KUnit in User-Mode Linux: one pattern
#   OPS=, SEED=, FUZZ=            for the model of the core: selftests/models/core/run-tests
#   SOAK=60, SEED=N               the minutes of the suite share-soak, and its first fault
#   KWQ_RULES=n5,n6               only these rules of the suite share-rules
#   NATS=sid                      the release of Debian that has the nats-server of the share suites (sid)
#   SYNC=2m                       how often the servers of the suite share-power sync their disks (always)
#   SPIN=full                     also the large configurations of selftests/models/spin
#   KERNEL_ARGS='slab_debug=FZPU' more arguments of the kernels in virtual machines
#   TABLE=FILE                    prints a table of the machines at the end, and writes it to FILE as Markdown
. "$(dirname "$0")/../machine/common.sh"

read -ra suites <<<"${SUITES:-host model check kselftest-debug-short kunit-debug kunit-uml kselftest-stock demo}"

# One pattern without spaces, because a space would end the kernel's argument.
chosen=${PROGRAMS:+@(${PROGRAMS// /|})}

# The time limits of one program of selftests/device, of a whole machine, and of User-Mode Linux. They are several times
# the usual durations. On a slow machine these seconds are longer: see pace.h.
PROGRAM_SECONDS=${PROGRAM_SECONDS:-300}
MACHINE_SECONDS=${MACHINE_SECONDS:-1500}
UML_SECONDS=${UML_SECONDS:-300}

# The seconds that each suite took last time, with the same choice of tests.
TIMES=$CACHE/seconds/$(printf '%s\n' "${PROGRAMS:-}" "${TESTS:-}" "${KUNIT:-}" "${CHECKS:-}" | sha256sum | cut -c 1-8)

# say: prints the lines on stdin, without a line of another suite between them.
say() {
	flock "$BUILD/lock-said" cat >&2
}

results() {
	"$SELFTESTS/run/results.py" "$@" 2>&1 | say || true
}

# Counts a suite that could not run, for example after a failed build, as one failure. The other suites still run.
lost() {
	touch "$LOGS/$1.lost"
	results lost "$1" "$2"
}

# explain SUITE LOG...: if the suite failed, prints the failed cases and the ends of the logs.
explain() {
	local suite=$1 log
	shift

	! grep -q '"failed": \[\]' "$BUILD/results/$suite.json" || return 0
	for log in "$@"; do
		printf -- '--- %s\n' "${log#"$TOP/"}"
		grep -B 12 -A 4 '^not ok' "$log" | tail -n 80
		printf -- '...\n'
		tail -n 25 "$log"
	done | say || true
}

# host SUITE COMMAND...: runs a command on this machine that prints TAP.
host() {
	local suite=$1 status=0
	shift

	"$@" >"$LOGS/$suite.tap" 2>"$LOGS/$suite.err" || status=$?
	results tap "$suite" "$LOGS/$suite.tap" "$status"
	explain "$suite" "$LOGS/$suite.tap" "$LOGS/$suite.err"
}

# machine SUITE KIND KERNEL CONTENT MODE...: boots a machine once.
machine() {
	local suite=$1 kind=$2 kernel=$3 content=$4 dir status=0
	local console=$LOGS/$suite.console.log report=$LOGS/$suite.report.log
	shift 4

	# shellcheck disable=SC2086 # the contents are words
	dir=$("$SELFTESTS/machine/initramfs.sh" "$kernel" $content) || status=$?
	case $status in
	0) ;;
	3) results absent "$suite" 'no packages and no source exist'; return ;;
	*) lost "$suite" 'could not be built'; return ;;
	esac
	LIMIT=$MACHINE_SECONDS "$SELFTESTS/machine/boot.sh" "$dir" "file:$console" "file:$report" "$@" \
		>"$LOGS/$suite.qemu.log" 2>&1 || status=$?
	results "$kind" "$suite" "$report" "$console" "$status"
	explain "$suite" "$report" "$console"
}

# kunit_uml SUITE: the exit status of UML does not tell the result, so only its time limit counts.
kunit_uml() {
	local suite=$1 dir status=0 console=$LOGS/$1.console.log

	dir=$("$SELFTESTS/machine/kernel.sh" "${suite#kunit-}") || { lost "$suite" 'could not be built'; return; }
	"$WITHIN" "$UML_SECONDS" "$dir/image" mem=512M console=tty kunit.enable=1 kunit_shutdown=halt panic_on_warn=1 \
		${KUNIT:+"kunit.filter_glob=$KUNIT"} </dev/null >"$console" 2>&1 || status=$?
	results kunit-uml "$suite" "$console" "$status"
	explain "$suite" "$console"
}

# Reports the coverage of KUnit alone if kselftest-gcov did not run.
coverage() {
	local release reports=("$LOGS/kunit-gcov.report.log")

	release=$(release_of "$("$SELFTESTS/machine/kernel.sh" gcov)/kdir")
	[ ! -f "$LOGS/kselftest-gcov.report.log" ] || reports+=("$LOGS/kselftest-gcov.report.log")
	rm -rf "$BUILD/coverage"
	host coverage "$TOP/selftests/coverage/report.py" "$BUILD/module-$release" "$BUILD/coverage" "${reports[@]}"
}

# power: several virtual machines, which a program of this machine starts and ends.
power() {
	local dir

	dir=$("$SELFTESTS/machine/initramfs.sh" stock share power keep) || { lost share-power 'could not be built'; return; }
	host share-power env KWQ_SEED="${SEED:-}" \
		"$WITHIN" "$MACHINE_SECONDS" "$TOP/selftests/share/power" "$dir" "$BUILD/share" "$LOGS/share-power"
	grep '^# ' "$LOGS/share-power.tap" | tail -n 3 || true
}

# Of the share suites, leaves those that have a chosen program.
choose_of_share() {
	local suite left=()

	for suite in "${suites[@]}"; do
		# shellcheck disable=SC2053 # $chosen is a pattern
		case $suite in
		share-rules | share-faults | share-power) [[ $suite == $chosen ]] || continue ;;
		esac
		left+=("$suite")
	done
	[ ${#left[@]} = 0 ] || suites=("${left[@]}")
}

demo() {
	local status=0

	"$SELFTESTS/machine/demo.sh" >"$LOGS/demo.log" 2>&1 || status=$?
	results program demo "$status"
	explain demo "$LOGS/demo.log"
}

# groups_of SUITE: prints the groups of packages that it needs: packages.sh.
groups_of() {
	case $1 in
	check | coccinelle) echo check ;;
	host | model | spin | packages) echo "$1" ;;
	mutants) echo device host kernels model ;;
	kunit-uml | kunit-uml-queue) echo kernels ;;
	*-uml-smp*) echo device kernels ;;
	demo | bindings-*) echo machine ;;
	share-*) echo share ;;
	kunit-*) echo machine kernels ;;
	*-clang) echo device model ;;
	*-debug* | *-kcsan | *-gcov | coverage | *-stock-[0-9]*) echo device kernels ;;
	*) echo device ;;
	esac
	case $1 in
	*-arm64) echo arm64 ;;
	*-s390x) echo s390x ;;
	esac
}

# contents_for PROGRAM...: prints the device's content of a machine, and those that have these programs if they are chosen.
contents_for() {
	local program contents=device

	for program in "$@"; do
		# shellcheck disable=SC2053 # $chosen is a pattern
		[[ $program != ${chosen:-*} ]] || contents+=" ${program%-controller}"
	done
	echo "$contents" | tr ' ' '\n' | sort -u | tr '\n' ' '
}

run() {
	local programs contents suite nats_server prometheus

	# With PREEMPT_RT lockdep treats every lock as an rt_mutex, which makes the debug kernel much slower. KCSAN is slow
	# because it waits.
	# The comparison with client-go makes 1,000,000 calls. On the debug kernel the program sample can take
	# ten minutes.
	case $1 in
	*-rt-debug | *-kcsan | bindings-* | kselftest-debug | kselftest-newest-debug)
		local PROGRAM_SECONDS=$((3 * PROGRAM_SECONDS)) MACHINE_SECONDS=$((3 * MACHINE_SECONDS))
		;;
	esac

	case $1 in
	check)
		progress "checks"
		host check "$SELFTESTS/check/checks.sh"
		;;
	coccinelle)
		progress "the kernel's semantic patches"
		host coccinelle env CHECKS=coccinelle "$SELFTESTS/check/checks.sh"
		;;
	host)
		progress "host tests"
		(lock_make && logged host make -C "$TOP/userspace" -j"$JOBS" O="$BUILD/userspace" test-programs) ||
			{ lost "$1" 'could not be built'; return; }
		# Without it the tests of replicas are skipped, which counts as failed.
		nats_server=$("$SELFTESTS/machine/unpacked.sh" sid nats-server)/usr/sbin/nats-server || nats_server=
		# Since Debian 13 promtool is in a package of its own.
		prometheus=$("$SELFTESTS/machine/unpacked.sh" host prometheus promtool 2>/dev/null ||
			"$SELFTESTS/machine/unpacked.sh" host prometheus)/usr/bin
		PATH=$PATH:$prometheus \
			host host env NATS_SERVER="$("$SELFTESTS/machine/unpacked.sh" host nats-server)/usr/sbin/nats-server" \
			NATS_SERVER_NEW="$nats_server" \
			make -C "$TOP/userspace" --no-print-directory O="$BUILD/userspace" test
		;;
	model)
		progress "the core against its model"
		host model env O="$BUILD/model" "$TOP/selftests/models/core/run-tests"
		;;
	spin)
		progress "the model of the lock and the sleepers"
		host spin "$TOP/selftests/models/spin/run.sh"
		;;
	mutants)
		progress "planted bugs"
		host mutants env TAP=1 MUTANTS="${MUTANTS:-short}" "$TOP/selftests/mutants/run.sh"
		;;
	kunit-debug | kunit-rt-debug | kunit-newest-debug | kunit-kcsan | kunit-gcov | kunit-uml-smp)
		progress "KUnit on the ${1#kunit-} kernel"
		machine "$1" kunit "${1#kunit-}" kunit kunit
		;;
	kunit-uml)
		progress "KUnit built into User-Mode Linux"
		kunit_uml "$1"
		;;
	kunit-uml-queue)
		progress "KUnit without the device, built into User-Mode Linux"
		kunit_uml "$1"
		;;
	load-stock-queue)
		progress "the queue without the device, loaded on the stock kernel"
		machine "$1" kselftest stock 'device queue' kselftest "$PROGRAM_SECONDS" sample
		;;
	load-stock-*-clang)
		progress "compiling with clang, and loading on the ${1#load-} kernel"
		suite=${1%-clang}
		KWQ_CLANG=1 machine "$1" kselftest "${suite#load-}" device kselftest "$PROGRAM_SECONDS" '@(abi|command|examples|modload|sample)'
		;;
	load-stock-*)
		progress "loading on the ${1#load-} kernel"
		machine "$1" kselftest "${1#load-}" device kselftest "$PROGRAM_SECONDS" '@(abi|modload|sample)'
		;;
	kselftest-debug-short)
		progress "some kselftests on the debug kernel"
		# The others take longer there, or test more of the command than of the kernel.
		programs='!(*_32|abi|bpf|command|examples|full|json|keep|limits|list_items|many|modload|netdevs|parallel|run|sample|service|watch)'
		machine "$1" kselftest debug device kselftest "$PROGRAM_SECONDS" "${chosen:-$programs}"
		;;
	kselftest-uml-smp-*)
		# The programs that do things at random, for five minutes, on so many processors that are real.
		progress "random programs on ${1##*-} parallel processors"
		programs='@(faults|fuzz|grants|kill|room|stress|wait)'
		PROCESSORS=${1##*-} KWQ_SOAK_SECONDS=${KWQ_SOAK_SECONDS:-50} \
			machine "$1" kselftest uml-smp device kselftest "$PROGRAM_SECONDS" "${chosen:-$programs}"
		;;
	kselftest-stock | kselftest-stock-* | kselftest-debug | kselftest-rt-debug | kselftest-newest-debug | kselftest-kcsan | \
		kselftest-gcov)
		progress "kselftests on the ${1#kselftest-} kernel"
		programs='*' contents=$(contents_for exporter keep go go-controller python)
		case $1 in
		# For 32-bit programs the kernels are alike, and the debug kernels are slow. They also have no network.
		*-debug) programs='!(*_32)' contents=device ;;
		# The concurrent programs. PROGRAMS can name others.
		*-kcsan) programs='@(lease|owner|stress)' contents=device ;;
		*-gcov) contents=device ;;
		# The libraries of the exporter, and SQLite for keep, exist for this machine's architecture only.
		*-arm64 | *-s390x) programs='!(keep)' contents='device go' ;;
		esac
		machine "$1" kselftest "${1#kselftest-}" "$contents" kselftest "$PROGRAM_SECONDS" "${chosen:-$programs}"
		;;
	bindings-trixie | bindings-sid)
		progress "client-go of ${1#bindings-} beside kwq"
		machine "$1" kselftest stock "$1" kselftest "$PROGRAM_SECONDS" bindings
		;;
	bindings-controller-runtime)
		if [ -z "${CONTROLLER_RUNTIME:-}" ]; then
			progress "$1 does not run: CONTROLLER_RUNTIME=DIR has to name a checkout of controller-runtime"
			results absent "$1" 'CONTROLLER_RUNTIME named no checkout of controller-runtime'
			return
		fi
		progress "controller-runtime's priority queue beside kwq"
		# Each of the 1,000,000 calls waits for controller-runtime's goroutines.
		PROGRAM_SECONDS=$((2 * PROGRAM_SECONDS)) MACHINE_SECONDS=$((2 * MACHINE_SECONDS))
		machine "$1" kselftest stock "$1" kselftest "$PROGRAM_SECONDS" "${chosen:-@(priority|priority-upstream)}"
		;;
	share-rules)
		progress "a shared queue on three machines"
		MEMORY=3G machine "$1" kselftest stock share kselftest 1200 "$1"
		;;
	share-faults)
		progress "a shared queue on three machines, and its faults"
		MEMORY=3G KWQ_SEED=${SEED:-} machine "$1" kselftest stock share kselftest 1200 "$1"
		;;
	share-power)
		progress "power cuts of three machines with a shared queue and a server each"
		power
		;;
	share-soak)
		progress "a shared queue on three machines: faults for ${SOAK:-60} minutes, and a million adds"
		MEMORY=3G MACHINE_SECONDS=0 \
			KWQ_SEED=${SEED:-} KWQ_SOAK_SECONDS=$((60 * ${SOAK:-60})) KWQ_ITEMS=${KWQ_ITEMS:-1000000} \
			machine "$1" kselftest stock share kselftest 0 share-faults
		grep '^# ' "$LOGS/$1.report.log" | tail -n 30 || true
		;;
	coverage)
		progress "coverage"
		coverage
		;;
	demo)
		progress "the demo"
		demo
		;;
	packages)
		progress "Debian packages"
		host packages "$TOP/userspace/packaging/debian.sh"
		;;
	*)
		lost "$1" 'there is no such suite'
		;;
	esac
}

# run_all SUITE...: runs these suites one after the other.
run_all() {
	local suite began

	for suite in "$@"; do
		began=$SECONDS
		run "$suite"
		"$SELFTESTS/run/results.py" took "$suite" $((SECONDS - began))
		[ -f "$LOGS/$suite.lost" ] || echo $((SECONDS - began)) >"$TIMES/$suite"
	done
}

# estimate SUITE...: prints the seconds that these suites took when they last ran here, one after the other. The first time
# most take up to five minutes on two processors.
estimate() {
	local suite sum=0

	for suite in "$@"; do
		sum=$((sum + $(cat "$TIMES/$suite" 2>/dev/null || echo 300)))
	done
	echo "$sum"
}

# Says how long the run will take.
tell_estimate() {
	local first second new=0 suite text

	first=$(estimate "${first_lane[@]}") second=$(estimate "${second_lane[@]}")
	for suite in "${suites[@]}"; do
		[ -f "$TIMES/$suite" ] || new=$((new + 1))
	done
	text="about $(((first > second ? first : second) / 60 + 1)) minutes"
	[ "$new" = 0 ] || text+=", and up to 15 more to build kernels: $new of the suites have not run on this machine yet"
	progress "this takes $text"
}

finish() {
	wait
	progress "the logs are in build/logs"
	command -v python3 >/dev/null || { echo "0 passed, ${#suites[@]} failed, 0 skipped"; exit 1; }
	[ -z "${TABLE:-}" ] || "$SELFTESTS/run/results.py" table "$TABLE" "${suites[@]}"
	"$SELFTESTS/run/results.py" summary "${suites[@]}"
}

lock_build
rm -rf "$BUILD/results" "$LOGS"
mkdir -p "$LOGS" "$TIMES"
# The last line always has the totals. A suite that did not run counts as failed.
trap finish EXIT

[ -z "$chosen" ] || choose_of_share
groups=()
for suite in "${suites[@]}"; do
	read -ra more <<<"$(groups_of "$suite" | xargs)"
	groups+=("${more[@]}")
done
"$SELFTESTS/machine/packages.sh" "${groups[@]}"
find_within
case " ${groups[*]} " in
*' device '* | *' kernels '* | *' model '*)
	KERNEL_SOURCE=$("$SELFTESTS/machine/kernel.sh" source)
	export KERNEL_SOURCE
	;;
esac

# The suites of this machine use one processor, and so do many programs in a virtual machine. So two suites run at a time.
# Those of one lane may use the same files: build/vm/KERNEL.
first_lane=() second_lane=()
for suite in "${suites[@]}"; do
	case $suite in
	check | coccinelle | host | model | spin | mutants | kselftest-debug-short) first_lane+=("$suite") ;;
	*) second_lane+=("$suite") ;;
	esac
done
tell_estimate
# A background process does not hear of Ctrl-C.
trap 'trap - TERM; kill -TERM 0' INT
run_all "${first_lane[@]}" &
run_all "${second_lane[@]}"
wait
