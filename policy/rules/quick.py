"""Asks about documents one after the other with as few look-ups as can be, where the facts asked for lie flat."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Generic, NamedTuple

from policy.facts.facts import ABSENT, UNKNOWN, Facts, derived_inputs
from policy.facts.fields import NO_DEFAULT, OPEN_MAPPINGS, field
from policy.memory import MOST_REMEMBERED, remember
from policy.rules.masks import Bucket, Table
from policy.rules.parts import Parts
from policy.rules.selection import Item

__all__ = ["Quick"]


class _Off(dict[str, Any]):
    """A config object that is off: every field of it is absent."""

    def get(self, _name: str, _default: object = None) -> Any:
        return ABSENT


_OFF = _Off()
_EMPTY: dict[str, Any] = {}
_PROGRAM = object()


class _Place(NamedTuple):
    """Where a fact lies: `head` and the field `name` in it; `missing` stands for a head that is not given."""

    head: str
    name: str
    missing: dict[str, Any]
    default: Any


# A name to look up, what holds where it is missing, and the rows that each value leaves: known ones, and all.
_Step = tuple[str, Any, dict[Any, int], Table]
# A head, what stands for it where it is not given, and its fields that are asked for.
_Fields = tuple[str, dict[str, Any], tuple[_Step, ...]]


class _Program(NamedTuple, Generic[Item]):
    """What is left to ask where the key facts are settled: facts at the top, then what the rows still left ask for."""

    mask: int
    top: tuple[_Step, ...]
    below: dict[int, tuple[_Fields, ...]]
    answers: dict[int, tuple[Item, ...]]


class Quick(Generic[Item]):
    """The same answers as from `Parts`, sooner. What it meets for the first time, or cannot tell, goes the slow way."""

    def __init__(self, parts: Parts[Item]) -> None:
        self._parts = parts
        places = [_place(path) for path, _ in parts.defaults]
        self._keys = tuple(place for place in places if place is not None)
        self._tells_keys = len(self._keys) == len(places)
        # By the value of the first key fact, then of the next; at the end the program itself.
        self._programs: dict[Any, Any] = {}
        self._count = 0

    def matching(self, document: Mapping[str, Any]) -> tuple[Item, ...] | None:
        """The items whose match holds, in order; None where unknown facts leave it open."""
        try:
            node = self._programs
            for head, name, missing, default in self._keys:
                if name:
                    value = document.get(head, missing)
                    value = (_OFF if value is None else value).get(name, default)
                    node = node[value[0] if value.__class__ is list and len(value) == 1 else value]
                else:
                    node = node[document.get(head, default)]
            mask, top, below, answers = node[_PROGRAM]
            if "unknown" in document:
                return self._slowly(document)
            for name, default, kept, _ in top:
                mask &= kept[document.get(name, default)]
            for head, missing, fields in below[mask]:
                value = document.get(head, missing)
                get = (_OFF if value is None else value).get
                for name, default, kept, _ in fields:
                    mask &= kept[get(name, default)]
            found: tuple[Item, ...] = answers[mask]
        except (KeyError, TypeError):  # not met before, or a list where a text is usual
            return self._slowly(document)
        return found

    def _slowly(self, document: Mapping[str, Any]) -> tuple[Item, ...] | None:
        facts = Facts(document)
        numbers = self._parts.candidates(facts).holding(facts)
        if self._tells_keys and numbers is not None and "unknown" not in document:
            self._learn(facts)
        return None if numbers is None else self._parts.numbered(numbers)

    def _learn(self, facts: Facts) -> None:
        """Makes ready what a document like this needs: its program, the entries of tables, the answer."""
        bucket = self._parts.bucket_of(facts)
        document = facts.document
        values = [_key(place, document) for place in self._keys]
        if not bucket.has_tables or any(v is UNKNOWN or isinstance(v, (list, dict)) for v in values):
            return
        if self._count >= MOST_REMEMBERED:
            self._programs.clear()
            self._count = 0
        node = self._programs
        for value in values:
            node = node.setdefault(value, {})
        if _PROGRAM not in node:
            self._count += 1
            node[_PROGRAM] = _program(bucket)
        program: _Program[Item] = node[_PROGRAM]
        mask = program.mask
        for name, default, _, table in program.top:
            mask &= _entry(table, document.get(name, default), facts)
        below = program.below.get(mask)
        if below is None:
            below = remember(program.below, mask, _below(bucket, mask))
        for head, missing, fields in below:
            for name, default, _, table in fields:
                mask &= _entry(table, _looked_up(document, _Place(head, name, missing, default)), facts)
        asked = (path for path, table in bucket.tables.items() if table.asking & mask)
        if not mask & bucket.open and all(_is_quick(path) for path in asked):
            remember(program.answers, mask, bucket.answer(mask, bucket.open).items)


def _looked_up(document: Mapping[str, Any], place: _Place) -> Any:
    """What `matching` finds at a place, where it looks without a call."""
    if not place.name:
        return document.get(place.head, place.default)
    fields = document.get(place.head, place.missing)
    return (_OFF if fields is None else fields).get(place.name, place.default)


def _key(place: _Place, document: Mapping[str, Any]) -> Any:
    """A key fact as `matching` knows it: a list of one is its element."""
    value = _looked_up(document, place)
    return value[0] if place.name and isinstance(value, list) and len(value) == 1 else value


def _program(bucket: Bucket[Item]) -> _Program[Item]:
    top = []
    for path, table in bucket.tables.items():
        place = _place(path) if _is_quick(path) else None
        if place and not place.name:
            top.append((place.head, place.default, table.kept, table))
    return _Program(bucket.everything, tuple(top), {}, {})


def _below(bucket: Bucket[Item], mask: int) -> tuple[_Fields, ...]:
    """The fields that the rows of `mask` ask for."""
    found: dict[str, tuple[_Place, list[_Step]]] = {}
    for path, table in bucket.tables.items():
        place = _place(path) if _is_quick(path) and table.asking & mask else None
        if place and place.name:
            found.setdefault(place.head, (place, []))[1].append(
                (place.name, place.default, table.kept, table)
            )
    return tuple((head, place.missing, tuple(fields)) for head, (place, fields) in found.items())


def _entry(table: Table, value: Any, facts: Facts) -> int:
    """The rows that a value leaves; remembered unless it is unknown, or a list."""
    if value is UNKNOWN or isinstance(value, (list, dict)):
        return -1
    kept = table.kept.get(value)
    return table.fill(value, facts) if kept is None else kept


@functools.cache
def _is_quick(path: str) -> bool:
    """Whether the fact can be looked up as it lies: a scalar, and not now a boolean and now a number (`1 == True`)."""
    known = field(path)
    types = set(known.types) if known else {"object"}
    mixed = "boolean" in types and types & {"integer", "number"}
    return _place(path) is not None and not mixed and "array" not in types


@functools.cache
def _place(path: str) -> _Place | None:
    """Where the fact lies; None where it is deeper, derives from others, or has many spellings."""
    known = field(path)
    head, _, name = path.partition(".")
    if known is None or "object" in known.types or derived_inputs(path) or head == "packages":
        return None
    if head in OPEN_MAPPINGS:
        return _Place(head, name, _EMPTY, ABSENT)
    if not name:
        return _Place(head, "", _EMPTY, Facts({}).value(path))
    above = field(head)
    if "." in name or above is None or above.default is NO_DEFAULT:
        return None
    return _Place(head, name, _OFF if above.default is None else _EMPTY, Facts({head: {}}).value(path))
