"""Puts the keys of one mapping in order, within its text. Comments go with the key that they stand above or beside.

One that silences a finding of lint is about the next line that has a value on it, and stays directly above that one.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from policy.document.comments import LINE_ENDS, Comment, comments
from policy.formatting.spans import Entry, Node
from policy.lint.suppression import is_marked, silences_next

__all__ = ["Edit", "line_end", "reorder"]

_LINES = re.compile(f"[^{LINE_ENDS}]*(?:\r\n|[{LINE_ENDS}]|\\Z)")
_END = re.compile("\r\n|[\r\n]")
# The dash of an item that begins below it, maybe with a comment.
_BARE_DASH = re.compile(r"( *(?:- +)*-)[ \t]*(#.*)?$")


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
    if any("#" in gap or "?" in gap for gap in around) or _is_silenced_by_line(text, mapping):
        return None
    parts = [text[e.start : e.end] for e in wanted]
    joined = parts[0] + "".join(gap + part for gap, part in zip(gaps, parts[1:], strict=True))
    return Edit(entries[0].start, entries[-1].end, joined)


def _is_silenced_by_line(text: str, mapping: Node) -> bool:
    """Whether a flow mapping is on several lines, and a comment silences findings of one of them."""
    first, last = _line_start(text, mapping.start), _line_start(text, mapping.end)
    if first == last or not is_marked(text):
        return False
    beside = (comment for comment in _comments(text) if first <= _line_start(text, comment.start) <= last)
    above = any(line in _silencing(text) for line in _line_starts_above(text, first))
    return above or any(silences_next(comment.text) for comment in beside)


@dataclass(frozen=True, slots=True)
class _Chunk:
    """The lines of one key: blank lines that stay where they are, comments above it, and the rest."""

    blank: str
    lead: str
    body: str


def _block(text: str, mapping: Node, wanted: Sequence[Entry], *, is_root: bool) -> Edit | None:
    entries = mapping.entries
    head = _head(text, entries[0].start, is_root=is_root, stays=wanted[0] is entries[0])
    if head is None or any(text[_line_start(text, e.start) : e.start].strip() for e in entries[1:]):
        return None  # `? key`, a tag, or two keys in one line
    indent = " " * head.column
    chunks: dict[int, _Chunk] = {}
    at = entries[0].start
    for entry in entries:
        end = _body_end(text, entry.end, head.column)
        chunks[entry.start] = _chunk(text, at, entry.start, end)
        at = end
    slots = [chunks[e.start].blank for e in entries]
    chunks[entries[0].start] = _Chunk("", head.lead, chunks[entries[0].start].body)
    out = [head.staying]
    for i, entry in enumerate(wanted):
        chunk = chunks[entry.start]
        dash = head.dash if i == 0 else ""
        # Deeper than the key, a comment would be text of a block scalar above it.
        lead = _indented(chunk.lead, head.dash_column if dash else head.column)
        out += [slots[i], lead, dash or indent, _ended(chunk.body, text)]
    return Edit(head.start, at, "".join(out))


@dataclass(frozen=True, slots=True)
class _Head:
    """What is above the first key: the text from `start` on that stays there, and comments that go with the key.

    `dash` is what stands before the key in its line where it is the first of an item, `column` where the keys begin.
    """

    start: int
    staying: str
    lead: str
    column: int
    dash: str

    @property
    def dash_column(self) -> int:
        return len(self.dash) - len(self.dash.lstrip(" "))


def _head(text: str, first: int, *, is_root: bool, stays: bool) -> _Head | None:
    """The head of the mapping whose first key is at `first`; None where something else is before it in its line.

    Where that key `stays` the first, so does all above it.
    """
    line = _line_start(text, first)
    before = text[line:first]
    if before.strip(" -"):
        return None
    column = len(before)
    dash = before if before.strip() else ""
    if stays:
        return _Head(line, "", "", column, dash)
    if dash or is_root:
        return _moved(text, line, column, dash, [])
    above = list(_line_starts_above(text, line))
    bare = _bare_dash(text, above[-1] if above else line, column)
    if bare is None:
        lead = itertools.takewhile(lambda i: text[i : _line_end(text, i)].strip(), above)
        return _moved(text, line, column, "", list(lead))
    # The item begins with comments, and they are about its first key.
    dash_line, dash = bare
    return _moved(
        text, dash_line, column, dash, [i for i in (dash_line, *above) if "#" in text[i : _line_end(text, i)]]
    )


def _moved(text: str, line: int, column: int, dash: str, lead: Sequence[int]) -> _Head:
    """The head of a mapping that begins with `line`: what silences findings of it goes with the key, as `lead` does."""
    above = list(_line_starts_above(text, line))
    moving = {*lead, *_silencing(text).intersection(above)}
    start = min([line, *moving])
    parts = [text[i : _line_end(text, i)] for i in sorted(moving)]
    staying = [text[i : _line_end(text, i)] for i in reversed(above) if i >= start and i not in moving]
    if line in moving:  # behind a dash
        parts = [_indented(part[part.index("#") :], column) for part in parts]
    return _Head(start, "".join(staying), "".join(parts), column, dash)


def _bare_dash(text: str, top: int, column: int) -> tuple[int, str] | None:
    """The line above `top` and what begins it, where it is the dash of an item with keys at `column`.

    None where nothing is said there: it stays as it is.
    """
    if not top:
        return None
    start = _line_start(text, top - 1)
    found = _BARE_DASH.match(text[start:top].rstrip(LINE_ENDS))
    if not found or len(found[1]) >= column:
        return None
    silenced = not _silencing(text).isdisjoint(_line_starts_above(text, start))
    return (start, found[1].ljust(column)) if found[2] or silenced else None


def _line_starts_above(text: str, line: int) -> Iterator[int]:
    """Where the lines begin that are directly above a line and hold nothing but a comment, or nothing; upwards."""
    own = _own_lines(text)
    while line > 0:
        line = _line_start(text, line - 1)
        if line not in own and text[line : _line_end(text, line)].strip():
            break
        yield line


@functools.lru_cache(maxsize=2)
def _comments(text: str) -> Sequence[Comment]:
    return comments(text)


@functools.lru_cache(maxsize=2)
def _own_lines(text: str) -> Mapping[int, str]:
    """Where the lines begin that hold nothing but a comment, with the comment."""
    found = ((_line_start(text, start), start, words) for start, words in _comments(text))
    return {line: words for line, start, words in found if not text[line:start].strip()}


@functools.lru_cache(maxsize=2)
def _silencing(text: str) -> frozenset[int]:
    """Where the lines begin that hold nothing but a comment that silences findings of the next one."""
    if not is_marked(text):
        return frozenset()
    return frozenset(line for line, words in _own_lines(text).items() if silences_next(words))


def _indented(lead: str, column: int) -> str:
    """Lines of comments at a column: those of a key are where it is."""
    return "".join(" " * column + line.lstrip(" \t") if line.strip() else line for line in _lines(lead))


def _chunk(text: str, at: int, key: int, end: int) -> _Chunk:
    """The chunk of the key at `key`, whose lines begin at `at`."""
    above = text[at : max(at, _line_start(text, key))]
    lines = _lines(above)
    blank = 0
    while blank < len(lines) and not lines[blank].strip():
        blank += 1
    return _Chunk("".join(lines[:blank]), "".join(lines[blank:]), text[key:end])


def _body_end(text: str, end: int, indent: int) -> int:
    """Where the lines of a value end: the rest of its last line, and comments below that are indented deeper.

    None from one on that silences findings of the next line.
    """
    if not (end and text[end - 1] in LINE_ENDS):
        end = _line_end(text, end)
    found = at = end
    silencing = _silencing(text)
    while at < len(text) and at not in silencing:
        after = _line_end(text, at)
        line = text[at:after]
        if line.strip() and not (line.lstrip().startswith("#") and len(line) - len(line.lstrip()) > indent):
            break
        at = after
        if line.strip():
            found = at
    return found


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
    return body if body.endswith(tuple(LINE_ENDS)) else body + line_end(text)
