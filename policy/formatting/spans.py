"""Where each node of a YAML text begins and ends, as offsets: what a formatter moves.

The text must be one document that `policy.document` can read.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from policy.document.comments import LINE_ENDS

__all__ = ["Entry", "Node", "read_spans"]

_LINE = re.compile(f"[^{LINE_ENDS}]*(?:\r\n|[{LINE_ENDS}])")
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

    def at(self, path: tuple[str, ...]) -> Iterator[Node]:
        """The nodes at a path, in which `*` stands for every item of a list."""
        if not path:
            yield self
            return
        step, rest = path[0], path[1:]
        below = self.items if step == "*" else tuple(e.value for e in self.entries if e.key == step)
        for node in below:
            yield from node.at(rest)


@functools.lru_cache(maxsize=2)
def read_spans(text: str) -> Node:
    """The root node of the one document in `text`."""
    return _Reading(text).root


class _Reading:
    """One pass over the events of a text, to its root."""

    def __init__(self, text: str) -> None:
        self.text = text
        loader = _LOADER(text)
        self._next: Callable[[], Any] = loader.get_event
        try:
            self._next()  # stream start
            self._next()  # document start
            self.root = self._node(self._next())
        finally:
            loader.dispose()

    def _node(self, event: Any) -> Node:
        kind = type(event)
        if kind is yaml.MappingStartEvent:
            return self._mapping(event)
        if kind is yaml.SequenceStartEvent:
            return self._sequence(event)
        start = event.start_mark.index
        if kind is yaml.AliasEvent:
            return Node("alias", start, event.end_mark.index, fixed=True)
        keeps, end = self._scalar_end(event)
        return Node("scalar", start, end, fixed=keeps or event.anchor is not None)

    def _mapping(self, event: Any) -> Node:
        start = end = event.start_mark.index
        fixed = event.anchor is not None
        entries = []
        while type(key := self._next()) is not yaml.MappingEndEvent:
            value = self._node(self._next())
            fixed = fixed or value.fixed or key.anchor is not None
            entries.append(Entry(key.value, key.start_mark.index, value))
            end = max(value.end, key.end_mark.index)
        flow = bool(event.flow_style)
        return Node("mapping", start, _end_of(key) if flow else end, flow, fixed, tuple(entries))

    def _sequence(self, event: Any) -> Node:
        start = end = event.start_mark.index
        fixed = event.anchor is not None
        items = []
        while type(item := self._next()) is not yaml.SequenceEndEvent:
            value = self._node(item)
            fixed = fixed or value.fixed
            items.append(value)
            end = value.end
        flow = bool(event.flow_style)
        return Node("sequence", start, _end_of(item) if flow else end, flow, fixed, items=tuple(items))

    def _scalar_end(self, event: Any) -> tuple[bool, int]:
        """Whether a scalar keeps the blank lines after it (`|+`), and its end: without it they are not its own."""
        text, start, end = self.text, event.start_mark.index, event.end_mark.index
        if event.style not in ("|", ">"):
            return False, end
        header = _LINE.match(text, start)
        if header and "+" in header[0].split("#", 1)[0]:
            return True, end
        content = text[start:end].rstrip(" \t" + LINE_ENDS)
        last = _LINE.match(text, start + len(content))
        return False, min(end, last.end()) if last else end


def _end_of(event: Any) -> int:
    return int(event.end_mark.index)
