"""Where a key or a scalar ends, from the text that stands at its place."""

from __future__ import annotations

import re
from collections.abc import Sequence

from policy.document.diagnostic import Location
from policy.lint.finding import Span

__all__ = ["span_in"]

# How long a scalar is, from its first character on: quoted, or up to what ends a plain one.
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\'\'|[^\'])*\'')
_PLAIN_END = re.compile(r"\s*(?:[,\]}]|:(?:\s|$)|\s#|$)")
_FLOW_END = {"[": "]", "{": "}"}


def span_in(location: Location, lines: Sequence[str]) -> Span:
    """The place with the end of the key or scalar that stands there; a mapping or list ends with its line."""
    line, column = location.line, location.column
    if not 0 < line <= len(lines):
        return Span(location.path, line, column)
    rest = lines[line - 1][column - 1 :]
    if quoted := _QUOTED.match(rest):
        length = quoted.end()
    elif rest[:1] in _FLOW_END:
        length = _flow_length(rest)
    else:
        ends = _PLAIN_END.search(rest)
        length = ends.start() if ends else len(rest)
    return Span(location.path, line, column, column + max(length, 1))


def _flow_length(rest: str) -> int:
    """The length of a flow collection; up to the end of the line where it goes on."""
    depth, i = 0, 0
    while i < len(rest):
        quoted = _QUOTED.match(rest, i) if rest[i] in "\"'" else None
        if quoted:
            i = quoted.end()
            continue
        depth += (rest[i] in "[{") - (rest[i] in "]}")
        i += 1
        if depth == 0:
            return i
    return len(rest.rstrip())
