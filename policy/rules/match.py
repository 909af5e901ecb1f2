"""The match of a rule as a tree, and its value (true, false, unknown) for given facts.

The same trees serve policies and the engine catalog. Nothing here reads files or prints.
"""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, ClassVar, TypeGuard

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from policy.facts.facts import ABSENT, UNKNOWN, Facts

__all__ = [
    "MOST_EXACT",
    "All",
    "Any_",
    "Compare",
    "Differs",
    "Equal",
    "Exists",
    "Glob",
    "Leaf",
    "Match",
    "Not",
    "Release",
    "Test",
    "failing_term",
    "is_glob",
    "unknown_facts",
]

Scalar = str | int | float | bool
# Above, a float lies between no two integers that follow each other; far above, an integer is no float at all.
MOST_EXACT = 2**53


class _Part:
    """A part of a match, equal to another of its kind that says the same.

    Not a dataclass: each of them costs half a millisecond at every start, and the first another ten.
    """

    __slots__ = ()
    parts: ClassVar[attrgetter[Any]]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and type(self).parts(self) == type(self).parts(other)

    def __hash__(self) -> int:
        return hash((type(self), type(self).parts(self)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"


class Equal(_Part):
    """The value, or an element of a list, is this one. `true` is not 1."""

    __slots__ = ("value",)
    parts = attrgetter("value")

    def __init__(self, value: Scalar) -> None:
        self.value = value

    def holds(self, given: Any) -> bool:
        return bool(given == self.value) and isinstance(given, bool) == isinstance(self.value, bool)

    def __str__(self) -> str:
        return _said(self.value)


class Differs(_Part):
    """There is a value, or an element of a list, that is not this one, or does not match this glob."""

    __slots__ = ("value",)
    parts = attrgetter("value")

    def __init__(self, value: Scalar) -> None:
        self.value = value

    def holds(self, given: Any) -> bool:
        other = Glob(self.value) if is_glob(self.value) else Equal(self.value)
        return not other.holds(given)

    def __str__(self) -> str:
        return f"not {_said(self.value)}"


class Glob(_Part):
    """The text matches a pattern with `*` and `?`, case and all."""

    __slots__ = ("pattern",)
    parts = attrgetter("pattern")

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern

    def holds(self, given: Any) -> bool:
        return isinstance(given, str) and _glob(self.pattern)(given) is not None

    def __str__(self) -> str:
        return self.pattern


class Compare(_Part):
    """A number compared with a bound."""

    __slots__ = ("bound", "operator")
    parts = attrgetter("operator", "bound")

    def __init__(self, operator: str, bound: float) -> None:
        self.operator = operator
        self.bound = bound

    def holds(self, given: Any) -> bool:
        if isinstance(given, bool) or not isinstance(given, (int, float)):
            return False
        return bool(_COMPARISONS[self.operator](given, self.bound))

    def __str__(self) -> str:
        return f"{_SIGNS[self.operator]} {self.bound}"


class Release(_Part):
    """A version that a PEP 440 specifier contains. Pre-releases count, whatever `packaging` is installed."""

    __slots__ = ("specifier",)
    parts = attrgetter("specifier")

    def __init__(self, specifier: str) -> None:
        self.specifier = specifier

    def holds(self, given: Any) -> bool:
        return isinstance(given, str) and _contains(self.specifier, given)

    def __str__(self) -> str:
        return self.specifier


class Exists(_Part):
    """Whether there is a value at all: the config object is on, the variable is set, the package installed."""

    __slots__ = ("wanted",)
    parts = attrgetter("wanted")

    def __init__(self, wanted: bool) -> None:
        self.wanted = wanted

    def __str__(self) -> str:
        return "is on" if self.wanted else "is off"


Test = Equal | Differs | Glob | Compare | Release | Exists


class Leaf(_Part):
    """One fact and the tests of which one must hold."""

    __slots__ = ("_check", "path", "tests")
    parts = attrgetter("path", "tests")

    def __init__(self, path: str, tests: tuple[Test, ...]) -> None:
        self.path = path
        self.tests = tests
        self._check = _checker(tests)

    def value(self, facts: Facts) -> bool | None:
        given = facts.value(self.path)
        return None if given is UNKNOWN else self._check(given)

    def holds(self, given: Any) -> bool:
        """Whether one of the tests holds for a value that is known, or absent."""
        return self._check(given)

    def leaves(self) -> Iterator[Leaf]:
        yield self

    def __str__(self) -> str:
        return f"{self.path}: {' or '.join(str(t) for t in self.tests)}"


class _Several(_Part):
    """What `All` and `Any_` share: both are settled by one term with the value `settles`."""

    __slots__ = ("terms",)
    parts = attrgetter("terms")
    settles: ClassVar[bool]

    def __init__(self, terms: tuple[Match, ...]) -> None:
        self.terms = terms

    def value(self, facts: Facts) -> bool | None:
        result: bool | None = not self.settles
        for term in self.terms:
            held = term.value(facts)
            if held is self.settles:
                return held
            if held is None:
                result = None
        return result

    def leaves(self) -> Iterator[Leaf]:
        for term in self.terms:
            yield from term.leaves()


class All(_Several):
    """Every term holds; none at all always does."""

    __slots__ = ()
    settles: ClassVar[bool] = False

    def __str__(self) -> str:
        return "{" + ", ".join(str(t) for t in self.terms) + "}"


class Any_(_Several):  # noqa: N801  (the language's own word is `any`)
    """One term holds."""

    __slots__ = ()
    settles: ClassVar[bool] = True

    def __str__(self) -> str:
        return "any of " + ", ".join(str(t) for t in self.terms)


class Not(_Part):
    """The term does not hold; unknown stays unknown."""

    __slots__ = ("term",)
    parts = attrgetter("term")

    def __init__(self, term: Match) -> None:
        self.term = term

    def value(self, facts: Facts) -> bool | None:
        held = self.term.value(facts)
        return None if held is None else not held

    def leaves(self) -> Iterator[Leaf]:
        yield from self.term.leaves()

    def __str__(self) -> str:
        return f"not {self.term}"


Match = Leaf | All | Any_ | Not


def unknown_facts(match: Match, facts: Facts) -> tuple[str, ...]:
    """The facts that keep `match` from being true or false, sorted: the order of a match never counts."""
    found: dict[str, None] = {}
    for leaf in match.leaves():
        if facts.value(leaf.path) is UNKNOWN:
            found.update(dict.fromkeys(facts.unknown_inputs(leaf.path)))
    return tuple(sorted(found))


def failing_term(match: Match, facts: Facts) -> Match | None:
    """The first part of `match` that does not hold, for an explanation; None when it holds."""
    held = match.value(facts)
    if held is True:
        return None
    if isinstance(match, All):
        for term in match.terms:
            if term.value(facts) is held:
                return failing_term(term, facts) or term
    return match


def is_glob(value: Scalar) -> TypeGuard[str]:
    """Whether a scalar of a document is a pattern."""
    return isinstance(value, str) and ("*" in value or "?" in value)


def _checker(tests: tuple[Test, ...]) -> Callable[[Any], bool]:
    """One function for the tests of a leaf: whether one holds for a value that is known, or absent."""
    if len(tests) == 1:
        only = tests[0]
        return lambda given: _holds(only, given)
    if all(isinstance(test, Equal) and isinstance(test.value, str) for test in tests):
        # A list of names, the most frequent of all: one look into a set.
        names = frozenset(test.value for test in tests if isinstance(test, Equal))
        return lambda given: given in names if isinstance(given, str) else _any_of(names, given)
    return lambda given: any(_holds(test, given) for test in tests)


def _any_of(names: frozenset[Any], given: Any) -> bool:
    return isinstance(given, list) and any(isinstance(g, str) and g in names for g in given)


def _holds(test: Test, given: Any) -> bool:
    if isinstance(test, Exists):
        return test.wanted is (given is not ABSENT)
    if given is ABSENT:
        return False
    if isinstance(given, list):
        return any(test.holds(element) for element in given)
    return test.holds(given)


@functools.cache
def _glob(pattern: str) -> Callable[[str], re.Match[str] | None]:
    # Only `*` and `?` are special: `[` and `]` stand for themselves.
    return re.compile(fnmatch.translate(pattern.replace("[", "[[]"))).match


@functools.cache
def _specifiers(text: str) -> SpecifierSet:
    return SpecifierSet(text)


@functools.lru_cache(maxsize=4096)
def _version(text: str) -> Version:
    return Version(text)


@functools.lru_cache(maxsize=65536)
def _contains(specifier: str, version: str) -> bool:
    try:
        return _specifiers(specifier).contains(_version(version), prereleases=True)
    except InvalidVersion:
        return False


def _said(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}
_SIGNS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}
