"""Comments that silence findings: `# runnerctl: ignore[RE301] why`, for their line or, alone on one, for the next.

Each must give a reason, name rules that exist, and silence something; where one does not, that is a finding itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from policy.document.source import Source
from policy.lint.finding import Span

__all__ = ["MARK", "Suppression", "suppressions"]

MARK = "runnerctl:"
_COMMENT = r"(?:^|(?<=\s))#\s*runnerctl:\s*(?P<verb>ignore-file|ignore)\b(?:\[(?P<words>[^\]]*)\])?[ \t]*(?P<reason>.*?)\s*$"
# A quoted scalar: a quote inside a word, as in `it's`, begins none.
_QUOTED = r"""(?:^|(?<=[\s\[{,:]))(?:"(?:\\.|[^"\\])*"|'(?:''|[^'])*')"""


class Suppression(NamedTuple):
    """One comment. `line` is the line whose findings it silences, 0 for the whole file.

    `codes` are the rules that it names and that exist; `unknown` the words that name none.
    """

    span: Span
    line: int
    codes: frozenset[str]
    unknown: tuple[str, ...]
    reason: str

    def covers(self, span: Span, code: str) -> bool:
        """Whether a finding is silenced; a comment without a reason silences nothing."""
        here = span.path == self.span.path and self.line in (0, span.line)
        return bool(self.reason) and here and code in self.codes


def suppressions(source: Source) -> Iterator[Suppression]:
    """The comments of a file, in their order."""
    lines = source.text.splitlines()
    for number, line in enumerate(lines, 1):
        found = _in_comment(line) if MARK in line else None
        if found is not None:
            yield _suppression(source.name, lines, number, found)


def _suppression(path: str, lines: Sequence[str], number: int, found: re.Match[str]) -> Suppression:
    from policy.lint.registry import UnknownRuleError, find_rule  # noqa: PLC0415  (loads every rule)

    words = [word.strip() for word in (found["words"] or "").split(",") if word.strip()]
    codes, unknown = set(), []
    for word in words:
        try:
            codes.add(find_rule(word).code)
        except UnknownRuleError:
            unknown.append(word)
    span = Span(path, number, found.start() + 1, len(lines[number - 1].rstrip()) + 1)
    if found["verb"] == "ignore-file":
        line = 0
    else:
        before = lines[number - 1][: found.start()].strip()
        line = number if before and not before.startswith("#") else _next_line(lines, number)
    return Suppression(span, line, frozenset(codes), tuple(unknown), found["reason"].strip())


def _next_line(lines: Sequence[str], number: int) -> int:
    """The next line after `number` that holds more than a comment."""
    for i in range(number, len(lines)):
        text = lines[i].strip()
        if text and not text.startswith("#"):
            return i + 1
    return number


def _in_comment(line: str) -> re.Match[str] | None:
    """The comment, if it is one: a `#` in quotes is text."""
    return re.search(_COMMENT, re.sub(_QUOTED, lambda quoted: "x" * len(quoted[0]), line))
