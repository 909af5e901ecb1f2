"""Which parts of a YAML text must not be shown: the values of variables that look like secrets, on every line of them.

A value may go on over many lines (`|`, `>`, folded), and only the first of them holds the name that tells what it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from policy.secret import apart, is_secret, may_hold_secrets, secret_shapes, shown, shown_entry

__all__ = ["Part", "hidden_in_lines", "hidden_parts"]

# Where a part begins and ends: offsets into a text, or into a line.
Part = tuple[int, int]

_BLOCK_STYLES = ("|", ">")
# Operators of a match: they stand below the name of a fact and are no part of its value.
_OPERATORS = ("exists", "ne", "gt", "ge", "lt", "le")

_KEY = re.compile(r"""(?P<quote>["']?)(?<![\w.-])(?P<name>[\w.-]+)(?P=quote)\s*:(?=\s|["']|\Z)\s*""")
_ENTRY = re.compile(
    r"""\s*(?:-(?:\s|\Z)|\#|[\]}]|(?:---|\.\.\.)(?:\s|\Z)|(?P<q>["']?)[\w.-]+(?P=q)\s*:(?:\s|\Z))"""
)
_WORD = re.compile(r"[\w.-]*\Z")
_BLOCK_HEADER = re.compile(r"(?:[|>][-+0-9]*\s*)?(?:#.*)?\Z")
_NO_PLAIN = "{[|>*#!&%@`"


def hidden_in_lines(lines: Sequence[str]) -> dict[int, list[Part]]:
    """The parts of each line that must not be shown, by the number of the line, from 1; without indentation."""
    text = "\n".join(lines)
    found: dict[int, list[Part]] = {}
    parts, at = iter(hidden_parts(text)), 0
    part = next(parts, None)
    for number, line in enumerate(lines, 1):
        while part is not None and part[0] <= at + len(line):
            first, last = max(part[0] - at, 0), min(part[1] - at, len(line))
            blank = len(line[first:last]) - len(line[first:last].lstrip())
            last = first + len(line[first:last].rstrip())
            if first + blank < last:
                found.setdefault(number, []).append((first + blank, last))
            if part[1] > at + len(line):
                break  # it goes on in the next line
            part = next(parts, None)
        if part is None:
            break
        at += len(line) + 1
    return found


def hidden_parts(text: str) -> list[Part]:
    """The parts of `text` that must not be shown, in order and apart from each other.

    Of a text that is not YAML they are guessed from its lines, and rather too many.
    """
    if not may_hold_secrets(text):
        return []
    import yaml  # noqa: PLC0415  (a lint that is answered from its cache needs it only for secrets)

    reading = _Reading(text)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for event in yaml.parse(text, loader):
            reading.take(event)
        parts = reading.parts
    except (yaml.YAMLError, UnicodeError):
        parts = [*reading.parts, *_guessed(text)]
    return list(apart([*parts, *secret_shapes(text)]))


class _Frame:
    """A mapping or list that is being read. `name` is the name that its values belong to."""

    __slots__ = ("anchor", "begun", "key", "mapping", "name")

    def __init__(self, name: str, anchor: str | None, begun: int, *, mapping: bool) -> None:
        self.name = name
        self.anchor = anchor
        self.begun = begun
        self.mapping = mapping
        self.key: str | None = None


class _Reading:
    """Takes the events of a text, and collects what they say must not be shown. It nests without recursion."""

    def __init__(self, text: str) -> None:
        self.parts: list[Part] = []
        self._text = text
        self._frames: list[_Frame] = []
        self._scalars: list[Part] = []
        self._anchors: dict[str, Part] = {}  # from which to which of the scalars
        self._words: dict[str, str] = {}  # what a scalar with an anchor says: an alias may be a key
        self._behind: set[Part] = (
            set()
        )  # those of them that are hidden: many aliases may stand for many scalars

    def take(self, event: Any) -> None:
        kind = type(event).__name__
        if kind == "ScalarEvent":
            self._scalar(event)
        elif kind == "AliasEvent":
            self._alias(event)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            begun = len(self._scalars)
            self._frames.append(_Frame(self._name(), event.anchor, begun, mapping=kind[0] == "M"))
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            frame = self._frames.pop()
            if frame.anchor:
                self._anchors[frame.anchor] = (frame.begun, len(self._scalars))
            self._value_ends()

    def _name(self) -> str:
        """The name that the next value belongs to: the nearest key, but for what stands below a secret's."""
        if not self._frames:
            return ""
        frame = self._frames[-1]
        if not frame.mapping or is_secret(frame.name):
            return frame.name
        return (frame.key or "").removeprefix("env.")

    def _scalar(self, event: Any) -> None:
        part = self._part(event)
        frame = self._frames[-1] if self._frames else None
        if event.anchor:
            self._words[event.anchor] = event.value
        if frame is not None and frame.mapping and frame.key is None:
            frame.key = event.value
            below = is_secret(frame.name) and event.value not in _OPERATORS
            if below or (not _WORD.match(event.value) and shown_entry(event.value) != event.value):
                self.parts.append(part)
            return
        self._scalars.append(part)
        if event.anchor:
            self._anchors[event.anchor] = (len(self._scalars) - 1, len(self._scalars))
        name, value = self._name(), event.value
        if event.tag is not None:
            value = self._text[slice(*part)]  # `!x` may be how a secret begins
        said = shown_entry(value) if name == "env" else shown(name, value)  # of `env` it is no mapping
        if said != value and not (frame and frame.key == "exists"):
            self.parts.append(part)
        self._value_ends()

    def _alias(self, event: Any) -> None:
        frame = self._frames[-1] if self._frames else None
        if frame is not None and frame.mapping and frame.key is None:
            frame.key = self._words.get(event.anchor, "")
            return
        if is_secret(self._name()):
            begun, ended = self._anchors.get(event.anchor, (0, 0))
            # One without an anchor is none: it is how a secret begins.
            if not ended:
                self.parts.append(self._part(event))
            elif (begun, ended) not in self._behind:
                self._behind.add((begun, ended))
                self.parts += self._scalars[begun:ended]
        self._value_ends()

    def _value_ends(self) -> None:
        """What was read was the value of a key, or a key that is no scalar."""
        if self._frames:
            frame = self._frames[-1]
            frame.key = "" if frame.mapping and frame.key is None else None

    def _part(self, event: Any) -> Part:
        """Where a scalar stands; of a block its lines, without the `|` before them."""
        start, end = event.start_mark.index, event.end_mark.index
        if getattr(event, "style", None) in _BLOCK_STYLES:
            line_end = self._text.find("\n", start)
            start = end if line_end < 0 else min(line_end + 1, end)
        return start, start + len(self._text[start:end].rstrip())


def _guessed(text: str) -> Iterator[Part]:
    """What may belong to a secret in a text that is not YAML, line by line."""
    open_at: int | None = None  # the column of the key whose value may go on
    quote = ""  # what ends that value, if it is quoted
    at = 0
    for line in text.split("\n"):
        ends = bool(line.strip()) and not quote and _ends(line, open_at)
        if open_at is not None and not ends:
            yield at, at + len(line)
            if quote and quote in line:
                open_at, quote = None, ""
        else:
            open_at = None
            lead = len(line) - len(line.lstrip(" \t-"))
            for found in _KEY.finditer(line):
                if not is_secret(found["name"]):
                    continue
                value = found.end()
                open_at = found.start() if found.start() <= lead else _indent(line)
                first = line[value : value + 1]
                quote = first if first in ("'", '"') and line.find(first, value + 1) < 0 else ""
                if first and first in _NO_PLAIN:
                    if not _BLOCK_HEADER.match(line, value):
                        yield at + value, at + len(line)
                    break  # nothing but its value, or a comment, follows
        at += len(line) + 1


def _ends(line: str, column: int | None) -> bool:
    """Whether a line that is not blank ends the value of the key at `column`."""
    return column is None or (_indent(line) <= column and _ENTRY.match(line) is not None)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
