#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Static checks of the sources, as TAP. A check that finds an error is "not ok", and its findings follow as comments.
#
#   CHECKS='words links'   only these; by default all but coccinelle, which takes three minutes
#   CHECKS=quick           those that compile nothing
#
# Some checks depend only on a file and on the tool. The cache has a record of the files that passed them, so only
# changed files are read again. The checks that compile are repeated when a file that they compile, a package or a compiler has
# changed.
#
# shellcheck disable=SC2317 # the checks are called by their names
. "$(dirname "$0")/../machine/common.sh"

"$SELFTESTS/machine/packages.sh" check
SOURCE=$("$SELFTESTS/machine/kernel.sh" source)
WORK=$BUILD/check
RECORD=$CACHE/passed-checks

QUICK='abi spdx copyright checkpatch kernel-doc shellcheck python man-pages quotes links words syzkaller mutants evidence spaces records named'
case ${CHECKS:-all} in
all)
	CHECKS="$QUICK sparse-and-W1 sparse-and-W1-of-queue sparse-and-W1-of-tests sparse-and-W1-of-bench prototypes clang abi32"
	CHECKS+=' template port install limits'
	;;
quick) CHECKS=$QUICK ;;
esac
read -ra checks <<<"$CHECKS"

# Kernels take long to get, so only the checks that need them wait for them.
case " ${checks[*]} " in
*' sparse-'* | *' prototypes '* | *' template '* | *' port '* | *' install '*) STOCK=$("$SELFTESTS/machine/kernel.sh" stock) ;;
esac
case " ${checks[*]} " in
*' sparse-and-W1-of-tests '* | *' prototypes '*) DEBUG=$("$SELFTESTS/machine/kernel.sh" debug) ;;
esac

# The files of the benchmarks that the kernel's build compiles; the other files are programs.
BENCH=(':(glob)selftests/bench/*.[ch]' 'selftests/bench/native/*.[ch]')
SAMPLES=(CONFIG_KWQ_SAMPLE_LINK=m CONFIG_KWQ_SAMPLE_TALLY=m CONFIG_KWQ_SAMPLE_ALIVE=m CONFIG_KWQ_SAMPLE_NETDEVS=m)

cd "$TOP" || exit

# files PATTERN...: files in the repository, or in it after the next `git add`. Ignored files are left out.
files() {
	git ls-files --cached --others --exclude-standard -- "$@" | sort -u | while read -r file; do
		[ ! -f "$file" ] || printf '%s\n' "$file"
	done
}

# once VERSION COMMAND...: runs the command with the files on stdin, except those that it has passed before: with this version,
# these arguments and the same content.
once() {
	local record=$RECORD what all new status=0

	what=$(printf '%s\n' "$@" | sha256sum | cut -c 1-16)
	all=$WORK/$what.all new=$WORK/$what.new
	shift
	# On a full disk the lists would be empty, and no file would be read.
	xargs -r -d '\n' sha256sum | sed "s/^/$what /" >"$all" || return
	grep -vxFf "$record" "$all" >"$new" || [ $? = 1 ] || return
	sed 's/^[^ ]* [^ ]*  //' "$new" | xargs -r -d '\n' -P "$JOBS" -n 16 "$@" >"$WORK/$what.said" 2>&1 || status=1
	if [ "$status" = 0 ] && [ ! -s "$WORK/$what.said" ]; then
		# Not a file that has changed meanwhile, because nobody knows which content was read.
		sed 's/^[^ ]* [^ ]*  //' "$new" | xargs -r -d '\n' sha256sum | sed "s/^/$what /" |
			{ grep -xFf "$new" || true; } >>"$record"
	elif [ -s "$WORK/$what.said" ]; then
		cat "$WORK/$what.said"
	else
		echo "$1 failed without a word"
	fi
	return "$status"
}

# tools: prints what compiles, beside the sources: the packages, the programs that are found first, which need not be Debian's, and
# the variables that change what they do.
tools() {
	dpkg-query -W
	{ type -P clang gcc ld make sparse || true; } | xargs sha256sum
	env | grep -E '^(AR|CC|CFLAGS|CPPFLAGS|KCFLAGS|LDFLAGS|SANITIZE|WERROR)=' | sort || true
}

