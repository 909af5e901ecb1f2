"""The matrix as one HTML file that needs nothing else: legend, notes, dark and light colours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape

from policy.matrix.cell import Cell
from policy.matrix.colours import FILLS, INKS, kind_of
from policy.matrix.matrix import Matrix
from policy.matrix.words import TITLE, explained, legend, numbered

__all__ = ["matrix_html"]

_STYLE = """
:root { color-scheme: light dark; --page: #ffffff; --ink: #1a1a1a; --line: #d0d0d0; }
@media (prefers-color-scheme: dark) { :root { --page: #16181c; --ink: #e8e8e8; --line: #3c4048; } }
body { background: var(--page); color: var(--ink); font: 14px/1.4 system-ui, sans-serif; margin: 1.5rem; }
.scroll { overflow: auto; max-height: 85vh; border: 1px solid var(--line); }
table { border-collapse: separate; border-spacing: 0; }
th, td { border: 1px solid var(--line); padding: 2px 7px; text-align: center; white-space: nowrap; }
thead th { position: sticky; top: 0; background: var(--page); z-index: 2; }
tbody th { position: sticky; left: 0; background: var(--page); text-align: left; font-weight: 400; }
tbody th, code { font-family: ui-monospace, monospace; }
td.absent { color: #767676; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 12px; }
dt { text-align: center; padding: 0 8px; border: 1px solid var(--line); } dd { margin: 0; }
sup a { color: inherit; }
"""


def matrix_html(matrix: Matrix) -> str:
    return "\n".join(_lines(matrix)) + "\n"


def _lines(matrix: Matrix) -> Iterator[str]:
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{TITLE}</title>\n<style>{_STYLE}{_colours()}</style>\n</head>\n<body>"
    yield f"<h1>{TITLE}</h1>\n<p>{_text(explained(matrix))}</p>"
    yield f"<h2>Legend</h2>\n<dl>{''.join(_legend(matrix))}</dl>"
    yield '<div class="scroll" tabindex="0">\n<table>'
    heads = "".join(f'<th scope="col">{escape(release)}</th>' for release in matrix.releases)
    yield f'<thead><tr><th scope="col">architecture</th>{heads}</tr></thead>\n<tbody>'
    notes = matrix.notes
    for row in matrix.rows:
        cells = "".join(_cell(cell, notes) for cell in row.cells)
        yield f'<tr><th scope="row">{escape(row.architecture)}</th>{cells}</tr>'
    yield "</tbody>\n</table>\n</div>"
    if notes:
        yield "<h2>Notes</h2>\n<ol>"
        yield from (f'<li id="note-{number}">{_text(text)}</li>' for number, text in numbered(matrix))
        yield "</ol>"
    yield f"<p>Made by <code>{escape(matrix.command)}</code></p>\n</body>\n</html>"


def _colours() -> str:
    return "".join(
        f".{kind} {{ background: {fill}; color: {INKS[kind]}; }}\n"
        for kind, fill in FILLS.items()
        if kind != "absent"
    )


def _legend(matrix: Matrix) -> Iterator[str]:
    kinds = {cell.label: kind_of(cell) for row in matrix.rows for cell in row.cells}
    for label, meaning in legend(matrix):
        yield f'<dt class="{kinds[label]}">{escape(label)}</dt><dd>{escape(meaning)}</dd>'


def _cell(cell: Cell, notes: Mapping[str, int]) -> str:
    mark = ""
    if cell.note:
        number = notes[cell.note]
        mark = f'<sup><a href="#note-{number}">{number}</a></sup>'
    return f'<td class="{kind_of(cell)}">{escape(cell.label)}{mark}</td>'


def _text(text: str) -> str:
    """Escaped, with what stands in backticks as code."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))
