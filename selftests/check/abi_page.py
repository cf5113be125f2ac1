#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""abi_page.py HEADER PAGE: prints where kwq(4) differs from the header.

The page must show every structure of the header, member by member, and no others. The comment at the head of the header
and the table of the page must name every request, with the descriptors that accept it.
"""
import re
import sys


def words(text):
    """A declaration without comments and with single spaces."""
    return " ".join(re.sub(r"/\*.*?\*/", "", text, flags=re.S).split())


def structures_of_header(text):
    return {name: words(body) for name, body in re.findall(r"^struct (\w+) \{\n(.*?)^\};", text, flags=re.S | re.M)}


def structures_of_page(text):
    """The structures in the literal blocks. Two structures may stand side by side."""
    found = {}
    for block in re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed", text, flags=re.S | re.M):
        lines = [line.expandtabs(8) for line in block.split("\n")]
        starts = [(at.start(), number, at.group(1)) for number, line in enumerate(lines)
                  for at in re.finditer(r"(?:^|(?<=\s))struct (\w+) \{", line)]
        # From right to left, because each structure found is cut off.
        for column, first, name in sorted(starts, reverse=True):
            body = []
            for number in range(first, len(lines)):
                part = lines[number][column:]
                lines[number] = lines[number][:column]
                if part.startswith("};"):
                    break
                body.append(part)
            found[name] = words("\n".join(body[1:]))
    return found


def requests_of_head(text):
    """The requests of /dev/kwq, and those of a queue."""
    head = re.search(r" \* The requests:\n(.*?)\n \* \w+:\n", text, flags=re.S).group(1)
    kinds = re.split(r"^ \*   on ", head, flags=re.M)[1:]
    device, queue = (set(re.findall(r"\b[A-Z][A-Z_]+\b", kind)) for kind in kinds)
    return device, queue


def requests_of_table(text):
    device, queue = set(), set()
    for name, where in re.findall(r"^\.It Dv KWQ_IOC_(\w+) Ta (\w+) ", text, flags=re.M):
        if where in ("device", "both"):
            device.add(name)
        if where in ("queue", "both"):
            queue.add(name)
    return device, queue


def differences(what, here, there):
    for name in sorted(set(here) | set(there)):
        if name not in there:
            yield f"{what} {name} is not in the page"
        elif name not in here:
            yield f"{what} {name} is not in the header"
        elif here[name] != there[name]:
            yield f"{what} {name}:\n  the header {here[name]}\n  the page   {there[name]}"


def main():
    header, page = (open(name, encoding="utf-8").read() for name in sys.argv[1:])
    said = list(differences("struct", structures_of_header(header), structures_of_page(page)))
    requests = set(re.findall(r"^#define KWQ_IOC_(\w+)\s+_IO", header, flags=re.M))
    for where, head, table in zip(("/dev/kwq", "a queue"), requests_of_head(header), requests_of_table(page)):
        if head != table:
            said.append(f"requests on {where}: only at the head of the header {sorted(head - table)}, "
                        f"only in the table of the page {sorted(table - head)}")
    named = set().union(*requests_of_head(header), *requests_of_table(page))
    if named != requests:
        said.append(f"requests: defined but not named {sorted(requests - named)}, "
                    f"named but not defined {sorted(named - requests)}")
    print("\n".join(said), end="\n" if said else "")
    return bool(said)


if __name__ == "__main__":
    sys.exit(main())
