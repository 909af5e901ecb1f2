"""The model and the draft that a server's arguments name, read from their files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policy.facts.model_facts import MODEL_FACTS
from policy.facts.model_files import load_config, locate_config, read_draft_config, read_model_config
from policy.facts.reading import Reading

__all__ = ["read_served_draft", "read_served_model"]


def read_served_model(
    arguments: Mapping[str, Any],
    env: Mapping[str, str],
    architectures: Mapping[str, Mapping[str, Any]] | None,
    release: str,
    *,
    online: bool,
) -> Reading:
    """`model_config.*` of the model that the facts `arguments` name, as vLLM derives it from config.json.

    `architectures` are those that the release registers. What cannot be read is unknown. Raises
    `ModelFileError` for a file that is there and is not what it should be.
    """
    given = arguments.get("model_config", {})
    model = given.get("hf_config_path") or arguments["model"]
    found = locate_config(model, revision=given.get("revision"), env=env, online=online)
    if found.path is None:
        reason = found.reason or "config.json was not found"
        return Reading({}, {f"model_config.{name}": reason for name in MODEL_FACTS})
    return read_model_config(
        load_config(found.path),
        architectures,
        hf_overrides=given.get("hf_overrides"),
        quantization=given.get("quantization"),
        runner=given.get("runner_type"),
        convert=given.get("convert"),
        has_sentence_transformers=found.has_sentence_transformers,
        has_hf_quant_config=found.has_hf_quant_config,
        mla_disabled=env.get("VLLM_MLA_DISABLE", "0").strip() not in ("", "0"),
        release=release,
    )


def read_served_draft(arguments: Mapping[str, Any], env: Mapping[str, str], *, online: bool) -> Reading:
    """`speculative_config.draft_model_config.*` of the draft that the arguments name; nothing if they name none."""
    speculative = arguments.get("speculative_config")
    if not isinstance(speculative, Mapping) or not isinstance(speculative.get("model"), str):
        return Reading()
    found = locate_config(speculative["model"], revision=speculative.get("revision"), env=env, online=online)
    if found.path is None:
        return Reading(
            {}, {"speculative_config.draft_model_config": found.reason or "config.json was not found"}
        )
    return read_draft_config(load_config(found.path), method=speculative.get("method"))
