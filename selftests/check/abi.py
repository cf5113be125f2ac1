#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-only
"""Makes everything that repeats uapi/linux/kwq.h, so that the ABI is written down once, and the list of libkwq's functions.

abi.py                  writes the files that have changed, and names them
abi.py moved            the same, although something that was published is gone or at another place
abi.py check            prints what is not as this script would write it; fails if anything is
abi.py layout           prints abi_layout.h, the assertions on all members and numbers, for the builds of tests
abi.py tables           prints abi_tables.h, the requests and counters, for these
abi.py constants FILE   prints the numbers that syzkaller needs beside a description

The files are those of make_all(): what others take without running this script. They have only what follows from the header:
names, numbers, sizes and the order of members. The rest needs decisions, so it is written by hand in other files, which use these.
Because this script only knows the form in which the header is written, the C compiler checks its result, by abi_layout.h.
"""
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
HEADER = TOP / "uapi/linux/kwq.h"
PYTHON = "userspace/python/kwq/_abi.py"
SYZKALLER = "selftests/fuzz/syzkaller"
SYMBOLS = "userspace/packaging/debian/libkwq1.symbols"
NOTE = "Made from uapi/linux/kwq.h by selftests/check/abi.py"
# Requests with lower numbers are for /dev/kwq.
FIRST_OF_QUEUE = 0x10

# No request has these, because programs read them in mapped memory, or only BPF programs have them.
MAPPED = ("kwq_board", "kwq_board_slot", "bpf_kwq_options")
SIZES = {"__u8": 1, "__u16": 2, "__u32": 4, "__s32": 4, "__u64": 8}
ALL_ONES = 2**64 - 1

# Go's names that do not follow from those of the header. A constant is exported if its block, which has the name of the first
# constant in it or of its prefix, has a type, or if it is a limit of every queue.
GO_TYPES = {"FEATURE": "Feature", "RIGHT": "Rights", "IS": "State", "ADDED": "AddResult", "FINISHED": "DoneResult"}
GO_LIMITS = ("KEY_MAX", "NAME_MAX", "BATCH_MAX", "VALUE_MAX", "NOTE_MAX", "GROUP_MAX", "PRIORITY_MIN", "PRIORITY_MAX",
             "LIMITERS_MAX", "HISTOGRAM_BUCKETS")
GO_STRUCTS = {"kwq_info": "infoArgs", "kwq_stat": "statArgs", "kwq_config": "configArgs", "kwq_limiter": "limiterArgs",
              "kwq_backoff": "backoffArgs", "kwq_batch": "batchABI", "kwq_histogram": "histogramABI", "kwq_board": "boardABI",
              "kwq_listed": "listedEntry", "kwq_got": "gotEntry"}


class Constant:
    """A #define of a number, without KWQ_ and with its comment."""

    def __init__(self, name, text, comment):
        text = re.sub(r"(\d)U(LL)?\b", r"\1", text)
        self.name, self.comment = name, re.sub("^The", "the", comment).rstrip(".")
        self.value = ALL_ONES if "~" in text else eval(text)  # the header is ours
        self.text = "2**64 - 1" if "~" in text else text.strip("()")


class Block:
    """Constants without an empty line between them, and the first sentence of the comment above."""

    def __init__(self, head, constants):
        self.constants = constants
        first = constants[0].name
        self.name = first.split("_")[0] if first.split("_")[0] in ("FEATURE", "RIGHT", "IS") else first
        self.head = re.split(r"(?<=\.)\s", head)[0] if "&" not in head and "define KWQ" not in head else ""


class Member:
    """A member of a structure: an integer or a structure, perhaps an array of it; or a union with its members."""

    def __init__(self, name, kind, length=None, union=None):
        self.name, self.kind, self.length, self.union = name, kind, length, union


