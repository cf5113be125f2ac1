#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Holds syzkaller's description of the ABI against the header.

check.py           says what differs, and fails if anything does
check.py --consts  prints what kwq.txt.const has to be

Compared are: every request, its number, its direction and its structure; of every structure the members, their places
and their sizes; every constant, its value, and that its set of flags is complete. Sizes and places in the description
are computed here, by the rules of syzkaller's language; those of the header the compiler tells.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).absolute().parent
UAPI = HERE.parents[1] / 'uapi'
HEADER = UAPI / 'linux/kwq.h'
TEXT = HERE / 'kwq.txt'
CONSTS = HERE / 'kwq.txt.const'

# Of a system call the number depends on the architecture.
SYSCALLS = {'__NR_ioctl': '16, 386:54, arm64:29', '__NR_openat': '257, 386:295, arm64:56'}
# Said by what uses it, or no part of the ABI.
NO_CONSTANTS = {'KWQ_IOC_MAGIC'}


def words_of(text):
    """Splits at the commas outside of brackets."""
    words, depth, begin = [], 0, 0
    for at, char in enumerate(text):
        depth += (char == '[') - (char == ']')
        if char == ',' and depth == 0:
            words.append(text[begin:at].strip())
            begin = at + 1
    return words + [text[begin:].strip()] if text.strip() else []


def head_and_options(kind):
    match = re.fullmatch(r'(\w+)(?:\[(.*)\])?', kind.strip())
    if not match:
        raise ValueError(f'{TEXT.name}: {kind} is no type')
    return match[1], words_of(match[2] or '')


class Header:
    """The C side. A structure is a list of (path of the member, whether it is one of a structure of its own)."""

    def __init__(self):
        self.text = re.sub(r'/\*.*?\*/', ' ', HEADER.read_text(), flags=re.S)
        self.bodies = {}
        for match in re.finditer(r'^struct (\w+) \{\n(.*?)^\};', self.text, re.S | re.M):
            self.bodies[match[1]] = match[2]
        self.constants = [name for name in re.findall(r'^#define (KWQ_\w+)\s+\S', self.text, re.M)
                          if name not in NO_CONSTANTS]
        self.requests = {match[1]: ({'_IO': 'none', '_IOW': 'in', '_IOR': 'out', '_IOWR': 'inout'}[match[2]], match[3])
                         for match in re.finditer(r'^#define (KWQ_IOC_\w+)\s+(_IO\w*)\(KWQ_IOC_MAGIC, 0x\w+'
                                                  r'(?:, struct (\w+))?\)$', self.text, re.M)}
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


