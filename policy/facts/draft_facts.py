"""What a speculative draft's `config.json` says, as facts. Follows `EAGLEConfig` and `SpeculativeConfig` of vLLM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policy.facts.model_facts import KEPT, architectures_of, layer_types_gap
from policy.facts.reading import Reading

__all__ = ["read_draft_config"]

Config = Mapping[str, Any]

# The prefix that `EAGLEConfig` puts before a draft's architectures, by method.
DRAFT_PREFIXES = {"eagle": "Eagle", "eagle3": "Eagle3", "dflash": "DFlash"}
# What makes a class give some layers a window.
WINDOWS = ("sliding_window", "sliding_window_pattern", "full_attention_interval")


def read_draft_config(config: Config, *, method: str | None = None) -> Reading:
    """The `speculative_config.draft_model_config.*` facts of a draft's parsed `config.json`.

    `method` is the speculative method where it is given; EAGLE and DFlash drafts are loaded under a prefixed
    architecture. Raises nothing; what vLLM would rewrite in a way that is not followed here is unknown.
    """
    path = "speculative_config.draft_model_config"
    unknown: dict[str, str] = {}
    facts: dict[str, Any] = {"hf_config": {key: config[key] for key in KEPT if key in config}}
    names = architectures_of(config)
    if "speculators_config" in config:
        unknown[f"{path}.architectures"] = (
            "vLLM rewrites the draft's config.json, which is in speculators format"
        )
        unknown[f"{path}.hf_config.layer_types"] = unknown[f"{path}.architectures"]
    elif not names:
        unknown[f"{path}.architectures"] = "the draft's config.json names no architecture"
    elif method is None or method in {"mtp", "medusa", "mlp_speculator"}:
        if method is None:
            facts["architectures"] = list(names)
        else:
            unknown[f"{path}.architectures"] = f"vLLM chooses the architecture for method `{method}`"
    else:
        facts["architectures"] = [_prefixed(name, DRAFT_PREFIXES.get(method)) for name in names]
    # vLLM only asks whether a draft mixes windows with other layers; without a window in its file it cannot.
    gap = layer_types_gap(config)
    if gap and ("layer_types" in config or _may_mix_windows(config)):
        unknown.setdefault(f"{path}.hf_config.layer_types", gap)
        facts["hf_config"].pop("layer_types", None)
    return Reading({"speculative_config": {"draft_model_config": facts}}, unknown)


def _prefixed(name: str, prefix: str | None) -> str:
    if prefix is None or name.startswith(prefix) or name == "LiLiCorrDraftModel":
        return name
    return name if prefix != "Eagle" and name.endswith(prefix) else prefix + name


def _may_mix_windows(config: Config) -> bool:
    """Whether a class may compute `layer_types` with windows in some layers, which is what drafts are asked."""
    return config.get("use_sliding_window") is not False and any(config.get(key) for key in WINDOWS)
