"""A match as boxes: it holds where one of them does, and a box holds where each of its conditions does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from policy.analysis.space import Condition, Space
from policy.analysis.unanalysable import Unanalysable
from policy.rules.match import All, Leaf, Match, Not

__all__ = ["MOST_BOXES", "Box", "boxes_of", "joined"]

# `any` within `all` multiplies: past this a match is left out, and that is said.
MOST_BOXES = 512


class Box(NamedTuple):
    """`scalars`: axis and set of values. `somes`, `alls`: axis and the set that an element, or all, must be in."""

    scalars: dict[int, int]
    somes: tuple[tuple[int, int], ...] = ()
    alls: tuple[tuple[int, int], ...] = ()

    def axes(self) -> set[int]:
        return {*self.scalars, *(a for a, _ in self.somes), *(a for a, _ in self.alls)}


EVERYTHING = Box({})


def boxes_of(match: Match, space: Space) -> list[Box]:
    """The boxes of `match`, none of them empty on its face. Raises `Unanalysable`."""
    return _boxes(match, space, holds=True)


def _boxes(match: Match, space: Space, *, holds: bool) -> list[Box]:
    if isinstance(match, Leaf):
        return [box] if (box := of_conditions((space.condition(match, holds=holds),), space)) else []
    if isinstance(match, Not):
        return _boxes(match.term, space, holds=not holds)
    if isinstance(match, All) is holds:
        return _conjunction(match.terms, space, holds=holds)
    found: list[Box] = []
    for term in match.terms:
        found += _boxes(term, space, holds=holds)
        _bound(found)
    return _merged(found) if len(found) > 1 else found


def _conjunction(terms: Iterable[Match], space: Space, *, holds: bool) -> list[Box]:
    plain: list[Condition] = []
    rest: list[list[Box]] = []
    for term in terms:
        if isinstance(term, Leaf):
            plain.append(space.condition(term, holds=holds))
        else:
            rest.append(_boxes(term, space, holds=holds))
    first = of_conditions(plain, space)
    found = [first] if first else []
    for alternatives in rest:
        found = [both for one in found for other in alternatives if (both := joined(one, other))]
        _bound(found)
    return found


def _bound(found: list[Box]) -> None:
    if len(found) > MOST_BOXES:
        raise Unanalysable(f"its `any`, `all` and `not` combine to more than {MOST_BOXES} cases")


def of_conditions(conditions: Iterable[Condition], space: Space) -> Box | None:
    """The box of all `conditions`, or None where two of them exclude each other."""
    scalars: dict[int, int] = {}
    somes: list[tuple[int, int]] = []
    alls: dict[int, int] = {}
    for axis, kind, mask in conditions:
        full = space.axes[axis].full
        if kind == "some":
            if not mask:
                return None
            somes.append((axis, mask))
        elif kind == "all":
            if mask != full:
                alls[axis] = alls.get(axis, full) & mask
        elif mask != full:
            scalars[axis] = kept = scalars.get(axis, full) & mask
            if not kept:
                return None
        elif not mask:
            return None
    return _with_lists(scalars, somes, alls)


def joined(one: Box, other: Box) -> Box | None:
    """What both boxes hold, or None where that is nothing."""
    scalars = dict(one.scalars)
    for axis, mask in other.scalars.items():
        kept = scalars[axis] & mask if axis in scalars else mask
        if not kept:
            return None
        scalars[axis] = kept
    if not (one.somes or one.alls or other.somes or other.alls):
        return Box(scalars)
    alls = dict(one.alls)
    for axis, mask in other.alls:
        alls[axis] = alls[axis] & mask if axis in alls else mask
    return _with_lists(scalars, [*one.somes, *other.somes], alls)


def _with_lists(scalars: dict[int, int], somes: list[tuple[int, int]], alls: dict[int, int]) -> Box | None:
    if alls:
        somes = [(axis, mask & alls.get(axis, mask)) for axis, mask in somes]
        if not all(mask for _, mask in somes):
            return None
    # Where one element serves two conditions, the wider says nothing more.
    if len(somes) > 1:
        kept = dict.fromkeys(somes)
        somes = [
            (axis, mask)
            for axis, mask in kept
            if not any(a == axis and m != mask and m & mask == m for a, m in kept)
        ]
    return Box(scalars, tuple(somes), tuple(alls.items()))


def _merged(found: list[Box]) -> list[Box]:
    """Boxes that differ in one set only become one: `any` over the values of one fact is a single box."""
    by_rest: dict[object, Box] = {}
    for box in found:
        key: object
        if not box.alls and not box.somes and len(box.scalars) == 1:
            key = ("is", next(iter(box.scalars)))
        elif not box.alls and not box.scalars and len(box.somes) == 1:
            key = ("some", box.somes[0][0])
        else:
            key = (tuple(sorted(box.scalars.items())), box.somes, box.alls)
        earlier = by_rest.get(key)
        if earlier is None:
            by_rest[key] = box
        elif isinstance(key, tuple) and key[0] == "is":
            axis = key[1]
            by_rest[key] = Box({axis: earlier.scalars[axis] | box.scalars[axis]})
        elif isinstance(key, tuple) and key[0] == "some":
            by_rest[key] = Box({}, ((key[1], earlier.somes[0][1] | box.somes[0][1]),))
    return list(by_rest.values())