# objects_in FOLDER: empties the folder if other tools have compiled what is in it, because make compares only the files' ages.
objects_in() {
	[ "$(cat "$1/tools" 2>/dev/null)" != "$TOOLS" ] || return 0
	rm -rf "$1"
	mkdir -p "$1"
	echo "$TOOLS" >"$1/tools"
}

# Everything that repeats the header of the ABI, or the list of the library's functions, is as abi.py makes it.
check_abi() {
	"$SELFTESTS/check/abi.py" check
}

check_spdx() {
	files '*.[ch]' '*.S' '*.sh' '*.py' '*.go' '*.rs' '*.bt' '*.pml' '*Makefile' '*Kbuild' '*Kconfig' '*.config' '*.map' '*.rules' '*.conf' '*.diff' .ci/run |
		xargs awk '
			FNR == 1 { names[++nr] = FILENAME }
			FNR > 3 { nextfile }
			/SPDX-License-Identifier: / { said[FILENAME] }
			END {
				for (i = 1; i <= nr; i++)
					if (!(names[i] in said))
						print names[i] " has no SPDX line"
			}'
}

# debian/copyright summarises the licences of the files. As there, the last matching pattern counts.
check_copyright() {
	files | python3 -c '
import fnmatch, re, sys
text = open("userspace/packaging/debian/copyright").read()
stanzas = [(paragraph[1].split(), paragraph[2]) for paragraph in
           re.finditer(r"^Files:(.*?)^Copyright:.*?^License: (.*?)$", text, re.M | re.S)]
for file in sys.stdin.read().splitlines():
    if file.startswith("LICENSES/"):
        continue
    head = "".join(open(file, errors="replace").readlines()[:3])
    spdx = re.search(r"SPDX-License-Identifier: ([^*\n]*)", head)
    if not spdx:
        continue
    says = re.sub(r"\.0\b|-only", "", spdx[1].strip()).replace("-or-later", "+").replace(" OR ", " or ")
    says = re.sub(r" WITH (\S+)", r" with \1 exception", says)
    path = re.sub(r"^userspace/packaging/debian/", "debian/", file)
    told = [license for patterns, license in stanzas if any(fnmatch.fnmatch(path, p) for p in patterns)][-1]
    if told != says:
        print(f"{file}: {spdx[1].strip()}, but {told} in debian/copyright")
'
}

# checkpatch IGNORE PATTERN...: runs in a folder of its own, because checkpatch writes a file to the top of a
# repository. Its path names its version. A failure is left in $unclean, so that the other groups of files are read too.
checkpatch() {
	local ignore=$1
	shift

	files "$@" | sed 's|^|../../|' |
		(cd "$WORK" && once '' "$SOURCE/scripts/checkpatch.pl" --root="$SOURCE" --strict --no-tree \
			--no-summary --terse --show-types ${ignore:+--ignore "$ignore"} -f) |
		sed 's|^\.\./\.\./||' || unclean=1
}

