#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-only
"""Compares syzkaller's description of the ABI with the header.

check.py           prints differences, and parts that syzkaller would not compile or never call; fails if there are any
check.py --consts  prints the correct content of kwq.txt.const

The comparison covers every request with its number, direction and structure; the members of every structure with
their offsets and sizes; and every constant with its value. syzlang.py has the rules of syzkaller's language. The sizes
and values of the header come from the compiler.

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
UAPI = HERE.parents[2] / 'uapi'
HEADER = UAPI / 'linux/kwq.h'
TEXT = HERE / 'kwq.txt'
CONSTS = HERE / 'kwq.txt.const'

# The number of a system call depends on the architecture.
SYSCALLS = {'__NR_ioctl': '16, 386:54, arm64:29', '__NR_openat': '257, 386:295, arm64:56',
            '__NR_write': '1, 386:4, arm64:64'}
# Parts of other constants, and values that the kernel only returns.
NO_CONSTANTS = {'KWQ_IOC_MAGIC', 'KWQ_NAME_MAX', 'KWQ_BATCH_MAX', 'KWQ_BOARD_KEY_MAX'}
# What programs read in mapped memory.
MAPPED = {'kwq_board', 'kwq_board_slot'}
ANSWERS = ('KWQ_FEATURE_', 'KWQ_STATE_', 'KWQ_WAS_')
RESULTS = {'KWQ_ADDED', 'KWQ_COALESCED', 'KWQ_DIRTIED', 'KWQ_WAITING', 'KWQ_DEAD', 'KWQ_DIRTY', 'KWQ_FINISHED',
           'KWQ_REQUEUED', 'KWQ_STILL_WAITING', 'KWQ_BURIED', 'KWQ_RETURNED', 'KWQ_PRIORITY_NONE', 'KWQ_RESTORED'}


class Header:
    """The C side. A structure is a list of (path of the member, whether it is one of a structure of its own)."""

    def __init__(self):
        commented = HEADER.read_text()
        self.text = re.sub(r'/\*.*?\*/', ' ', commented, flags=re.S)
        self.bodies = {}
        for match in re.finditer(r'^struct (\w+) \{\n(.*?)^\};', self.text, re.S | re.M):
            self.bodies[match[1]] = match[2]
        self.constants = [name for name in re.findall(r'^#define (KWQ_\w+)\s+\S', self.text, re.M)
                          if name not in NO_CONSTANTS | RESULTS and not name.startswith(ANSWERS)]
        self.requests = {match[1]: ({'_IO': 'none', '_IOW': 'in', '_IOR': 'out', '_IOWR': 'inout'}[match[2]], match[3])
                         for match in re.finditer(r'^#define (KWQ_IOC_\w+)\s+(_IO\w*)\(KWQ_IOC_MAGIC, 0x\w+'
                                                  r'(?:, __u32\)\s+/\* struct (\w+) \*/|\))$', commented, re.M)}
        lost = [name for name in self.constants if name.startswith('KWQ_IOC_') and name not in self.requests]
        if lost:
            raise ValueError(f'{HEADER.name}: cannot read {", ".join(lost)}')

    def leaves(self, name):
        return list(self.members(self.bodies[name]))

    def members(self, body):
        while body.strip():
            match = re.match(r'\s*(?:struct|union) \{', body)
            if match:
                depth, at = 1, match.end()
                while depth:
                    depth += (body[at] == '{') - (body[at] == '}')
                    at += 1
                inner, (name, body) = body[match.end():at - 1], body[at:].split(';', 1)
                yield from (f'{name.strip()}.{leaf}' for leaf in self.members(inner))
                continue
            match = re.match(r'\s*(?:struct (\w+)|\w+)\s+(\w+)(?:\[[^]]*\])?;', body)
            if not match:
                raise ValueError(f'{HEADER.name}: cannot read {body.strip()[:40]}')
            if match[1]:
                yield from (f'{match[2]}.{leaf}' for leaf in self.leaves(match[1]))
            else:
                yield match[2]
            body = body[match.end():]


class Leaves:
    """The members of a described structure, resolved to integers, and the bytes that must be zero."""

    def __init__(self, description, values, kind):
        self.description, self.values = description, values
        self.named, self.covered = [], set()
        self.size = self.collect(kind, 0, '')

    def collect(self, kind, begin, path):
        struct = self.description.struct(kind)
        if struct.is_union:
            raise ValueError(f'{TEXT.name}: a union inside of a structure: describe the structure once for each member')
        at = begin
        for field in struct.fields:
            size, align = self.description.layout(field.type, self.values)
            if size is None:
                raise ValueError(f'{TEXT.name}: {kind}.{field.name} is of varying size')
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


def compiled(header, constants):
    """Asks the compiler for the values of the constants, and for the sizes of structures and their members."""
    lines = [f'printf("= {name} %llu\\n", (unsigned long long)(long long)({text}));' for name, text in constants.items()]
    for name in header.bodies:
        lines.append(f'printf("# {name} %zu\\n", sizeof(struct {name}));')
        lines += [f'printf("{name} {leaf} %zu %zu\\n", offsetof(struct {name}, {leaf}), '
                  f'sizeof(((struct {name} *)0)->{leaf}));' for leaf in header.leaves(name)]
    source = '#define _GNU_SOURCE\n#include <fcntl.h>\n#include <stddef.h>\n#include <stdio.h>\n#include <time.h>\n' \
             '#include <linux/kwq.h>\nint main(void)\n{\n' + '\n'.join(lines) + '\nreturn 0;\n}\n'
    with tempfile.TemporaryDirectory() as work:
        program = Path(work) / 'abi'
        subprocess.run([os.environ.get('CC', 'cc'), '-w', f'-I{UAPI}', '-x', 'c', '-', '-o', program],
                       input=source, text=True, check=True)
        said = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    values, sizes, leaves = {}, {}, {name: [] for name in header.bodies}
    for words in map(str.split, said):
        if words[0] == '=':
            values[words[1]] = int(words[2])
        elif words[0] == '#':
            sizes[words[1]] = int(words[2])
        else:
            leaves[words[0]].append((words[1], int(words[2]), int(words[3])))
    return values, sizes, leaves


def consts(values):
    lines = [f'{name} = {value}' for name, value in {**values, **SYSCALLS}.items()]
    return '# SPDX-License-Identifier: GPL-2.0-only\n# By check.py --consts.\narches = 386, amd64, arm64\n' + \
        '\n'.join(sorted(lines)) + '\n'


def header_struct(header, kind):
    """The structure of the header that this describes, or None."""
    name = kind.split('[')[0]
    return max((found for found in header.bodies if name == found or name.startswith(found + '_')), key=len, default=None)


def differing_structs(header, description, values, sizes, leaves):
    described = {name: set() for name in header.bodies}
    for kind, struct in sorted(description.instances.items()):
        name = header_struct(header, kind)
        if not name or struct.is_union:
            # A part of a structure, checked as such, or one of several descriptions.
            continue
        if name == 'kwq_batch' and re.search(r'\w+, \d+\]$', kind):
            entry, size = re.search(r'(\w+), (\d+)\]$', kind).groups()
            if description.layout(syzlang.Type(entry), values)[0] != int(size):
                yield f'{kind}: {entry} has {description.layout(syzlang.Type(entry), values)[0]} bytes'
        mine = Leaves(description, values, syzlang.Parser(kind).type())
        if set(mine.named) - set(leaves[name]):
            yield f'{kind} has {sorted(set(mine.named) - set(leaves[name]))}, which struct {name} has not'
        if len(mine.covered) != mine.size or mine.size != sizes[name]:
            yield f'{kind} has {len(mine.covered)} bytes of {mine.size}, struct {name} {sizes[name]}'
        described[name] |= set(mine.named)
        for field in struct.fields:
            of = {'limiter_size': 'kwq_limiter'}.get(field.name, 'kwq_list_entry' if name == 'kwq_list_args' else None)
            if field.name in ('limiter_size', 'entry_size') and of and str(field.type) not in \
                    (f'const[{sizes[of]}, int32]', 'const[0, int32]'):
                yield f'{kind}.{field.name} is {field.type}, {of} has {sizes[of]} bytes'
    for name, members in sorted(described.items()):
        if name not in MAPPED and set(leaves[name]) - members:
            yield f'struct {name}: {sorted(leaf for leaf, _, _ in set(leaves[name]) - members)} is not described'


def differing_requests(header, description):
    described = set()
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
            direction, kind = arg.args[0].name, header_struct(header, str(arg.args[1]))
        if (direction, kind) != header.requests.get(name):
            yield f'{call.name} is {direction} {kind}, in the header {header.requests.get(name)}'
    for name in sorted(set(header.requests) - described):
        yield f'{name} is not described'


def used_constants(text, description):
    words = set(re.findall(r'\b(?:KWQ|O|CLOCK|AT)_\w+\b', re.sub(r'^#.*|\$\w+', '', text, flags=re.M)))
    return words - set(description.defines)


def differing_constants(header, description, used, values):
    for name in sorted(set(header.constants) - used):
        yield f'{name} is not described'
    there = CONSTS.read_text() if CONSTS.exists() else ''
    if there != consts(values):
        lines = set(there.splitlines()) ^ set(consts(values).splitlines())
        yield f'{CONSTS.name} is not what check.py --consts says: {sorted(lines)}'


def main():
    header, text = Header(), TEXT.read_text()
    description = syzlang.Description(text)
    used = used_constants(text, description)
    unknown = sorted(name for name in used if name.startswith('KWQ_') and name not in
                     set(re.findall(r'^#define (\w+)', header.text, re.M)))
    if unknown:
        print(*(f'{name} is described, and there is none' for name in unknown), sep='\n')
        return 1
    values, sizes, leaves = compiled(header, {**{name: name for name in sorted(used | set(header.constants))},
                                              **description.defines})
    if sys.argv[1:] == ['--consts']:
        print(consts(values), end='')
        return 0
    wrong = syzlang.Compiler(description, values).faults()
    if not wrong:
        wrong = [*differing_structs(header, description, values, sizes, leaves),
                 *differing_requests(header, description), *differing_constants(header, description, used, values)]
    print(*wrong, sep='\n', end='\n' if wrong else '')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
