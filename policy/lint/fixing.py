"""Applies safe fixes to texts. Edits replace the spans they name and leave everything else, comments too, as it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from policy.lint.finding import Edit, Finding

__all__ = ["Fixed", "apply_fixes"]


@dataclass(frozen=True, slots=True)
class Fixed:
    """The texts that changed, by path, and how many findings were mended."""

    texts: Mapping[str, str]
    count: int


def apply_fixes(findings: Iterable[Finding], texts: Mapping[str, str]) -> Fixed:
    """Apply the safe fixes of `findings` to `texts`.

    A fix is applied whole or not at all: one whose edits would overlap what another has changed is left for the next
    run, and so is one that touches a file that is not in `texts`.
    """
    taken: dict[Edit, None] = {}
    count = 0
    for finding in findings:
        fix = finding.fix
        if fix is None or not fix.safe or any(edit.span.path not in texts for edit in fix.edits):
            continue
        if all(edit in taken or not any(_overlap(edit, other) for other in taken) for edit in fix.edits):
            taken.update(dict.fromkeys(fix.edits))
            count += 1
    changed = {}
    for path in sorted({edit.span.path for edit in taken}):
        changed[path] = _applied(texts[path], [edit for edit in taken if edit.span.path == path])
    return Fixed(changed, count)


def _overlap(one: Edit, other: Edit) -> bool:
    a, b = one.span, other.span
    return (a.path, a.line) == (b.path, b.line) and a.column < b.end_column and b.column < a.end_column


def _applied(text: str, edits: list[Edit]) -> str:
    lines = text.splitlines(keepends=True)
    bare = text.splitlines()
    for edit in sorted(edits, key=lambda e: e.span, reverse=True):
        span = edit.span
        line = lines[span.line - 1]
        # An end beyond the last letter takes the line's end along, whichever it is.
        after = "" if span.end_column - 1 > len(bare[span.line - 1]) else line[span.end_column - 1 :]
        lines[span.line - 1] = line[: span.column - 1] + edit.text + after
    return "".join(lines)
