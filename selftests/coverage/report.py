#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Reports the lines and branches of the module that the tests reached.

report.py OBJECTS OUT REPORT...

OBJECTS is the folder in which the module was built for gcov. REPORT is the report of a machine in which it ran (init.c
describes it): one ran KUnit, the other the device's tests. Prints TAP, with a table as comments that has a row
for each file. Failures are:

  - a line that no test reached and that `unreached`, beside this file, does not list with a reason;
  - an entry in `unreached` of a line that is reached or does not exist any more: remove it from the list;
  - less than BRANCHES percent of the branches taken.

OUT/FILE.gcov is each file with its counts, and with those of its branches below each line. OUT/branches lists the lines
with a branch that was not taken.

Lines count if the compiler made code from them, in all of kmod with its headers and samples, but not in the tests. The
compiler does not inline functions before it counts, so each function counts once. Branches count if their line has a
condition of the source: in the parentheses of if, while, for, switch or a for_each, or in a statement with &&, || or ?:.
All other branches are inside macros of the kernel, such as guard(), tracepoints and min(), and are not tested here; the
table has their number. Branches of a line in `unreached` do not count either.
"""
import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

# Percentage of the branches that must be taken.
BRANCHES = 95

TOP = Path(__file__).absolute().parents[2]
UNREACHED = Path(__file__).absolute().with_name('unreached')

# Statements with a condition in parentheses.
HEAD = re.compile(r'\b(if|while|for|switch|\w*for_each\w*)\s*\(')
# Operators that make the statement around them a condition.
OPERATOR = re.compile(r'&&|\|\||\?')


class Line:
    """A line from which the compiler made code."""

    def __init__(self):
        self.count = 0
        self.functions = set()
        self.branches = []


def fail(text):
    """Ends the report with an error that makes it impossible."""
    print(f'Bail out! {text}')
    sys.exit(1)


def unpack(report, folder, objects):
    """Writes the counts in a machine's report where gcov looks for them; returns {object: file}."""
    files, path, digits = {}, None, []
    for line in report.read_text(errors='replace').replace('\r', '').splitlines():
        if line.startswith('@kwq counts '):
            path, digits = line.removeprefix('@kwq counts '), []
        elif path is None:
            continue
        elif line != f'@kwq counted {path}':
            digits.append(line)
        else:
            # The kernel names the counts after the object, wherever it was compiled.
            name = Path(path).relative_to(objects).with_suffix('')
            path = None
            file = folder / name.with_suffix('.gcda')
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(bytes.fromhex(''.join(digits)))
            # The compiler's notes about the object.
            notes = file.with_suffix('.gcno')
            notes.unlink(missing_ok=True)
            notes.symlink_to(objects / name.with_suffix('.gcno'))
            files[name] = file
    if path is not None:
        fail(f'{report}: the counts of {path} do not end')
    if not files:
        fail(f'{report}: no counts')
    return files


def gcov(counts):
    """Runs gcov on the counts of one object."""
    done = subprocess.run(['gcov', '--json-format', '--branch-probabilities', '--stdout', counts.name],
                          cwd=counts.parent, check=False, capture_output=True, text=True)
    # gcov only warns about counts of another build.
    if done.returncode or done.stderr:
        fail(f'gcov {counts}: {done.stderr or done.returncode}')
    return json.loads(done.stdout)


def objects_of_kmod(objects):
    """All objects compiled for counting, except the tests."""
    for notes in sorted(objects.glob('kmod/**/*.gcno')):
        name = notes.relative_to(objects).with_suffix('')
        # The kernel's build adds X.mod to each module.
        if name.parts[1] != 'tests' and name.suffix != '.mod':
            yield name


def source_of(objects, data, name):
    """The path of a file of kmod from the top of the checkout; None for files of the kernel and of tests."""
    path = Path(data['current_working_directory'], name).resolve()
    try:
        source = str(path.relative_to(objects))
    except ValueError:
        return None
    if not source.startswith('kmod/') or source.startswith('kmod/tests/') or not (TOP / source).is_file():
        return None
    return source


def add_counts(lines, objects, data):
    for file in data['files']:
        source = source_of(objects, data, file['file'])
        if not source:
            continue
        here = defaultdict(list)
        for record in file['lines']:
            line = lines[source][record['line_number']]
            line.count += record['count']
            line.functions.add(record.get('function_name', ''))
            here[record['line_number']] += [branch['count'] for branch in record['branches']]
        for number, counts in here.items():
            yield source, number, counts


def add_up(objects, machines, names):
    """The lines of each file, for all machines together. Each object has its own branches in a shared header."""
    lines = defaultdict(lambda: defaultdict(Line))
    branches = defaultdict(dict)
    for name in names:
        found = [files[name] for files in machines if name in files]
        if not found:
            fail(f'no machine has loaded {name}')
        for counts in found:
            for source, number, taken in add_counts(lines, objects, gcov(counts)):
                known = branches[source, number].setdefault(name, [0] * len(taken))
                if len(known) != len(taken):
                    fail(f'{source}:{number}: the machines had different builds')
                branches[source, number][name] = [a + b for a, b in zip(known, taken)]
    for (source, number), by_object in branches.items():
        lines[source][number].branches = [count for name in sorted(by_object) for count in by_object[name]]
    return lines


def blank(text):
    """The source with comments, strings and character constants blanked out, line by line."""
    def spaces(match):
        return re.sub(r'[^\n]', ' ', match[0])

    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', spaces, text, flags=re.S)


