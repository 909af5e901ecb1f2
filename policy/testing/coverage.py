"""Rule coverage: which rules decided in some test. Rules are counted, not lines: a rule that only matched tells nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from policy.rules.policy_set import Rule
from policy.testing.run import Outcome
from policy.testing.suite import Suite

__all__ = ["Coverage", "RuleCoverage", "coverage_of"]


@dataclass(frozen=True, slots=True)
class RuleCoverage:
    """In how many tests a rule decided."""

    rule: Rule
    tests: int

    def as_json(self) -> dict[str, Any]:
        return {"rule": self.rule.id, "location": self.rule.location, "tests": self.tests}


@dataclass(frozen=True, slots=True)
class Coverage:
    """Every rule of the tested policies, in the order of their places."""

    rules: tuple[RuleCoverage, ...]

    @property
    def covered(self) -> int:
        return sum(1 for rule in self.rules if rule.tests)

    @property
    def percent(self) -> float:
        return 100.0 * self.covered / len(self.rules) if self.rules else 100.0

    def as_json(self) -> dict[str, Any]:
        return {
            "rules": len(self.rules),
            "covered": self.covered,
            "percent": round(self.percent, 2),
            "by_rule": [rule.as_json() for rule in self.rules],
        }


def coverage_of(suites: Iterable[Suite], outcomes: Sequence[Outcome]) -> Coverage:
    """How often each rule of the suites' policies decided. A test that fails counts for none."""
    counted: dict[str, int] = {}
    for outcome in outcomes:
        by = outcome.decision.decided_by
        if outcome.passed and by is not None and by.layer == "policy" and by.location is not None:
            counted[by.location] = counted.get(by.location, 0) + 1
    rules = {rule.location: rule for suite in suites for file in suite.policies.files for rule in file.rules}
    return Coverage(tuple(RuleCoverage(rule, counted.get(place, 0)) for place, rule in rules.items()))
