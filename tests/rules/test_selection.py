"""What selection says of many rules at once is what each match says alone: rules and deployments at random."""

from __future__ import annotations

import gzip
import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from policy.document.source import Document
from policy.engine import Catalog
from policy.engine.release import RUNNERS
from policy.facts.facts import Facts, steps_to
from policy.facts.fields import expand
from policy.rules.match import Match
from policy.rules.read_match import MatchReader
from policy.rules.selection import Selection

ORACLE = Path(__file__).parents[1] / "engine_catalog" / "oracle_cases.jsonl.gz"
CATALOG = Catalog()
NAMES = ("LlamaForCausalLM", "LlamaModel", "MistralForCausalLM", "Qwen3ForCausalLM", "Qwen3MoeForCausalLM")
LAYERS = "speculative_config.draft_model_config.hf_config.layer_types"
# What rules may ask, by fact: every kind of test, derived facts, facts in open mappings, free-form ones.
ASKED: dict[str, tuple[Any, ...]] = {
    "architectures": (*NAMES, "Llama*", "*ForCausalLM", "Qwen?*", ["LlamaModel", "Q*"], {"ne": "LlamaModel"}),
    "model_config.architecture": ("LlamaForCausalLM", "*Moe*"),
    "model_config": ({"exists": False}, {"exists": True}),
    "platform": ("cuda", "rocm", ["cpu", "tpu"]),
    "vllm": (">=0.22,<0.24", "==0.23.*", "<0.25.dev0", ["0.22.0", ">=0.28"]),
    "model_config.is_moe": (True, False),
    "model_config.max_model_len": ({"gt": 4096}, {"ge": 1, "lt": 9000}, 8192),
    "parallel_config.tensor_parallel_size": (1, {"gt": 1}, {"ne": 2}),
    "parallel_config.use_ubatching": (True, False),
    "speculative_config": ({"exists": True}, {"exists": False}),
    "speculative_config.method": ("eagle*", "mtp", {"ne": "mtp"}),
    "speculative_config.num_speculative_tokens": ({"ge": 2}, 1),
    LAYERS: ("sliding_attention", {"exists": True}),
    "env.VLLM_USE_V2_MODEL_RUNNER": ("0", "1", {"exists": False}),
    "env.VLLM_LOGGING_LEVEL": ("DEBUG", {"exists": True}),
    "labels.team": ("search", "s*"),
    "packages.arctic-inference": ({"exists": True}, ">=0.4"),
    "packages.Arctic_Inference": ({"exists": True}, "<0.4"),
    "env.A.B": ("1", {"exists": False}),
    "labels.a.b": ("x", "*", {"ne": "x"}),
    "speculative_config.draft_model_config": ({"exists": True}, {"exists": False}),
    "speculative_config.uses_dynamic_speculative_decoding": (True, False),
    "kv_transfer_config.kv_connector": ("LMCache*", {"exists": False}),
}
GIVEN: dict[str, tuple[Any, ...]] = {
    "architectures": (["LlamaForCausalLM"], ["LlamaModel", "Qwen3ForCausalLM"], ["Qwen3MoeForCausalLM"], []),
    "platform": ("cuda", "rocm", "cpu"),
    "vllm": ("0.22.0", "0.23.0", "0.23.0rc1", "0.24.0+cu129", "0.28.0"),
    "model_config.is_moe": (True, False),
    "model_config.max_model_len": (1, 4096, 8192, 8192.0, 10**30, float("inf"), float("nan")),
    "parallel_config.tensor_parallel_size": (1, 2, 4, 1.0, 2**60),
    "parallel_config.enable_dbo": (True, False),
    "parallel_config.ubatch_size": (0, 4),
    "speculative_config.method": ("eagle3", "mtp", "ngram"),
    "speculative_config.num_speculative_tokens": (1, 3),
    LAYERS: (["sliding_attention"], ["full_attention", 1], []),
    "env.VLLM_USE_V2_MODEL_RUNNER": ("0", "1", None),
    "env.VLLM_LOGGING_LEVEL": ("DEBUG",),
    "labels.team": ("search", "ads"),
    "labels.rack": ("r1",),
    "packages.arctic_inference": ("0.4.1", "0.3"),
    "packages.arctic-inference": ("0.5",),  # the same package once more: Python's own tools list both
    "env.A.B": ("1",),
    "labels.a.b": ("x", "y"),
    "speculative_config.num_speculative_tokens_per_batch_size": (None, [], [[1, 2]]),
    "kv_transfer_config.kv_connector": ("LMCacheConnectorV1", None),
}
WHOLE = ("model_config", "speculative_config", "env", "labels", "packages", "lora_config", "parallel_config")
HIDDEN = (
    *(
        "model_config",
        "model_config.is_moe",
        "architectures",
        "speculative_config.method",
        "env",
        "env.A.B",
        "vllm",
    ),
    *(
        "packages",
        "packages.Arctic.Inference",
        "labels.a.b",
        "speculative_config",
        "parallel_config.ubatch_size",
    ),
)


