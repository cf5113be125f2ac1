#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# servers.sh: provides beanstalkd and redis-server, the peers of the benchmarks. Prints the folder of their programs, and
# of the libraries that not every Debian has. They are unpacked into the cache and not installed, so that this machine does
# not become a server.
. "$(dirname "$0")/common.sh"

# Packages with redis-server's program, and two libraries.
SERVERS=(beanstalkd redis-server redis-tools libjemalloc2 liblzf1)

unpack() (
	cd "$1" &&
		apt-get download "${SERVERS[@]}" &&
		for package in *.deb; do dpkg -x "$package" . || return; done &&
		rm ./*.deb &&
		[ -x usr/bin/beanstalkd ] &&
		[ -x usr/bin/redis-server ]
)

versions=$(apt-cache policy "${SERVERS[@]}" | sed -n 's/^  Candidate: //p')
[ "$(grep -cv none <<<"$versions")" = ${#SERVERS[@]} ] || die "apt does not know all of ${SERVERS[*]}: apt-get update"
dir=$CACHE/servers-$(sha256sum <<<"$versions" | cut -c 1-12)

if [ ! -d "$dir" ]; then
	lock_cache servers
fi
if [ ! -d "$dir" ]; then
	progress "downloading beanstalkd and redis-server"
	rm -rf "$dir.part"
	mkdir -p "$dir.part"
	logged servers unpack "$dir.part"
	mv "$dir.part" "$dir"
fi
echo "$dir"
