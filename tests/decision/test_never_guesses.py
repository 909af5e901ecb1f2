"""Unknown facts for which a hasty search would find no value that matters: none of these may be answered."""

from __future__ import annotations

from typing import Any

import pytest

from policy.decision import resolve
from policy.document import Source, parse
from policy.engine import Catalog
from policy.facts.facts import Facts, nest
from policy.rules.policy_set import PolicySet, compose, read_policy

LLAMA = {"architectures": ["LlamaForCausalLM"]}

# (match of a rule that requires V1, what is unknown)
OPEN: dict[str, tuple[str, str]] = {
    "between two bounds": (
        "cache_config.gpu_memory_utilization: {gt: .5, lt: .6}",
        "cache_config.gpu_memory_utilization",
    ),
    "several types": ("model_config.hf_token: secret", "model_config.hf_token"),
    "integers in a list": (
        "compilation_config.cudagraph_capture_sizes: 8",
        "compilation_config.cudagraph_capture_sizes",
    ),
    "below a free-form object": ("model_config.hf_config.foo: bar", "model_config.hf_config"),
    "three at once": (
        "all: [{architectures: AX}, {architectures: BX}, {architectures: CX}]",
        "model_config.architectures",
    ),
    "the first of several": (
        "architectures: AX, model_config.architecture: BX",
        "model_config.architectures",
    ),
    "no architecture at all": ("not: {architectures: '*'}", "model_config.architectures"),
    "a pattern but for two texts": ("labels.x: 'a*b', not: {labels.x: [ab, axb]}", "labels.x"),
    "patterns that share a text": ("all: [{model: 'a?'}, {model: '?b'}]", "model"),
    "a letter that our own stand-in holds": ("model: '*q*'", "model"),
    "the empty text": ("not: {env.X: '?*'}, env.X: {exists: true}", "env.X"),
    "a narrow range of versions": ("packages.foo: '>1.0,<1.0.0.5'", "packages.foo"),
    "another spelling of a package": (
        "packages.arctic_inference: {exists: true}",
        "packages.arctic-inference",
    ),
    "a field of an object that is left out": (
        "speculative_config.method: suffix",
        "speculative_config.method",
    ),
}


@pytest.mark.parametrize("case", OPEN)
def test_undetermined(case: str) -> None:
    match, unknown = OPEN[case]
    text = (
        "apiVersion: runnerctl/v1\nkind: RunnerPolicy\nmetadata: {name: p}\n"
        f"rules: [{{id: a, match: {{{match}}}, runner: v1, enforce: require}}]\n"
    )
    policies = compose([read_policy(parse(Source("p.yaml", text)))])
    given = {k: v for k, v in LLAMA.items() if unknown != "model_config.architectures"}
    facts = Facts(nest({"vllm": "0.23.0", **given, "unknown": [unknown]}))
    decision = resolve(policies, Catalog().load("0.23.0"), facts)
    assert decision.status == "undetermined"
    assert decision.missing_facts


@pytest.mark.parametrize(
    ("release", "facts", "unknown"),
    [
        ("0.28.0", {}, "model_config.architectures"),
        ("0.28.0", {}, "model_config.is_moe"),
        ("0.23.0", LLAMA, "model_config.is_quantized"),
        ("0.23.0", LLAMA, "speculative_config.method"),
        ("0.23.0", LLAMA, "speculative_config"),
        ("0.23.0", LLAMA, "has_triton"),
        ("0.32.0", LLAMA, "parallel_config"),
    ],
)
def test_the_release_alone(release: str, facts: dict[str, Any], unknown: str) -> None:
    decision = resolve(
        PolicySet(), Catalog().load(release), Facts(nest({"vllm": release, **facts, "unknown": [unknown]}))
    )
    assert decision.status == "undetermined"
    assert all(path.startswith(unknown) for path in decision.missing_facts)
