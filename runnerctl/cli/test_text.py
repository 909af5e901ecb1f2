"""What `runnerctl test` found, as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from policy.testing.coverage import Coverage
from policy.testing.explained import explained
from policy.testing.run import Outcome
from runnerctl.cli.test_report import Report, percent

if TYPE_CHECKING:
    from policy.mutation.run import Mutation

__all__ = ["report_text"]


def report_text(report: Report, *, verbose: bool) -> str:
    """The tests that fail (with `verbose` all), the measures, and the sum of it."""
    lines: list[str] = []
    for outcome in report.outcomes:
        lines.extend(_test(outcome, verbose=verbose))
    if report.coverage is not None:
        lines.extend(_coverage(report.coverage))
    if report.mutation is not None:
        lines.extend(_mutation(report.mutation, verbose=verbose))
    elif report.mutation_waits:
        lines.append("changes noticed: not measured while a test fails")
    lines.extend(f"FAIL  {said}" for said in report.too_low)
    lines.append(f"{len(report.outcomes) - report.failed} passed, {report.failed} failed")
    return "\n".join(lines) + "\n"


def _test(outcome: Outcome, *, verbose: bool) -> Iterator[str]:
    test = outcome.test
    if outcome.passed:
        if verbose:
            yield f"ok    {test.location}  {test.name}"
        return
    yield f"FAIL  {test.location}  {test.name}"
    for unmet in outcome.unmet:
        yield f"      {unmet.message} ({test.entry.locate(['expect', unmet.expectation], key=True)})"
    for line in explained(outcome):
        yield f"      {line}"


def _coverage(coverage: Coverage) -> Iterator[str]:
    names = max(len(covered.rule.id) for covered in coverage.rules)
    for covered in coverage.rules:
        said = "in no test" if not covered.tests else f"in {covered.tests} test{'s' * (covered.tests > 1)}"
        mark = "rule  " if covered.tests else "MISS  "
        yield f"{mark}{covered.rule.id:{names}}  decides {said:12}  {covered.rule.location}"
    yield f"{coverage.covered} of {len(coverage.rules)} rules decided in a test: {percent(coverage.percent)}"


def _mutation(mutation: Mutation, *, verbose: bool) -> Iterator[str]:
    for mutant in mutation.mutants:
        survived = mutant.noticed_by is None
        if survived or verbose:
            where = ": ".join(part for part in (mutant.rule, mutant.field, mutant.said) if part)
            by = "" if survived else f"; noticed by {mutant.noticed_by}"
            yield f"{'MISS' if survived else 'ok  '}  {mutant.location}  {where}{by}"
    total = len(mutation.mutants)
    yield f"{total - len(mutation.survivors)} of {total} changes noticed: {percent(mutation.percent)}"