class Header:
    def __init__(self, text):
        self.text = text
        self.blocks = self.read_constants()
        self.constants = {constant.name: constant for block in self.blocks for constant in block.constants}
        bare = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
        self.structs = {name: self.read_members(body)
                        for name, body in re.findall(r"^struct (\w+) \{\n(.*?)^\};", bare, re.S | re.M)}
        # The name, the direction (0 none, 1 in, 3 in and out), the number and the structure.
        self.requests = [(name, {"": 0, "W": 1, "WR": 3}[how], number, struct) for name, how, number, struct in re.findall(
            r"^#define KWQ_IOC_(\w+)\s+_IO(W?R?)\(KWQ_IOC_MAGIC, (0x\w+)(?:, __u32\) /\* struct (\w+) \*/|\))$", text, re.M)]
        if len(self.requests) != len(re.findall(r"^#define KWQ_IOC_\w+\s+_IO", text, re.M)):
            raise ValueError("the line of a request is not as that of the others")

    def read_constants(self):
        blocks = []
        for part in self.text.split("\n\n"):
            head, above, found = "", "", []
            for comment, name, text, beside in re.findall(
                    r"/\*((?:(?!\*/).)*)\*/|^#define KWQ_(\w+)[ \t]+([^\n/]+)(?:/\*([^\n]*)\*/)?", part, re.S | re.M):
                if not name:
                    above = " ".join(re.sub(r"^ *\*+", "", comment, flags=re.M).split())
                    head = head if found else above
                elif not name.startswith("IOC_"):
                    found.append(Constant(name, text.strip(), beside.strip() or above.split(" - ")[-1]))
                    above = ""
            if found:
                blocks.append(Block(head, found))
        return blocks

    def read_members(self, body):
        members = []
        while body.strip():
            union = re.match(r"\s*union \{(.*?)\n\t\} (\w+);", body, re.S)
            found = union or re.match(r"\s*(?:struct )?(\w+)\s+(\w+)(?:\[([^]]*)\])?;", body)
            if union:
                parts = [(name, self.read_members(inner))
                         for inner, name in re.findall(r"struct \{(.*?)\} (\w+);", union[1], re.S)]
                rest = re.sub(r"struct \{.*?\} \w+;", "", union[1], flags=re.S)
                members.append(Member(union[2], None, union=parts + [(m.name, [m]) for m in self.read_members(rest)]))
            else:
                members.append(Member(found[2], found[1], found[3]))
            body = body[found.end():]
        return members

    def number(self, expression):
        return eval(re.sub(r"KWQ_(\w+)", lambda m: str(self.constants[m[1]].value), expression).replace("/", "//"))

    def size(self, member):
        if member.union:
            return max(sum(map(self.size, members)) for _, members in member.union)
        return (SIZES.get(member.kind) or self.size_of(member.kind)) * self.number(member.length or "1")

    def size_of(self, struct):
        return sum(map(self.size, self.structs[struct]))

    def leaves(self, members, path="", at=0, whole=False):
        """(path, offset, bytes) of each member, in members that are structures, too, unless these are to stay whole."""
        for member in members:
            if member.union:
                for name, inner in member.union:
                    named = "" if inner[0].name == name else f"{name}."
                    yield from self.leaves(inner, f"{path}{member.name}.{named}", at, whole)
            elif member.kind in self.structs and not whole:
                yield from self.leaves(self.structs[member.kind], f"{path}{member.name}.", at)
            else:
                yield path + member.name, at, self.size(member)
            # The header has no padding but what it names.
            at += self.size(member)

    def addresses(self, struct, path=""):
        """The members that the comment above the structure calls addresses."""
        comment = re.search(rf"/\*\*\n \* struct {struct} - (.*?)\*/", self.text, re.S)[1]
        for member in self.structs[struct]:
            if re.search(rf"@{member.name}:\s+address of", comment):
                yield path + member.name
            elif member.kind in self.structs:
                yield from self.addresses(member.kind, f"{path}{member.name}.")

    def described_by(self, name):
        """The structure whose name this one of a description has or begins with, or None."""
        return max((found for found in self.structs if name == found or name.startswith(found + "_")), key=len, default=None)

    def flags(self, prefix):
        return [constant for constant in self.constants.values()
                if constant.name.startswith(prefix + "_") and "<<" in constant.text]


