"""Leaves out the rules that certainly do not match a deployment, without asking each: rules are bits, facts are masks.

For each fact that rules name there is a table from its values to the rules that they do not exclude. Rules are first
told apart by the facts that most of them name (architecture and platform, as a rule), so that masks stay short
however many rules there are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from policy.facts.facts import Facts
from policy.rules.match import Match

if TYPE_CHECKING:
    from policy.facts.reader import FactReader
    from policy.rules.parts import Parts, Shaped

__all__ = ["HasMatch", "Item", "Selection"]

# One deployment alone is answered sooner without tables.
FEW_TIMES = 8
# A shape that came so often is read in a quicker way.
OFTEN = 64
# Shapes that are counted.
MOST_SHAPES = 1_000


class HasMatch(Protocol):
    @property
    def match(self) -> Match: ...


Item = TypeVar("Item", bound=HasMatch)


class Selection(Generic[Item]):
    """Items with a match, in their order.

    `reader` gives what reads facts, if that is shared by several selections; it is asked for when it is needed.
    """

    def __init__(self, items: Iterable[Item], reader: Callable[[], FactReader] | None = None) -> None:
        self._items = tuple(items)
        self._reader = reader
        self._times = 0
        self._shaped: Shaped[Item] | None = None
        self._seen: dict[tuple[str, ...], int] = {}

    def candidates(self, facts: Facts) -> Sequence[Item]:
        """The items whose match may hold for `facts`, in order: true, or not settled by single facts alone."""
        if self._times < FEW_TIMES or not self._items:
            self._times += 1
            return self._items
        return self._parts.candidates(facts).items

    def holding(self, facts: Facts) -> tuple[int, ...] | None:
        """The numbers of the items whose match holds, from 0 in their order; None where unknown facts leave it open."""
        return self._parts.candidates(facts).holding(facts) if self._items else ()

    def matching(self, document: Mapping[str, Any]) -> tuple[Item, ...] | None:
        """The items whose match holds for a facts document, in order; None where unknown facts leave it open.

        The quickest way to ask about many documents.
        """
        shaped = self._shaped
        if shaped is not None:
            values = shaped.read(document)
            if values is not None:
                return shaped.matching(values, document)
        if not self._items:
            return ()
        facts = Facts(document)
        found = self._parts.candidates(facts)
        self._see(facts)
        numbers = found.holding(facts)
        return None if numbers is None else self._parts.numbered(numbers)

    def _see(self, facts: Facts) -> None:
        """A shape that keeps coming is read in a quicker way."""
        parts = self._parts
        given = tuple(facts.once(parts.reader))
        times = self._seen[given] = self._seen.get(given, 0) + 1
        if times >= OFTEN:
            from policy.rules.parts import shaped  # noqa: PLC0415  (as below)

            self._shaped = shaped(facts, parts)
        if times >= OFTEN or len(self._seen) >= MOST_SHAPES:
            self._seen.clear()

    @functools.cached_property
    def _parts(self) -> Parts[Item]:
        from policy.rules.parts import Parts  # noqa: PLC0415  (4 ms that one deployment alone does not need)

        return Parts(self._items, self._reader() if self._reader else None)
