#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Counts the results in the output of the suites.

results.py tap SUITE OUTPUT STATUS       a host program that printed TAP and ended with STATUS
results.py kselftest SUITE REPORT CONSOLE STATUS
results.py kunit SUITE REPORT CONSOLE STATUS
                                         a run of the test machine (init.c describes the report), QEMU's status
results.py kunit-uml SUITE CONSOLE STATUS
                                         a run of User-Mode Linux with the suites built in
results.py lost SUITE REASON             a suite that could not be run
results.py absent SUITE REASON           a suite whose kernel does not exist: it is in the table, and is no failure
results.py console FILE...               prints what the kernels of these consoles complain of, and fails then
results.py took SUITE SECONDS            how long a suite took, including the builds
results.py table FILE SUITE...           prints a table of these suites, and writes it to FILE as Markdown
results.py page FILE TABLE               replaces the table with a date in FILE by TABLE
results.py summary SUITE...              prints the failures and the totals of these suites

Each but the last five writes build/results/SUITE.json. Only leaf cases count: a case that contains cases does not count
itself. Each other problem counts as one failed case: an unfulfilled plan, a program that dies after its last case, a
machine without a verdict, a warning on the console. A missing result never counts as passed.
"""
import contextlib
import datetime
import fnmatch
import json
import os
import re
import sys
from pathlib import Path

BUILD = Path(__file__).absolute().parents[2] / 'build'
RESULTS = BUILD / 'results'

# Lines of a kernel that report an error. KERNEL_CHATTER has harmless lines with such words.
KERNEL_COMPLAINT = re.compile(
    r'WARNING:|BUG:|BUG at |Oops|INFO: (possible|suspicious|trying to register|task .* blocked|rcu|inconsistent)'
    r'|KASAN|UBSAN:|ODEBUG:|Kernel panic|general protection fault|refcount_t:'
    r'|soft lockup|hard LOCKUP|detected stalls|self-detected stall|workqueue lockup|scheduling while atomic'
    r'|sleeping function called|DEBUG_LOCKS_WARN_ON|list_(add|del) corruption'
    r'|Bad page state|Objects remaining|Slab cache still has objects'
    r'|kmemleak: .*[Dd]isabled')
KERNEL_CHATTER = re.compile(
    r'kasan: KernelAddressSanitizer initialized|^\S*\s*\[[ .0-9]*\] (Kernel )?[Cc]ommand line:'
    r'|Unknown kernel command line')

# A data race in KCSAN's report: a title, then the kind and the stack of each of the two accesses.
RACE = re.compile(r'BUG: KCSAN: (.*)')
ACCESS = re.compile(r'(?:read|write|assert).* bytes by .* on cpu \d+:$')
FRAME = re.compile(r'\] +([\w.]+)\+0x[0-9a-f]+/0x[0-9a-f]+(?: \[(\w+)\])?')
# Functions that work on the memory of their caller, who holds the lock.
LIBRARY = re.compile(r'(__)?(rb|timerqueue|list|hsiphash|sort|bsearch|str|mem)_?\w*$|_?copy_\w+$')
# Functions that send signals. They write members that inline functions such as signal_pending() read; neither is marked.
SIGNALS = re.compile(r'(complete_signal|signal_wake_up_state|zap_(other_threads|process)|__send_signal_locked'
                     r'|(recalc|flush|dequeue|get)_sig\w*)$')

# Without memory for its folder in sysfs a cache is not made, and SLUB (6.12) leaks the name of the folder.
LEAKS_OF_SLUB = ' sysfs_slab_add+'

# Debian's kernels have no fault injection, so these cases are skipped there.
STOCK_SUITE = re.compile(r'(kselftest|load)-stock')
STOCK_SKIPS = re.compile(r'^faults: failure\.at_every_step$|^modload: modload\.load_fails_at_any_of_the_last_steps$|'
                         r'^sample: (link|alive)\.\w+_while_memory_is_short$')

# Where no BPF program can call the module: Linux 6.1 knows no such functions, and the module for s390x is built without BTF.
NO_BPF_SUITE = re.compile(r'kselftest-stock-(6\.1|s390x)$')
NO_BPF_SKIPS = re.compile(r'^(bpf|bpf_32): bpf\.\w+$|^python-producers$')

# The cases that each suite may skip. Any other skipped case counts as failed, so that nobody overlooks it.
SKIPS = {
    'host': re.compile(r'device-(command|json|keep|parallel|run|service|watch)|clang|a loop of mounts|share-three: all'),
    'model': re.compile(r'^fuzzing'),
    'kunit-uml': re.compile(r'/destroy_with_the_timer_about_to_fire$'),
    'kunit-uml-queue': re.compile(r'/destroy_with_the_timer_about_to_fire$'),
}


def may_skip(suite, name):
    if NO_BPF_SUITE.match(suite) and NO_BPF_SKIPS.search(name):
        return True
    pattern = STOCK_SKIPS if STOCK_SUITE.match(suite) else SKIPS.get(suite)
    return pattern and pattern.search(name)


class Results:
    """The results of one suite."""

    def __init__(self, suite):
        self.suite = suite
        self.kernel = ''    # release, machine and version of the kernel that ran it
        self.ran = 0        # programs, or KUnit's suites
        self.passed = 0
        self.skipped = 0
        self.failed = []
        self.races = 0      # races of the kernel's own, found by KCSAN
        self.absent = ''    # why nothing could run

    def fail(self, what):
        self.failed.append(what)

    def add(self, name, outcome):
        if outcome == 'pass':
            self.passed += 1
        elif outcome == 'skip' and may_skip(self.suite, name):
            self.skipped += 1
        elif outcome == 'skip':
            self.fail(f'{name} (skipped)')
        else:
            self.fail(name)

    def total(self):
        return self.passed + self.skipped + len(self.failed)

    def write(self):
        RESULTS.mkdir(parents=True, exist_ok=True)
        (RESULTS / f'{self.suite}.json').write_text(json.dumps(vars(self), indent=1) + '\n')
        print(f'{self.suite}: {self.passed} passed, {len(self.failed)} failed, {self.skipped} skipped')
        if self.races:
            print(f'  {self.races} races of the kernel\'s own')
        for name in self.failed:
            print(f'  failed: {name}')
        return 1 if self.failed else 0


class Tap:
    """A stream of TAP 13, TAP 14 or KTAP, subtests (indented by 2 or 4) included."""

    RESULT = re.compile(r'^(\s*)(not ok|ok)\b\s*(\d*)\s*(.*)$')
    PLAN = re.compile(r'^(\s*)1\.\.(\d+)\s*(#\s*SKIP.*)?$', re.I)
    BAIL = re.compile(r'^\s*Bail out!(.*)$')

    def __init__(self, results, prefix):
        self.results = results
        self.prefix = prefix
        self.plans = {}     # indentation -> cases planned
        self.seen = {}      # indentation -> cases seen
        self.nested = {}    # indentation -> whether deeper cases were seen since the last one here
        self.found = False
        self.skipped_all = False

    def line(self, line):
        match = self.PLAN.match(line)
        if match:
            indent, count = len(match[1]), int(match[2])
            self.found = True
            self.plans[indent] = count
            if count == 0:
                self.skipped_all = True
                self.results.add(self.prefix, 'skip')
            return
        match = self.BAIL.match(line)
        if match:
            self.results.fail(f'{self.prefix}: bailed out:{match[1]}')
            return
        match = self.RESULT.match(line)
        if match:
            self.result(len(match[1]), match[2] == 'ok', match[4])

    def result(self, indent, ok, text):
        self.found = True
        name, _, directive = text.partition('#')
        name = name.strip().removeprefix('- ') or '(unnamed)'
        directive = directive.strip().upper()
        parent = self.nested.pop(indent, False)
        self.seen[indent] = self.seen.get(indent, 0) + 1
        for outer in [*self.seen, *self.plans, 0]:
            if outer < indent:
                self.nested[outer] = True
        # Cases deeper than this one are now complete.
        for inner in sorted({*self.seen, *self.plans}):
            if inner > indent:
                self.close(inner, f'{self.prefix}: {name}')
        if directive.startswith('SKIP'):
            self.results.add(f'{self.prefix}: {name}', 'skip')
        elif not parent:
            self.results.add(f'{self.prefix}: {name}', 'pass' if ok else 'fail')
        elif not ok and not any(self.prefix in failed for failed in self.results.failed):
            self.results.fail(f'{self.prefix}: {name}')

    def close(self, indent, name):
        plan, seen = self.plans.pop(indent, None), self.seen.pop(indent, 0)
        self.nested.pop(indent, None)
        if plan is not None and plan != seen:
            self.results.fail(f'{name}: {plan} cases were planned and {seen} reported')

    def end(self):
        if not self.found:
            self.results.fail(f'{self.prefix}: printed no TAP')
        elif 0 in self.seen and 0 not in self.plans:
            self.results.fail(f'{self.prefix}: no plan, so cases may be missing')
        for indent in sorted({*self.seen, *self.plans}, reverse=True):
            self.close(indent, self.prefix)


def lines_of(path):
    try:
        return Path(path).read_text(errors='replace').replace('\r', '').splitlines()
    except FileNotFoundError:
        return []


def judge_end(results, name, end):
    """Judges how a program ended."""
    words = end.split()
    if words[0] == 'timeout':
        results.fail(f'{name}: did not end in time')
    elif words[0] == 'signal':
        results.fail(f'{name}: killed by signal {words[1]}')
    elif words[1] not in ('0', '4') and not any(f.startswith(f'{name}:') for f in results.failed):
        # 4 is kselftest's "skipped". An exit status that only repeats its failed cases is not counted again.
        results.fail(f'{name}: exit status {words[1]}')


def judge_leaks(results, lines):
    """Counts the objects that kmemleak found. Each is followed by the stack of its allocation."""
    objects = '\n'.join(lines).split('unreferenced object ')[1:]
    own = sum(LEAKS_OF_SLUB not in leaked for leaked in objects)
    if own:
        results.fail(f'kmemleak found {own} leaks')


def programs(results, report):
    """Yields (name, lines, end) of each program in the report, and counts the problems that init reported."""
    name, lines, verdict, leaks = None, [], None, False
    for line in lines_of(report):
        if not line.startswith('@kwq '):
            lines.append(line)
            continue
        word, _, rest = line.removeprefix('@kwq ').partition(' ')
        if leaks:
            judge_leaks(results, lines)
        leaks = word == 'leaks'
        if leaks:
            lines = []
        elif word == 'begin':
            if name:
                results.fail(f'{name}: did not end')
            name, lines = rest, []
        elif word == 'kernel':
            results.kernel = rest
        elif word == 'end':
            results.ran += 1
            yield name, lines, rest.removeprefix(name).strip()
            name, lines = None, []
        elif word == 'problem':
            results.fail(rest)
        elif word == 'verdict':
            verdict = rest
    if name:
        results.fail(f'{name}: the machine stopped during it')
    if verdict is None:
        results.fail('the machine did not reach its end')
    elif verdict != 'pass' and not results.failed:
        results.fail('the machine says that it failed')


def judge_race(results, lines, number, console):
    """A race is kwq's if one of its accesses is. The kernel has races of its own, on its own memory."""
    stacks = []
    for line in lines[number + 1:]:
        if line.endswith('=' * 40):
            break
        if ACCESS.search(line):
            stacks.append([])
        elif stacks and (frame := FRAME.search(line)):
            stacks[-1].append(frame.groups())
    if any(stack and SIGNALS.match(stack[0][0]) for stack in stacks):
        results.races += 1
        return
    for stack in stacks:
        for function, module in stack:
            if module and module.startswith('kwq'):
                results.fail(f'a race: {RACE.search(lines[number])[1].strip()} ({console}:{number + 1})')
                return
            if module or not LIBRARY.match(function):
                break
    results.races += 1


