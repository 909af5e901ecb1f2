"""Unknown facts: decided where every value gives the same answer, and asked for by name where not."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from policy.decision import Decision, resolve
from policy.engine import Catalog, EngineRelease
from policy.facts.facts import Facts, nest
from policy.facts.fields import SWITCH
from policy.rules.policy_set import PolicySet

LLAMA: dict[str, Any] = {"architectures": ["LlamaForCausalLM"]}
MOE, QUANTIZED = "model_config.is_moe", "model_config.is_quantized"
REQUIRE_V1 = "{id: need-v1, match: {}, runner: v1, enforce: require}"
REQUIRE_V2 = "{id: need-v2, match: {}, runner: v2, enforce: require}"

Ask = Callable[..., Decision]


@pytest.fixture
def ask(catalog: Catalog, policies: Callable[..., PolicySet]) -> Ask:
    def call(
        release: str, facts: dict[str, Any], unknown: list[str], *rules: str, **options: Any
    ) -> Decision:
        document = nest({**facts, "vllm": release})
        document["unknown"] = unknown
        return resolve(policies(rules), catalog.load(release), Facts(document), **options)

    return call


# (release, facts, unknown, rules) -> (runner or status, missing facts)
ROWS: dict[str, tuple[str, dict[str, Any], list[str], list[str], tuple[str, list[str]]]] = {
    "matters": ("0.23.0", LLAMA, [MOE], [], ("undetermined", [MOE])),
    "two, both matter": ("0.23.0", LLAMA, [MOE, QUANTIZED], [], ("undetermined", [MOE, QUANTIZED])),
    "one of two matters": ("0.23.0", LLAMA, [MOE, "model_config.is_hybrid"], [], ("undetermined", [MOE])),
    "does not matter there": ("0.22.0", LLAMA, [MOE], [], ("v1", [])),
    "does not matter to the release": ("0.29.0", LLAMA, [MOE, QUANTIZED], [], ("v2", [])),
    "settled by another fact": ("0.23.0", {**LLAMA, QUANTIZED: True}, [MOE], [], ("v1", [])),
    "settled by a require": ("0.23.0", LLAMA, [MOE], [REQUIRE_V1], ("v1", [])),
    "settled by the switch": ("0.23.0", {**LLAMA, f"env.{SWITCH}": "0"}, [MOE], [], ("v1", [])),
    "settled by a prefer": ("0.23.0", LLAMA, [MOE], ["{id: a, match: {}, runner: v2}"], ("v2", [])),
    "matters to a rule": ("0.23.0", LLAMA, ["labels.team"], ["{id: a, match: {labels.team: x}, runner: v1}"], ("undetermined", ["labels.team"])),
    "rule says what the release says": ("0.23.0", LLAMA, ["labels.team"], ["{id: a, match: {labels.team: x}, runner: v1}", "{id: b, match: {not: {labels.team: x}}, runner: v1}"], ("v1", [])),
    "config object that matters": ("0.23.0", LLAMA, ["speculative_config"], [], ("undetermined", ["speculative_config", "speculative_config.method", "speculative_config.parallel_drafting"])),
    "config object under require v1": ("0.23.0", LLAMA, ["speculative_config"], [REQUIRE_V1], ("v1", [])),
    "config object under require v2": ("0.23.0", LLAMA, ["speculative_config"], [REQUIRE_V2], ("undetermined", ["speculative_config", "speculative_config.method", "speculative_config.parallel_drafting"])),
    "model config of a release that does not ask": ("0.21.0", {}, ["model_config"], [], ("v1", [])),
    "model": ("0.23.0", LLAMA, ["model"], ["{id: a, match: {model: 'org/*'}, runner: v1}"], ("undetermined", ["model"])),
    "number": ("0.23.0", LLAMA, ["parallel_config.tensor_parallel_size"], ["{id: a, match: {parallel_config.tensor_parallel_size: {gt: 4}}, runner: v1}"], ("undetermined", ["parallel_config.tensor_parallel_size"])),
    "package": ("0.23.0", LLAMA, ["packages.x"], ["{id: a, match: {packages.x: '>=1,<2'}, runner: v1}"], ("undetermined", ["packages.x"])),
    "platform": ("0.29.0", {"architectures": ["DeepseekV32ForCausalLM"]}, ["platform"], [], ("undetermined", ["platform"])),
    "Triton": ("0.23.0", LLAMA, ["has_triton"], [], ("undetermined", ["has_triton"])),
    "architectures that no rule names": ("0.29.0", {"model_config": {}}, ["architectures"], [], ("v2", [])),
    "architectures that a rule names": ("0.29.0", {"model_config": {}}, ["architectures"], ["{id: a, match: {architectures: X}, runner: v1}"], ("undetermined", ["model_config.architectures"])),
    "switch under require": ("0.23.0", LLAMA, [f"env.{SWITCH}"], [REQUIRE_V1], ("v1", [])),
    "switch": ("0.23.0", LLAMA, [f"env.{SWITCH}"], [], ("undetermined", [f"env.{SWITCH}"])),
}  # fmt: skip


@pytest.mark.parametrize("case", ROWS)
def test_unknown_facts(ask: Ask, case: str) -> None:
    release, facts, unknown, rules, (answer, missing) = ROWS[case]
    decision = ask(release, facts, unknown, *rules)
    assert (decision.runner or decision.status, list(decision.missing_facts)) == (answer, missing)
    if missing:
        assert decision.runner is None
        assert {e.code for e in decision.errors} == {"missing-facts"}
        said = " ".join(e.message for e in decision.errors).replace("'", "")
        for path in missing:
            assert f"`{path}`" in said
            assert f"--set {path}=" in said


def test_reasons_are_in_the_message(ask: Ask) -> None:
    decision = ask("0.23.0", LLAMA, [MOE], reasons={MOE: "config.json cannot be read"})
    assert decision.errors[0].message == (
        f"`{MOE}` is not known: config.json cannot be read; give --set {MOE}=true|false"
    )


@pytest.mark.parametrize("release", ["0.22.0", "0.23.0", "0.24.0"])
def test_architectures_that_the_release_defaults_to_v2_are_tried(ask: Ask, release: str) -> None:
    decision = ask(release, {"model_config": {}}, ["architectures"])
    assert decision.status == "undetermined"


def test_value_that_two_globs_share(ask: Ask) -> None:
    rule = "{id: a, match: {all: [{model: 'a*'}, {model: '*b'}]}, runner: v1, enforce: require}"
    assert ask("0.23.0", LLAMA, ["model"], rule).status == "undetermined"


def test_unknown_env_as_a_whole(ask: Ask) -> None:
    assert _answer(ask, "0.23.0", ["env"]) == "undetermined"


def test_unknown_labels_as_a_whole(ask: Ask) -> None:
    rules = [
        "{id: a, match: {labels.team: x}, runner: v1}",
        "{id: b, match: {not: {labels.team: x}}, runner: v1}",
    ]
    assert _answer(ask, "0.22.0", ["labels"], *rules) == "v1"


def _answer(ask: Ask, release: str, unknown: list[str], *rules: str) -> str:
    """The runner or the status; a recursion without end is no answer (and its traceback takes pytest a minute)."""
    try:
        decision = ask(release, LLAMA, unknown, *rules)
    except RecursionError:
        return "recursion without end"
    return decision.runner or decision.status


def test_unknown_switch_is_taken_apart_into_what_vllm_reads(ask: Ask) -> None:
    rules = ["{id: a, match: {env.VLLM_USE_V2_MODEL_RUNNER: {exists: false}}, runner: v2, enforce: require}"]
    decision = ask("0.23.0", {**LLAMA, "speculative_config.method": "suffix"}, [f"env.{SWITCH}"], *rules)
    assert decision.status == "undetermined"


def test_errors_common_to_all_cases(ask: Ask) -> None:
    facts = {**LLAMA, "compilation_config.mode": "STOCK_TORCH_COMPILE"}
    decision = ask("0.23.0", facts, [MOE, "reasoning_config"], REQUIRE_V2)
    assert decision.status == "error"
    assert [e.features for e in decision.errors] == [("stock torch.compile",)]
    open_ = ask("0.23.0", facts, ["model_config.enable_prompt_embeds"], REQUIRE_V2)
    assert (open_.status, open_.missing_facts) == ("error", ())
    assert [e.features for e in open_.errors] == [("stock torch.compile",)]


def test_a_different_decider_is_said(ask: Ask) -> None:
    rule = "{id: a, match: {labels.team: x}, runner: v1}"
    decision = ask("0.21.0", LLAMA, ["labels.team"], rule)
    # v1 both ways, but the rule sets the switch and the release does not: not one answer
    assert decision.status == "undetermined"
    same = ask("0.23.0", {**LLAMA, MOE: True}, ["model_config.is_diffusion"])
    assert (same.runner, same.warnings) == ("v1", ())


@pytest.mark.parametrize("release", ["0.22.0", "0.23.0", "0.25.0", "0.28.0", "0.30.0"])
def test_unanimous_exactly_when_every_known_case_agrees(catalog: Catalog, release: str) -> None:
    """Against brute force over every value of up to three unknown booleans."""
    engine = catalog.load(release)
    paths = (
        MOE,
        QUANTIZED,
        "has_triton",
        "model_config.is_hybrid",
        "parallel_config.enable_dbo",
        "lora_config",
    )
    for architecture in ("LlamaForCausalLM", "SomeForCausalLM"):
        for i, one in enumerate(paths):
            for two in paths[i + 1 :]:
                _check(engine, architecture, (one, two))


def _check(engine: EngineRelease, architecture: str, unknown: tuple[str, ...]) -> None:
    base: dict[str, Any] = {"vllm": engine.release, "architectures": [architecture]}
    values = [[None, {}] if path == "lora_config" else [True, False] for path in unknown]
    runners = set()
    for chosen in product(*values):
        document = nest({**base, **dict(zip(unknown, chosen, strict=True))})
        runners.add(resolve(PolicySet(), engine, Facts(document)).runner)
    decision = resolve(PolicySet(), engine, Facts({**nest(base), "unknown": list(unknown)}))
    assert (decision.status == "undetermined") is (len(runners) > 1), (unknown, runners)
    if len(runners) == 1:
        assert {decision.runner} == runners
    else:
        assert set(decision.missing_facts) <= set(unknown)


def test_no_release_and_no_such_release(catalog: Catalog) -> None:
    nothing = resolve(PolicySet(), None, Facts({}))
    assert (nothing.status, nothing.missing_facts) == ("undetermined", ("vllm",))
    newer = resolve(PolicySet(), catalog.find("0.99.0"), Facts({"vllm": "0.99.0"}))
    assert (newer.status, newer.missing_facts, newer.vllm) == ("undetermined", ("vllm",), "0.99.0")
    assert "--assume 0.33.0" in newer.errors[0].message


def test_different_errors_are_not_blamed_on_the_release(ask: Ask) -> None:
    rule = "{id: a, match: {model_config.is_moe: true}, runner: v1, enforce: require}"
    facts = {**LLAMA, "compilation_config.mode": "STOCK_TORCH_COMPILE"}
    decision = ask("0.23.0", facts, [MOE], rule, REQUIRE_V2)
    assert decision.status in ("error", "undetermined")
    assert "engine-refuses" not in {e.code for e in decision.errors}
