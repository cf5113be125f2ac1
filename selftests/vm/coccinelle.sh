#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# coccinelle.sh SEMANTIC-PATCH DIR: what the kernel's semantic patch reports of DIR, with the options that it names.
# What coccicheck does for one patch, without its need for the kernel's configuration.
. "$(dirname "$0")/common.sh"

patch=$1 dir=$2
options=$(sed -n 's|^// *Options:||p' "$patch")

errors=$(mktemp "$dir/stderr.XXXXXX")

# shellcheck disable=SC2086 # a word each
spatch -D report --very-quiet --no-show-diff --cocci-file "$patch" $options --dir "$dir" \
	--patch "${patch%/scripts/coccinelle/*}" 2>"$errors" ||
	{ printf '%s: ' "$patch"; head -n 3 "$errors"; exit 1; }