def judge_console(results, console):
    lines = lines_of(console)
    if not lines:
        results.fail('the console printed nothing')
    for number, line in enumerate(lines):
        if RACE.search(line):
            judge_race(results, lines, number, console)
        elif KERNEL_COMPLAINT.search(line) and not KERNEL_CHATTER.search(line):
            results.fail(f'the kernel: {line.strip()} ({console}:{number + 1})')
            return


def judge_machine(results, console, status):
    if status == '124':
        results.fail('the machine did not end in time')
    elif status != '0':
        results.fail(f'QEMU ended with status {status}')
    judge_console(results, console)
    if not results.total():
        results.fail('nothing ran')


def find_lost_suites(results, lines, chosen='*'):
    """Fails for each chosen KUnit suite in the tree that is not in the log: it was not linked, or did not run.

    Without the device there are no suites of keys.
    """
    ran = {match[1] for line in lines if (match := re.search(r'# Subtest: (kwq-[a-z-]+)$', line))}
    without = ['keyed'] if results.suite.endswith('-queue') else []
    for source in sorted((BUILD.parent / 'kmod/tests').rglob('*.c')):
        if source.parent.name in without:
            continue
        for suite in re.findall(r'^\s*\.name = "(kwq-[a-z-]+)",', source.read_text(), re.M):
            if suite not in ran and fnmatch.fnmatchcase(suite, chosen.partition('.')[0]):
                results.fail(f'{suite}: did not run')