def conditions(text):
    """The numbers of the lines that belong to conditions."""
    code = re.sub(r'^\s*#.*?(?<!\\)$', lambda match: re.sub(r'[^\n]', ' ', match[0]), blank(text), flags=re.M | re.S)
    found = set()

    def add(begin, end):
        first = code.count('\n', 0, begin) + 1
        found.update(range(first, first + code.count('\n', begin, end) + 1))

    for match in HEAD.finditer(code):
        depth, end = 1, match.end()
        while depth and end < len(code):
            depth += {'(': 1, ')': -1}.get(code[end], 0)
            end += 1
        add(match.start(), end)
    for match in OPERATOR.finditer(code):
        begin = max(code.rfind(mark, 0, match.start()) for mark in ';{}') + 1
        begin += len(code[begin:]) - len(code[begin:].lstrip())
        end = min(end for mark in ';{}' if (end := code.find(mark, match.end())) >= 0)
        add(begin, end)
    return found


def read_unreached():
    """{(file, function, text): reason}"""
    listed, entry = {}, None
    for number, line in enumerate(UNREACHED.read_text().splitlines(), 1):
        if not line.strip() or line.startswith('#'):
            continue
        if line.startswith('\t'):
            if entry is None:
                fail(f'{UNREACHED.name}:{number}: a reason for nothing')
            listed[entry] = f'{listed[entry]} {line.strip()}'.strip()
            continue
        parts = line.split(': ', 2)
        if len(parts) != 3:
            fail(f'{UNREACHED.name}:{number}: not FILE: FUNCTION: LINE')
        entry = tuple(parts)
        if entry in listed:
            fail(f'{UNREACHED.name}:{number}: listed twice')
        listed[entry] = ''
    for entry, reason in listed.items():
        if not reason:
            fail(f'{UNREACHED.name}: no reason for {": ".join(entry)}')
    return listed


def judge(sources, lines, listed):
    """Returns the rows of the table, the errors of each file, the stale entries of the list, and missed branches."""
    rows, wrong, stale, branches_missed = [], {}, dict.fromkeys(listed), []
    for source in sorted(lines):
        text = sources[source].split('\n')
        has_condition = conditions(sources[source])
        row = defaultdict(int)
        wrong[source] = []
        for number, line in sorted(lines[source].items()):
            code = text[number - 1].strip()
            entries = [entry for entry in listed
                       if entry[0] == source and entry[1] in line.functions and entry[2] == code]
            row['lines'] += 1
            row['reached'] += line.count > 0
            if not line.count:
                for entry in entries:
                    stale.pop(entry, None)
                if entries:
                    row['listed'] += 1
                    continue
                wrong[source].append(f'{source}:{number}: {"/".join(sorted(line.functions))}: not reached: {code}')
            if number in has_condition:
                row['branches'] += len(line.branches)
                row['taken'] += sum(count > 0 for count in line.branches)
                if not all(line.branches):
                    branches_missed.append(f'{source}:{number}: {line.branches}\t{code}')
            else:
                row['macros'] += len(line.branches)
        rows.append((source, row))
    return rows, wrong, [': '.join(entry) for entry in stale], branches_missed


def percent(part, whole):
    # Rounded down: 100.0 % means all.
    return f'{1000 * part // whole / 10:.1f} %' if whole else '-'


def print_table(rows):
    table = [('file', 'lines', 'reached', 'listed', '', 'branches', 'taken', '', 'in macros')]
    total = defaultdict(int)
    for _, row in rows:
        for key, value in row.items():
            total[key] += value
    for source, row in [*rows, ('all', total)]:
        table.append((source, row['lines'], row['reached'], row['listed'], percent(row['reached'], row['lines']),
                      row['branches'], row['taken'], percent(row['taken'], row['branches']), row['macros']))
    widths = [max(len(str(row[i])) for row in table) for i in range(len(table[0]))]
    for row in table:
        print('# ' + '  '.join(str(cell).ljust(width) if i == 0 else str(cell).rjust(width)
                               for i, (cell, width) in enumerate(zip(row, widths))).rstrip())
    return total


def annotate(out, source, text, lines):
    path = out / f'{source}.gcov'
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, 'w') as file:
        for number, code in enumerate(text.split('\n'), 1):
            line = lines.get(number)
            count = '' if line is None else line.count or '#####'
            print(f'{count:>9}:{number:5}:{code}', file=file)
            if line and line.branches:
                print(f'{"":15}  branches {" ".join(map(str, line.branches))}', file=file)


def main():
    objects, out, *reports = map(Path, sys.argv[1:])
    objects = objects.resolve()
    listed = read_unreached()
    machines = [unpack(report, out / 'counts' / report.name, objects) for report in reports]
    lines = add_up(objects, machines, objects_of_kmod(objects))
    sources = {source: (TOP / source).read_text() for source in lines}
    for source, text in sources.items():
        annotate(out, source, text, lines[source])
    rows, wrong, stale, branches_missed = judge(sources, lines, listed)
    (out / 'branches').write_text(''.join(f'{line}\n' for line in branches_missed))

    print(f'TAP version 13\n1..{len(rows) + 2}')
    total = print_table(rows)
    cases = [(source, wrong[source]) for source, _ in rows]
    cases.append((f'{BRANCHES} % of the branches', [f'{out}/branches has those that were not taken']
                  if 100 * total['taken'] < BRANCHES * total['branches'] else []))
    cases.append(('the list of what is not reached', [f'reached, or not there: {entry}' for entry in stale]))
    for number, (name, found) in enumerate(cases, 1):
        for line in found:
            print(f'# {line}')
        print(f'{"not ok" if found else "ok"} {number} - {name}')
    return 1 if any(found for _, found in cases) else 0


if __name__ == '__main__':
    sys.exit(main())
