"""Reads those facts of a document that are not what an empty document says, at the paths that somebody asks for."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from policy.facts.facts import ABSENT, UNKNOWN, Facts, canonical_name, derived_inputs
from policy.facts.fields import OPEN_MAPPINGS, expand, field

__all__ = ["FactReader", "hashable"]


class FactReader:
    """Facts at `paths`, document after document. What depends on the paths alone is worked out once."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = frozenset(paths)
        self._heads: dict[str, _Head] = {}
        for path in sorted(self.paths):
            for fact in (path, *derived_inputs(path)):
                head = fact.partition(".")[0]
                self._heads.setdefault(head, _Head(head)).add(path, fact)
        empty = Facts({})
        # A path that is no fact is worked out by whoever asks for it, and open until then.
        self.open = frozenset(path for path in self.paths if field(path) is None)
        self.defaults: Mapping[str, Any] = {
            path: UNKNOWN if path in self.open else empty.value(path) for path in self.paths
        }

    @functools.cached_property
    def opened(self) -> Mapping[str, Any]:
        """The facts that are not given, by path, where the config object that holds them is on."""
        heads = {head: Facts({head: {}}) for head in self._heads if head not in OPEN_MAPPINGS}
        return {
            path: UNKNOWN if path in self.open else heads[path.partition(".")[0]].value(path)
            for path in self.paths
            if path.partition(".")[0] in heads
        }

    def __call__(self, facts: Facts) -> dict[str, Any]:
        """The facts of which the document says something, by path; the others are as in `defaults`.

        Where it says that a config object is on, there is an entry for `head.`, and the others are as in `opened`.
        Lists and what is nested are `hashable` stand-ins: ask `facts` for the values themselves.
        """
        document = facts.document
        found: dict[str, Any] = {}
        for head, value in document.items():
            reader = self._heads.get(head)
            if reader is not None:
                reader.read(value, facts, found)
        for path in document.get("unknown") or ():
            reader = self._heads.get(expand(path).partition(".")[0])
            if reader is not None:
                for below in reader.paths:
                    found[below] = hashable(facts.value(below))
        return found


class _Head:
    """What is asked of one top-level entry."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.paths: list[str] = []
        self._whole: list[str] = []  # the object itself, or a fact that is no object
        # By the name of an entry: the path whose fact it is, or several where facts lie below or derive from it.
        self._names: dict[str, str | list[str]] = {}
        self._is_open = name in OPEN_MAPPINGS
        self._spell = canonical_name if name == "packages" else _as_it_is
        self._mark = f"{name}."

    def add(self, path: str, fact: str) -> None:
        """Asks for `path`, which derives from `fact` below this entry, or is it."""
        if path not in self.paths:
            self.paths.append(path)
        rest = fact.partition(".")[2]
        name = self._spell(rest if self._is_open else rest.partition(".")[0])
        if not name:
            self._whole.append(path)
        elif name not in self._names and path == fact and name == rest and self._is_plain(path):
            self._names[name] = path
        else:
            before = self._names.get(name, [])
            self._names[name] = [*([before] if isinstance(before, str) else before), path]

    def _is_plain(self, path: str) -> bool:
        """Whether the entry at the path is the fact. A document may spell one package in several ways."""
        return self._spell is _as_it_is and _is_flat(path)

    def read(self, value: Any, facts: Facts, found: dict[str, Any]) -> None:
        """Add the facts that the entry's `value` says something of to `found`."""
        if not isinstance(value, dict):
            for path in self.paths if value is None or not self._whole else self._whole:
                found[path] = hashable(facts.value(path))
            return
        if not self._is_open:
            found[self._mark] = True
        asked = self._names
        spell = None if self._spell is _as_it_is else self._spell
        for name, entry in value.items():
            known = asked.get(name if spell is None else spell(name))
            if known is None:
                continue
            if isinstance(known, str):
                found[known] = (
                    ABSENT if entry is None else entry if entry.__class__ is str else hashable(entry)
                )
            else:
                for below in known:
                    found[below] = hashable(facts.value(below))


def _as_it_is(name: str) -> str:
    return name


def _is_flat(path: str) -> bool:
    known = field(path)
    return known is not None and "object" not in known.types


def hashable(value: Any) -> Any:
    """The value, or a stand-in where it is a list, a mapping or a number (`1 == True`); equal for equal values only."""
    kind = value.__class__
    if kind is str or kind is bool or value is ABSENT or value is UNKNOWN:
        return value
    if kind is list and all(element.__class__ is str for element in value):
        return tuple(value)
    return (float, value) if isinstance(value, (int, float)) else (kind, repr(value))