def kunit(results, lines):
    """KUnit's own parser, from the kernel's source tree."""
    sys.path.insert(0, os.path.join(os.environ['KERNEL_SOURCE'], 'tools/testing/kunit'))
    import kunit_json
    import kunit_parser

    log = BUILD / 'logs' / f'{results.suite}.kunit.log'
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, 'a') as out, contextlib.redirect_stdout(out):
        # The parser took hold of stdout when it was imported.
        kunit_parser.stdout._output = out
        test = kunit_parser.parse_run_tests(lines)
    outcomes = {'PASS': 'pass', 'SKIP': 'skip'}

    def walk(group, path):
        for case in group['test_cases']:
            results.add('/'.join([*path, case['name']]), outcomes.get(case['status'], 'fail'))
        for sub in group['sub_groups']:
            walk(sub, [*path, sub['name']])

    walk(json.loads(kunit_json.get_json_result(test, kunit_json.Metadata())), [])
    if test.counts.errors:
        results.fail(f'{test.counts.errors} errors in the KTAP output ({log})')
    return test


def console(files):
    results = Results('')
    for file in files:
        judge_console(results, file)
    for what in results.failed:
        print(what)
    return 1 if results.failed or not files else 0


def cmd_tap(results, output, status):
    tap = Tap(results, results.suite)
    for line in lines_of(output):
        tap.line(line)
    tap.end()
    judge_end(results, results.suite, f'exit {status}')