check_checkpatch() {
	# False findings: checkpatch expects a tree for one kernel version, and takes macros for comparisons,
	# functions or calls. An initialiser has to name its variable more than once.
	local compat=LINUX_VERSION_CODE,CONSTANT_COMPARISON,SPACING tests=MACRO_ARG_REUSE,COMPLEX_MACRO prototypes=MACRO_ARG_REUSE
	local initialisers=MACRO_ARG_REUSE unclean=
	local trace=PARENTHESIS_ALIGNMENT,OPEN_ENDED_LINE
	# Userspace lacks these macros and types of the kernel. A line of JSON is longer than one of a source.
	local uapi=BIT_MACRO
	local userspace=$uapi,PREFER_DEFINED_ATTRIBUTE_MACRO,PREFER_KERNEL_TYPES,CAMELCASE,NEW_TYPEDEFS,SPLIT_STRING,LONG_LINE_STRING

	checkpatch "$compat" 'kmod/compat.h'
	checkpatch "$trace" 'kmod/*trace*.h'
	checkpatch "$prototypes" 'kmod/prototypes.c'
	checkpatch "$tests" 'kmod/tests/*.[ch]'
	checkpatch "$initialisers" 'kmod/include/linux/kwq.h' 'kmod/include/linux/kwq_types.h'
	checkpatch '' 'kmod/*.[ch]' "${BENCH[@]}" ':!kmod/compat.h' ':!kmod/prototypes.c' ':!kmod/*trace*.h' \
		':!kmod/tests/*' ':!kmod/include/linux/kwq.h' ':!kmod/include/linux/kwq_types.h'
	checkpatch "$uapi" 'uapi/*.h'
	# These define what the kernel defines. After a barrier, checkpatch reads beyond the end of the short barrier.h.
	checkpatch "$userspace,VOLATILE" 'userspace/lib/kernel/*.h' ':!userspace/lib/kernel/asm/barrier.h'
	# Tables as macros, which get the name of another macro, and fixtures as macros.
	checkpatch "$userspace,COMPLEX_MACRO,MACRO_ARG_REUSE,MULTISTATEMENT_MACRO_USE_DO_WHILE" 'selftests/device/*.[ch]'
	checkpatch "$userspace" 'userspace/*.[ch]' 'selftests/*.[ch]' ':!selftests/device/*' ':(exclude,glob)selftests/bench/*.[ch]' \
		':!selftests/bench/native/*' ':!userspace/lib/kernel/*'
	[ -z "$unclean" ]
}

check_kernel_doc() {
	files 'kmod/*.[ch]' 'uapi/*.h' "${BENCH[@]}" | once '' "$SOURCE/scripts/kernel-doc" -none -Wall -Werror
}

# sparse_and_W1 NAME KDIR ARGUMENT...: builds in a new copy, because make would skip files that it considers up to
# date.
sparse_and_W1() {
	local out=$WORK/$1 kdir=$2
	shift 2

	rm -rf "$out"
	make -s -C "$TOP" -j"$JOBS" module KDIR="$kdir" BUILD="$out" "$@" \
		W=1 C=2 CF='-Wsparse-error -Wcontext' KCFLAGS=-Werror 2>&1 | sed '/^Skipping BTF generation/d'
}

check_sparse_and_W1() {
	sparse_and_W1 stock "$STOCK/kdir" "${SAMPLES[@]}"
	touch "$WORK/stock/complete"
}

# The module of the check before, which a record may have passed over.
need_module() {
	[ -f "$WORK/stock/complete" ] || check_sparse_and_W1
}

# K11: the module builds and links without the device, has nothing that serves programs, and is less than half as large. The
# suites kunit-uml-queue and load-stock-queue run it.
check_sparse_and_W1_of_queue() {
	need_module
	sparse_and_W1 queue "$STOCK/kdir" "${SAMPLES[@]}" CONFIG_KWQ_DEV=n
	nm -u "$WORK"/queue/module-*/kmod/kwq.ko |
		grep -E ' (misc_|anon_inode|fd_install|kmem_cache_|_?copy_(from|to)_user|(un)?register_pernet|init_net|compat_ptr)' |
		sed 's/.* /the module without the device uses /' || true
	# Only the device has queues of programs, to which drivers add keys.
	diff <(exports stock | grep -v '^kwq_\(add_key\|key_queue_.*\)$') <(exports queue)
	[ "$(($(text_of queue) * 2))" -lt "$(text_of stock)" ] ||
		echo "without the device the module has $(text_of queue) bytes of text, and $(text_of stock) with it"
}

# text_of NAME: the bytes of text and constants in the module of sparse_and_W1.
text_of() {
	size "$WORK/$1"/module-*/kmod/kwq.ko | awk 'NR == 2 { print $1 }'
}

# exports NAME: the functions that the module of sparse_and_W1 exports.
exports() {
	awk '{ print $2 }' "$WORK/$1"/module-*/Module.symvers | sort
}

check_sparse_and_W1_of_tests() {
	sparse_and_W1 debug "$DEBUG/kdir" CONFIG_KWQ_KUNIT_TEST=y "${SAMPLES[@]}"
}

