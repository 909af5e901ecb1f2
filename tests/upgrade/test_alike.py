"""A fleet compared at once gets what each deployment gets alone: what they have in common is only worked out once."""

from __future__ import annotations

import json
import random
import string
from datetime import date
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.document.source import Source, parse
from policy.engine import Catalog
from policy.facts.facts import nest
from policy.rules.policy_set import PolicySet, compose, read_policy
from policy.upgrade import Comparer
from policy.upgrade.keep import Keep

CATALOG = Catalog()
TODAY = date(2027, 1, 1)
ARCHITECTURES = ("LlamaForCausalLM", "Qwen3MoeForCausalLM", "MixtralForCausalLM", "OPTForCausalLM", "OurLM*")
RULES: list[dict[str, Any]] = [
    {"id": "search", "match": {"labels.team": "search", "vllm": "<0.29"}, "runner": "v1", "enforce": "require"},
    {"id": "moe", "match": {"model_config.is_moe": True}, "runner": "v1"},
    {"id": "org", "match": {"model": "org/*", "speculative_config": {"exists": True}}, "runner": "v2", "priority": 1},
    {"id": "switched", "match": {"env.VLLM_USE_V2_MODEL_RUNNER": "0"}, "runner": "engine", "enforce": "require"},
    {"id": "set", "match": {"platform": "rocm"}, "runner": "v2", "env": {"X": "1"}, "expires": "2026-01-01"},
]  # fmt: skip
FACTS: dict[str, tuple[Any, ...]] = {
    "labels.team": ("search", "chat", None),
    "model": ("org/a", "org/b", "x", "odd*", None),
    "model_config.is_moe": (True, False, None),
    "model_config.is_quantized": (True, None),
    "model_config.logits_processors": ([], ["my.module:Processor"], None),
    "speculative_config.method": ("eagle", "suffix", None),
    "platform": ("rocm", None, None),
    "env.VLLM_USE_V2_MODEL_RUNNER": ("0", "1", "true", None, None),
    "env.X": ("1", None),
    "vllm": ("0.23.0", None),
}


def policies(rules: list[dict[str, Any]]) -> PolicySet:
    if not rules:
        return PolicySet()
    head = {"apiVersion": "runnerctl/v1", "kind": "RunnerPolicy", "metadata": {"name": "fleet"}}
    return compose([read_policy(parse(Source("fleet.yaml", yaml.safe_dump({**head, "rules": rules}))))])


def fleet(count: int) -> list[dict[str, Any]]:
    chance = random.Random(3)  # noqa: S311
    found = []
    for _ in range(count):
        facts = {path: chance.choice(values) for path, values in FACTS.items()}
        facts["architectures"] = chance.sample(ARCHITECTURES, chance.choice([1, 1, 2]))
        document = nest({path: value for path, value in facts.items() if value is not None})
        if chance.random() < 0.1 and "is_moe" not in document["model_config"]:
            document["unknown"] = ["model_config.is_moe"]
        found.append(document)
    return found


@pytest.mark.parametrize("rules", [[], RULES], ids=["no policy", "rules"])
@pytest.mark.parametrize(
    ("before", "after", "options"),
    [
        ("0.22.0", "0.23.0", {}),
        ("0.24.0", "0.29.0", {}),
        ("0.28.0", "0.30.0", {"strict_env": True}),
        ("0.28.0", "0.34.dev1", {"assume": "0.33.0"}),
        ("0.28.0", "0.34.dev1", {}),
    ],
)
def test_a_fleet(rules: list[dict[str, Any]], before: str, after: str, options: dict[str, Any]) -> None:
    def comparer() -> Comparer:
        return Comparer(policies(rules), CATALOG, before, after, today=TODAY, **options)

    together = comparer()
    documents = fleet(150)
    for document in documents:
        shared = together.compare("one", document).as_json()
        assert shared == comparer().compare("one", document).as_json()


def test_what_is_alike_is_the_same() -> None:
    comparer = Comparer(PolicySet(), CATALOG, "0.22.0", "0.23.0", today=TODAY)
    llama = {"model_config": {"architectures": ["LlamaForCausalLM"]}}
    one, other = (comparer.compare(team, {**llama, "labels": {"team": team}}) for team in ("a", "b"))
    assert (one.name, other.name) == ("a", "b")
    assert one.keep is not None
    assert one.keep is other.keep
    assert one.abilities is other.abilities


PLAIN = "".join(letter for letter in string.printable[:95] if letter not in '"\\')
words = st.text(PLAIN, min_size=1, max_size=130) | st.text(max_size=30)
values = words | st.integers() | st.booleans() | st.lists(words, max_size=3)


@settings(max_examples=200)
@given(st.dictionaries(words, values | st.dictionaries(words, values, max_size=2), max_size=4))
def test_the_yaml_of_a_pin_does_not_depend_on_who_writes_it(match: dict[str, Any]) -> None:
    rule = json.loads(json.dumps({"id": "a", "match": match}))
    assert Keep("v1", "why", rule).yaml == yaml.safe_dump(
        [rule], sort_keys=False, width=100, allow_unicode=True
    )
