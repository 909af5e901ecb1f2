"""The space of deployments that some matches can tell apart: an axis for each fact, its values in finitely many parts.

Sets of parts are bit masks. A list (`model_config.architectures`) matches when one of its elements does: its axis is
that of an element, and a condition on it says that some element is in a set, or that all are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from packaging.version import Version

from policy.analysis.axis import OPAQUE, Axis
from policy.analysis.shape import Shape, normal, shape_of
from policy.analysis.unanalysable import Unanalysable
from policy.analysis.values import default_first, element_values, scalar_values
from policy.analysis.versions import VersionLine
from policy.facts.facts import ABSENT
from policy.rules.match import Exists, Leaf, Match, Not, Release, Test

__all__ = ["Condition", "Space"]

NOT_A_VERSION = "not a version"

# What must hold on one axis: (axis, kind, mask). The value is in the mask (`is`), `some` element of the list is, or
# `all` are.
Condition = tuple[int, Literal["is", "some", "all"], int]


class Space:
    """Axes for the leaves of matches. `conditions` turns a leaf into one on an axis."""

    def __init__(
        self, matches: Iterable[Match], cuts: Iterable[Version] = (), more: Iterable[Leaf] = ()
    ) -> None:
        """`cuts` are versions of vLLM at which its line is cut, too."""
        self._tests: dict[str, list[Test]] = {}
        self.axes: list[Axis] = []
        self._by_path: dict[str, int] = {}
        self._presence: dict[str, int] = {}
        self._failed: dict[str, str] = {}
        self._conditions: dict[tuple[int, bool], tuple[Leaf, Condition]] = {}
        self._cuts = tuple(cuts)
        self._wide: set[int] = set()
        self.has_free = False  # whether a fact lies below an entry of a free-form object
        for match in matches:
            self._collect(match)
        for leaf in more:
            self._collect(leaf)

    def _collect(self, match: Match) -> None:
        if isinstance(match, Leaf):
            self._tests.setdefault(normal(match.path), []).extend(match.tests)
        elif isinstance(match, Not):
            self._collect(match.term)
        else:
            for term in match.terms:
                self._collect(term)

    # -- axes ------------------------------------------------------------------------------------------------

    def axis(self, path: str) -> int:
        """The axis of the values at `path`, or of the elements of the list there."""
        at = self._by_path.get(path)
        if at is not None:
            return at  # the usual case
        path = normal(path)
        at = self._by_path.get(path)
        if at is None:
            if path in self._failed:
                raise Unanalysable(self._failed[path])
            shape = shape_of(path)
            self.has_free = self.has_free or shape.free is not None
            whole = "array" not in shape.types
            try:
                values, line = self._values(path, shape, whole=whole)
            except Unanalysable as problem:
                self._failed[path] = str(problem)
                raise
            at = self._by_path[path] = len(self.axes)
            self.axes.append(Axis(path, values, line, whole=whole))
        return at

    def presence(self, path: str) -> int:
        """The axis that says whether there is anything at `path`: the fact's own, or a second one for a list."""
        path = normal(path)
        if path not in self._presence:
            shape = shape_of(path)
            if "array" not in shape.types:
                self._presence[path] = self.axis(path)
            else:
                values = default_first(shape.known, [OPAQUE, ABSENT]) if shape.may_be_absent else [OPAQUE]
                self._presence[path] = len(self.axes)
                self.axes.append(Axis(path, values, None, whole=True))
        return self._presence[path]

    def tied_wide(self, axis: int) -> bool:
        """Whether something below an entry of a free-form object says what the entry is."""
        return axis in self._wide

    def releases(self) -> tuple[int, VersionLine]:
        """The axis of vLLM's releases, and their line."""
        at = self.axis("vllm")
        line = self.axes[at].line
        if line is None:
            raise Unanalysable("`vllm` is no release here")
        return at, line

    def is_list(self, axis: int) -> bool:
        return not self.axes[axis].whole

    def _values(self, path: str, shape: Shape, *, whole: bool) -> tuple[list[Any], VersionLine | None]:
        tests = self._tests.get(path, [])
        line = None
        values: list[Any]
        if path == "vllm" or path.startswith("packages."):
            line = VersionLine(
                dict.fromkeys(t.specifier for t in tests if isinstance(t, Release)),
                self._cuts if path == "vllm" else (),
            )
            values = list(line.samples)
            if path != "vllm":
                values += [NOT_A_VERSION, ABSENT]
            return values, line
        if whole:
            values = scalar_values(shape.types, shape.known, tests)
            if shape.may_be_absent:
                values.append(ABSENT)
            return default_first(shape.known, values), None
        return element_values(path, shape.types, tests), None

    # -- conditions ------------------------------------------------------------------------------------------

    def condition(self, leaf: Leaf, *, holds: bool) -> Condition:
        """The leaf, or that it does not hold, as a condition. Raises `Unanalysable`."""
        known = self._conditions.get((id(leaf), holds))  # reading gives equal conditions one leaf
        if known is None:
            # The leaf is kept with it, so that no other gets its id.
            known = self._conditions[id(leaf), holds] = leaf, self._condition(leaf, holds=holds)
        return known[1]

    def _condition(self, leaf: Leaf, *, holds: bool) -> Condition:
        tests = leaf.tests
        if len(tests) == 1:
            axis = self.presence(leaf.path) if isinstance(tests[0], Exists) else self.axis(leaf.path)
        elif any(isinstance(test, Exists) for test in tests):
            raise Unanalysable(f"`{leaf.path}` asks for values and for presence at once")
        else:
            axis = self.axis(leaf.path)
        here = self.axes[axis]
        mask = here.mask(tests)
        if here.whole:
            return (axis, "is", mask if holds else here.full & ~mask)
        return (axis, "some", mask) if holds else (axis, "all", here.full & ~mask)

    def ties(self, axis: int) -> tuple[list[tuple[Condition, ...]], tuple[int, ...]]:
        """What cannot be: conditions that never hold together, on `axis` and what it hangs on; and those axes.

        Nothing is below an object that is off, and what cannot be null is there where the object above is on.
        """
        path = self.axes[axis].path
        shape = shape_of(path)
        here = self.presence(path)
        there = self.axes[here].full & ~self.axes[here].absent
        absent = self.axes[here].absent
        found: list[tuple[Condition, ...]] = []
        hangs_on = [here]
        if not self.axes[axis].whole and absent:  # a list that is not there has no elements
            full = self.axes[axis].full
            found.append(((here, "is", absent), (axis, "some", full)))
        if shape.above is not None:
            over = self.presence(shape.above)
            hangs_on.append(over)
            off = self.axes[over].absent
            on = self.axes[over].full & ~off
            # In this order: rather no value than an object that nobody asked for.
            found.append(((here, "is", there), (over, "is", off)))
            if "null" not in shape.types and shape.free is None:
                found.append(((over, "is", on), (here, "is", absent)))
        if shape.free is not None:
            entry = self.axis(shape.free)
            hangs_on.append(entry)
            found += self._free(entry, (here, "is", there))
        return found, tuple(hangs_on)

    def _free(self, entry: int, below: Condition) -> Iterator[tuple[Condition, ...]]:
        """Something below an entry of a free-form object makes the entry a mapping."""
        axis = self.axes[entry]
        mapping = sum(1 << i for i, v in enumerate(axis.values) if v is OPAQUE)
        if axis.whole:
            yield (below, (entry, "is", axis.full & ~mapping))
        else:
            self._wide.add(entry)
            yield (below, (entry, "some", axis.full & ~mapping))
            yield (below, (entry, "all", axis.full & ~mapping))