def cmd_kselftest(results, report, console, status):
    for name, lines, end in programs(results, report):
        tap = Tap(results, name)
        for line in lines:
            tap.line(line)
        tap.end()
        judge_end(results, name, end)
    judge_machine(results, console, status)


def cmd_kunit(results, report, console, status):
    everything = []
    for name, lines, end in programs(results, report):
        kunit(results, lines)
        judge_end(results, name, end)
        everything += lines
    find_lost_suites(results, everything)
    judge_machine(results, console, status)


def cmd_kunit_uml(results, console, status):
    kunit(results, lines_of(console))
    find_lost_suites(results, lines_of(console), os.environ.get('KUNIT') or '*')
    judge_console(results, console)
    if int(status) >= 124:
        results.fail(f'User-Mode Linux was killed, or did not end in time (status {status})')
    if not results.total():
        results.fail('nothing ran')


def cmd_program(results, status):
    results.add(results.suite, 'pass' if status == '0' else 'fail')


def cmd_lost(results, reason):
    results.fail(f'{results.suite}: {reason}')


def cmd_absent(results, reason):
    results.absent = reason


def took(suite, seconds):
    path = RESULTS / f'{suite}.json'
    path.write_text(json.dumps(json.loads(path.read_text()) | {'seconds': int(seconds)}, indent=1) + '\n')


