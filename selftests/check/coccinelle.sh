#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# coccinelle.sh SEMANTIC-PATCH DIR: prints the reports of the kernel's semantic patch for DIR, with the options that
# the patch names. Works like coccicheck for one patch, but without the kernel's configuration.
. "$(dirname "$0")/../machine/common.sh"

patch=$1 dir=$2
options=$(sed -n 's|^// *Options:||p' "$patch")

errors=$(mktemp "$dir/stderr.XXXXXX")

# shellcheck disable=SC2086 # a list of words
spatch -D report --very-quiet --no-show-diff --cocci-file "$patch" $options --dir "$dir" \
	--patch "${patch%/scripts/coccinelle/*}" 2>"$errors" ||
	{ printf '%s: ' "$patch"; head -n 3 "$errors"; exit 1; }
