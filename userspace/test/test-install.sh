# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# shellcheck shell=bash source-path=SCRIPTDIR disable=SC2317
#
# make install installs every file, a program builds with the installed library, and make uninstall removes
# everything.
. ./tap.sh

CC=${CC:-cc}
ROOT=$WORK/root
PREFIX=/opt/kwq
INSTALL=("${MAKE[@]}" O="$O" DESTDIR="$ROOT" PREFIX="$PREFIX" MANDIR=/opt/man)

ok "make install" "${INSTALL[@]}" install
for file in bin/kwq lib/libkwq.a lib/libkwq.so.1.0.0 lib/libkwq.so.1 lib/libkwq.so \
	lib/pkgconfig/libkwq.pc include/kwq.h include/linux/kwq.h \
	share/bash-completion/completions/kwq share/zsh/vendor-completions/_kwq \
	share/fish/vendor_completions.d/kwq.fish share/kwq/grafana-dashboard.json share/kwq/prometheus-rules.yml share/kwq/kwq.schema.json lib/udev/rules.d/60-kwq.rules lib/sysusers.d/kwq.conf \
	lib/modules-load.d/kwq.conf lib/systemd/system/kwq-state.service lib/systemd/system/kwq-run@.service \
	lib/systemd/system/kwq-queue@.service lib/systemd/system/kwq-keep@.service lib/kwq/replace-module \
	share/doc/kwq/examples/kwq-run@thumbnails.service.d/thumbnails.conf \
	share/doc/kwq/examples/kwq-share@mail.service.d/mail.conf; do
	ok "$file" test -s "$ROOT$PREFIX/$file"
done
if [ -x "$O/kwq-share" ]; then
	ok "kwq-share" test -x "$ROOT$PREFIX/libexec/kwq/kwq-share"
	ok "kwq-share@.service" test -s "$ROOT$PREFIX/lib/systemd/system/kwq-share@.service"
	# Without it the help is the same. So another error has to tell.
	same "the installed command finds kwq-share" \
		"$(LD_LIBRARY_PATH="$ROOT$PREFIX/lib" "$ROOT$PREFIX/bin/kwq" share 2>&1 | head -n 1)" 'kwq: share: QUEUE is missing'
else
	ok "no unit without kwq-share" test ! -e "$ROOT$PREFIX/lib/systemd/system/kwq-share@.service"
fi
for program in kwq-flows kwq-cgroups; do
	# Where clang, bpftool or libbpf's headers are missing there is none.
	[ ! -x "$O/$program" ] || same "the installed $program runs" "$("$ROOT$PREFIX/bin/$program" --help | head -n 1)" \
		"Usage: $program QUEUE"
done
for page in "$SRC"/man/*.[1-9]; do
	name=${page##*/}
	ok "$name is installed" cmp "$page" "$ROOT/opt/man/man${name##*.}/$name"
done
ok "kwq_get(3) is libkwq(3)" cmp "$SRC/man/libkwq.3" "$ROOT/opt/man/man3/kwq_get.3"
ok "the installed command runs" env LD_LIBRARY_PATH="$ROOT$PREFIX/lib" \
	"$ROOT$PREFIX/bin/kwq" --version

same "the rule's group is the one that is made" \
	"$(sed -nE 's/.*GROUP="([^"]*)".*/\1/p' "$ROOT$PREFIX/lib/udev/rules.d/60-kwq.rules")" \
	"$(sed -nE 's/^g ([^ ]*) .*/\1/p' "$ROOT$PREFIX/lib/sysusers.d/kwq.conf")"

# ini SETTING: the setting in a unit on standard input.
ini() {
	sed -n "s/^$1=//p"
}
# Otherwise systemd ends the whole worker when the kernel kills one of its jobs for want of memory.
same "U7: the unit goes on without a job that needed too much memory" \
	"$(ini OOMPolicy <"$ROOT$PREFIX/lib/systemd/system/kwq-run@.service")" continue
same "U7: so does the one of docs/recipes.md" "$(sed -n '/^ExecStart=kwq run/,/^```/p' "$SRC/../docs/recipes.md" | ini OOMPolicy)" continue

ok "the script can be run" test -x "$ROOT$PREFIX/lib/kwq/replace-module"
same "the rule starts the unit" \
	"$(sed -nE 's/.*ENV\{SYSTEMD_WANTS\}\+="([^"]*)".*/\1/p' "$ROOT$PREFIX/lib/udev/rules.d/60-kwq.rules")" \
	"$(cd "$ROOT$PREFIX/lib/systemd/system" && echo kwq-state*)"

cat >"$WORK/user.c" <<'END'
#include <errno.h>
#include <kwq.h>

int main(void)
{
	struct kwq *q;

	return kwq_from_fd(&q, 0) == -ENOTTY ? 0 : 1;
}
END

config() {
	PKG_CONFIG_SYSROOT_DIR=$ROOT PKG_CONFIG_PATH=$ROOT$PREFIX/lib/pkgconfig pkg-config "$@" libkwq
}

# shellcheck disable=SC2046 # flags are words
builds() {
	$CC -Wall -Werror -o "$WORK/user" "$WORK/user.c" "$@" $(config --cflags --libs)
}

if command -v pkg-config >/dev/null; then
	same "pkg-config knows the version" "$(config --modversion)" \
		"$(sed -n 's/^VERSION[[:space:]]*:= //p' "$SRC/Makefile")"
	ok "pkg-config --validate" config --validate
	ok "a program is built with it" builds
	ok "and runs" env LD_LIBRARY_PATH="$ROOT$PREFIX/lib" "$WORK/user"
	ok "it needs libkwq.so.1" grep -q 'NEEDED.*libkwq\.so\.1' <(readelf -d "$WORK/user")
	ok "a static program is built with it" builds -static
	ok "and runs, too" "$WORK/user"
else
	skip "pkg-config" "there is none"
fi

ok "make uninstall" "${INSTALL[@]}" uninstall
same "nothing is left" "$(find "$ROOT" ! -type d)" ""

done_testing
