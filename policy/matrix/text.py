"""The matrix as plain text: equal rows and equal neighbouring releases are folded."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from policy.matrix.cell import ABSENT, Cell
from policy.matrix.matrix import Group, Matrix
from policy.matrix.words import explained, group_title, legend, numbered

__all__ = ["matrix_text"]

WIDTH = 110
# A table that is wider than this is written as one line a row, with the releases of each answer.
WIDEST = 150


def matrix_text(matrix: Matrix) -> str:
    return "\n".join(_lines(matrix)) + "\n"


def _lines(matrix: Matrix) -> Iterator[str]:
    groups, notes = matrix.groups, matrix.notes
    table = list(_table(matrix, groups, notes))
    yield from table if max(len(line) for line in table) <= WIDEST else _runs(matrix, groups, notes)
    yield ""
    yield from (f"{label.ljust(8)}  {meaning}" for label, meaning in legend(matrix))
    yield from (f"{f'({number})'.ljust(8)}  {text}" for number, text in numbered(matrix))
    yield from textwrap.wrap(explained(matrix), WIDTH)
    folded = [group for group in groups if len(group.architectures) > 1]
    if folded:
        yield ""
        yield "rows that stand for several architectures:"
    for group in folded:
        text = f"{group_title(group)}: {', '.join(group.architectures[1:])}"
        yield from textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ")


def _table(matrix: Matrix, groups: Sequence[Group], notes: Mapping[str, int]) -> Iterator[str]:
    """A column for each run of releases that are equal in every row."""
    spans = matrix.spans
    lasts = ["" if span.first == span.last else f"-{span.last}" for span in spans]
    rows = [["architecture", *(span.first for span in spans)], ["", *lasts]]
    rows += [[group_title(g), *(_shown(g.cells[span.index], notes) for span in spans)] for g in groups]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _runs(matrix: Matrix, groups: Sequence[Group], notes: Mapping[str, int]) -> Iterator[str]:
    """A line for each row: the releases that are equal in this row, where it is registered."""
    width = max(len(group_title(group)) for group in groups)
    for group in groups:
        said, start = [], 0
        for label, run in groupby(_shown(cell, notes) for cell in group.cells):
            end = start + len(list(run))
            first, last = matrix.releases[start], matrix.releases[end - 1]
            if group.cells[start] != ABSENT:
                said.append(f"{label} {first if first == last else f'{first}-{last}'}")
            start = end
        yield f"{group_title(group).ljust(width)}  {', '.join(said)}"


def _shown(cell: Cell, notes: Mapping[str, int]) -> str:
    return f"{cell.label} ({notes[cell.note]})" if cell.note else cell.label
