"""The tests of a policy: facts, and what the decision for them must be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from policy.decision.decision import Decision
from policy.decision.resolve import decide, resolve
from policy.engine.catalog import Catalog, UnknownRelease
from policy.engine.release import EngineRelease
from policy.facts.facts import Facts, facts_from_document
from policy.rules.policy_set import PolicySet, PolicyTest
from policy.secret import shown

__all__ = ["Question", "Unmet", "ask", "decide_test", "unmet"]


@dataclass(frozen=True, slots=True)
class Question:
    """What a test asks, its facts read once: the same question may be put to many policies."""

    test: PolicyTest
    facts: Facts
    engine: EngineRelease | UnknownRelease | None
    names: tuple[str, ...]

    def decide(self, policies: PolicySet) -> Decision:
        """What `resolve` answers under `policies`. Without `today` no rule has expired: a test does not rot."""
        test = self.test
        today = date.fromisoformat(test.today) if test.today else None
        if "warnings" not in test.expect:  # only they tell of architectures beyond the deployment's own
            return decide(policies, self.engine, self.facts, strict_env=test.strict_env, today=today)
        return resolve(
            policies, self.engine, self.facts, names=self.names, strict_env=test.strict_env, today=today
        )


@dataclass(frozen=True, slots=True)
class Unmet:
    """One expectation that a decision does not meet, in words."""

    expectation: str
    message: str

    def __str__(self) -> str:
        return self.message


def ask(catalog: Catalog, test: PolicyTest) -> Question:
    """The question of a test. Raises `InputError` when its facts or its release cannot be used."""
    facts = Facts(facts_from_document(test.entry.below(["given"])))
    version = facts.document.get("vllm")
    engine = catalog.find(version, test.assume) if version else None
    return Question(test, facts, engine, catalog.names_of(engine))


def decide_test(policies: PolicySet, catalog: Catalog, test: PolicyTest) -> Decision:
    """The decision for the facts of a test. Raises `InputError` when its facts do not fit the schema."""
    return ask(catalog, test).decide(policies)


def unmet(decision: Decision, expect: Mapping[str, Any]) -> Iterator[Unmet]:
    """Each expectation that the decision does not meet."""
    for name, wanted in expect.items():
        special = _SPECIAL.get(name)
        if special is not None:
            yield from (Unmet(name, message) for message in special(decision, wanted))
            continue
        found = _found(decision, name)
        if found != (sorted(wanted) if isinstance(wanted, list) else wanted):
            yield Unmet(name, f"{name} is {_said(found)}, expected {_said(wanted)}")


def _found(decision: Decision, name: str) -> Any:
    by = decision.decided_by
    if name in _BY:
        return getattr(by, name) if by else None
    found: dict[str, Any] = {
        "status": decision.status,
        "runner": decision.runner,
        "unset": sorted(decision.env_unset),
        "missing_facts": sorted(decision.missing_facts),
        "overrides": sorted({override.name for override in decision.overrides}),
        "features": sorted(feature for error in decision.errors for feature in error.features),
    }
    return found[name]


def _env(decision: Decision, wanted: Mapping[str, str]) -> Iterator[str]:
    for variable, value in wanted.items():
        found = decision.env_set.get(variable)
        if found != value:
            said = "not set" if found is None else shown(variable, found) or "empty"
            yield f"{variable} is {said}, expected {shown(variable, value) or 'empty'}"


def _error(decision: Decision, wanted: str) -> Iterator[str]:
    codes = [error.code for error in decision.errors]
    if wanted not in codes:
        yield f"error is {', '.join(codes) or 'none'}, expected {wanted}"


def _warnings(decision: Decision, wanted: list[str]) -> Iterator[str]:
    if not wanted and decision.warnings:
        yield f"there is a warning, expected none: {decision.warnings[0]}"
    for text in wanted:
        if not any(text in warning for warning in decision.warnings):
            yield f"no warning holds `{text}`; there {_are(decision.warnings)}"


def _are(warnings: tuple[str, ...]) -> str:
    return "is none" if not warnings else "are: " + "; ".join(warnings)


# What `decided_by` says.
_BY = ("layer", "rule", "policy", "enforce")
# What is not compared as a whole.
_SPECIAL: dict[str, Callable[[Decision, Any], Iterator[str]]] = {
    "env": _env,
    "error": _error,
    "warnings": _warnings,
}


def _said(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(sorted(value)) + "]"
    return "none" if value is None else str(value)
