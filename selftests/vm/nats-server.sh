#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# nats-server.sh trixie|sid: prints the path of nats-server of that release of Debian. It is unpacked into the cache and not
# installed. Debian 12's own is too old for streams with replicas.
. "$(dirname "$0")/common.sh"
. "$VM/apt.sh"

suite=${1:-}
case $suite in
trixie | sid) ;;
*) die "usage: $0 trixie|sid" ;;
esac

unpack() (
	cd "$1" &&
		apt-get "${APT[@]}" download nats-server &&
		dpkg -x nats-server_*.deb . &&
		rm ./*.deb &&
		[ -x usr/sbin/nats-server ]
)

use_apt_of "$(dpkg --print-architecture)" "$suite"
version=$(version_of nats-server)
[ -n "$version" ] || die "$suite has no nats-server"
dir=$CACHE/nats-server-$suite-$version

if [ ! -d "$dir" ]; then
	lock_cache "nats-server-$suite"
fi
if [ ! -d "$dir" ]; then
	progress "downloading nats-server of $suite"
	rm -rf "$dir.part"
	mkdir -p "$dir.part"
	logged "nats-server-$suite" unpack "$dir.part"
	mv "$dir.part" "$dir"
	exec 9>&-
fi
echo "$dir/usr/sbin/nats-server"
