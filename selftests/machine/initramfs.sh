#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# initramfs.sh KERNEL [device] [demo] [exporter] [share] [power] [keep] [prompt] [go] [bindings-SUITE] [kunit] [queue] [bench] [shell] [python]: builds kwq for that kernel of
# kernel.sh. Packs it with init, busybox, the command, and the named parts. Prints the directory in which boot.sh finds image and
# initramfs.
#
#   device    selftests/device, selftests/fuzz and the tests of the command with a device, in /kselftest
#   demo      selftests/demo, in /demo
#   exporter  the command with its exporter and libraries, in /exporter, and the test of the exporter, in /kselftest
#   share     kwq-share, nats-server of the release of Debian in NATS (sid) and selftests/share, in /share, and its
#             tests, in /kselftest
#   power     a machine of selftests/share/power, beside the contents share and keep
#   keep      the command with the library of SQLite, and the shell of SQLite, in /keep
#   prompt    beside share and keep: what the prompt of `make shell` needs to use them
#   go        the tests of the Go packages, in /go, and the program that runs them, in /kselftest
#   bindings-trixie, bindings-sid
#             selftests/bindings with the client-go of that release of Debian, in /kselftest
#   bindings-controller-runtime
#             selftests/bindings/priority with controller-runtime of the folder CONTROLLER_RUNTIME, in /kselftest and /bindings
#   kunit     the KUnit suites, in the module
#   queue     the module without the device
#   bench     selftests/bench, as /kwq_bench.ko, and its programs, in /bench
#   shell     the command with its library, and other runners of jobs, in /bench
#   python    Python with its standard library, the package kwq in /python, and its tests, in /kselftest
. "$(dirname "$0")/common.sh"

kernel=$1
shift
kernel_dir=$("$SELFTESTS/machine/kernel.sh" "$kernel")
lock_make
out=$BUILD/vm/$kernel
# KUnit on a kernel runs beside its other tests.
case " $* " in
*' kunit '*) out=$BUILD/vm/kunit/$kernel ;;
esac
root=$out/root

rm -rf "$root"
mkdir -p "$root"/{bin,dev,proc,sys,tmp,run,lib}

release=$(release_of "$kernel_dir/kdir")
module_config=(CONFIG_KWQ_SAMPLE_LINK=m CONFIG_KWQ_SAMPLE_TALLY=m CONFIG_KWQ_SAMPLE_ALIVE=m CONFIG_KWQ_SAMPLE_NETDEVS=m)
modules=$BUILD
# The device's tests load the module as users have it. Only for counts of lines both kinds of tests need the same module.
case "$kernel $*" in
gcov*) module_config+=(CONFIG_KWQ_KUNIT_TEST=y) ;;
*kunit*)
	modules=$BUILD/kunit
	module_config+=(CONFIG_KWQ_KUNIT_TEST=y BUILD="$modules")
	;;
*queue*)
	modules=$BUILD/queue
	module_config+=(CONFIG_KWQ_DEV=n BUILD="$modules")
	;;
esac
# make check compiles with every warning for the common kernels. For the newer kernels this build does.
init_config=()
case $kernel in
uml-*)
	module_config+=(ARCH=um)
	init_config+=(-DKWQ_UML)
	;;
esac
within=()
if [ -e "$kernel_dir/in-debian-13" ]; then
	within=("$SELFTESTS/machine/debian13.sh")
	module_config+=(W=1 KCFLAGS=-Werror)
fi
# With KWQ_CLANG=1 clang compiles the module, the library and the command, into folders of their own.
compiled=$BUILD
if [ -n "${KWQ_CLANG:-}" ]; then
	compiled=$BUILD/clang
	modules=$compiled
	module_config+=(LLVM=1 BUILD="$compiled")
fi
# Two processors may count at once, so the counters are atomic. A function that is inlined early would be counted in each
# caller. A branch that becomes a conditional move early would not be counted.
[ "$kernel" != gcov ] ||
	module_config+=(GCOV_PROFILE=y KCFLAGS='-fprofile-update=atomic -fno-early-inlining -fno-ssa-phiopt')

