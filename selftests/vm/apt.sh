# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2153 # common.sh has the variables
#
# Packages of other architectures and of other releases than this machine's, beside the machine's own apt: it is not to
# learn of them. Sourced after common.sh, never run.

# The servers for releases that the machine's own sources do not name.
DEBIAN_MIRROR=${DEBIAN_MIRROR:-http://deb.debian.org}
UBUNTU_MIRROR=${UBUNTU_MIRROR:-http://archive.ubuntu.com}

# Lists that are older than so many minutes are asked for anew.
LISTS_MINUTES=720

# sources_of ARCHITECTURE SUITE: lines as in sources.list. Of the suite that is the machine's own, Debian's own of the
# machine's sources; others may not have that architecture.
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
	noble-updates) echo "deb [signed-by=$(ubuntu_keys)] $UBUNTU_MIRROR/ubuntu $2 main" ;;
	*)
		echo "$debian/debian $2 main"
		# Its release is enough, without what was updated since.
		[ "$1" = s390x ] || echo "$debian/debian-security $2-security main"
		;;
	esac
}

# Ubuntu's keys, as Debian 13 has them.
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

# use_apt_of ARCHITECTURE [SUITE]: apt looks at these packages from here on, as "${APT[@]}" tells it.
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
	# As new as the machine's own lists, so that the packages are of one version.
	if [ -z "$(find "$updated" -mmin "-$LISTS_MINUTES" -newer /var/lib/apt/lists 2>/dev/null)" ]; then
		progress "asking for the packages of $suite, $1"
		logged "apt-update-$suite-$1" apt-get "${APT[@]}" update
		touch "$updated"
	fi
	# The lock is for the lists only: a kernel takes one of its own.
	exec 9>&-
}

depends() {
	apt-cache "${APT[@]}" depends "$1" | sed -n 's/^[ |]*Depends: //p'
}

# packages PATTERN: those whose whole name the extended regular expression is, the newest version of a kernel last.
packages() {
	apt-cache "${APT[@]}" pkgnames | { grep -xE "$1" || true; } | sort -V
}

version_of() {
	apt-cache "${APT[@]}" show --no-all-versions "$1" | sed -n 's/^Version: //p'
}
