"""Puts the keys of one mapping in order, within its text. Comments go with the key that they stand above or beside."""

from __future__ import annotations

import bisect
import functools
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from policy.formatting.spans import Entry, Node

__all__ = ["Edit", "line_end", "reorder"]

# What libyaml takes for the end of a line.
_LINES = re.compile("[^\r\n\x85\u2028\u2029]*(?:\r\n|[\r\n\x85\u2028\u2029]|\\Z)")
_END = re.compile("\r\n|[\r\n]")
_ENDS = ("\n", "\r", "\x85", "\u2028", "\u2029")


@dataclass(frozen=True, slots=True)
class Edit:
    """`text` replaces what stands from `start` to `end`."""

    start: int
    end: int
    text: str


def reorder(text: str, mapping: Node, order: Sequence[str], *, is_root: bool = False) -> Edit | None:
    """The edit that puts the keys of `mapping` in `order`, unknown ones last; None where they are, or must stay.

    They stay where an anchor or an alias is among them (it must come after its anchor), or a block scalar that keeps
    blank lines (`|+`: they may be those of the next key), where a key is written with `?`, and where a flow mapping
    holds a comment (nobody can tell which key it is about).
    """
    wanted = sorted(mapping.entries, key=lambda e: order.index(e.key) if e.key in order else len(order))
    if wanted == list(mapping.entries) or mapping.fixed:
        return None
    if mapping.flow:
        return _flow(text, mapping, wanted)
    return _block(text, mapping, wanted, is_root=is_root)


def line_end(text: str) -> str:
    """How the first line of a text ends; `\\n` where there is but one line without an end."""
    first = _END.search(text)
    return first[0] if first else "\n"


def _flow(text: str, mapping: Node, wanted: Sequence[Entry]) -> Edit | None:
    entries = mapping.entries
    gaps = [text[a.end : b.start] for a, b in itertools.pairwise(entries)]
    around = [text[mapping.start : entries[0].start], text[entries[-1].end : mapping.end], *gaps]
    if any("#" in gap or "?" in gap for gap in around):
        return None
    parts = [text[e.start : e.end] for e in wanted]
    joined = parts[0] + "".join(gap + part for gap, part in zip(gaps, parts[1:], strict=True))
    return Edit(entries[0].start, entries[-1].end, joined)


@dataclass(frozen=True, slots=True)
class _Chunk:
    """The lines of one key: blank lines that stay where they are, comments above it, and the rest."""

    blank: str
    lead: str
    body: str


def _block(text: str, mapping: Node, wanted: Sequence[Entry], *, is_root: bool) -> Edit | None:
    entries = mapping.entries
    first = entries[0].start
    line = _line_start(text, first)
    indent = " " * (first - line)
    before = text[line:first]
    if before.strip(" -") or any(text[_line_start(text, e.start) : e.start].strip() for e in entries[1:]):
        return None  # `? key`, a tag, or two keys in one line
    on_own_line = not before.strip()
    start = line if on_own_line else first
    if on_own_line and not is_root:
        start = _lead_start(text, line)
    chunks: dict[int, _Chunk] = {}
    at = start
    for entry in entries:
        end = _body_end(text, entry.end, len(indent))
        chunks[entry.start] = _chunk(text, at, entry.start, end)
        at = end
    slots = [chunks[e.start].blank for e in entries]
    out = []
    for i, entry in enumerate(wanted):
        chunk = chunks[entry.start]
        lead = chunk.lead
        head = slots[i] + lead + indent
        if i == 0 and not on_own_line:
            head = lead.lstrip() + indent if lead else ""
        out.append(head + _ended(chunk.body, text))
    return Edit(start, at, "".join(out))


def _chunk(text: str, at: int, key: int, end: int) -> _Chunk:
    """The chunk of the key at `key`, whose lines begin at `at`."""
    above = text[at : max(at, _line_start(text, key))]
    lines = _lines(above)
    blank = 0
    while blank < len(lines) and not lines[blank].strip():
        blank += 1
    return _Chunk("".join(lines[:blank]), "".join(lines[blank:]), text[key:end])


def _body_end(text: str, end: int, indent: int) -> int:
    """Where the lines of a value end: the rest of its last line, and comments below that are indented deeper."""
    if not (end and text[end - 1] in "\r\n\x85\u2028\u2029"):
        end = _line_end(text, end)
    found = at = end
    while at < len(text):
        after = _line_end(text, at)
        line = text[at:after]
        if line.strip() and not (line.lstrip().startswith("#") and len(line) - len(line.lstrip()) > indent):
            break
        at = after
        if line.strip():
            found = at
    return found


def _lead_start(text: str, line: int) -> int:
    """Where the comment directly above a line begins."""
    while line > 0:
        above = _line_start(text, line - 1)
        if not text[above:line].lstrip().startswith("#"):
            break
        line = above
    return line


def _lines(text: str) -> list[str]:
    return [line for line in _LINES.findall(text) if line]


def _line_start(text: str, at: int) -> int:
    starts = _line_starts(text)
    return starts[bisect.bisect_right(starts, at) - 1]


@functools.lru_cache(maxsize=2)
def _line_starts(text: str) -> list[int]:
    return [0, *(line.end() for line in _LINES.finditer(text) if line.end() > line.start())]


def _line_end(text: str, at: int) -> int:
    found = _LINES.match(text, at)
    return found.end() if found else len(text)


def _ended(body: str, text: str) -> str:
    return body if body[-1:] in _ENDS else body + line_end(text)
