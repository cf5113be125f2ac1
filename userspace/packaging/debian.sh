#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#
# Tests the Debian packages from make deb to purge, as TAP. They are built, checked with lintian, and installed in a minimal
# Debian, which is then booted. The script needs root to make a chroot.
#
# The chroot is in build/debian. Its only mount is a /proc of its own, in a namespace of its own. The machine boots a copy.
# The cache keeps the base system and apt's downloads.
#
# shellcheck disable=SC2317 # the checks are called by their names
. "$(dirname "$0")/../../selftests/machine/common.sh"
. "$SELFTESTS/machine/apt.sh"

SUITE=$DEBIAN
WORK=$BUILD/debian
ROOT=$WORK/root
BASE=$CACHE/debian-$SUITE.tar
ARCHIVES=$CACHE/debian-$SUITE-archives

# The packages that the checks need beside kwq. apt installs dkms and the other dependencies of kwq. The headers bring their
# kernel with them.
WANTED=(bash-completion gcc golang-go libc6-dev "$HEADERS_PACKAGE" man-db nats-server pkg-config systemd-sysv udev)

number=0 failed=0

# ok NAME COMMAND...: passes if the command succeeds. Its output is in a log, and is shown on failure. $passed has the result.
ok() {
	local name=$1 log
	shift

	number=$((number + 1))
	log=$LOGS/packages-$number.log
	progress "$name"
	attempt "$log" "$@"
	if [ "$attempted" = 0 ]; then
		printf 'ok %d - %s\n' "$number" "$name"
		passed=true
	else
		printf 'not ok %d - %s\n' "$number" "$name"
		tail -n 40 "$log" | sed 's/^/# /'
		passed=false
		failed=1
	fi
}

# needed NAME COMMAND...: like ok, but a failure ends the test.
needed() {
	ok "$@"
	$passed || { printf 'Bail out! %s\n' "$1"; exit 1; }
}

# isolated COMMAND...: runs the command in namespaces. Its mounts and processes end with it.
isolated() {
	unshare --mount --propagation private --pid --fork --kill-child "$@"
}

# inside COMMAND...: runs the command in the chroot. No initramfs is built there, to save time.
inside() {
	# shellcheck disable=SC2016 # for the inner shell
	isolated sh -c 'mount -t proc proc "$1/proc" && exec chroot "$@"' sh "$ROOT" \
		env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root DEBIAN_FRONTEND=noninteractive \
		INITRD=No "$@"
}

install_packages() {
	inside apt-get install -y --no-install-recommends "$@"
}

# everything: prints each file of the chroot.
everything() {
	(cd "$ROOT" && find . -path ./proc -prune -o -print) | sort
}

# same GOT WANTED
same() {
	[ "$1" = "$2" ] || { printf 'got:    %s\nwanted: %s\n' "$1" "$2"; return 1; }
}

# ---- The checks ----

check_lintian() {
	lintian --fail-on error,warning --info "$BUILD/deb/"*.changes
}

# plain_archive [security]: like debian_archive. The images of clouds have a list of mirrors, which the chroot lacks; its first one
# is taken.
plain_archive() {
	local archive

	archive=$(debian_archive "$@") || return
	case $archive in
	mirror+file:*)
		archive=${archive#mirror+file:} archive=${archive%/}
		sed -n 's/^\([a-z]*:[^[:space:]]*\).*/\1/p' "$archive" | head -n 1
		;;
	*) echo "$archive" ;;
	esac
}

# The chroot has the machine's mirror, and its proxy. The base system may be older than these.
use_mirror() {
	cat >"$ROOT/etc/apt/sources.list" <<-END
		deb $(plain_archive) $SUITE main
		deb $(plain_archive security) $SUITE-security main
	END
	{
		apt-config dump Acquire::http Acquire::https
		[ -z "${http_proxy:-}" ] || echo "Acquire::http::Proxy \"$http_proxy\";"
		[ -z "${https_proxy:-}" ] || echo "Acquire::https::Proxy \"$https_proxy\";"
	} >"$ROOT/etc/apt/apt.conf.d/80machine"
}

