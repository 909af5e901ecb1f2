"""The ways in which a match can hold, each as what it asks of single facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple

from policy.rules.match import All, Leaf, Match, Not
from policy.rules.selection import Item

__all__ = ["Row", "Term", "rows_of"]

# Ways of one match that are told apart; a match with more is asked as a whole.
MOST_WAYS = 32


class _Not:
    """A leaf that must not hold."""

    __slots__ = ("_leaf", "path", "tests")

    def __init__(self, leaf: Leaf) -> None:
        self.path = leaf.path
        self.tests = ("not", *leaf.tests)
        self._leaf = leaf

    def holds(self, fact: Any) -> bool:
        return not self._leaf.holds(fact)


Term = Leaf | _Not


class Row(NamedTuple, Generic[Item]):
    """One of the ways in which the match of an item can hold: all `terms` do. Where not `whole`, more is needed."""

    number: int
    item: Item
    terms: Sequence[Term]
    whole: bool

    def asked(self) -> dict[str, tuple[Term, ...]]:
        """What is asked of each single fact."""
        found: dict[str, tuple[Term, ...]] = {}
        for term in self.terms:
            found[term.path] = (*found[term.path], term) if term.path in found else (term,)
        return found


def rows_of(number: int, item: Item) -> list[Row[Item]]:
    """The ways in which a match can hold; one that is not whole where there are too many."""
    terms = item.match.terms if isinstance(item.match, All) else (item.match,)
    plain = [term for term in terms if isinstance(term, Leaf)]
    if len(plain) == len(terms):  # most matches
        return [Row(number, item, plain, whole=True)]
    ways = _ways(item.match, wanted=True)
    if ways is None:
        return [Row(number, item, plain, whole=False)]
    return [Row(number, item, way, whole=True) for way in ways]


def _ways(match: Match, *, wanted: bool) -> list[tuple[Term, ...]] | None:
    """The match as alternatives of terms that must all hold; None where there are too many."""
    if isinstance(match, Leaf):
        return [(match if wanted else _Not(match),)]
    if isinstance(match, Not):
        return _ways(match.term, wanted=not wanted)
    together = isinstance(match, All) is wanted
    found: list[tuple[Term, ...]] = [()] if together else []
    for term in match.terms:
        ways = _ways(term, wanted=wanted)
        if ways is None:
            return None
        found = [(*a, *b) for a in found for b in ways] if together else [*found, *ways]
        if len(found) > MOST_WAYS:
            return None
    return found
