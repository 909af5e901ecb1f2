"""Skips what cannot matter: matches that default facts settle, and that the given facts do not touch.

A deployment names a dozen facts of hundreds. A match none of whose facts is given has the value that it has for
an empty document, so it is asked once and not for every deployment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, Protocol, TypeVar

from policy.facts.facts import Facts, touches
from policy.rules.match import Match

__all__ = ["MatchIndex"]


class HasMatch(Protocol):
    @property
    def match(self) -> Match: ...


Item = TypeVar("Item", bound=HasMatch)


class MatchIndex(Generic[Item]):
    """Items with a match, in their order. `candidates` leaves out those that certainly do not match."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._items = tuple(items)
        self._asked: tuple[tuple[Item, frozenset[str] | None], ...] | None = None
        self._first = True

    def candidates(self, facts: Facts) -> Sequence[Item]:
        """The items whose match may hold for `facts`, in order."""
        if self._first or not self._items:
            self._first = False  # one deployment alone is answered sooner without an index
            return self._items
        if self._asked is None:
            self._asked = self._ask()
        given = facts.given
        return [item for item, touched in self._asked if touched is None or not touched.isdisjoint(given)]

    def _ask(self) -> tuple[tuple[Item, frozenset[str] | None], ...]:
        """Each item with what it must be touched by; None where it may hold for an empty document already."""
        nothing = Facts({})
        return tuple(
            (item, None if item.match.value(nothing) is not False else _touches(item.match))
            for item in self._items
        )


def _touches(match: Match) -> frozenset[str]:
    return frozenset().union(*(touches(leaf.path) for leaf in match.leaves()))
