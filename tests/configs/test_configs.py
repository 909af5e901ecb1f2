"""The shipped policies do what their own tests say, and every rule of them is tested."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from policy.decision import Decision, resolve
from policy.decision.expectations import decide_test, unmet
from policy.engine import Catalog
from policy.facts.facts import Facts
from policy.rules.policy_set import PolicySet, PolicyTest, load_policies

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
FILES = sorted(CONFIGS.glob("*.yaml"))


def cases() -> list[Any]:
    found = []
    for path in FILES:
        policies = load_policies([path])
        found += [
            pytest.param(policies, test, id=f"{path.stem}-{test.name.replace(' ', '-')}")
            for file in policies.files
            for test in file.tests
        ]
    return found


def decide(policies: PolicySet, test: PolicyTest) -> Decision:
    return decide_test(policies, Catalog(), test)


@pytest.mark.parametrize(("policies", "test"), cases())
def test_of_the_policy_holds(policies: PolicySet, test: PolicyTest) -> None:
    assert list(unmet(decide(policies, test), test.expect)) == []


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_every_rule_decides_in_some_test(path: Path) -> None:
    policies = load_policies([path])
    deciding = {
        by.rule
        for file in policies.files
        for test in file.tests
        if (by := decide(policies, test).decided_by) is not None
    }
    assert {rule.id for rule in policies.rules} <= deciding


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