@dataclass(frozen=True)
class Numbered:
    id: int
    match: Match


def some_match(chance: random.Random, depth: int = 0) -> dict[str, Any]:
    paths = chance.sample(sorted(ASKED), chance.randint(1, 3))
    match = {path: chance.choice(ASKED[path]) for path in paths}
    for word in ("any", "all", "not"):
        if depth < 2 and chance.random() < 0.15:
            below = [some_match(chance, depth + 1) for _ in range(chance.randint(1, 3))]
            match[word] = below[0] if word == "not" else below
    return match


def some_rules(chance: random.Random, count: int) -> list[Numbered]:
    reader = MatchReader(Document.unmarked("policy", {}))
    rules = [Numbered(i, reader.read(some_match(chance), ())) for i in range(count)]
    assert reader.findings == ()
    return rules


def some_facts(chance: random.Random, paths: list[str]) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for path in paths:
        *objects, last = steps_to(expand(path))
        node = document
        for step in objects:
            node = node.setdefault(step, {})
        node[last] = chance.choice(GIVEN[path])
    if chance.random() < 0.3:
        document.setdefault(chance.choice(WHOLE), chance.choice([None, {}]))
    if chance.random() < 0.1:
        document["unknown"] = [chance.choice(HIDDEN)]
    return document


@pytest.mark.parametrize("count", [1, 5, 30, 200])
@pytest.mark.parametrize("seed", range(3))
def test_matching_is_what_each_match_says(count: int, seed: int) -> None:
    chance = random.Random(seed * 1000 + count)  # noqa: S311
    rules = some_rules(chance, count)
    selection = Selection(rules)
    matched = opened = 0
    for _ in range(6):  # each time the same keys often enough for the quick way of reading
        paths = ["vllm", "model_config.max_model_len", *chance.sample(sorted(GIVEN), chance.randint(0, 9))]
        for _ in range(150):
            document = some_facts(chance, paths)
            values = {rule.id: rule.match.value(Facts(document)) for rule in rules}
            found = selection.matching(document)
            numbers = selection.holding(Facts(document))
            possible = {rule.id for rule in selection.candidates(Facts(document))}
            assert {i for i, value in values.items() if value is not False} <= possible, document
            told = None if found is None else [rule.id for rule in found]
            assert told == (None if numbers is None else list(numbers)), document
            holds = [i for i, value in values.items() if value]
            assert told == (None if None in values.values() else holds), document
            opened += told is None
            matched += len(told or ())
    assert count < 5 or (matched > 100 and opened > 0)


@pytest.mark.parametrize(
    "packages",
    [
        {"arctic-inference": "0.5", "Arctic_Inference": "0.3"},
        {"Arctic_Inference": "0.3", "arctic-inference": "0.5"},
        {"arctic.inference": "0.3", "ARCTIC-inference": "0.5"},
    ],
)
def test_a_package_in_several_spellings_is_the_one_that_the_match_says(packages: dict[str, str]) -> None:
    reader = MatchReader(Document.unmarked("policy", {}))
    asked = [("arctic-inference", ">=0.4"), ("arctic-inference", "<0.4"), ("Arctic_Inference", "<0.4")]
    for some in (asked, asked[:1], asked[1:2]):
        rules = [Numbered(i, reader.read({f"packages.{n}": v}, ())) for i, (n, v) in enumerate(some)]
        selection = Selection(rules)
        alone = [{"packages": {"arctic-inference": version}} for version in ("0.3", "0.5")]
        for document in [*alone * 5, {"packages": packages}, *alone]:
            holds = [rule for rule in rules if rule.match.value(Facts(document))]
            assert list(selection.matching(document) or ()) == holds


def documents() -> list[dict[str, Any]]:
    with gzip.open(ORACLE, "rt") as lines:
        whole = [json.loads(line)["facts"] for line in lines]
    chance = random.Random(1)  # noqa: S311  (the same pieces at every run)
    found = list(whole)
    for facts in whole:
        piece = {head: value for head, value in facts.items() if chance.random() < 0.5}
        hidden = chance.choice(["model_config", "speculative_config", "parallel_config.enable_dbo", "env"])
        found += [piece, {**piece, "unknown": [hidden]}]
    return found


@pytest.mark.parametrize("release", ["0.20.0", "0.22.0", "0.24.0", "0.28.0", "0.30.0", "0.33.0"])
def test_what_is_left_out_of_a_release_is_false(release: str) -> None:
    engine = CATALOG.load(release)
    skipped = 0
    for document in documents():
        facts = Facts(document)
        for runner in RUNNERS:
            for selection, gaps in zip(
                engine.gaps[runner], (engine.unsupported, engine.refused), strict=True
            ):
                kept = selection.candidates(facts)
                left_out = [gap for gap in gaps[runner] if gap not in kept]
                skipped += len(left_out)
                assert [gap.id for gap in left_out if gap.match.value(facts) is not False] == []
    assert skipped > 1000
