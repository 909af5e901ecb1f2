"""The matrix as a picture: SVG text, one bar for each run of releases with the same answer."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from html import escape
from itertools import groupby

from policy.matrix.colours import FILLS, INKS, kind_of
from policy.matrix.matrix import Group, Matrix
from policy.matrix.words import TITLE, explained, group_title, legend

__all__ = ["matrix_svg"]

CELL, ROW, LETTER = 30, 20, 7.3
MARGIN, TOP = 16, 118
FONT = "ui-monospace, 'DejaVu Sans Mono', monospace"


def matrix_svg(matrix: Matrix) -> str:
    return "\n".join(_lines(matrix)) + "\n"


def _lines(matrix: Matrix) -> Iterator[str]:
    groups, meanings = matrix.groups, list(legend(matrix))
    left = (
        MARGIN + ROW + LETTER * max(len("architecture"), *(len(group_title(group)) for group in groups)) + 8
    )
    longest = max(len(meaning) for _, meaning in meanings)
    width = (
        max(left + CELL * len(matrix.releases), left + 90 + LETTER * longest, LETTER * len(TITLE) * 1.5)
        + MARGIN
    )
    bottom = TOP + ROW * len(groups)
    notes = textwrap.wrap(explained(matrix).replace("`", ""), int((width - 2 * MARGIN) / LETTER))
    height = bottom + 56 + ROW * (len(meanings) + len(notes))
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title" width="{width:.0f}" '
        f'height="{height}" viewBox="0 0 {width:.0f} {height}" font-family="{FONT}" font-size="12">'
    )
    yield f'<title id="title">{TITLE}</title>'
    yield f'<rect width="{width:.0f}" height="{height}" fill="#FFFFFF"/>'
    yield _text(MARGIN, 28, TITLE, size=17)
    middle = left + CELL * len(matrix.releases) / 2
    yield _text(middle, 52, "vLLM release", anchor="middle")
    centre = TOP + ROW * len(groups) / 2
    yield (
        f'<text x="{MARGIN + 6}" y="{centre:.0f}" text-anchor="middle" '
        f'transform="rotate(-90 {MARGIN + 6} {centre:.0f})">architecture</text>'
    )
    for index, release in enumerate(matrix.releases):
        x = left + CELL * (index + 0.5) + 4
        yield f'<text transform="translate({x:.1f} {TOP - 6}) rotate(-60)">{escape(release)}</text>'
    for index, group in enumerate(groups):
        yield from _row(group, left, TOP + ROW * index)
    yield from _legend(matrix, meanings, left, bottom + 30)
    below = bottom + 56 + ROW * len(meanings)
    yield from (_text(MARGIN, below + ROW * index, line) for index, line in enumerate(notes))
    yield "</svg>"


def _row(group: Group, left: float, y: float) -> Iterator[str]:
    names = escape(", ".join(group.architectures))
    title = escape(group_title(group))
    yield f'<g><title>{names}</title><text x="{left - 8:.1f}" y="{y + 14:.0f}" text-anchor="end">{title}</text></g>'
    start = 0
    for (label, kind), run in groupby((cell.label, kind_of(cell)) for cell in group.cells):
        length = len(list(run))
        yield from _bar(left + CELL * start, y, CELL * length, kind, label)
        start += length


def _bar(x: float, y: float, width: float, kind: str, label: str) -> Iterator[str]:
    yield (
        f'<rect x="{x + 1:.1f}" y="{y + 1:.0f}" width="{width - 2:.0f}" height="{ROW - 2}" rx="2" '
        f'fill="{FILLS[kind]}" stroke="{"#C8C8C8" if kind == "absent" else "none"}"/>'
    )
    size = 11 if LETTER * len(label) <= width + 6 else 7
    yield _text(x + width / 2, y + 14, label, anchor="middle", ink=INKS[kind], size=size)


def _legend(matrix: Matrix, meanings: list[tuple[str, str]], left: float, y: float) -> Iterator[str]:
    kinds = {cell.label: kind_of(cell) for row in matrix.rows for cell in row.cells}
    for index, (label, meaning) in enumerate(meanings):
        yield from _bar(left, y + ROW * index, 80, kinds[label], label)
        yield _text(left + 90, y + ROW * index + 14, meaning)


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", ink: str = "#1A1A1A", size: int = 12
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.0f}" text-anchor="{anchor}" fill="{ink}" font-size="{size}">'
        f"{escape(text)}</text>"
    )
