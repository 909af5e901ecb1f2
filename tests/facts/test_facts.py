"""Facts: defaults, short names, what is unknown, and the merge of several sources."""

from __future__ import annotations

from typing import Any

import pytest

from policy.document import DocumentError, Source, parse
from policy.facts.facts import ABSENT, UNKNOWN, Facts, facts_from_document, merge_facts, nest
from policy.facts.fields import expand, field, field_paths, suggest
from policy.facts.reading import Reading

# (document, path, value)
VALUES: list[tuple[dict[str, Any], str, Any]] = [
    ({}, "platform", "cuda"),
    ({}, "has_triton", True),
    ({}, "parallel_config.tensor_parallel_size", 1),
    ({}, "host.wsl", False),
    ({}, "host.pinned_memory", True),
    ({}, "speculative_config", ABSENT),
    ({}, "speculative_config.method", ABSENT),
    ({}, "watermark_config", ABSENT),
    ({}, "model_config.is_moe", ABSENT),
    ({"model_config": {}}, "model_config.is_moe", False),
    ({"model_config": {}}, "model_config.architectures", []),
    ({"model_config": {}}, "model_config.architecture", ABSENT),
    ({"model_config": {"architectures": ["A", "B"]}}, "model_config.architecture", "A"),
    ({"speculative_config": {}}, "speculative_config.method", ABSENT),
    ({}, "model", UNKNOWN),
    ({}, "vllm", UNKNOWN),
    ({}, "cache_config.block_size", UNKNOWN),
    ({}, "env.A", ABSENT),
    ({"env": {"A": ""}}, "env.A", ""),
    ({"labels": {"a.b": "x"}}, "labels.a.b", "x"),
    ({"packages": {"Arctic_Inference": "1"}}, "packages.arctic-inference", "1"),
    ({"packages": {"arctic.inference": "1"}}, "packages.Arctic-Inference", "1"),
    ({"unknown": ["env.A"]}, "env.A", UNKNOWN),
    ({"unknown": ["env.A"]}, "env.B", ABSENT),
    ({"unknown": ["packages"]}, "packages.x", UNKNOWN),
    ({"unknown": ["model_config"]}, "model_config", UNKNOWN),
    ({"unknown": ["model_config"]}, "model_config.is_moe", UNKNOWN),
    ({"unknown": ["model_config"], "model_config": {"is_moe": True}}, "model_config.is_moe", True),
    ({"unknown": ["model_config"], "model_config": {"is_moe": True}}, "model_config.is_hybrid", UNKNOWN),
    ({"unknown": ["model_config.is_moe"], "model_config": {}}, "model_config.is_hybrid", False),
    ({"unknown": ["architectures"], "model_config": {}}, "model_config.architectures", UNKNOWN),
    ({"unknown": ["architectures"], "model_config": {}}, "model_config.architecture", UNKNOWN),
    ({}, "parallel_config.use_ubatching", False),
    ({"parallel_config": {"enable_dbo": True}}, "parallel_config.use_ubatching", True),
    ({"parallel_config": {"ubatch_size": 1}}, "parallel_config.use_ubatching", False),
    ({"parallel_config": {"ubatch_size": 2}}, "parallel_config.use_ubatching", True),
    ({"parallel_config": {"use_ubatching": True}}, "parallel_config.use_ubatching", True),
    ({"speculative_config": {}}, "speculative_config.uses_dynamic_speculative_decoding", False),
]


@pytest.mark.parametrize(("document", "path", "value"), VALUES)
def test_value(document: dict[str, Any], path: str, value: Any) -> None:
    found = Facts(document).value(path)
    assert found is value if value in (ABSENT, UNKNOWN) else found == value


INPUTS: list[tuple[dict[str, Any], str, tuple[str, ...]]] = [
    ({"unknown": ["model_config"]}, "model_config.is_moe", ("model_config",)),
    (
        {"unknown": ["model_config.is_moe"], "model_config": {}},
        "model_config.is_moe",
        ("model_config.is_moe",),
    ),
    (
        {"unknown": ["architectures"], "model_config": {}},
        "model_config.architecture",
        ("model_config.architectures",),
    ),
    ({"unknown": ["env"]}, "env.A", ("env.A",)),
    (
        {"unknown": ["parallel_config.enable_dbo", "parallel_config.ubatch_size"]},
        "parallel_config.use_ubatching",
        ("parallel_config.enable_dbo", "parallel_config.ubatch_size"),
    ),
]


@pytest.mark.parametrize(("document", "path", "inputs"), INPUTS)
def test_what_somebody_would_have_to_give(
    document: dict[str, Any], path: str, inputs: tuple[str, ...]
) -> None:
    assert Facts(document).unknown_inputs(path) == inputs