make_base() (
	part=$WORK/base

	exec 9>"$CACHE/lock-debian"
	flock 9
	[ ! -f "$BASE" ] || exit 0
	archive=$(plain_archive)
	eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
	isolated env ${http_proxy:+http_proxy="$http_proxy"} debootstrap --variant=minbase "$SUITE" "$part" "$archive"
	rm -f "$part"/var/cache/apt/archives/*.deb
	# The machine is thrown away, so dpkg need not wait for the disk.
	echo force-unsafe-io >"$part/etc/dpkg/dpkg.cfg.d/unsafe-io"
	tar -C "$part" --numeric-owner --one-file-system -cf "$BASE.part" .
	mv "$BASE.part" "$BASE"
	rm -rf --one-file-system "$part"
)

# Keeps the downloads for the next run. Drops packages that Debian no longer has.
keep_archives() (
	inside apt-get autoclean
	exec 9>"$CACHE/lock-debian"
	flock 9
	rsync -a --delete --exclude lock --exclude partial "$ROOT/var/cache/apt/archives/" "$ARCHIVES/"
)

clean_debian() {
	make_base
	mkdir -p "$ROOT" "$ARCHIVES"
	tar -C "$ROOT" --numeric-owner -xf "$BASE"
	cp /etc/resolv.conf /etc/hosts "$ROOT/etc"
	use_mirror
	cp "$ARCHIVES"/*.deb "$ROOT/var/cache/apt/archives" 2>/dev/null || true
	inside apt-get update
	install_packages "${WANTED[@]}"
	keep_archives
}

# Installs the dependencies first, so that $WORK/before lists their files but none of kwq's.
install_kwq() {
	local package wanted

	mkdir "$ROOT/kwq"
	for package in kwq-dkms libkwq1 libkwq-dev kwq kwq-share golang-kwq-dev python3-kwq; do
		cp "$BUILD/deb/${package}_${VERSION}_"*.deb "$ROOT/kwq"
	done
	inside sh -c 'apt-get install --simulate --no-install-recommends /kwq/*.deb' >"$WORK/simulated"
	mapfile -t wanted < <(sed -n 's/^Inst \([^ ]*\) .*/\1/p' "$WORK/simulated" | grep -v kwq)
	install_packages "${wanted[@]}"
	same "$(inside getent group kwq || true)" ''
	everything >"$WORK/before"
	inside sh -c 'apt-get install -y --no-install-recommends /kwq/*.deb'
	rm -rf --one-file-system "$ROOT/kwq"
	keep_archives
}

check_dkms() {
	same "$(inside dkms status)" "kwq/$VERSION, $RELEASE, x86_64: installed"
}

# DKMS compresses modules if the kernel's are.
check_modprobe() {
	local found
	found=$(inside modprobe -S "$RELEASE" -n -v kwq | xargs)
	same "${found%.xz}" "insmod /lib/modules/$RELEASE/updates/dkms/kwq.ko"
	found=$(inside modprobe -S "$RELEASE" -n -v kwq_files | tail -n 1 | xargs)
	same "${found%.xz}" "insmod /lib/modules/$RELEASE/updates/dkms/kwq_files.ko"
}

# The versions of kmod/compat.h.
check_kernels() {
	local pattern release
	pattern=$(sed -n 's/^BUILD_EXCLUSIVE_KERNEL="\(.*\)"$/\1/p' "$ROOT/usr/src/kwq-$VERSION/dkms.conf")

	for release in 6.1.0-40-amd64 6.1.192 6.5.13 6.10.1 6.12.117+deb12-rt-amd64 6.18.1 7.0.1 10.2.3; do
		[[ $release =~ $pattern ]] || { echo "DKMS would not build for $release"; return 1; }
	done
	for release in 6.0.19 6.2.16 6.4.0 5.10.0-30-amd64 4.19.1 3.6.1 2.6.12; do
		! [[ $release =~ $pattern ]] || { echo "DKMS would build for $release"; return 1; }
	done
}

check_group() {
	inside getent group kwq | grep -E '^kwq:[^:]*:[0-9]{1,3}:$'
}

check_version() {
	same "$(inside kwq --version)" "kwq $VERSION"
}

# The command finds the program of the other package. Without a server it says so.
check_share() {
	local said

	said=$(inside kwq share --nats mail 2>&1 || true)
	same "$(head -n 1 <<<"$said")" 'kwq: share: --nats mail: must be nats://HOST[:PORT], or tls://HOST[:PORT] for TLS'
}

check_man_pages() {
	local page

	for page in 'kwq(1)' 'kwq-share(1)' 'kwq(4)' 'kwq_files(4)' 'kwq(7)' 'kwq-run@.service(8)' 'libkwq(3)' 'kwq_add_after(3)'; do
		inside man -w "$page"
	done
}

check_completion() {
	# shellcheck disable=SC2016 # for the inner shell
	inside bash -c '. /usr/share/bash-completion/bash_completion && _completion_loader kwq; complete -p kwq'
}