check_sparse_and_W1_of_bench() {
	local out=$WORK/bench symbols

	need_module
	symbols=$(echo "$WORK"/stock/module-*/Module.symvers)
	rm -rf "$out"
	cp -r "$TOP/selftests/bench" "$out"
	make -s -C "$STOCK/kdir" -j"$JOBS" M="$out" KWQ="$TOP" KBUILD_EXTRA_SYMBOLS="$symbols" modules \
		W=1 C=2 CF='-Wsparse-error -Wcontext' KCFLAGS=-Werror --no-print-directory 2>&1 |
		sed '/^Skipping BTF generation/d'
}

# The comparisons in kmod/prototypes.c hold on each cached kernel for x86-64, and none is missing.
# Little is compiled: this object, and the sample, whose Kbuild has to find the headers everywhere. Modules for newer
# kernels are built in Debian 13.
check_prototypes() {
	local kernel stage within

	for kernel in "$DEBUG" "$CACHE"/stock-*; do
		grep -qs '^CONFIG_X86_64=y' "$kernel/kdir/include/config/auto.conf" || continue
		stage=$WORK/prototypes/${kernel##*/}
		within=()
		[ ! -e "$kernel/in-debian-13" ] || within=("$SELFTESTS/machine/debian13.sh")
		rm -rf "$stage"
		mkdir -p "$stage"
		cp -r Kbuild kmod uapi "$stage"
		{
			"${within[@]}" make -s -C "$kernel/kdir" M="$stage" "${SAMPLES[@]}" \
				kmod/prototypes.o kmod/samples/kwq_{link,tally,alive,netdevs}.o
			"${within[@]}" "$SELFTESTS/check/prototypes.py" "$stage" "$kernel/kdir"
		} 2>&1 | sed "/ differs from the one used to build/d; /^  The kernel was built /d; /^  You are using: /d
			s/^/${kernel##*/}: /"
	done
}

# Clang compiles the library and the command without a warning.
check_clang() {
	objects_in "$WORK/clang"
	make -s -C userspace -j"$JOBS" O="$WORK/clang" CC=clang all "$WORK/clang/test/device-examples" >"$WORK/clang.log"
}

# The kernel's own semantic patches, except those written in OCaml, which would need its compiler.
check_coccinelle() {
	rm -rf "$WORK/coccinelle"
	mkdir -p "$WORK/coccinelle"
	files 'kmod/*.[ch]' 'uapi/*.h' "${BENCH[@]}" | cpio --quiet -pd "$WORK/coccinelle"
	grep -rl --include='*.cocci' '^virtual report' "$SOURCE/scripts/coccinelle" |
		xargs grep -LE '(script|initialize|finalize):ocaml' |
		xargs -P "$JOBS" -I{} "$SELFTESTS/check/coccinelle.sh" {} "$WORK/coccinelle"
}

check_abi32() {
	objects_in "$WORK/abi32"
	make -s -C selftests/device O="$WORK/abi32" KSELFTEST_INC="$SOURCE/tools/testing/selftests" abi32
}

# Every script is read again if one changes that others source. shellcheck says nothing of a script that another one sources,
# so these are named too; they begin with no interpreter.
check_shellcheck() {
	{ files '*.sh'; files | xargs grep -lE '^#!.*\b(ba)?sh$'; } | sort -u |
		once "$(shellcheck --version; files '*.sh' | xargs sha256sum)" shellcheck -x -P SCRIPTDIR:selftests -f gcc
}

# No name is unused or unknown. The package and its examples have the types that they declare, and short lines. So have the
# examples of docs/python.md.
check_python() {
	files '*.py' | xargs pyflakes3
	files 'userspace/python/*.py' | xargs awk 'length > 120 { print FILENAME ":" FNR ": more than 120 columns" }'
	mkdir -p "$WORK"
	python3 -c 'import doctest, sys; print(doctest.script_from_examples(sys.stdin.read()))' <docs/python.md >"$WORK/python_page.py"
	(cd userspace/python && mypy --no-error-summary --cache-dir "$WORK/mypy" --strict kwq examples "$WORK/python_page.py")
}

check_man_pages() {
	files 'userspace/man/*.[1-9]' | xargs -r mandoc -T lint -W warning
	"$SELFTESTS/check/abi_page.py" uapi/linux/kwq.h userspace/man/kwq.4
}

# README and docs/drivers.md quote the template of linux/kwq.h, and docs/drivers.md quotes the samples. Checks that the
# quotes match the files.
# shellcheck disable=SC2016 # backquotes of Markdown
check_quotes() {
	local blocks=$WORK/quotes number=0 block

	rm -rf "$blocks"
	mkdir -p "$blocks"
	sed -n '/^ \*\tstruct port {/,/^ \*\tkwq_queue_destroy/{s/^ \*\t\?//;p}' kmod/include/linux/kwq.h >"$blocks/header"
	cat kmod/samples/kwq_*.c >"$blocks/sample"
	sed -n '/^```c$/,/^```$/{/^```/!p}' README.md >"$blocks/readme"
	awk -v blocks="$blocks" '
		/^#/ { is_port = /^### A port, before and after$/ }
		is_port { next }
		/^```c$/ { inside = 1; nr++; next }
		/^```$/ { inside = 0 }
		inside { print >(blocks "/drivers-" nr) }' docs/drivers.md
	diff "$blocks/header" "$blocks/readme"
	diff "$blocks/header" "$blocks/drivers-1"
	for block in "$blocks"/drivers-[2-9]; do
		number=$((number + 1))
		# A quote is a contiguous part of the file.
		python3 -c 'import sys; sys.exit(open(sys.argv[1]).read() not in open(sys.argv[2]).read())' \
			"$block" "$blocks/sample" || echo "docs/drivers.md: quote $number is not in the sample"
	done
	[ "$number" -gt 0 ] || echo "docs/drivers.md does not quote the sample"
}

# Each link from a page to a file names a file that exists, and each anchor names a heading of it. docs/source-tree.md names
# each file of the module.
# shellcheck disable=SC2016 # backquotes of Markdown
check_links() {
	files '*.md' | python3 -c '
import pathlib, re, sys

def prose(page):
    """The text of a page, with empty lines in place of its examples."""
    return re.sub(r"^```.*?^```$", lambda example: "\n" * example[0].count("\n"), page.read_text(), flags=re.S | re.M)

def anchors(page):
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.*)", prose(page), re.M)}

for page in map(pathlib.Path, sys.stdin.read().split()):
    for number, line in enumerate(prose(page).splitlines(), 1):
        for link in re.findall(r"\]\((?!https?:)([^)]*)\)", line):
            name, _, anchor = link.partition("#")
            target = page.parent / name if name else page
            if not target.exists() or anchor and anchor not in anchors(target):
                print(f"{page}:{number}: there is no {link}")
'
	files 'kmod/*/*.c' ':!kmod/tests' ':!kmod/samples' | while read -r file; do
		grep -q "^     ${file##*/} " docs/source-tree.md ||
			echo "docs/source-tree.md does not name $file"
	done
	sed -n 's/^     \([a-z_]*\.c\) .*/\1/p' docs/source-tree.md | while read -r name; do
		[ -n "$(files "kmod/*/$name" ':!kmod/tests')" ] || echo "docs/source-tree.md: there is no $name"
	done
}

# The template plus its omitted parts must build as a module, with the Kbuild that docs/drivers.md gives. The word
# after a line names the function of that line. A line without a word belongs to the function of the line before.
check_template() {
	local out=$WORK/template symbols

	need_module
	symbols=$(echo "$WORK"/stock/module-*/Module.symvers)
	rm -rf "$out"
	mkdir -p "$out"
	# shellcheck disable=SC2016 # backquotes of Markdown
	sed -n '/^```make$/,/^```$/{/^```/!p}' docs/drivers.md >"$out/Kbuild"
	# shellcheck disable=SC2016
	sed -n '/^```c$/,/^```$/{/^```/!p;/^```$/q}' docs/drivers.md | awk '
		BEGIN {
			print "#include <linux/kwq.h>\n#include <linux/module.h>\n#include <linux/slab.h>\n"
			begin["init"] = "static int __init ports_init(void)\n{\n\tint err;\n\n"
			end["init"] = "\treturn err;\n"
			begin["exit"] = "static void __exit ports_exit(void)\n{\n"
		}
		/^(kwq_|err|kfree)/ {
			if (match($0, /;\t+[a-z]+/)) {
				where = substr($0, RSTART, RLENGTH)
				gsub(/[;\t]/, "", where)
				$0 = substr($0, 1, RSTART)
				if (!(where in body))
					order[++nr] = where
			}
			body[where] = body[where] "\t" $0 "\n"
			next
		}
		{ sub(/\.\.\./, "int state;"); print }
		/^};$/ && !reconciles++ { print "\nstatic int reconcile(struct port *port)\n{\n\treturn port->state;\n}\n" }
		END {
			for (i = 1; i <= nr; i++) {
				where = order[i]
				if (!(where in begin))
					begin[where] = "static void __maybe_unused ports_" where "(struct port *port)\n{\n"
				printf "%s%s%s}\n\n", begin[where], body[where], end[where]
			}
			print "module_init(ports_init);\nmodule_exit(ports_exit);"
			print "MODULE_DESCRIPTION(\"The template\");\nMODULE_LICENSE(\"GPL\");"
		}' >"$out/ports.c"
	make -s -C "$STOCK/kdir" -j"$JOBS" M="$out" KWQ="$TOP" KBUILD_EXTRA_SYMBOLS="$symbols" modules \
		W=1 KCFLAGS=-Werror --no-print-directory 2>&1 | sed '/^Skipping BTF generation/d'
	[ "$(modinfo -F depends "$out/ports.ko")" = kwq ] || echo "the template does not depend on kwq"
}

