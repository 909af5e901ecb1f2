"""The space of deployments that some matches can tell apart: an axis for each fact, its values in finitely many parts.

Sets of parts are bit masks. A list (`model_config.architectures`) matches when one of its elements does: its axis is
that of an element, and a condition on it says that some element is in a set, or that all are.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from packaging.version import Version

from policy.analysis.texts import frame_of, text_classes
from policy.analysis.versions import VersionLine
from policy.document.schema import load_schema
from policy.facts.facts import ABSENT, canonical_name
from policy.facts.fields import NO_DEFAULT, OPEN_MAPPINGS, Field, field
from policy.rules.match import Compare, Differs, Equal, Exists, Glob, Leaf, Match, Not, Release, Test, is_glob

__all__ = ["OPAQUE", "Axis", "Condition", "Space", "Unanalysable"]

# Stands for a mapping, or a list in a list: it equals no scalar.
OPAQUE: dict[str, Any] = {}
# Of more globs on a list of architectures, witnesses keep made-up names: real ones would take long to find.
MOST_GLOBS = 32
NOT_A_VERSION = "not a version"


class Unanalysable(Exception):  # noqa: N818  (becomes a `Cut`)
    """A match that this space cannot express exactly, and why."""


# What must hold on one axis: (axis, kind, mask). The value is in the mask (`is`), `some` element of the list is, or
# `all` are.
Condition = tuple[int, Literal["is", "some", "all"], int]


class Axis:
    """The values of one fact, or of an element of it where it is a list. `values[i]` stands for part i."""

    __slots__ = (
        "_bits",
        "_globs",
        "_named",
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
        self.path = path
        self.values = values
        self.line = line
        self.whole = whole  # a value of its own, not an element of a list
        self.full = (1 << len(values)) - 1
        self._bits = {(type(v) is bool, v): i for i, v in enumerate(values) if type(v) is not dict}
        self._globs: dict[str, int] = {}
        self._named: set[tuple[bool, Any]] = set()
        self._unnamed: int | None = None
        self._registered: dict[Sequence[str], dict[int, str]] = {}
        at = self._bits.get((False, ABSENT))
        self.absent = 0 if at is None else 1 << at  # the part of no value

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
        return self._holding(test)

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

    def _holding(self, test: Glob | Compare) -> int:
        return sum(1 << i for i, value in enumerate(self.values) if value is not ABSENT and test.holds(value))


class Shape(NamedTuple):
    """What the schema says of a path: `above` is the nearest config object over it that may be off."""

    types: frozenset[str]
    known: Field
    above: str | None
    free: str | None  # the free-form object's entry that it lies below
    may_be_absent: bool


@functools.cache
def _shape(path: str) -> Shape:
    known = field(path)
    if known is None:
        raise Unanalysable(f"`{path}` is no fact of a deployment")
    steps = path.split(".")
    above = free = None
    if steps[0] not in OPEN_MAPPINGS:
        for end in range(1, len(steps)):
            upper = ".".join(steps[:end])
            over = field(upper)
            if over and "object" in over.types:
                if "null" in over.types:
                    above = upper
                if len(over.types) > 2 or set(over.types) - {"object", "null"}:
                    free = upper
    types = frozenset(known.types)
    absent = "null" in types or above is not None or free is not None or steps[0] in OPEN_MAPPINGS
    return Shape(types, known, above, free, absent)


class Space:
    """Axes for the leaves of matches. `conditions` turns a leaf into one on an axis."""

    def __init__(
        self, matches: Iterable[Match], cuts: Iterable[Version] = (), more: Iterable[Leaf] = ()
    ) -> None:
        """`cuts` are versions of vLLM at which its line is cut, too. Raises `Unanalysable` or `TooManyTexts`."""
        self._tests: dict[str, list[Test]] = {}
        self.axes: list[Axis] = []
        self._by_path: dict[str, int] = {}
        self._presence: dict[str, int] = {}
        self._cuts = tuple(cuts)
        self._wide: set[int] = set()
        self.has_free = False  # whether a fact lies below an entry of a free-form object
        for match in matches:
            self._collect(match)
        for leaf in more:
            self._collect(leaf)

    def _collect(self, match: Match) -> None:
        if isinstance(match, Leaf):
            self._tests.setdefault(_normal(match.path), []).extend(match.tests)
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
        path = _normal(path)
        at = self._by_path.get(path)
        if at is None:
            shape = _shape(path)
            self.has_free = self.has_free or shape.free is not None
            whole = "array" not in shape.types
            values, line = self._values(path, shape, whole=whole)
            at = self._by_path[path] = len(self.axes)
            self.axes.append(Axis(path, values, line, whole=whole))
        return at

    def presence(self, path: str) -> int:
        """The axis that says whether there is anything at `path`: the fact's own, or a second one for a list."""
        path = _normal(path)
        if path not in self._presence:
            shape = _shape(path)
            if "array" not in shape.types:
                self._presence[path] = self.axis(path)
            else:
                values = _default_first(shape.known, [OPAQUE, ABSENT]) if shape.may_be_absent else [OPAQUE]
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
            values = _of_types(shape.types, shape.known, tests)
            if shape.may_be_absent:
                values.append(ABSENT)
            return _default_first(shape.known, values), None
        elements = _elements(path)
        if "enum" in elements:
            return [v for v in elements["enum"] if v is not None], None
        return _of_types(_element_types(shape, elements.get("type")), None, tests), None

    # -- conditions ------------------------------------------------------------------------------------------

    def condition(self, leaf: Leaf, *, holds: bool) -> Condition:
        """The leaf, or that it does not hold, as a condition. Raises `Unanalysable`."""
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
        shape = _shape(path)
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


