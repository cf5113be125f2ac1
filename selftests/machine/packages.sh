#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# packages.sh GROUP...: installs the missing Debian packages of these groups. Each target installs only the groups that it
# needs. Debian starts services when it installs them, so servers are not here: unpacked.sh.
#
#   machine   compiling the module and the command, packing a virtual machine, booting it
#   libraries the libraries of the command and of kwq share, and the group bpf
#   bpf       making kwq-flows and kwq-cgroups
#   kernels   building kernels
#   device    the tests of the device, in C, Go and Python
#   host      the host tests
#   check     the static checks
#   model     the model of the core, and its fuzzer
#   spin      the models of the lock and the sleepers
#   share     the tests of shared queues
#   bench     the peers of the benchmarks
#   arm64, s390x  tests on these; cross.sh unpacks the compilers
#   deb       `make deb`
#   packages  the test of kwq's own packages
. "$(dirname "$0")/common.sh"

MACHINE=(build-essential busybox-static cpio git kmod libelf-dev pkg-config python3 qemu-system-x86 rsync xz-utils zstd)
BPF=(bpftool clang libbpf-dev)
LIBRARIES=("${BPF[@]}" libcbor-dev libmicrohttpd-dev libnats-dev libsqlite3-dev libssl-dev pkg-config uthash-dev)
# kernel.sh unpacks Debian's own kernels. The package has the source of those that are built, and kselftest.h.
KERNELS=(bc bison build-essential flex libelf-dev pahole python3 rsync "$SOURCE_PACKAGE" xz-utils)
DEVICE=("${LIBRARIES[@]}" gcc-multilib golang-go "$SOURCE_PACKAGE" sqlite3)
HOST=(build-essential "${LIBRARIES[@]}" fish gcc-multilib golang-go mandoc openssl python3 python3-jsonschema rsync zsh)
CHECK=(
	"${KERNELS[@]}" "${LIBRARIES[@]}" coccinelle cpio gcc-multilib git kmod "$LIBPYTHON" mandoc mypy pyflakes3 shellcheck
	sparse
)
DEB=(build-essential cpio debhelper dh-dkms dh-python git "${LIBRARIES[@]}" python3 python3-jsonschema)

packages=()
for group in "$@"; do
	case $group in
	machine) packages+=("${MACHINE[@]}") ;;
	bpf) packages+=("${BPF[@]}") ;;
	libraries) packages+=("${LIBRARIES[@]}") ;;
	kernels) packages+=("${KERNELS[@]}") ;;
	device) packages+=("${MACHINE[@]}" "${DEVICE[@]}") ;;
	host) packages+=("${HOST[@]}") ;;
	check) packages+=("${CHECK[@]}") ;;
	model) packages+=(build-essential clang "$CLANG_RUNTIME" "$SOURCE_PACKAGE" xz-utils) ;;
	spin) packages+=(build-essential spin) ;;
	share) packages+=("${MACHINE[@]}" "${LIBRARIES[@]}" e2fsprogs iproute2 nftables openssl qemu-utils sqlite3) ;;
	bench) packages+=("${MACHINE[@]}" "${LIBRARIES[@]}" libglib2.0-dev parallel task-spooler) ;;
	arm64) packages+=(qemu-system-arm) ;;
	s390x) packages+=(qemu-system-misc) ;;
	deb) packages+=("${DEB[@]}") ;;
	packages) packages+=("${MACHINE[@]}" "${DEB[@]}" debootstrap e2fsprogs lintian) ;;
	*) die "there is no group $group" ;;
	esac
done

missing=()
# Another run may be installing them.
lock_cache packages
for package in $(printf '%s\n' "${packages[@]}" | sort -u); do
	status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
	[ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

install=(apt-get -o DPkg::Lock::Timeout=600 install -y --no-install-recommends "${missing[@]}")
if [ "$(id -u)" != 0 ]; then
	die "packages are missing; install them with:
    sudo ${install[*]}"
fi

progress "installing ${#missing[@]} packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
# A fresh image has empty lists. The lists of an old image name packages that the mirror no longer has.
logged apt-update apt-get update
# No service is started, neither of these packages nor of what they depend on.
policy=/usr/sbin/policy-rc.d
# One of ours is left if a run was killed. No service would ever start again.
if [ ! -e "$policy" ] || grep -q '^# kwq' "$policy"; then
	trap 'rm -f "$policy"' EXIT
	printf '#!/bin/sh\n# kwq: selftests/machine/packages.sh\nexit 101\n' >"$policy"
	chmod +x "$policy"
fi
logged apt-install "${install[@]}"