# The port in docs/drivers.md compiles as a module, before and after. read_port() and the function that loads the module are
# added here.
check_port() {
	local out=$WORK/port symbols half

	need_module
	symbols=$(echo "$WORK"/stock/module-*/Module.symvers)
	rm -rf "$out"
	mkdir -p "$out"
	# shellcheck disable=SC2016 # backquotes of Markdown
	sed -n '/^```make$/,/^```$/{/^```/!p}' docs/drivers.md | sed 's/ports\.o/before.o after.o/' >"$out/Kbuild"
	# shellcheck disable=SC2016
	awk -v out="$out" '
		/^#/ { is_port = /^### A port, before and after$/ }
		!is_port { next }
		/^(Before|After):$/ { file = out "/" tolower(substr($0, 1, length($0) - 1)) ".c" }
		/^```c$/ {
			inside = 1
			print "#include <linux/kwq.h>\n#include <linux/module.h>\n#include <linux/slab.h>\n" >file
			next
		}
		/^```$/ { inside = 0 }
		!inside { next }
		{ sub(/\.\.\./, "int state;"); print >file }
		/^};$/ && !(file in begun) {
			begun[file]
			print "\nstatic int read_port(struct port *port)\n{\n\treturn port->state;\n}\n" >file
		}' docs/drivers.md
	for half in before after; do
		echo 'static void __exit unload(void) { exit_ports(); }' >>"$out/$half.c"
		grep -q init_ports "$out/$half.c" || echo 'static int __init init_ports(void) { return 0; }'  >>"$out/$half.c"
		{
			echo 'module_init(init_ports);'
			echo 'module_exit(unload);'
			echo 'MODULE_DESCRIPTION("A port");'
			echo 'MODULE_LICENSE("GPL");'
		} >>"$out/$half.c"
	done
	make -s -C "$STOCK/kdir" -j"$JOBS" M="$out" KWQ="$TOP" KBUILD_EXTRA_SYMBOLS="$symbols" modules \
		W=1 KCFLAGS='-Werror -Wno-unused-function' --no-print-directory 2>&1 | sed '/^Skipping BTF generation/d'
	[ "$(modinfo -F depends "$out/after.ko")" = kwq ] || echo "the port does not depend on kwq"
}