@functools.cache
def _normal(path: str) -> str:
    head, _, name = path.partition(".")
    return f"packages.{canonical_name(name)}" if head == "packages" and name else path


def _default_first(known: Field, values: list[Any]) -> list[Any]:
    """The value that stands for vLLM's default comes first, so that it is what a witness shows."""
    default = ABSENT if known.default is None else known.default
    for i, value in enumerate(values):
        if value is default or (type(value) is type(default) and value == default):
            values.insert(0, values.pop(i))
            break
    return values


def _of_types(types: Iterable[str], known: Field | None, tests: Sequence[Test]) -> list[Any]:
    if known and known.enum:
        return [v for v in known.enum if v is not None]
    named = dict.fromkeys(
        (type(t.value), t.value) for t in tests if isinstance(t, (Equal, Differs)) and not is_glob(t.value)
    )
    default = known.default if known and known.default is not NO_DEFAULT else None
    values: list[Any] = []
    if "string" in types:
        globs = [t.pattern for t in tests if isinstance(t, Glob)]
        globs += [t.value for t in tests if isinstance(t, Differs) and is_glob(t.value)]
        texts = [v for _, v in named if isinstance(v, str)]
        values += text_classes(texts, globs, default if isinstance(default, str) else None)
    if "boolean" in types:
        values += [False, True]
    if "integer" in types or "number" in types:
        numbers = [v for _, v in named if isinstance(v, (int, float)) and not isinstance(v, bool)]
        bounds = [t.bound for t in tests if isinstance(t, Compare)]
        values += _numbers({*numbers, *bounds}, default, whole="number" not in types)
    if "object" in types:
        values.append(OPAQUE)
    return values


def _numbers(ends: set[float], default: Any, *, whole: bool) -> list[float]:
    """Each bound, and a number between each two, below all and above all. The default comes where it belongs."""
    usable = isinstance(default, (int, float)) and not isinstance(default, bool)
    points = sorted(e for e in ends if math.isfinite(e))
    if not points:
        return [default if usable else 1]
    between: list[float] = [math.floor(points[0]) - 1]
    between += (v for low, high in pairwise(points) if (v := _between(low, high, whole=whole)) is not None)
    between.append(math.floor(points[-1]) + 1)
    if usable and default not in ends:
        gap = sum(p < default for p in points)
        mine = [i for i, v in enumerate(between) if sum(p < v for p in points) == gap]
        between[mine[0] : mine[0] + 1] = [default]
    return [*(p for p in points if not whole or float(p).is_integer()), *between]


def _between(low: float, high: float, *, whole: bool) -> float | None:
    number = math.floor(low) + 1
    if number < high:
        return number
    if whole:
        return None
    middle = low / 2 + high / 2
    return middle if low < middle < high else None


@functools.cache
def _elements(path: str) -> Mapping[str, Any]:
    """What the schema says of the elements of the list at `path`."""
    node: Mapping[str, Any] = load_schema("facts")
    for step in path.split("."):
        node = node.get("properties", {}).get(step, {})
    found: Mapping[str, Any] = node.get("items", {})
    return found


def _element_types(shape: Shape, declared: str | list[str] | None) -> frozenset[str]:
    """What the elements of a list may be; a value that is no list behaves as a list of itself."""
    if declared is None:
        found = set(shape.types)
    else:
        found = {declared} if isinstance(declared, str) else set(declared)
        found |= shape.types & {"string", "integer", "number", "boolean", "object"}
    if "array" in found:
        found.add("object")
    return frozenset(found - {"array", "null"})
