"""The matrix as a Markdown page: one row an architecture, equal neighbouring releases folded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from policy.matrix.cell import Cell
from policy.matrix.matrix import Matrix
from policy.matrix.words import TITLE, explained, legend, numbered

__all__ = ["matrix_markdown"]

_SPECIAL = re.compile(r"([\\*_\[\]~|<>#])")


def matrix_markdown(matrix: Matrix) -> str:
    return "\n".join(_lines(matrix)) + "\n"


def _lines(matrix: Matrix) -> Iterator[str]:
    yield from (f"# {TITLE}", "", explained(matrix), "")
    spans = matrix.spans
    yield f"| architecture | {' | '.join(span.title for span in spans)} |"
    yield f"| --- |{' :-: |' * len(spans)}"
    notes = matrix.notes
    for row in matrix.rows:
        cells = (_shown(row.cells[span.index], notes) for span in spans)
        yield f"| `{row.architecture}` | {' | '.join(cells)} |"
    yield ""
    yield from (f"- `{label}`: {meaning}" for label, meaning in legend(matrix))
    if notes:
        yield ""
        yield from (f"{number}. {_text(text)}" for number, text in numbered(matrix))
    yield from ("", "Made by:", "", "```sh", matrix.command, "```")


def _shown(cell: Cell, notes: Mapping[str, int]) -> str:
    label = _bold(cell.label)
    return f"{label} ({notes[cell.note]})" if cell.note else label


def _bold(label: str) -> str:
    """V2 stands out: it is what a reader looks for."""
    return "**v2**" if label == "v2" else label


def _text(text: str) -> str:
    """Escaped but for what stands in backticks."""
    parts = text.split("`")
    return "`".join(_SPECIAL.sub(r"\\\1", part) if i % 2 == 0 else part for i, part in enumerate(parts))
