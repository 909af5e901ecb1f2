"""What changes for one deployment between two releases, as a table, and what follows from it."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
import yaml

from policy.document.source import Source, parse
from policy.engine import Catalog
from policy.facts.facts import nest
from policy.rules.policy_set import PolicySet, compose, read_policy
from policy.upgrade import Change, Comparer, Tally
from policy.upgrade.pins import dead_rules

CATALOG = Catalog()
LLAMA = {"architectures": ["LlamaForCausalLM"]}
QUANTIZED = {**LLAMA, "model_config.is_quantized": True}
PROCESSORS = {**LLAMA, "model_config.logits_processors": ["my.module:Processor"]}
PCP = {**LLAMA, "parallel_config.prefill_context_parallel_size": 2}
DIFFUSION = {**LLAMA, "model_config.is_diffusion": True}
GLM_ROCM = {"architectures": ["GlmMoeDsaForCausalLM"], "model_config.is_moe": True, "platform": "rocm"}
SWITCH_0 = {"env.VLLM_USE_V2_MODEL_RUNNER": "0"}
REQUIRE_V1 = [
    {"id": "on-v1", "match": {"architectures": "LlamaForCausalLM"}, "runner": "v1", "enforce": "require"}
]


def policies(rules: list[dict[str, Any]]) -> PolicySet:
    document = {
        "apiVersion": "runnerctl/v1",
        "kind": "RunnerPolicy",
        "metadata": {"name": "fleet", "owner": "team"},
        "rules": [{"reason": "because", **rule} for rule in rules],
    }
    return (
        compose([read_policy(parse(Source("fleet.yaml", yaml.safe_dump(document))))])
        if rules
        else PolicySet()
    )


def change(
    before: str, after: str, facts: dict[str, Any], rules: list[dict[str, Any]] | None = None, **options: Any
) -> Change:
    return Comparer(policies(rules or []), CATALOG, before, after, **options).compare("one", nest(facts))


@pytest.mark.parametrize(
    ("before", "after", "facts", "rules", "kind", "runners"),
    [
        ("0.22.0", "0.23.0", LLAMA, [], "flip", ("v1", "v2")),
        ("0.23.0", "0.24.0", QUANTIZED, [], "flip", ("v1", "v2")),
        ("0.24.0", "0.25.0", {"architectures": ["Qwen2ForCausalLM"]}, [], "flip", ("v1", "v2")),
        ("0.29.0", "0.30.0", GLM_ROCM, [], "flip", ("v2", "v1")),
        ("0.29.0", "0.30.0", {**GLM_ROCM, "platform": "cuda"}, [], "same", ("v2", "v2")),
        ("0.30.0", "0.31.0", PROCESSORS, [], "flip", ("v1", "v2")),
        ("0.28.0", "0.29.0", {**PCP, **SWITCH_0}, [], "same", (None, None)),
        ("0.26.0", "0.27.0", {**PCP, **SWITCH_0}, [], "error", ("v1", None)),
        ("0.28.0", "0.29.0", PCP, [], "fixed", (None, "v2")),
        ("0.28.0", "0.29.0", DIFFUSION, REQUIRE_V1, "error", ("v1", None)),
        ("0.28.0", "0.29.0", {**DIFFUSION, **SWITCH_0}, [], "error", ("v1", None)),
        ("0.22.0", "0.23.0", LLAMA, REQUIRE_V1, "same", ("v1", "v1")),
        ("0.23.0", "0.22.0", LLAMA, [], "flip", ("v2", "v1")),
        ("0.22.0", "0.23.0", {**LLAMA, "unknown": ["model_config.is_moe"]}, [], "undetermined", ("v1", None)),
        ("0.32.0", "0.99.0", LLAMA, [], "undetermined", ("v2", None)),
    ],
)
def test_kinds(
    before: str,
    after: str,
    facts: dict[str, Any],
    rules: list[dict[str, Any]],
    kind: str,
    runners: tuple[str | None, str | None],
) -> None:
    found = change(before, after, facts, rules)
    assert found.kind == kind
    assert (found.before.runner, found.after.runner) == runners
    assert found.direction == (f"{runners[0]}->{runners[1]}" if kind == "flip" else None)


@pytest.mark.parametrize(
    ("before", "after", "facts", "runner", "supported", "unsupported"),
    [
        ("0.30.0", "0.31.0", PROCESSORS, "v2", ("custom logits processors",), ()),
        ("0.28.0", "0.29.0", DIFFUSION, "v1", (), ("diffusion models",)),
        ("0.28.0", "0.29.0", PCP, "v2", ("prefill context parallelism",), ()),
        ("0.22.0", "0.23.0", LLAMA, "v2", (), ()),
        ("0.11.2", "0.12.0", LLAMA, "v2", ("this release has no Model Runner V2",), ()),
    ],
)
def test_features(
    before: str, after: str, facts: dict[str, Any], runner: Any, supported: Any, unsupported: Any
) -> None:
    found = change(before, after, facts).features[runner]
    assert (found.supported, found.unsupported) == (supported, unsupported)


@pytest.mark.parametrize(
    ("before", "after", "facts", "matched"),
    [
        ("0.22.0", "0.23.0", LLAMA, {"architectures", "vllm"}),
        ("0.22.0", "0.23.0", {**LLAMA, "model": "org/name"}, {"architectures", "vllm", "model"}),
        ("0.23.0", "0.24.0", QUANTIZED, {"architectures", "vllm", "model_config.is_quantized"}),
        ("0.29.0", "0.30.0", GLM_ROCM, {"architectures", "vllm", "platform"}),
        ("0.22.0", "0.23.0", {**LLAMA, "unknown": ["model_config.is_moe"]}, {"architectures", "vllm"}),
    ],
)
def test_a_suggested_rule_keeps_the_runner_of_before(
    before: str, after: str, facts: dict[str, Any], matched: set[str]
) -> None:
    first = change(before, after, facts, today=date(2026, 12, 1))
    assert first.keep is not None
    assert first.keep.yaml is not None
    rules = yaml.safe_load(first.keep.yaml)
    assert set(rules[0]["match"]) == matched
    assert rules[0]["expires"] == "2027-03-01"
    pinned = change(before, after, facts, rules)
    assert pinned.after.runner == first.before.runner
    assert pinned.kind == "same"


@pytest.mark.parametrize(
    ("before", "after", "facts", "rules", "why"),
    [
        ("0.28.0", "0.29.0", DIFFUSION, REQUIRE_V1, "Model Runner V1 does not support: diffusion models"),
        ("0.26.0", "0.27.0", {**PCP, **SWITCH_0}, [], "Prefill context parallelism requires Model Runner V2"),
        ("0.22.0", "0.23.0", {"model_config.architectures": []}, [], None),
        (
            "0.22.0",
            "0.23.0",
            LLAMA,
            [{"id": "go", "match": {"vllm": ">=0.23"}, "runner": "v2", "enforce": "require"}],
            "both require a runner here",
        ),
    ],
)
def test_what_cannot_be_kept_is_said(
    before: str, after: str, facts: dict[str, Any], rules: list[dict[str, Any]], why: str | None
) -> None:
    keep = change(before, after, facts, rules).keep
    if why is None:
        assert keep is None
        return
    assert keep is not None
    assert keep.rule is None
    assert why in keep.why


def test_a_rule_that_could_match_nothing_in_particular_is_not_suggested() -> None:
    found = change("0.28.0", "0.29.0", {"model_config": {"is_moe": True}})
    assert found.kind == "flip"
    assert found.keep is not None
    assert found.keep.rule is None


def test_an_accident_is_named_and_pinned() -> None:
    found = change("0.22.0", "0.23.0", {**PROCESSORS, "architectures": ["Qwen3ForCausalLM"]})
    assert found.kind == "same"
    assert found.after.decided_by is not None
    assert found.after.decided_by.because == ("V2 does not support: custom logits processors",)
    assert found.keep is not None
    assert found.keep.runner == "v1"


RULES = {
    "dead": {"match": {**LLAMA, "vllm": "<0.23"}, "runner": "v1", "enforce": "require"},
    "redundant": {"match": {**LLAMA, "vllm": ">=0.22"}, "runner": "v2", "enforce": "prefer"},
    "unsatisfiable": {"match": LLAMA, "runner": "v1", "enforce": "require"},
}


OPT = {"architectures": ["OPTForCausalLM"]}


@pytest.mark.parametrize(
    ("rule", "before", "after", "facts", "rots"),
    [
        ("dead", "0.22.0", "0.23.0", LLAMA, True),
        ("dead", "0.22.0", "0.23.0", OPT, False),
        ("dead", "0.23.0", "0.24.0", LLAMA, False),
        ("redundant", "0.22.0", "0.23.0", LLAMA, True),
        ("redundant", "0.22.0", "0.23.0", OPT, False),
        ("redundant", "0.23.0", "0.24.0", LLAMA, False),
        ("redundant", "0.22.0", "0.23.0", {**LLAMA, "has_triton": False}, False),
        ("unsatisfiable", "0.28.0", "0.29.0", DIFFUSION, True),
        ("unsatisfiable", "0.28.0", "0.29.0", LLAMA, False),
        ("unsatisfiable", "0.29.0", "0.30.0", DIFFUSION, False),
    ],
)
def test_pins_that_rot(rule: str, before: str, after: str, facts: dict[str, Any], rots: bool) -> None:
    pins = change(before, after, facts, [{"id": rule, **RULES[rule]}]).pins
    assert [(pin.rule, pin.state) for pin in pins] == ([(rule, rule)] if rots else [])


@pytest.mark.parametrize(
    ("match", "dead"),
    [
        ({"vllm": "<0.23"}, True),
        ({"vllm": "<0.24"}, False),
        ({"any": [{"vllm": "<0.23"}, {"platform": "rocm"}]}, False),
        ({"vllm": "<0.20"}, False),  # dead before the upgrade, too
    ],
)
def test_rules_that_no_deployment_can_match(match: dict[str, Any], dead: bool) -> None:
    found = dead_rules(policies([{"id": "r", "match": match, "runner": "v1"}]), "0.22.0", "0.23.0")
    assert [pin.rule for pin in found] == (["r"] if dead else [])


def test_the_release_in_the_facts_is_not_used_and_said() -> None:
    found = change("0.22.0", "0.23.0", {**LLAMA, "vllm": "0.20.0"})
    assert found.before.vllm == "0.22.0"
    assert found.notes == ("the facts name vLLM 0.20.0; asked as 0.22.0",)


def test_globs_that_conflict_fail_where_both_match() -> None:
    rules = [
        {"id": "a", "match": {"architectures": "Llama*"}, "runner": "v1"},
        {"id": "b", "match": {"architectures": "*ForCausalLM"}, "runner": "v2"},
    ]
    spared = change("0.22.0", "0.23.0", {"architectures": ["OPTForCausalLM"]}, rules)
    assert spared.after.runner == "v2"
    found = change("0.22.0", "0.23.0", {"architectures": ["LlamaForCausalLM"]}, rules)
    assert found.fails_in_both
    assert {e.code for e in found.after.errors} == {"conflicting-rules"}


def test_the_tally_counts_every_kind_once() -> None:
    tally = Tally("0.28.0", "0.29.0")
    for facts in (PCP, {**DIFFUSION, **SWITCH_0}, LLAMA, {**PCP, **SWITCH_0}):
        tally.add(change("0.28.0", "0.29.0", facts))
    assert tally.line == (
        "vLLM 0.28.0 -> 0.29.0, 4 deployments: 0 flip, 1 start to fail, 1 newly possible, 0 undetermined, "
        "2 same (1 failing in both)"
    )
    assert sum(tally.as_json()[kind] for kind in ("flip", "error", "fixed", "undetermined", "same")) == 4


def test_a_pin_takes_in_no_deployment_that_was_decided_for_another_reason() -> None:
    rule = {
        "id": "lmcache",
        "match": {"kv_transfer_config.kv_connector": "LMCache*", "vllm": "<0.25"},
        "runner": "v1",
        "enforce": "require",
    }
    given = {"architectures": ["LlamaForCausalLM"], "kv_transfer_config.kv_connector": "LMCacheConnectorV1"}
    by_rule = change("0.24.0", "0.29.0", given, [rule]).keep
    assert by_rule is not None
    assert by_rule.rule is not None
    assert by_rule.rule["match"]["kv_transfer_config.kv_connector"] == "LMCacheConnectorV1"

    switched = {"architectures": ["Qwen3MoeForCausalLM"], "model_config.is_moe": True, **SWITCH_0}
    kept = change("0.28.0", "0.29.0", switched).keep
    assert kept is None  # the operator's own switch keeps it
