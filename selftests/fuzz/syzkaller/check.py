#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-only
"""Compares syzkaller's description of the ABI with the header: prints differences, and fails if there are any.

The comparison covers every request with its direction and structure, the members of every structure in their order, the sizes
of entries, and the names of constants. What else syzkaller wants of a description, its own compiler says.

A structure of the description belongs to the structure of the header whose name it has or begins with: kwq_get_args_of
describes struct kwq_get_args.
"""
import re
import sys
from pathlib import Path

HERE = Path(__file__).absolute().parent

sys.path.insert(0, str(HERE.parents[1] / 'check'))
import abi  # noqa: E402

DIRECTIONS = {0: None, 1: 'in', 3: 'inout'}
# Parts of other constants, arguments of BPF programs, and values that the kernel only returns.
UNUSED = re.compile(r'(NAME_MAX|BATCH_MAX|BOARD_KEY_MAX|SET_MAX|SET_JOINS|PRIORITY_NONE|POSTED|RESTORED|ADDED|COALESCED|DIRTIED'
                    r'|WAITING|DEAD|DIRTY|FINISHED|REQUEUED|STILL_WAITING|BURIED|RETURNED|(FEATURE|STATE|WAS)_\w+)')


def differing_structs(header, text):
    described = set()
    for name, body in re.findall(r'^(?:type )?(kwq_\w+)(?:\[[^\n]*\])? \{\n(.*?)^\}', text, re.M | re.S):
        struct = header.described_by(name)
        # A part of a structure is compared in the structure.
        if not struct:
            continue
        described.add(struct)
        mine = re.findall(r'^\t(\w+)', body, re.M)
        if mine != [member.name for member in header.structs[struct]]:
            yield f'{name} has {mine}, struct {struct} {[member.name for member in header.structs[struct]]}'
        for member in header.structs[struct]:
            bits = re.search(rf'^\t{member.name}\s+(?![\sp])(?:.*\b)?int(\d+)\b[^\s\[]*$', body, re.M)
            if bits and int(bits[1]) != 8 * header.size(member):
                yield f'{name}.{member.name} has {bits[1]} bits, of {header.size(member)} bytes'
        entry = re.search(r'^\tentries\s.*array\[(kwq_\w+)', body, re.M)
        size = re.search(r'^\tentry_size\s+const\[(\d+),', body, re.M)
        if entry and size and header.described_by(entry[1]) and int(size[1]) != header.size_of(header.described_by(entry[1])):
            yield f'{name} says that {entry[1]} has {size[1]} bytes'
    for entry, size in re.findall(r'\[(kwq_\w+_entry\w*|kwq_got|kwq_listed)(?:\[[^,]*(?:,[^,]*)?\])?, (\d+)\]', text):
        if int(size) != header.size_of(header.described_by(entry)):
            yield f'{entry} has {header.size_of(header.described_by(entry))} bytes, not {size}'
    for struct in set(header.structs) - described - set(abi.MAPPED):
        if not re.search(rf'^{struct}\w* \[', text, re.M):
            yield f'struct {struct} is not described'


def differing_requests(header, text):
    requests = {name: (DIRECTIONS[how], struct or None) for name, how, _, struct in header.requests}
    described = set()
    for variant, name, argument in re.findall(r'^ioctl\$(\w+)\(.*cmd const\[KWQ_IOC_(\w+)\], arg (.*)\)', text, re.M):
        described.add(name)
        direction, kind = re.match(r'(?:ptr\[(\w+), (\w+))?', argument).groups()
        if not variant.startswith(f'KWQ_IOC_{name}'):
            yield f'{variant} is about {name}'
        if (direction, kind and header.described_by(kind)) != requests.get(name):
            yield f'{variant} is {direction} {kind}, in the header {requests.get(name)}'
    yield from (f'{name} is not described' for name in set(requests) - described)


def differing_constants(header, text):
    text = re.sub(r'^#.*|\$\w+', '', text, flags=re.M)
    used = set(re.findall(r'\bKWQ_(\w+)', text)) - set(re.findall(r'^define KWQ_(\w+)', text, re.M))
    there = set(header.constants) | {f'IOC_{name}' for name, *_ in header.requests}
    yield from (f'KWQ_{name} is described, and there is none' for name in used - there)
    yield from (f'KWQ_{name} is not described' for name in there - used if not UNUSED.fullmatch(name))


def main():
    header = abi.Header(abi.HEADER.read_text())
    text = '\n'.join(path.read_text() for path in sorted(HERE.glob('*.txt')))
    wrong = sorted([*differing_structs(header, text), *differing_requests(header, text), *differing_constants(header, text)])
    print(*wrong, sep='\n', end='\n' if wrong else '')
    return bool(wrong)


if __name__ == '__main__':
    sys.exit(main())
