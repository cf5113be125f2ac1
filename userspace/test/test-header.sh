# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# shellcheck shell=bash source-path=SCRIPTDIR disable=SC2317
#
# The header compiles as C and C++ of several standards. Header, version map and libraries have the same functions.
. ./tap.sh

CC=${CC:-cc}
CXX=${CXX:-c++}
FLAGS=(-Wall -Wextra -Werror -I"$SRC/include" -I"$SRC/../uapi")

cat >"$WORK/use.c" <<'END'
#include <kwq.h>
#include <kwq.h>

int use(struct kwq *q);

int use(struct kwq *q)
{
	struct kwq_item item;
	struct kwq_stat st;

	st.size = sizeof(st);
	item.ticket = kwq_ptr(&st);
	return kwq_stat(q, &st) + kwq_done(q, item.ticket);
}
END
cp "$WORK/use.c" "$WORK/use.cc"

compiles() {
	# shellcheck disable=SC2086 # the compiler may include options
	$1 "${FLAGS[@]}" "${@:2}" -c -o "$WORK/use.o"
}

for standard in c99 c11 c17 gnu99; do
	ok "as $standard -pedantic" compiles "$CC" -std=$standard -pedantic "$WORK/use.c"
done
if command -v "${CXX%% *}" >/dev/null; then
	for standard in c++11 c++17 c++20; do
		ok "as $standard -pedantic" compiles "$CXX" -std=$standard -pedantic "$WORK/use.cc"
	done
else
	skip "as C++" "no $CXX"
fi
echo '#include <string.h>' >"$WORK/m32.c"
if $CC -m32 -c -o "$WORK/m32.o" "$WORK/m32.c" 2>/dev/null; then
	ok "with -m32" compiles "$CC" -m32 -std=c99 -pedantic "$WORK/use.c"
	ok "the whole tree with -m32" "${MAKE[@]}" O="$WORK/m32" CC="$CC -m32" \
		"$WORK/m32/libkwq.a" "$WORK/m32/kwq"
	file_class() { od -An -tu1 -j4 -N1 "$1" | tr -d ' '; }
	same "and it is a 32-bit program" "$(file_class "$WORK/m32/kwq")" 1
else
	skip "with -m32" "no 32-bit C library"
fi
for other in gcc clang; do
	if command -v $other >/dev/null; then
		ok "the whole tree with $other" "${MAKE[@]}" O="$WORK/$other" CC=$other \
			"$WORK/$other/libkwq.a" "$WORK/$other/$(sed -n 's/^SONAME.*:= //p' "$SRC/Makefile")" \
			"$WORK/$other/kwq"
	else
		skip "the whole tree with $other" "no $other"
	fi
done

# The same functions in all places.
header=$(sed 's/^static inline.*//' "$SRC/include/kwq.h" |
	sed -nE 's/^(int|void|uint64_t|__u64) (kwq_[a-z_]+)\(.*/\2/p' | sort)
map=$(sed -nE 's/^\t(kwq_[a-z_]+);/\1/p' "$SRC/lib/libkwq.map" | sort)
shared=$(nm -D --defined-only "$O/libkwq.so" | sed -nE 's/.* T ([^@]*)@@LIBKWQ_1\.0$/\1/p' | sort)
everything=$(nm -D --defined-only "$O/libkwq.so" | sed -E 's/.* [A-Z] //' |
	grep -vE '^LIBKWQ_1\.0(@|$)' | sed 's/@.*//' | sort)
static=$(nm --defined-only "$O/libkwq.a" | sed -nE 's/.* T (kwq_[a-z_]+)$/\1/p' | sort)
documented=$(sed -nE 's/^\.Fn (kwq_[a-z_]+) ".*/\1/p' "$O/man/libkwq.3" | sort -u)

ok "there are functions" test "$(wc -w <<<"$header")" -ge 25
same "the version map has those of the header" "$map" "$header"
same "the shared library exports them" "$shared" "$header"
same "and nothing else" "$everything" "$header"
same "the static library has them all" "$(comm -12 <(echo "$static") <(echo "$header"))" "$header"
same "U4: the library has no state but the handles', any thread may call" \
	"$(nm --defined-only "$O/libkwq.a" | grep -E ' [bBcCdD] ')" ''
same "libkwq(3) documents them all, and kwq_ptr" \
	"$(grep -vx kwq_ptr <<<"$documented")" "$header"
ok "libkwq(3) documents kwq_ptr" grep -qx kwq_ptr <<<"$documented"
same "the soname" "$(readelf -d "$O/libkwq.so" | sed -nE 's/.*SONAME.*\[(.*)\]/\1/p')" \
	"$(sed -n 's/^SONAME.*:= //p' "$SRC/Makefile")"

# Each function has a comment in the header.
for function in $header; do
	ok "$function() is explained in kwq.h" grep -q "^ \* $function() - " "$SRC/include/kwq.h"
done

done_testing
