"""Tells rows apart by the fact that most of them name, before anything else is asked."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from policy.facts.facts import UNKNOWN, Facts
from policy.facts.fields import field
from policy.memory import remember
from policy.rules.match import Equal, Leaf
from policy.rules.rows import Row, Term
from policy.rules.selection import Item

__all__ = ["Group", "key_facts"]

MOST_KEYS = 2


def key_facts(rows: Sequence[Row[Item]]) -> tuple[str, ...]:
    """The facts by which to tell the rows apart first: texts that many of them name."""
    counts = Counter([term.path for row in rows for term in row.terms])
    texts = [path for path, count in counts.most_common() if count * 3 >= len(rows) and _is_text(path)]
    return tuple(texts[:MOST_KEYS])


@functools.cache
def _is_text(path: str) -> bool:
    # Not versions: they are compared, and there are too many.
    known = field(path)
    types = set(known.types) if known else set()
    return types <= {"string", "array", "null"} and path != "vllm" and not path.startswith("packages.")


class Group:
    """Which rows a value of one fact leaves. Those that name it in plain words are found without a search."""

    def __init__(self, path: str, rows: Sequence[Row[Item]]) -> None:
        self.path = path
        self._free: set[int] = set()
        self._named: dict[str, set[int]] = {}
        self._asked: dict[tuple[Any, ...], tuple[list[Term], set[int]]] = {}
        self._kept: dict[Any, frozenset[int]] = {}
        for number, row in enumerate(rows):
            terms = [term for term in row.terms if term.path == path]
            if not terms:
                self._free.add(number)
            elif names := _names(terms):
                for name in names:
                    self._named.setdefault(name, set()).add(number)
            else:
                tests = tuple([term.tests for term in terms])
                self._asked.setdefault(tests, (terms, set()))[1].add(number)
        self._all = range(len(rows))
        self.asking = set(self._all) - self._free

    def kept(self, value: Any, facts: Facts) -> frozenset[int]:
        """The numbers of the rows that the fact, of which `value` is the hashable form, does not exclude."""
        kept = self._kept.get(value)
        if kept is None:
            kept = remember(self._kept, value, frozenset(self._find(facts.value(self.path))))
        return kept

    def _find(self, fact: Any) -> Iterable[int]:
        if fact is UNKNOWN:
            return self._all
        left = set(self._free)
        for element in fact if isinstance(fact, list) else [fact]:
            if isinstance(element, str):
                left |= self._named.get(element, set())
        for terms, numbers in self._asked.values():
            if all(term.holds(fact) for term in terms):
                left |= numbers
        return left


def _names(terms: Sequence[Term]) -> list[str]:
    """The names of which one must be there, if that is all that is asked."""
    if len(terms) != 1 or not isinstance(terms[0], Leaf):
        return []
    tests = terms[0].tests
    names = [test.value for test in tests if isinstance(test, Equal) and isinstance(test.value, str)]
    return names if len(names) == len(tests) else []
