#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# packages.sh [arm64] [s390x] | deb | packages: installs the missing Debian packages that the build and the tests need.
#
#   arm64     also the packages for tests on arm64
#   s390x     also the packages for tests on s390x
#   deb       only the packages for `make deb`
#   packages  only the packages for the test of kwq's own packages
. "$(dirname "$0")/common.sh"

PACKAGES=(
	# Building the module, the kernels, the library and the command.
	bc
	bison
	build-essential
	cpio
	flex
	gcc-multilib
	git
	kmod
	libcbor-dev
	libelf-dev
	libmicrohttpd-dev
	libnats-dev
	libsqlite3-dev
	libssl-dev
	pahole
	pkg-config
	python3
	rsync
	sqlite3
	uthash-dev
	xz-utils
	zstd
	# The source of the kernels that are built. kernel.sh unpacks Debian's own kernel.
	"$SOURCE_PACKAGE"
	# The machine.
	busybox-static
	qemu-system-x86
	# The fuzzer of the core.
	clang
	"$CLANG_RUNTIME"
	# The peers of the benchmarks.
	golang-go
	libglib2.0-dev
	parallel
	task-spooler
	# The tests of the cluster.
	e2fsprogs
	iproute2
	nats-server
	nftables
	openssl
	qemu-utils
	# The checks.
	coccinelle
	fish
	"$LIBPYTHON"
	mandoc
	mypy
	prometheus
	python3-jsonschema
	pyflakes3
	shellcheck
	sparse
	spin
	zsh
)

# cross.sh unpacks the compilers for arm64 and s390x.
ARM64=(
	qemu-system-arm
)

S390X=(
	qemu-system-misc
)

DEB=(
	build-essential
	cpio
	debhelper
	dh-dkms
	dh-python
	git
	libcbor-dev
	libmicrohttpd-dev
	libnats-dev
	libsqlite3-dev
	libssl-dev
	pkg-config
	python3
	python3-jsonschema
	uthash-dev
)

for group in "$@"; do
	case $group in
	arm64) PACKAGES+=("${ARM64[@]}") ;;
	s390x) PACKAGES+=("${S390X[@]}") ;;
	deb) PACKAGES=("${DEB[@]}") ;;
	packages) PACKAGES=("${DEB[@]}" debootstrap e2fsprogs lintian qemu-system-x86) ;;
	*) die "usage: $0 [arm64] [s390x] | deb | packages" ;;
	esac
done

missing=()
for package in "${PACKAGES[@]}"; do
	status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
	[ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

install=(apt-get install -y --no-install-recommends "${missing[@]}")
if [ "$(id -u)" != 0 ]; then
	die "packages are missing; install them with:
    sudo ${install[*]}"
fi

progress "installing ${#missing[@]} packages"
export DEBIAN_FRONTEND=noninteractive
# A fresh image has empty lists. The lists of an old image name packages that the mirror no longer has.
logged apt-update apt-get update
logged apt-install "${install[@]}"
