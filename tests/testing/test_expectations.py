"""What a test may expect of a decision, met and unmet, and what of a test is refused."""

from __future__ import annotations

import pytest

from policy.decision.expectations import decide_test, unmet
from policy.document import DocumentError, Source, parse
from policy.document.schema import load_schema
from policy.engine import Catalog
from policy.rules.policy_set import compose, read_policy
from policy.testing.run import ask_all
from policy.testing.suite import Suite

POLICY = """\
apiVersion: runnerctl/v1
kind: RunnerPolicy
metadata: {name: fleet}
env: {A: b}
rules:
- {id: llama, match: {architectures: LlamaForCausalLM}, runner: v1, enforce: require, expires: 2027-03-31}
- {id: moe, match: {model_config.is_moe: true, vllm: ">=0.22.dev0"}, runner: engine}
tests:
- given: GIVEN
"""
LLAMA = "{vllm: 0.23.0, architectures: [LlamaForCausalLM]}"
SWITCHED = "{vllm: 0.23.0, architectures: [LlamaForCausalLM], env.VLLM_USE_V2_MODEL_RUNNER: '1'}"
QWEN = "{vllm: 0.23.0, architectures: [Qwen2ForCausalLM]}"
MOE = "{vllm: 0.23.0, architectures: [X], model_config.is_moe: true, env: {VLLM_USE_V2_MODEL_RUNNER: '1'}}"
DIFFUSION = "{vllm: 0.32.0, architectures: [LlamaForCausalLM], model_config.is_diffusion: true}"
UNKNOWN = "{vllm: 0.23.0, architectures: [LlamaForCausalLM], unknown: [platform]}"
NIGHTLY = "{vllm: 0.23.1.dev7, architectures: [LlamaForCausalLM]}"

# Facts, the rest of the test, and what is unmet; nothing where the test passes.
CASES = {
    "status": (LLAMA, "expect: {status: ok}", []),
    "another status": (LLAMA, "expect: {status: error}", ["status is ok, expected error"]),
    "runner": (LLAMA, "expect: {runner: v1}", []),
    "another runner": (LLAMA, "expect: {runner: v2}", ["runner is v1, expected v2"]),
    "no runner": (DIFFUSION, "expect: {runner: null}", []),
    "a runner, and none is expected": (LLAMA, "expect: {runner: null}", ["runner is v1, expected none"]),
    "layer": (QWEN, "expect: {layer: engine}", []),
    "another layer": (LLAMA, "expect: {layer: engine}", ["layer is policy, expected engine"]),
    "rule": (LLAMA, "expect: {rule: llama}", []),
    "another rule": (LLAMA, "expect: {rule: moe}", ["rule is llama, expected moe"]),
    "a rule of the release": (QWEN, "expect: {rule: no-default-model}", []),
    "policy": (LLAMA, "expect: {policy: fleet, enforce: require}", []),
    "another policy": (
        QWEN,
        "expect: {policy: fleet, enforce: prefer}",
        ["policy is none, expected fleet", "enforce is none, expected prefer"],
    ),
    "variables": (LLAMA, "expect: {env: {A: b, VLLM_USE_V2_MODEL_RUNNER: '0'}}", []),
    "other variables": (
        LLAMA,
        "expect: {env: {A: c, B: d, E: ''}}",
        ["A is b, expected c", "B is not set, expected d", "E is not set, expected empty"],
    ),
    "a secret": (LLAMA, "expect: {env: {HF_TOKEN: hush}}", ["HF_TOKEN is not set, expected ****"]),
    "unset": (MOE, "expect: {layer: environment, unset: []}", []),
    "not unset": (LLAMA, "expect: {unset: [X]}", ["unset is [], expected [X]"]),
    "overrides": (SWITCHED, "expect: {overrides: [VLLM_USE_V2_MODEL_RUNNER]}", []),
    "no overrides": (LLAMA, "expect: {overrides: [A]}", ["overrides is [], expected [A]"]),
    "warnings": (SWITCHED, "expect: {warnings: ['overrides VLLM_USE', 'rule `llama`']}", []),
    "no warnings": (LLAMA, "expect: {warnings: []}", []),
    "a missing warning": (
        LLAMA,
        "expect: {warnings: [expired]}",
        ["no warning holds `expired`; there is none"],
    ),
    "a warning too many": (
        SWITCHED,
        "expect: {warnings: []}",
        ["there is a warning, expected none: rule `llama` overrides VLLM_USE_V2_MODEL_RUNNER=1 (facts env)"],
    ),
    "expired": (LLAMA, "today: 2027-03-31\n  expect: {warnings: [expired on 2027-03-31]}", []),
    "not expired": (LLAMA, "today: 2027-03-30\n  expect: {warnings: []}", []),
    "strict": (SWITCHED, "strict_env: true\n  expect: {status: error, error: overridden-switch}", []),
    "error": (DIFFUSION, "expect: {error: unsupported-features, features: [diffusion models]}", []),
    "another error": (LLAMA, "expect: {error: x}", ["error is none, expected x"]),
    "other features": (LLAMA, "expect: {features: [y, x]}", ["features is [], expected [x, y]"]),
    "missing facts": (
        "{architectures: [LlamaForCausalLM]}",
        "expect: {status: undetermined, missing_facts: [vllm]}",
        [],
    ),
    "facts that do not matter": (UNKNOWN, "expect: {runner: v1, missing_facts: []}", []),
    "a nightly build": (NIGHTLY, "expect: {status: undetermined}", []),
    "a nightly build, assumed": (NIGHTLY, "assume: 0.23.0\n  expect: {runner: v1, rule: llama}", []),
}


