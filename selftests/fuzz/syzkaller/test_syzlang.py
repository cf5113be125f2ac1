#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-only
"""Bad descriptions: syzlang.py must refuse each of them for the right reason."""
import sys

import syzlang

VALUES = {'ONE': 1, 'TWO': 2, 'BIG': 300}

# A correct description. Each case below spoils a part of it.
GOOD = '''\
resource dev[fd]
resource ticket[int64]: 0, ONE
flag_set = ONE, TWO
words = "a", "b"
type near int64[0:1000]
type batch[ENTRY] {
	entries	ptr64[in, array[ENTRY, 1:4]]
	nr	len[entries, int32]
	pad	const[0, int32]
}
got {
	ticket	ticket
	mode	flags[flag_set, int32]
	size	len[parent, int32]
}
take {
	ticket	ticket	(in)
	when	near
	state	int32	(out)
	word	string[words, 8]
}
choice [
	small	int32
	big	int64
]
many {
	all	batch[choice]
	rest	array[int8]
}
openat$dev(fd const[ONE], file ptr[in, string["/dev/x"]]) dev
ioctl$GET(fd dev, cmd const[ONE], arg ptr[out, got])
ioctl$TAKE(fd dev, cmd const[TWO], arg ptr[inout, take])
ioctl$MANY(fd dev, cmd const[TWO], arg ptr[in, many])
'''

