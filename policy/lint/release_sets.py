"""The releases in which each rule may match, as sets of pieces of one line of all versions.

What a match asks of other facts may be so or not, so a set is never too small.
"""

from __future__ import annotations

from collections.abc import Sequence

from packaging.version import Version

from policy.analysis.versions import VersionLine
from policy.lint.text import RuleText
from policy.rules.match import All, Leaf, Match, Not, Release

__all__ = ["ReleaseSets"]


class ReleaseSets:
    """`cuts` are versions that are told apart from those below them, whatever the rules say. Raises `Unanalysable`."""

    def __init__(self, rules: Sequence[RuleText], cuts: Sequence[Version]) -> None:
        specifiers = {
            test.specifier
            for rule in rules
            if rule.rule is not None
            for leaf in rule.rule.match.leaves()
            if leaf.path == "vllm"
            for test in leaf.tests
            if isinstance(test, Release)
        }
        self.line = VersionLine(sorted(specifiers), cuts)
        self._masks = {specifier: self.line.mask(specifier) for specifier in specifiers}

    def of(self, match: Match) -> int:
        """The pieces in which a match may hold."""
        return self._sides(match)[0]

    def _sides(self, match: Match) -> tuple[int, int]:
        """The pieces in which a match may hold, and those in which it may not."""
        full = self.line.full
        if isinstance(match, Leaf):
            if match.path != "vllm" or not all(isinstance(test, Release) for test in match.tests):
                return full, full
            held = 0
            for test in match.tests:
                held |= self._masks[test.specifier] if isinstance(test, Release) else 0
            return held, full & ~held
        if isinstance(match, Not):
            held, failed = self._sides(match.term)
            return failed, held
        every, some = full, 0
        for term in match.terms:
            held, failed = self._sides(term)
            every &= held if isinstance(match, All) else failed
            some |= failed if isinstance(match, All) else held
        return (every, some) if isinstance(match, All) else (some, every)
