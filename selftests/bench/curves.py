#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-only
"""Draws the costs of the rows curve.*, delay.add_after.* and keys.cycle.ready.* as work grows.

curves.py TABLE SVG    TABLE is build/bench.tsv. A curve has a point for each row that the table has.
"""
import sys
from pathlib import Path

WIDTH, HEIGHT, LEFT, TOP, GAP = 360, 220, 56, 34, 40
# The title of a chart, the text of its axis, and its curves: a name, a colour, and the rows with their places.
CHARTS = [
    ('Add, get and done, beside other keys', 'keys in the queue', [
        ('a program, three calls', '#1f6feb', [
            (1, 'curve.keys.1'), (10**3, 'curve.keys.1k'), (10**5, 'curve.keys.100k'), (10**7, 'keys.cycle.ready.10m')]),
        ('a driver, add after a delay', '#2da44e', [
            (1, 'delay.add_after.1'), (100, 'delay.add_after.100'), (10**4, 'delay.add_after.10k'),
            (10**5, 'delay.add_after.100k'), (10**6, 'delay.add_after.1M')]),
    ]),
    ('Add that wakes one of the handles in a get', 'handles that wait', [
        ('add, wake-up, get, done, wait', '#bf3989', [
            (1, 'curve.blocked.1'), (8, 'curve.blocked.8'), (64, 'curve.blocked.64')]),
    ]),
]


def read(table):
    """The values by the names of their rows."""
    lines = [line.split('\t') for line in Path(table).read_text().splitlines()[1:]]
    return {line[0]: float(line[1]) for line in lines}


def logarithm(number):
    """The place of a power of ten or of eight, of any number at least 1."""
    place = 0.0
    while number >= 10:
        number /= 10
        place += 1
    return place + (number - 1) / 9


def text(x, y, content, anchor='middle', weight='normal'):
    return (f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" font-weight="{weight}" fill="#57606a">'
            f'{content}</text>')


def short(number):
    for unit, name in ((10**6, ' million'), (10**3, ',000')):
        if number >= unit:
            return f'{number // unit}{name}'
    return str(number)


def draw(chart, values, left):
    """A chart: its axes from 0, and a line and points for each curve."""
    title, axis, curves = chart
    curves = [(name, colour, [(at, values[row]) for at, row in rows if row in values]) for name, colour, rows in curves]
    places = sorted({at for _, _, points in curves for at, _ in points})
    most = max((cost for _, _, points in curves for _, cost in points), default=0)
    if not places:
        return []
    top = -(-int(most) // 1000) * 1000
    widest = max(logarithm(places[-1]), 1)
    bottom = TOP + HEIGHT

    def x_of(at):
        return left + LEFT + (WIDTH - LEFT - 16) * logarithm(at) / widest

    def y_of(cost):
        return bottom - HEIGHT * cost / top

    parts = [text(left + WIDTH / 2, 18, title, weight='bold')]
    for cost in range(0, top + 1, 1000 if top <= 6000 else 2000):
        parts.append(f'<path d="M{left + LEFT} {y_of(cost):.0f}H{left + WIDTH - 8}" stroke="#d0d7de"/>')
        parts.append(text(left + LEFT - 6, y_of(cost) + 4, f'{cost:,}', 'end'))
    for at in places:
        parts.append(text(x_of(at), bottom + 16, short(at)))
    parts.append(text(left + WIDTH / 2, bottom + 34, axis))
    for name, colour, points in curves:
        if not points:
            continue
        line = ' '.join(f'{x_of(at):.1f},{y_of(cost):.1f}' for at, cost in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for at, cost in points:
            parts.append(f'<circle cx="{x_of(at):.1f}" cy="{y_of(cost):.1f}" r="3.5" fill="{colour}">'
                         f'<title>{name}: {cost:,.0f} instructions</title></circle>')
        at, cost = points[0]
        parts.append(f'<text x="{x_of(at) + 8:.0f}" y="{y_of(cost) - 10:.0f}" fill="{colour}">{name}</text>')
    return parts


def main():
    values = read(sys.argv[1])
    width = len(CHARTS) * (WIDTH + GAP)
    height = TOP + HEIGHT + 44
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
             'font-size="12">', f'<rect width="{width}" height="{height}" fill="#ffffff"/>']
    for number, chart in enumerate(CHARTS):
        parts += draw(chart, values, number * (WIDTH + GAP))
    Path(sys.argv[2]).write_text('\n'.join([*parts, '</svg>', '']))


if __name__ == '__main__':
    main()