def camel(name, exported=False):
    words = name.lower().split("_")
    name = "".join(word.capitalize() if number or exported else word for number, word in enumerate(words))
    return re.sub(r"Id(?![a-z])", "ID", name)


def in_columns(rows, before="\t"):
    """Lines whose columns are aligned as gofmt does it."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [before + " ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]


def go_struct_name(name):
    return GO_STRUCTS.get(name) or camel(name.removeprefix("kwq_"))


def go_constants(header):
    for block in header.blocks:
        kind = GO_TYPES.get(block.name, "")
        public = [c for c in block.constants if kind or c.name in GO_LIMITS]
        private = [[camel(c.name), "= " + c.text.replace("2**64", "1<<64")] for c in block.constants
                   if c not in public and not c.name.startswith("WAS_")]
        exported = [[camel(c.name, True), f"{kind} = {c.text}".lstrip()] for c in public]
        # The comments are for Go's programs, too, unless they have names of the header.
        if not any(re.search("^$|[&@]|KWQ_", c.comment) for c in public):
            exported = [[*row, f"// {c.comment}"] for row, c in zip(exported, public)]
        for rows in filter(None, (exported, private)):
            lines = ["const (", *in_columns(rows), ")"] if len(rows) > 1 else ["const " + " ".join(rows[0])]
            yield from [f"// {block.head}"] * bool(block.head) + lines + [""]


def go_type(header, member):
    if member.union:
        return f"[{header.size(member) // 8}]uint64"
    if member.length == "KWQ_NAME_MAX + 1":
        return "nameField"
    length = re.sub(r"KWQ_(\w+)", lambda m: camel(m[1], m[1] in GO_LIMITS), member.length or "")
    kind = go_struct_name(member.kind) if member.kind in header.structs else \
        member.kind.replace("__u", "uint").replace("__s", "int")
    return (f"[{length}]" if length else "") + kind


def go_structs(header, structs):
    for name, members in structs:
        yield from [f"type {go_struct_name(name)} struct {{",
                    *in_columns([[camel(member.name), go_type(header, member)] for member in members]), "}", ""]
        for member in members:
            yield from go_structs(header, [(f"{part}_args", inner) for part, inner in member.union or ()
                                           if inner[0].name != part])


def go(header):
    requests = [[f"ioc{camel(name, True)}", f"= ioc({how}, {number})"] for name, how, number, _ in header.requests]
    return "\n".join(["// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT", "",
                      "// Code generated from the ABI's header. DO NOT EDIT.", f"// {NOTE}.", "", "package kwq", "",
                      *go_constants(header), "var (", *in_columns(requests), ")", "", *go_structs(header, header.structs.items())])


def python_format(header, members, path=""):
    """The members in the codes of Python's struct. Batches are taken apart, other structures are bytes."""
    codes = {"__u8": "B", "__u16": "H", "__u32": "I", "__s32": "i", "__u64": "Q"}
    for member in members:
        if member.kind == "kwq_batch":
            yield from python_format(header, header.structs["kwq_batch"], f"{member.name}.")
        elif member.length or member.kind not in codes:
            yield f"{path}{member.name}:{header.size(member)}s"
        else:
            yield f"{path}{member.name}:{codes[member.kind]}"


def python_layouts(header):
    for name, members in header.structs.items():
        parts = [(name, name.removeprefix("kwq_"), members)]
        parts += [(f"{name}.{member.name}.{part}", part, inner) for member in members for part, inner in member.union or ()
                  if inner[0].name != part]
        for place, short, inner in parts:
            words = " ".join(python_format(header, inner))
            line = f'{short.upper()}: Final = Layout("{place}", "{words}")'
            if len(line) <= 120:
                yield line
            else:
                yield from [f'{short.upper()}: Final = Layout("{place}", """',
                            *textwrap.wrap(words, 120, initial_indent="    ", subsequent_indent="    "), '""")']


