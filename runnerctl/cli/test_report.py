"""What `runnerctl test` found, as a value, as JSON and as JUnit cases."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from policy.testing.coverage import Coverage, coverage_of
from policy.testing.explained import explained
from policy.testing.run import Asked, Outcome
from policy.testing.suite import Suite
from runnerctl.cli.exits import UsageError

if TYPE_CHECKING:
    from policy.mutation.run import Findings, Mutation

__all__ = ["Report", "make_report", "percent"]


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of each test, and the measures that were asked for."""

    outcomes: tuple[Outcome, ...]
    coverage: Coverage | None
    mutation: Mutation | None
    mutation_waits: bool  # asked for, and not measured: a test fails
    fail_under: float | None

    @property
    def failed(self) -> int:
        return sum(1 for outcome in self.outcomes if not outcome.passed)

    @property
    def too_low(self) -> tuple[str, ...]:
        """The measures that are below `fail_under`, in words."""
        least = self.fail_under
        if least is None:
            return ()
        measured = (
            ("rules decided in a test", self.coverage),
            ("changes noticed", self.mutation),
        )
        return tuple(
            f"{said}: {percent(found.percent)}, and at least {percent(least)} is wanted"
            for said, found in measured
            if found is not None and found.percent < least
        )

    @property
    def fine(self) -> bool:
        return not self.failed and not self.too_low

    def as_json(self) -> str:
        """The document of `schemas/test-report.schema.json`."""
        return json.dumps(
            {
                "passed": len(self.outcomes) - self.failed,
                "failed": self.failed,
                "tests": [_test_json(outcome) for outcome in self.outcomes],
                "coverage": self.coverage.as_json() if self.coverage else None,
                "mutation": self.mutation.as_json() if self.mutation else None,
                "too_low": list(self.too_low),
            },
            indent=2,
        )

    def junit_cases(self) -> Iterator[tuple[str, str, Sequence[str]]]:
        """(suite, case, problems): one suite a file, and one case more where a measure must not fall."""
        for outcome in self.outcomes:
            text = "\n".join([*(str(u) for u in outcome.unmet), *explained(outcome)])
            yield outcome.asked.suite.source, outcome.test.name, [] if outcome.passed else [text]
        if self.fail_under is not None:
            yield "runnerctl test", f"--fail-under {self.fail_under:g}", self.too_low


def make_report(
    suites: Sequence[Suite],
    asked: Sequence[Asked],
    outcomes: Sequence[Outcome],
    *,
    coverage: bool,
    mutation: bool,
    findings: Findings | None,
    fail_under: float | None,
) -> Report:
    """The report of tests that have run. Mutations wait until all of them pass; `findings` may notice them, too.

    Raises `UsageError` where a measure is asked of policies that have nothing to measure.
    """
    covered = coverage_of(suites, outcomes) if coverage else None
    if covered is not None and not covered.rules:
        raise UsageError("nothing to check: the policies have no rules to cover")
    noticed = None
    if mutation and all(outcome.passed for outcome in outcomes):
        from policy.mutation.run import mutate

        noticed = mutate(asked, findings)
        if not noticed.mutants:
            raise UsageError("nothing to check: the policies have nothing that could be changed")
    return Report(tuple(outcomes), covered, noticed, mutation and noticed is None, fail_under)


def percent(value: float) -> str:
    """Rounded down: 99.96 is not 100 %."""
    return f"{int(value * 10) / 10:g} %"


def _test_json(outcome: Outcome) -> dict[str, Any]:
    test = outcome.test
    return {
        "name": test.name,
        "location": test.location,
        "policies": [file.source for file in outcome.asked.suite.policies.files],
        "status": "passed" if outcome.passed else "failed",
        "unmet": [
            {
                "expectation": unmet.expectation,
                "location": str(test.entry.locate(["expect", unmet.expectation], key=True)),
                "message": unmet.message,
            }
            for unmet in outcome.unmet
        ],
        "why": list(explained(outcome)),
        "decision": outcome.decision.as_json(),
    }
