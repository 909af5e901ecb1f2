"""Comments that silence findings: `# runnerctl: ignore[RE301] why`, for their line or, alone on one, for the next.

Each must give a reason, name rules that exist, and silence something; where one does not, that is a finding itself.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from policy.document.comments import Comment, comments
from policy.document.source import Source
from policy.lint.finding import Span

__all__ = ["Suppression", "is_marked", "silences_next", "suppressions"]

# In the three ways in which people write a name. Whatever else the text is, it is looked through for no more.
_MARKS = ("unnerctl:", "unnerCtl:", "UNNERCTL:")
_COMMENT = re.compile(
    r"(?:^|(?<=\s))#\s*runnerctl:\s*(?P<verb>ignore-file|ignore)\b(?:\[(?P<words>[^\]]*)\])?[ \t]*(?P<reason>.*?)\s*$",
    re.IGNORECASE,
)
# What has no value on it: blanks, the dashes of lists whose items begin below, a comment.
_EMPTY = re.compile(r"\s*(?:---(?=\s|$))?(?:\s*-(?=\s|$))*\s*(?:#|$)")


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


def is_marked(text: str) -> bool:
    """Whether a text may have such a comment: others need not be looked at any closer."""
    return "#" in text and any(mark in text for mark in _MARKS)


def silences_next(comment: str) -> bool:
    """Whether a comment that is alone on its line is about the next one."""
    found = _COMMENT.search(comment)
    return found is not None and found["verb"].lower() == "ignore"


def suppressions(source: Source) -> Iterator[Suppression]:
    """The comments of a file, in their order."""
    if not is_marked(source.text):
        return
    lines = source.text.splitlines()
    ends = list(itertools.accumulate(map(len, source.text.splitlines(keepends=True))))
    for comment in comments(source.text):
        found = _COMMENT.search(comment.text)
        if found is not None:
            index = bisect.bisect_right(ends, comment.start)
            column = comment.start - (ends[index - 1] if index else 0)
            yield _suppression(source.name, lines, index, column, comment, found)


def _suppression(
    path: str, lines: Sequence[str], index: int, column: int, comment: Comment, found: re.Match[str]
) -> Suppression:
    """The suppression of a comment, which stands at `column` of `lines[index]`."""
    from policy.lint.registry import UnknownRuleError, find_rule  # noqa: PLC0415  (loads every rule)

    words = [word.strip() for word in (found["words"] or "").split(",") if word.strip()]
    codes, unknown = set(), []
    for word in words:
        try:
            codes.add(find_rule(word).code)
        except UnknownRuleError:
            unknown.append(word)
    span = Span(path, index + 1, column + found.start() + 1, column + len(comment.text) + 1)
    if found["verb"].lower() == "ignore-file":
        line = 0
    else:
        line = _next_line(lines, index) if _EMPTY.match(lines[index]) else index + 1
    return Suppression(span, line, frozenset(codes), tuple(unknown), found["reason"].strip())


def _next_line(lines: Sequence[str], index: int) -> int:
    """The number of the next line after `lines[index]` that has a value on it."""
    after = (i + 1 for i in range(index + 1, len(lines)) if not _EMPTY.match(lines[i]))
    return next(after, index + 1)
