#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-only
"""Texts with sentences that are hard to read, and texts without: words.py must find the former, at the right lines."""
import sys

import words

SHORT = 'one two three four five ' * 5
LONG = 'one two three four five ' * 6
REL, LEN = words.RELATIVE, words.LONG

# The name of a file, its text, and the expected faults with their lines.
CASES = [
    ('a.md', 'What is due is ready at once.\n', [(REL, 1)]),
    ('a.md', 'A due item is ready at once.\n', []),
    ('a.md', 'Fine words come first here. Who waits is woken\nby the next add.\n', [(REL, 1)]),
    ('a.md', 'Fine words come\nfirst here. Nor does anything wait.\n', [(REL, 2)]),
    ('a.md', 'What is the matter with it?\n', []),
    ('a.md', 'What is this\n', []),
    ('a.md', f'{LONG}\n', []),
    ('a.md', f'{LONG} eleven.\n', [(LEN, 1)]),
    ('a.md', f'{LONG}, e.g. eleven\n', [(LEN, 1)]),
    ('a.md', f'{LONG}. Eleven more words.\n', []),
    ('a.md', f'* {LONG}\n* {LONG}\n', []),
    ('a.md', f'{LONG}\n\n{LONG}\n', []),
    ('a.md', f'# {LONG}\n{LONG}\n', []),
    ('a.md', '```\nWhat is due is ready.\n```\n**Whoever waits here** is woken.\n', [(REL, 4)]),
    ('a.md', '| a cell | What is due is ready. |\n', [(REL, 1)]),
    ('a.md', 'Of those that wait one is woken. "Those who sleep" are others.\n', [(REL, 1), (REL, 1)]),
    ('a.c', '/* What is due is ready. */\nint what = is + due + now; // Who waits is woken.\n', [(REL, 1), (REL, 2)]),
    ('a.c', 'char *s = "/* What is due is ready. */", c = \'"\', *t = "//";\n', []),
    ('a.c', '/*\n * Fine words come first.\n *\n * What is due\n * is ready.\n */\n', [(REL, 4)]),
    ('a.h', f'/**\n * f() - an operation\n * @a:\t{LONG}\n *\tand eleven more words\n * @b:\t{SHORT}\n */\n', [(LEN, 3)]),
    ('a.h', '/*\n * An example follows:\n *\n *\twhat is(due, and, ready);\n */\n', []),
    ('a.h', f'/*\n *   row   {SHORT}\n *   row   {SHORT}\n */\n', []),
    ('a.go', f'// {LONG}\n// goes on here.\nx := 1 // What is due is ready.\n', [(LEN, 1), (REL, 3)]),
    ('a.sh', '#!/bin/sh\n# Fine words come first.\n# What is due\n# is ready.\n', [(REL, 3)]),
    ('a.sh', 'echo "# What is due is ready."\nx=1 # What is due is ready.\n', [(REL, 2)]),
    ('a.sh', f'# {LONG}\necho\n# {LONG}\n', []),
    ('a.config', '# CONFIG_A is not set\n# CONFIG_B is not set\n' * 9, []),
    ('a.py', '"""Fine words.\n\nWhat is due is ready.\n"""\nx = 1   # Who waits is woken.\n', [(REL, 3), (REL, 5)]),
    ('Makefile', 'a:\n\t@b # What is due is ready.\n', [(REL, 2)]),
    ('program', '#!/bin/bash\n# What is due is ready.\n', [(REL, 2)]),
    ('program', '# What is due is ready.\n', []),
    ('a.7', '.\\" What is due is ready.\n.Pp\nWhat is due\n.Em comes\nfirst.\n', [(REL, 3)]),
    ('a.7', '.Bd -literal\nWhat is due is ready.\n.Ed\n', []),
    ('a.7', f'{LONG}\n.Er EAGAIN\nis one more.\n', [(LEN, 1)]),
    ('a.7', f'{LONG}\n.Pp\nThis is another paragraph.\n', []),
]

# Files, and the expected first words of the findings. Half a percent of 200 sentences is one.
BAD, GOOD = 'What is due is ready.\n\n', 'A due item is ready.\n\n'
GROUPS = [
    ({'docs/a.md': BAD + GOOD * 199}, []),
    ({'docs/a.md': BAD + GOOD * 198}, ['CONTRIBUTING and docs: 1 of 199', 'docs/a.md:1:']),
    ({'docs/a.md': BAD + GOOD * 100, 'CONTRIBUTING.md': GOOD * 99}, []),
    ({'docs/a.md': BAD * 2 + GOOD * 198}, ['CONTRIBUTING and docs: 2 of 200', 'docs/a.md:1:', 'docs/a.md:3:']),
    ({'README.md': BAD, 'docs/a.md': GOOD * 500}, ['README: 1 of 1', 'README.md:1:']),
    ({'README.md': f'{LONG} eleven.\n\n' * 3 + GOOD * 97}, []),
    ({'README.md': f'{LONG} eleven.\n\n' * 3 + GOOD * 96},
     ['README: 3 of 99', 'README.md:1:', 'README.md:3:', 'README.md:5:']),
    ({'LICENSES/LGPL-2.1': BAD, 'userspace/man/kwq.7': BAD}, ['man pages: 1 of 1', 'userspace/man/kwq.7:1:']),
    ({'kmod/a.c': '/* What is due is ready. */', 'uapi/a.h': ''}, ['kmod and uapi: 1 of 1', 'kmod/a.c:1:']),
    ({'userspace/a.c': '/* What is due is ready. */'}, ['userspace: 1 of 1', 'userspace/a.c:1:']),
    ({'selftests/a.c': '/* What is due is ready. */'}, ['tests: 1 of 1', 'selftests/a.c:1:']),
]


def main():
    failed = False
    for name, text, expected in CASES:
        found = [(fault, line) for fault, line, _ in words.find(name, text)[1]]
        if sorted(found) != sorted(expected):
            print(f'{name}: {text!r} has {expected}, and found was {found}')
            failed = True
    for files, expected in GROUPS:
        found = list(words.judge(files))
        if len(found) != len(expected) or not all(map(str.startswith, found, expected)):
            print(f'{sorted(files)}: expected was {expected}, and found was {found}')
            failed = True
    sys.exit(failed)


if __name__ == '__main__':
    main()
