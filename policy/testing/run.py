"""Runs suites: the decision of each test, what is unmet, and why where it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from policy.decision.decision import Decision
from policy.decision.expectations import Question, Unmet, ask, unmet
from policy.document.diagnostic import Diagnostic, DocumentError, nearest
from policy.engine.catalog import Catalog
from policy.engine.release import EngineRelease
from policy.input_error import InputError
from policy.rules.policy_set import PolicySet, PolicyTest
from policy.testing.suite import Suite

__all__ = ["Asked", "Outcome", "ask_all", "run"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A test of a suite, ready to be decided."""

    suite: Suite
    question: Question


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one test."""

    asked: Asked
    decision: Decision
    unmet: tuple[Unmet, ...]

    @property
    def test(self) -> PolicyTest:
        return self.asked.question.test

    @property
    def passed(self) -> bool:
        return not self.unmet


def ask_all(
    suites: Iterable[Suite], catalog: Catalog, wanted: Callable[[PolicyTest], bool] = lambda _: True
) -> list[Asked]:
    """The questions of all tests that are `wanted`.

    Raises `DocumentError` with everything that is wrong with any of them, wanted or not: facts that are none, a
    release that is none, a rule that does not exist.
    """
    asked: list[Asked] = []
    findings: dict[Diagnostic, None] = {}
    for suite in suites:
        for test in suite.tests:
            try:
                question = ask(catalog, test)
            except DocumentError as error:
                findings.update(dict.fromkeys(error.diagnostics))
                continue
            except InputError as error:
                findings[_unknown_release(test, error)] = None
                continue
            findings.update(dict.fromkeys(_unknown_rule(suite.policies, question)))
            if wanted(test):
                asked.append(Asked(suite, question))
    if findings:
        raise DocumentError(findings)
    return asked


def run(asked: Sequence[Asked]) -> Iterator[Outcome]:
    """Decide each question under the policies of its suite."""
    for one in asked:
        decision = one.question.decide(one.suite.policies)
        yield Outcome(one, decision, tuple(unmet(decision, one.question.test.expect)))


def _unknown_release(test: PolicyTest, error: InputError) -> Diagnostic:
    option = f"--assume {test.assume}: "
    if not str(error).startswith(option):
        return Diagnostic(test.entry.locate(["given", "vllm"]), "unknown-release", str(error))
    message = f"`{test.assume}` cannot be assumed: {str(error).removeprefix(option)}"
    return Diagnostic(test.entry.locate(["assume"]), "unknown-release", message)


def _unknown_rule(policies: PolicySet, question: Question) -> Iterator[Diagnostic]:
    """A rule that is expected, and that neither the policies nor the release have: the test would never pass."""
    wanted = question.test.expect.get("rule")
    if wanted is None:
        return
    own = [rule.id for rule in policies.rules]
    engine = question.engine
    theirs = [c.id for c in (*engine.overrides, *engine.choice)] if isinstance(engine, EngineRelease) else []
    if wanted not in own and wanted not in theirs:
        location = question.test.entry.locate(["expect", "rule"])
        help_ = nearest(wanted, [*own, *theirs]) or "the rules are " + ", ".join(f"`{r}`" for r in own[:5])
        yield Diagnostic(
            location, "unknown-rule", f"no rule has the id `{wanted}`", help_ if own or theirs else ""
        )
