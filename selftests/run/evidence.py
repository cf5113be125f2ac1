#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs the long tests and writes what they found into docs/testing/evidence.md, so that the page describes this program.

evidence.py [PART...]   runs these parts, or all, and replaces the section of each that has passed
evidence.py check       prints what is wrong with the page

A part is a command of make. Its variables can be set in the environment, as in `make evidence PARTS=soak SOAK=30`, and the
page then shows them.
"""
import datetime
import json
import os
import re
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

TOP = Path(__file__).absolute().parents[2]
BUILD = TOP / 'build'
PAGE = TOP / 'docs/testing/evidence.md'
DAYS = 30
# The commit's date is on the page because a checkout need not have the commit: a rebase forgets it.
LINE = r'Commit ([0-9a-f]{12}) of (\d{4}-\d\d-\d\d), run on \d{4}-\d\d-\d\d in [\d,]+ s: `(.*)`'


def table(head, rows):
    """A table, whose columns after the first are numbers."""
    lines = [head, ['---'] + ['--:'] * (len(head) - 1), *rows]
    return '\n'.join('| ' + ' | '.join(f'{cell:,}' if isinstance(cell, int) else cell for cell in line) + ' |' for line in lines)


def log(name):
    return (BUILD / 'logs' / name).read_text(errors='replace').replace('\r', '')


def results(suite):
    return json.loads((BUILD / f'results/{suite}.json').read_text())


def soak():
    return (BUILD / 'soak.md').read_text().strip()


def kills():
    text = log('kselftest-stock.report.log')
    adds, _, gets, abandoned = map(int, re.search(r'(\d+) adds, (\d+) coalesced, (\d+) handed out, (\d+) abandoned', text).groups())
    killed, lost, twice = map(int, re.search(r'(\d+) kills, (\d+) keys lost, (\d+) run twice at once', text).groups())
    return table(['workers killed', 'adds', 'hand-outs', 'hand-outs lost', 'keys lost', 'keys run twice at once'],
                 [[str(killed), adds, gets, abandoned, lost, twice]])


def models():
    random, fuzzed = (int(re.search(pattern, log('model.tap'))[1]) for pattern in
                      (r'# (\d+) operations in', r'number_of_executed_units: (\d+)'))
    return table(['what', 'number'], [['operations of the core and its model, at random', random],
                                      ['sequences that libFuzzer gave them, with ASan and UBSan', fuzzed]])


def searches():
    lines = [line.split() for line in log('spin.log').splitlines()[1:]]
    rows = [[what, sum(line[0] == word for line in lines)] for word, what in
            (('holds', 'configurations searched to their last state'), ('found', 'bugs planted in them, all found'))]
    return table(['what', 'number'], rows + [['states of all these searches', sum(int(float(line[1])) for line in lines)]])


def mutants():
    planted, known = defaultdict(int), defaultdict(int)
    for line in (BUILD / 'mutants.txt').read_text().splitlines()[1:]:
        _, _, suite, _, seconds, _ = re.split(r'  +', line + '  ')[:6]
        (planted if seconds.isdigit() else known)[suite.split()[0]] += 1
    suites = sorted({*planted, *known})
    return table(['suite', 'found by this run', 'found before, in the same source'],
                 [[suite, planted[suite], known[suite]] for suite in suites] +
                 [['all', sum(planted.values()), sum(known.values())]])


def coverage():
    lines = [re.split(r'  +', line[2:]) for line in log('coverage.tap').splitlines() if re.match(r'# (file|kmod/|all) ', line)]
    folders = defaultdict(lambda: [0] * 5)
    for file, total, reached, listed, _, branches, taken, *_ in lines[1:]:
        folder = folders[file.rpartition('/')[0] or file]
        for column, value in enumerate((total, reached, listed, branches, taken)):
            folder[column] += int(value)
    return table(['folder', 'lines', 'reached', 'listed with a reason', 'branches', 'taken'],
                 [[folder, *numbers] for folder, numbers in folders.items()])


# name: title, command, about how long it takes, the table of what it left in build/
PARTS = {
    'soak': ('Soak', 'make soak SOAK=85', 'two hours', soak),
    'kills': ('Death', 'make test SUITES=kselftest-stock PROGRAMS=kill KWQ_KILLS=10000 PROGRAM_SECONDS=1200', 'some minutes', kills),
    'models': ('Models', 'make test SUITES=model OPS=100000000 FUZZ=600', 'half an hour', models),
    'searches': ('Searches', 'make test SUITES=spin SPIN=full', 'half an hour', searches),
    'mutants': ('Planted bugs', 'make mutants', 'three hours', mutants),
    'coverage': ('Coverage', 'make coverage', 'an hour', coverage),
}


def git(*args):
    return subprocess.run(['git', '-C', TOP, *args], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def section_of(name):
    """A pattern for the section of a part, without its title."""
    return re.compile(rf'(?<=\n## {PARTS[name][0]}\n\n).*?(?=\n## |\Z)', re.S)


def run(name):
    """Runs a part, and replaces its section if it passes."""
    _, command, _, read = PARTS[name]
    command = re.sub(r"\b([A-Z_]+)=('[^']*'|\S+)",
                     lambda it: it[0] if it[1] == 'SUITES' else f'{it[1]}={os.environ.get(it[1], it[2])}', command)
    if changed := git('status', '--porcelain', '--', '.', f':!{PAGE.relative_to(TOP)}', ':!selftests/mutants/found'):
        sys.exit(f'Commit these first, because the page names the commit:\n{changed}')
    commit, date = git('log', '-1', '--format=%H %cs').split()
    began = time.monotonic()
    env = {key: value for key, value in os.environ.items() if key not in ('PARTS', 'MAKEFLAGS', 'MFLAGS', 'MAKEOVERRIDES', 'MAKELEVEL')}
    if subprocess.run(command, shell=True, cwd=TOP, env=env, check=False).returncode:
        print(f'FAILED {name}, so its section stays as it is', file=sys.stderr)
        return 1
    text = (f'Commit {commit[:12]} of {date}, run on {datetime.date.today()} in {round(time.monotonic() - began):,} s: '
            f'`{command}`\n\n{read()}\n')
    PAGE.write_text(section_of(name).sub(lambda _: text, PAGE.read_text()))
    return 0


def gone(command):
    """The targets, suites and programs of a command that do not exist any more."""
    target = command.split()[1]
    if not re.search(rf'^{target}:', (TOP / 'Makefile').read_text(), re.M):
        yield f'make {target}'
    suites = re.search(r"SUITES=(?:'([^']*)'|(\S+))", command)
    for suite in (suites[1] or suites[2]).split() if suites else ():
        if not re.search(rf'^\t([\w-]+ \| )*{suite}( \||\)$)', (TOP / 'selftests/run/run-tests.sh').read_text(), re.M):
            yield f'suite {suite}'
    program = re.search(r'PROGRAMS=(\w+)', command)
    if program and not (TOP / f'selftests/device/{program[1]}.c').exists():
        yield f'program {program[1]}'


def faults(page, newest):
    """What is wrong with a page when the last commit is of the day newest."""
    titles = re.findall(r'^## (.*)', page, re.M)
    if titles != [title for title, *_ in PARTS.values()]:
        yield f'its sections are {titles}'
        return
    for name, (_, _, lasts, _) in PARTS.items():
        section = section_of(name).search(page)[0]
        if section.startswith('Not run yet'):
            continue
        found = re.match(LINE, section)
        if not found:
            yield f'{name}: it does not say which commit ran'
            continue
        for what in gone(found[3]):
            yield f'{name}: there is no {what} any more'
        if (newest - datetime.date.fromisoformat(found[2])).days > DAYS:
            yield f'{name}: its commit {found[1]} is more than {DAYS} days older than the last one; make evidence PARTS={name}, {lasts}'


def check():
    """The faults of the page, and of this script if it does not find planted ones."""
    yield from faults(PAGE.read_text(), datetime.date.fromisoformat(git('log', '-1', '--format=%cs')))
    for commit, command, wrong in (('0123456789ab of 2026-11-01', 'make test SUITES=model', None),
                                   ('0123456789ab of 2026-10-31', 'make test SUITES=model', 'days older'),
                                   ('0123456789ab of 2026-11-01', "make test SUITES='model mode'", 'no suite mode any more'),
                                   ('0123456789ab of 2026-11-01', 'make test PROGRAMS=kil', 'no program kil any more'),
                                   ('0123456789ab of 2026-11-01', 'make tests', 'no make tests any more'),
                                   ('a commit of 2026-11-01', 'make soak', 'which commit')):
        page = '\n'.join(f'\n## {title}\n\nNot run yet.' for title, *_ in PARTS.values())
        page = section_of('models').sub(f'Commit {commit}, run on 2026-11-01 in 1 s: `{command}`\n', page)
        found = list(faults(page, datetime.date(2026, 12, 1)))
        if len(found) != bool(wrong) or wrong and wrong not in found[0]:
            yield f'evidence.py found {found} in `{command}` at {commit}'


def main():
    if sys.argv[1:] == ['check']:
        for line in check():
            print(f'{PAGE.relative_to(TOP)}: {line}')
        return 0
    names = sys.argv[1:] or list(PARTS)
    if unknown := set(names) - set(PARTS):
        sys.exit(f'There is no part {" ".join(unknown)}, only {" ".join(PARTS)}')
    return max([run(name) for name in names])


if __name__ == '__main__':
    sys.exit(main())