# Compiles the first program of docs/client-go.md.
check_compile() {
	sed -n '/^#include <errno.h>$/,/^```$/p' "$TOP/docs/client-go.md" | sed '/^```$/,$d' >"$ROOT/root/example.c"
	# shellcheck disable=SC2016 # for the inner shell
	inside sh -c 'cd /root && cc -Wall -Werror -o /usr/local/bin/kwq-example example.c $(pkg-config --cflags --libs libkwq) &&
		cc -static -o example.static example.c $(pkg-config --cflags --libs libkwq) &&
		readelf -d /usr/local/bin/kwq-example | grep -F "[libkwq.so.1]"'
	rm "$ROOT"/root/example*
}

# The package for Python, compiled when it was installed. The machine runs the examples of docs/python.md.
check_python() {
	same "$(inside python3 -c 'import kwq; print(kwq.__file__)')" /usr/lib/python3/dist-packages/kwq/__init__.py
	ls "$ROOT"/usr/lib/python3/dist-packages/kwq/__pycache__/worker.*.pyc
	{ inside python3 -I -c 'import kwq; kwq.Queue.unnamed()' 2>&1 || true; } | grep "load the module with 'modprobe kwq'"
	cp "$TOP/docs/python.md" "$ROOT/usr/local/share/kwq-python.md"
}

# Compiles the program of docs/go.md in both ways.
check_go() {
	mkdir "$ROOT/root/program"
	sed -n '/^package main$/,/^```$/p' "$TOP/docs/go.md" | sed '/^```$/d' >"$ROOT/root/program/main.go"
	# shellcheck disable=SC2016 # for the inner shell
	inside sh -c 'cd /root/program && export GOFLAGS=-buildvcs=false GOPROXY=off GOPATH=$PWD/path GOCACHE=$PWD/cache &&
		GO111MODULE=off GOPATH=/usr/share/gocode go build -o gopath . &&
		go mod init example.test && go mod edit -require "$1@v0.0.0" -replace "$1=/usr/share/gocode/src/$1" && go build -o module . &&
		test -x gopath && test -x module' sh "$(sed -n 's/^module //p' "$TOP/userspace/go/go.mod")"
	rm -rf "$ROOT/root/program"
}

# Makes a package of the next version, whose module differs. The machine upgrades to it. To build the module would take
# the machine half an hour, so DKMS builds it here, and the package has it instead of the snippets of dh_dkms.
make_next() {
	local part=$WORK/next next=$VERSION.1 source=$ROOT/usr/src/kwq-$VERSION.1

	cp -a "$ROOT/usr/src/kwq-$VERSION" "$source"
	sed -i "s/^PACKAGE_VERSION=.*/PACKAGE_VERSION=\"$next\"/" "$source/dkms.conf"
	echo 'MODULE_INFO(next, "yes");' >>"$source/kmod/main.c"
	inside dkms build "kwq/$next" -k "$RELEASE"

	dpkg-deb -R "$BUILD/deb/kwq-dkms_${VERSION}_all.deb" "$part"
	install -D -t "$part/lib/modules/$RELEASE/updates/dkms" \
		"$ROOT/var/lib/dkms/kwq/$next/$RELEASE/x86_64/module"/kwq.ko*
	sed -i "s/^Version: .*/Version: $next/" "$part/DEBIAN/control"
	sed -i '/^# Automatically added by dh_dkms/,/^# End automatically added/d' "$part"/DEBIAN/p{ostinst,rerm}
	sed -i "s/^set -e$/&\ndepmod $RELEASE/" "$part/DEBIAN/postinst"
	rm "$part/DEBIAN/md5sums"
	dpkg-deb --root-owner-group -b "$part" "$ROOT/root/kwq-next.deb"

	inside dkms remove "kwq/$next" --all
	rm -rf --one-file-system "$part" "$source"
}

