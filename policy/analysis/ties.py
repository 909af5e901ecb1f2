"""What cannot be, as boxes to avoid: values below objects that are off, and the like."""

from __future__ import annotations

from policy.analysis.boxes import Box, of_conditions
from policy.analysis.space import Space

__all__ = ["Ties"]


class Ties:
    """The ties of one space (see `Space.ties`), each made once."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._by_axis: dict[int, tuple[list[Box], tuple[int, ...]]] = {}

    def of(self, axes: set[int]) -> tuple[list[Box], set[int]]:
        """The boxes to avoid for questions about `axes`; and the axes with those that they hang on."""
        found: list[Box] = []
        seen: set[int] = set()
        open_ = axes
        while open_:
            seen |= open_
            further: set[int] = set()
            for axis in open_:
                if axis not in self._by_axis:
                    ties, hangs_on = self._space.ties(axis)
                    boxes = [box for tie in ties if (box := of_conditions(tie, self._space))]
                    self._by_axis[axis] = boxes, hangs_on
                found += self._by_axis[axis][0]
                further.update(self._by_axis[axis][1])
            open_ = further - seen
        return found, seen
