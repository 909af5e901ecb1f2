"""Pairs of rules that disagree with equal weight, each with a deployment for which the resolver says so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from policy.analysis.boxes import Box, joined
from policy.analysis.findings import Conflict, Cut
from policy.analysis.ranked import Ranked, bits
from policy.analysis.search import OverBudget, Point

__all__ = ["MOST_CONFLICTS", "conflicts"]

# Each has a witness that the resolver was asked about; a set with more is to be mended before the rest matters.
MOST_CONFLICTS = 100


class _Pair(NamedTuple):
    first: int
    second: int
    code: Literal["conflicting-rules", "conflicting-env"]
    variable: str | None


def conflicts(ranked: Ranked, most: int = MOST_CONFLICTS) -> Iterator[Conflict | Cut]:
    """Every pair that can disagree, those for models of one architecture first; `Cut` for what was not settled."""
    found = 0
    for pair in _pairs(ranked):
        if found >= most:
            why = (
                f"the first {found} conflicts are shown; further pairs of rules that overlap were not settled"
            )
            yield Cut("conflicts", why)
            return
        names = (ranked.rules[pair.first].id, ranked.rules[pair.second].id)
        try:
            conflict = _conflict(ranked, pair)
        except OverBudget:
            yield Cut(
                "conflicts", "too many rules overlap with both to settle whether they can disagree", names
            )
            continue
        if conflict is not None:
            found += isinstance(conflict, Conflict)
            yield conflict


def _pairs(ranked: Ranked) -> Iterator[_Pair]:
    """Pairs of equal weight whose boxes meet and that want something else: first those that meet in lists of one
    element, then the others."""
    in_longer_lists: list[int] = []
    for i in range(len(ranked.rules)):
        met, near = _later_near(ranked, i)
        if near:
            yield from _wanting(ranked, i, _owners(ranked, met))
        if near & ~met:
            in_longer_lists.append(i)
    for i in in_longer_lists:
        met, near = _later_near(ranked, i)
        yield from _wanting(ranked, i, _owners(ranked, near & ~met) - _owners(ranked, met))


def _later_near(ranked: Ranked, i: int) -> tuple[int, int]:
    """The boxes of later rules of equal weight and another wish that rule `i` meets in lists of one element, and in
    any."""
    _, last = ranked.groups[i]
    if last == i + 1:
        return 0, 0
    rest = ranked.between(i + 1, last)
    met = near = 0
    for b in ranked.boxes_of_rule(i):
        met |= ranked.near(ranked.boxes[b])
        near |= ranked.near(ranked.boxes[b], lists=False)
    if not near & rest:
        return 0, 0
    rest &= ranked.wanting_else(ranked.rules[i])
    return met & rest, near & rest


def _owners(ranked: Ranked, boxes: int) -> set[int]:
    return {ranked.owner[b] for b in bits(boxes)}


def _wanting(ranked: Ranked, i: int, others: Iterable[int]) -> Iterator[_Pair]:
    """The pairs of rule `i` with those of `others` that want something else, in their order."""
    one = ranked.rules[i]
    for j in sorted(others):
        other = ranked.rules[j]
        if one.runner != other.runner:
            yield _Pair(i, j, "conflicting-rules", None)
            continue
        for name, value in one.env.items():
            if name in other.env and other.env[name] != value:
                yield _Pair(i, j, "conflicting-env", name)
                break


def _conflict(ranked: Ranked, pair: _Pair) -> Conflict | Cut | None:
    """The conflict of a pair with its witness, if they can disagree. Raises `OverBudget`."""
    from policy.analysis.witness import decide, several, witness_at  # noqa: PLC0415  (loads the resolver)

    first, second = ranked.rules[pair.first], ranked.rules[pair.second]
    group = ranked.groups[pair.first]
    above = ranked.between(0, group[0])
    beside = ranked.between(*group) & ~ranked.between(pair.first, pair.first + 1)
    beside &= ~ranked.between(pair.second, pair.second + 1)
    if pair.code == "conflicting-env":  # a rule for another runner would be the error
        for j in range(*group):
            if ranked.rules[j].runner != first.runner:
                above |= ranked.between(j, j + 1)
    # Without the other rules of their rank, the decision names just these two.
    for avoided in (above | beside, above):
        found = _point(ranked, pair, avoided)
        if found is not None:
            point, axes = found
            witness = witness_at(point, axes, ranked.space, ranked.homes, [ranked.policies])
            decision = decide(ranked.policies, witness, ranked.homes)
            if decision.errors and decision.errors[0].code == pair.code:
                lists = several(point, axes, ranked.space)
                return Conflict(first, second, pair.code, witness, pair.variable, lists)
            if avoided == above:
                why = "they seem to disagree, and the resolver did not confirm it"
                return Cut("conflicts", why, (first.id, second.id))
    return None


def _point(ranked: Ranked, pair: _Pair, avoided: int) -> tuple[Point, set[int]] | None:
    for a in ranked.boxes_of_rule(pair.first):
        for b in ranked.boxes_of_rule(pair.second):
            for both in _together(ranked.boxes[a], ranked.boxes[b]):
                others = ranked.listed(ranked.near(both) & avoided)
                overruled = ranked.rules[pair.first].enforce == "prefer"
                point, _, _, axes = ranked.outside(both, others, overruled=overruled)
                if point is not None:
                    return point, axes
    return None


def _together(one: Box, other: Box) -> Iterator[Box]:
    """What both boxes hold: first with one element of a list that serves both, then as it is."""
    both = joined(one, other)
    if both is None:
        return
    single = dict(both.somes)
    for axis, mask in both.somes:
        single[axis] &= mask
    if len(single) < len(both.somes) and all(single.values()):
        yield both._replace(somes=tuple(single.items()))
    yield both
