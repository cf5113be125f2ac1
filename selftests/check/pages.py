#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checks of pages against the files of the repository, whose names are on standard input. Prints what is wrong.

pages.py links      each link from a page to a file names a file that exists, and each anchor a heading of it; and each file that
                    the picture of docs/source-tree.md names is one of the module
pages.py named      each file is named by a page, by itself or by a pattern, with as much of its path as the page gives. foo.c
                    names foo.h, too
pages.py copyright  debian/copyright summarises the licences of the files. As there, the last matching pattern counts
"""
import fnmatch
import re
import sys
from pathlib import Path


def prose(page):
    """The text of a page, with empty lines in place of its examples."""
    return re.sub(r'^```.*?^```$', lambda example: '\n' * example[0].count('\n'), page.read_text(), flags=re.S | re.M)


def anchors(page):
    return {re.sub(r'[^\w -]', '', title.lower()).replace(' ', '-') for title in re.findall(r'^#+ (.*)', prose(page), re.M)}


def links(files):
    for page in map(Path, (file for file in files if file.endswith('.md'))):
        for number, line in enumerate(prose(page).splitlines(), 1):
            for link in re.findall(r'\]\((?!https?:)([^)]*)\)', line):
                name, _, anchor = link.partition('#')
                target = page.parent / name if name else page
                if not target.exists() or anchor and anchor not in anchors(target):
                    yield f'{page}:{number}: there is no {link}'
    module = {Path(file).name for file in files if re.match(r'kmod/(?!tests)\w+/', file)}
    for name in re.findall(r'^     ([a-z_]*\.c) ', Path('docs/source-tree.md').read_text(), re.M):
        if name not in module:
            yield f'docs/source-tree.md: there is no {name}'


def named(files):
    words = set()
    for page in (file for file in files if file.endswith('.md')):
        # "**" is bold type.
        text = Path(page).read_text().replace('**', ' ')
        words.update(word.rstrip('.,') for word in re.findall(r'[\w.@*/\[\]-]+', text))
    # A pattern that has no more than the end of a name would name every file of its kind.
    patterns = [re.compile(fnmatch.translate(word).replace('.*', '[^/]*')) for word in words
                if '*' in word and re.search(r'\w{2}', re.sub(r'\.[^./]*$', '', word))]
    for file in files:
        names = {file} | {file[match.end():] for match in re.finditer('/', file)}
        if file.endswith('.h'):
            names |= {name[:-1] + 'c' for name in names}
        is_page_or_common = file.endswith('.md') or Path(file).name in ('Makefile', 'Kbuild', 'Kconfig')
        if not (is_page_or_common or names & words or any(pattern.match(name) for pattern in patterns for name in names)):
            yield f'{file}: no page names it, and docs/source-tree.md should'


def licences(files):
    text = Path('userspace/packaging/debian/copyright').read_text()
    stanzas = [(paragraph[1].split(), paragraph[2])
               for paragraph in re.finditer(r'^Files:(.*?)^Copyright:.*?^License: (.*?)$', text, re.M | re.S)]
    for file in files:
        head = ''.join(Path(file).read_text(errors='replace').splitlines(True)[:3])
        spdx = re.search(r'SPDX-License-Identifier: ([^*\n]*)', head)
        if file.startswith('LICENSES/') or not spdx:
            continue
        says = re.sub(r'\.0\b|-only', '', spdx[1].strip()).replace('-or-later', '+').replace(' OR ', ' or ')
        says = re.sub(r' WITH (\S+)', r' with \1 exception', says)
        path = re.sub(r'^userspace/packaging/debian/', 'debian/', file)
        told = [name for patterns, name in stanzas if any(fnmatch.fnmatch(path, pattern) for pattern in patterns)][-1]
        if told != says:
            yield f'{file}: {spdx[1].strip()}, but {told} in debian/copyright'


def main():
    check = {'links': links, 'named': named, 'copyright': licences}[sys.argv[1]]
    for found in check(sys.stdin.read().splitlines()):
        print(found)


if __name__ == '__main__':
    main()