# Comments, documents and man pages have few sentences that are hard to read. The checker itself finds such sentences.
check_words() {
	"$SELFTESTS/check/test_words.py"
	files | "$SELFTESTS/check/words.py"
}

# The description of the ABI for syzkaller, with its part that is written by hand, matches the header and follows syzkaller's rules. The checker itself finds
# faults.
check_syzkaller() {
	selftests/fuzz/syzkaller/test_syzlang.py
	selftests/fuzz/syzkaller/check.py
}

# The page of evidence describes a program of these weeks, by suites that exist. The checker itself finds an old commit and a
# suite that is gone.
check_evidence() {
	selftests/run/evidence.py check
}

# Each mutant still fits the sources.
check_mutants() {
	selftests/mutants/mutant.py check .
}

# modprobe finds the installed module, and uninstall removes everything.
check_install() {
	local root=$WORK/install-root release
	release=$(release_of "$STOCK/kdir")

	rm -rf "$root"
	lock_make
	logged install make -C "$TOP" -j"$JOBS" install KDIR="$STOCK/kdir" DESTDIR="$root" "${SAMPLES[@]}"
	modprobe -d "$root" -S "$release" --show-depends kwq | grep -q "^insmod $root/lib/modules/$release/updates/kmod/kwq.ko" ||
		echo "modprobe does not find the module"
	[ -x "$root/usr/local/bin/kwq" ] || echo "the command is not installed"
	[ -s "$root/usr/local/lib/udev/rules.d/60-kwq.rules" ] || echo "the udev rule is not installed"
	logged uninstall make -C "$TOP" uninstall KDIR="$STOCK/kdir" DESTDIR="$root"
	# depmod's files stay, as for every module.
	find "$root" ! -type d ! -name 'modules.*'
}