class Description:
    """syzkaller's side."""

    def __init__(self):
        self.text = re.sub(r'^#.*\n', '', TEXT.read_text(), flags=re.M)
        self.structs, self.aliases, self.flags, self.resources = {}, {}, {}, {}
        for match in re.finditer(r'^(?:type )?(\w+)(?:\[([\w, ]+)\])? ([{\[])\n((?:\t.*\n)*)[}\]]$', self.text, re.M):
            members = [line.split(None, 1) for line in match[4].splitlines()]
            members = [(name, re.sub(r'\s*\((?:in|out|inout)\)$', '', kind)) for name, kind in members]
            self.structs[match[1]] = (words_of(match[2] or ''), match[3] == '[', members)
        for match in re.finditer(r'^type (\w+) ([^{\n]+)$', self.text, re.M):
            self.aliases[match[1]] = match[2]
        for match in re.finditer(r'^(\w+) = (.+)$', self.text, re.M):
            self.flags[match[1]] = words_of(match[2])
        for match in re.finditer(r'^resource (\w+)\[(\w+)\]', self.text, re.M):
            self.resources[match[1]] = match[2]
        self.calls = re.findall(r'^(\w+)(?:\$(\w+))?\((.*)\)(?: \w+)?$', self.text, re.M)
        self.used = set(re.findall(r'\b(?:KWQ|O|CLOCK|AT)_\w+\b', re.sub(r'\$\w+', '', self.text)))

    def struct(self, kind):
        """Members of a structure, its template's parameters filled in."""
        head, options = head_and_options(kind)
        parameters, is_union, members = self.structs[head]
        if len(parameters) != len(options):
            raise ValueError(f'{TEXT.name}: {kind} wants {len(parameters)} parameters')
        for parameter, option in zip(parameters, options):
            members = [(name, re.sub(rf'\b{parameter}\b', option, what)) for name, what in members]
        return is_union, members

    def layout(self, kind, values):
        """(size, alignment) of a type, as syzkaller's compiler has it."""
        head, options = head_and_options(kind)
        if head in self.structs:
            is_union, members = self.struct(kind)
            offset, align = 0, 1
            for _, what in members:
                size, wants = self.layout(what, values)
                align = max(align, wants)
                offset = max(offset, size) if is_union else -(-offset // wants) * wants + size
            return -(-offset // align) * align, align
        if head in self.aliases:
            return self.layout(self.aliases[head], values)
        if head in self.resources:
            return self.layout(self.resources[head], values)
        if head == 'string':
            return int(options[1]), 1
        if head == 'array':
            size, align = self.layout(options[0], values)
            return size * int(values.get(options[1], options[1])), align
        if head == 'ptr64':
            return 8, 8
        if head in ('const', 'flags', 'len', 'bytesize'):
            return self.layout(options[1], values)
        match = re.fullmatch(r'int(8|16|32|64)', head)
        if not match:
            raise ValueError(f'{TEXT.name}: what is {kind}?')
        return int(match[1]) // 8, int(match[1]) // 8

    def leaves(self, kind, values, offset=0, path=''):
        """(path, offset, size) of each member. A batch that may be absent is the batch."""
        is_union, members = self.struct(kind)
        if is_union and members[-1][0] == 'none':
            if self.layout(members[0][1], values) != self.layout(members[1][1], values):
                raise ValueError(f'{TEXT.name}: {kind} has not one size')
            yield from self.leaves(members[0][1], values, offset, path)
            return
        at = offset
        for name, what in members:
            size, align = self.layout(what, values)
            at = offset if is_union else -(-at // align) * align
            if head_and_options(what)[0] in self.structs:
                yield from self.leaves(what, values, at, f'{path}{name}.')
            else:
                yield f'{path}{name}', at, size
            at += size

    def kinds(self):
        """The structures, each template once for each way in which it is used."""
        kinds = {name for name, (parameters, _, _) in self.structs.items() if not parameters}
        while True:
            texts = [args for _, _, args in self.calls]
            texts += [what for kind in kinds for _, what in self.struct(kind)[1]]
            found = {match for text in texts for match in re.findall(r'\b\w+\[\w+, \d+\]', text)
                     if head_and_options(match)[0] in self.structs}
            if found <= kinds:
                return kinds
            kinds |= found


def compiled(header, names):
    """What the compiler says: the constants' values, and of each structure its size and its members'."""
    lines = [f'printf("= {name} %llu\\n", (unsigned long long)(long long)({name}));' for name in names]
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


def differing_structs(header, description, values, sizes, leaves):
    described = set()
    for kind in sorted(description.kinds()):
        head, options = head_and_options(kind)
        # One structure of the header may be described in several ways: kwq_batch_in, kwq_batch_out.
        name = re.sub('_(in|out)$', '', head)
        if options and description.layout(options[0], values)[0] != int(options[1]):
            yield f'{kind}: {options[0]} has {description.layout(options[0], values)[0]} bytes'
        if name not in header.bodies:
            # A part of a structure, which is looked at as such.
            continue
        described.add(name)
        mine = list(description.leaves(kind, values))
        if mine != leaves[name]:
            yield f'{kind} has {sorted(set(mine) - set(leaves[name]))}, ' \
                  f'the header has {sorted(set(leaves[name]) - set(mine))}, or their order differs'
        if description.layout(kind, values)[0] != sizes[name]:
            yield f'{kind} has {description.layout(kind, values)[0]} bytes, in the header {sizes[name]}'
        for member, what in description.struct(kind)[1]:
            of = {'limiter_size': 'kwq_limiter', 'entry_size': None if options else 'kwq_list_entry'}.get(member)
            if of and what != f'const[{sizes[of]}, int32]':
                yield f'{kind}.{member} is {what}, {of} has {sizes[of]} bytes'
    for name in sorted(set(header.bodies) - described):
        yield f'struct {name} is not described'


def differing_requests(header, description):
    described = set()
    for call, variant, args in description.calls:
        if call != 'ioctl':
            continue
        name = re.search(r'cmd const\[(\w+)\]', args)[1]
        described.add(name)
        if not variant.startswith(name):
            yield f'ioctl${variant} is about {name}'
        match = re.search(r'arg ptr\[(\w+), (.*)\]$', args)
        direction, kind = (match[1], head_and_options(match[2])[0]) if match else ('none', None)
        kind = kind and re.sub('_(in|out)$', '', kind)
        if (direction, kind) != header.requests.get(name):
            yield f'ioctl${variant} is {direction} {kind}, in the header {header.requests.get(name)}'
    for name in sorted(set(header.requests) - described):
        yield f'{name} is not described'


def differing_constants(header, description, values):
    for name in sorted(set(header.constants) - description.used):
        yield f'{name} is not described'
    for name in sorted(description.used - set(values)):
        yield f'{name} is described, and there is none'
    if not CONSTS.exists() or CONSTS.read_text() != consts(values):
        there = set(CONSTS.read_text().splitlines()) if CONSTS.exists() else set()
        yield f'{CONSTS.name} is not what check.py --consts says: {sorted(there ^ set(consts(values).splitlines()))}'
    # Who has one flag of a kind has all of them.
    for flags, members in description.flags.items():
        for prefix in {'_'.join(member.split('_')[:2]) + '_' for member in members if member.startswith('KWQ_')}:
            missing = [name for name in header.constants if name.startswith(prefix) and name not in members]
            missing = [name for name in missing if not name.endswith('_MAX')]
            if missing and flags not in ('kwq_times', 'kwq_parts'):
                yield f'{flags} lacks {", ".join(missing)}'


def main():
    header, description = Header(), Description()
    names = sorted(set(header.constants) | {name for name in description.used if not name.startswith('KWQ_')})
    values, sizes, leaves = compiled(header, names)
    if sys.argv[1:] == ['--consts']:
        print(consts(values), end='')
        return 0
    wrong = [*differing_structs(header, description, values, sizes, leaves),
             *differing_requests(header, description), *differing_constants(header, description, values)]
    print(*wrong, sep='\n', end='\n' if wrong else '')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
