"""What the registry of a release tells of an architecture, as facts; what it does not tell is unknown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from policy.facts.model_facts import CLASS_FACTS

__all__ = ["DRAFTS", "architecture_facts"]

# The registry's group of models that only draft for another one.
DRAFTS = "speculative_decoding"
# Groups whose models generate text wherever their class can.
GENERATING = {"text_generation", "multimodal", "transformers_supported", "transformers_backend", DRAFTS}
POOLING = {"embedding", "sequence_classification", "token_classification", "late_interaction", "reward"}


def architecture_facts(name: str, entry: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a plain checkpoint of `name`, with the nested facts `over` on top.

    `entry` is that of `policy/engine/names/<release>.json`. A checkpoint decides what the code only may read
    (experts, a diffusion canvas, cross attention), so such facts are unknown unless `over` gives them.
    """
    own = {"architectures": [name], **{fact: bool(entry.get(key)) for fact, key in CLASS_FACTS.items()}}
    runner_type = _runner_type(entry)
    if runner_type:
        own["runner_type"] = runner_type
    given = over.get("model_config") or {}
    unknown = [f"model_config.{fact}" for fact in _unknown(entry, runner_type) if fact not in given]
    document = {**over, "model_config": {**own, **given}}
    if unknown := [*over.get("unknown", ()), *unknown]:
        document["unknown"] = unknown
    return document


def _runner_type(entry: Mapping[str, Any]) -> str | None:
    """None where the checkpoint decides: a text generation class that is registered to embed or classify."""
    if entry.get("is_pooling"):
        return "pooling"
    category = entry.get("category")
    if entry.get("is_text_generation"):
        return "generate" if category in GENERATING else None
    return "pooling" if category in POOLING else "generate"


def _unknown(entry: Mapping[str, Any], runner_type: str | None) -> Iterator[str]:
    through_transformers = str(entry.get("category")).startswith("transformers")
    if entry.get("reads_experts") or entry.get("builds_registered_model") or through_transformers:
        yield "is_moe"
    if entry.get("reads_canvas"):
        yield "is_diffusion"
    if entry.get("reads_cross_attention"):
        yield "is_encoder_decoder"
    if runner_type is None:
        yield "runner_type"
