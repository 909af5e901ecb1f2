"""Where the comments of a YAML text are: outside of its scalars, whatever those look like."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import yaml

__all__ = ["LINE_ENDS", "Comment", "comments"]

# What YAML 1.1, and so libyaml, takes for the end of a line.
LINE_ENDS = "\r\n\x85\u2028\u2029"

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_COMMENT = re.compile(f"#[^{LINE_ENDS}]*")
# An anchor or a tag, and what may stand between it and its scalar.
_PROPERTY = re.compile(rf"[&!]\S*(?:\s|#[^{LINE_ENDS}]*)*")
_BLOCK_HEADER = re.compile(rf"[|>][-+0-9]*(?:[ \t]+(#[^{LINE_ENDS}]*))?")


class Comment(NamedTuple):
    """One comment, from its `#` to the end of its line but for blanks there. `start` is an offset."""

    start: int
    text: str


def comments(text: str) -> list[Comment]:
    """Every comment in its order; none of a text that is not YAML, as nobody can tell them from values there."""
    try:
        gaps = list(_gaps(text))
    except (yaml.YAMLError, UnicodeEncodeError):
        return []
    found = []
    for start, end in gaps:
        if text.find("#", start, end) >= 0:
            found += [Comment(part.start(), part[0].rstrip()) for part in _COMMENT.finditer(text, start, end)]
    return found


def _gaps(text: str) -> Iterator[tuple[int, int]]:
    """What lies between scalars, from where to where. A comment behind `|` is in a gap of its own."""
    next_: Callable[[], Any] = _LOADER(text).get_event
    at = 0
    while type(event := next_()) is not yaml.StreamEndEvent:
        if type(event) is not yaml.ScalarEvent:
            continue
        start, end = _content(text, event)
        yield at, start
        if event.style in ("|", ">") and (header := _BLOCK_HEADER.match(text, start)) and header[1]:
            yield header.span(1)
        at = max(at, end)
    yield at, len(text)


def _content(text: str, event: Any) -> tuple[int, int]:
    """Where a scalar itself begins, behind its anchor or tag (there may be a comment between them), and its end."""
    start, end = int(event.start_mark.index), int(event.end_mark.index)
    if event.anchor is None and event.tag is None:
        return start, end
    while found := _PROPERTY.match(text, start):
        start = found.end()
    return min(start, end), end
