"""Why a test fails: the clause that does not hold with the fact's value and place, or the rule that came first."""

from __future__ import annotations

import pytest

from policy.document import Source, parse
from policy.engine import Catalog
from policy.rules.policy_set import compose, read_policy
from policy.testing.coverage import coverage_of
from policy.testing.explained import explained
from policy.testing.run import ask_all, run
from policy.testing.suite import Suite

HEAD = """\
apiVersion: runnerctl/v1
kind: RunnerPolicy
metadata: {name: fleet}
rules:
- id: wanted
  runner: v1
  match:
    architectures: [LlamaForCausalLM, MistralForCausalLM]
"""
LLAMA = "vllm: 0.23.0, architectures: [LlamaForCausalLM]"

# The rest of the match and of the rules, the facts, and the first line of the explanation.
CASES = {
    "a list": ("", "vllm: 0.23.0, architectures: [Qwen2ForCausalLM]",
               "rule `wanted` does not match: model_config.architectures is [Qwen2ForCausalLM]; "
               "wanted LlamaForCausalLM or MistralForCausalLM (p.yaml:8:5)"),
    "a release": ('    vllm: ">=0.24"\n', LLAMA,
                  "rule `wanted` does not match: vllm is 0.23.0; wanted >=0.24 (p.yaml:9:5)"),
    "a boolean": ("    model_config.is_moe: true\n", LLAMA,
                  "rule `wanted` does not match: model_config.is_moe is false; wanted true (p.yaml:9:5)"),
    "one of two operators": (
        "    parallel_config.tensor_parallel_size: {ge: 1, lt: 8}\n",
        LLAMA + ", parallel_config.tensor_parallel_size: 8",
        "rule `wanted` does not match: parallel_config.tensor_parallel_size is 8; wanted < 8 (p.yaml:9:51)",
    ),
    "what is off": ("    speculative_config: {exists: true}\n", LLAMA,
                    "rule `wanted` does not match: speculative_config is off; wanted is on (p.yaml:9:26)"),
    "all": ("    all: [{platform: cuda}, {platform: rocm}]\n", LLAMA,
            "rule `wanted` does not match: platform is cuda; wanted rocm (p.yaml:9:30)"),
    "any": ("    any: [{platform: cpu}, {model_config.is_moe: true}]\n", LLAMA,
            "rule `wanted` does not match: none of its alternatives holds: platform is cuda; wanted cpu; "
            "model_config.is_moe is false; wanted true (p.yaml:9:5)"),
    "not": ("    not: {platform: cuda}\n", LLAMA,
            "rule `wanted` does not match: does not hold: not {platform: cuda} (p.yaml:9:5)"),
    "a secret": ("    env.API_KEY: a\n", LLAMA + ", env.API_KEY: hush",
                 "rule `wanted` does not match: env.API_KEY is ****; wanted **** (p.yaml:9:5)"),
    "secrets in alternatives": (
        "    not: {any: [{env.API_KEY: {ne: a}}, {platform: cuda}]}\n", LLAMA + ", env.API_KEY: a",
        "rule `wanted` does not match: does not hold: not {any of {env.API_KEY: ****}, {platform: cuda}} (p.yaml:9:5)"),
    "whether a secret is there": ("    env.API_KEY: {exists: false}\n", LLAMA + ", env.API_KEY: hush",
                                  "rule `wanted` does not match: env.API_KEY is ****; wanted is off (p.yaml:9:19)"),
    "the same clause in another rule": (
        "    platform: rocm\n- {id: b, runner: v2, match: {platform: rocm}}\n", LLAMA,
        "rule `wanted` does not match: platform is cuda; wanted rocm (p.yaml:9:5)"),
    "an unknown fact": ("    platform: rocm\n", LLAMA + ", unknown: [platform]",
                        "rule `wanted` is open: platform is not known; wanted rocm (p.yaml:9:5)"),
    "a require": ("- {id: b, runner: v2, enforce: require, match: {}}\n", LLAMA,
                  "rule `wanted` (p.yaml:5:3) matches, but `b` is a `require`"),
    "a priority": ("- {id: b, runner: v2, priority: 3, match: {}}\n", LLAMA,
                   "rule `wanted` (p.yaml:5:3) matches, but `b` has priority 3, over 0"),
    "the same wish": ("- {id: b, runner: v1, match: {}}\n", LLAMA,
                      "rule `wanted` (p.yaml:5:3) matches, but `b` matches too, and comes first by its id"),
    "the operator": ("", LLAMA + ", env.VLLM_USE_V2_MODEL_RUNNER: '0'",
                     "rule `wanted` (p.yaml:5:3) matches, but the operator's switch wins over a `prefer`"),
}  # fmt: skip


def suite(rest: str, given: str, expect: str = "{rule: wanted}") -> Suite:
    text = f"{HEAD}{rest}tests:\n- given: {{{given}}}\n  expect: {expect}\n"
    policies = compose([read_policy(parse(Source("p.yaml", text)))])
    return Suite("p.yaml", policies, policies.files[0].tests)


@pytest.mark.parametrize("case", CASES)
def test_why(catalog: Catalog, case: str) -> None:
    rest, given, line = CASES[case]
    (outcome,) = run(ask_all([suite(rest, given)], catalog))
    assert not outcome.passed
    assert next(iter(explained(outcome))) == line


def test_who_decided_instead(catalog: Catalog) -> None:
    made = suite("- {id: b, runner: v2, enforce: require, match: {}}\n", LLAMA)
    (outcome,) = run(ask_all([made], catalog))
    assert list(explained(outcome))[1:] == ["decided: v2 by rule `b` (require) of policy fleet, p.yaml:9:3"]


def test_a_rule_of_the_release(catalog: Catalog) -> None:
    made = suite(
        "    platform: rocm\n", "vllm: 0.23.0, architectures: [Qwen2ForCausalLM]", "{rule: triton-missing}"
    )
    (outcome,) = run(ask_all([made], catalog))
    first, decided = explained(outcome)
    assert first == "rule `triton-missing` of vLLM 0.23.0 does not match: has_triton is true; wanted false"
    assert decided.startswith("decided: v1 by vLLM 0.23.0 itself, rule `no-default-model`: ")


def test_nothing_to_explain(catalog: Catalog) -> None:
    (outcome,) = run(ask_all([suite("", LLAMA)], catalog))
    assert list(explained(outcome)) == []


def test_coverage_counts_rules_that_decided_in_a_test_that_passed(catalog: Catalog) -> None:
    rest = "- {id: never, runner: v2, match: {platform: rocm}}\n- {id: also, runner: v1, priority: -1, match: {}}\n"
    made = suite(rest, LLAMA)
    found = coverage_of([made, made], list(run(ask_all([made], catalog))))
    assert [(c.rule.id, c.tests) for c in found.rules] == [("wanted", 1), ("never", 0), ("also", 0)]
    assert (found.covered, round(found.percent, 1)) == (1, 33.3)
    failing = suite(rest, LLAMA, "{runner: v2, rule: wanted}")
    assert coverage_of([failing], list(run(ask_all([failing], catalog)))).covered == 0