# Options for programs of the machine. The module needs none: its headers know their architecture.
architecture=$(debian_architecture "$kernel")
echo "$architecture" >"$out/architecture"
case $kernel in
uml-*) echo uml >"$out/architecture" ;;
esac
case $architecture in
arm64) target=aarch64-linux-gnu ;;
s390x) target=s390x-linux-gnu ;;
*) target= ;;
esac
if [ -n "$target" ]; then
	cross=$("$SELFTESTS/machine/cross.sh" "$architecture")
	export PATH=$cross/usr/bin:$PATH LD_LIBRARY_PATH=$cross/usr/lib/x86_64-linux-gnu
	suffix=-$architecture busybox=$kernel_dir/bin/busybox cc=$target-gcc
	# pkg-config would find this machine's libraries.
	for_machine=(CC="$cc" AR="$target-ar" HTTP= HTTP_STATIC= SQLITE= SQLITE_STATIC=)
	case $architecture in
	s390x) for_machine+=(M32=-m31) ;;
	# There are no 32-bit programs.
	*) for_machine+=(TESTS_32=) ;;
	esac
else
	suffix='' busybox=/bin/busybox cc=gcc
	for_machine=()
fi
device=$BUILD/device$suffix
userspace=$compiled/userspace$suffix
logged "module-$kernel" "${within[@]}" make -C "$TOP" -j"$JOBS" module KDIR="$kernel_dir/kdir" "${module_config[@]}"
cp "$modules/module-$release"/kmod/{,samples/}*.ko "$root"

# kernel_modules NAME...: copies these modules of the kernel to /NAME.ko, except modules that are built in.
kernel_modules() {
	local name file

	for name in "$@"; do
		file=$(find "$kernel_dir/lib/modules/$release/kernel" -name "$name.ko*" 2>/dev/null || true)
		case $file in
		*.ko) cp "$file" "$root" ;;
		*.ko.xz) xz -dc "$file" >"$root/$name.ko" ;;
		*.ko.zst) zstd -dcq "$file" >"$root/$name.ko" ;;
		*) grep -q "/$name\.ko\$" "$kernel_dir/kdir/modules.builtin" || die "this kernel has no $name" ;;
		esac
	done
}

