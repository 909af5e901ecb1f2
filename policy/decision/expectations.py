"""The `tests:` of a policy: facts, and what the decision for them must be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from policy.decision.decision import Decision
from policy.decision.resolve import resolve
from policy.document.source import Document
from policy.engine.catalog import Catalog
from policy.facts.facts import Facts, facts_from_document
from policy.rules.policy_set import PolicySet, PolicyTest

__all__ = ["decide_test", "unmet"]


def decide_test(policies: PolicySet, catalog: Catalog, test: PolicyTest) -> Decision:
    """The decision for the facts of a test. Raises `InputError` when its facts do not fit the schema."""
    document = facts_from_document(Document.unmarked(test.location, dict(test.given)))
    facts = Facts(document)
    version = document.get("vllm")
    return resolve(policies, catalog.find(version) if version else None, facts)


def unmet(decision: Decision, expect: Mapping[str, Any]) -> Iterator[str]:
    """Each expectation that the decision does not meet, in words."""
    by = decision.decided_by
    codes = [error.code for error in decision.errors]
    features = [feature for error in decision.errors for feature in error.features]
    found: dict[str, Any] = {
        "status": decision.status,
        "runner": decision.runner,
        "layer": by.layer if by else None,
        "rule": by.rule if by else None,
        "features": sorted(features),
    }
    for name, wanted in expect.items():
        if name == "env":
            for variable, value in wanted.items():
                if decision.env_set.get(variable) != value:
                    yield f"{variable} is {decision.env_set.get(variable, 'not set')}, expected {value}"
        elif name == "error":
            if wanted not in codes:
                yield f"error is {', '.join(codes) or 'none'}, expected {wanted}"
        elif found[name] != (sorted(wanted) if name == "features" else wanted):
            yield f"{name} is {found[name] or 'none'}, expected {wanted}"
