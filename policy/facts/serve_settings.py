"""What arguments of `vllm serve` set together: config objects that one of them turns on, facts that follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from packaging.version import Version

from policy.facts.reading import Reading
from policy.facts.serve_values import ServeArgumentError, fit

__all__ = ["settle"]

# Config objects whose fields vLLM refuses to take both from the object's JSON and from an argument of their own.
_EXCLUSIVE = ("attention_config.", "compilation_config.", "speculative_config.")
# Methods that need no draft model, and those whose name vLLM keeps whatever the draft model turns out to be.
_WITHOUT_DRAFT = {"custom_class", "extract_hidden_states", "ngram", "ngram_gpu", "suffix"}
_OWN_NAME = {"dflash", "dspark", "eagle", "eagle3", "mtp"}
_NAMES_A_METHOD = ("dflash", "dspark", "eagle-", "eagle3")
# Values that leave the fact to be derived, as if the argument were not there.
_DERIVE = (("model_config.runner_type", "auto"), ("model_config.max_model_len", -1))
_ATTENTION_BACKENDS = {"attention_config.backend", "attention_config.mla_prefill_backend"}

Facts = dict[str, Any]


def settle(
    given: Mapping[str, Any],
    paths: Mapping[str, str],
    version: Version,
    model: str,
    numbered: Mapping[str, Mapping[str, str]],
) -> Reading:
    """The facts of parsed arguments. `given` maps the long name of each argument to its value."""
    facts: Facts = {"model": model}
    unknown: dict[str, str] = {}
    lora = bool(given.get("--enable-lora", False))
    # Whole objects first: an argument of its own is laid over the field of the object.
    for flag in sorted(given, key=lambda flag: not isinstance(given[flag], dict)):
        path, value = paths.get(flag), given[flag]
        if path is None or flag == "--enable-lora" or (path.startswith("lora_config.") and not lora):
            continue
        if path == "speculative_config" and isinstance(value, dict):
            value = {key.replace("-", "_"): inner for key, inner in value.items()}
        if (path, value) not in _DERIVE:
            _put(facts, path, fit(value, path, flag, version, numbered), flag)
    if "--enable-lora" in given:
        facts["lora_config"] = facts.get("lora_config", {}) if lora else None
    _follow_model(facts)
    _follow_reasoning(facts)
    _follow_offloading(facts, unknown)
    _follow_speculation(facts, unknown)
    return Reading(facts, unknown)


def _put(facts: Facts, path: str, value: Any, flag: str) -> None:
    *parents, name = path.split(".")
    node = facts
    for parent in parents:
        if node.get(parent) is None:
            node[parent] = {}
        node = node[parent]
    if name in node:
        if value == "auto":
            return  # asks for the choice that the object has made
        if path.startswith(_EXCLUSIVE) and value is not None:
            raise ServeArgumentError(f"`{flag}` and `{path}` cannot both be given")
    if path in _ATTENTION_BACKENDS and isinstance(value, str):
        value = None if value.lower() == "auto" else value.upper()
    node[name] = value


def _value(facts: Facts, path: str) -> Any:
    node: Any = facts
    for part in path.split("."):
        node = node.get(part) if isinstance(node, dict) else None
    return node


def _follow_model(facts: Facts) -> None:
    """The model's role, by `--convert` and `--mm-encoder-only`, and its name, which is the first of several."""
    converted = _value(facts, "model_config.convert") not in {None, "auto", "none"}
    if converted and _value(facts, "model_config.runner_type") is None:
        facts["model_config"]["runner_type"] = "pooling"
    served = _value(facts, "model_config.served_model_name")
    if isinstance(served, list):
        facts["model_config"]["served_model_name"] = served[0]
    if _value(facts, "model_config.multimodal_config.mm_encoder_only"):
        facts["is_mm_encoder_only"] = True


def _follow_reasoning(facts: Facts) -> None:
    """A reasoning parser turns the reasoning config on."""
    parser = _value(facts, "structured_outputs_config.reasoning_parser")
    if parser:
        facts["reasoning_config"] = {**(facts.get("reasoning_config") or {}), "reasoning_parser": parser}


def _follow_offloading(facts: Facts, unknown: dict[str, str]) -> None:
    """Offloading the KV cache turns the KV transfer on, with a connector of the release's choice."""
    if _value(facts, "cache_config.kv_offloading_size") is None:
        return
    transfer = {**(facts.get("kv_transfer_config") or {}), "kv_role": "kv_both"}
    transfer.pop("kv_connector", None)
    facts["kv_transfer_config"] = transfer
    unknown["kv_transfer_config.kv_connector"] = "vLLM chooses the connector for `--kv-offloading-size`"


def _follow_speculation(facts: Facts, unknown: dict[str, str]) -> None:
    """The method as vLLM will name it, and what only the draft model's own files can tell."""
    config = facts.get("speculative_config")
    if config is None:
        return
    method, draft = config.get("method"), config.get("model")
    if (method is None and draft in {"ngram", "[ngram]"}) or method == "[ngram]":
        method = "ngram"
    elif method is not None and method.endswith("_mtp"):
        method = "mtp"
    if method is not None:
        config["method"] = method
    if method in _WITHOUT_DRAFT:
        return
    renamed = method not in _OWN_NAME and any(name in str(draft).lower() for name in _NAMES_A_METHOD)
    if method is None or renamed:
        config.pop("method", None)
        unknown["speculative_config.method"] = "vLLM derives the method from the draft model"
    if config.get("draft_model_config") is None:
        unknown["speculative_config.draft_model_config"] = "it is read from the draft model's files"
        if method is None or renamed or method == "dflash":
            unknown["speculative_config.is_xpress"] = "it depends on the draft model's architecture"
