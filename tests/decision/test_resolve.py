"""Who decides, paragraph by paragraph of docs/policies.md, on the shipped catalog."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from policy.decision import Decision, resolve
from policy.engine import Catalog
from policy.facts.facts import Facts, nest
from policy.facts.fields import SWITCH
from policy.rules.policy_set import PolicySet

LLAMA: dict[str, Any] = {"architectures": ["LlamaForCausalLM"]}
QWEN: dict[str, Any] = {"architectures": ["Qwen3ForCausalLM"]}
OTHER: dict[str, Any] = {"architectures": ["SomeForCausalLM"]}
SUFFIX = {**LLAMA, "speculative_config.method": "suffix"}  # not in V2 up to 0.33
STOCK = {**LLAMA, "compilation_config.mode": "STOCK_TORCH_COMPILE"}  # not in V2 up to 0.31
DBO = {**LLAMA, "parallel_config.enable_dbo": True}
WATERMARK = {**LLAMA, "watermark_config": {}}
HISPARSE = {**LLAMA, "attention_config.hisparse_config": {}}

REQUIRE_V1 = "{id: need-v1, match: {}, runner: v1, enforce: require}"
REQUIRE_V2 = "{id: need-v2, match: {}, runner: v2, enforce: require}"
REQUIRE_ENGINE = "{id: as-is, match: {}, runner: engine, enforce: require}"
PREFER_V1 = "{id: like-v1, match: {}, runner: v1}"
PREFER_V2 = "{id: like-v2, match: {}, runner: v2}"
PREFER_ENGINE = "{id: like-as-is, match: {}, runner: engine}"

Ask = Callable[..., Decision]


@pytest.fixture
def ask(catalog: Catalog, policies: Callable[..., PolicySet]) -> Ask:
    def call(
        release: str,
        facts: dict[str, Any],
        *rules: str,
        switch: str | None = None,
        env: str = "{}",
        **options: Any,
    ) -> Decision:
        document = nest({**facts, "vllm": release})
        if switch is not None:
            document["env"] = {**document.get("env", {}), SWITCH: switch}
        return resolve(policies(rules, env), catalog.load(release), Facts(document), **options)

    return call


def brief(decision: Decision) -> tuple[str | None, str | None, str | None]:
    """The runner or the code of the first error, the layer, and the rule that decided."""
    by = decision.decided_by
    first = decision.runner or (decision.errors[0].code if decision.errors else None)
    return first, by.layer if by else None, by.rule if by else None


Row = tuple[str, dict[str, Any], list[str], str | None, tuple[str, str, str | None]]

ROWS: dict[str, Row] = {
    # 5, the release's own choice
    "no V2 at all": ("0.11.0", LLAMA, [], None, ("v1", "engine", "default")),
    "off by default": ("0.21.0", LLAMA, [], None, ("v1", "engine", "default")),
    "Llama on 0.22": ("0.22.0", LLAMA, [], None, ("v1", "engine", "no-default-model")),
    "Llama on 0.23": ("0.23.0", LLAMA, [], None, ("v2", "engine", "default")),
    "Mistral on 0.22": ("0.22.0", {"architectures": ["MistralForCausalLM"]}, [], None, ("v1", "engine", "no-default-model")),
    "Mistral on 0.23": ("0.23.0", {"architectures": ["MistralForCausalLM"]}, [], None, ("v2", "engine", "default")),
    "Qwen3 on 0.22": ("0.22.0", QWEN, [], None, ("v2", "engine", "default")),
    "Llama, MoE, 0.23": ("0.23.0", {**LLAMA, "model_config.is_moe": True}, [], None, ("v1", "engine", "no-default-model")),
    "Llama, quantized, 0.23": ("0.23.0", {**LLAMA, "model_config.is_quantized": True}, [], None, ("v1", "engine", "no-default-model")),
    "Llama, pooling, 0.23": ("0.23.0", {**LLAMA, "model_config.runner_type": "pooling"}, [], None, ("v1", "engine", "no-default-model")),
    "any dense model on 0.25": ("0.25.0", OTHER, [], None, ("v2", "engine", "default")),
    "any model on 0.29": ("0.29.0", {**OTHER, "model_config.is_moe": True}, [], None, ("v2", "engine", "default")),
    "second architecture counts": ("0.23.0", {"architectures": ["X", "LlamaForCausalLM"]}, [], None, ("v2", "engine", "default")),
    # 3, the operator's switch
    "switch 0": ("0.23.0", LLAMA, [], "0", ("v1", "environment", None)),
    "switch 1": ("0.22.0", LLAMA, [], "1", ("v2", "environment", None)),
    "switch with blanks": ("0.22.0", LLAMA, [], " 1 ", ("v2", "environment", None)),
    "switch 00": ("0.23.0", LLAMA, [], "00", ("v1", "environment", None)),
    "switch 2": ("0.22.0", LLAMA, [], "2", ("v2", "environment", None)),
    "switch -1": ("0.22.0", LLAMA, [], "-1", ("v2", "environment", None)),
    "switch +0": ("0.23.0", LLAMA, [], "+0", ("v1", "environment", None)),
    "switch 1_0": ("0.22.0", LLAMA, [], "1_0", ("v2", "environment", None)),
    "switch true": ("0.23.0", LLAMA, [], "true", ("invalid-switch", "environment", None)),
    "switch empty": ("0.23.0", LLAMA, [], "", ("invalid-switch", "environment", None)),
    "switch blank": ("0.23.0", LLAMA, [], "  ", ("invalid-switch", "environment", None)),
    "switch 1.0": ("0.23.0", LLAMA, [], "1.0", ("invalid-switch", "environment", None)),
    "switch 0x1": ("0.23.0", LLAMA, [], "0x1", ("invalid-switch", "environment", None)),
    "switch v2": ("0.23.0", LLAMA, [], "v2", ("invalid-switch", "environment", None)),
    "invalid switch, prefer": ("0.23.0", LLAMA, [PREFER_V1], "true", ("invalid-switch", "environment", None)),
    "switch where V2 cannot serve": ("0.23.0", SUFFIX, [], "1", ("unsupported-features", "environment", None)),
    "switch without Triton": ("0.23.0", {**LLAMA, "has_triton": False}, [], "1", ("engine-refuses", "environment", None)),
    "switch over prefer": ("0.23.0", LLAMA, [PREFER_V2], "0", ("v1", "environment", None)),
    "switch over prefer engine": ("0.23.0", LLAMA, [PREFER_ENGINE], "0", ("v1", "environment", None)),
    "switch that the release does not know": ("0.11.0", LLAMA, [], "1", ("v1", "engine", "default")),
    "nonsense that the release does not know": ("0.11.0", LLAMA, [], "true", ("v1", "engine", "default")),
    # 2, require
    "require v1": ("0.23.0", LLAMA, [REQUIRE_V1], None, ("v1", "policy", "need-v1")),
    "require v2": ("0.22.0", LLAMA, [REQUIRE_V2], None, ("v2", "policy", "need-v2")),
    "require v2, unsupported": ("0.23.0", SUFFIX, [REQUIRE_V2], None, ("unsupported-features", "policy", "need-v2")),
    "require v2, no V2 there": ("0.11.0", LLAMA, [REQUIRE_V2], None, ("engine-refuses", "policy", "need-v2")),
    "require v2, no Triton": ("0.23.0", {**LLAMA, "has_triton": False}, [REQUIRE_V2], None, ("engine-refuses", "policy", "need-v2")),
    "require v1 on the old release": ("0.11.0", LLAMA, [REQUIRE_V1], None, ("v1", "policy", "need-v1")),
    "require v1 with a watermark, 0.30": ("0.30.0", WATERMARK, [REQUIRE_V1], None, ("engine-refuses", "policy", "need-v1")),
    "require v2 with a watermark, 0.30": ("0.30.0", WATERMARK, [REQUIRE_V2], None, ("v2", "policy", "need-v2")),
    "require v1 with HiSparse, 0.30": ("0.30.0", HISPARSE, [REQUIRE_V1], None, ("engine-refuses", "policy", "need-v1")),
    "require v2 with HiSparse, 0.33": ("0.33.0", HISPARSE, [REQUIRE_V2], None, ("v2", "policy", "need-v2")),
    "switch 0 with a watermark, 0.30": ("0.30.0", WATERMARK, [], "0", ("v2", "engine", "watermarking")),
    "switch 0 with HiSparse, 0.30": ("0.30.0", HISPARSE, [], "0", ("engine-refuses", "environment", None)),
    "watermark, own choice": ("0.30.0", WATERMARK, [], None, ("v2", "engine", "watermarking")),
    "prefer v1 with a watermark": ("0.30.0", WATERMARK, [PREFER_V1], None, ("v2", "policy", "like-v1")),
    # 1, the rules against each other
    "require over prefer": ("0.23.0", LLAMA, [PREFER_V2, REQUIRE_V1], None, ("v1", "policy", "need-v1")),
    "require over a high prefer": ("0.23.0", LLAMA, ["{id: p, match: {}, runner: v2, priority: 999}", REQUIRE_V1], None, ("v1", "policy", "need-v1")),
    "two requires, same": ("0.23.0", LLAMA, [REQUIRE_V1, "{id: a, match: {}, runner: v1, enforce: require}"], None, ("v1", "policy", "a")),
    "two requires, different": ("0.23.0", LLAMA, [REQUIRE_V1, REQUIRE_V2], None, ("conflicting-rules", "policy", "need-v1")),
    "require v1 and require engine": ("0.23.0", LLAMA, [REQUIRE_V1, REQUIRE_ENGINE], None, ("conflicting-rules", "policy", "as-is")),
    "priority does not settle requires": (
        "0.23.0",
        LLAMA,
        ["{id: a, match: {}, runner: v2, enforce: require, priority: 9}", REQUIRE_V1],
        None,
        ("conflicting-rules", "policy", "a"),
    ),
    "prefer, higher priority": ("0.23.0", LLAMA, [PREFER_V2, "{id: p, match: {}, runner: v1, priority: 1}"], None, ("v1", "policy", "p")),
    "prefer, negative priority": ("0.23.0", LLAMA, [PREFER_V2, "{id: p, match: {}, runner: v1, priority: -1}"], None, ("v2", "policy", "like-v2")),
    "prefer, equal priority": ("0.23.0", LLAMA, [PREFER_V2, PREFER_V1], None, ("conflicting-rules", "policy", "like-v1")),
    "prefer v2 and prefer engine": ("0.23.0", LLAMA, [PREFER_V2, PREFER_ENGINE], None, ("conflicting-rules", "policy", "like-as-is")),
    "conflict below the first": (
        "0.23.0",
        LLAMA,
        [PREFER_V1, PREFER_V2, "{id: p, match: {}, runner: v2, priority: 1}"],
        None,
        ("v2", "policy", "p"),
    ),
    "conflict that the switch settles": ("0.23.0", {**LLAMA, "labels.x": "y"}, ["{id: a, match: {labels.x: y}, runner: v1}", "{id: b, match: {labels.x: y}, runner: v2}"], "0", ("v1", "environment", None)),
    "rule that does not match": ("0.23.0", LLAMA, ["{id: a, match: {platform: rocm}, runner: v1, enforce: require}"], None, ("v2", "engine", "default")),
    # 4, prefer
    "prefer v1": ("0.23.0", LLAMA, [PREFER_V1], None, ("v1", "policy", "like-v1")),
    "prefer v2, unsupported": ("0.23.0", SUFFIX, [PREFER_V2], None, ("v1", "policy", "like-v2")),
    "prefer v2, no V2 there": ("0.11.0", LLAMA, [PREFER_V2], None, ("v1", "policy", "like-v2")),
    "prefer v1, unsupported": ("0.29.0", {**LLAMA, "model_config.is_diffusion": True}, [PREFER_V1], None, ("v2", "policy", "like-v1")),
    # 6, require against the switch
    "require v1 over switch 1": ("0.23.0", LLAMA, [REQUIRE_V1], "1", ("v1", "policy", "need-v1")),
    "require v2 over switch 0": ("0.23.0", LLAMA, [REQUIRE_V2], "0", ("v2", "policy", "need-v2")),
    "require v1 over an invalid switch": ("0.23.0", LLAMA, [REQUIRE_V1], "true", ("v1", "policy", "need-v1")),
    # 7, engine
    "engine, 0.22": ("0.22.0", LLAMA, [REQUIRE_ENGINE], None, ("v1", "policy", "as-is")),
    "engine, 0.23": ("0.23.0", LLAMA, [REQUIRE_ENGINE], None, ("v2", "policy", "as-is")),
    "engine over a switch": ("0.23.0", LLAMA, [REQUIRE_ENGINE], "0", ("v2", "policy", "as-is")),
    "engine over an invalid switch": ("0.23.0", LLAMA, [REQUIRE_ENGINE], "", ("v2", "policy", "as-is")),
    # a rule that maps the switch to a runner
    "the switch as a fact": ("0.23.0", LLAMA, [f"{{id: map, match: {{env.{SWITCH}: 'true'}}, runner: v2, enforce: require}}"], "true", ("v2", "policy", "map")),
    # judged with the switch as it will be set
    "DBO on 0.29": ("0.29.0", DBO, [], None, ("v1", "engine", "v2-unsupported")),
    "DBO on 0.30, not set": ("0.30.0", DBO, [], None, ("v1", "engine", "v2-unsupported")),
    "DBO on 0.30, switch 1": ("0.30.0", DBO, [], "1", ("v2", "environment", None)),
    "DBO on 0.30, require v2": ("0.30.0", DBO, [REQUIRE_V2], None, ("v2", "policy", "need-v2")),
    "DBO on 0.30, prefer v2": ("0.30.0", DBO, [PREFER_V2], None, ("v2", "policy", "like-v2")),
    "DBO on 0.29, require v2": ("0.29.0", DBO, [REQUIRE_V2], None, ("unsupported-features", "policy", "need-v2")),
    "DBO and LoRA on 0.30, require v2": ("0.30.0", {**DBO, "lora_config": {}}, [REQUIRE_V2], None, ("unsupported-features", "policy", "need-v2")),
    "DBO on 0.30, engine takes the switch away": ("0.30.0", DBO, [REQUIRE_ENGINE], "1", ("v1", "policy", "as-is")),
}  # fmt: skip


@pytest.mark.parametrize("case", ROWS)
def test_who_decides_what(ask: Ask, case: str) -> None:
    release, facts, rules, switch, expected = ROWS[case]
    decision = ask(release, facts, *rules, switch=switch)
    assert brief(decision) == expected
    assert decision.status == ("ok" if decision.runner else "error")
    assert decision.vllm == release
    assert bool(decision.errors) is (decision.status == "error")
    if decision.status == "error":
        assert (decision.env_set, decision.env_unset) == ({}, ())


# (release, facts, rules, switch) -> (set, unset)
SET: dict[str, tuple[str, dict[str, Any], list[str], str | None, dict[str, str], tuple[str, ...]]] = {
    "require v1": ("0.23.0", LLAMA, [REQUIRE_V1], None, {SWITCH: "0"}, ()),
    "require v2": ("0.23.0", LLAMA, [REQUIRE_V2], "0", {SWITCH: "1"}, ()),
    "set although it is there": ("0.23.0", LLAMA, [REQUIRE_V2], "1", {SWITCH: "1"}, ()),
    "another spelling of the value": ("0.23.0", LLAMA, [REQUIRE_V2], " 1 ", {SWITCH: "1"}, ()),
    "fallen back": ("0.23.0", SUFFIX, [PREFER_V2], None, {SWITCH: "0"}, ()),
    "operator": ("0.23.0", LLAMA, [], "0", {}, ()),
    "own choice": ("0.23.0", LLAMA, [], None, {}, ()),
    "engine": ("0.23.0", LLAMA, [REQUIRE_ENGINE], "1", {}, (SWITCH,)),
    "engine, not set": ("0.23.0", LLAMA, [REQUIRE_ENGINE], None, {}, (SWITCH,)),
    "prefer engine": ("0.23.0", LLAMA, [PREFER_ENGINE], None, {}, (SWITCH,)),
    "no switch there": ("0.11.0", LLAMA, [REQUIRE_V1], None, {}, ()),
    "rule env": ("0.23.0", LLAMA, ["{id: a, match: {}, runner: v1, env: {A: b}}"], None, {"A": "b", SWITCH: "0"}, ()),
    "rule env over the operator's": (
        "0.23.0",
        {**LLAMA, "env.A": "c"},
        ["{id: a, match: {}, runner: v1, env: {A: b}}"],
        None,
        {"A": "b", SWITCH: "0"},
        (),
    ),
    "another spelling of the name": ("0.23.0", {**LLAMA, f"env.{SWITCH.lower()}": "1"}, [REQUIRE_V1], None, {SWITCH: "0"}, (SWITCH.lower(),)),
}  # fmt: skip


@pytest.mark.parametrize("case", SET)
def test_what_is_set(ask: Ask, case: str) -> None:
    release, facts, rules, switch, env_set, unset = SET[case]
    decision = ask(release, facts, *rules, switch=switch)
    assert decision.status == "ok"
    assert (dict(decision.env_set), decision.env_unset) == (env_set, unset)


def test_old_release_with_a_switch_in_the_environment(ask: Ask) -> None:
    assert ask("0.11.0", LLAMA, REQUIRE_V1, switch="1").env_set == {}


def test_policy_env_is_below_the_operators(ask: Ask) -> None:
    decision = ask("0.23.0", {**LLAMA, "env.A": "mine"}, PREFER_V1, env="{A: policy, B: policy}")
    assert decision.env_set == {"B": "policy", SWITCH: "0"}
    assert [(o.name, o.value, o.source, o.replaced_by) for o in decision.overrides] == [
        ("A", "policy", "policy env", "mine")
    ]


FEATURES: dict[str, tuple[str, dict[str, Any], str, str | None, tuple[str, ...]]] = {
    "one": ("0.23.0", SUFFIX, REQUIRE_V2, None, ("speculative method 'suffix'",)),
    "several": ("0.23.0", {**SUFFIX, **STOCK}, REQUIRE_V2, None, ("speculative method 'suffix'", "stock torch.compile")),
    "operator": ("0.23.0", STOCK, PREFER_V1, "1", ("stock torch.compile",)),
    "V1's": ("0.29.0", {**LLAMA, "model_config.is_diffusion": True}, REQUIRE_V1, None, ("diffusion models",)),
    "refusal with a feature": ("0.28.0", {**LLAMA, "parallel_config.prefill_context_parallel_size": 2}, REQUIRE_V1, None, ("prefill context parallelism",)),
}  # fmt: skip


@pytest.mark.parametrize("case", FEATURES)
def test_features_are_vllms_own_words_one_each(ask: Ask, case: str) -> None:
    release, facts, rule, switch, features = FEATURES[case]
    (failure,) = ask(release, facts, rule, switch=switch).errors
    assert failure.code == "unsupported-features"
    assert failure.features == features
    for feature in features:
        assert feature.lower() in failure.message.lower()


def test_conflicts_name_both_rules_and_their_places(ask: Ask) -> None:
    for rules in ([REQUIRE_V1, REQUIRE_V2], [REQUIRE_V2, REQUIRE_V1], [PREFER_V1, PREFER_V2]):
        (failure, *_) = ask("0.23.0", {**LLAMA, "labels.x": "y"}, *rules).errors
        for part in ("v1`", "v2`", "fleet.yaml:6:5", "fleet.yaml:7:5"):
            assert part in failure.message


def test_two_deciding_rules_that_set_a_variable_differently(ask: Ask) -> None:
    rules = [
        "{id: a, match: {}, runner: v1, env: {A: '1'}}",
        "{id: b, match: {labels.x: y}, runner: v1, env: {A: '2'}}",
    ]
    assert ask("0.23.0", LLAMA, *rules).status == "ok"
    (failure,) = ask("0.23.0", {**LLAMA, "labels.x": "y"}, *rules).errors
    assert failure.code == "conflicting-env"
    for part in ("`a`", "`b`", "`A`"):
        assert part in failure.message


def test_conflict_about_another_architecture(ask: Ask) -> None:
    rules = [
        "{id: a, match: {architectures: XForCausalLM}, runner: v1}",
        "{id: b, match: {architectures: 'X*'}, runner: v2}",
    ]
    assert brief(ask("0.23.0", LLAMA, *rules)) == ("v2", "engine", "default")


WARNINGS: dict[str, tuple[str, dict[str, Any], list[str], str | None, list[str]]] = {
    "none": ("0.23.0", LLAMA, [PREFER_V2], None, []),
    "prefer overruled": ("0.23.0", LLAMA, [PREFER_V2], "0", [f"{SWITCH}=0 overrules rule `like-v2`"]),
    "prefer that agrees": ("0.23.0", LLAMA, [PREFER_V2], "1", []),
    "prefer falls back": ("0.23.0", {**SUFFIX, **STOCK}, [PREFER_V2], None, ["speculative method 'suffix', stock torch.compile"]),
    "require overrides": ("0.23.0", LLAMA, [REQUIRE_V1], "1", [f"rule `need-v1` overrides {SWITCH}=1"]),
    "require agrees": ("0.23.0", LLAMA, [REQUIRE_V1], "0", []),
    "require agrees in other words": ("0.23.0", LLAMA, [REQUIRE_V1], "00", []),
    "engine overrides": ("0.23.0", LLAMA, [REQUIRE_ENGINE], "1", [f"rule `as-is` overrides {SWITCH}=1"]),
    "accident, feature": ("0.23.0", STOCK, [], None, ["depends on this: V2 does not support: stock torch.compile"]),
    "accident, package": ("0.23.0", {**LLAMA, "logits_processor_plugins": True}, [], None, ["custom logits processors"]),
    "accident, Triton": ("0.23.0", {**LLAMA, "has_triton": False}, [], None, ["Triton is missing"]),
    "accident under engine": ("0.23.0", STOCK, [REQUIRE_ENGINE], None, ["stock torch.compile"]),
    "no accident where V1 is the default": ("0.22.0", {**LLAMA, "has_triton": False}, [], None, []),
    "switch that does nothing": ("0.11.0", LLAMA, [], "1", ["does not know"]),
    "switch that is ignored": ("0.30.0", WATERMARK, [], "0", ["ignores VLLM_USE_V2_MODEL_RUNNER=0"]),
    "deprecated runner": ("0.29.0", LLAMA, [REQUIRE_V1], None, ["keeps v1, which vLLM 0.29.0 deprecated"]),
}  # fmt: skip


@pytest.mark.parametrize("case", WARNINGS)
def test_warnings(ask: Ask, case: str) -> None:
    release, facts, rules, switch, parts = WARNINGS[case]
    decision = ask(release, facts, *rules, switch=switch)
    assert decision.status == "ok"
    assert len(decision.warnings) == len(parts)
    for warning, part in zip(decision.warnings, parts, strict=True):
        assert part in warning


@pytest.mark.parametrize(
    ("facts", "because"),
    [
        (LLAMA, ()),
        (STOCK, ("V2 does not support: stock torch.compile",)),
        ({**LLAMA, "has_triton": False}, ("Triton is missing, and V2 requires it",)),
        ({**LLAMA, "logits_processor_plugins": True}, ("V2 does not support: custom logits processors",)),
    ],
)
def test_accidents_are_named_in_because(ask: Ask, facts: dict[str, Any], because: tuple[str, ...]) -> None:
    by = ask("0.23.0", facts).decided_by
    assert by is not None
    assert by.because == because
    under_rule = ask("0.23.0", facts, REQUIRE_ENGINE).decided_by
    assert under_rule is not None
    assert under_rule.because == because


def test_overruled_prefer_engine_is_named(ask: Ask) -> None:
    assert "like-as-is" in " ".join(ask("0.23.0", LLAMA, PREFER_ENGINE, switch="0").warnings)


STRICT: dict[str, tuple[str, str | None, str]] = {
    "disagrees": (REQUIRE_V1, "1", "error"),
    "agrees": (REQUIRE_V1, "0", "ok"),
    "not set": (REQUIRE_V1, None, "ok"),
    "invalid": (REQUIRE_V1, "true", "error"),
    "engine": (REQUIRE_ENGINE, "1", "error"),
    "engine, not set": (REQUIRE_ENGINE, None, "ok"),
    "prefer loses anyway": (PREFER_V1, "1", "ok"),
}


@pytest.mark.parametrize("case", STRICT)
def test_strict_env(ask: Ask, case: str) -> None:
    rule, switch, status = STRICT[case]
    decision = ask("0.23.0", LLAMA, rule, switch=switch, strict_env=True)
    assert decision.status == status
    if status == "error":
        assert [e.code for e in decision.errors] == ["overridden-switch"]
        assert decision.runner is None


def test_override_says_value_source_and_rule(ask: Ask) -> None:
    layers = [("process environment", {SWITCH: "0"}), ("--env-file x", {}), ("--env", {SWITCH: "1"})]
    decision = ask("0.23.0", LLAMA, REQUIRE_V1, switch="1", layers=layers)
    assert [(o.name, o.value, o.source, o.replaced_by, o.by) for o in decision.overrides] == [
        (SWITCH, "1", "--env", "0", "rule need-v1")
    ]
    assert decision.warnings == (f"rule `need-v1` overrides {SWITCH}=1 (--env)",)


@pytest.mark.parametrize(
    ("today", "warned"),
    [(date(2027, 3, 30), False), (date(2027, 3, 31), True), (date(2028, 1, 1), True), (None, False)],
)
@pytest.mark.parametrize("enforce", ["require", "prefer"])
def test_expired_rule_still_decides(ask: Ask, today: date | None, warned: bool, enforce: str) -> None:
    rule = f"{{id: a, match: {{}}, runner: v1, enforce: {enforce}, expires: 2027-03-31}}"
    decision = ask("0.23.0", LLAMA, rule, today=today)
    assert brief(decision) == ("v1", "policy", "a")
    assert ("expired on 2027-03-31" in " ".join(decision.warnings)) is warned


def test_prefer_where_neither_runner_can_serve(ask: Ask) -> None:
    facts = {**SUFFIX, "model_config.is_diffusion": True}
    decision = ask("0.29.0", facts, PREFER_V2)
    assert [e.features for e in decision.errors] == [("speculative method 'suffix'",), ("diffusion models",)]


def test_set_of_architectures_comes_with_the_decision(ask: Ask) -> None:
    assert ask("0.21.0", LLAMA).default_v2_architectures is None
    assert ask("0.29.0", LLAMA).default_v2_architectures is None
    own = ("LlamaForCausalLM", "MistralForCausalLM", "Qwen3ForCausalLM")
    assert ask("0.23.0", LLAMA).default_v2_architectures == own


def test_every_rule_location_is_in_the_decision(ask: Ask) -> None:
    by = ask("0.23.0", LLAMA, "{id: a, match: {}, runner: v1, reason: Because.}").decided_by
    assert by is not None
    assert (by.policy, by.location, by.enforce, by.reason) == (
        "fleet",
        "fleet.yaml:6:5",
        "prefer",
        "Because.",
    )
