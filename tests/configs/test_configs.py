"""The shipped policies do what their tests say, every rule of them is tested, and no change of them goes unnoticed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from policy.decision import resolve
from policy.engine import Catalog
from policy.facts.facts import Facts
from policy.mutation.run import mutate
from policy.rules.policy_set import PolicySet, load_policies, policy_paths
from policy.testing.coverage import coverage_of
from policy.testing.explained import explained
from policy.testing.run import Asked, ask_all, run
from policy.testing.suite import load_suites

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
FILES = policy_paths(CONFIGS)


def asked() -> list[Asked]:
    return ask_all(load_suites([CONFIGS]), Catalog())


def cases() -> list[Any]:
    return [
        pytest.param(one, id=f"{Path(one.suite.source).stem}-{one.question.test.name.replace(' ', '-')}")
        for one in asked()
    ]


@pytest.mark.parametrize("one", cases())
def test_of_the_policy_holds(one: Asked) -> None:
    (outcome,) = run([one])
    assert outcome.passed, [*map(str, outcome.unmet), *explained(outcome)]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_every_rule_decides_in_some_test(path: Path) -> None:
    suites = load_suites([path])
    coverage = coverage_of(suites, list(run(ask_all(suites, Catalog()))))
    assert coverage.percent == 100, [found.rule.id for found in coverage.rules if not found.tests]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_changes_are_noticed(path: Path) -> None:
    """Each operator, range end and value changed in turn: at least 95 % must make a test fail."""
    found = mutate(ask_all(load_suites([path]), Catalog()))
    assert len(found.mutants) > 40
    assert found.percent >= 95, [f"{m.location} {m.rule}: {m.said}" for m in found.survivors]


def test_the_shipped_policies_reproduce_0_23_for_its_dense_models() -> None:
    policies = load_policies([CONFIGS / "vllm-0.23-defaults.yaml"])
    catalog = Catalog()
    engine = catalog.load("0.23.0")
    for name in ("LlamaForCausalLM", "MistralForCausalLM", "Qwen3ForCausalLM"):
        for quantized in (False, True):
            facts = Facts(
                {"vllm": "0.23.0", "model_config": {"architectures": [name], "is_quantized": quantized}}
            )
            own = resolve(PolicySet(), engine, facts)
            assert resolve(policies, engine, facts).runner == own.runner
