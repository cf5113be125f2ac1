#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-only
"""Compares syzkaller's description of the ABI with the header: prints differences, and parts that syzkaller would not
compile or never call, and fails if there are any.

The comparison covers every request with its number, direction and structure; the members of every structure with
their offsets and sizes; and every constant with its value. syzlang.py has the rules of syzkaller's language.
selftests/check/abi.py reads the header, and writes what this file says of the constants.

A structure of the description belongs to the structure of the header whose name it has or begins with: kwq_get_args_of
describes struct kwq_get_args. Each member of the header must be in at least one description of its structure.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import syzlang

HERE = Path(__file__).absolute().parent
TEXTS = [HERE / 'kwq.txt', HERE / 'kwq_abi.txt']

sys.path.insert(0, str(HERE.parents[1] / 'check'))
import abi  # noqa: E402

# The number of a system call depends on the architecture.
SYSCALLS = {'__NR_ioctl': '16, 386:54, arm64:29', '__NR_openat': '257, 386:295, arm64:56',
            '__NR_write': '1, 386:4, arm64:64'}
DIRECTIONS = {0: 'none', 1: 'in', 3: 'inout'}
# Parts of other constants, arguments of BPF programs, and values that the kernel only returns.
NO_CONSTANTS = {'KWQ_NAME_MAX', 'KWQ_BATCH_MAX', 'KWQ_BOARD_KEY_MAX', 'KWQ_SET_MAX', 'KWQ_SET_JOINS'}
ANSWERS = ('KWQ_FEATURE_', 'KWQ_STATE_', 'KWQ_WAS_')
RESULTS = {'KWQ_ADDED', 'KWQ_COALESCED', 'KWQ_DIRTIED', 'KWQ_WAITING', 'KWQ_DEAD', 'KWQ_DIRTY', 'KWQ_FINISHED',
           'KWQ_REQUEUED', 'KWQ_STILL_WAITING', 'KWQ_BURIED', 'KWQ_RETURNED', 'KWQ_PRIORITY_NONE', 'KWQ_RESTORED',
           'KWQ_POSTED'}


def described_constants(header):
    """The constants that a program passes to the kernel."""
    names = [f'KWQ_{name}' for name in header.constants] + [f'KWQ_IOC_{name}' for name, _, _, _ in header.requests]
    return {name for name in names if name not in NO_CONSTANTS | RESULTS and not name.startswith(ANSWERS)}


class Leaves:
    """The members of a described structure, resolved to integers, and the bytes that must be zero."""

    def __init__(self, description, values, kind):
        self.description, self.values = description, values
        self.named, self.covered = [], set()
        self.size = self.collect(kind, 0, '')

    def collect(self, kind, begin, path):
        struct = self.description.struct(kind)
        if struct.is_union:
            raise ValueError('a union inside of a structure: describe the structure once for each member')
        at = begin
        for field in struct.fields:
            size, align = self.description.layout(field.type, self.values)
            if size is None:
                raise ValueError(f'{kind}.{field.name} is of varying size')
            at = -(-at // align) * align
            if self.description.struct(field.type):
                self.collect(field.type, at, f'{path}{field.name}.')
            else:
                self.covered |= set(range(at, at + size))
                if str(self.description.resolve(field.type)).startswith('array[const[0, '):
                    # An absent batch, or the rest of a union.
                    pass
                else:
                    self.named.append((f'{path}{field.name}', at, size))
            at += size
        return self.description.layout(kind, self.values)[0]


def compiled(constants):
    """Asks the compiler for the values of constants, those of the system's headers, too."""
    lines = [f'printf("%llu\\n", (unsigned long long)(long long)({text}));' for text in constants.values()]
    source = '#define _GNU_SOURCE\n#include <fcntl.h>\n#include <stdio.h>\n#include <time.h>\n#include <linux/kwq.h>\n' \
             'int main(void)\n{\n' + '\n'.join(lines) + '\nreturn 0;\n}\n'
    with tempfile.TemporaryDirectory() as work:
        program = Path(work) / 'abi'
        subprocess.run([os.environ.get('CC', 'cc'), '-w', f'-I{abi.TOP / "uapi"}', '-x', 'c', '-', '-o', program],
                       input=source, text=True, check=True)
        said = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    return dict(zip(constants, map(int, said)))


