#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-only
"""words.py [FILE...]: finds sentences that are hard to read, in comments, documents and man pages.

A sentence is found if it begins with a relative clause ("What is due ...", "Who waits ...") or "nor", or has more than 30
words. With files as arguments, the script lists each such sentence in them. Without arguments it reads names of files from
standard input and sorts them into groups. It lists the sentences of each group that has too many.
"""
import pathlib
import re
import sys

RELATIVE, LONG = 'begins with a relative clause', 'has more than 30 words'
MOST_WORDS = 30
# In a group, at most this share of the sentences, in percent.
LIMITS = {RELATIVE: 0.5, LONG: 3}
# The first matching pattern counts.
GROUPS = [
    ('man pages', r'.*/man/.*\.[1-8]'),
    ('README', r'README\.md'),
    ('CONTRIBUTING and docs', r'CONTRIBUTING\.md|docs/.*'),
    ('kmod and uapi', r'(kmod|uapi)/.*'),
    ('userspace', r'userspace/.*'),
    ('tests', r'selftests/.*|\.ci/.*|Makefile|Kbuild'),
]

OPENING = re.compile(
    r'(what|whatever|who|whoever|whom|whose|which|whichever|that which|nor'
    r'|(?:of )?(?:those|these|them) (?:that|which|who|whose)|of what|of which|he who)\b', re.I)
# A sentence ends here unless an abbreviation does. Quotes, brackets and marks of Markdown belong to it.
END = re.compile(r'(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\betc\.)(?<=[.!?])(?:["\')*_`]*)\s+|(?<=[:;])\s+(?=[A-Z"`(])')
NO_PROSE = re.compile(r'SPDX-License-Identifier|^shellcheck [a-z]+=|^CONFIG_\w+ is not set$')
MARKS = ' \t*_`"\'(['

# ---- Lines of prose: (number of the line, text). An empty text ends a paragraph. ----


def comment(first, body):
    """A comment without its frame. A paragraph ends at an empty line, at a bullet, at a row of a table, and at code."""
    bullet = False
    for number, line in enumerate(body.split('\n'), first):
        line = re.sub(r'^\s*\*(?: |$|(?=\t))|^ ', '', line, count=1).rstrip()
        text = line.strip()
        begins = re.match(r'([-*]|\d+[.)]|@[\w.]+:|%\w+:) ?', text)
        indented = line[:1] == '\t' or line[:2] == '  '
        row = re.search(r'\S(   +|\t+)\S', text[begins.end():].lstrip() if begins else line) is not None
        if begins or not text or row or (indented and not bullet):
            yield number, ''
        if begins or not text:
            bullet = bool(begins)
        if indented and not bullet and not row and line[:1] == '\t':
            continue    # code
        yield number, re.sub(r'^([-*]|\d+[.)]) ', '', text)
        if row:
            yield number, ''
    yield number, ''


def c_comments(text):
    literal = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    for found in re.finditer(literal + r'|/\*(.*?)\*/|((?://[^\n]*(?:\n[ \t]*(?=//))?)+)', text, re.S):
        number = text.count('\n', 0, found.start()) + 1
        if found.group(1) is not None:
            yield from comment(number, found.group(1))
        elif found.group(2) is not None:
            yield from comment(number, re.sub(r'^[ \t]*//', '', found.group(2), flags=re.M))


def hash_comments(text):
    body, first = [], 0
    for number, line in enumerate([*text.split('\n'), ''], 1):
        found = re.match(r'\s*#(?!!)(.*)', line) or re.match(r'[^#]*\s#( .*)', line)
        alone = found is not None and line.lstrip().startswith('#')
        if body and not alone:
            yield from comment(first, '\n'.join(body))
            body = []
        if alone:
            first = number - len(body)
            body.append(found.group(1))
        elif found and line.count('"') % 2 == 0 and line.count("'") % 2 == 0:
            yield from comment(number, found.group(1))


def python_text(text):
    yield from hash_comments(text)
    for found in re.finditer(r'^[ \t]*"""(.*?)"""', text, re.S | re.M):
        yield from comment(text.count('\n', 0, found.start(1)) + 1, found.group(1))


def markdown(text):
    fence = False
    for number, line in enumerate(text.split('\n'), 1):
        if line.startswith('```'):
            fence = not fence
        if fence or line.startswith(('```', '    ', '\t', '!')):
            yield number, ''
        elif line.startswith('|'):
            for cell in re.split(r'(?<!\\)\|', line):
                yield number, ''
                yield number, cell.strip()
        else:
            if re.match(r'\s*([-*]|\d+\.) |#', line):
                yield number, ''
            yield number, re.sub(r'^\s*(#+|[-*]|\d+\.) ', '', line).strip()
            if line.startswith('#'):
                yield number, ''
    yield number, ''


