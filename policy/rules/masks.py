"""Rows as bits, and tables from the values of facts to the rows that they do not exclude."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Generic

from policy.facts.facts import UNKNOWN, Facts
from policy.facts.reader import FactReader
from policy.memory import remember
from policy.rules.rows import Row, Term
from policy.rules.selection import Item

__all__ = ["Bucket", "Candidates", "Table"]

# Rows are asked one by one so often before tables are made of them.
FEW_TIMES = 3


class Candidates(Generic[Item]):
    """Items that single facts do not exclude, by their numbers; the `settled` ones hold."""

    __slots__ = ("_asked", "_numbers", "items")

    def __init__(self, items: Mapping[int, Item], settled: Collection[int]) -> None:
        self.items = tuple(items.values())
        self._numbers = tuple(items)
        self._asked = tuple((n, item.match) for n, item in items.items() if n not in settled)

    def holding(self, facts: Facts) -> tuple[int, ...] | None:
        """The numbers of those that hold; None where that is unknown of one."""
        if not self._asked:
            return self._numbers
        values = {number: match.value(facts) for number, match in self._asked}
        if None in values.values():
            return None
        return tuple(number for number in self._numbers if values.get(number, True))


class Bucket(Generic[Item]):
    """Rows that share their key facts: a bit for each, and for every other fact a table of masks."""

    def __init__(self, rows: Sequence[Row[Item]], done: set[str], reader: FactReader) -> None:
        self._rows = rows
        self._done = done
        self._reader = reader
        self._times = 0
        self.everything = (1 << len(rows)) - 1
        # The rows that are not settled by single facts.
        self.open = sum(1 << place for place, row in enumerate(rows) if not row.whole)
        self._rest: dict[tuple[str, ...], tuple[int, int]] = {}
        self._answers: dict[tuple[int, int], Candidates[Item]] = {}

    @functools.cached_property
    def tables(self) -> Mapping[str, Table]:
        """By fact, from values to the rows that they do not exclude."""
        asked: dict[str, dict[int, tuple[Term, ...]]] = {}
        for place, row in enumerate(self._rows):
            for path, terms in row.asked().items():
                if path not in self._done:
                    asked.setdefault(path, {})[1 << place] = terms
        return {path: Table(path, self.everything, asked[path]) for path in sorted(asked)}

    @property
    def has_tables(self) -> bool:
        """Whether the rows have been asked about so often that tables are worth their making."""
        return self._times > FEW_TIMES

    def _one_by_one(self, facts: Facts) -> Candidates[Item]:
        """The same as `candidates`, without tables."""
        items: dict[int, Item] = {}
        settled = set()
        for row in self._rows:
            whole = row.whole
            for term in row.terms:
                if term.path in self._done:
                    continue
                fact = UNKNOWN if term.path in self._reader.open else facts.value(term.path)
                if fact is UNKNOWN:
                    whole = False
                elif not term.holds(fact):
                    break
            else:
                items[row.number] = row.item
                if whole:
                    settled.add(row.number)
        return Candidates(items, settled)

    def candidates(self, flat: Mapping[str, Any], facts: Facts) -> Candidates[Item]:
        self._times += 1
        if not self.has_tables:
            return self._one_by_one(facts)
        given = tuple(flat)
        rest = self._rest.get(given)
        mask, open_ = self._not_given(given) if rest is None else rest
        tables = self.tables
        for path, value in flat.items():
            table = tables.get(path)
            if table is not None:
                kept = table.kept.get(value)
                mask &= table.fill(value, facts) if kept is None else kept
                if value is UNKNOWN:
                    open_ |= table.asking
        return self.answer(mask, open_)

    def _not_given(self, given: tuple[str, ...]) -> tuple[int, int]:
        """The items that the defaults of all facts but the given ones leave, and those that stay open."""
        mask, open_ = self.everything, self.open
        for path, table in self.tables.items():
            if path not in given:
                is_on = f"{path.partition('.')[0]}." in given
                fact = (self._reader.opened if is_on else self._reader.defaults)[path]
                mask &= table.find(fact)
                if fact is UNKNOWN:
                    open_ |= table.asking
        return remember(self._rest, given, (mask, open_))

    def answer(self, mask: int, open_: int) -> Candidates[Item]:
        """The items of the rows in `mask`; those in `open_` are not settled by single facts."""
        found = self._answers.get((mask, open_))
        if found is not None:
            return found
        left = [(row, not open_ >> place & 1) for place, row in enumerate(self._rows) if mask >> place & 1]
        items = {row.number: row.item for row, _ in left}
        settled = {row.number for row, closed in left if closed}
        return remember(self._answers, (mask, open_), Candidates(items, settled))


class Table:
    """From one fact to the rows that it does not exclude. `kept` is by its hashable form, filled as values come."""

    def __init__(self, path: str, everything: int, asked: Mapping[int, tuple[Term, ...]]) -> None:
        self.kept: dict[Any, int] = {}
        self._path = path
        self._everything = everything
        self._asked = asked
        self.asking = sum(asked)

    def fill(self, value: Any, facts: Facts) -> int:
        return remember(self.kept, value, self.find(facts.value(self._path)))

    def find(self, fact: Any) -> int:
        """The items that a fact does not exclude; one that is unknown excludes none."""
        if fact is UNKNOWN:
            return self._everything
        return self._everything & ~self.asking | sum(
            bit for bit, terms in self._asked.items() if all(t.holds(fact) for t in terms)
        )
