"""Asks the catalog and vLLM's own functions the same questions, and keeps what they answer differently."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from policy.decision.decision import Decision
from policy.decision.resolve import resolve
from policy.engine.catalog import Catalog
from policy.engine.release import EngineRelease
from policy.engine.source.deciding import DecidingCode
from policy.engine.source.oracle import Answer, Oracle
from policy.facts.facts import Facts
from policy.rules.policy_set import PolicySet
from policy.verification.random_facts import Population, constants_of

__all__ = ["Disagreement", "disagreements", "population_for"]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One deployment that the catalog and vLLM answer differently."""

    facts: Mapping[str, Any]
    catalog: str
    vllm: str

    def as_json(self) -> dict[str, Any]:
        return {"facts": dict(self.facts), "catalog": self.catalog, "vllm": self.vllm}


def population_for(catalog: Catalog, code: DecidingCode, engine: EngineRelease) -> Population:
    """Facts that the rules of any release, or the code itself, could tell apart."""
    engines = [catalog.load(release) for release in catalog.releases]
    return Population(engine, engines, constants_of(code), catalog.architecture_names(engine.release))


def disagreements(
    engine: EngineRelease, oracle: Oracle, population: Population, *, samples: int, seed: int
) -> Iterator[Disagreement]:
    """The differences among `samples` random deployments. Raises `SourceError` when vLLM's code cannot be asked."""
    first = min(samples, 500)
    yield from _differences(engine, oracle, population.draw(first, seed))
    population.add_paths(oracle.asked)  # what the code was seen to read, whether or not a rule does
    yield from _differences(engine, oracle, population.draw(samples - first, seed + 1))


def _differences(
    engine: EngineRelease, oracle: Oracle, documents: Iterable[dict[str, Any]]
) -> Iterator[Disagreement]:
    for document in documents:
        decision = resolve(PolicySet(), engine, Facts(document))
        answer = oracle.ask(Facts(document))
        if not same(decision, answer):
            yield Disagreement(document, _said(decision), _answered(answer))


def same(decision: Decision, answer: Answer) -> bool:
    """Whether both give the same runner, or both refuse for the same features.

    Where vLLM refuses with a sentence that names no feature, the catalog may name one.
    """
    if answer.runner is not None or decision.status != "error":
        return decision.status == "ok" and decision.runner == answer.runner
    features = {feature for failure in decision.errors for feature in failure.features}
    return not answer.features or features == set(answer.features)


def _said(decision: Decision) -> str:
    if decision.runner:
        return f"{decision.runner} ({decision.decided_by.reason if decision.decided_by else ''})"
    return f"{decision.status}: " + "; ".join(failure.message for failure in decision.errors)


def _answered(answer: Answer) -> str:
    return answer.runner or f"error: {answer.message}"