def man_page(text):
    """A macro inside a sentence gives its arguments, any other macro ends the paragraph. Literal blocks are left out."""
    literal = False
    for number, line in enumerate(text.split('\n'), 1):
        if line.startswith(('.Bd', '.nf')):
            literal = True
        if line.startswith(('.Ed', '.fi')):
            literal = False
        macro = re.match(r'\.(\w+|\\")\s*(.*)', line)
        if literal or line.startswith(('.\\"', "'")):
            yield number, ''
        elif not macro:
            yield number, line.replace('\\&', '').replace('\\-', '-')
        elif macro[1] in ('Nd', 'Em', 'Sy', 'Li', 'Dv', 'Er', 'Fn', 'Fa', 'Ar', 'Cm', 'Fl', 'Ev', 'Pa', 'Ql', 'Dq', 'Sq', 'Pq',
                          'Po', 'Pc', 'Oo', 'Oc', 'Op', 'Xr', 'Sx', 'Vt', 'In', 'Nm', 'Va', 'Ic', 'Lk', 'No'):
            called = r'\b(Ns|No|Fl|Ar|Cm|Li|Dv|Er|Fn|Fa|Ev|Pa|Ql|Pq|Xr|Em|Sy|Ta|Dc|Do|Ap)\b ?'
            yield number, re.sub(r'\s+([.,:;)])', r'\1', re.sub(called, '', macro[2] or 'kwq'))
        else:
            yield number, ''
            if macro[1] == 'It' and ' Ta ' in line:
                yield number, line.rsplit(' Ta ', 1)[1]
                yield number, ''
    yield number, ''


def lines_of(path, text):
    name = pathlib.PurePath(path).name
    if name.endswith('.md'):
        return markdown(text)
    if re.search(r'\.[1-8]$', name):
        return man_page(text)
    if name.endswith(('.c', '.h', '.go', '.pml', '.cocci', '.S')):
        return c_comments(text)
    if name.endswith('.py') or re.match(r'#!.*python', text):
        return python_text(text)
    if name.endswith(('.sh', '.config', '.rules', '.conf', '.map', '.mk')) or name in ('Makefile', 'Kbuild', 'rules') or \
            text.startswith('#!') or name.startswith('rows'):
        return hash_comments(text)
    return ()


# ---- Sentences ----


def sentences(path, text):
    """(line, sentence) of each sentence of four words or more."""
    paragraph = []      # for each line, the offset in the paragraph and the number
    joined = ''
    for number, line in lines_of(path, text):
        if NO_PROSE.search(line):
            line = ''
        if line:
            paragraph.append((len(joined), number))
            joined += line + ' '
            continue
        start = 0
        for end in [*(found.end() for found in END.finditer(joined)), len(joined)]:
            sentence = joined[start:end].strip()
            if len(words(sentence)) >= 4:
                yield max((at for at in paragraph if at[0] <= start), default=paragraph[0])[1], sentence
            start = end
        paragraph, joined = [], ''


def words(sentence):
    return [word for word in sentence.split() if re.search(r'\w', word)]


def faults(sentence):
    if OPENING.match(sentence.lstrip(MARKS)) and not sentence.rstrip(MARKS).endswith('?'):
        yield RELATIVE
    if len(words(sentence)) > MOST_WORDS:
        yield LONG


def find(path, text):
    """The number of sentences, and (fault, line, sentence) for each fault."""
    every = list(sentences(path, text))
    return len(every), [(fault, line, sentence) for line, sentence in every for fault in faults(sentence)]


def report(path, fault, line, sentence):
    return f'{path}:{line}: {fault}: {sentence if len(sentence) <= 120 else sentence[:117] + "..."}'


def group_of(path):
    return next((name for name, pattern in GROUPS if re.fullmatch(pattern, path)), None)


def judge(files):
    """The lines to print for files, a dictionary from paths to texts."""
    total = {name: 0 for name, _ in GROUPS}
    found = []
    for path, text in sorted(files.items()):
        group = group_of(path)
        if group:
            number, some = find(path, text)
            total[group] += number
            found += [(group, path, *one) for one in some]
    for group, _ in GROUPS:
        for fault, limit in LIMITS.items():
            some = [one for one in found if one[0] == group and one[2] == fault]
            if 100 * len(some) > limit * total[group]:
                yield (f'{group}: {len(some)} of {total[group]} sentences, or {100 * len(some) / total[group]:.1f} %, '
                       f'where {limit} % may: {fault}')
                for _, path, _, line, sentence in some:
                    yield report(path, fault, line, sentence)


def read(path):
    return pathlib.Path(path).read_text(errors='replace')


def main():
    if sys.argv[1:]:
        for path in sys.argv[1:]:
            for one in find(path, read(path))[1]:
                print(report(path, *one))
        return
    for line in judge({path: read(path) for path in sys.stdin.read().splitlines()}):
        print(line)


if __name__ == '__main__':
    main()