# Boots a copy of the chroot, with its kernel, systemd and udev. The machine runs debian-machine.sh, which prints TAP.
boot_machine() {
	local unit=$ROOT/etc/systemd/system/kwq-check.service script=$ROOT/usr/local/sbin/kwq-check

	install -m 755 "$TOP/userspace/packaging/debian-machine.sh" "$script"
	cat >"$unit" <<-END
		[Unit]
		Description=The checks of kwq's packages
		SuccessAction=reboot-force
		FailureAction=reboot-force
		[Service]
		Type=oneshot
		ExecStart=/usr/local/sbin/kwq-check
		StandardOutput=file:/dev/ttyS1
		StandardError=inherit
	END
	rm -f "$WORK/disk"
	mke2fs -q -t ext4 -d "$ROOT" "$WORK/disk" 3G
	rm "$unit" "$script" "$ROOT/usr/local/bin/kwq-example" "$ROOT/usr/local/share/kwq-python.md" "$ROOT/root/kwq-next.deb"
	ln -sf "$ROOT/boot/vmlinuz-$RELEASE" "$WORK/image"
	echo amd64 >"$WORK/architecture"
	DISK=$WORK/disk LIMIT=${MACHINE_SECONDS:-1500} "$SELFTESTS/machine/boot.sh" "$WORK" "file:$LOGS/packages.console.log" \
		"file:$LOGS/packages.report.log" systemd.unit=kwq-check.service systemd.condition-first-boot=no \
		systemd.show_status=true
	grep -q '^1\.\.' "$LOGS/packages.report.log" || { tail -n 30 "$LOGS/packages.console.log"; return 1; }
}

# Prints the cases of the machine as cases of this script.
pass_on() {
	local line name

	while IFS= read -r line; do
		case $line in
		'ok '* | 'not ok '*)
			number=$((number + 1))
			name=${line#*ok * - }
			printf '%s %d - in the machine: %s\n' "${line%%ok*}ok" "$number" "$name"
			[[ $line != not* ]] || failed=1
			;;
		'1..'*) planned=${line#1..} ;;
		*) printf '# %s\n' "${line#\# }" ;;
		esac
	done < <(tr -d '\r' <"$LOGS/packages.report.log")
}

# Removing the package removes the module. A purge comes later.
remove_kwq() {
	inside apt-get remove -y kwq-dkms
	same "$(inside dkms status)" ''
	same "$(find "$ROOT/lib/modules" -name 'kwq*')" ''
	same "$(inside modprobe -S "$RELEASE" -n -v kwq || true)" ''
}

# After the purge no file is left that was not there before, except logs and caches. The group stays: sysusers.d(5) never
# removes one, because files may still belong to it.
purge_kwq() {
	# apt no longer knows kwq-dkms, because its removal left nothing to purge.
	inside dpkg --purge python3-kwq kwq-share kwq kwq-dkms libkwq-dev libkwq1 golang-kwq-dev
	# shellcheck disable=SC2016 # for dpkg-query
	same "$(inside dpkg-query -W -f '${Package} ${db:Status-Status}\n' '*kwq*' 2>/dev/null || true)" ''
	everything >"$WORK/after"
	comm -13 "$WORK/before" "$WORK/after" | grep -vE "$NOTES" >"$WORK/left" || true
	same "$(cat "$WORK/left")" ''
	check_group
}

# ---- The order of the checks ----

if [ "$(id -u)" != 0 ]; then
	die "only root can make a chroot"
fi
"$SELFTESTS/machine/packages.sh" packages
lock_build
VERSION=$(sed -n 's/^VERSION[[:space:]]*:= *//p' "$TOP/userspace/Makefile")
# The logs and caches of dpkg, apt and man, and the backup of the file of groups.
NOTES='^\./(var/(cache|log)/|var/lib/(apt|dpkg)/|etc/(group|gshadow)-$)'

mkdir -p "$LOGS" "$WORK"
rm -rf --one-file-system "$WORK"
mkdir -p "$WORK"
trap 'end_attempt; rm -rf --one-file-system "$WORK"' EXIT

echo 'TAP version 13'
needed 'make deb' "$TOP/userspace/packaging/deb.sh"
ok 'lintian finds nothing' check_lintian
needed "a clean Debian ($SUITE)" clean_debian
RELEASE=$(basename "$ROOT"/lib/modules/*)
needed 'the packages are installed' install_kwq
ok 'DKMS has built the module' check_dkms
ok 'modprobe finds it' check_modprobe
ok 'DKMS knows the supported kernels' check_kernels
ok 'the group kwq exists' check_group
ok 'kwq --version' check_version
ok 'man finds the pages' check_man_pages
ok 'kwq share finds kwq-share' check_share
ok 'bash completes kwq' check_completion
needed 'a program is compiled with pkg-config' check_compile
needed 'Python imports the package' check_python
ok 'a program in Go is compiled with GOPATH, and as a module' check_go
needed 'a package of the next version is made' make_next
needed 'the machine boots, and ends' boot_machine
planned=none
first=$number
pass_on
ok 'the machine ran its plan' same "$((number - first))" "$planned"
ok 'remove takes the module away' remove_kwq
ok 'purge leaves nothing behind' purge_kwq
printf '1..%d\n' "$number"
exit $failed