NESTED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"architectures": ["A"]}, {"model_config": {"architectures": ["A"]}}),
    ({"a.b.c": 1, "a.b.d": 2}, {"a": {"b": {"c": 1, "d": 2}}}),
    ({"env.A.B": "x"}, {"env": {"A.B": "x"}}),
    ({"labels.team": "s", "labels": {"x": "y"}}, {"labels": {"team": "s", "x": "y"}}),
    ({"model_config": {"is_moe": True}, "model_config.is_hybrid": True}, {"model_config": {"is_moe": True, "is_hybrid": True}}),
]  # fmt: skip


@pytest.mark.parametrize(("entries", "nested"), NESTED)
def test_nest(entries: dict[str, Any], nested: dict[str, Any]) -> None:
    assert nest(entries) == nested


def test_nest_does_not_write_into_what_it_was_given() -> None:
    given: dict[str, Any] = {"model_config": {"is_moe": True}, "model_config.is_hybrid": True}
    nest(given)
    assert given["model_config"] == {"is_moe": True}


def test_merge_later_sources_win_and_any_source_makes_a_fact_known() -> None:
    document, reasons = merge_facts(
        [
            Reading({"platform": "cuda", "model_config": {"is_moe": False}}, {"model": "no model"}),
            Reading(
                {"platform": "rocm"},
                {"model_config.is_moe": "no config.json", "model_config.is_hybrid": "no"},
            ),
            Reading({"model": "m"}),
        ]
    )
    assert document == {
        "platform": "rocm",
        "model": "m",
        "model_config": {"is_moe": False},
        "unknown": ["model_config.is_hybrid"],
    }
    assert reasons == {"model_config.is_hybrid": "no"}


FILES: dict[str, tuple[str, dict[str, Any]]] = {
    "nested": (
        "{vllm: 0.23.0, model_config: {is_moe: true}}",
        {"vllm": "0.23.0", "model_config": {"is_moe": True}},
    ),
    "dotted": ("{model_config.is_moe: true}", {"model_config": {"is_moe": True}}),
    "short": ("{architectures: [A]}", {"model_config": {"architectures": ["A"]}}),
    "off": ("{model_config: null}", {"model_config": None}),
    "unknown": ("{unknown: [model_config.is_moe]}", {"unknown": ["model_config.is_moe"]}),
}


@pytest.mark.parametrize("case", FILES)
def test_facts_file(case: str) -> None:
    text, expected = FILES[case]
    assert facts_from_document(parse(Source("f.yaml", text))) == expected


WRONG: dict[str, tuple[str, str]] = {
    "release": (
        "vllm: 0.10\n",
        'f.yaml:1:7: `vllm` is `0.10`, not a string [wrong-type]\n  help: quote it: "0.10"',
    ),
    "name": ("model_config:\n  is_moo: true\n", "f.yaml:2:3: unknown fact `model_config.is_moo`"),
    "nearest": ("model_config:\n  is_moo: true\n", "did you mean `model_config.is_moe`"),
    "dotted name": ("a: 1\nmodel_config.is_moo: true\n", "f.yaml:2:1: unknown fact `model_config.is_moo`"),
    "type": ("model_config: {is_moe: yes}\n", "`is_moe` is `yes`, not `true` or `false`"),
    "list": ("[1]\n", "the document is a list, not a mapping"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_facts_file(case: str) -> None:
    text, part = WRONG[case]
    with pytest.raises(DocumentError) as caught:
        facts_from_document(parse(Source("f.yaml", text)))
    assert part in str(caught.value)


def test_wrong_type_under_a_dotted_key_has_its_place() -> None:
    with pytest.raises(DocumentError) as caught:
        facts_from_document(parse(Source("f.yaml", 'vllm: "0.23.0"\nmodel_config.is_moe: 1\n')))
    assert str(caught.value).startswith("f.yaml:2:22: `is_moe` is `1`")


def test_dotted_key_below_an_object_that_is_off() -> None:
    with pytest.raises(DocumentError):
        facts_from_document(parse(Source("f.yaml", "model_config: null\nmodel_config.is_moe: true\n")))


def test_unknown_names_facts_that_exist() -> None:
    with pytest.raises(DocumentError):
        facts_from_document(parse(Source("f.yaml", "unknown: [model_config.is_mo]\n")))


def test_fields() -> None:
    paths = field_paths()
    assert len(paths) > 300
    assert list(paths) == sorted(paths)
    for path in paths:
        assert field(path) is not None, path
    assert field("nothing") is None
    assert field("model_config.is_moe.x") is None
    assert field("kv_transfer_config.kv_connector_extra_config.anything.below") is not None
    assert expand("architectures") == "model_config.architectures"
    assert "parallel_config.tensor_parallel_size" in suggest("tensor_parallel_size")
