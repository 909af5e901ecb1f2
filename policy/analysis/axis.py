"""One axis of the space: the values of a fact, in parts. Sets of parts are bit masks."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from policy.analysis.texts import frame_of
from policy.analysis.versions import VersionLine
from policy.facts.facts import ABSENT
from policy.rules.match import Compare, Differs, Equal, Exists, Glob, Release, Test, is_glob

__all__ = ["OPAQUE", "Axis"]

# Stands for a mapping, or a list in a list: it equals no scalar.
OPAQUE: dict[str, Any] = {}
# Of more globs on a list of architectures, witnesses keep made-up names: real ones would take long to find.
MOST_GLOBS = 32


class Axis:
    """The values of one fact, or of an element of it where it is a list. `values[i]` stands for part i.

    Numbers come last and ascend, so that what is compared with a bound is a range of parts.
    """

    __slots__ = (
        "_bits",
        "_first_number",
        "_globs",
        "_liked",
        "_named",
        "_numbers",
        "_registered",
        "_unnamed",
        "absent",
        "full",
        "line",
        "path",
        "values",
        "whole",
    )

    def __init__(self, path: str, values: Sequence[Any], line: VersionLine | None, *, whole: bool) -> None:
        """`values` begin with what a witness shows rather than the others."""
        self.path = path
        self.values, self._liked, self._numbers = _ascending(values)
        self._first_number = len(values) - len(self._numbers)
        self.line = line
        self.whole = whole  # a value of its own, not an element of a list
        self.full = (1 << len(values)) - 1
        self._bits = {(type(v) is bool, v): i for i, v in enumerate(self.values) if type(v) is not dict}
        self._globs: dict[str, int] = {}
        self._named: set[tuple[bool, Any]] = set()
        self._unnamed: int | None = None
        self._registered: dict[Sequence[str], dict[int, str]] = {}
        at = self._bits.get((False, ABSENT))
        self.absent = 0 if at is None else 1 << at  # the part of no value

    @property
    def ascends(self) -> bool:
        """Whether most sets of parts are ranges: those of releases and of numbers."""
        return self.line is not None or len(self._numbers) > 1

    def liked(self, mask: int) -> int:
        """The part of a set that a witness shows."""
        if not self._liked:  # the parts are in that order
            return (mask & -mask).bit_length() - 1
        return next(part for part in self._liked if mask >> part & 1)

    def mask(self, tests: tuple[Test, ...]) -> int:
        """The parts for which one of `tests` holds."""
        if len(tests) == 1:
            return self._one(tests[0])
        found = 0
        for test in tests:
            found |= self._one(test)
        return found

    def part(self, text: str) -> int:
        """The part that a text is in, once all tests have been asked for."""
        at = self._bits.get((False, text))
        if at is not None:
            return 1 << at
        found = self._unnamed
        if found is None:
            found = self._unnamed = sum(
                1 << i
                for i, value in enumerate(self.values)
                if type(value) is str and (False, value) not in self._named
            )
        for pattern, mask in self._globs.items():
            found &= mask if Glob(pattern).holds(text) else ~mask
        return found

    def registered(self, names: Sequence[str]) -> Mapping[int, str]:
        """For each part the first of `names` that is in it; none at all where it would take long to find them."""
        if len(self._globs) > MOST_GLOBS:
            return {}
        found = self._registered.get(names)
        if found is None:
            found = self._registered[names] = {}
            for name in names:
                found.setdefault(self.part(name), name)
        return found

    def _one(self, test: Test) -> int:
        if isinstance(test, Equal):
            at = self._bits.get((type(test.value) is bool, test.value))
            self._named.add((type(test.value) is bool, test.value))
            return 0 if at is None else 1 << at
        if isinstance(test, Exists):
            present = self.full & ~self.absent
            return present if test.wanted else self.absent
        if isinstance(test, Release):
            return self.line.mask(test.specifier) if self.line else 0
        if isinstance(test, Differs):
            same = self._glob(test.value) if is_glob(test.value) else self._one(Equal(test.value))
            return self.full & ~self.absent & ~same
        if isinstance(test, Glob):
            return self._glob(test.pattern)
        return self._compared(test)

    def _compared(self, test: Compare) -> int:
        cut = bisect_left if test.operator in ("ge", "lt") else bisect_right
        at = self._first_number + cut(self._numbers, test.bound)
        if test.operator in ("ge", "gt"):
            return (1 << len(self.values)) - (1 << at)
        return (1 << at) - (1 << self._first_number)

    def _glob(self, pattern: str) -> int:
        if pattern not in self._globs:
            frame = frame_of(pattern)
            self._globs[pattern] = self._holding(Glob(pattern)) if frame is None else self._framed(*frame)
        return self._globs[pattern]

    def _framed(self, head: str, tail: str) -> int:
        """What a pattern of one star holds for, without a regular expression for each value."""
        long = len(head) + len(tail)
        found = 0
        for i, value in enumerate(self.values):
            if type(value) is str and value.startswith(head) and value.endswith(tail) and len(value) >= long:
                found |= 1 << i
        return found

    def _holding(self, test: Glob) -> int:
        return sum(1 << i for i, value in enumerate(self.values) if value is not ABSENT and test.holds(value))


def _ascending(values: Sequence[Any]) -> tuple[Sequence[Any], Sequence[int], Sequence[float]]:
    """The values with their numbers last, ascending; where each of them went, if any moved; and the numbers."""
    numbers = [i for i, value in enumerate(values) if _is_number(value)]
    if not numbers:
        return values, (), ()
    numbers.sort(key=values.__getitem__)
    order = [*(i for i, value in enumerate(values) if not _is_number(value)), *numbers]
    went = {i: part for part, i in enumerate(order)}
    return [values[i] for i in order], [went[i] for i in range(len(values))], [values[i] for i in numbers]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
