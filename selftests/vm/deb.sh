#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the Debian packages: build/deb/*.deb. They are built as Debian would, from a copy of the sources that has
# debian/ at its top, and with the version that userspace/Makefile has.
. "$(dirname "$0")/common.sh"

"$VM/packages.sh" deb
lock_build

version=$(sed -n 's/^VERSION[[:space:]]*:= *//p' "$TOP/userspace/Makefile")
[[ $version =~ ^[0-9][0-9.]*$ ]] || die "userspace/Makefile has no VERSION"
out=$BUILD/deb
stage=$out/kwq-$version

# sources: what is in the repository, or would be with the next `git add`; all but build/ where there is no git, or
# where it does not trust whose the repository is.
sources() {
	cd "$TOP"
	if git rev-parse --git-dir >/dev/null 2>&1; then
		git ls-files -z --cached --others --exclude-standard
	else
		find . \( -path ./build -o -path ./.git \) -prune -o -type f -print0
	fi
}

rm -rf --one-file-system "$out"
mkdir -p "$stage"
# A file that is deleted and not yet committed is not there to be copied.
sources | while IFS= read -r -d '' file; do
	[ ! -f "$TOP/$file" ] || printf '%s\0' "$file"
done | (cd "$TOP" && cpio --quiet -0 -pdm "$stage")
mv "$stage/userspace/debian" "$stage/debian"
sed "1s/@VERSION@/$version/" "$stage/debian/changelog.in" >"$stage/debian/changelog"
rm "$stage/debian/changelog.in"

progress "building the packages of kwq $version"
cd "$stage"
logged deb dpkg-buildpackage -us -uc -b -j"$JOBS"
for package in "$out"/*.deb; do
	echo "${package#"$TOP/"}"
done