# In a folder whose name has a space, make must refuse to work before it touches a neighbouring folder.
check_spaces() {
	local beside=$WORK/spaces folder

	rm -rf "$beside" "$beside here"
	for folder in "$beside here" "$beside here/userspace"; do
		mkdir -p "$beside" "$folder"
		cp "$TOP/${folder#"$beside here"}/Makefile" "$folder"
		! make -C "$folder" clean >"$WORK/spaces.log" 2>&1 || echo "make clean works in $folder"
		grep -q 'must be without spaces' "$WORK/spaces.log" || cat "$WORK/spaces.log"
		[ -d "$beside" ] || echo "make clean in $folder removed $beside"
	done
}

# A command that hangs is killed, asleep or not, even if it ignores signals. Other commands keep their own status.
check_limits() {
	local command status

	find_within
	for command in 'exec sleep 1000' 'while :; do :; done' 'trap "" TERM; while :; do sleep 1; done' 'exit 3' 'kill -9 $$'; do
		status=0
		"$WITHIN" 1 sh -c "$command" 2>"$WORK/within" || status=$?
		echo "$status"
	done | paste -sd ' ' | grep -vx '124 124 124 3 137' || true
}

# A file that has passed is not read again with the same command. One with a finding is, and so is one that changes or that
# another version reads. A list that cannot be written is a failure.
check_records() {
	local WORK=$WORK/records list reader
	local RECORD=$WORK/record

	rm -rf "$WORK"
	mkdir -p "$WORK"
	touch "$RECORD"
	cd "$WORK"
	# shellcheck disable=SC2016 # for the inner shell
	reader=(sh -c 'printf "%s\n" "$@" >>were-read; ! grep -H bad "$@"' sh)
	echo good >a
	echo bad >b
	{
		passes 1 a && passes 1 a && passes 2 a && passes 1 a b && passes 1 b
		echo better >a
		passes 1 a
		for list in ./*.all; do
			rm "$list"
			mkdir "$list"
		done
		echo worse >a
		passes 1 a
	} 2>/dev/null | paste -sd ' ' | grep -vx 'a=yes =yes a=yes b=no b=no a=yes =no' || true
}

# Each file is named by a page, by itself or by a pattern, with as much of its path as the page gives. foo.c names foo.h, too.
check_named() {
	files | python3 -c '
import fnmatch, os.path, re, sys
files = sys.stdin.read().splitlines()
pages = [file for file in files if file.endswith(".md")]
words = set()
for page in pages:
    # "**" is bold type.
    text = open(page).read().replace("**", " ")
    words.update(word.rstrip(".,") for word in re.findall(r"[\w.@*/\[\]-]+", text))
# A pattern that has no more than the end of a name would name every file of its kind.
patterns = [re.compile(fnmatch.translate(word).replace(".*", "[^/]*")) for word in words if "*" in word
            and re.search(r"\w{2}", re.sub(r"\.[^./]*$", "", word))]
for file in files:
    names = {file} | {file[match.end():] for match in re.finditer("/", file)}
    if file.endswith(".h"):
        names |= {name[:-1] + "c" for name in names}
    is_page_or_common = file in pages or os.path.basename(file) in ("Makefile", "Kbuild", "Kconfig")
    if not (is_page_or_common or names & words or any(pattern.match(name) for pattern in patterns for name in names)):
        print(f"{file}: no page names it, and docs/source-tree.md should")
'
}

