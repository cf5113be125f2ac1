# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2153 # common.sh has the variables
#
# Packages of other architectures and releases than this machine's. The machine's own apt does not learn of them.
# Scripts source this file after common.sh.

# The servers of the releases that the machine's own sources do not name.
DEBIAN_MIRROR=${DEBIAN_MIRROR:-http://deb.debian.org}
UBUNTU_MIRROR=${UBUNTU_MIRROR:-http://archive.ubuntu.com}

# Lists that are older than this many minutes are downloaded again.
LISTS_MINUTES=720

# sources_of ARCHITECTURE SUITE: prints lines of a sources.list. For the machine's own suite these are Debian's own among
# the machine's sources, because other sources may lack the architecture.
sources_of() {
	local debian="deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $DEBIAN_MIRROR"

	case $2 in
	"$DEBIAN")
		# shellcheck disable=SC2016 # apt-get's variables
		apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Identifier: Packages' 'Origin: Debian' |
			sort -u
		;;
	*-backports)
		echo "$debian/debian $2 main"
		echo "${debian/deb/deb-src}/debian $2 main"
		;;
	# Debian's unstable release has no separate updates.
	sid) echo "$debian/debian sid main" ;;
	noble-updates) echo "deb [signed-by=$(ubuntu_keys)] $UBUNTU_MIRROR/ubuntu $2 main" ;;
	*)
		echo "$debian/debian $2 main"
		# For s390x the release is enough, without later updates.
		[ "$1" = s390x ] || echo "$debian/debian-security $2-security main"
		;;
	esac
}

# Prints the file with Ubuntu's keys, from Debian 13.
ubuntu_keys() (
	dir=$CACHE/ubuntu-keyring

	if [ ! -d "$dir" ]; then
		use_apt_of "$(dpkg --print-architecture)" trixie
		rm -rf "$dir.part"
		mkdir -p "$dir.part"
		cd "$dir.part" || exit
		logged ubuntu-keyring apt-get "${APT[@]}" download ubuntu-keyring
		dpkg -x ubuntu-keyring_*.deb . && mv "$dir.part" "$dir" || exit
	fi
	echo "$dir/usr/share/keyrings/ubuntu-archive-keyring.gpg"
)

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
		logged "apt-update-$suite-$1" apt-get "${APT[@]}" update
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