def suite(given: str, rest: str) -> Suite:
    text = POLICY.replace("GIVEN", given) + f"  {rest}\n"
    policies = compose([read_policy(parse(Source("p.yaml", text)))])
    return Suite("p.yaml", policies, policies.files[0].tests)


@pytest.mark.parametrize("case", CASES)
def test_expectation(catalog: Catalog, case: str) -> None:
    given, rest, wanted = CASES[case]
    made = suite(given, rest)
    (test,) = made.tests
    decision = decide_test(made.policies, catalog, test)
    assert [str(u) for u in unmet(decision, test.expect)] == wanted


def test_every_expectation_is_met_and_unmet_somewhere() -> None:
    names = set(load_schema("policy")["$defs"]["test"]["properties"]["expect"]["properties"])
    tried = {True: set(), False: set()}  # type: dict[bool, set[str]]
    for _, rest, wanted in CASES.values():
        found = parse(Source("", rest.split("expect:")[1])).data
        tried[not wanted].update(found)
    # `missing_facts` and `unset` are compared as `overrides` and `features` are.
    assert names == tried[True] | tried[False]
    assert names - {"missing_facts"} == tried[False]
    assert names == tried[True]


# Facts, the rest of the test, and what is said of it: file, line and column first.
REFUSED = {
    "a fact that is none": ("{tp: 2}", "expect: {runner: v1}", "p.yaml:9:11: unknown fact `tp`"),
    "a fact of another type": (
        "{vllm: 0.23.0, model_config.is_moe: 1}",
        "expect: {runner: v1}",
        "p.yaml:9:46: `is_moe` is `1`, not `true` or `false`",
    ),
    "a release that is a number": (
        "{vllm: 0.23}",
        "expect: {runner: v1}",
        "p.yaml:9:17: `vllm` is `0.23`, not a string",
    ),
    "a release that is none": (
        "{vllm: latest}",
        "expect: {runner: v1}",
        "p.yaml:9:17: `latest` is not a release",
    ),
    "an assumed release that is none": (
        "{vllm: 0.23.dev0}",
        "assume: '9.9'\n  expect: {runner: v1}",
        "p.yaml:10:11: `9.9` cannot be assumed: it is newer than the catalog",
    ),
    "a rule that is none": (LLAMA, "expect: {rule: lama}", "p.yaml:10:18: no rule has the id `lama`"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(catalog: Catalog, case: str) -> None:
    given, rest, part = REFUSED[case]
    with pytest.raises(DocumentError) as refused:
        ask_all([suite(given, rest)], catalog)
    assert part in str(refused.value)


def test_the_nearest_rule_is_named(catalog: Catalog) -> None:
    with pytest.raises(DocumentError, match="did you mean `llama`"):
        ask_all([suite(LLAMA, "expect: {rule: lama}")], catalog)


def test_all_that_is_wrong_is_said_at_once(catalog: Catalog) -> None:
    wrong = "expect: {rule: lama}\n- {given: {tp: 2}, expect: {rule: x}}\n- {given: {vllm: x}, expect: {runner: v1}}"
    with pytest.raises(DocumentError) as refused:
        ask_all([suite(LLAMA, wrong)], catalog)
    assert [d.code for d in refused.value.diagnostics] == ["unknown-rule", "unknown-fact", "unknown-release"]


def test_both_schemas_describe_a_test_alike() -> None:
    policy, tests = load_schema("policy")["$defs"], load_schema("policy-test")["$defs"]
    assert tests == {name: policy[name] for name in tests}
