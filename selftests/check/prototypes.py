#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""prototypes.py STAGE KDIR: lists the kernel's functions and macros that kmod/prototypes.c fails to compare.

kmod/prototypes.o has been built for the kernel of KDIR in the folder STAGE, so the types in it are those of this kernel.
The script looks for functions that the sources use and kmod/prototypes.c does not compare. Only functions count whose
declaration has a number in its type. Macros count too, because their types are unknown.
"""
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

COMPARED = re.compile(r'(?:FUNCTION\([\w *]+, *|VALUE\([\w *]+, *|EITHER\([\w *]+, *[\w *]+, *|CONDITION\(|__same_type\()\s*(\w+)')
NEEDS_NONE = re.compile(r'/\*\n \* These need no comparison\. .*?\n \*\n(.*?)\*/', re.S)
# A line of gcc -aux-info has the file, and "NC" for a declaration or "NF" for a definition with the names of its arguments.
DECLARATION = re.compile(r'/\* (.*?):\d+:(\w)(\w) \*/ (?:extern |static )?(.*?\b(\w+) \((?!\*).*?\));')
MACRO = re.compile(r'#define (\w+)\(')


def without_comments(text):
    return re.sub(r'"(\\.|[^"\\])*"', '""', re.sub(r'/\*.*?\*/|//[^\n]*', ' ', text, flags=re.S))


def run(command, folder):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f'{command[-1]} does not compile')
    return done.stdout


class Kernel:
    """The declarations of a kernel, in a compilation of kwq."""

    def __init__(self, stage, kdir):
        self.functions = {}     # name -> prototype
        self.macros = set()
        self.ours = set()
        command = next(line for line in (stage / 'kmod/.prototypes.o.cmd').read_text().splitlines() if 'cmd_' in line)
        words = shlex.split(re.split(r' := |; ', command)[1])
        words = [word for word in words[:words.index('-c')] if not word.startswith('-Wp,-MMD')]
        # Since 6.13 the compiler runs in the module's folder.
        folder = kdir if '-I./include' in words else stage
        # This one file includes the other sources, except those of the module itself and of the tracepoints.
        source = stage / 'kmod/build.c'
        with tempfile.NamedTemporaryFile('r') as declared:
            run([*words, '-fsyntax-only', '-aux-info', declared.name, source], folder)
            for line in declared:
                found = DECLARATION.match(line)
                if found and re.search(r'(^|/)kmod/', found[1]):
                    self.ours.add(found[5])
                elif found:
                    self.functions.setdefault(found[5], found[4])
        self.macros.update(MACRO.findall(run([*words, '-E', '-dM', source], folder)))


def has_number(prototype):
    """Whether a type in the prototype is neither a pointer nor void."""
    returns, arguments = re.match(r'(.*?)\b\w+ \((.*)\)$', prototype).groups()
    return any('*' not in part and part.strip() not in ('void', '...') for part in [returns, *arguments.split(',')])


def main():
    stage, kdir = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    sources = {path: path.read_text() for path in stage.glob('kmod/**/*.[ch]')
               if path.relative_to(stage).parts[1] not in ('tests', 'samples')}
    prototypes = sources.pop(stage / 'kmod/prototypes.c')
    compat = sources[stage / 'kmod/compat.h']
    known = set(COMPARED.findall(prototypes) + COMPARED.findall(compat) + NEEDS_NONE.search(prototypes)[1].split())
    code = without_comments('\n'.join(sources.values()))
    named = set(re.findall(r'\b[A-Za-z_]\w*', code))
    # Names in capitals are left out: they are declarations, or macros that have the type of their arguments.
    called = set(re.findall(r'\b(?!kwq_)(_*[a-z]\w*)\(', code)) - set(MACRO.findall(code))
    kernel = Kernel(stage, kdir)

    missing = []
    for name in sorted(named - known - kernel.ours):
        if name in called and name in kernel.macros:
            missing.append(f'the macro {name}()')
        elif name in kernel.functions and name not in kernel.macros and has_number(kernel.functions[name]):
            missing.append(kernel.functions[name])
    for what in missing:
        print(f'kmod/prototypes.c does not compare: {what}')
    return 1 if missing else 0


sys.exit(main())
