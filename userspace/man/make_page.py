#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""make_page.py PAGE HEADER: prints a manual page, with what the comments of a header say.

The header says what each structure, flag and function is, so the page need not say it again. A line of the page that is one
of these comments is replaced:

  .\\" STRUCTURES   a section for each structure and its flags, and for requests without one; all requests must be in the
                   page's table, and no others
  .\\" NAMES        the names of all functions
  .\\" SYNOPSIS     their prototypes
  .\\" FUNCTIONS    a list of what they do, and the structures

The page can be read without it, too. It is in mdoc, and the header in the kernel's kernel-doc.
"""
import errno
import re
import sys

# Words that are a macro of mdoc, and what stands behind the macro.
WORDS = [
    (r"&struct (\w+)\.(\w+)", "Fa {1}", "of", "Vt struct {0}"),
    (r"&(kwq_\w+)\.(\w+)", "Fa {1}", "of", "Vt struct {0}"),
    (r"&(struct \w+)", "Vt {0}"),
    (r"@([\w.>-]*\w)", "Fa {0}"),
    (r"(\w+)\((\d)\)", "Xr {0} {1}"),
    (r"(\w+)\(\)", "Fn {0}"),
    (r"<(linux/kwq\.h)>", "In {0}"),
    (r"((?:KWQ|O|CLOCK|CAP|SA)_[A-Z_]+\*?|E?POLL[A-Z]+|SCM_RIGHTS|NULL)", "Dv {0}"),
    (r"(-?(?:%s))" % "|".join(errno.errorcode.values()), "Er {0}"),
]


def escaped(text):
    text = text.replace("\\", "\\e")
    return "\\&" + text if text[:1] in (".", "'") else text


def sentences(text):
    """Text of a comment as lines of mdoc. Each sentence, and each word that has a macro, begins a line."""
    lines, plain = [], []

    def flush():
        for sentence in re.split(r"(?<=[A-Za-z0-9)][.]) (?=[A-Z0-9(])", " ".join(plain)):
            lines.extend([escaped(sentence)] * bool(sentence))
        plain.clear()

    # What looks like one word: "&struct kwq_info" too.
    for word in re.findall(r"[(]?&struct \S+|\S+", text):
        opening, bare, closing = re.fullmatch(r"([(\[\"]*)(.*?)([)\].,;:?!\"]*)", word).groups()
        if closing.startswith(")") and re.search(r"\((\d|)$", bare):
            bare, closing = bare + ")", closing[1:]
        for pattern, *macros in WORDS:
            found = re.match(pattern + r"(?![\w(])", bare)
            if found and '"' not in word:
                rest = bare[found.end():]
                flush()
                macros = [macro.format(*found.groups()) for macro in macros]
                # Only macros that know the delimiters behind their arguments.
                before = " ".join(opening) + " " * bool(opening)
                name, _, arguments = macros[0].partition(" ")
                macros[0] = f"{name} {before}{arguments}"
                after = f" Ns {rest}" if rest else ""
                macros[-1] += after + "".join(f" {mark}" for mark in closing)
                lines.extend(f".{macro}" if macro[0].isupper() else macro for macro in macros)
                break
        else:
            plain.append(word)
    flush()
    return lines


def items(lines):
    """The points of a list: each begins with a mark and goes on, indented, in the next lines."""
    points = []
    for line in lines:
        if re.match(r"- |\d\. ", line):
            points.append(line.partition(" ")[2])
        else:
            points[-1] += " " + line.strip()
    return points


def paragraph(lines):
    if lines[0].startswith("\t"):
        return [".Bd -literal", *(escaped(line.expandtabs(8)[8:]) for line in lines), ".Ed"]
    if lines[0].startswith("1. "):
        return [".Bl -enum", *(line for point in items(lines) for line in [".It", *sentences(point)]), ".El"]
    if not lines[0].startswith("- "):
        return [".Pp", *sentences(" ".join(lines))]
    out = [".Bl -tag -width Er"]
    for point in items(lines):
        names, _, text = point.partition(": ")
        out += [".It " + " , ".join(f"Er {name}" for name in names.split(", ")), *sentences(text)]
    return out + [".El"]


def body(lines):
    """The paragraphs of a comment. Return, Results and Errors begin one."""
    out, part = [], []
    for line in [*lines, ""]:
        label = re.match(r"(Return|Results|Errors|Errors, with nothing changed): ?(.*)", line)
        # A block is not a part of the paragraph before it.
        is_other = part and line and line.startswith("\t") != part[0].startswith("\t")
        if (not line or label or is_other) and part:
            out += paragraph(part)
            part = []
        if label:
            out += [".Pp", f".Sy {label[1]}:"]
            line = label[2]
            out += sentences(line) if line and not line.strip() else []
        if line:
            part.append(line)
    # The text of a label stays on its line.
    return re.sub(r"(\.Sy [^\n]*)\n\.Pp\n", r"\1\n", "\n".join(out)).split("\n") if out else []


class Comment:
    """A comment: the text behind the name in the first line, the members or arguments, and the lines of the body."""

    def __init__(self, text):
        lines = [re.sub(r"^ ?\* ?", "", line) for line in text.strip(" \n").split("\n")]
        self.brief, self.members, self.lines = "", [], []
        # A member goes on in lines that begin with a tab. The first empty line ends them.
        where = "brief"
        for line in lines:
            member = re.match(r"@([\w.]+):\s*(.*)", line)
            if where != "body" and member:
                where = "members"
                self.members.append(member.groups())
            elif where == "brief" and line:
                self.brief += " " + line.strip()
            elif where == "members" and line:
                self.members[-1] = (self.members[-1][0], f"{self.members[-1][1]} {line.strip()}")
            else:
                where = "body"
                self.lines.append(line)
        self.brief = self.brief.partition(" - ")[2].rstrip(".") or self.brief.strip()

    def member_list(self):
        if not self.members:
            return []
        return [".Bl -tag -width Ds", *(line for name, text in self.members
                                        for line in [f".It Fa {name}", *sentences(text)]), ".El"]


def capital(text):
    return text if "_" in text.split()[0] else text[:1].upper() + text[1:]


def constants(chunk):
    """The constants of a part of the header, as a list, and the comment above them."""
    head, own, rows = "", "", []
    defined = re.findall(r"/\*\*?((?:(?!\*/).)*)\*/|^#define (KWQ_\w+)[ \t]+([^\n/]+)(?:/\*([^\n]*)\*/)?", chunk, re.S | re.M)
    number = sum(bool(name) for _, name, _, _ in defined)
    for text, name, value, beside in defined:
        if not name:
            own = Comment(text.strip(" *"))
            if number > 1 and not rows and not text.startswith(" define"):
                head, own = own, ""
            continue
        text = beside.strip() or (f"{own.brief}" if own else "")
        value = "2^64 - 1" if "~" in value else re.sub(r"(\d)U(LL)?\b", r"\1", value.strip()).strip("()")
        rows += [f".It Dv {name} Pq {value}", *sentences(text)]
        rows += body(own.lines) if own and not beside else []
        own = ""
    head = [".Pp", *sentences(capital(head.brief.rstrip(".")) + "."), *body(head.lines)] if head else []
    return [*head, ".Bl -tag -width Ds", *rows, ".El"] if rows else []


def structure(name, comment, code, flags):
    requests = re.findall(r"\b(KWQ_IOC_\w+)", comment.brief)
    title = f"{', '.join(requests)}: struct {name}" if requests else f"struct {name}"
    code = [escaped(line) for line in code.split("\n")]
    return [f".Ss {title}", *sentences(capital(comment.brief) + "."), ".Bd -literal", *code, ".Ed", *comment.member_list(),
            *flags, *body(comment.lines)]


def structures(header):
    """A section for each structure. Flags belong to the next one, and results to the one before."""
    out, flags = [], []
    for chunk in header.split("\n\n"):
        found = re.search(r"/\*\*\n \* (struct (\w+) - .*?) \*/\n(struct \w+ \{\n.*?^\};)", chunk, re.S | re.M)
        if found:
            out += structure(found[2], Comment("\n".join(found[1].split("\n"))), found[3], flags)
            flags = []
        elif re.search(r"^#define KWQ_IOC_\w+\s+_IO", chunk, re.M):
            for text, name in re.findall(r"^/\* ([^/]*) \*/\n#define (KWQ_IOC_\w+)\s+_IO\(", chunk, re.M):
                out += [f".Ss {name}", *sentences(text)]
        elif "\n#define KWQ_" in f"\n{chunk}" and "#ifndef" not in chunk and "_MAGIC" not in chunk:
            if "/* Results of" in chunk:
                out += constants(chunk)
            else:
                flags += constants(chunk)
    return out


def functions(header):
    """(section, name, type, arguments, comment) of each function."""
    section = ""
    for title, text, kind, name, arguments in re.findall(
            r"^/\* -+ (.*?) -+ \*/$|^/\*\*\n((?: \*[^\n]*\n)+?) \*/\n((?:static inline )?\w+) (kwq_\w+)\((.*?)\)[;\n]",
            header, re.S | re.M):
        section = title or section
        if name:
            yield section, name, kind, [" ".join(argument.split()) for argument in re.split(r",(?![^(]*\))", arguments)], \
                Comment(text)


def by_section(header, lines_of):
    """The lines of all functions, with a heading for each section."""
    out, before = [], None
    for section, *function in functions(header):
        if section != before:
            out += [".El"] * (before is not None and lines_of is description) + [f".Ss {section}"]
            out += [".Bl -tag -width Ds"] * (lines_of is description)
            before = section
        out += lines_of(*function)
    return out + [".El"] * (lines_of is description)


def prototype(name, kind, arguments, _):
    return [f".Ft {kind}", f".Fn {name} " + " ".join(f'"{argument}"' for argument in arguments)]


def description(name, _, __, comment):
    return [f".It Fn {name}", *sentences(capital(comment.brief) + "."), *comment.member_list(), *body(comment.lines)]


def check_requests(page, header):
    """The page's table says which descriptors and rights a request needs."""
    table = re.findall(r"^\.It Dv (KWQ_IOC_\w+) Ta", page, re.M)
    defined = re.findall(r"^#define (KWQ_IOC_\w+)\s+_IO", header, re.M)
    if sorted(table) != sorted(defined):
        sys.exit(f"the table of requests in the page differs from the header: {sorted(set(table) ^ set(defined))}")


def main():
    page, header = (open(name, encoding="utf-8").read() for name in sys.argv[1:])
    out = []
    for line in page.split("\n"):
        what = line.removeprefix('.\\" ')
        if what == "STRUCTURES":
            check_requests(page, header)
            out += structures(header)
        elif what == "NAMES":
            out[-1] += " ,"
            names = [name for _, name, *_ in functions(header)]
            out += [f".Nm {name} ," for name in names[:-1]] + [f".Nm {names[-1]}"]
        elif what == "SYNOPSIS":
            out += by_section(header, prototype)
        elif what == "FUNCTIONS":
            out += by_section(header, description) + structures(header)
        else:
            out.append(line)
    print("\n".join(out), end="")


if __name__ == "__main__":
    main()