def used_constants(text, description):
    words = set(re.findall(r'\b(?:KWQ|O|CLOCK|AT)_\w+\b', re.sub(r'^#.*|\$\w+', '', text, flags=re.M)))
    return words - set(description.defines)


def consts(text):
    """The file of constants that belongs to a description."""
    description = syzlang.Description(text)
    values = compiled({**{name: name for name in used_constants(text, description)}, **description.defines})
    calls = {name.split('$')[0] for name in description.calls}
    values.update({name: number for name, number in SYSCALLS.items() if name.removeprefix('__NR_') in calls})
    lines = sorted(f'{name} = {value}' for name, value in values.items())
    return f'# SPDX-License-Identifier: GPL-2.0-only\n# {abi.NOTE}: do not edit.\narches = 386, amd64, arm64\n' + \
        '\n'.join(lines) + '\n'


def differing_structs(header, description, values):
    described = {name: set() for name in header.structs}
    leaves = {name: set(header.leaves(members)) for name, members in header.structs.items()}
    for kind, struct in sorted(description.instances.items()):
        name = header.described_by(kind.split('[')[0])
        if not name or struct.is_union:
            # A part of a structure, checked as such, or one of several descriptions.
            continue
        if name == 'kwq_batch' and re.search(r'\w+, \d+\]$', kind):
            entry, size = re.search(r'(\w+), (\d+)\]$', kind).groups()
            if description.layout(syzlang.Type(entry), values)[0] != int(size):
                yield f'{kind}: {entry} has {description.layout(syzlang.Type(entry), values)[0]} bytes'
        mine = Leaves(description, values, syzlang.Parser(kind).type())
        if set(mine.named) - leaves[name]:
            yield f'{kind} has {sorted(set(mine.named) - leaves[name])}, which struct {name} has not'
        if len(mine.covered) != mine.size or mine.size != header.size_of(name):
            yield f'{kind} has {len(mine.covered)} bytes of {mine.size}, struct {name} {header.size_of(name)}'
        described[name] |= set(mine.named)
        for field in struct.fields:
            of = {'limiter_size': 'kwq_limiter'}.get(field.name, 'kwq_list_entry' if name == 'kwq_list_args' else None)
            if field.name in ('limiter_size', 'entry_size') and of and str(field.type) not in \
                    (f'const[{header.size_of(of)}, int32]', 'const[0, int32]'):
                yield f'{kind}.{field.name} is {field.type}, {of} has {header.size_of(of)} bytes'
    for name, members in sorted(described.items()):
        if name not in abi.MAPPED and leaves[name] - members:
            yield f'struct {name}: {sorted(leaf for leaf, _, _ in leaves[name] - members)} is not described'


def differing_requests(header, description):
    described, requests = set(), {f'KWQ_IOC_{name}': (DIRECTIONS[how], struct or None)
                                  for name, how, _, struct in header.requests}
    for call in description.calls.values():
        name, _, variant = call.name.partition('$')
        if name != 'ioctl':
            continue
        args = {arg.name: arg.type for arg in call.args}
        name = args['cmd'].args[0].name
        described.add(name)
        if not variant.startswith(name):
            yield f'{call.name} is about {name}'
        arg = args.get('arg')
        direction, kind = ('none', None)
        if arg and arg.name == 'ptr':
            direction, kind = arg.args[0].name, header.described_by(str(arg.args[1]).split('[')[0])
        if (direction, kind) != requests.get(name):
            yield f'{call.name} is {direction} {kind}, in the header {requests.get(name)}'
    for name in sorted(set(requests) - described):
        yield f'{name} is not described'


def main():
    header, texts = abi.Header(abi.HEADER.read_text()), [text.read_text() for text in TEXTS]
    description = syzlang.Description('\n'.join(texts))
    used = used_constants('\n'.join(texts), description)
    wrong = [f'{name} is described, and there is none' for name in sorted(used) if name.startswith('KWQ_') and
             name.removeprefix('KWQ_') not in header.constants and name not in described_constants(header)]
    values = {} if wrong else compiled({**{name: name for name in used | described_constants(header)}, **description.defines})
    wrong = wrong or syzlang.Compiler(description, values).faults() or [
        *differing_structs(header, description, values), *differing_requests(header, description),
        *(f'{name} is not described' for name in sorted(described_constants(header) - used))]
    print(*wrong, sep='\n', end='\n' if wrong else '')
    return bool(wrong)


if __name__ == '__main__':
    sys.exit(main())
