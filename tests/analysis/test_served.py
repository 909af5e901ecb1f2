"""What the catalog makes of rules: never served, done anyway. Random deployments may not show the contrary."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from policy.analysis import analyse
from policy.decision.resolve import resolve
from policy.document.source import merge_mappings
from policy.engine import Catalog
from policy.engine.release import EngineRelease
from policy.facts.facts import Facts
from policy.rules.policy_set import PolicySet
from policy.verification.random_facts import Population

Build = Callable[..., PolicySet]

# What `a` is: the releases that never serve it, whether that is all of its range, and vLLM's words.
UNSERVED = [
    (
        'vllm: ">=0.11,<0.13"',
        "v2",
        (("0.11.0", "0.11.1", "0.11.2"), False, (), ("this release has no Model Runner V2",)),
    ),
    ('vllm: ">=0.12"', "v2", None),
    (
        'vllm: ">=0.31,<0.33", model_config.is_diffusion: true',
        "v1",
        (
            ("0.31.0", "0.32.0"),
            True,
            ("diffusion models",),
            ("Model Runner V1 does not support: diffusion models",),
        ),
    ),
    (
        'vllm: ">=0.23,<0.24", has_triton: false',
        "v2",
        (("0.23.0",), True, (), ("Model Runner V2 requires Triton.",)),
    ),
    ('vllm: ">=0.23,<0.24", has_triton: true', "v2", None),
    (
        'vllm: ">=0.33", watermark_config: {exists: true}, attention_config.hisparse_config: {exists: false}',
        "v1",
        (
            ("0.33.0",),
            True,
            (),
            ("watermarking exists only in V2, whatever VLLM_USE_V2_MODEL_RUNNER says",),
        ),
    ),
    ('vllm: ">=7"', "v2", None),
]


@pytest.mark.parametrize(("match", "runner", "expected"), UNSERVED)
def test_never_served(
    policies: Build,
    catalog: Catalog,
    match: str,
    runner: str,
    expected: tuple[tuple[str, ...], bool, tuple[str, ...], tuple[str, ...]] | None,
) -> None:
    some = policies([f"{{id: a, match: {{{match}}}, runner: {runner}, enforce: require}}"])
    found = [(u.releases, u.always, u.features, u.sentences) for u in analyse(some, catalog).unserved]
    assert found == ([] if expected is None else [expected])


# Whether a rule is redundant, and whether it only guards against the switch.
REDUNDANT = [
    ('{id: a, match: {vllm: ">=0.12.dev0,<0.22.dev0"}, runner: v1}', False),
    ('{id: a, match: {vllm: ">=0.12.dev0,<0.22.dev0"}, runner: v1, enforce: require}', True),
    ('{id: a, match: {vllm: ">=0.11,<0.12.dev0"}, runner: v1, enforce: require}', False),
    ('{id: a, match: {vllm: ">=0.12.dev0,<0.23"}, runner: v1}', None),  # 0.22 gives Qwen3 to V2
    ('{id: a, match: {vllm: ">=0.12,<0.22.dev0"}, runner: v2}', None),
    ('{id: a, match: {vllm: ">=0.12,<0.22"}, runner: v1, env: {X: "1"}}', None),
    ('{id: a, match: {vllm: ">=7"}, runner: v1}', None),
    ('{id: a, match: {vllm: "==0.23.*", model_config.is_quantized: true}, runner: v1}', False),
    ('{id: a, match: {vllm: "==0.23.*", model_config.is_quantized: false}, runner: v1}', None),
    (
        '{id: a, match: {vllm: "==0.23.*", model_config.runner_type: pooling}, runner: v1, enforce: require}',
        True,
    ),
    (
        '{id: a, match: {vllm: "==0.23.*", architectures: LlamaForCausalLM}, runner: v2}',
        None,
    ),  # not if quantized
    ("{id: a, match: {labels.stage: canary}, runner: engine}", False),
    ("{id: a, match: {labels.stage: canary}, runner: engine, enforce: require}", True),
    (
        '{id: a, match: {vllm: "==0.20.*", env.VLLM_USE_V2_MODEL_RUNNER: {exists: false}}, runner: v1, enforce: require}',
        False,
    ),
]


@pytest.mark.parametrize(("rule", "guards"), REDUNDANT)
def test_done_anyway(policies: Build, catalog: Catalog, rule: str, guards: bool | None) -> None:
    some = policies([rule])
    found = analyse(some, catalog)
    assert found.cut == ()
    assert [r.guards_switch for r in found.redundant] == ([] if guards is None else [guards])


@pytest.mark.parametrize(
    ("other", "beside"),
    [
        ('{id: b, match: {model: "org/*"}, runner: v1, enforce: require}', ["b"]),
        ('{id: b, match: {model: "org/*"}, runner: v1, priority: -1}', ["b"]),
        ("{id: b, match: {labels.a: b}, runner: v1, enforce: require}", []),  # a label is there or is not
        ('{id: b, match: {model: "org/*"}, runner: v2, enforce: require}', []),  # undetermined with it, too
        ('{id: b, match: {model: "org/*", vllm: ">=0.21.dev0"}, runner: v1, enforce: require}', []),
    ],
)
def test_a_rule_that_settles_what_another_leaves_open(
    policies: Build, catalog: Catalog, other: str, beside: list[str]
) -> None:
    rule = '{id: a, match: {vllm: "==0.20.*"}, runner: v1}'
    both = policies([rule, other])
    found = {r.rule.id: [b.id for b in r.beside] for r in analyse(both, catalog).redundant}
    assert found["a"] == beside
    facts = Facts({"vllm": "0.20.1", "model_config": {"architectures": ["LlamaForCausalLM"]}})
    decided = [resolve(some, catalog.load("0.20.1"), facts).status for some in (both, policies([other]))]
    assert (decided[0] != decided[1]) is bool(beside)


@pytest.mark.parametrize(
    "beside",
    [
        "{id: b, match: {platform: cuda}, runner: v2}",
        "{id: b, match: {platform: cuda}, runner: v2, priority: -1}",
        '{id: b, match: {platform: cuda}, runner: v1, env: {X: "1"}}',
    ],
)
def test_a_rule_that_keeps_another_from_deciding_is_of_use(
    policies: Build, catalog: Catalog, beside: str
) -> None:
    some = policies(['{id: a, match: {vllm: "==0.20.*"}, runner: v1}', beside])
    assert "a" not in {r.rule.id for r in analyse(some, catalog).redundant}


# Matches, and facts that fulfil them.
MATCHES: dict[str, dict[str, Any]] = {
    "": {},
    "model_config.is_moe: true": {"model_config": {"is_moe": True}},
    "model_config.is_quantized: true": {"model_config": {"is_quantized": True}},
    "architectures: LlamaForCausalLM, model_config.is_moe: false": {
        "model_config": {"architectures": ["LlamaForCausalLM"], "is_moe": False}
    },
    "has_triton: false": {"has_triton": False},
    "has_triton: true, speculative_config: {exists: false}": {"has_triton": True, "speculative_config": None},
    "platform: rocm": {"platform": "rocm"},
    "speculative_config.method: suffix": {"speculative_config": {"method": "suffix"}},
    "model_config.runner_type: pooling": {"model_config": {"runner_type": "pooling"}},
    "parallel_config.enable_dbo: true": {"parallel_config": {"enable_dbo": True}},
    "watermark_config: {exists: true}": {"watermark_config": {}},
    "attention_config.hisparse_config: {exists: true}": {"attention_config": {"hisparse_config": {}}},
    "model_config.is_diffusion: true": {"model_config": {"is_diffusion": True}},
    "not: {model_config: {exists: true}}": {"model_config": None},
}
RELEASES = ["0.11.2", "0.20.1", "0.22.0", "0.23.0", "0.25.1", "0.28.0", "0.30.0", "0.33.0"]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("enforce", ["require", "prefer"])
def test_random_deployments_do_not_show_the_contrary(
    policies: Build, catalog: Catalog, release: str, enforce: str
) -> None:
    engine = catalog.load(release)
    others = [catalog.load(other) for other in ("0.23.0", "0.28.0", "0.33.0")]
    population = Population(engine, others, architectures=["LlamaForCausalLM", "FooModel"])
    documents = [{}, {"model_config": {"architectures": ["FooModel"]}}, *population.draw(60, seed=7)]
    for runner, (match, given) in itertools.product(("v1", "v2", "engine"), MATCHES.items()):
        head = match and f"{match}, "
        rule = f'{{id: a, match: {{{head}vllm: "=={release}"}}, runner: {runner}, enforce: {enforce}}}'
        some = policies([rule])
        found = analyse(some, catalog)
        assert found.cut == ()
        statuses = set()
        for document in documents:
            facts = Facts(merge_mappings(merge_mappings(document, given), {"vllm": release}))
            assert some.rules[0].match.value(facts)
            statuses.add(resolve(some, engine, facts).status)
            for redundant in found.redundant:
                check_redundant(some, engine, facts, guards=redundant.guards_switch)
        if enforce == "require" and runner != "engine":
            assert ("ok" not in statuses) is bool(found.unserved), match


def check_redundant(some: PolicySet, engine: EngineRelease, facts: Facts, *, guards: bool) -> None:
    if guards and "VLLM_USE_V2_MODEL_RUNNER" in facts.env:
        return
    with_, without = resolve(some, engine, facts), resolve(PolicySet(), engine, facts)
    assert (with_.status, with_.runner) == (without.status, without.runner)
    assert [e.code for e in with_.errors] == [e.code for e in without.errors]
