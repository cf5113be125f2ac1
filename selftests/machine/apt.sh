# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2153 # common.sh has the variables
#
# Packages of other architectures and releases than this machine's. The machine's own apt does not learn of them.
# Scripts source this file after common.sh.

# Lists that are older than this many minutes are downloaded again.
LISTS_MINUTES=720

# debian_sources: prints Debian's own among the machine's sources, as lines "ADDRESS RELEASE COMPONENT". So the tests use the
# same mirror or proxy as the machine.
debian_sources() {
	# shellcheck disable=SC2016 # apt-get's variables
	apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Identifier: Packages' 'Origin: Debian' | sort -u
}

# debian_archive [security]: prints the address of Debian's archive, or of its security updates, which may have a server of
# their own. So may the packages with symbols, but nothing else is there.
debian_archive() {
	local address

	address=$(debian_sources | awk -v security="${1:-}" '
		$2 !~ /-debug$/ && ($2 ~ /-security$/) == (security != "") && $3 == "main" { print $1; exit }')
	if [ -z "$address" ]; then
		die "apt knows no ${1:+$1 }archive of Debian: apt-get update, and see sources.list(5); a mirror has to name Debian as its origin"
	fi
	echo "$address"
}

# sources_of ARCHITECTURE SUITE: prints lines of a sources.list. For the machine's own suite these are Debian's own among
# the machine's sources, because other sources may lack the architecture.
sources_of() {
	local deb='deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]' archive security

	if [ "$2" = "$DEBIAN" ]; then
		debian_sources | sed 's/^/deb /'
		return
	fi
	archive=$(debian_archive) || return
	echo "$deb $archive $2 main"
	case $2 in
	*-backports) echo "${deb/deb/deb-src} $archive $2 main" ;;
	# Debian's unstable release has no separate updates.
	sid) ;;
	*)
		# For s390x the release is enough, without later updates.
		[ "$1" != s390x ] || return 0
		security=$(debian_archive security) || return
		echo "$deb $security $2-security main"
		;;
	esac
}

# use_apt_of ARCHITECTURE [SUITE]: sets "${APT[@]}" to the options with which apt sees these packages.
use_apt_of() {
	local suite=${2:-$DEBIAN} state updated

	APT=()
	[ "$1 $suite" != "$(dpkg --print-architecture) $DEBIAN" ] || return 0
	state=$CACHE/apt-$suite-$1 updated=$CACHE/apt-$suite-$1/updated
	lock_cache "apt-$suite-$1"
	mkdir -p "$state/lists/partial" "$state/archives/partial"
	: >"$state/status"
	sources_of "$1" "$suite" >"$state/sources"
	APT=(
		-o "APT::Architecture=$1" -o "APT::Architectures=$1"
		-o "Dir::Etc::SourceList=$state/sources" -o Dir::Etc::SourceParts=/dev/null
		-o "Dir::State::Lists=$state/lists" -o "Dir::State::status=$state/status" -o "Dir::Cache=$state"
		-o APT::Sandbox::User=root
	)
	# The lists must be as new as the machine's own, so that all packages have one version.
	if [ -z "$(find "$updated" -mmin "-$LISTS_MINUTES" -newer /var/lib/apt/lists 2>/dev/null)" ]; then
		progress "downloading the package lists of $suite, $1"
		# Without the option, a list that cannot be had is a warning, and its packages seem not to exist.
		logged "apt-update-$suite-$1" apt-get "${APT[@]}" -o APT::Update::Error-Mode=any update
		touch "$updated"
	fi
	# The lock is for the lists only. A kernel has a lock of its own.
	exec 9>&-
}

depends() {
	apt-cache "${APT[@]}" depends "$1" | sed -n 's/^[ |]*Depends: //p'
}

# packages PATTERN: prints the packages whose whole name matches the extended regular expression, the newest kernel last.
packages() {
	apt-cache "${APT[@]}" pkgnames | { grep -xE "$1" || true; } | sort -V
}

version_of() {
	apt-cache "${APT[@]}" show --no-all-versions "$1" | sed -n 's/^Version: //p'
}

# unpack_packages PACKAGE... DIR: downloads packages, and unpacks them in DIR. They are not installed.
unpack_packages() (
	cd "${*: -1}" &&
		apt-get "${APT[@]}" download "${@:1:$#-1}" &&
		for package in *.deb; do dpkg -x "$package" . || return; done &&
		rm ./*.deb
)
