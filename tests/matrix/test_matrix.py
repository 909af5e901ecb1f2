"""Cells of single architectures as a table, what is left open, folding, and the number of decisions."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest

from policy.decision import resolve
from policy.engine import Catalog
from policy.facts.facts import Facts, nest
from policy.matrix import Column, Matrix, build_matrix
from policy.matrix import cell as cell_module
from policy.matrix.architecture import architecture_facts
from policy.matrix.cell import LEGEND
from policy.matrix.text import matrix_text
from policy.rules.policy_set import PolicySet

CATALOG = Catalog()
RELEASES = [release for release in CATALOG.releases if CATALOG.names(release)]


def columns(*releases: str) -> list[Column]:
    return [Column(CATALOG.load(r), (CATALOG.names(r) or {})["architectures"]) for r in releases or RELEASES]


def matrix(releases: list[str], architectures: list[str], **over: Any) -> Matrix:
    return build_matrix(columns(*releases), architectures, PolicySet(), nest(over))


@pytest.mark.parametrize(
    ("architecture", "release", "over", "label"),
    [
        ("LlamaForCausalLM", "0.11.2", {}, "v1"),
        ("LlamaForCausalLM", "0.22.0", {}, "v1"),
        ("LlamaForCausalLM", "0.23.0", {}, "v2"),
        ("LlamaForCausalLM", "0.23.0", {"model_config.is_quantized": True}, "v1"),
        ("LlamaForCausalLM", "0.24.0", {"model_config.is_quantized": True}, "v2"),
        ("Qwen3ForCausalLM", "0.22.0", {}, "v2"),
        ("OPTForCausalLM", "0.24.0", {}, "v1"),
        ("OPTForCausalLM", "0.25.0", {}, "v2"),
        ("Qwen3MoeForCausalLM", "0.24.0", {}, "v1"),  # the same whether it is MoE
        ("Qwen3MoeForCausalLM", "0.25.0", {}, "v1/v2"),
        ("Qwen3MoeForCausalLM", "0.25.0", {"model_config.is_moe": True}, "v1"),
        ("Qwen3MoeForCausalLM", "0.25.0", {"model_config.is_moe": False}, "v2"),
        ("Qwen3MoeForCausalLM", "0.29.0", {}, "v2"),
        ("LlavaForConditionalGeneration", "0.25.0", {}, "v1/v2"),
        ("Zamba2ForCausalLM", "0.28.0", {}, "v1"),
        ("Zamba2ForCausalLM", "0.29.0", {}, "v2"),
        ("MambaForCausalLM", "0.28.0", {}, "v1"),
        ("BertModel", "0.28.0", {}, "v1"),
        ("BertModel", "0.29.0", {}, "v2"),
        ("LlamaModel", "0.25.0", {}, "v1/v2"),  # registered to embed, and its class generates
        ("GlmMoeDsaForCausalLM", "0.29.0", {"platform": "rocm"}, "v2"),
        ("GlmMoeDsaForCausalLM", "0.30.0", {"platform": "rocm"}, "v1"),
        ("DeepseekV4ForCausalLM", "0.28.0", {}, "v2"),
        ("DeepseekV4ForCausalLM", "0.19.0", {}, "-"),
        ("EagleLlamaForCausalLM", "0.29.0", {}, "draft"),
        ("LlamaForCausalLM", "0.29.0", {"has_triton": False, "env.VLLM_USE_V2_MODEL_RUNNER": "1"}, "refused"),
        ("LlamaForCausalLM", "0.22.0", {"env.VLLM_USE_V2_MODEL_RUNNER": "true"}, "refused"),
        ("LlamaForCausalLM", "0.29.0", {"unknown": ["speculative_config"]}, "?"),
    ],
)
def test_cells(architecture: str, release: str, over: dict[str, Any], label: str) -> None:
    assert matrix([release], [architecture], **over).rows[0].cells[0].label == label


@pytest.mark.parametrize(
    ("architecture", "release", "over", "note"),
    [
        ("LlamaForCausalLM", "0.23.0", {}, ""),
        (
            "Qwen3MoeForCausalLM",
            "0.25.0",
            {},
            "v1 where `model_config.is_moe` is true; v2 where `model_config.is_moe` is false",
        ),
        (
            "DiffusionGemmaForBlockDiffusion",
            "0.25.0",
            {},
            "v1 where `model_config.is_diffusion` is false and `model_config.is_moe` is true; v2 otherwise",
        ),
        (
            "LlamaForCausalLM",
            "0.29.0",
            {"unknown": ["speculative_config"]},
            "depends on `speculative_config`",
        ),
        (
            "LlamaForCausalLM",
            "0.29.0",
            {"model_config.is_diffusion": True, "env.VLLM_USE_V2_MODEL_RUNNER": "0"},
            "diffusion models",
        ),
    ],
)
def test_notes(architecture: str, release: str, over: dict[str, Any], note: str) -> None:
    assert matrix([release], [architecture], **over).rows[0].cells[0].note.startswith(note)
    assert bool(matrix([release], [architecture], **over).notes) == bool(note)


def every_architecture() -> list[str]:
    return sorted({name for column in columns() for name in column.architectures})


def test_the_whole_registry_has_a_cell_for_every_release_and_only_known_labels() -> None:
    every = columns()
    full = build_matrix(every, every_architecture(), PolicySet(), {})
    assert full.releases == tuple(RELEASES)
    assert {len(row.cells) for row in full.rows} == {len(RELEASES)}
    assert set(full.labels) <= set(LEGEND)
    for row in full.rows:
        for column, cell in zip(every, row.cells, strict=True):
            assert (cell.label == "-") == (row.architecture not in column.architectures)


@pytest.mark.parametrize("release", ["0.22.0", "0.28.0", "0.30.0", "0.33.0"])
@pytest.mark.parametrize("platform", ["cuda", "rocm"])
def test_deciding_once_for_each_kind_is_deciding_for_each(release: str, platform: str) -> None:
    (column,) = columns(release)
    built = matrix([release], sorted(column.architectures), platform=platform)
    for row in built.rows:
        if row.cells[0].label == "draft":
            continue
        document = architecture_facts(
            row.architecture, column.architectures[row.architecture], {"platform": platform}
        )
        decision = resolve(PolicySet(), column.engine, Facts({**document, "vllm": release}))
        if decision.status == "ok":
            assert row.cells[0].label == decision.runner
        else:
            assert len(row.cells[0].answers) > 1


def test_the_number_of_decisions_does_not_grow_with_the_registry() -> None:
    with mock.patch.object(cell_module, "resolve", side_effect=resolve) as asked:
        build_matrix(columns("0.29.0"), every_architecture(), PolicySet(), {})
    assert asked.call_count < 60


def test_equal_rows_and_neighbouring_releases_are_folded() -> None:
    built = matrix(
        ["0.22.0", "0.22.1", "0.23.0"], ["MistralForCausalLM", "OPTForCausalLM", "LlamaForCausalLM"]
    )
    assert [group.architectures for group in built.groups] == [
        ("MistralForCausalLM", "LlamaForCausalLM"),
        ("OPTForCausalLM",),
    ]
    assert [(span.first, span.last) for span in built.spans] == [("0.22.0", "0.22.1"), ("0.23.0", "0.23.0")]
    assert matrix_text(built).splitlines()[:4] == [
        "architecture           0.22.0   0.23.0",
        "                       -0.22.1",
        "MistralForCausalLM +1  v1       v2",
        "OPTForCausalLM         v1       v1",
    ]
