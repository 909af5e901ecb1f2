"""A release is asked once for all rules that are alike to it: each rule gets the answer that it gets alone."""

from __future__ import annotations

import random
from typing import Any

import pytest

from policy.analysis import analyse
from policy.document.source import Document
from policy.engine import Catalog
from policy.rules.policy_set import PolicySet, compose, read_policy

CATALOG = Catalog()
RELEASES = ["0.21", "0.22", "0.23", "0.24", "0.25", "0.28"]
NAMES = ["LlamaForCausalLM", "Qwen3ForCausalLM", "Qwen3MoeForCausalLM", "MistralForCausalLM", "MyForCausalLM"]
ASKED: dict[str, tuple[Any, ...]] = {
    "architectures": (*NAMES, "Qwen*", NAMES[:2]),
    "model_config.architecture": tuple(NAMES[:2]),
    "model_config.runner_type": ("pooling", "generate"),
    "speculative_config.method": ("suffix", "mtp", "ngram"),
    "model_config.is_moe": (True, False),
    "platform": ("cuda", "rocm"),
    "parallel_config.pipeline_parallel_size": (1, {"gt": 1}),
}


def some_match(chance: random.Random, number: int) -> dict[str, Any]:
    first = chance.randrange(len(RELEASES) - 1)
    paths = [
        chance.choice(["architectures"] * 4 + sorted(ASKED)),
        *chance.sample(sorted(ASKED), chance.randint(0, 1)),
    ]
    match: dict[str, Any] = {path: chance.choice(ASKED[path]) for path in paths}
    for word in ("any", "not"):
        if chance.random() < 0.1:
            below = {path: chance.choice(ASKED[path]) for path in chance.sample(sorted(ASKED), 1)}
            match[word] = [below, {"labels.rack": "r1"}] if word == "any" else below
    reach = f">={RELEASES[first]}.dev0,<{RELEASES[first + 1]}.dev0"
    return {
        **match,
        "vllm": reach,
        "labels.team": f"t{number}",
    }  # each for a team, so that none meets another


def policies(rules: list[dict[str, Any]]) -> PolicySet:
    data = {
        "apiVersion": "runnerctl/v1",
        "kind": "RunnerPolicy",
        "metadata": {"name": "alike"},
        "rules": rules,
    }
    return compose([read_policy(Document.unmarked("alike", data))])


def findings(rules: list[dict[str, Any]]) -> set[Any]:
    found = analyse(policies(rules), CATALOG)
    assert not found.cut
    return {
        *((r.rule.id, "redundant", *r[1:]) for r in found.redundant),
        *((u.rule.id, "unserved", *u[1:]) for u in found.unserved),
    }


@pytest.mark.parametrize("seed", range(2))
def test_together_each_rule_is_what_it_is_alone(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    rules = [
        {
            "id": f"r{i}",
            "match": some_match(chance, i),
            "runner": chance.choice(["v1", "v2"]),
            "enforce": chance.choice(["require", "prefer"]),
        }
        for i in range(400)
    ]
    alone = set().union(*(findings([rule]) for rule in rules))
    assert findings(rules) == alone
    assert {what for _, what, *_ in alone} == {"redundant", "unserved"}
