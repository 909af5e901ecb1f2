"""What lint asks the engine catalog: which releases a range holds, and what each of them registers.

A set of releases is an integer with one bit for each, so that thousands of rules are asked in no time.
"""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from policy.engine.catalog import Catalog, merge_patch
from policy.engine.registered import RegisteredNames, Releases, registered_names
from policy.facts.facts import Facts
from policy.rules.match import All, Glob, Leaf, Match, Not, Release, is_glob

__all__ = ["Knowledge", "Releases"]


class Knowledge:
    """The catalog, asked by release range. Reads a file of it when it is first asked for."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.names = catalog.releases
        self.every: Releases = (1 << len(self.names)) - 1
        self._masks: dict[str, Releases] = {}
        self._later_in: dict[str, bool] = {}
        self._patterns: dict[str, Releases] = {}

    @property
    def architectures(self) -> Mapping[str, Releases]:
        """Each registered architecture with the releases that register it."""
        return self._names.architectures

    @functools.cached_property
    def variables(self) -> Mapping[str, Releases]:
        """Each environment variable that vLLM reads with the releases that know it."""
        return {
            name: functools.reduce(operator.or_, kinds.values())
            for name, kinds in self._names.variables.items()
        }

    @property
    def listed(self) -> Releases:
        """The releases whose names the catalog lists."""
        return self._names.listed

    @functools.cached_property
    def own_rules(self) -> frozenset[str]:
        """The ids of the rules by which releases choose themselves: tests may expect them, too."""
        return frozenset(
            name for data in self._patched for part in ("choice", "overrides") for name in data.get(part, {})
        )

    @functools.cached_property
    def v1_deprecated(self) -> Releases:
        """The releases that have deprecated V1."""
        return self._set(i for i, data in enumerate(self._patched) if "v1" in data.get("deprecated", {}))

    def kinds(self, variable: str, releases: Releases) -> frozenset[str]:
        """The types that these releases give a variable; where one gives none, or lacks it, that is left out."""
        kinds = self._names.variables.get(variable, {})
        return frozenset(kind for kind, held in kinds.items() if kind and held & releases)

    def registering(self, word: str) -> Releases:
        """The releases that register an architecture of this name, or one that the pattern matches."""
        if not is_glob(word):
            return self.architectures.get(word, 0)
        found = self._patterns.get(word)
        if found is None:
            found, pattern = 0, Glob(word)
            for name, releases in self.architectures.items():
                found |= releases if pattern.holds(name) else 0
            self._patterns[word] = found
        return found

    @staticmethod
    def is_pattern(word: str) -> bool:
        return is_glob(word)

    @staticmethod
    def specifier(text: str) -> str:
        """A range as PEP 440 writes it: a bare release is that one."""
        return text if text[:1] in "<>=!~" else f"=={text}"

    @staticmethod
    def is_empty(specifier: str) -> bool:
        """Whether no version at all is in a range."""
        return SpecifierSet(specifier).to_range().is_empty

    def holds_candidate(self, specifier: str) -> bool:
        """Whether a nightly or a candidate of a described release is in a range."""
        return any(not self.is_empty(f"{specifier},>={name}.dev0,<={name}") for name in self.names)

    def around(self, specifier: str) -> str:
        """A help text: the releases next to a range that holds none."""
        versions = list(_versions(specifier))
        if not versions:
            return f"the catalog describes {self.said(self.every)}"
        first = min(versions)
        before = [name for name in self.names if Version(name) < first]
        after = [name for name in self.names if Version(name) >= first]
        return "the nearest releases are " + " and ".join([*before[-1:], *after[:1]])

    def within(self, specifier: str) -> Releases:
        """The described releases, or candidates of them, that a specifier contains."""
        found = self._masks.get(specifier)
        if found is None:
            contains = _contains(specifier)
            found = self._set(i for i, name in enumerate(self.names) if contains(name))
            self._masks[specifier] = found
        return found

    def later(self, specifier: str) -> bool:
        """Whether a specifier contains releases that are newer than the catalog."""
        if specifier not in self._later_in:
            self._later_in[specifier] = not self.is_empty(f"{specifier},>{self.names[-1]}")
        return self._later_in[specifier]

    def reached(self, match: Match) -> Releases:
        """The releases in which a match may hold."""
        terms = match.terms if isinstance(match, All) else (match,)
        found, nested = self.every, False
        for term in terms:
            if isinstance(term, Leaf):
                if term.path == "vllm":
                    found &= self._of_leaf(term)
            else:
                nested = nested or any(leaf.path == "vllm" for leaf in term.leaves())
        if not nested:
            return found
        return found & self._set(i for i, name in enumerate(self.names) if _may_hold(match, name))

    def named(self, names: Iterable[str]) -> Releases:
        """The set of releases with these names."""
        return self._set(map(self.names.index, names))

    def said(self, releases: Releases) -> str:
        """A set of releases in words: `0.25.0 to 0.27.1 and 0.30.0`."""
        parts: list[str] = []
        start: int | None = None
        for i in range(len(self.names) + 1):
            held = releases >> i & 1
            if held and start is None:
                start = i
            elif not held and start is not None:
                first, last = self.names[start], self.names[i - 1]
                parts.append(first if first == last else f"{first} to {last}")
                start = None
        return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)

    def _of_leaf(self, leaf: Leaf) -> Releases:
        found = 0
        for test in leaf.tests:
            found |= self.within(test.specifier) if isinstance(test, Release) else self.every
        return found

    def _set(self, indices: Iterable[int]) -> Releases:
        found = 0
        for i in indices:
            found |= 1 << i
        return found

    @functools.cached_property
    def _names(self) -> RegisteredNames:
        return registered_names(self.catalog)

    @functools.cached_property
    def _patched(self) -> tuple[Mapping[str, Any], ...]:
        """What each release says of itself, without its rules being read."""
        done: dict[str, Mapping[str, Any]] = {}
        for name in self.names:
            patch = self.catalog.patch(name)
            done[name] = merge_patch(done.get(patch.get("base") or "", {}), patch)
        return tuple(done.values())


def _versions(specifier: str) -> Iterator[Version]:
    """The versions that a range names; a prefix is none, and `===` takes any text."""
    for part in specifier.split(","):
        with contextlib.suppress(InvalidVersion):
            yield Version(part.lstrip("<>=!~ "))


def _contains(specifier: str) -> Any:
    held = SpecifierSet(specifier)
    return lambda version: held.contains(version, prereleases=True)


def _may_hold(match: Match, version: str) -> bool:
    """Whether a match may hold for a release, whatever else is so."""
    return _value(match, Facts({"vllm": version})) is not False


def _value(match: Match, facts: Facts) -> bool | None:
    """The value of a match where only the release is known."""
    if isinstance(match, Leaf):
        return match.value(facts) if match.path == "vllm" else None
    if not isinstance(match, Not):
        values = [_value(term, facts) for term in match.terms]
        if match.settles in values:
            return match.settles
        return None if None in values else not match.settles
    held = _value(match.term, facts)
    return None if held is None else not held
