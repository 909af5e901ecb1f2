"""Rules told apart by facts: by key facts first, then by masks; and documents of one shape, quicker still."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Generic

from policy.facts.facts import UNKNOWN, Facts
from policy.facts.reader import FactReader, hashable
from policy.facts.shape import Shape, shape_of
from policy.rules.groups import Group, key_facts
from policy.rules.masks import MOST_ENTRIES, Bucket, Candidates, Program
from policy.rules.rows import Row, rows_of
from policy.rules.selection import Item

__all__ = ["Parts", "Shaped", "shaped"]

# So few rules are not told apart by key facts first.
FEW = 16


class Parts(Generic[Item]):
    """The items, told apart by the values of their key facts."""

    def __init__(self, items: Sequence[Item], reader: FactReader | None) -> None:
        self._rows = [row for number, item in enumerate(items) for row in rows_of(number, item)]
        self.reader = reader or FactReader(_paths(self._rows))
        keys = key_facts(self._rows) if len(items) > FEW else ()
        self._groups = [Group(path, self._rows) for path in keys]
        self.defaults = [(path, hashable(self.reader.defaults[path])) for path in keys]
        self._all = frozenset(range(len(self._rows)))
        self._buckets: dict[Any, Bucket[Item]] = {}
        self._items = tuple(items)

    def numbered(self, numbers: Iterable[int]) -> tuple[Item, ...]:
        return tuple(self._items[number] for number in numbers)

    def bucket(self, key: tuple[Any, ...], facts: Facts) -> Bucket[Item]:
        """The rows that share the key facts, of which `key` is the hashable form."""
        bucket = self._buckets.get(key)
        return self._bucket(key, facts) if bucket is None else bucket

    def candidates(self, facts: Facts) -> Candidates[Item]:
        flat = facts.once(self.reader)
        key = tuple([flat.get(path, default) for path, default in self.defaults])
        return self.bucket(key, facts).candidates(flat, facts)

    def _bucket(self, key: tuple[Any, ...], facts: Facts) -> Bucket[Item]:
        if len(self._buckets) >= MOST_ENTRIES:
            self._buckets.clear()
        left = self._all
        unknown: set[int] = set()
        for group, value in zip(self._groups, key, strict=True):
            left = group.kept(value, facts) if left is self._all else left & group.kept(value, facts)
            if value is UNKNOWN:
                unknown |= group.asking
        rows = [self._rows[n]._replace(whole=False) if n in unknown else self._rows[n] for n in sorted(left)]
        done = {group.path for group in self._groups}
        bucket = self._buckets[key] = Bucket(rows, done, self.reader)
        return bucket


def _paths(rows: Iterable[Row[Item]]) -> set[str]:
    paths: set[str] = set()
    for row in rows:
        terms = row.terms if row.whole else row.item.match.leaves()
        paths.update([term.path for term in terms])
    return paths


def shaped(facts: Facts, parts: Parts[Item]) -> Shaped[Item] | None:
    """A quicker way to ask about documents like that of `facts`; None where there is none."""
    shape = shape_of(facts, parts.reader)
    return Shaped(shape, parts) if shape else None


class Shaped(Generic[Item]):
    """Asks about documents of one shape."""

    def __init__(self, shape: Shape, parts: Parts[Item]) -> None:
        self.read = shape.read
        self._shape = shape
        self._parts = parts
        flat = shape.example.once(parts.reader)
        places = {path: place for place, path in enumerate(shape.paths)}
        self._key: Callable[[tuple[Any, ...]], Any]
        places_of_key = [places.get(path) for path, _ in parts.defaults]
        constants = [flat.get(path, default) for path, default in parts.defaults]
        if len(places_of_key) > 1 and None not in places_of_key:
            self._key = itemgetter(*[place for place in places_of_key if place is not None])
        else:
            pairs = list(zip(places_of_key, constants, strict=True))
            self._key = lambda values: tuple([c if place is None else values[place] for place, c in pairs])
        self._programs: dict[Any, Program[Item]] = {}

    def matching(self, values: tuple[Any, ...], document: Mapping[str, Any]) -> tuple[Item, ...] | None:
        key = self._key(values)
        program = self._programs.get(key)
        if program is None:
            if len(self._programs) >= MOST_ENTRIES:
                self._programs.clear()
            facts = Facts(document)
            bucket = self._parts.bucket(key, facts)
            if not bucket.is_worth_tables():
                numbers = bucket.one_by_one(facts).holding(facts)
                return None if numbers is None else self._parts.numbered(numbers)
            program = self._programs[key] = bucket.program(self._shape, self._parts.reader)
        mask, _, steps, answers, _ = program
        for place, table in steps:
            kept = table.get(values[place])
            mask &= table.fill(values[place], Facts(document)) if kept is None else kept
            if not mask:
                return ()
        found = answers.get(mask)
        return self._answer(program, mask, document) if found is None else found

    def _answer(
        self, program: Program[Item], mask: int, document: Mapping[str, Any]
    ) -> tuple[Item, ...] | None:
        found = program.bucket.answer(mask, program.open)
        if not found.all_settled:
            facts = Facts(document)
            numbers = found.holding(facts)
            return None if numbers is None else self._parts.numbered(numbers)
        if len(program.answers) >= MOST_ENTRIES:
            program.answers.clear()
        program.answers[mask] = found.items
        return found.items
