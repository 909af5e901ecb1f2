"""For people: where, what, the source line with a caret, and what would be right."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from policy.lint.finding import Finding, Severity, Span
from runnerctl.reporters.masked import Masks
from runnerctl.reporters.report import Report

__all__ = ["summary", "text"]

_COLOURS: dict[Severity, str] = {"error": "31", "warning": "33", "note": "36"}
# A line of a generated file may be very long; this much of it around the place is enough.
_WIDEST = 120


def text(report: Report, *, colour: bool) -> str:
    """Every finding in its order, without the summary."""
    masks, paint = Masks(report.lines), _Paint(colour)
    return "\n".join("\n".join(_finding(report, f, masks, paint)) for f in report.findings) + (
        "\n" if report.findings else ""
    )


def summary(report: Report) -> str:
    """One line: how many files, and what was found in them."""
    files = _several(report.checked, "file")
    counts = [_several(report.number(s), s) for s in _COLOURS if report.number(s)]
    extra = [f"{report.known} in the baseline"] if report.known else []
    extra += [f"{report.fixed} fixed"] if report.fixed else []
    return f"{files} checked: {', '.join([*(counts or ['no finding']), *extra])}"


class _Paint:
    def __init__(self, on: bool) -> None:
        self.on = on

    def __call__(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.on and text else text


def _finding(report: Report, finding: Finding, masks: Masks, paint: _Paint) -> Iterator[str]:
    colour = _COLOURS[finding.severity]
    head = paint(f"{finding.severity}[{finding.code}]", colour)
    yield f"{paint(_shown(str(finding.span)), '1')}: {head} {_shown(finding.message)} ({finding.name})"
    yield from _excerpt(report, finding.span, masks, paint, colour)
    for related in finding.related:
        yield f"  {_shown(str(related.span))}: {_shown(related.message)}"
    if finding.help:
        yield f"  help: {_shown(finding.help)}"
    if finding.fix is not None:
        yield f"  fix:  {_shown(finding.fix.title)}" + (" (--fix)" if finding.fix.safe else "")


def _excerpt(report: Report, span: Span, masks: Masks, paint: _Paint, colour: str) -> Iterator[str]:
    if report.line(span.path, span.line) is None:
        return
    held = masks.line(span.path, span.line)
    start, line = held.place(span.column - 1), held.text
    end = held.place(max(span.end_column - 1, span.column), ends=True)
    cut = max(0, start - _WIDEST // 2) if len(line) > _WIDEST else 0
    shown = line[cut : cut + _WIDEST]
    before, marked = shown[: start - cut], shown[start - cut : end - cut]
    number = str(span.line)
    yield f"  {number} | {_shown(shown)}".rstrip()
    blank = "".join("\t" if c == "\t" else " " * _width(c) for c in before)
    carets = "^" * max(1, sum(map(_width, marked)))
    yield f"  {' ' * len(number)} | {blank}{paint(carets, colour)}"


def _width(letter: str) -> int:
    """How many columns of a terminal a letter takes."""
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _shown(text: str) -> str:
    """The text without what would steer a terminal: a policy may hold anything."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\t" else f"\\x{ord(c):02x}" for c in text)


def _several(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")