# The replaced text, its replacement, and the expected message.
SPOILED = [
    ('state	int32	(out)', 'state	const[0, int32]	(out)', 'the kernel cannot write const'),
    ('state	int32	(out)', 'state	flags[flag_set, int32]	(out)', 'the kernel cannot write flags'),
    ('state	int32	(out)', 'state	len[word, int32]	(out)', 'the kernel cannot write len'),
    ('state	int32	(out)', 'state	flags[flag_set, int32]	(inout)', 'the kernel cannot write flags'),
    ('state	int32	(out)', 'state	int32	(in, out)', 'several directions'),
    # A ticket that only a union or an optional part can make.
    ('arg ptr[out, got]', 'arg ptr[out, either]', 'resource ticket cannot be made'),
    ('arg ptr[out, got]', 'arg ptr[out, got, opt]', 'resource ticket cannot be made'),
    # GET itself needs a ticket: then nobody can get the first one.
    ('arg ptr[out, got]', 'arg ptr[inout, got]', 'ioctl$GET can never be called: ticket'),
    ('arg ptr[out, got]', 'arg ptr[inout, got]', 'ioctl$TAKE can never be called: ticket'),
    ('arg ptr[out, got]', 'arg ptr[in, got]', 'resource ticket cannot be made'),
    ('ticket	ticket	(in)', 'ticket	int64', 'resource ticket is never used'),
    ('resource dev[fd]', 'resource dev[dev]', 'resource dev is not made of an integer'),
    (') dev\n', ')\n', 'resource dev cannot be made'),
    (') dev\n', ') int32\n', 'which is no resource'),
    # Names.
    ('resource dev[fd]', 'resource dev[fd]\nresource dev[fd]', 'dev is declared twice'),
    ('type near', 'type ptr', 'a name of syzkaller'),
    ('big	int64', 'small	int64', 'choice has small twice'),
    ('when	near', 'parent	near', 'a reserved name'),
    ('when	near', 'when	far', 'there is no type far'),
    ('flags[flag_set, int32]', 'flags[flag_sets, int32]', 'there are no flags flag_sets'),
    ('string[words, 8]', 'string[word, 8]', 'there are no strings word'),
    ('cmd const[ONE], arg ptr[out', 'cmd const[FOUR], arg ptr[out', 'FOUR is no constant'),
    ('flag_set = ONE', 'flag_set = FOUR', 'FOUR is no constant'),
    ('flag_set = ONE', 'ONE = ONE', 'ONE is a constant and a set of flags'),
    ('resource dev', '# include what follows\nresource dev', 'looks like a directive'),
    # Unused definitions.
    ('when	near', 'when	int64', 'near is not used'),
    ('flags[flag_set, int32]', 'int32', 'flag_set is not used'),
    ('string[words, 8]', 'array[int8, 8]', 'words is not used'),
    ('arg ptr[in, many]', 'arg const[0]', 'many is not used'),
    ('resource dev', 'resource other[fd]\nresource dev', 'other is not used'),
    # Lengths.
    ('len[entries, int32]', 'len[entry, int32]', 'there is no entry'),
    ('len[entries, int32]', 'len[nr, int32]', 'the length itself'),
    ('len[entries, int32]', 'len[pad:entries, int32]', 'pad is no structure'),
    ('big	int64', 'big	len[small, int64]', 'there is no small'),
    ('fd const[ONE]', 'fd len[parent]', 'a call has no parent'),
    # Arguments of types.
    ('flags[flag_set, int32]', 'flags[flag_set]', 'takes 1 to 1 arguments and an integer type'),
    ('flags[flag_set, int32]', 'flags[flag_set, near]', 'near is no integer type'),
    ('const[0, int32]', 'const[0, int32, opt]', 'cannot be optional'),
    ('ptr[out, got]', 'ptr[outin, got]', 'outin is no direction'),
    ('arg ptr[out, got]', 'arg got', 'a structure is no argument'),
    ('fd const[ONE]', 'fd string["a"]', 'is no argument'),
    ('batch[choice]', 'batch[choice, 3]', 'batch takes 1 arguments'),
    ('batch[choice]', 'batch', 'batch takes 1 arguments'),
    ('pad	const[0, int32]\n}\ngot', 'pad	const[0, int32]\n}\nnone {\n}\ngot', 'none has no fields'),
    ('type batch[ENTRY]', 'type batch[ENTRY, SIZE]', 'parameter SIZE is not used'),
    ('type batch[ENTRY]', 'type batch[entry]', 'parameter entry is not in capitals'),
    # Values.
    ('int64[0:1000]', 'int64[1000:0]', 'bad range'),
    ('type near int64[0:1000]', 'type near int8[0:1000]', '1000 does not fit 1 bytes'),
    ('const[0, int32]', 'const[BIG, int8]', '300 does not fit 1 bytes'),
    ('flag_set = ONE, TWO', 'flag_set = ONE, 1', 'all its values are equal'),
    ('array[ENTRY, 1:4]', 'array[ENTRY, 0]', 'an array of no element'),
    ('array[ENTRY, 1:4]', 'array[ENTRY, 4:1]', 'bad range'),
    ('string[words, 8]', 'string[words, 1]', 'longer than its room'),
    # Sizes and recursion.
    ('rest	array[int8]', 'rest	array[int8]\n\tend	int32', 'many.rest is of varying size'),
    ('big	int64', 'big	array[int64]', 'choice.big is of varying size'),
    ('rest	array[int8]', 'rest	ptr[in, many]', 'many contains itself'),
    # Conditions.
    ('when	near', 'when	near	(if[value[where] == 1])', 'there is no where'),
    ('when	near', 'when	near	(if[value[state] == 1])', 'take.when is of varying size'),
    ('when	near', 'when	near	(if[value[word] == 1])', 'neither an integer nor flags'),
    ('big	int64', 'big	int64	(if[value[small] == 1])', 'the last member of a union has no condition'),
    ('big	int64', 'big	int64	(out)', 'no direction of its own'),
    ('resource dev[fd]', 'resource dev[fd', 'cannot read'),
]


def faults(text):
    return syzlang.Compiler(syzlang.Description(text), VALUES).faults()


def main():
    failed = 0
    for text, by, said in [('', '', None), *SPOILED]:
        spoiled = GOOD.replace(text, by, 1)
        if 'either' in by:
            spoiled = spoiled.replace('got {', 'either [\n\tgot	got\n\tnone	array[const[0, int32], 4]\n]\ngot {')
        found = faults(spoiled)
        if said is None:
            if found:
                print(f'the good description: {found}')
                failed += 1
        elif spoiled == GOOD or not any(said in fault for fault in found):
            print(f'{by!r}: {said!r} expected, not {found}')
            failed += 1
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