# passes VERSION FILE...: prints the files that $reader read, and whether they pass.
passes() {
	local status=yes

	: >were-read
	printf '%s\n' "${@:2}" | once "$1" "${reader[@]}" >said || status=no
	echo "$(sort were-read | xargs)=$status"
}

# inputs_of CHECK: prints the files that decide the result, together with the packages and kernels. It prints nothing for a check
# that runs every time, because it is quick or does more than compile.
inputs_of() {
	case $1 in
	# These use the module of the first one.
	sparse-and-W1 | sparse-and-W1-of-queue | sparse-and-W1-of-bench | template | port)
		echo Kbuild Makefile docs/drivers.md kmod selftests/bench uapi
		;;
	sparse-and-W1-of-tests | prototypes) echo Kbuild Makefile kmod selftests/check/prototypes.py uapi ;;
	clang) echo kmod uapi userspace ;;
	abi32) echo kmod selftests/device selftests/machine/pace.h uapi userspace ;;
	esac
}

# key_of CHECK: prints the line of the record for it.
key_of() {
	local inputs names

	read -ra inputs <<<"$(inputs_of "$1")"
	[ ${#inputs[@]} -gt 0 ] || return 0
	# Without git nobody knows them.
	mapfile -t names < <(files "${inputs[@]}" selftests/check/checks.sh selftests/machine/{common,debian13}.sh)
	[ ${#names[@]} -gt 3 ] || return 0
	{
		sha256sum "${names[@]}"
		echo "$TOOLS"
		ls -d "$CACHE"/{stock,debug}-*/kdir/include/config/auto.conf "$CACHE"/debian-13-* 2>/dev/null || true
	} | sha256sum | sed "s/ .*/ $1/"
}

lock_build
mkdir -p "$LOGS" "$WORK"
rm -f "$WORK/stock/complete"
touch "$RECORD"
TOOLS=$(tools | sha256sum)
trap end_attempt EXIT
printf 'TAP version 13\n1..%d\n' ${#checks[@]}
number=0 failed=0
for check in "${checks[@]}"; do
	number=$((number + 1))
	key=$(key_of "$check")
	if [ -n "$key" ] && grep -qxF "$key" "$RECORD"; then
		printf 'ok %d - %s\n# it has passed before, with the same files\n' "$number" "$check"
		continue
	fi
	began=$SECONDS
	log=$LOGS/check-$check.log
	# A check fails by its status or by any output.
	attempt "$log" "check_${check//-/_}"
	if [ "$attempted" = 0 ] && [ ! -s "$log" ]; then
		printf 'ok %d - %s\n' "$number" "$check"
		# Nobody knows what was read if a file has changed meanwhile.
		[ -z "$key" ] || [ "$key" != "$(key_of "$check")" ] || echo "$key" >>"$RECORD"
	else
		printf 'not ok %d - %s\n' "$number" "$check"
		head -n 60 "$log" | sed 's/^/# /'
		failed=1
	fi
	printf '# %s took %d s\n' "$check" $((SECONDS - began))
done
exit $failed
