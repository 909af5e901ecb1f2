"""Rules told apart by facts: by key facts first, then by masks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic

from policy.facts.facts import UNKNOWN, Facts
from policy.facts.reader import FactReader, hashable
from policy.memory import remember
from policy.rules.groups import Group, key_facts
from policy.rules.masks import Bucket, Candidates
from policy.rules.rows import Row, rows_of
from policy.rules.selection import Item

__all__ = ["Parts"]

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

    def bucket_of(self, facts: Facts) -> Bucket[Item]:
        """The rows that share the key facts."""
        flat = facts.once(self.reader)
        key = tuple([self._value(flat, path, default) for path, default in self.defaults])
        bucket = self._buckets.get(key)
        return self._bucket(key, facts) if bucket is None else bucket

    def _value(self, flat: Mapping[str, Any], path: str, default: Any) -> Any:
        value = flat.get(path, default)
        if value is default and f"{path.partition('.')[0]}." in flat:
            return hashable(self.reader.opened[path])
        return value

    def candidates(self, facts: Facts) -> Candidates[Item]:
        """The items that single facts do not exclude."""
        return self.bucket_of(facts).candidates(facts.once(self.reader), facts)

    def _bucket(self, key: tuple[Any, ...], facts: Facts) -> Bucket[Item]:
        left = self._all
        unknown: set[int] = set()
        for group, value in zip(self._groups, key, strict=True):
            left = group.kept(value, facts) if left is self._all else left & group.kept(value, facts)
            if value is UNKNOWN:
                unknown |= group.asking
        rows = [self._rows[n]._replace(whole=False) if n in unknown else self._rows[n] for n in sorted(left)]
        done = {group.path for group in self._groups}
        return remember(self._buckets, key, Bucket(rows, done, self.reader))


def _paths(rows: Iterable[Row[Item]]) -> set[str]:
    paths: set[str] = set()
    for row in rows:
        terms = row.terms if row.whole else row.item.match.leaves()
        paths.update([term.path for term in terms])
    return paths
