"""Matches: what they mean for known facts, for unknown facts, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.document import DocumentError, Source, parse
from policy.facts.facts import Facts, nest
from policy.rules.match import Match
from policy.rules.policy_set import read_policy

HEAD = "apiVersion: runnerctl/v1\nkind: RunnerPolicy\nmetadata: {name: fleet}\nrules:\n"


def read(match: str) -> Match:
    document = parse(Source("p.yaml", f"{HEAD}- id: a\n  runner: v1\n  match: {match}\n"))
    return read_policy(document).rules[0].match


def facts(text: str) -> Facts:
    return Facts(nest(parse(Source("facts", text)).data))


MODEL = "{architectures: [LlamaForCausalLM, OtherModel], model_config.is_moe: false}"
SPEC = "{speculative_config: {method: eagle3, num_speculative_tokens: 4}}"

# (match, facts, value)
TABLE: list[tuple[str, str, bool | None]] = [
    ("{}", "{}", True),
    # equality
    ("{platform: cuda}", "{}", True),
    ("{platform: rocm}", "{}", False),
    ("{platform: rocm}", "{platform: rocm}", True),
    ("{model: org/name}", "{model: org/name}", True),
    ("{model: org/name}", "{model: Org/Name}", False),
    ("{model_config.is_moe: true}", "{model_config.is_moe: true}", True),
    ("{model_config.is_moe: true}", MODEL, False),
    ("{model_config.is_moe: false}", "{model_config: null}", False),
    ("{parallel_config.tensor_parallel_size: 1}", "{}", True),
    ("{parallel_config.tensor_parallel_size: 2}", "{parallel_config.tensor_parallel_size: 2}", True),
    ("{speculative_config.method: eagle3}", SPEC, True),
    ("{speculative_config.method: eagle3}", "{}", False),
    ("{speculative_config.method: eagle3}", "{speculative_config: {}}", False),
    ("{cache_config.gpu_memory_utilization: 0.92}", "{}", True),
    # any of
    ("{platform: [rocm, cuda]}", "{}", True),
    ("{platform: [rocm, cpu]}", "{}", False),
    ("{platform: [rocm, 'c*']}", "{}", True),
    ("{parallel_config.tensor_parallel_size: [1, 2]}", "{}", True),
    # lists of facts
    ("{architectures: LlamaForCausalLM}", MODEL, True),
    ("{architectures: OtherModel}", MODEL, True),
    ("{model_config.architectures: OtherModel}", MODEL, True),
    ("{architectures: [X, OtherModel]}", MODEL, True),
    ("{architectures: X}", MODEL, False),
    ("{architectures: 'Llama*'}", MODEL, True),
    ("{architectures: 'llama*'}", MODEL, False),
    ("{architectures: {ne: LlamaForCausalLM}}", MODEL, True),
    ("{architectures: {ne: LlamaForCausalLM}}", "{architectures: [LlamaForCausalLM]}", False),
    ("{not: {architectures: LlamaForCausalLM}}", MODEL, False),
    ("{architectures: LlamaForCausalLM}", "{architectures: []}", False),
    ("{architectures: '*'}", "{architectures: []}", False),
    ("{architectures: '*'}", "{}", False),
    ("{model_config.architecture: LlamaForCausalLM}", MODEL, True),
    ("{model_config.architecture: OtherModel}", MODEL, False),
    # globs
    ("{model: 'org/*'}", "{model: org/a/b}", True),
    ("{model: 'org/?'}", "{model: org/ab}", False),
    ("{model: 'org/??'}", "{model: org/ab}", True),
    ("{model: 'ORG/*'}", "{model: org/a}", False),
    ("{model: 'a[bc]*'}", "{model: abx}", False),
    ("{model: 'a[bc]*'}", "{model: 'a[bc]x'}", True),
    ("{model: '[!a]*'}", "{model: bcd}", False),
    ("{model: '[!a]*'}", "{model: '[!a]'}", True),
    ("{model: 'a.b*'}", "{model: axb}", False),
    ("{model: 'a*'}", '{model: "a\\nb"}', True),
    ("{model: '*a'}", '{model: "a\\n"}', False),
    (
        "{kv_transfer_config.kv_connector: 'LMCache*'}",
        "{kv_transfer_config: {kv_connector: LMCacheV1}}",
        True,
    ),
    ("{kv_transfer_config.kv_connector: 'LMCache*'}", "{kv_transfer_config: {}}", False),
    ("{kv_transfer_config.kv_connector: '*'}", "{}", False),
    # numbers
    ("{parallel_config.tensor_parallel_size: {gt: 1}}", "{}", False),
    ("{parallel_config.tensor_parallel_size: {ge: 1}}", "{}", True),
    ("{parallel_config.tensor_parallel_size: {lt: 1}}", "{}", False),
    ("{parallel_config.tensor_parallel_size: {le: 1}}", "{}", True),
    (
        "{parallel_config.tensor_parallel_size: {gt: 1, le: 4}}",
        "{parallel_config.tensor_parallel_size: 4}",
        True,
    ),
    (
        "{parallel_config.tensor_parallel_size: {gt: 1, le: 4}}",
        "{parallel_config.tensor_parallel_size: 5}",
        False,
    ),
    ("{parallel_config.tensor_parallel_size: {ge: 1, ne: 1}}", "{}", False),
    ("{cache_config.gpu_memory_utilization: {lt: 0.95}}", "{}", True),
    ("{speculative_config.num_speculative_tokens: {gt: 3}}", SPEC, True),
    ("{speculative_config.num_speculative_tokens: {lt: 3}}", "{}", False),
    ("{lora_config.max_cpu_loras: {gt: 0}}", "{lora_config: {max_cpu_loras: null}}", False),
    # exists
    ("{speculative_config: {exists: true}}", SPEC, True),
    ("{speculative_config: {exists: true}}", "{}", False),
    ("{speculative_config: {exists: false}}", "{}", True),
    ("{speculative_config: {exists: false}}", "{speculative_config: {}}", False),
    ("{model_config: {exists: false}}", "{model_config: null}", True),
    ("{speculative_config.method: {exists: true}}", SPEC, True),
    ("{speculative_config.method: {exists: false}}", "{}", True),
    ("{env.A: {exists: true}}", "{env: {A: ''}}", True),
    ("{env.A: {exists: false}}", "{env: {B: x}}", True),
    ("{labels.team: {exists: true}}", "{labels: {team: search}}", True),
    ("{labels.a.b: x}", "{labels: {a.b: x}}", True),
    ("{packages.x: {exists: true}}", "{packages: {x: '1'}}", True),
    ("{packages.x: {exists: true}}", "{}", False),
    ("{vllm: {exists: true}}", "{vllm: 0.23.0}", True),
    # ne
    ("{platform: {ne: rocm}}", "{}", True),
    ("{platform: {ne: cuda}}", "{}", False),
    ("{speculative_config.method: {ne: eagle}}", "{}", False),
    ("{env.A: {ne: '0'}}", "{}", False),
    ("{env.A: {ne: '0'}}", "{env: {A: '1'}}", True),
    # combinations
    ("{any: [{platform: rocm}, {model: x}]}", "{model: x}", True),
    ("{any: [{platform: rocm}, {model: x}]}", "{model: y}", False),
    ("{all: [{platform: cuda}, {model: x}]}", "{model: x}", True),
    ("{all: [{platform: cuda}, {model: x}]}", "{model: y}", False),
    ("{not: {platform: cuda, model: x}}", "{model: y}", True),
    ("{not: {platform: cuda, model: x}}", "{model: x}", False),
    ("{not: {not: {}}}", "{}", True),
    ("{platform: cuda, model: x, any: [{model: 'x'}]}", "{model: x}", True),
    # releases: pre-releases are inside
    ("{vllm: '>=0.23,<0.25'}", "{vllm: 0.23.0}", True),
    ("{vllm: '>=0.23,<0.25'}", "{vllm: 0.25.0}", False),
    ("{vllm: '>=0.23,<0.25'}", "{vllm: 0.23.1.post1}", True),
    ("{vllm: '>=0.23,<0.25'}", "{vllm: 0.23.0+cu129}", True),
    ("{vllm: '>=0.23,<0.25'}", "{vllm: 0.24.0rc1}", True),
    ("{vllm: '>=0.23,<0.25'}", "{vllm: 0.24.0.dev3+g1234567}", True),
    ("{vllm: '>=0.23,<0.25'}", "{vllm: 0.23.0rc1}", False),
    ("{vllm: '>=0.23.dev0,<0.25'}", "{vllm: 0.23.0rc1}", True),
    ("{vllm: '<0.25'}", "{vllm: 0.25.0rc1}", False),
    ("{vllm: '>=0.25'}", "{vllm: 0.25.0rc1}", False),
    ("{vllm: '>=0.11,<0.12'}", "{vllm: 0.11.1rc7}", True),
    ("{vllm: 0.23.0}", "{vllm: 0.23.0}", True),
    ("{vllm: 0.23.0}", "{vllm: 0.23.0+cpu}", True),
    ("{vllm: 0.23.0}", "{vllm: '0.23'}", True),
    ("{vllm: '0.23.*'}", "{vllm: 0.23.1}", True),
    ("{vllm: '~=0.23.0'}", "{vllm: 0.24.0}", False),
    ("{vllm: '!=0.23.0'}", "{vllm: 0.24.0}", True),
    ("{vllm: ['<0.12', '>=0.30']}", "{vllm: 0.30.0}", True),
    ("{vllm: ['<0.12', '>=0.30']}", "{vllm: 0.20.0}", False),
    ("{packages.arctic-inference: '>=0.4'}", "{packages: {arctic-inference: 0.4.1}}", True),
    ("{packages.Arctic_Inference: '>=0.4'}", "{packages: {arctic-inference: 0.4.1}}", True),
    ("{packages.arctic-inference: '>=0.4'}", "{packages: {arctic-inference: 0.4.1rc1}}", True),
    ("{packages.x: '>=1'}", "{}", False),
    ("{packages.x: '>=1'}", "{packages: {x: nonsense}}", False),
    # unknown
    ("{model_config.is_moe: true}", "{model_config: {}, unknown: [model_config.is_moe]}", None),
    ("{model_config.is_moe: {exists: true}}", "{model_config: {}, unknown: [model_config.is_moe]}", None),
    ("{model_config.is_moe: true}", "{unknown: [model_config]}", None),
    ("{model_config.is_moe: true}", "{model_config: {is_moe: true}, unknown: [model_config.is_moe]}", True),
    ("{architectures: X}", "{model_config: {}, unknown: [architectures]}", None),
    ("{model_config.architecture: X}", "{model_config: {}, unknown: [architectures]}", None),
    ("{speculative_config: {exists: true}}", "{unknown: [speculative_config]}", None),
    ("{env.A: x}", "{unknown: [env]}", None),
    ("{env.A: x}", "{env: {A: x}, unknown: [env]}", True),
    ("{labels.a: x}", "{unknown: [labels.a]}", None),
    ("{labels.b: x}", "{unknown: [labels.a]}", False),
    ("{vllm: '>=0.1'}", "{}", None),
    ("{parallel_config.use_ubatching: true}", "{unknown: [parallel_config.enable_dbo]}", None),
    (
        "{parallel_config.use_ubatching: true}",
        "{parallel_config.ubatch_size: 2, unknown: [parallel_config.enable_dbo]}",
        True,
    ),
]


@pytest.mark.parametrize(("match", "given_facts", "value"), TABLE)
def test_value(match: str, given_facts: str, value: bool | None) -> None:
    assert read(match).value(facts(given_facts)) is value


T, F, U = "{platform: cuda}", "{platform: rocm}", "{labels.u: x}"
AND = {(T, T): True, (T, F): False, (T, U): None, (F, F): False, (F, U): False, (U, U): None}
OR = {(T, T): True, (T, F): True, (T, U): True, (F, F): False, (F, U): None, (U, U): None}
OPEN = Facts({"unknown": ["labels.u"]})


@pytest.mark.parametrize("pair", AND)
@pytest.mark.parametrize("flipped", [False, True])
def test_three_values(pair: tuple[str, str], flipped: bool) -> None:
    one, two = reversed(pair) if flipped else pair
    assert read(f"{{all: [{one}, {two}]}}").value(OPEN) is AND[pair]
    assert read(f"{{any: [{one}, {two}]}}").value(OPEN) is OR[pair]
    negated = AND[pair]
    assert read(f"{{not: {{all: [{one}, {two}]}}}}").value(OPEN) is (None if negated is None else not negated)


WRONG: dict[str, tuple[str, str, str]] = {
    "typing error": ("{model_config.is_moo: true}", "unknown-fact", "did you mean `model_config.is_moe`"),
    "field alone": ("{tensor_parallel_size: 2}", "unknown-fact", "`parallel_config.tensor_parallel_size`"),
    "object": ("{modle_config.is_moe: true}", "unknown-fact", "`model_config.is_moe`"),
    "short name": ("{archs: [X]}", "unknown-fact", "the names are vLLM's own"),
    "nothing near": ("{zzz.yyy: 1}", "unknown-fact", "the names are vLLM's own"),
    "below a field": ("{model_config.is_moe.x: true}", "unknown-fact", ""),
    "unknown itself": ("{unknown: x}", "unknown-fact", "cannot be matched"),
    "bare env": ("{env: x}", "wrong-type", "config object"),
    "config object as a value": ("{speculative_config: eagle}", "wrong-type", "{exists: true}"),
    "text for a bool": ("{model_config.is_moe: 'yes'}", "wrong-type", "takes boolean"),
    "number for a text": ("{env.A: 1}", "wrong-type", 'quote it: "1"'),
    "bool for a text": ("{labels.a: true}", "wrong-type", 'quote it: "true"'),
    "text for a number": ("{parallel_config.tensor_parallel_size: '2'}", "wrong-type", "takes integer"),
    "value that never is": (
        "{speculative_config.draft_tensor_parallel_size: x}",
        "wrong-type",
        "takes integer",
    ),
    "outside the enum": ("{model_config.runner_type: generation}", "wrong-value", "`generate`"),
    "comparison of a text": ("{model: {gt: 1}}", "wrong-operator", "compares numbers"),
    "comparison of a release": ("{vllm: {ge: 1}}", "wrong-operator", "PEP 440"),
    "no specifier": ("{vllm: 'new'}", "invalid-specifier", ""),
    "empty specifier": ("{vllm: ''}", "invalid-specifier", ""),
    "release as a number": ("{vllm: 0.10}", "wrong-type", '"0.10"'),
    "inside any": ("{any: [{platform: cuda}, {not: {model_config.ismoe: true}}]}", "unknown-fact", "is_moe"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_match(case: str) -> None:
    match, code, part = WRONG[case]
    with pytest.raises(DocumentError) as caught:
        read(match)
    (found,) = caught.value.diagnostics
    assert found.code == code
    assert found.location.line == 7
    assert found.location.column > 10
    assert part in str(found)


def test_glob_under_ne() -> None:
    assert read("{model: {ne: 'org/*'}}").value(facts("{model: org/a}")) is False


# Leaves over facts that may be unknown, each with the values that its fact may take.
CHOICES: dict[str, tuple[list[Any], list[str]]] = {
    "platform": (["cuda", "rocm"], ["{platform: cuda}", "{platform: {ne: cuda}}"]),
    "labels.a": (["x", "y", None], ["{labels.a: x}", "{labels.a: {exists: true}}", "{labels.a: '?'}"]),
    "env.B": (["0", "1", None], ["{env.B: '1'}", "{env.B: {exists: false}}"]),
    "model_config.is_moe": ([True, False], ["{model_config.is_moe: true}"]),
    "model_config.architectures": (
        [[], ["A"], ["A", "B"]],
        ["{architectures: A}", "{architectures: 'B*'}", "{model_config.architecture: A}"],
    ),
    "parallel_config.enable_dbo": ([True, False], ["{parallel_config.use_ubatching: true}"]),
    "parallel_config.ubatch_size": ([0, 2, 5], ["{parallel_config.ubatch_size: {gt: 2}}"]),
}
LEAVES = [leaf for _, leaves in CHOICES.values() for leaf in leaves]
MATCHES = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda m: f"{{any: [{', '.join(m)}]}}"),
        st.lists(inner, min_size=1, max_size=3).map(lambda m: f"{{all: [{', '.join(m)}]}}"),
        inner.map(lambda m: f"{{not: {m}}}"),
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(MATCHES, st.data())
def test_learning_a_fact_never_turns_an_answer_over(match: str, data: st.DataObject) -> None:
    tree = read(match)
    known = {path: data.draw(st.sampled_from(values), path) for path, (values, _) in CHOICES.items()}
    hidden = set(data.draw(st.sets(st.sampled_from(sorted(CHOICES))), "unknown"))
    order = data.draw(st.permutations(sorted(hidden)), "learned in this order")
    full = nest({p: v for p, v in known.items() if v is not None})
    before = tree.value(_without(known, hidden))
    for learned in order:
        hidden.discard(learned)
        after = tree.value(_without(known, hidden))
        assert before is None or after is before
        before = after
    assert before is tree.value(Facts(full))
    assert before is not None


def _without(known: dict[str, Any], hidden: set[str]) -> Facts:
    document = nest({p: v for p, v in known.items() if v is not None and p not in hidden})
    document.setdefault("model_config", {})
    return Facts({**document, "unknown": sorted(hidden)})


def test_mistakes_under_aliases_are_found_once() -> None:
    from policy.rules.read_match import MatchReader

    lines = ["rules:\n- match:\n    all:\n    - &m0 {nope: 1}\n"]
    lines += [f"    - &m{i} {{all: [{', '.join([f'*m{i - 1}'] * 9)}]}}\n" for i in range(1, 4)]
    document = parse(Source("p.yaml", "".join(lines)))
    reader = MatchReader(document)
    reader.read(document.data["rules"][0]["match"], ["rules", 0, "match"])
    assert len(reader.findings) == 1
