#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# client-go.sh trixie|sid COMMAND...: runs COMMAND with the Go of that release of Debian, and with a GOPATH that has its
# client-go with all dependencies. Trixie has client-go 0.32, sid has the newest. They are unpacked into the cache if they
# are missing, and not installed.
#
# GOPATH begins with a folder in build/, in which the Go module of this checkout stands under its own name. So COMMAND can
# import both. Without a COMMAND it prints the versions.
#
#   CONTROLLER_RUNTIME=DIR  a checkout of controller-runtime, of which Debian has no package, which COMMAND can import, too
. "$(dirname "$0")/common.sh"
. "$SELFTESTS/machine/apt.sh"

suite=${1:-}
case $suite in
trixie | sid) shift ;;
*) die "usage: $0 trixie|sid [COMMAND...]" ;;
esac

CLIENT_GO=golang-k8s-client-go-dev
# controller-runtime's metrics need these, beside what client-go needs.
PROMETHEUS=(golang-github-prometheus-{client-golang,client-model,common,otlptranslator,procfs}-dev golang-github-beorn7-perks-dev
	golang-github-cespare-xxhash-v2-dev)

# Prints Go and client-go with all of their dependencies that are written in Go.
go_packages() {
	apt-cache "${APT[@]}" depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
		--no-enhances "$CLIENT_GO" golang-go |
		grep '^golang-' | grep -vxE 'golang-(any|cfssl|glog-dev)' | sort -u
}

unpack_client_go() {
	local packages

	mapfile -t packages < <(go_packages)
	unpack_packages "${packages[@]}" "$1" &&
		[ -x "$1/usr/lib/go/bin/go" ] &&
		[ -d "$1/usr/share/gocode/src/k8s.io/client-go/util/workqueue" ]
}

use_apt_of amd64 "$suite"
client_go=$(version_of "$CLIENT_GO") go=$(version_of golang-go)
if [ -z "$client_go" ] || [ -z "$go" ]; then
	die "$suite has no $CLIENT_GO or no golang-go"
fi
# A version may have an epoch. The colon would split GOPATH.
dir=$CACHE/client-go-$suite-${client_go#*:}-go-${go#*:}

cached "client-go-$suite" "$dir" "downloading client-go and Go of $suite" unpack_client_go

module=$(sed -n 's/^module //p' "$TOP/userspace/go/go.mod")
gopath=$BUILD/bindings/gopath
mkdir -p "$gopath/src/$(dirname "$module")"
ln -sfnT "$TOP/userspace/go" "$gopath/src/$module"

# The packages of Debian are for a GOPATH, not for modules.
export GO111MODULE=off GOPATH=$gopath:$dir/usr/share/gocode GOCACHE=$BUILD/bindings/cache-$suite
if [ -n "${CONTROLLER_RUNTIME:-}" ]; then
	[ -d "$CONTROLLER_RUNTIME/pkg/controller/priorityqueue" ] ||
		die "CONTROLLER_RUNTIME=$CONTROLLER_RUNTIME is no checkout of controller-runtime 0.23 or newer"
	mkdir -p "$gopath/src/sigs.k8s.io"
	ln -sfnT "$(realpath "$CONTROLLER_RUNTIME")" "$gopath/src/sigs.k8s.io/controller-runtime"
	GOPATH+=:$("$SELFTESTS/machine/unpacked.sh" "$suite" "${PROMETHEUS[@]}")/usr/share/gocode
fi
export GOROOT=$dir/usr/lib/go GOTOOLCHAIN=local GOENV=off GOFLAGS=-buildvcs=false CGO_ENABLED=0
export PATH=$GOROOT/bin:$PATH

if [ $# = 0 ]; then
	echo "client-go $client_go, $(go env GOVERSION)"
	exit
fi
exec "$@"