def source_of(version, release):
    """The version of the kernel's package, or "built". Debian's kernels name theirs."""
    if debian := re.search(r' Debian (\S+)', version):
        return debian[1]
    if release.startswith(Path(os.environ['KERNEL_SOURCE']).name.removeprefix('source-').partition('-')[0]):
        return Path(os.environ['KERNEL_SOURCE']).name.removeprefix('source-') + ', built'
    return 'built'


def what_ran(suite, found):
    if found['absent']:
        return found['absent']
    if suite.startswith('kunit'):
        return f'KUnit, {found["ran"]} suites'
    if suite.endswith('-queue'):
        return f'loaded without the device, {found["ran"]} program'
    if suite.endswith('-clang'):
        return f'compiled by clang and loaded, {found["ran"]} programs'
    if suite.startswith('load'):
        return f'compiled and loaded, {found["ran"]} programs'
    return f'kselftests, {found["ran"]} programs'


def table(file, suites):
    """Prints the day, and a row for each machine."""
    rows = [('kernel', 'version', 'architecture', 'what ran', 'passed', 'failed', 'skipped', 'seconds')]
    for suite in suites:
        try:
            found = json.loads((RESULTS / f'{suite}.json').read_text())
        except FileNotFoundError:
            found = vars(Results(suite)) | {'failed': ['did not run']}
        release, machine, version = (found['kernel'].split(' ', 2) + 3 * ['-'])[:3]
        if found['kernel']:
            version = source_of(version, release)
        else:
            release = re.sub(r'^[a-z]+-(stock-)?', '', suite)
        counts = ('-', '-', '-', '-') if found['absent'] else (
            found['passed'], len(found['failed']), found['skipped'], found.get('seconds', '-'))
        rows.append((release, version, machine, what_ran(suite, found), *counts))
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    rows.insert(1, ['-' * width for width in widths])
    text = datetime.date.today().isoformat() + ':\n\n'
    text += ''.join('| ' + ' | '.join(map(str.ljust, row, widths)) + ' |\n' for row in rows)
    Path(file).write_text(text)
    print(text, end='')
    return 0


def page(file, text):
    """Replaces the table of the file, and the date above it."""
    path = Path(file)
    old = path.read_text()
    new, found = re.subn(r'^\d{4}-\d\d-\d\d:\n\n(\|.*\n)+', lambda _: Path(text).read_text(), old, flags=re.M)
    if found != 1:
        print(f'{file} has {found} tables with a date above', file=sys.stderr)
        return 1
    path.write_text(new)
    return 0


def summary(suites):
    passed, skipped, failed = 0, 0, []
    for suite in suites:
        try:
            found = json.loads((RESULTS / f'{suite}.json').read_text())
        except FileNotFoundError:
            failed.append(f'{suite}: did not run')
            continue
        passed += found['passed']
        skipped += found['skipped']
        failed += [f'{suite}: {name}' for name in found['failed']]
    for name in failed:
        print(f'FAILED {name}')
    print(f'{passed} passed, {len(failed)} failed, {skipped} skipped')
    return 1 if failed or not passed else 0


def main():
    commands = {'tap': cmd_tap, 'kselftest': cmd_kselftest, 'kunit': cmd_kunit, 'kunit-uml': cmd_kunit_uml,
                'program': cmd_program, 'lost': cmd_lost, 'absent': cmd_absent}
    command, *args = sys.argv[1:]
    if command == 'console':
        return console(args)
    if command == 'took':
        return took(*args)
    if command == 'table':
        return table(args[0], args[1:])
    if command == 'page':
        return page(*args)
    if command == 'summary':
        return summary(args)
    results = Results(args[0])
    commands[command](results, *args[1:])
    return results.write()


if __name__ == '__main__':
    sys.exit(main())
