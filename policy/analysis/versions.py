"""Releases as an axis: PEP 440 specifiers cut the line of all versions into pieces, each with a version in it.

Every specifier is a union of pieces between cuts, so a set of releases is a set of pieces and set algebra is that
of integers. Pre-releases, post, local and development versions have their place on the line like all others.
"""

from __future__ import annotations

import functools
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from typing import NamedTuple

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from policy.analysis.unanalysable import Unanalysable

__all__ = ["VersionLine"]

# Deeper than any release that is written down; `>1.0` begins just above 1.0.0…0 and all its post releases.
DEPTH = 16
# Sorts before every local label that anybody writes: letters after more zeros than a label is long.
FIRST_LOCAL = "0" * 64 + "a"


class _Clause(NamedTuple):
    """Versions from `low` (included) to `high` (not included); all others if `outside`. None has no end."""

    low: Version | None
    high: Version | None
    outside: bool = False
    literal: str | None = None


@functools.lru_cache(maxsize=65536)
def _clauses(specifier: str) -> tuple[_Clause, ...]:
    return tuple(_clause(spec.operator, spec.version) for spec in SpecifierSet(specifier))


@functools.lru_cache(maxsize=65536)
def _clause(operator: str, text: str) -> _Clause:
    if operator == "===":
        return _literal(text)
    if text.endswith(".*"):
        base = Version(text[:-2])
        return _Clause(_first(base), _next_prefix(base.epoch, base.release), operator == "!=")
    version = Version(text)
    if len(version.release) > DEPTH or len(version.local or "") >= len(FIRST_LOCAL):
        raise Unanalysable(f"the specifier `{operator}{text}` is too long to be placed among others")
    ends: dict[str, Callable[[], _Clause]] = {
        ">=": lambda: _Clause(version, None),
        "<": lambda: _Clause(None, version if version.is_prerelease else Version(f"{version.public}.dev0")),
        "<=": lambda: _Clause(None, _after(version)),
        ">": lambda: _Clause(_above(version), None),
        "~=": lambda: _Clause(version, _next_prefix(version.epoch, version.release[:-1])),
        "==": lambda: _Clause(version, _after(version)),
        "!=": lambda: _Clause(version, _after(version), outside=True),
    }
    return ends[operator]()


def _literal(text: str) -> _Clause:
    """`===`: the very text, so that `1.0` and `1.0.0` differ. A text that no version prints as is nothing."""
    try:
        version = Version(text)
    except InvalidVersion:
        return _Clause(None, None, outside=True)
    if str(version) != text.lower():
        return _Clause(None, None, outside=True)
    return _Clause(version, _just_after(version), literal=str(version))


def _first(version: Version) -> Version:
    return Version(f"{version.epoch}!{_dotted(version.release)}.dev0")


def _next_prefix(epoch: int, release: tuple[int, ...]) -> Version:
    return Version(f"{epoch}!{_dotted((*release[:-1], release[-1] + 1))}.dev0")


def _after(version: Version) -> Version:
    """The first version above `version`, or above all its local versions where it has no local part."""
    if version.local is not None:
        return _just_after(version)
    if version.dev is not None:
        return Version(f"{version.public.rpartition('.dev')[0]}.dev{version.dev + 1}")
    if version.post is not None:
        return Version(f"{version.public.rpartition('.post')[0]}.post{version.post + 1}.dev0")
    return Version(f"{version.public}.post0.dev0")


def _just_after(version: Version) -> Version:
    """Above `version` itself and below its next local version."""
    joint = "." if version.local else "+"
    return Version(f"{version}{joint}{FIRST_LOCAL}")


def _above(version: Version) -> Version:
    """Where `>version` begins: past its post releases, if it is none itself."""
    if version.dev is not None or version.post is not None:
        return _after(version)
    if version.pre is not None:
        kind, number = version.pre
        return Version(f"{version.epoch}!{_dotted(version.release)}{kind}{number + 1}.dev0")
    release = (*version.release, *(0,) * (DEPTH - len(version.release)), 1)
    return Version(f"{version.epoch}!{_dotted(release)}.dev0")


def _dotted(release: Iterable[int]) -> str:
    return ".".join(map(str, release))


class VersionLine:
    """The pieces that a collection of specifiers can tell apart, lowest first. Sets of pieces are bit masks."""

    def __init__(self, specifiers: Iterable[str], cuts: Iterable[Version] = ()) -> None:
        """`cuts` are further places to cut at. Raises `Unanalysable`."""
        ends = {LOWEST, *cuts}
        literals: dict[str, Version] = {}
        for specifier in specifiers:
            for clause in _clauses(specifier):
                if clause.low is not None:
                    ends.add(clause.low)
                if clause.high is not None:
                    ends.add(clause.high)
                if clause.literal is not None and clause.low is not None:
                    literals[clause.literal] = clause.low
        self._starts = sorted(ends)
        self.samples = [str(v) for v in self._starts]
        # A version that is written in several ways and matched by its text is a piece for each way.
        self._literals: dict[str, int] = {}
        for text, version in literals.items():
            at = bisect_left(self._starts, version)
            if self.samples[at] in self._literals or self.samples[at] == text:
                self.samples[at] = _respelled(version, literals)
            self._literals[text] = len(self.samples)
            self.samples.append(text)
        self.full = (1 << len(self.samples)) - 1
        self.described: tuple[tuple[str, str, int], ...] | None = None  # these two are those of `Homes`
        self.members: dict[int, tuple[tuple[str, str], ...]] = {}
        self._aliases = [
            (bisect_left(self._starts, v), bit) for t, bit in self._literals.items() for v in [literals[t]]
        ]

    def mask(self, specifier: str) -> int:
        """The pieces that `specifier`, one of those that the line was made for, contains."""
        found = self.full
        for clause in _clauses(specifier):
            if clause.literal is not None:
                found &= 1 << self._literals[clause.literal]
            else:
                inside = self._between(clause.low, clause.high)
                found &= self.full & ~inside if clause.outside else inside
        return found

    def _between(self, low: Version | None, high: Version | None) -> int:
        first = 0 if low is None else bisect_left(self._starts, low)
        last = len(self._starts) if high is None else bisect_left(self._starts, high)
        found = (1 << last) - (1 << first) if last > first else 0
        for piece, bit in self._aliases:
            found |= ((found >> piece) & 1) << bit
        return found

    def from_to(self, low: Version | None, high: Version | None) -> int:
        """The pieces from one cut to another."""
        return self._between(low, high)

    def piece(self, version: Version) -> int:
        """The piece that holds `version`."""
        literal = self._literals.get(str(version))
        return bisect_right(self._starts, version) - 1 if literal is None else literal


LOWEST = Version("0.dev0")


def _respelled(version: Version, taken: Iterable[str]) -> str:
    """The same version in another spelling than those that are matched by their text."""
    release, known = version.release, set(taken)
    rest = str(version)[len(version.base_version) :]
    epoch = f"{version.epoch}!" if version.epoch else ""
    while True:
        release = (*release, 0)
        text = f"{epoch}{_dotted(release)}{rest}"
        if text not in known:
            return text
