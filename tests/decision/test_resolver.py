"""A resolver for many deployments answers as `resolve` does for each: the oracle's deployments, pieces, unknown facts."""

from __future__ import annotations

import gzip
import json
import random
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from policy.decision import resolve
from policy.decision.resolver import Resolver
from policy.document import Source, parse
from policy.engine import Catalog, EngineRelease
from policy.facts.facts import Facts
from policy.rules.policy_set import PolicySet, compose, load_policies, read_policy

ROOT = Path(__file__).parents[2]
CATALOG = Catalog()
TODAY = date(2027, 6, 1)  # past the expiry of some shipped rules
POLICY = """
apiVersion: runnerctl/v1
kind: RunnerPolicy
metadata: {name: resolver}
env: {VLLM_LOGGING_LEVEL: INFO}
rules:
  - {id: forced, match: {env.VLLM_USE_V2_MODEL_RUNNER: "0", platform: rocm}, runner: v2, enforce: require}
  - {id: engine, match: {labels.team: free}, runner: engine, enforce: require}
  - {id: llama, match: {architectures: "Llama*", not: {lora_config: {exists: true}}}, runner: v1, env: {A: "1"}}
  - {id: elsewhere, match: {architectures: Phi3ForCausalLM, platform: rocm}, runner: v2}
  - {id: moe, match: {any: [{model_config.is_moe: true}, {speculative_config.method: [mtp, medusa]}]}, runner: v2}
"""
POLICIES = {
    "none": PolicySet(),
    "shipped": load_policies([ROOT / "configs"]),
    "small": compose([read_policy(parse(Source("small.yaml", POLICY)))]),
}


def deployments() -> list[dict[str, Any]]:
    with gzip.open(ROOT / "tests/engine_catalog/oracle_cases.jsonl.gz", "rt") as lines:
        whole = [json.loads(line)["facts"] for line in lines]
    chance = random.Random(2)  # noqa: S311
    found = []
    for facts in whole:
        piece = {head: value for head, value in facts.items() if chance.random() < 0.6}
        labels = {"labels": {"team": chance.choice(["free", "search"]), "rack": str(chance.random())}}
        env = {"env": {**(facts.get("env") or {}), "A": chance.choice("12"), "OTHER": str(chance.random())}}
        odd = {"env": {" vllm_use_v2_model_runner": "1"}}
        hidden = chance.choice(
            ["model_config", "speculative_config", "parallel_config.enable_dbo", "env", "platform"]
        )
        found += [
            facts,
            {**facts, **labels},
            {**facts, **env},
            {**piece, **odd},
            {**piece, "unknown": [hidden]},
        ]
    chance.shuffle(found)
    return found


@pytest.mark.parametrize("policies", POLICIES)
@pytest.mark.parametrize(
    "version", ["0.11.2", "0.23.0", "0.25.1rc1", "0.28.0", "0.30.0", "0.33.0", "0.99.0", None]
)
def test_the_same_answer_as_for_one(policies: str, version: str | None) -> None:
    resolver = Resolver(POLICIES[policies], CATALOG, today=TODAY)
    engine = None if version is None else CATALOG.find(version)
    names = CATALOG.architecture_names(engine.release) if isinstance(engine, EngineRelease) else ()
    for facts in deployments():
        document = {**facts, "vllm": version} if version else facts
        wanted = resolve(
            POLICIES[policies],
            engine,
            Facts(document),
            names=names if POLICIES[policies].rules else (),
            today=TODAY,
        )
        assert resolver.decide(document) == wanted, document


@pytest.mark.parametrize("release", CATALOG.releases)
def test_the_set_of_architectures_is_that_of_the_platform(release: str) -> None:
    text = """
apiVersion: runnerctl/v1
kind: RunnerPolicy
metadata: {name: platform}
rules: [{id: rocm, match: {architectures: LlamaForCausalLM, platform: rocm}, runner: v2}]
"""
    policies = compose([read_policy(parse(Source("platform.yaml", text)))])
    names = CATALOG.architecture_names(release)
    resolver = Resolver(policies, CATALOG)
    for platform in ("cuda", "rocm", "cpu"):
        document = {
            "vllm": release,
            "platform": platform,
            "model_config": {"architectures": ["PhiForCausalLM"]},
        }
        wanted = resolve(policies, CATALOG.load(release), Facts(document), names=names)
        assert resolver.decide(document) == wanted


def test_like_deployments_share_one_decision() -> None:
    resolver = Resolver(POLICIES["small"], CATALOG)
    decisions = {
        id(resolver.decide({"vllm": "0.28.0", "model": f"org/m{i}", "labels": {"rack": str(i)}}))
        for i in range(50)
    }
    assert len(decisions) == 1
