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
    from policy.rules.parts import Parts
    from policy.rules.quick import Quick

__all__ = ["HasMatch", "Item", "Selection"]

# So many items are looked at before tables are made: one deployment alone, or a few for few rules, are answered
# sooner without.
FEW_ITEMS = 512


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
        self._looked_at = 0

    def candidates(self, facts: Facts) -> Sequence[Item]:
        """The items whose match may hold for `facts`, in order: true, or not settled by single facts alone."""
        if self._looked_at < FEW_ITEMS or not self._items:
            self._looked_at += len(self._items)
            return self._items
        return self._parts.candidates(facts).items

    def holding(self, facts: Facts) -> tuple[int, ...] | None:
        """The numbers of the items whose match holds, from 0 in their order; None where unknown facts leave it open."""
        return self._parts.candidates(facts).holding(facts) if self._items else ()

    def read(self, facts: Facts) -> Mapping[str, Any]:
        """The facts that any match asks for and of which the document says something, by path, hashable."""
        return facts.once(self._parts.reader) if self._items else {}

    def matching(self, document: Mapping[str, Any]) -> tuple[Item, ...] | None:
        """The items whose match holds for a facts document, in order; None where unknown facts leave it open.

        The quickest way to ask about many documents.
        """
        return self._quick.matching(document) if self._items else ()

    @functools.cached_property
    def _quick(self) -> Quick[Item]:
        from policy.rules.quick import Quick  # noqa: PLC0415  (as below)

        return Quick(self._parts)

    @functools.cached_property
    def _parts(self) -> Parts[Item]:
        from policy.rules.parts import Parts  # noqa: PLC0415  (4 ms that one deployment alone does not need)

        return Parts(self._items, self._reader() if self._reader else None)