# libraries_of PROGRAM [FOLDER]: copies the libraries that PROGRAM is linked with to the same paths. Libraries that this
# machine lacks come from FOLDER and go to /lib. Libraries that are built here are left out.
libraries_of() {
	LD_LIBRARY_PATH=${2:-} ldd "$1" | grep -oE '/[^ ]+' | sort -u | while read -r library; do
		case $library in
		"$BUILD"/*) ;;
		"${2:-none}"/*) cp -L "$library" "$root/lib" ;;
		*) (cd / && cpio --quiet -pdLu "$root" <<<"${library#/}") ;;
		esac
	done
}

logged init "$cc" -O2 -Wall -Wextra -Werror "${init_config[@]}" -static -pthread -o "$root/init" "$SELFTESTS/machine/init.c"
cp "$busybox" "$root/bin/busybox"
# busybox has the same applets on every architecture.
for applet in $(/bin/busybox --list | grep -vx busybox); do
	ln -s busybox "$root/bin/$applet"
done

for_userspace=("${for_machine[@]}")
[ -z "${KWQ_CLANG:-}" ] || for_userspace+=(CC=clang)
logged userspace make -C "$TOP/userspace" -j"$JOBS" O="$userspace" "${for_userspace[@]}" all
cp "$userspace/kwq-static" "$root/bin/kwq"

for content in "$@"; do
	case $content in
	device)
		source=$("$SELFTESTS/machine/kernel.sh" source)
		logged device make -C "$TOP/selftests/device" -j"$JOBS" O="$device" "${for_machine[@]}" \
			KSELFTEST_INC="$source/tools/testing/selftests" all
		mkdir "$root/kselftest"
		make -s --no-print-directory -C "$TOP/selftests/device" KSELFTEST_INC=. "${for_machine[@]}" list |
			(cd "$device" && xargs cp -t "$root/kselftest")
		logged fuzz make -C "$TOP/selftests/fuzz" O="$device" "${for_machine[@]}" \
			KSELFTEST_INC="$source/tools/testing/selftests" all
		cp "$device/fuzz" "$root/kselftest"
		for name in command json watch parallel run many service keep; do
			cp "$TOP/userspace/test/device-$name" "$root/kselftest/$name"
		done
		logged examples make -C "$TOP/userspace" O="$userspace" "${for_userspace[@]}" \
			"$userspace/test/device-examples" "$userspace/test/device-local"
		cp "$userspace/test/device-examples" "$root/kselftest/examples"
		cp "$userspace/test/device-local" "$root/kselftest/local"
		kernel_modules dummy veth
		;;
	demo)
		logged demo make -C "$TOP/selftests/demo" O="$BUILD/demo$suffix" "${for_machine[@]}" all \
			HEADERS="$(echo "$("$SELFTESTS/machine/kernel.sh" stock)"/usr/src/linux-headers-*-common/include)"
		cp -r "$BUILD/demo$suffix/demo-root/." "$root"
		;;
	exporter)
		# The command with its exporter cannot be static, because Debian lacks some of the static libraries.
		mkdir "$root/exporter"
		cp "$BUILD/userspace/kwq" "$BUILD/userspace/libkwq.so.1" "$root/exporter"
		libraries_of "$BUILD/userspace/kwq"
		# The exporter loads this one itself.
		libraries_of "$BUILD/userspace/obj/http-probe"
		mkdir -p "$root/kselftest"
		cp "$TOP/userspace/test/device-exporter" "$root/kselftest/exporter"
		;;
	share)
		nats_server=$("$SELFTESTS/machine/unpacked.sh" "${NATS:-sid}" nats-server)/usr/sbin/nats-server
		logged share make -C "$TOP/selftests/share" O="$BUILD/share" LIBRARY="$userspace" all
		[ -x "$BUILD/userspace/kwq-share" ] || die "kwq-share was not built: a library of NATS, CBOR or OpenSSL is missing"
		mkdir -p "$root/share" "$root/kselftest" "$root/demo"
		# The machine of a prompt has both demos.
		cp "$TOP/selftests/share/demo" "$root/share"
		[ -e "$root/demo/run" ] || cp "$TOP/selftests/share/demo" "$root/demo/run"
		cp "$BUILD/userspace/kwq-share" "$BUILD/userspace/libkwq.so.1" "$BUILD/share"/{checker,fetch,place} "$nats_server" \
			"$TOP/selftests/share"/{machines.sh,job,picture} "$root/share"
		for program in rules faults; do
			cp "$TOP/selftests/share/$program" "$root/kselftest/share-$program"
		done
		libraries_of "$root/share/nats-server"
		LD_LIBRARY_PATH=$BUILD/userspace libraries_of "$BUILD/userspace/kwq-share"
		for program in ip nft tc; do
			program=$(PATH=$PATH:/usr/sbin:/sbin command -v "$program")
			cp -L "$program" "$root/share"
			libraries_of "$program"
		done
		kernel_modules veth llc stp bridge libcrc32c nfnetlink nf_tables sch_netem
		;;
	power)
		cp "$TOP/selftests/share/power-machine" "$root/kselftest"
		mkdir "$root/disk"
		kernel_modules virtio_blk failover net_failover virtio_net
		;;
	keep)
		# The command that loads SQLite itself, and the shell of SQLite.
		mkdir "$root/keep"
		cp "$BUILD/userspace/kwq" "$BUILD/userspace/libkwq.so.1" "$(command -v sqlite3)" "$root/keep"
		libraries_of "$BUILD/userspace/kwq"
		libraries_of "$BUILD/userspace/obj/sqlite-probe"
		libraries_of "$root/keep/sqlite3"
		;;
	prompt)
		# The static command can load no SQLite.
		ln -sf ../keep/kwq "$root/bin/kwq"
		ln -s ../keep/libkwq.so.1 "$root/lib"
		ln -s ../share/kwq-share "$root/keep"
		ln -s ../share/nats-server "$root/bin"
		;;
	go)
		case $architecture in
		amd64 | arm64 | s390x) goarch=$architecture ;;
		*) die "Go has no $architecture" ;;
		esac
		logged go-tests make -C "$TOP/userspace" O="$userspace" GOARCH="$goarch" go-tests
		mkdir -p "$root/go" "$root/kselftest"
		cp "$userspace/test/go-$goarch"/* "$root/go"
		cp "$TOP/userspace/test/device-go" "$root/kselftest/go"
		cp "$TOP/userspace/test/device-go-controller" "$root/kselftest/go-controller"
		;;
	bindings-controller-runtime)
		# The newest release needs the newest Go.
		logged "$content" "$SELFTESTS/machine/client-go.sh" sid "$TOP/selftests/bindings/priority/build" "$root" "$BUILD/bindings/priority"
		;;
	bindings-*)
		mkdir -p "$root/kselftest"
		(
			cd "$TOP/selftests/bindings"
			logged "$content-vet" "$SELFTESTS/machine/client-go.sh" "${content#bindings-}" go vet .
			logged "$content" "$SELFTESTS/machine/client-go.sh" "${content#bindings-}" \
				go build -trimpath -o "$root/kselftest/bindings" .
		)
		;;
	bench)
		rsync -rc "$TOP/selftests/bench" "$BUILD/module-$release/"
		logged bench make -C "$kernel_dir/kdir" -j"$JOBS" M="$BUILD/module-$release/bench" KWQ="$TOP" \
			KBUILD_EXTRA_SYMBOLS="$BUILD/module-$release/Module.symvers" modules
		cp "$BUILD/module-$release/bench/kwq_bench.ko" "$root"
		mkdir "$root/bench"
		cp "$BUILD/module-$release/bench/kwq_watch.ko" "$root/bench"
		logged bench-device make -C "$TOP/selftests/bench/device" O="$BUILD/bench" LIBRARY="$userspace" all
		logged bench-peers make -C "$TOP/selftests/bench/peers" O="$BUILD/bench" all
		logged bench-go make -C "$TOP/selftests/bench/go" O="$BUILD/bench" all
		logged bench-client make -C "$TOP/selftests/bench/servers" O="$BUILD/bench" all
		cp "$TOP/selftests/bench"/{run{,-processors,-stalls,-keys,-python},python/bench.py} \
			"$BUILD/bench"/{device,peer-c,bench-go,client} "$root/bench"
		# The programs, and two libraries that not every Debian has.
		servers=$("$SELFTESTS/machine/unpacked.sh" host beanstalkd redis-server redis-tools libjemalloc2 liblzf1)
		for server in beanstalkd redis-server; do
			cp "$servers/usr/bin/$server" "$root/bench"
			libraries_of "$root/bench/$server" "$servers/usr/lib/x86_64-linux-gnu"
		done
		cp "$TOP/selftests/bench/servers"/*.lua "$root/bench"
		;;
	shell)
		mkdir "$root/bench"
		logged bench-shell make -C "$TOP/selftests/bench/shell" O="$BUILD/bench" all
		cp "$TOP/selftests/bench/run-shell" "$BUILD/bench/timed" "$BUILD/userspace/kwq" "$BUILD/userspace/libkwq.so.1" \
			"$root/bench"
		for program in kwq bash perl xargs tsp parallel; do
			[ "$program" = kwq ] || cp -L "$(command -v "$program")" "$root/bench"
			[ "$program" = parallel ] || libraries_of "$root/bench/$program"
		done
		ln -sf ../bench/bash "$root/bin/bash"
		mkdir -p "$root/usr/bin"
		ln -s ../../bench/perl "$root/usr/bin/perl"
		# The folders of Perl's modules.
		perl -e 'print substr($_, 1), "\n" for grep { m{^/usr/} && -d } @INC' |
			while read -r modules; do (cd / && find -L "$modules" -type f | cpio --quiet -pdLu "$root"); done
		;;
	python)
		# The modules of C that need other libraries than the interpreter itself are left out, such as ssl and sqlite3.
		python=$(readlink -f /usr/bin/python3)
		library=$(/usr/bin/python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
		(cd / && cpio --quiet -pdLu "$root") <<<"${python#/}"
		ln -sf "${python##*/}" "$root/usr/bin/python3"
		libraries_of "$python"
		(cd / && find -L "${library#/}" \( -name 'config-*' -o -name test -o -name idlelib -o -name lib2to3 -o -name tkinter \
			-o -name turtledemo -o -name ensurepip -o -name dist-packages \) -prune -o -type f -print |
			while read -r file; do
				case $file in
				*.so) ! ldd "$file" | grep -vqE 'linux-vdso|ld-linux|libc\.so|libm\.so|libpthread|statically' || continue ;;
				esac
				printf '%s\n' "$file"
			done | cpio --quiet -pdLu "$root")
		cp -r "$TOP/userspace/python" "$root/python"
		cp "$TOP/docs/python.md" "$root/python"
		mkdir -p "$root/kselftest"
		cp "$TOP/userspace/test/device-python" "$root/kselftest/python"
		;;
	kunit | queue) ;;
	*)
		die "there is no part $content"
		;;
	esac
done

# The machine reads the initramfs from memory, so compression would gain nothing.
(cd "$root" && find . -print0 | LC_ALL=C sort -z | cpio --quiet -0 -o -H newc -R 0:0) >"$out/initramfs.part"
mv "$out/initramfs.part" "$out/initramfs"
ln -sfn "$kernel_dir/image" "$out/image"
echo "$out"
