"""What the analysis says of policies made by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from policy.analysis import analyse
from policy.decision.resolve import resolve
from policy.engine import Catalog
from policy.facts.facts import Facts
from policy.rules.policy_set import PolicySet
from tests.analysis.grid import is_facts_document

Build = Callable[..., PolicySet]


def require(name: str, match: str, runner: str = "v1", more: str = "") -> str:
    return f"{{id: {name}, match: {{{match}}}, runner: {runner}, enforce: require{more}}}"


def prefer(name: str, match: str, runner: str = "v1", more: str = "") -> str:
    return f"{{id: {name}, match: {{{match}}}, runner: {runner}{more}}}"


# What the rule `z` is, and the rules before it.
IDLE = {
    "two ranges shadow a third together": (
        [
            require("a", 'vllm: "<0.20"'),
            require("b", 'vllm: ">=0.20.dev0"'),
            require("z", 'vllm: ">=0.15,<0.25"'),
        ],
        ("shadowed", ["a", "b"], False),
    ),
    "candidates fall through the hole between two ranges": (
        [
            require("a", 'vllm: "<0.12"'),
            require("b", 'vllm: ">=0.12"'),
            require("z", 'vllm: ">=0.11,<0.13"'),
        ],
        None,
    ),
    "all of the hole is taken": (
        [
            require("a", 'vllm: "<0.12"'),
            require("b", 'vllm: ">=0.12"'),
            require("c", 'vllm: ["==0.12.0rc1", ">=0.12.dev0,<0.12rc2"]'),
            require("z", 'vllm: "==0.12.0rc1"'),
        ],
        ("shadowed", ["c"], False),
    ),
    "post and local versions are not the release": (
        [require("a", 'vllm: "===0.12.0"'), require("z", 'vllm: "==0.12.0"')],
        None,
    ),
    "a glob takes a name": (
        [require("a", 'architectures: "Llama*"'), require("z", "architectures: LlamaForCausalLM")],
        ("shadowed", ["a"], False),
    ),
    "a glob within a glob": (
        [require("a", 'architectures: "*For*"'), require("z", 'architectures: "Llama*ForCausal?M"')],
        ("shadowed", ["a"], False),
    ),
    "a glob beyond a glob": (
        [require("a", 'architectures: "L*ForCausalLM"'), require("z", 'architectures: "Llama*"')],
        None,
    ),
    "globs of different case share nothing": (
        [require("a", 'architectures: "llama*"'), require("z", 'architectures: "Llama*"')],
        None,
    ),
    "two architectures of one model, one of them taken": (
        [
            require("a", "architectures: LlamaForCausalLM"),
            require("z", "all: [{architectures: LlamaForCausalLM}, {architectures: Qwen3ForCausalLM}]"),
        ],
        ("shadowed", ["a"], False),
    ),
    "another architecture beside the one that is taken": (
        [
            require("a", "not: {architectures: {ne: LlamaForCausalLM}}"),
            require("z", "architectures: LlamaForCausalLM"),
        ],
        None,
    ),
    "every value of an enumeration": (
        [
            require("a", "platform: [cuda, rocm, xpu]"),
            require("b", "platform: {ne: cuda}"),
            require("z", "has_triton: true"),
        ],
        ("shadowed", ["a", "b"], False),
    ),
    "numbers leave no integer between": (
        [
            require("a", "parallel_config.tensor_parallel_size: {le: 2}"),
            require("b", "parallel_config.tensor_parallel_size: {ge: 3}"),
            require("z", "has_triton: true"),
        ],
        ("shadowed", ["a", "b"], False),
    ),
    "numbers that are no integers lie between": (
        [
            require("a", "cache_config.gpu_memory_utilization: {le: 2}"),
            require("b", "cache_config.gpu_memory_utilization: {ge: 3}"),
            require("z", "has_triton: true"),
        ],
        None,
    ),
    "a field below an object that is off": (
        [require("z", "speculative_config: {exists: false}, speculative_config.method: mtp")],
        ("unsatisfiable", [], False),
    ),
    "not of what is below an object that is off": (
        [
            require("a", "speculative_config: {exists: true}"),
            require("z", "not: {speculative_config.method: mtp}, speculative_config.method: {exists: true}"),
        ],
        ("shadowed", ["a"], False),
    ),
    "something below a free-form entry makes it a mapping": (
        [require("z", "additional_config.a: text, additional_config.a.b: true")],
        ("unsatisfiable", [], False),
    ),
    "a distribution has one version, however it is spelled": (
        [require("z", 'packages.lm_cache: ">=2", packages.LM-Cache: "<2"')],
        ("unsatisfiable", [], False),
    ),
    "any and not come down to everything": (
        [
            require("a", "any: [{has_triton: true}, {not: {has_triton: true}}]"),
            require("z", "platform: cuda"),
        ],
        ("shadowed", ["a"], False),
    ),
    "a prefer is outranked by a require": (
        [require("a", "platform: cuda"), prefer("z", "platform: cuda", "v2")],
        ("shadowed", ["a"], False),
    ),
    "the switch overrules a prefer that waits for it": (
        [prefer("z", 'env.VLLM_USE_V2_MODEL_RUNNER: "1", vllm: ">=0.12.dev0"')],
        ("shadowed", [], True),
    ),
    "the switch means nothing yet": (
        [prefer("z", 'env.VLLM_USE_V2_MODEL_RUNNER: "1", vllm: ">=0.11"')],
        None,
    ),
    "a higher priority": (
        [prefer("a", "", "v2", ", priority: 1"), prefer("z", "platform: cuda")],
        ("shadowed", ["a"], False),
    ),
    "a contradiction": (
        [require("z", "platform: cuda, not: {platform: [cuda, rocm]}")],
        ("unsatisfiable", [], False),
    ),
}


@pytest.mark.parametrize("case", IDLE)
def test_rules_that_never_decide(policies: Build, catalog: Catalog, case: str) -> None:
    rules, expected = IDLE[case]
    found = analyse(policies(rules), catalog, engine=False)
    idle = {n.rule.id: (n.why, [r.id for r in n.by], n.switch) for n in found.never_decides}
    assert found.cut == ()
    assert idle == ({} if expected is None else {"z": expected})


@pytest.mark.parametrize(
    ("rules", "adds", "clashes"),
    [
        ([prefer("a", ""), prefer("z", "", more=', env: {X: "1"}')], ("X",), False),
        ([prefer("a", "", more=', env: {X: "1"}'), prefer("z", "", more=', env: {X: "1"}')], (), False),
        ([prefer("a", "", more=', env: {X: "1"}'), prefer("z", "", more=', env: {X: "2"}')], (), True),
        ([prefer("a", ""), prefer("z", "", "v2")], (), True),
        ([require("a", ""), prefer("z", "", more=', env: {X: "1"}')], (), False),
    ],
)
def test_a_rule_that_is_not_named_may_still_do_something(
    policies: Build, catalog: Catalog, rules: list[str], adds: tuple[str, ...], clashes: bool
) -> None:
    (found,) = analyse(policies(rules), catalog, engine=False).never_decides
    assert (found.rule.id, found.adds_env, found.clashes) == ("z", adds, clashes)


# The pairs that can disagree, with their code and the lists that need two elements.
PAIRS = {
    "two names of one model": (
        [
            prefer("a", "architectures: LlamaForCausalLM"),
            prefer("b", "architectures: Qwen3ForCausalLM", "v2"),
        ],
        [("a", "b", "conflicting-rules", ("model_config.architectures",))],
    ),
    "a name and its glob": (
        [prefer("a", 'architectures: "L*"'), prefer("b", "architectures: LlamaForCausalLM", "v2")],
        [("a", "b", "conflicting-rules", ())],
    ),
    "ranges that touch do not overlap": (
        [prefer("a", 'vllm: "<0.25.dev0"'), prefer("b", 'vllm: ">=0.25.dev0"', "v2")],
        [],
    ),
    "a priority settles it": ([prefer("a", ""), prefer("b", "", "v2", ", priority: 1")], []),
    "a priority settles nothing between require": (
        [require("a", ""), require("b", "", "v2", ", priority: 1")],
        [("b", "a", "conflicting-rules", ())],
    ),
    "a third rule of higher rank hides the pair": (
        [
            require("r", "platform: cuda"),
            prefer("a", "platform: cuda"),
            prefer("b", "platform: [cuda, rocm]", "v2"),
        ],
        [],
    ),
    "a third rule hides a part of the pair": (
        [
            require("r", "platform: cuda"),
            prefer("a", "platform: [cuda, rocm]"),
            prefer("b", "platform: [cuda, rocm]", "v2"),
        ],
        [("a", "b", "conflicting-rules", ())],
    ),
    "env of rules that decide together": (
        [
            prefer("a", "", more=', env: {X: "1"}'),
            prefer("b", "platform: cuda", more=', env: {X: "2", Y: "1"}'),
        ],
        [("a", "b", "conflicting-env", ())],
    ),
    "env of rules that disagree anyway": (
        [
            prefer("a", "platform: cuda", more=', env: {X: "1"}'),
            prefer("b", "platform: cuda", more=', env: {X: "2"}'),
            prefer("c", "platform: cuda", "v2"),
        ],
        [("a", "c", "conflicting-rules", ()), ("b", "c", "conflicting-rules", ())],
    ),
    "the switch overrules both": (
        [
            prefer("a", 'env.VLLM_USE_V2_MODEL_RUNNER: "0", vllm: ">=0.12"'),
            prefer("b", "env.VLLM_USE_V2_MODEL_RUNNER: {exists: true}", "v2"),
        ],
        [],
    ),
    "all kinds of values": (
        [
            require(
                "a",
                "additional_config.a: {gt: 1.5}, additional_config.b: [x, true, 2], additional_config.c.d: {exists: true}, "
                "lora_config.target_modules: {exists: true}, compilation_config.compile_sizes: {ne: 1}, "
                'observability_config.collect_detailed_traces: {ne: all}, load_config.ignore_patterns: "*.bin", '
                "cache_config.gpu_memory_utilization: {gt: 0.5, lt: 0.9}, attention_config.flash_attn_version: {ge: 3}, "
                "load_config.pt_load_map_location.x: {exists: true}, quant_config: {exists: true}, "
                'speculative_config.num_speculative_tokens_per_batch_size: {exists: true}, model: "a/*", '
                "speculative_config.draft_model_config.multimodal_config: {exists: true}",
            ),
            require("b", "has_triton: true", "v2"),
        ],
        [("a", "b", "conflicting-rules", ())],
    ),
    "releases that no catalog describes": (
        [require("a", 'vllm: ">=7"'), require("b", 'vllm: ">=7"', "v2")],
        [("a", "b", "conflicting-rules", ())],
    ),
}


@pytest.mark.parametrize("case", PAIRS)
def test_pairs_that_can_disagree(policies: Build, catalog: Catalog, case: str) -> None:
    rules, expected = PAIRS[case]
    some = policies(rules)
    found = analyse(some, catalog, engine=False)
    assert [(c.first.id, c.second.id, c.code, c.several) for c in found.conflicts] == expected
    for conflict in found.conflicts:
        assert is_facts_document(conflict.witness.document)
        facts = Facts(conflict.witness.document)
        engine = catalog.find(conflict.witness.document["vllm"], conflict.witness.assume)
        decision = resolve(some, engine, facts)
        assert decision.errors[0].code == conflict.code
        named = {rule.id for rule in (conflict.first, conflict.second)}
        assert case == "env of rules that disagree anyway" or all(
            f"`{name}`" in decision.errors[0].message for name in named
        )


def test_a_witness_is_a_deployment_that_people_recognise(policies: Build, catalog: Catalog) -> None:
    some = policies(
        [prefer("a", 'architectures: "Qwen*", vllm: ">=0.22"'), prefer("b", 'vllm: "<0.26"', "v2")]
    )
    (found,) = analyse(some, catalog, engine=False).conflicts
    name = found.witness.document["model_config"]["architectures"][0]
    assert found.witness.document["vllm"] == "0.25.1"
    assert name in catalog.architecture_names("0.25.1")


def nested(depth: int) -> str:
    """A match of 4 ** depth cases."""
    alternatives = ", ".join(f"{{labels.a{i}: x, labels.b{i}: y}}" for i in range(4))
    return (
        "all: ["
        + ", ".join(f"{{any: [{alternatives.replace('labels.', f'labels.n{d}')}]}}" for d in range(depth))
        + "]"
    )


def test_what_is_too_large_is_said(policies: Build, catalog: Catalog) -> None:
    some = policies([require("a", nested(6)), require("b", "platform: cuda"), require("z", "platform: cuda")])
    found = analyse(some, catalog, engine=False)
    assert [(c.what, c.rules) for c in found.cut] == [("rules", ("a",))]
    assert [n.rule.id for n in found.never_decides] == ["z"]


def test_a_search_that_takes_too_long_is_cut(policies: Build, catalog: Catalog) -> None:
    rules = [require(f"r{i}", f"labels.l{i}: x") for i in range(60)]
    found = analyse(policies([*rules, require("z", "platform: cuda")]), catalog, limit=200, engine=False)
    assert {c.what for c in found.cut} == {"never-decides"}
    assert ("z",) in {c.rules for c in found.cut}


def test_conflicts_beyond_the_first_are_counted_as_cut(policies: Build, catalog: Catalog) -> None:
    rules = [prefer(f"r{i}", "", "v1" if i % 2 else "v2") for i in range(30)]
    found = analyse(policies(rules), catalog, engine=False)
    assert len(found.conflicts) == 100
    assert [c.what for c in found.cut] == ["conflicts"]


@pytest.mark.parametrize(
    ("match", "paths"),
    [
        (
            'speculative_config.fly_window_size: {ge: 2}, vllm: "<0.30"',
            ("speculative_config.fly_window_size",),
        ),
        ('speculative_config.fly_window_size: {ge: 2}, vllm: ">=0.30"', None),
        ('speculative_config.fly_window_size: {exists: false}, vllm: "<0.30"', None),
        ('any: [{speculative_config.fly_window_size: 2}, {has_triton: true}], vllm: "<0.30"', None),
        ('watermark_config: {exists: true}, vllm: "<0.30"', ("watermark_config",)),
        ('watermark_config: {exists: true}, vllm: "<0.31"', None),
        ('watermark_config: {exists: false}, vllm: "<0.30"', None),
        ('watermark_config.alpha: 0.1, vllm: "<0.30"', ("watermark_config.alpha",)),
        ('watermark_config.algorithm: {ne: gumbel}, vllm: "<0.30"', ("watermark_config.algorithm",)),
        ('any: [{watermark_config: {exists: true}}, {has_triton: true}], vllm: "<0.30"', None),
        ('not: {watermark_config: {exists: true}}, vllm: "<0.30"', None),
        ('scheduler_config.watermark: {gt: 0}, vllm: "<0.23"', ("scheduler_config.watermark",)),
        ('scheduler_config.watermark: {lt: 0.5}, vllm: "<0.23"', None),
        ('scheduler_config.watermark: 0, vllm: "<0.23"', None),
        (
            'attention_config.hisparse_config.eager_host_mirror: true, vllm: "<0.30"',
            ("attention_config.hisparse_config.eager_host_mirror",),
        ),
        ('attention_config.indexer_sparse_logits: false, vllm: "<0.30"', None),
        (
            'attention_config.indexer_sparse_logits: true, vllm: "<0.30"',
            ("attention_config.indexer_sparse_logits",),
        ),
        ('model_config.is_moe: true, vllm: "<0.30"', None),
        ('speculative_config.fly_window_size: 2, vllm: ">=7"', None),
    ],
)
def test_facts_that_no_release_of_the_range_has(
    policies: Build, catalog: Catalog, match: str, paths: tuple[str, ...] | None
) -> None:
    found = analyse(policies([require("a", match)]), catalog, engine=False).always_undetermined
    assert [u.paths for u in found] == ([] if paths is None else [paths])
