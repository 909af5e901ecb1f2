"""Where each node of a YAML text begins and ends, as offsets: what a formatter moves.

The text must be one document that `policy.document` can read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

__all__ = ["Entry", "Node", "comments", "read_spans"]

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Entry:
    """A key of a mapping and its value; `end` is that of both, whichever is later."""

    key: str
    start: int
    value: Node

    @property
    def end(self) -> int:
        return max(self.value.end, self.start)


@dataclass(frozen=True, slots=True)
class Node:
    """A scalar, or a collection with its entries or items. `fixed`: something is in it that depends on its place."""

    kind: str
    start: int
    end: int
    flow: bool = False
    fixed: bool = False
    entries: tuple[Entry, ...] = ()
    items: tuple[Node, ...] = ()
    scalars: tuple[tuple[int, int], ...] = field(default=(), repr=False)

    def at(self, path: tuple[str, ...]) -> Iterator[Node]:
        """The nodes at a path, in which `*` stands for every item of a list."""
        if not path:
            yield self
            return
        step, rest = path[0], path[1:]
        below = self.items if step == "*" else tuple(e.value for e in self.entries if e.key == step)
        for node in below:
            yield from node.at(rest)


def read_spans(text: str) -> Node:
    """The root node of the one document in `text`."""
    loader = _LOADER(text)
    try:
        loader.get_event()  # stream start
        loader.get_event()  # document start
        return _node(text, loader.get_event, loader.get_event())
    finally:
        loader.dispose()


def comments(text: str) -> list[str]:
    """Every comment, sorted, without blanks at its end: what must be the same before and after."""
    found: list[str] = []
    at = 0
    for start, end in [*read_spans(text).scalars, (len(text), len(text))]:
        found.extend(_comments_between(text[at:start]))
        at = max(at, end)
    return sorted(found)


def _comments_between(gap: str) -> Iterator[str]:
    for line in gap.splitlines():
        _, mark, comment = line.partition("#")
        if mark:
            yield comment.rstrip()


def _node(text: str, following: Callable[[], Any], event: Any) -> Node:
    start, fixed = _index(event.start_mark), bool(event.anchor)
    if isinstance(event, yaml.ScalarEvent):
        keeps, end = _scalar_end(text, event)
        return Node("scalar", start, end, fixed=fixed or keeps, scalars=((start, end),))
    if isinstance(event, yaml.AliasEvent):
        return Node("alias", start, _index(event.end_mark), fixed=True)
    entries: list[Entry] = []
    items: list[Node] = []
    scalars: list[tuple[int, int]] = []
    is_mapping, end = isinstance(event, yaml.MappingStartEvent), start
    last = yaml.MappingEndEvent if is_mapping else yaml.SequenceEndEvent
    while not isinstance(child := following(), last):
        if is_mapping:
            scalars.append((_index(child.start_mark), _index(child.end_mark)))
            fixed = fixed or bool(child.anchor)
            value = _node(text, following, following())
            entries.append(Entry(child.value, _index(child.start_mark), value))
            end = max(value.end, _index(child.end_mark))
        else:
            value = _node(text, following, child)
            items.append(value)
            end = value.end
        fixed = fixed or value.fixed
        scalars.extend(value.scalars)
    if event.flow_style:
        end = _index(child.end_mark)
    kind = "mapping" if is_mapping else "sequence"
    return Node(kind, start, end, bool(event.flow_style), fixed, tuple(entries), tuple(items), tuple(scalars))


def _scalar_end(text: str, event: Any) -> tuple[bool, int]:
    """Whether a scalar keeps the blank lines after it (`|+`), and its end: without it they are not its own."""
    start, end = _index(event.start_mark), _index(event.end_mark)
    if event.style not in ("|", ">"):
        return False, end
    header = text[start:].split("\n", 1)[0].split("#", 1)[0]
    if "+" in header:
        return True, end
    content = text[start:end].rstrip(" \t\r\n")
    line_end = text.find("\n", start + len(content))
    return False, end if line_end < 0 else min(end, line_end + 1)


def _index(mark: Any) -> int:
    return int(mark.index)
