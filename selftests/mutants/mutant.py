#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Reads the mutants of this folder, plants them and judges whether they were found.

mutant.py names                 the names of all
mutant.py list [NAME...]        key, name, suite, and programs or KUnit suites of these mutants, or of all. Those that
                                change the same file follow each other. The key changes with the mutant and with the test that
                                finds it, but not with all that a test uses, since then no record would outlive a day.
mutant.py sources SUITE         a checksum of the sources that the suite compiles
mutant.py check TREE            checks that every mutant fits the sources in TREE, and names existing KUnit cases
mutant.py plant NAME TREE       changes the sources in TREE
mutant.py judge NAME RESULTS    prints the test that found it, from the results of its suite
mutant.py table LINES           prints the lines as columns

There is a file for each folder of sources, such as kmod-core.diff, and its head says which suite finds most of them. A mutant
begins in it with

    mutant: its name (the class of bug)
    suite: another suite of run-tests.sh that finds it, and the programs of a kselftests suite
    finds: a regular expression; a failure of the suite must match it
    then, up to the first line that begins with ---, why it is a bug

Hunks follow. Each is a line "--- FILE" and then lines as in a unified diff, without line numbers. The text before the
change must occur exactly once in the file, so a hunk has enough context to be unique.
"""
import functools
import hashlib
import json
import os.path
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).absolute().parent
TOP = HERE.parents[1]
HEAD = ('class', 'suite', 'finds')

# The files and folders that each suite compiles or runs. A suite that is not named needs all. The result also depends on
# COMMON and on the compiler.
MODULE = ('Kbuild', 'kmod', 'uapi')
FOLDERS = {
    'host': ('kmod/core', 'kmod/files/path.h', 'kmod/keyed/board_key.h', 'uapi', 'userspace'),
    'model': ('kmod/core', 'uapi', 'selftests/models/core'),
    'kunit-debug': (*MODULE, 'selftests/machine/debug.config', 'selftests/machine/init.c'),
    'kunit-uml': (*MODULE, 'selftests/machine/uml.config'),
}
ALL_FOLDERS = (*MODULE, 'userspace', 'selftests/share', 'selftests/device', 'selftests/fuzz', 'selftests/machine/debug.config',
               'selftests/machine/init.c')
COMMON = ('selftests/run/results.py', 'selftests/run/run-tests.sh', 'selftests/machine/boot.sh', 'selftests/machine/initramfs.sh',
          'selftests/machine/kernel.sh')
# Packages: compilers, the emulator, and what kernels are built from.
PACKAGES = ('gcc', 'clang', 'golang-go', 'python3', 'qemu-system-x86', 'linux-source-*', 'nats-server')


@functools.cache
def fingerprint(suite):
    """A checksum of the sources of a suite."""
    versions = subprocess.run(['dpkg-query', '-W', *PACKAGES], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    checksum = hashlib.sha256(versions.stdout)
    for folder in (*FOLDERS.get(suite, ALL_FOLDERS), *COMMON):
        top = TOP / folder
        for path in sorted(top.rglob('*')) if top.is_dir() else [top]:
            if path.is_file() and '__pycache__' not in path.parts:
                checksum.update(f'{path.relative_to(TOP)}\0'.encode() + path.read_bytes())
    return checksum.hexdigest()


HOST_PROGRAM = re.compile(r'\b(?:share|test|unit)-[a-z-]+')

# Where tests are. A test is found by the word that its path contains.
TEST_FOLDERS = ('kmod/tests', 'selftests/share', 'selftests/device', 'selftests/models/core', 'userspace/go', 'userspace/python/test',
                'userspace/test')


@functools.cache
def test_files():
    return {str(path.relative_to(TOP)): path.read_bytes() for folder in TEST_FOLDERS for path in sorted((TOP / folder).rglob('*'))
            if path.is_file() and '__pycache__' not in path.parts}


@functools.cache
def texts():
    """The text of each mutant, by name."""
    found = {}
    for path in sorted(HERE.glob('*.diff')):
        head, *mutants = re.split(r'^mutant: ', path.read_text(), flags=re.M)
        default = re.search(r'^# (suite: .*\n)', head, re.M)
        for text in mutants:
            title, _, text = text.partition('\n')
            name, kind = re.fullmatch(r'([\w-]+)(?: \((.*)\))?', title).groups()
            if name in found:
                raise ValueError(f'{path.name}: there are two mutants {name}')
            if default and not re.search('^suite: ', text.partition('\n--- ')[0], re.M):
                text = default[1] + text
            # An empty line stands before the next one.
            found[name] = f'class: {kind}\n' * bool(kind) + text.rstrip('\n') + '\n'
    return found


class Mutant:
    def __init__(self, name):
        self.name = name
        self.hunks = []     # file, text before, text after
        if name not in texts():
            raise ValueError(f'there is no mutant {name}')
        self.text = texts()[name]
        head, *hunks = re.split(r'^--- ', self.text, flags=re.M)
        for word in HEAD:
            match = re.search(rf'^{word}: (.*)$', head, re.M)
            if not match:
                raise ValueError(f'{name}: says no {word}')
            setattr(self, 'kind' if word == 'class' else word, match[1])
        self.finds = re.compile(self.finds)
        for hunk in hunks:
            file, *lines = hunk.splitlines(keepends=True)
            # Editors tend to strip the space of an empty context line.
            lines = [' \n' if line == '\n' else line for line in lines]
            if any(line[0] not in ' -+' for line in lines):
                raise ValueError(f'{name}: a line begins with none of " -+"')
            self.hunks.append((file.strip(),
                               ''.join(line[1:] for line in lines if line[0] != '+'),
                               ''.join(line[1:] for line in lines if line[0] != '-')))
        if not self.hunks:
            raise ValueError(f'{name}: changes nothing')

    def plant(self, tree):
        """Returns the changed files, by name."""
        files = {}
        for file, before, after in self.hunks:
            text = files.get(file) or (Path(tree) / file).read_text()
            # The text matches only at the beginning of a line.
            found = ('\n' + text).count('\n' + before)
            if found != 1:
                raise ValueError(f'{self.name}: what it changes is {found} times in {file}')
            files[file] = ('\n' + text).replace('\n' + before, '\n' + after)[1:]
        return files

    def cases(self):
        """The KUnit suites and cases that must find the mutant."""
        for suite, cases in re.findall(r'(kwq-[\w-]+)/(\w+|\([\w|]+\))', self.finds.pattern):
            yield from ((suite, case) for case in re.findall(r'\w+', cases))

    def chosen(self):
        """The suite, and its programs, or a pattern that matches at least the KUnit suites, that must find the mutant."""
        if self.suite == 'kunit-uml':
            suites = re.findall(r'kwq-[a-z-]*', self.finds.pattern)
            return f'{self.suite} {os.path.commonprefix(suites)}*' if suites else self.suite
        if self.suite == 'host':
            # A program that runs once more, with the newest server, is chosen by its name.
            programs = {name.removesuffix('-new') for name in HOST_PROGRAM.findall(self.finds.pattern)}
            return ' '.join([self.suite, *sorted(programs)])
        return self.suite

    def words(self):
        """Words in the paths of the tests that find the mutant: a KUnit suite, or programs."""
        _, *programs = self.chosen().split()
        for word in programs:
            if word.startswith('kwq-'):
                yield from (f'"{suite}"' for suite in re.findall(r'kwq-[a-z-]*[a-z]', self.finds.pattern))
            elif word.startswith(('share', 'unit-share')):
                yield 'share'
            else:
                yield {'go': '_test.go', 'local': 'local.c'}.get(word, word)

    def key(self):
        words = sorted(set(self.words()))
        found = {path for path, text in test_files().items() if any(word in path or word.encode() in text and word[0] == '"'
                                                                    for word in words)}
        # A test that is not known by its word is any of them.
        checksum = hashlib.sha256(self.text.encode())
        for path in sorted(found or test_files()):
            checksum.update(f'\0{path}\0'.encode() + (TOP / path).read_bytes())
        return checksum.hexdigest()[:20]

    def judge(self, failed):
        """Returns the failure that found the mutant."""
        # Skip cases that were not reached: they have no name.
        failed = [what for what in failed if what and what[-1] != '/']
        lost = [what for what in failed if 'could not be built' in what]
        if lost or not failed:
            raise ValueError(lost[0] if lost else 'SURVIVED')
        for what in failed:
            if self.finds.search(what):
                return re.sub(r' \(/\S*\)$|^the kernel: \[[ 0-9.]*\] ', '', what)
        raise ValueError(f'not found by {self.finds.pattern}, but by {failed[0]}')


def kunit_cases(tree):
    """The KUnit suites and cases in a tree."""
    for path in Path(tree, 'kmod/tests').rglob('*.c'):
        text = path.read_text()
        suites = re.findall(r'\.name = "([\w-]+)",[^}]*\.test_cases = (\w+),', text)
        for array, suite in re.findall(r'\bKWQ_TEST_SUITES\((\w+), "([\w-]+)"', text):
            suites += (suite, f'{array}_cases'), (f'{suite}-small', f'{array}_small_cases')
        for suite, array in suites:
            listed = re.search(rf'struct kunit_case {array}\[\] = {{(.*?)^}};', text, re.M | re.S)[1]
            # The cases of both forms of a queue are in a macro.
            for macro in re.findall(r'^\t(\w+_OF_BOTH),$', listed, re.M):
                listed += re.search(rf'^#define {macro}\b(.*?[^\\])$', text, re.M | re.S)[1]
            yield from ((suite, case) for case in re.findall(r'\bKUNIT_CASE\w*\((\w+)', listed))


def main():
    command, *args = sys.argv[1:]
    if command == 'names':
        print(*sorted(texts()), sep='\n')
    elif command == 'list':
        mutants = [Mutant(name) for name in args or texts()]
        for mutant in sorted(mutants, key=lambda it: (it.chosen().split()[0], it.hunks[0][0], it.chosen())):
            print(mutant.key(), mutant.name, mutant.chosen())
    elif command == 'sources':
        print(fingerprint(args[0]))
    elif command == 'check':
        tests = set(kunit_cases(args[0]))
        for name in texts():
            try:
                mutant = Mutant(name)
                mutant.plant(args[0])
            except (ValueError, OSError) as error:
                print(error)
                continue
            for suite, case in mutant.cases():
                if (suite, case) not in tests:
                    print(f'{name}: KUnit has no case {suite}/{case}')
    elif command == 'plant':
        for file, text in Mutant(args[0]).plant(args[1]).items():
            (Path(args[1]) / file).write_text(text)
    elif command == 'table':
        rows = [line.split('\t') for line in Path(args[0]).read_text().splitlines()]
        rows = [[name, kind or Mutant(name).kind, *others] for name, kind, *others in rows]
        rows.insert(0, ['mutant', 'class of bug', 'suite', 'found', 'seconds', 'by'])
        widths = [max(map(len, column)) for column in zip(*rows)]
        for row in rows:
            print('  '.join(map(str.ljust, row, widths)).rstrip())
    elif command == 'judge':
        mutant = Mutant(args[0])
        try:
            print(f'{mutant.kind}\t{mutant.judge(json.loads(Path(args[1]).read_text())["failed"])}')
        except (ValueError, FileNotFoundError) as error:
            print(f'{mutant.kind}\t{error}')
            return 1
    return 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except (ValueError, FileNotFoundError) as error:
        sys.exit(f'mutant.py: {error}')