def python(header):
    lines = ["# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT",
             f'"""The numbers, flags and structures of <linux/kwq.h>.\n\n{NOTE}: do not edit.\n"""',
             "from __future__ import annotations", "", "from typing import Final", "",
             "from ._layout import Layout, request", ""]
    for block in header.blocks:
        lines += [f"# {block.head}"] * bool(block.head) + [f"{c.name}: Final = {c.text}" for c in block.constants] + [""]
    lines += [*python_layouts(header), ""]
    lines += [f"IOC_{name}: Final = request({how}, {number})" for name, how, number, _ in header.requests]
    return "\n".join(lines) + "\n"


def c_header(guard, comment, lines):
    return "\n".join(["/* SPDX-License-Identifier: GPL-2.0-only */", "/*", f" * {NOTE}: do not edit.", " *",
                      *(f" * {line}" for line in textwrap.wrap(comment, 92)), " */",
                      f"#ifndef {guard}", f"#define {guard}", "", *lines, "", f"#endif /* {guard} */", ""])


def c_macro(comment, name, rows):
    """A macro that calls the macro X for each row."""
    lines = textwrap.wrap(" ".join(f"X({row})".replace(" ", "~") for row in rows), 84)
    return [f"/* {comment} */", f"#define {name}(X) \\",
            *(f"\t{line}{end}".replace("~", " ") for line, end in zip(lines, [" \\"] * (len(lines) - 1) + [""])), ""]


def address_ranges(header, struct):
    """Offset and length of the addresses in a structure. Neighbours are one range."""
    ranges = []
    addresses = set(header.addresses(struct))
    for leaf, at, size in header.leaves(header.structs[struct]):
        if leaf in addresses:
            begin, length = ranges.pop() if ranges and sum(ranges[-1]) == at else (at, 0)
            ranges.append((begin, length + size))
    return ranges


def tables(header):
    sizes = [f"{name}, {f'sizeof(struct {struct})' if struct else 0}" for name, _, _, struct in header.requests]
    addresses = [f"{name}, {at}, {length}" for name, _, _, struct in header.requests if struct
                 for at, length in address_ranges(header, struct)]
    counters = [f"{leaf}, {size}" for leaf, _, size in header.leaves(header.structs["kwq_stat"]) if leaf != "name"]
    lines = c_macro("Each request, in the order of their numbers, and the size of its argument.", "KWQ_REQUESTS", sizes)
    lines += c_macro("Offset and length of the addresses in the argument of a request.", "KWQ_ADDRESSES", addresses)
    lines += c_macro("The members of struct kwq_stat but its name, and their sizes.", "KWQ_STAT_MEMBERS", counters)
    lines += ["/* All flags of a queue, and all states of an item. */",
              *(f"#define KWQ_ALL_{name}\t{sum(flag.value for flag in header.flags(name)):#x}U" for name in ("CREATE", "IS"))]
    return c_header("KWQ_ABI_TABLES_H", "Requests and counters, for programs of the tests.", lines)


def layout(header):
    lines = ["#include <stddef.h>", "", "#include <linux/kwq.h>", "", "#define KWQ_AT(type, member, offset, size) \\",
             "\t_Static_assert(offsetof(struct type, member) == (offset) && \\",
             '\t\t       sizeof(((struct type *)0)->member) == (size), #type "." #member)',
             "#define KWQ_EQUALS(name, value) _Static_assert(KWQ_##name == (value), #name)", ""]
    for name, members in header.structs.items():
        lines += [f'_Static_assert(sizeof(struct {name}) == {header.size_of(name)}, "{name}");']
        lines += [f"KWQ_AT({name}, {leaf}, {at}, {size});" for leaf, at, size in header.leaves(members, whole=True)] + [""]
    lines += [f"KWQ_EQUALS({c.name}, {c.value}{'ULL' if c.value == ALL_ONES else ''});"
              for c in header.constants.values()] + [""]
    for name, how, number, _ in header.requests:
        lines += [f"KWQ_EQUALS(IOC_{name}, {how << 30 | (4 if how else 0) << 16 | 0xbb << 8 | int(number, 16):#010x});"]
    return c_header("KWQ_ABI_LAYOUT_H", "U3: members, numbers and requests are the same for programs of 32 and of 64 bits.", lines)


