"""Whether a box reaches beyond others: a point in it that none of them holds, or those that leave no such point.

What avoids a box violates one of its conditions. Where a box has one condition left, that is forced; else the
conditions are tried in turn, each with those before it fulfilled, so that no point is looked at twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from policy.analysis.boxes import Box
from policy.analysis.space import Space

__all__ = ["LIMIT", "Budget", "OverBudget", "Point", "Search"]


# Steps of a whole run; one takes two to five microseconds. 10,000 rules such as people write take half a million, and
# 4,400 that all overlap use them up: past them the analysis says what it left out.
LIMIT = 10_000_000

# A condition that holds in a part of the region: its kind, its axis and its values.
Open = tuple[str, int, int]


class OverBudget(Exception):  # noqa: N818  (becomes a `Cut`)
    """The question would take longer than is allowed."""


class Budget:
    """Steps that may still be taken, by all questions together and by one. A step looks at one box once."""

    __slots__ = ("left", "per_question")

    def __init__(self, limit: int, per_question: int | None = None) -> None:
        self.left = limit
        self.per_question = max(1, limit // 100) if per_question is None else per_question


class Point(NamedTuple):
    """Where to be: any value of `scalars` by axis, and lists with an element of each of `needs`, all in `allowed`."""

    scalars: dict[int, int]
    allowed: dict[int, int]
    needs: tuple[tuple[int, int], ...]


class Search:
    """Answers questions about one space. `used` are the indices of the boxes that the last answer rests on."""

    def __init__(self, space: Space, budget: Budget) -> None:
        self._axes = space.axes
        self._budget = budget
        self._left = 0
        self.used: set[int] = set()

    def allow(self, count: int) -> None:
        """Raise `OverBudget` where a question could not look at `count` boxes once."""
        if count >= min(self._budget.left, self._budget.per_question):
            raise OverBudget

    def outside(self, box: Box, others: Sequence[Box]) -> Point | None:
        """A point of `box` that is in none of `others`, or None. Raises `OverBudget`."""
        self.used = set()
        self._left = min(self._budget.left, self._budget.per_question)
        before = self._left
        try:
            point = Point(dict(box.scalars), dict(box.alls), box.somes)
            return self._avoid(point, list(enumerate(others)))
        finally:
            self._budget.left -= before - self._left

    def _avoid(self, point: Point, pending: list[tuple[int, Box]]) -> Point | None:
        """A point of the region `point` outside of all of `pending`."""
        settled = self._forced(point, pending)
        if settled is None:
            return None
        point, pending, open_ = settled
        easy = self._greedily(point, pending)
        if easy is not None:
            return easy
        for condition in open_:
            violated = self._violated(point, *condition)
            if violated is not None:
                found = self._avoid(violated, pending[1:])
                if found is not None:
                    return found
            fulfilled = self._fulfilled(point, *condition)
            if fulfilled is None:
                return None
            point = fulfilled
        return None

    def _greedily(self, point: Point, pending: list[tuple[int, Box]]) -> Point | None:
        """A point by giving up the first condition of each box in turn, if that happens to do."""
        self._left -= len(pending)
        point = point._replace(scalars=dict(point.scalars))
        for _, box in pending:
            open_ = self._open(point, box)
            if open_ is None:
                continue
            after = self._without(point, *open_[0]) if open_ else None
            if after is None:
                return None
            point = after
        return point

    def _forced(
        self, point: Point, pending: list[tuple[int, Box]]
    ) -> tuple[Point, list[tuple[int, Box]], list[Open]] | None:
        """The region once everything that is forced is done; the boxes that are left, first the one to try next,
        and its open conditions. None where nothing is left of the region."""
        point = point._replace(scalars=dict(point.scalars))
        forced = True
        while forced:
            self._left -= len(pending) + 1
            if self._left < 0:
                raise OverBudget
            forced = False
            rest: list[tuple[int, Box]] = []
            next_: list[Open] = []
            for entry in pending:
                open_ = self._open(point, entry[1])
                if open_ is None:
                    continue
                if len(open_) <= 1:
                    self.used.add(entry[0])
                    after = self._without(point, *open_[0]) if open_ else None
                    if after is None:
                        return None
                    point, forced = after, True
                elif not rest or len(open_) < len(next_):
                    rest.insert(0, entry)
                    next_ = open_
                else:
                    rest.append(entry)
            pending = rest
        if pending:
            self.used.add(pending[0][0])
        return point, pending, next_

    def _open(self, point: Point, box: Box) -> list[Open] | None:
        """The conditions of `box` that hold in parts of the point's region; None where one holds nowhere in it."""
        open_: list[Open] = []
        scalars = point.scalars
        for axis, mask in box.scalars.items():
            here = scalars.get(axis)
            if here is None:
                open_.append(("is", axis, mask))
            elif not here & mask:
                return None
            elif here & ~mask:
                open_.append(("is", axis, mask))
        for axis, mask in box.somes:
            allowed = point.allowed.get(axis)
            if allowed is not None and not allowed & mask:
                return None
            if not any(a == axis and not need & ~mask for a, need in point.needs):
                open_.append(("some", axis, mask))
        for axis, mask in box.alls:
            allowed = point.allowed.get(axis)
            if any(a == axis and not need & mask for a, need in point.needs):
                return None
            if allowed is None or allowed & ~mask:
                open_.append(("all", axis, mask))
        if len(open_) > 1:  # what says least about the deployment is given up first
            open_.sort(key=self._cost)
        return open_

    def _cost(self, condition: Open) -> tuple[int, int]:
        kind, axis, mask = condition
        return (0 if kind == "some" else 1, mask.bit_count() - self._axes[axis].full.bit_count())

    def _without(self, point: Point, kind: str, axis: int, mask: int) -> Point | None:
        """As `_violated`, of a region of one's own, whose scalars are changed in place: there may be thousands."""
        if kind != "is":
            return self._violated(point, kind, axis, mask)
        kept = point.scalars.get(axis, self._axes[axis].full) & ~mask
        if not kept:
            return None
        point.scalars[axis] = kept
        return point

    def _violated(self, point: Point, kind: str, axis: int, mask: int) -> Point | None:
        """The part of the region where the condition does not hold, or None where there is none."""
        full = self._axes[axis].full
        if kind == "is":
            return self._with_scalar(point, axis, full & ~mask)
        if kind == "some":
            return self._with_allowed(point, axis, full & ~mask)
        return self._with_need(point, axis, full & ~mask)

    def _fulfilled(self, point: Point, kind: str, axis: int, mask: int) -> Point | None:
        if kind == "is":
            return self._with_scalar(point, axis, mask)
        return self._with_need(point, axis, mask) if kind == "some" else self._with_allowed(point, axis, mask)

    def _with_scalar(self, point: Point, axis: int, mask: int) -> Point | None:
        kept = point.scalars.get(axis, mask) & mask
        return point._replace(scalars={**point.scalars, axis: kept}) if kept else None

    def _with_allowed(self, point: Point, axis: int, mask: int) -> Point | None:
        allowed = point.allowed.get(axis, mask) & mask
        needs = tuple((a, need & allowed if a == axis else need) for a, need in point.needs)
        if not all(need for _, need in needs):
            return None
        return Point(point.scalars, {**point.allowed, axis: allowed}, needs)

    def _with_need(self, point: Point, axis: int, mask: int) -> Point | None:
        need = mask & point.allowed.get(axis, mask)
        return point._replace(needs=(*point.needs, (axis, need))) if need else None
