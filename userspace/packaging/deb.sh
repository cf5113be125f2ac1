#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#
# Builds the Debian packages: build/deb/*.deb. As in Debian, they are built from a copy of the sources with debian/
# at its top. The version is that of userspace/Makefile.
. "$(dirname "$0")/../../selftests/machine/common.sh"

"$SELFTESTS/machine/packages.sh" deb
lock_build

version=$(sed -n 's/^VERSION[[:space:]]*:= *//p' "$TOP/userspace/Makefile")
[[ $version =~ ^[0-9][0-9.]*$ ]] || die "userspace/Makefile has no VERSION"
out=$BUILD/deb
stage=$out/kwq-$version

rm -rf --one-file-system "$out"
mkdir -p "$stage"
# A deleted file that is not committed yet cannot be copied.
sources | while IFS= read -r -d '' file; do
	[ ! -f "$TOP/$file" ] || printf '%s\0' "$file"
done | (cd "$TOP" && cpio --quiet -0 -pdm "$stage")
mv "$stage/userspace/packaging/debian" "$stage/debian"
sed "1s/@VERSION@/$version/" "$stage/debian/changelog.in" >"$stage/debian/changelog"
rm "$stage/debian/changelog.in"

progress "building the packages of kwq $version"
cd "$stage"
logged deb dpkg-buildpackage -us -uc -b -j"$JOBS"
for package in "$out"/*.deb; do
	echo "${package#"$TOP/"}"
done