def syzkaller_member(header, member, request, flags):
    kind = {"__u8": "int8", "__u32": "int32", "__s32": "int32", "__u64": "int64"}.get(member.kind, member.kind)
    # These requests read the size only, and fill in the rest.
    out = "\t(out)" if request in ("INFO", "STAT") else ""
    if request and member.name == "size":
        kind, out = "len[parent, int32]", ""
    elif request and member.name == "flags":
        kind = f"flags[{flags}, int32]" if flags else "const[0, int32]"
    elif member.length:
        plain = member.length.removeprefix("KWQ_") in header.constants
        kind = f"array[{kind}, {member.length if plain else header.number(member.length)}]"
    elif request and member.name == "pad" and not out:
        kind = f"const[0, {kind}]"
    return f"\t{member.name}\t{kind}{out}"


def syzkaller(header):
    """Describes, as plainly as possible, the requests and structures that kwq.txt does not describe."""
    by_hand = (TOP / SYZKALLER / "kwq.txt").read_text()
    described = {header.described_by(name) for name in re.findall(r"^(?:type )?(kwq_\w+)\b.* [{\[]$", by_hand, re.M)}
    requests = {struct: name for name, _, _, struct in header.requests}
    calls, sets, structs = [], [["kwq_states", header.flags("IS")]], []
    for name, how, number, struct in header.requests:
        if not re.search(rf"^ioctl\$KWQ_IOC_{name}\(", by_hand, re.M):
            fd = "fd_kwq_device" if int(number, 16) < FIRST_OF_QUEUE else "fd_kwq"
            arg = f"ptr[{'inout' if how == 3 else 'in'}, {struct}]" if struct else "const[0]"
            calls.append(f"ioctl$KWQ_IOC_{name}(fd {fd}, cmd const[KWQ_IOC_{name}], arg {arg})")
    for name, members in header.structs.items():
        if name not in described and name not in MAPPED:
            request = requests.get(name)
            flags = header.flags(request) if request and any(member.name == "flags" for member in members) else []
            sets += [[f"{name}_flags", flags]] * bool(flags)
            structs += ["", f"{name} {{", *(syzkaller_member(header, member, request, flags and f"{name}_flags")
                                            for member in members), "}"]
    sets = [f"{name} = {', '.join(f'KWQ_{flag.name}' for flag in flags)}" for name, flags in sets]
    return "\n".join(["# SPDX-License-Identifier: GPL-2.0-only", "#", f"# {NOTE}: do not edit.", "#",
                      "# The requests and structures that kwq.txt leaves out, because nothing is to be said of them.", "",
                      "include <uapi/linux/kwq.h>", "", *calls, "", *sets, *structs, ""])


def constants(text):
    """The file of numbers that syzkaller needs beside a description, if it has no kernel tree."""
    defined = dict(re.findall(r"^define (\w+)\t(.*)$", text, re.M))
    used = set(re.findall(r"\b(?:KWQ|O|CLOCK|AT)_\w+\b", re.sub(r"^#.*|\$\w+", "", text, flags=re.M)))
    values = compiled({**{name: name for name in used - set(defined)}, **defined})
    # The number of a system call depends on the architecture.
    calls = {"ioctl": "16, 386:54, arm64:29", "openat": "257, 386:295, arm64:56", "write": "1, 386:4, arm64:64"}
    values.update({f"__NR_{name}": number for name, number in calls.items() if re.search(rf"^{name}\$", text, re.M)})
    return "\n".join(["# SPDX-License-Identifier: GPL-2.0-only", f"# {NOTE}: do not edit.", "arches = 386, amd64, arm64",
                      *sorted(f"{name} = {value}" for name, value in values.items()), ""])


