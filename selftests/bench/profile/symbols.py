#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
symbols.py COUNTS REPORT PROGRAM ROW: prints the instructions of a row by function.

COUNTS is the plugin's output. REPORT has the row's value and the kernel's symbols; PROGRAM has its own symbols. The
printed instructions per operation add up to the row's value.
"""

import bisect
import re
import subprocess
import sys
from collections import Counter


def symbols_of(report, program):
    found = [(int(m[1], 16), m[2] + (f" {m[3]}" if m[3] else ""))
             for m in re.finditer(r"^symbol ([0-9a-f]+) (\S+) ?(\S*)$", report, re.M)]
    lines = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout.splitlines()
    # Names of Go have spaces. An undefined symbol has no address.
    for address, kind, name in (line.split(None, 2) for line in lines if not line.startswith(" ")):
        if kind in "tTwWi":
            found.append((int(address, 16), f"{name} (program)"))
    return sorted(found)


def main():
    counts, report, program, row = sys.argv[1:]
    with open(report, encoding="utf-8", errors="replace") as file:
        report = file.read().replace("\r", "")
    value = re.search(rf"^{re.escape(row)}\t([0-9.]+)\tinsn$", report, re.M)
    if not value:
        sys.exit(f"symbols.py: {row} was not measured, or not in instructions")

    symbols = symbols_of(report, program)
    addresses = [address for address, _ in symbols]
    functions = Counter()
    with open(counts, encoding="utf-8") as file:
        for address, count in (line.split() for line in file):
            i = bisect.bisect_right(addresses, int(address, 16))
            functions[symbols[i - 1][1] if i else "?"] += int(count)

    total = sum(functions.values())
    if not total:
        sys.exit("symbols.py: nothing was counted")
    print(f"{row}: {value[1]} instructions\n")
    for function, count in functions.most_common():
        instructions = count * float(value[1]) / total
        if instructions >= 0.5:
            print(f"{instructions:9.1f} {100 * count / total:5.1f} %  {function}")


main()