def compiled(expressions):
    """Asks the compiler for the values of expressions, also of constants of the system's headers."""
    lines = [f'printf("%llu\\n", (unsigned long long)(long long)({text}));' for text in expressions.values()]
    source = "#define _GNU_SOURCE\n#include <fcntl.h>\n#include <stdio.h>\n#include <time.h>\n#include <linux/kwq.h>\n" \
             "int main(void)\n{\n" + "\n".join(lines) + "\nreturn 0;\n}\n"
    with tempfile.TemporaryDirectory() as work:
        program = Path(work) / "abi"
        subprocess.run([*os.environ.get("CC", "cc").split(), "-w", f"-I{TOP / 'uapi'}", "-x", "c", "-", "-o", program],
                       input=source, text=True, check=True)
        said = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    return dict(zip(expressions, map(int, said)))


def symbols():
    """Debian's list of the library's functions. A node of libkwq.map has the version that the list gives it."""
    old = (TOP / SYMBOLS).read_text()
    nodes = re.findall(r"^(LIBKWQ_[\d.]+) \{(.*?)^\}", (TOP / "userspace/lib/libkwq.map").read_text(), re.S | re.M)
    lines = [line for line in old.splitlines() if not line.startswith(" ")]
    for node, body in nodes:
        version = re.search(rf"^ {node}@{node} (.*)", old, re.M)[1]
        lines += [f" {name}@{node} {version}" for name in [node, *sorted(re.findall(r"\t(kwq_\w+);", body))]]
    return "\n".join(lines) + "\n"


def misread(text):
    """The assertions in abi_layout.h that the C compiler finds wrong."""
    command = [*os.environ.get("CC", "cc").split(), "-fsyntax-only", f"-I{TOP / 'uapi'}", "-x", "c", "-"]
    return subprocess.run(command, input=text, text=True, capture_output=True).stderr


def published(text):
    """The numbers in Python's _abi.py, and the members of its structures with their places."""
    found = re.findall(r"^(\w+): Final = (?!Layout)(.*)", text, re.M)
    for name, members in re.findall(r'Layout\("([\w.]+)", "+([^"]*)"', text):
        found += [(f"struct {name}", f"{number}: {member}") for number, member in enumerate(members.split())]
    return found


def withdrawn(header):
    """What the checked-in _abi.py has, and this script would take out. Structures may grow at their ends."""
    left = set(published(python(header)))
    return [" ".join(one) for one in published((TOP / PYTHON).read_text()) if one not in left]


def make_all(header):
    """The text of each file."""
    return {SYMBOLS: symbols(), "userspace/go/abi.go": go(header), PYTHON: python(header),
            f"{SYZKALLER}/kwq_abi.txt": syzkaller(header)}


def main():
    header = Header(HEADER.read_text())
    printed = {"layout": lambda: layout(header), "tables": lambda: tables(header),
               "constants": lambda: constants(Path(sys.argv[2]).read_text())}
    if sys.argv[1:] and sys.argv[1] in printed:
        print(printed[sys.argv[1]](), end="")
        return False
    faults = misread(layout(header)).splitlines()
    if sys.argv[1:] != ["moved"]:
        faults += [f"{one} was published, and the header has it no more. Before a release, `abi.py moved` accepts that."
                   for one in withdrawn(header)]
    for name, text in make_all(header).items() if not faults else ():
        if (TOP / name).exists() and (TOP / name).read_text() == text:
            continue
        if sys.argv[1:] == ["check"]:
            faults.append(f"{name} is not as selftests/check/abi.py makes it: run that")
        else:
            (TOP / name).write_text(text)
            print(name)
    print("\n".join(faults), end="\n" if faults else "")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
